//! Explanations, policy tests and backtests.

use super::rig::{block_on, call, now, policy};
use tollgate_gate::{Event, Json};
use tollgate_policy::backtest::{Backtest, ChangeKind, read_line};
use tollgate_policy::explain::{AmendError, Exception, exception_for, with_exception, with_unless};
use tollgate_policy::replay::{RebuildError, rebuild};
use tollgate_policy::suite::{Outcome, Suite, junit, run};
use tollgate_policy::{Fate, Loaded, explain};

const POLICY: &str = "version: 1\nhooks:\n  - { name: clamp, on: pre_tool, match: { tool: list }, rewrite: { max: { max: 10 } } }\n  - { name: later, on: pre_tool, match: { tool: list }, dry_run: { until: 2027-01-01 }, deny: trial }\n  - { name: no, on: pre_tool, match: { tool: rm, args.path: \"/etc/*\" }, deny: { code: ETC, reason: \"not there\" } }\n  - { name: never, on: pre_tool, match: { user: bob }, deny: no }\n  - { name: big, on: pre_tool, match: { tool: pay }, when: \"args.sum > 10\", ask: { who: alice } }\n  - { name: off, on: pre_tool, enabled: false, deny: no }\n  - { name: last, on: pre_tool, match: { tool: rm }, limit: { rate: 1/h, per: session } }\n  - { name: after, on: after_tool, match: { tool: list }, append: { text: x } }\n";

fn fates(loaded: &Loaded, event: &str) -> Vec<(String, Fate)> {
    let event = Event::read(event.as_bytes(), now()).unwrap();
    let explained = block_on(explain(loaded, event, now())).unwrap();
    explained.hooks.into_iter().map(|hook| (hook.hook.name, hook.fate)).collect()
}

#[test]
fn an_explanation_says_of_every_hook_what_came_of_it() {
    let loaded = policy(POLICY);
    let found = fates(&loaded, &call("rm", r#"{"path":"/etc/passwd"}"#));
    let words: Vec<String> = found
        .iter()
        .map(|(name, fate)| {
            if let Fate::NoMatch { key } = fate {
                return format!("{name}: no match: {key}");
            }
            if let Fate::Ran { vote, reason, .. } = fate {
                return format!("{name}: {vote:?} {reason:?}");
            }
            format!("{name}: {fate:?}")
        })
        .collect();
    assert_eq!(
        words,
        [
            "clamp: no match: tool: list",
            "later: no match: tool: list",
            "no: Some(Deny) Some(\"not there\")",
            "never: NotReached",
            "big: NotReached",
            "off: Disabled",
            "last: NotReached",
            "after: OtherKind",
        ]
    );
    let found = fates(&loaded, &call("list", r#"{"max":50}"#));
    let Fate::Ran { rewrite, .. } = &found[0].1 else { panic!("{found:?}") };
    assert_eq!(rewrite[0].path, "max");
    assert!(matches!(&found[1].1, Fate::Ran { dry_run: true, vote: Some(_), .. }));
    let found = fates(&loaded, &call("pay", r#"{"sum":5}"#));
    let Fate::NoMatch { key } = &found[4].1 else { panic!("{found:?}") };
    assert!(key.contains("args.sum > 10"), "{key}");
}

#[test]
fn an_explanation_is_a_page_for_people() {
    let event = Event::read(call("pay", r#"{"sum":50}"#).as_bytes(), now()).unwrap();
    let text = block_on(explain(&policy(POLICY), event, now())).unwrap().text();
    assert!(text.starts_with("ask by big (approval_required)"), "{text}");
    assert!(text.contains("clamp  no match: tool: list"), "{text}");
    assert!(text.contains("1 more for other kinds than pre_tool"), "{text}");
}

const SUITE: &str = "version: 1\npolicy: tollgate.yaml\nsession: { user: alice, cwd: /repo }\ntests:\n  - name: etc is safe\n    steps:\n      - tool: rm\n        args: { path: /etc/passwd }\n        expect: { verdict: deny, code: ETC, hook: no, reason: \"not *\", not_fired: [last] }\n  - name: one an hour\n    steps:\n      - { tool: rm, args: { path: a }, expect: { verdict: allow, fired: last } }\n      - { tool: rm, args: { path: a }, expect: { verdict: deny, code: limit_exceeded } }\n      - { tool: rm, args: { path: a }, wait: 2h, expect: { verdict: allow } }\n  - name: lists are short\n    steps:\n      - { tool: list, args: { max: 99 }, expect: { args: { max: 10 }, rewritten_by: clamp } }\n      - { tool: list, result: y, expect: { fired: after } }\n  - name: wrong on purpose\n    steps:\n      - { tool: pay, args: { sum: 11 }, expect: { verdict: allow, hook: none } }\n";

#[test]
fn policy_tests_pass_fail_and_cover() {
    let suite = Suite::read("tollgate.test.yaml", SUITE).unwrap_or_else(|e| panic!("{}", e.text()));
    assert_eq!(suite.policy.as_deref(), Some("tollgate.yaml"));
    let report = block_on(run(&suite, &policy(POLICY))).unwrap();
    let outcomes: Vec<bool> = report.cases.iter().map(|c| c.outcome == Outcome::Passed).collect();
    assert_eq!(outcomes, [true, true, true, false], "{}", report.text());
    let text = report.text();
    assert!(text.contains("line 21: verdict: expected allow, found ask by big"), "{text}");
    assert_eq!(report.coverage.never_fired, ["never"]);
    assert!(text.contains("  big (tollgate.yaml:7): ask: the policy wants a person"), "{text}");
    let junit = junit(&[report], &[]);
    assert!(
        junit.contains("<testsuite name=\"tollgate.test.yaml\" tests=\"4\" failures=\"1\">"),
        "{junit}"
    );
}

#[test]
fn mistakes_in_policy_tests_are_shown_where_they_stand() {
    let broken =
        SUITE.replace("verdict: deny, code", "verdit: deny, code").replace("tool: pay", "tol: pay");
    let report = Suite::read("t.yaml", &broken).unwrap_err().text();
    assert!(report.contains("unknown key `verdit` in an expectation"), "{report}");
    assert!(report.contains("did you mean `tool`?"), "{report}");
    let other = Suite::read("t.yaml", "password: hunter2\n").unwrap_err().text();
    assert!(other.contains("holds no policy tests") && !other.contains("hunter2"), "{other}");
}

#[test]
fn a_backtest_says_what_would_change() {
    let old = policy(
        "version: 1\nhooks:\n  - { name: old, on: pre_tool, match: { tool: mv }, deny: no }\n",
    );
    let new = policy(POLICY);
    let mut test = Backtest::new(&new, Some(&old)).unwrap();
    let labels = [("e1".to_owned(), true), ("e2".to_owned(), false)].into();
    test = test.with_labels(labels);
    for (id, tool, arguments) in [
        ("e1", "rm", r#"{"path":"/etc/x"}"#),
        ("e2", "list", r#"{"max":50}"#),
        ("e3", "mv", "{}"),
        ("e4", "pay", r#"{"sum":50}"#),
        ("e5", "read", "{}"),
        ("e6", "read", r#"{"x":"[SECRET]"}"#),
    ] {
        let line = call(tool, arguments).replacen('{', &format!(r#"{{"id":"{id}","#), 1);
        block_on(test.take(read_line(line.as_bytes(), now()).unwrap()));
    }
    let report = test.report();
    assert_eq!((report.events, report.unchanged, report.masked), (5, 1, 1));
    let mut kinds: Vec<(ChangeKind, &str)> =
        report.changes.iter().map(|change| (change.kind, change.hook.as_str())).collect();
    kinds.sort();
    assert_eq!(
        kinds,
        [
            (ChangeKind::NewlyRefused, "no"),
            (ChangeKind::NewlyAllowed, "old"),
            (ChangeKind::NewlyAsked, "big"),
            (ChangeKind::OtherRewrite, "clamp"),
        ]
    );
    let text = report.text();
    assert!(
        text.contains("harmful events stopped: 1 of 1; harmless events stopped: 0 of 1"),
        "{text}"
    );
}

#[test]
fn a_backtest_compares_with_what_was_recorded() {
    let line = format!(
        r#"{{"event":{},"decision":{{"verdict":"deny","code":"hook_denied","hook":"x"}}}}"#,
        call("read", "{}")
    );
    let mut test = Backtest::new(&policy(POLICY), None).unwrap();
    block_on(test.take(read_line(line.as_bytes(), now()).unwrap()));
    let report = test.report();
    assert_eq!(report.changes[0].kind, ChangeKind::NewlyAllowed);
    assert_eq!(report.changes[0].examples[0].before, "deny by x (hook_denied)");
    assert!(read_line(br#"{"event":{"kind":"nope"}}"#, now()).is_err());
}

const FLOW: &str =
    "version: 1\nhooks:\n  - { name: no, on: pre_tool, match: { tool: rm }, deny: no }\n";
const BLOCK: &str = "# mine\nversion: 1\nhooks:\n  - on: pre_tool\n    name: no # stays\n    match: { tool: rm }\n    deny: no";

#[test]
fn an_exception_in_the_hooks_own_file_becomes_its_unless_and_nothing_else_changes() {
    for text in [FLOW, BLOCK] {
        let mut amended = text.to_owned();
        for path in ["a", "b: {c}", "x\u{202e}y\u{e0001}"] {
            let loaded = policy(&amended);
            let event = call("rm", &format!("{{\"path\":\"{path}\"}}"));
            let event = Event::read(event.as_bytes(), now()).unwrap();
            let refused = block_on(explain(&loaded, event.clone(), now())).unwrap().decision;
            let exception = exception_for(&loaded, &event, &refused, "why", None).unwrap();
            let before = amended;
            amended = with_unless(&before, &exception, "why\n  # and who").unwrap();
            let same = |(a, b): &(char, char)| a == b;
            let head = before.chars().zip(amended.chars()).take_while(same).count();
            let tail = before.chars().rev().zip(amended.chars().rev()).take_while(same).count();
            assert!(head + tail >= before.chars().count(), "one insertion: {amended}");
            let passed = block_on(explain(&policy(&amended), event, now())).unwrap();
            assert_eq!(passed.verdict.name(), "allow", "{amended}");
            assert!(amended.is_ascii(), "what deceives is escaped: {amended}");
        }
        let other = Event::read(call("rm", r#"{"path":"c"}"#).as_bytes(), now()).unwrap();
        let other = block_on(explain(&policy(&amended), other, now())).unwrap();
        assert_eq!(other.verdict.name(), "deny", "{amended}");
    }
}

#[test]
fn what_cannot_be_added_to_is_left_alone() {
    let exception = Exception {
        hook: "no".to_owned(),
        pins: vec![("tool".to_owned(), "rm".to_owned())],
        reason: "x".to_owned(),
        until: None,
    };
    let own = FLOW.replace("deny: no", "unless: \"args.x == 1\", deny: no");
    let form = AmendError::Form("unless".to_owned());
    assert_eq!(with_unless(&own, &exception, "x"), Err(form));
    assert_eq!(
        with_unless(&FLOW.replace("no, on", "yes, on"), &exception, "x"),
        Err(AmendError::NoHook("no".to_owned()))
    );
    assert_eq!(with_exception("{ version: 1 }", &exception), Err(AmendError::Form("{".to_owned())));
    assert_eq!(with_exception("- a\n", &exception), Err(AmendError::NoPolicy));
    let first = with_exception("version: 1\nhooks: []", &exception).unwrap();
    let second = with_exception(&first, &exception).unwrap();
    assert_eq!(second.matches("\n  - hook: \"no\"\n").count(), 2, "{second}");
    let flow = "version: 1\nexceptions: []\n";
    let flow = with_exception(&with_exception(flow, &exception).unwrap(), &exception).unwrap();
    assert_eq!(flow.matches("{ hook: \"no\"").count(), 2, "{flow}");
}

#[test]
fn a_record_gives_back_its_event_and_names_what_is_masked() {
    let record = r#"{"version":1,"id":"r1","at":"2026-01-01T00:00:00Z","kind":"decision","event":"pre_tool","session":"s","user":"u","root":"s","tool":"rm","call_id":"c","asked":{"path":"a","to":["b",{"key":"[SECRET]"}]},"verdict":"deny","code":"approval_required","hook":"h","votes":[{"hook":"h","vote":"ask"}],"policy":"sha256:x"}"#;
    let record = Json::read(record.as_bytes()).unwrap();
    let rebuilt = rebuild(&record).unwrap();
    assert_eq!(rebuilt.masked, ["arguments.to[1].key"]);
    assert_eq!(rebuilt.event.id.to_string(), "r1");
    assert_eq!(rebuilt.event.session.user.as_deref(), Some("u"));
    assert_eq!(rebuilt.event.payload.subject(), Some("rm"));
    assert_eq!(rebuilt.baseline.verdict.name(), "ask", "nobody could be asked then");
    assert_eq!(rebuilt.policy.as_deref(), Some("sha256:x"));
    let outcome = Json::read(br#"{"kind":"outcome","tool":"rm"}"#).unwrap();
    assert!(matches!(rebuild(&outcome), Err(RebuildError::OtherKind(_))));
    let model = r#"{"id":"m","kind":"decision","event":"pre_model","session":"s","model":"m1","asked":{"model":"m1","messages":[{"role":"user","content":"x"}]},"verdict":"allow"}"#;
    let model = rebuild(&Json::read(model.as_bytes()).unwrap()).unwrap();
    let part = model.event.payload.part().unwrap();
    assert_eq!(model.baseline.part, Some(part.canonical_text()));
}
