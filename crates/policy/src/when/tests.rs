//! The laws of conditions, each on small conditions and events.

use super::{Condition, Groups, WhenEnv, WhenError, WhenErrorKind, limits};
use std::sync::Arc;
use tollgate_gate::payload::{ModelCall, ModelOutcome};
use tollgate_gate::{
    Code, Counters, Event, EventKind, Failure, Json, KindSet, Payload, Session, SessionView,
    Subject, Test, Timestamp, ToolCall, ToolOutcome, ToolResult,
};

fn env(kinds: impl Into<KindSet>, tools: &[&str]) -> WhenEnv {
    let groups = Groups::of_members([("finance", vec!["alice"]), ("ops", vec!["alice", "bob"])]);
    let tools = tools.iter().map(|tool| (*tool).into()).collect();
    WhenEnv { kinds: kinds.into(), tools, groups: Arc::new(groups) }
}

fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

fn tool_event(arguments: &str) -> Event {
    let session = Session::new("s1").with_user("alice").with_cwd("/repo/src");
    let call = ToolCall::new("shell", json(arguments));
    Event::new(
        Arc::new(session),
        Payload::PreTool(call.into()),
        Timestamp::from_millis(1_800_000_000_000),
    )
}

fn test(source: &str, env: &WhenEnv, event: &Event, payload: &Payload) -> Result<bool, String> {
    let condition = Condition::compile(source, env).unwrap_or_else(|e| panic!("{source}: {e:?}"));
    let view = SessionView {
        tree: Counters { model_calls: 4, ..Counters::default() },
        ..SessionView::default()
    };
    // What a snapshot restores says the same.
    let stored = serde_json::to_string(condition.snapshot()).unwrap();
    let restored = serde_json::from_str(&stored).unwrap();
    assert_eq!(condition.snapshot(), &restored);
    let restored = Condition::from_snapshot(restored, Arc::clone(&env.groups));
    let subject = Subject { event, payload, session: &view };
    let outcome = condition.test(&subject).map_err(|error| error.cause);
    assert_eq!(restored.test(&subject).map_err(|error| error.cause), outcome);
    outcome
}

/// Asks at `pre_tool` of an exactly named tool.
fn ask(source: &str, arguments: &str) -> Result<bool, String> {
    let event = tool_event(arguments);
    test(source, &env(EventKind::PreTool, &["shell"]), &event, &event.payload)
}

/// The error of a condition at `pre_tool` without named tools, and the text that it points at.
fn error(source: &str) -> (WhenError, &str) {
    let error = Condition::compile(source, &env(EventKind::PreTool, &[])).unwrap_err();
    let at = source.get(error.span.clone()).unwrap();
    (error, at)
}

#[track_caller]
fn refuses(source: &str, kind: WhenErrorKind, at: &str, remedy: &str) {
    let (error, found) = error(source);
    assert_eq!((error.kind, found), (kind, at), "{source}: {error:?}");
    assert!(error.remedy.contains(remedy), "{source}: {}", error.remedy);
}

#[test]
fn unknown_names_fields_and_functions_are_errors_with_the_close_one() {
    refuses("arg.x == 1", WhenErrorKind::Unknown, "arg", "`args`");
    refuses("sesion.tokens > 1", WhenErrorKind::Unknown, "sesion", "`session`");
    refuses("session.tool_call > 1", WhenErrorKind::Unknown, "tool_call", "`tool_calls`");
    refuses("user.group == []", WhenErrorKind::Unknown, "group", "`groups`");
    refuses("tenant.startswith('a')", WhenErrorKind::Unknown, "startswith", "`startsWith`");
    refuses("tenant.length() > 1", WhenErrorKind::Unknown, "length", "size(x)");
    refuses("event.kind == 'pre_tol'", WhenErrorKind::Unknown, "'pre_tol'", "`pre_tool`");
    refuses("event.kind in ['pre_tool', 'x']", WhenErrorKind::Unknown, "'x'", "`on`");
}

#[test]
fn a_variable_that_the_kinds_do_not_have_is_an_error() {
    refuses("result.ok", WhenErrorKind::Unknown, "result.ok", "two hooks");
    let both = env(KindSet::BEFORE, &[]);
    let error = Condition::compile("has(args.x)", &both).unwrap_err();
    assert!(error.message.contains("`pre_model`"), "{error}");
    assert!(Condition::compile("session.tokens > 1", &both).is_ok());
}

#[test]
fn the_wrong_number_of_arguments_is_an_error() {
    refuses("tenant.contains()", WhenErrorKind::Arity, "contains", "");
    refuses("size(tenant, 1) == 1", WhenErrorKind::Arity, "size", "");
    refuses("glob(tenant) ", WhenErrorKind::Arity, "glob", "");
    refuses("has(args)", WhenErrorKind::Arity, "has(args)", "has(args.path)");
    refuses("event.tags.exists(t)", WhenErrorKind::Arity, "exists", "");
    refuses("tenant.glob('a*')", WhenErrorKind::Unknown, "glob", "brackets");
    refuses("contains(tenant, 'a')", WhenErrorKind::Unknown, "contains", "text.contains");
}

#[test]
fn types_that_are_known_not_to_go_together_are_errors() {
    refuses("tenant > 5", WhenErrorKind::Type, "tenant > 5", "convert");
    refuses("session.tokens == '5'", WhenErrorKind::Type, "session.tokens == '5'", "convert");
    refuses("1 in ['a', 'b']", WhenErrorKind::Type, "1 in ['a', 'b']", "list");
    refuses("tenant in ['a', 1]", WhenErrorKind::Type, "1", "");
    refuses("'a' in tenant", WhenErrorKind::Type, "'a' in tenant", "contains");
    refuses("user.groups.contains('x')", WhenErrorKind::Type, "user.groups", "in list");
    refuses("tenant == null", WhenErrorKind::Type, "tenant == null", "has()");
    refuses("session.tokens + 0.5 > 1.0", WhenErrorKind::Type, "session.tokens + 0.5", "double");
    refuses("tenant", WhenErrorKind::Type, "tenant", "compare");
    refuses("!tenant", WhenErrorKind::Type, "tenant", "compare");
    refuses("session == 1", WhenErrorKind::Type, "session", "its fields");
    refuses("tenant.name == 'a'", WhenErrorKind::Type, "tenant", "");
}

#[test]
fn a_field_that_may_be_absent_needs_a_guard() {
    refuses("args.a == 1", WhenErrorKind::Unguarded, "args.a", "has(args.a)");
    refuses("has(args.a) && args.b == 1", WhenErrorKind::Unguarded, "args.b", "has(args.b)");
    refuses("has(args.a) || args.a == 1", WhenErrorKind::Unguarded, "args.a", "");
    refuses("has(args.a.b)", WhenErrorKind::Unguarded, "args.a", "");
    refuses("session.cwd == '/'", WhenErrorKind::Unguarded, "session.cwd", "has(session.cwd)");
    refuses("args['a-b'] == 1", WhenErrorKind::Unguarded, "args['a-b']", "has(args.`a-b`)");
    let each = "has(args.l) && args.l.exists(x, x.p == 1)";
    refuses(each, WhenErrorKind::Unguarded, "x.p", "has(x.p)");
    let shadowed = "has(args.l) && args.l.exists(x, has(x.p)) && args.l.exists(x, x.p == 1)";
    refuses(shadowed, WhenErrorKind::Unguarded, "x.p", "");
    let open = env(EventKind::PreTool, &[]);
    for guarded in [
        "has(args.a) && args.a == 1",
        "args.a == 1 && has(args.a)",
        "!has(args.a) || args.a == 1",
        "has(args.a) && has(args.a.b) && args.a.b == 1",
        "has(args.a) ? args.a == 1 : false",
        "'a' in args && args.a == 1",
        "has(args.`a-b`) && args['a-b'] == 1",
        "!(!has(args.a) || args.a == 2)",
        "has(args.l) && args.l.exists(x, has(x.p) && x.p == 1)",
        "(has(args.a) || has(args.b) && has(args.a)) && args.a == 1",
        "has(session.cwd) && session.cwd == '/'",
        "has(args.l) && has(args.l[0].p) && args.l[0].p == 1",
    ] {
        let compiled = Condition::compile(guarded, &open);
        assert!(compiled.is_ok(), "{guarded}: {compiled:?}");
        // What is guarded has no missing field at run time, whatever is absent.
        for arguments in ["{}", r#"{"l":[{}]}"#, r#"{"a":{}}"#] {
            let event = tool_event(arguments);
            let outcome = test(guarded, &open, &event, &event.payload);
            assert!(!outcome.is_err_and(|cause| cause.contains("no field")), "{guarded}");
        }
    }
}

#[test]
fn arguments_of_exactly_named_tools_need_no_guard_and_fail_when_absent() {
    assert_eq!(ask("args.a.b == 1", r#"{"a":{"b":1}}"#), Ok(true));
    assert_eq!(ask("args.a.b == 1", "{}"), Err("there is no field `a`".into()));
    assert_eq!(ask("args.l.exists(x, x.p > 1)", r#"{"l":[{"p":2}]}"#), Ok(true));
    assert_eq!(ask("original.args.a == 1", r#"{"a":1}"#), Ok(true));
    let error = Condition::compile("event.tool == 'bash'", &env(EventKind::PreTool, &["shell"]));
    assert!(error.unwrap_err().message.contains("never runs at `bash`"));
}

#[test]
fn a_side_that_decides_absorbs_the_error_of_the_other() {
    assert_eq!(ask("args.x == 1 || true", "{}"), Ok(true));
    assert_eq!(ask("args.x == 1 && false", "{}"), Ok(false));
    assert!(ask("args.x == 1 || false", "{}").is_err());
    assert!(ask("args.x == 1 && true", "{}").is_err());
    assert_eq!(ask("args.l.exists(v, v.x == 1)", r#"{"l":[1,{"x":1}]}"#), Ok(true));
    assert_eq!(ask("args.l.all(v, v.x == 1)", r#"{"l":[1,{"x":2}]}"#), Ok(false));
    assert!(ask("args.l.exists_one(v, v.x == 1)", r#"{"l":[1,{"x":1}]}"#).is_err());
}

#[test]
fn numbers_compare_by_value_and_exactly() {
    assert_eq!(ask("args.n == 1", r#"{"n":1.0}"#), Ok(true));
    assert_eq!(ask("args.n > 1000", r#"{"n":1000.5}"#), Ok(true));
    assert_eq!(ask("args.n == 9007199254740993", r#"{"n":9007199254740992.0}"#), Ok(false));
    assert_eq!(ask("args.n > 9223372036854775807", r#"{"n":18446744073709551615}"#), Ok(true));
    assert_eq!(ask("args.n > 1000", r#"{"n":123456789012345678901234567890}"#), Ok(true));
    assert_eq!(ask("args.n > 1000", r#"{"n":1e999}"#), Ok(true));
    assert_eq!(ask("args.n == '1'", r#"{"n":1}"#), Ok(false));
    assert!(ask("args.n > 1000", r#"{"n":"5000"}"#).is_err());
    assert_eq!(ask("-9223372036854775808 < 0", "{}"), Ok(true));
    assert!(ask("args.n + 1 > 0", r#"{"n":9223372036854775807}"#).is_err());
    assert!(ask("1 / args.n > 0", r#"{"n":0}"#).is_err());
}

#[test]
fn texts_are_searched_globbed_matched_lowered_and_digested() {
    assert_eq!(ask("args.c.contains('rm -rf')", r#"{"c":"sudo rm -rf /"}"#), Ok(true));
    assert_eq!(ask("glob(args.c, '*.{rs,toml}')", r#"{"c":"Cargo.toml"}"#), Ok(true));
    assert_eq!(ask(r"args.c.matches(r'^\d{3}$')", r#"{"c":"123"}"#), Ok(true));
    assert_eq!(ask(r"matches(args.c, r'^\d{3}$')", r#"{"c":"1234"}"#), Ok(false));
    assert_eq!(ask("lower(args.c) == 'äb'", r#"{"c":"ÄB"}"#), Ok(true));
    assert_eq!(ask("size(args.c) == 2", r#"{"c":"Äb"}"#), Ok(true));
    // The test vector of FIPS 180-2 for `abc`.
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(ask(&format!("digest(args.c) == '{digest}'"), r#"{"c":"abc"}"#), Ok(true));
    assert!(ask("glob(args.c, '*')", r#"{"c":1}"#).is_err());
}

#[test]
fn addresses_and_paths_are_judged_by_meaning() {
    assert_eq!(ask("ip_in(args.ip, '10.0.0.0/8')", r#"{"ip":"::ffff:10.1.1.1"}"#), Ok(true));
    assert!(ask("ip_in(args.ip, '10.0.0.0/8')", r#"{"ip":"example.net"}"#).is_err());
    assert_eq!(ask("path_within(args.p, '/repo')", r#"{"p":"../../etc/passwd"}"#), Ok(false));
    assert_eq!(ask("path_within(args.p, '/repo')", r#"{"p":"../README"}"#), Ok(true));
    assert!(ask("path_within(args.p, '/repo')", r#"{"p":"~/x"}"#).is_err());
}

#[test]
fn patterns_are_written_out_and_valid_when_the_policy_is_loaded() {
    refuses("tenant.matches('(')", WhenErrorKind::Pattern, "'('", "raw texts");
    refuses("glob(tenant, '{a')", WhenErrorKind::Pattern, "'{a'", "");
    refuses("ip_in(tenant, '10.0.0.0/99')", WhenErrorKind::Pattern, "'10.0.0.0/99'", "");
    refuses("tenant.matches(user.name)", WhenErrorKind::Unsupported, "user.name", "stranger");
}

#[test]
fn times_are_compared_and_calculated_in_utc() {
    // 1,800,000,000 s is 2027-01-15T08:00:00Z, a Friday.
    assert_eq!(ask("event.at == timestamp('2027-01-15T08:00:00Z')", "{}"), Ok(true));
    assert_eq!(ask("event.at.getHours() == 8 && event.at.getDayOfWeek() == 5", "{}"), Ok(true));
    assert_eq!(ask("event.at - duration('1h') < timestamp('2027-01-15')", "{}"), Ok(false));
    assert_eq!(
        ask("(event.at - timestamp(args.t)).getMinutes() == 90", r#"{"t":"2027-01-15T06:30:00Z"}"#),
        Ok(true)
    );
    refuses("event.at > timestamp('tomorrow')", WhenErrorKind::Type, "'tomorrow'", "2027");
    refuses("event.at > 5", WhenErrorKind::Type, "event.at > 5", "");
}

#[test]
fn a_session_is_counted_as_a_tree_and_users_have_groups() {
    assert_eq!(ask("session.model_calls == 4 && session.own.model_calls == 0", "{}"), Ok(true));
    assert_eq!(ask("'finance' in user.groups && user.name == 'alice'", "{}"), Ok(true));
    assert_eq!(ask("'x' in session.labels || has(session.parent)", "{}"), Ok(false));
    assert_eq!(ask("tenant == '' && session.root == 's1'", "{}"), Ok(true));
}

#[test]
fn original_is_what_was_asked_and_args_what_earlier_hooks_made_of_it() {
    let event = tool_event(r#"{"n":100}"#);
    let payload = event.payload.with_part(json(r#"{"n":10}"#)).unwrap();
    let source = "original.args.n == 100 && args.n == 10";
    assert_eq!(test(source, &env(EventKind::PreTool, &["shell"]), &event, &payload), Ok(true));
}

#[test]
fn results_are_read_after_tool_and_model_calls() {
    let call = ToolCall::new("shell", json("{}"));
    let failure = Failure { code: Code::HookDenied, message: "no".into(), tool: "shell".into() };
    let result = ToolResult::failure(failure, false);
    let payload = Payload::ToolError(ToolOutcome { call: call.into(), result }.into());
    let event = Event::new(Arc::new(Session::new("s1")), payload, Timestamp::from_millis(0));
    let source = "!result.ok && !result.executed && has(result.error) \
                  && result.error.code == 'hook_denied' && result.error.message == 'no'";
    let after = env(KindSet::AFTER_TOOL, &[]);
    assert_eq!(test(source, &after, &event, &event.payload), Ok(true));
    let unguarded = Condition::compile("result.error.code == 'x'", &after).unwrap_err();
    assert_eq!(unguarded.kind, WhenErrorKind::Unguarded);

    let request = Arc::new(json(r#"{"model":"m1","messages":[{"role":"user"}]}"#));
    let call = ModelCall { request, ..ModelCall::default() };
    let reply = Arc::new(json(r#"{"reply":"hello"}"#));
    let outcome = ModelOutcome {
        call: call.into(),
        reply,
        ok: true,
        executed: true,
        ..ModelOutcome::default()
    };
    let event = Event { payload: Payload::PostModel(outcome.into()), ..event };
    let source = "model == 'm1' && messages.exists(m, has(m.role) && m.role == 'user') \
                  && has(result.content.reply) && result.content.reply.contains('ell')";
    let after = env(EventKind::PostModel, &[]);
    assert_eq!(test(source, &after, &event, &event.payload), Ok(true));
}

#[test]
fn more_than_two_nested_comprehensions_are_refused() {
    let three = "event.tags.all(a, event.tags.all(b, event.tags.all(c, a == c)))";
    refuses(three, WhenErrorKind::TooLarge, "all", "multiplies");
    let two = "event.tags.all(a, event.tags.all(b, a == b)) && event.tags.filter(a, a != '') == []";
    assert_eq!(ask(two, "{}"), Ok(true));
}

#[test]
fn what_conditions_do_not_have_is_refused_with_a_remedy() {
    refuses("b'x' == b'y'", WhenErrorKind::Unsupported, "b", "prefix");
    refuses("args.?a == 1", WhenErrorKind::Syntax, "?", "has()");
    refuses("args.a = 1", WhenErrorKind::Syntax, "=", "`==`");
    refuses("tenant == 'a' and true", WhenErrorKind::Syntax, "and", "&&");
    refuses("tenant == 'a", WhenErrorKind::Syntax, "'a", "close");
    refuses("", WhenErrorKind::Syntax, "", "missing");
    refuses("tenant == if", WhenErrorKind::Syntax, "if", "reserved");
}

#[test]
fn with_other_groups_it_is_another_condition() {
    let one = env(EventKind::PreTool, &[]);
    let other = WhenEnv { groups: Arc::new(Groups::of_members([("x", ["y"])])), ..one.clone() };
    let describe = |source, env| Condition::compile(source, env).unwrap().describe();
    assert_ne!(describe("'x' in user.groups", &one), describe("'x' in user.groups", &other));
    assert_eq!(describe("tenant == 'a'", &one), describe("tenant == 'a'", &other));
}

/// The page on conditions, whose examples an integration test runs.
const PAGE: &str = include_str!("../../../../docs/policy-conditions.md");

#[test]
fn everything_that_conditions_see_has_an_example_on_the_page() {
    let examples: Vec<&str> =
        PAGE.split("\n```cel ").skip(1).filter_map(|text| text.split("\n```").next()).collect();
    let has = |word: &str| examples.iter().any(|example| example.contains(word));
    let fields = super::scope::FIELDS.iter().map(|row| row.0.to_owned());
    let counters = super::scope::COUNTS.iter().map(|(name, _)| format!("session.{name}"));
    let functions = super::tree::FUNCTIONS.iter().map(|row| format!("{}(", row.0));
    let macros = super::calls::MACROS.iter().map(|row| format!(".{}(", row.0));
    for word in fields.chain(counters).chain(functions).chain(macros) {
        assert!(has(&word), "no example of `{word}`");
    }
    for (name, value) in [
        ("bytes", limits::SOURCE_BYTES_MAX),
        ("steps", limits::STEPS_MAX as usize),
        ("items", limits::LIST_ITEMS_MAX),
        ("deep", limits::DEPTH_MAX),
        ("regular expression", limits::REGEX_BYTES_MAX),
    ] {
        let digits = value.to_string();
        let (head, tail) = digits.split_at(digits.len().saturating_sub(3));
        let grouped = if head.is_empty() { digits.clone() } else { format!("{head},{tail}") };
        assert!(PAGE.contains(&grouped), "{name}: {grouped}");
    }
}
