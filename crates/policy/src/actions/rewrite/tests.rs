//! Laws of rewrites.

use super::{changes, compile, merge};
use crate::actions::{ActionContext, ActionError, Patterns};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use std::sync::Arc;
use tollgate_gate::{
    Event, EventKind, Handler, HandlerError, Json, Object, Opinion, Payload, Session, SessionView,
    Soon, Timestamp, ToolCall, View,
};

fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

fn compiled(rule: &str) -> Result<Arc<dyn Handler>, ActionError> {
    compile(&json(rule), &ActionContext::new("h", EventKind::PreTool))
}

fn run(handler: &dyn Handler, arguments: &Json) -> Result<Opinion, HandlerError> {
    let payload = Payload::PreTool(Arc::new(ToolCall::new("t", arguments.clone())));
    let event = Event::new(Arc::new(Session::new("s")), payload, Timestamp::from_millis(0));
    let session = SessionView::default();
    let answer = handler.handle(View {
        event: &event,
        payload: &event.payload,
        original: &event.payload,
        session: &session,
        votes: &[],
        now: event.at,
    });
    let Soon::Now(Some(answer)) = answer else { panic!("an action must answer at once") };
    answer
}

/// The arguments behind the rule; as they were when it has nothing to say.
fn rewritten(rule: &str, arguments: &str) -> String {
    let arguments = json(arguments);
    let opinion = run(&*compiled(rule).unwrap(), &arguments).unwrap();
    opinion.rewrite.map_or_else(|| format!("unchanged {arguments}"), |part| part.text())
}

#[track_caller]
fn check(rule: &str, arguments: &str, expected: &str) {
    assert_eq!(rewritten(rule, arguments), expected, "{rule} on {arguments}");
}

#[test]
fn a_clamp_bounds_what_is_there_and_sets_what_is_absent_only_with_a_default() {
    let clamp = r#"{"n":{"default":10,"max":10}}"#;
    check(clamp, r#"{"n":100}"#, r#"{"n":10}"#);
    check(clamp, r#"{"n":1e999}"#, r#"{"n":10}"#);
    check(clamp, r#"{"n":10.5}"#, r#"{"n":10}"#);
    check(clamp, r#"{"n":99999999999999999999999}"#, r#"{"n":10}"#);
    check(clamp, r#"{"n":5}"#, r#"unchanged {"n":5}"#);
    check(clamp, r#"{"n":10.0}"#, r#"unchanged {"n":10.0}"#);
    check(clamp, r#"{"p":"."}"#, r#"{"p":".","n":10}"#);
    check(clamp, r#"{"n":null}"#, r#"{"n":10}"#);
    check(r#"{"n":{"max":10}}"#, r#"{}"#, r#"unchanged {}"#);
    check(r#"{"n":{"default":50,"max":10}}"#, r#"{}"#, r#"{"n":10}"#);
    check(r#"{"n":{"min":-1,"max":1}}"#, r#"{"n":-7}"#, r#"{"n":-1}"#);
}

#[test]
fn a_clamp_of_what_is_no_number_is_a_fault() {
    let handler = compiled(r#"{"n":{"max":10}}"#).unwrap();
    for arguments in [r#"{"n":"100"}"#, r#"{"n":[100]}"#, r#"{"n":true}"#] {
        let error = run(&*handler, &json(arguments)).unwrap_err();
        assert!(error.0.starts_with("cannot rewrite `n`: expected a number"), "{error}");
    }
}

#[test]
fn set_remove_and_choices_hold_wherever_the_path_leads() {
    check(r#"{"a.b":{"set":1}}"#, r#"{}"#, r#"{"a":{"b":1}}"#);
    check(r#"{"a.b":{"set":1}}"#, r#"{"a":{"c":2}}"#, r#"{"a":{"c":2,"b":1}}"#);
    check(r#"{"a.b":{"set":1}}"#, r#"{"a":{"b":1}}"#, r#"unchanged {"a":{"b":1}}"#);
    check(r#"{"a.b":{"remove":true}}"#, r#"{"a":{"b":1}}"#, r#"{"a":{}}"#);
    check(r#"{"a.b":{"remove":true}}"#, r#"{"a":"x"}"#, r#"unchanged {"a":"x"}"#);
    check(r#"{"l.*.n":{"max":1}}"#, r#"{"l":[{"n":1},{"n":2}]}"#, r#"{"l":[{"n":1},{"n":1}]}"#);
    check(r#"{"l.*":{"remove":true}}"#, r#"{"l":[1,2]}"#, r#"{"l":[]}"#);
    check(r#"{"l[1]":{"remove":true}}"#, r#"{"l":[1,2,3]}"#, r#"{"l":[1,3]}"#);
    check(r#"{"*":{"replace":{"pattern":"x","with":"y"}}}"#, r#"{"a":"ax"}"#, r#"{"a":"ay"}"#);
    check(r#"{"m":{"one_of":["a","b"]}}"#, r#"{"m":"c"}"#, r#"{"m":"a"}"#);
    check(r#"{"m":{"one_of":["a","b"],"default":"b"}}"#, r#"{"m":"c"}"#, r#"{"m":"b"}"#);
    check(r#"{"m":{"one_of":[1,2]}}"#, r#"{"m":2.0}"#, r#"unchanged {"m":2.0}"#);
    check(r#"{"\"a.b\"":{"set":1}}"#, r#"{}"#, r#"{"a.b":1}"#);
    check(r#"{"\"merge\"":{"set":1}}"#, r#"{}"#, r#"{"merge":1}"#);
    check(r#"{".":{"set":{"x":1}}}"#, r#"{"y":2}"#, r#"{"x":1}"#);
}

#[test]
fn texts_are_replaced_and_paths_kept_below_their_prefix() {
    let rule = r#"{"c":{"replace":[{"pattern":"--force(\\s|$)","with":""},{"pattern":"(a)b","with":"$1"}]}}"#;
    check(rule, r#"{"c":"push --force ab"}"#, r#"{"c":"push a"}"#);
    check(rule, r#"{"c":"push"}"#, r#"unchanged {"c":"push"}"#);
    let rule = r#"{"path":{"prefix":"/sandbox/"}}"#;
    check(rule, r#"{"path":"/etc/passwd"}"#, r#"{"path":"/sandbox/etc/passwd"}"#);
    check(rule, r#"{"path":"/sandbox/a/../../etc"}"#, r#"{"path":"/sandbox/etc"}"#);
    check(rule, r#"{"path":"/sandbox/a"}"#, r#"unchanged {"path":"/sandbox/a"}"#);
    check(rule, r#"{}"#, r#"unchanged {}"#);
}

#[test]
fn what_cannot_be_applied_is_a_fault_and_not_a_quiet_no() {
    for (rule, arguments, cause) in [
        (
            r#"{"a.b":{"set":1}}"#,
            r#"{"a":"x"}"#,
            "cannot rewrite `a.b`: the path goes through a text",
        ),
        (r#"{"a.b":{"default":1}}"#, r#"{"a":7}"#, "the path goes through a number"),
        (r#"{"l[3]":{"set":1}}"#, r#"{"l":[]}"#, "there is no item `3` in the list"),
        (r#"{"p":{"prefix":"/w"}}"#, r#"{"p":["/etc"]}"#, "expected a text, found a list"),
        (r#"{"p":{"prefix":"/w"}}"#, r#"{"p":"a\\..\\b"}"#, "a path with a backslash"),
    ] {
        let error = run(&*compiled(rule).unwrap(), &json(arguments)).unwrap_err();
        assert!(error.0.contains(cause), "{error}");
    }
}

#[test]
fn merges_follow_the_examples_of_rfc_7396() {
    // Appendix A of RFC 7396: target, patch, result.
    for (target, patch, result) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, r#"null"#, r#"null"#),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        (r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        (r#"{}"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        let (mut target, patch) = (json(target), json(patch));
        let before = target.clone();
        merge(&mut target, &patch);
        assert_eq!(target, json(result), "{before} with {patch}");
        assert_eq!(changes(&before, &patch), before != target, "{before} with {patch}");
    }
}

#[test]
fn a_merge_comes_first_and_the_paths_hold_on_what_it_left() {
    check(r#"{"n":{"max":10},"merge":{"n":99,"t":null}}"#, r#"{"n":1,"t":2}"#, r#"{"n":10}"#);
    check(r#"{"merge":{"n":1}}"#, r#"{"n":1}"#, r#"unchanged {"n":1}"#);
}

#[test]
fn mistakes_in_a_rewrite_are_told_with_their_path() {
    for (rule, path, message) in [
        (r#"{}"#, "", "nothing to rewrite"),
        (r#""x""#, "", "expected an object of paths, found a text"),
        (r#"{"n":10}"#, "n", "expected what holds here, found a number"),
        (r#"{"n":{}}"#, "n", "nothing holds here"),
        (r#"{"n":{"mx":10}}"#, "n.mx", "unknown key `mx`; the nearest known one is `max`"),
        (r#"{"n":{"set":1,"max":2}}"#, "n.set", "`set` stands alone"),
        (r#"{"n":{"min":3,"max":2}}"#, "n.min", "`min` is above `max`"),
        (r#"{"n":{"max":"3"}}"#, "n.max", "expected a number, found a text"),
        (r#"{"n":{"default":"x","max":3}}"#, "n.default", "expected a number, found a text"),
        (
            r#"{"n":{"one_of":["a"],"default":"b"}}"#,
            "n.default",
            "the `default` is none of `one_of`",
        ),
        (r#"{"n":{"remove":false}}"#, "n.remove", "`remove: false` does nothing"),
        (r#"{"n":{"prefix":"/"}}"#, "n.prefix", "`/` keeps nothing in"),
        (
            r#"{"n":{"replace":{"pattern":"(","with":""}}}"#,
            "n.replace.pattern",
            "`(` is no pattern: unclosed group",
        ),
        (r#"{"n..m":{"set":1}}"#, "n..m", "path `n..m` has an empty or unfinished step"),
        (r#"{"merge":1}"#, "merge", "expected an object to merge, found a number"),
    ] {
        let error = compiled(rule).err().unwrap();
        assert_eq!((error.path.as_str(), error.message.as_str()), (path, message), "{rule}");
    }
}

#[test]
fn the_description_is_the_whole_value_so_that_equal_rules_are_one() {
    let a = compiled(r#"{"n":{"max":10,"default":10}}"#).unwrap();
    let b = compiled(r#"{"n":{"default":10,"max":10}}"#).unwrap();
    let c = compiled(r#"{"n":{"default":10,"max":11}}"#).unwrap();
    assert_eq!(a.describe(), b.describe());
    assert_ne!(a.describe(), c.describe());
}

fn arguments() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<i64>().prop_map(Json::from),
        any::<f64>()
            .prop_filter_map("finite", |x| tollgate_gate::Number::from_f64(x).map(Json::from)),
        "[a-c./ ]{0,12}".prop_map(Json::from),
    ];
    let tree = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-c]", tree, 0..4)
        .prop_map(|map| Json::Object(map.into_iter().collect::<Object>()))
}

const IDEMPOTENT: [&str; 8] = [
    r#"{"a":{"default":10,"max":10}}"#,
    r#"{"a":{"min":-3,"max":7},"b.c":{"max":1}}"#,
    r#"{"*":{"max":0}}"#,
    r#"{"a":{"prefix":"b/c"}}"#,
    r#"{"a":{"one_of":["a","b"]},"b":{"one_of":[50],"max":10}}"#,
    r#"{"a.b":{"set":[1]},"c":{"remove":true}}"#,
    r#"{"a.*.b":{"default":1,"max":2}}"#,
    r#"{"merge":{"a":{"b":null,"c":1}},"a.c":{"max":0}}"#,
];

proptest! {
    /// Clamping what was clamped changes nothing; what could not be clamped stays a fault.
    #[test]
    fn clamps_are_idempotent(arguments in arguments(), at in 0..IDEMPOTENT.len()) {
        let handler = compiled(IDEMPOTENT[at]).unwrap();
        if let Ok(first) = run(&*handler, &arguments)
            && let Some(part) = first.rewrite
        {
            assert_ne!(*part, arguments, "a rewrite that changes nothing is none");
            let again = run(&*handler, &part).unwrap();
            // A merge that a later path overrules says the same again.
            assert!(again.rewrite.is_none_or(|again| again == part));
        }
    }

    /// Whatever is there, a number behind a clamp lies within it.
    #[test]
    fn no_number_escapes_its_clamp(number in any::<f64>(), min in -100i64..0, max in 0i64..100) {
        let Some(number) = tollgate_gate::Number::from_f64(number) else { return Ok(()) };
        let rule = format!(r#"{{"n":{{"min":{min},"max":{max}}}}}"#);
        let arguments = Json::from(Object::from_iter([("n", number.clone())]));
        let opinion = run(&*compiled(&rule).unwrap(), &arguments).unwrap();
        let part = opinion.rewrite.unwrap_or_else(|| Arc::new(arguments));
        let value = part.get("n").and_then(Json::as_number).unwrap().to_f64();
        assert!((min as f64..=max as f64).contains(&value));
    }
}

#[test]
fn a_pattern_left_for_later_is_compiled_at_first_use() {
    let mut context = ActionContext::new("h", EventKind::PreTool);
    context.patterns = Patterns::AtFirstUse;
    let rule = json(r#"{"c":{"replace":{"pattern":"x+","with":"y"}}}"#);
    let handler = compile(&rule, &context).unwrap();
    let opinion = run(&*handler, &json(r#"{"c":"xx"}"#)).unwrap();
    assert_eq!(opinion.rewrite.unwrap().text(), r#"{"c":"y"}"#);
}
