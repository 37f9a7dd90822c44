//! The seeds' own hooks through a gate.

use super::actions_rig::{
    Rig, code, fails, hook, json, message, not_run, ok, session, tool_result,
};
use std::sync::Arc;
use tollgate_gate::{Code, EventKind, KindSet, Matcher, Performed, Session, Settled, Usage};
use tollgate_policy::actions::{self, ActionContext};

// The seeds' own hooks.

#[test]
fn a_protected_path_is_refused_before_the_tool_runs_and_others_pass() {
    let rig = Rig::new([hook(
        "permission",
        EventKind::PreTool,
        "permission",
        r#"{"protect":[{"paths":"**/test_*.py","tools":["edit_file","run_test"],"reason":"测试文件受保护:禁止 agent 直接修改测试"}]}"#,
    )]);
    let refused = rig.call("edit_file", r#"{"path":"./test_calculator.py"}"#, not_run);
    assert_eq!(*code(&refused), Code::HookDenied);
    assert!(message(&refused).starts_with("测试文件受保护"));
    assert!(rig.call("edit_file", r#"{"path":"calculator.py"}"#, ok).ok);
    assert!(rig.call("read_file", r#"{"path":"test_calculator.py"}"#, ok).ok);
}

/// The first seed's session: four calls, with what its transcript ends with.
#[test]
fn four_calls_of_the_first_seed_are_refused_masked_clamped_and_done() {
    let protect = r#"{"protect":[{"paths":"**/test_*.py","tools":["edit_file","run_test"],"reason":"测试文件受保护"}]}"#;
    let rig = Rig::new([
        hook("permission", EventKind::PreTool, "permission", protect),
        hook("clamp", EventKind::PreTool, "rewrite", r#"{"max_entries":{"default":10,"max":10}}"#)
            .matching(Matcher::tool("list_files").unwrap()),
        hook("mask", KindSet::AFTER_TOOL, "redact", r#"{"lines":"SECRET"}"#),
    ]);
    let refused = rig.call("edit_file", r#"{"path":"test_calculator.py","new":"x"}"#, not_run);
    assert_eq!(*code(&refused), Code::HookDenied);
    let file = "def add(a, b):\n    return a + b\nTOKEN = 'sk-1'  # SECRET\n";
    let read = rig.call("read_file", r#"{"path":"calculator.py"}"#, |_| {
        tollgate_gate::ToolResult::success(file)
    });
    let expected = "def add(a, b):\n    return a + b\n[SECRET]\n";
    assert_eq!(read.content.as_str(), Some(expected));
    let listed = rig.call("list_files", r#"{"max_entries":100}"#, |arguments| {
        let max = arguments.get("max_entries").and_then(tollgate_gate::Json::as_u64).unwrap();
        tollgate_gate::ToolResult::success(max)
    });
    assert_eq!(listed.content.as_u64(), Some(10));
    assert!(rig.call("edit_file", r#"{"path":"calculator.py","new":"x"}"#, ok).ok);
    assert_eq!(rig.decisions(), 4, "the refused call is recorded too");
}

#[test]
fn a_tool_has_the_mode_of_its_name_then_of_the_strictest_glob_then_of_all_others() {
    let value = r#"{"tools":{"delete_draft":"allow","delete_*":"deny","*_draft":"ask","read_*":"allow"},"otherwise":"ask"}"#;
    let rig = Rig::new([hook("permission", EventKind::PreTool, "permission", value)]);
    assert!(rig.call("delete_draft", "{}", ok).ok && rig.call("read_file", "{}", ok).ok);
    assert_eq!(*code(&rig.call("delete_file", "{}", not_run)), Code::HookDenied);
    // Nobody can be asked: refused, and the reason says that a person would have been.
    for tool in ["send_draft", "transfer"] {
        let asked = rig.call(tool, "{}", not_run);
        assert_eq!(*code(&asked), Code::ApprovalRequired);
        assert!(message(&asked).contains("a person would have had to confirm"));
    }
}

#[test]
fn permission_without_a_mode_for_a_tool_has_no_opinion() {
    let permission =
        hook("permission", EventKind::PreTool, "permission", r#"{"tools":{"a":"allow"}}"#);
    let rig = Rig::with([permission], |builder| {
        let mut settings = tollgate_gate::Settings::default();
        settings.set_default(EventKind::PreTool, tollgate_gate::DefaultVote::Deny).unwrap();
        builder.settings(settings)
    });
    assert!(rig.call("a", "{}", ok).ok);
    assert!(!rig.call("b", "{}", not_run).ok);
}

#[test]
fn ten_model_calls_pass_and_the_eleventh_ends_the_session_and_its_children() {
    let value = r#"{"model_calls":10,"reason":"model call count exceeded its limit"}"#;
    let rig = Rig::new([hook("cost-guard", EventKind::PreModel, "call_limit", value)]);
    let request = r#"{"model":"m","messages":[]}"#;
    let child = Arc::new(Session::new("s1.1").with_parent("s1"));
    for call in 0..10 {
        let session = if call % 2 == 0 { session() } else { Arc::clone(&child) };
        assert!(rig.model_as(&session, request, Usage::default()).aborted.is_none());
    }
    let aborted = rig.model_as(&session(), request, Usage::default()).aborted.unwrap();
    assert_eq!(aborted.code.as_str(), "COST_LIMIT");
    assert!(aborted.reason.starts_with("model call count exceeded its limit"));
    assert_eq!(*code(&rig.call("t", "{}", not_run)), Code::SessionAborted);
    let after = tool_result(rig.call_as(&child, "t", "{}", not_run));
    assert_eq!(*code(&after), Code::SessionAborted);
    let other = Arc::new(Session::new("s2"));
    assert!(rig.model_as(&other, request, Usage::default()).aborted.is_none());
}

#[test]
fn a_call_limit_can_refuse_instead_and_counts_what_it_names() {
    let value = r#"{"tool_calls_executed":1,"then":"deny","of":"session","code":"ENOUGH"}"#;
    let rig = Rig::new([hook("few", EventKind::PreTool, "call_limit", value)]);
    assert!(rig.call("t", "{}", ok).ok && rig.call("t", "{}", ok).ok);
    let refused = rig.call("t", "{}", not_run);
    assert_eq!(code(&refused).as_str(), "ENOUGH");
    assert!(message(&refused).starts_with("more than 1 tool calls that ran"));
}

#[test]
fn tokens_and_cost_that_were_used_stop_the_next_call() {
    for (value, usage) in [
        (r#"{"tokens":100}"#, Usage { tokens_in: 101, ..Usage::default() }),
        (r#"{"cost":0.5}"#, Usage { cost_micros: 500_001, ..Usage::default() }),
    ] {
        let rig = Rig::new([hook("budget", EventKind::PreModel, "call_limit", value)]);
        let request = r#"{"model":"m","messages":[]}"#;
        assert!(rig.model_as(&session(), request, usage).aborted.is_none(), "{value}");
        assert!(rig.model_as(&session(), request, usage).aborted.is_some(), "{value}");
    }
}

#[test]
fn the_same_call_refused_three_times_ends_the_session() {
    let rig = Rig::new([
        hook("no", EventKind::PreTool, "deny", r#""no""#).matching(Matcher::tool("rm").unwrap()),
        hook("loop", KindSet::AFTER_TOOL, "loop_guard", r#"{"refused":3}"#),
    ]);
    let refuse = |arguments: &str| rig.call_as(&session(), "rm", arguments, not_run).aborted;
    assert!(refuse(r#"{"path":"a"}"#).is_none() && refuse(r#"{"path":"a"}"#).is_none());
    // Another call in between starts the count anew.
    assert!(refuse(r#"{"path":"b"}"#).is_none());
    assert!(refuse(r#"{"path":"a"}"#).is_none() && refuse(r#"{"path":"a"}"#).is_none());
    let aborted = refuse(r#"{"path":"a"}"#).unwrap();
    assert_eq!(aborted.code.as_str(), "LOOP_DETECTED");
    assert_eq!(&*aborted.reason, "the same call was refused 3 times");
    assert_eq!(*code(&rig.call("read", "{}", not_run)), Code::SessionAborted);
}

#[test]
fn the_same_call_repeated_is_seen_in_a_row_and_among_the_recent_ones() {
    let guard = |value: &str| Rig::new([hook("loop", KindSet::AFTER_TOOL, "loop_guard", value)]);
    let rig = guard(r#"{"in_a_row":3}"#);
    let call = |rig: &Rig, tool: &str| rig.call_as(&session(), tool, r#"{"a":1}"#, ok).aborted;
    assert!(call(&rig, "x").is_none() && call(&rig, "x").is_none());
    assert!(call(&rig, "y").is_none() && call(&rig, "x").is_none() && call(&rig, "x").is_none());
    assert!(call(&rig, "x").is_some());
    let rig = guard(r#"{"recent":3,"then":"deny"}"#);
    for tool in ["x", "y", "x", "z"] {
        assert!(call(&rig, tool).is_none());
    }
    let withheld = rig.call("x", r#"{"a":1}"#, ok);
    assert_eq!(code(&withheld).as_str(), "LOOP_DETECTED");
    // A failure of the tool itself is no refusal.
    let rig = guard(r#"{"refused":1}"#);
    assert!(rig.call_as(&session(), "t", "{}", fails).aborted.is_none());
}

#[test]
fn usage_is_metered_by_model_and_labels_what_has_used_much() {
    let value = r#"{"prices":{"gpt-*":{"input":2.50,"output":10}},"label":{"name":"expensive","tokens":1500}}"#;
    let context = ActionContext::new("usage", KindSet::AFTER);
    let usage = actions::find("usage").unwrap().hook(&json(value), &context).unwrap();
    let no_more = hook("no-more", EventKind::PreModel, "deny", r#""expensive""#)
        .matching(Matcher::Labels(vec!["expensive".into()]));
    let rig = Rig::new([usage, no_more]);
    let used = Usage { tokens_in: 1_000, tokens_out: 0, cost_micros: 0 };
    let refused = |settled: Settled| {
        let Performed::Model(result) = settled.performed else { panic!("a model call was made") };
        result.error.is_some()
    };
    let request = r#"{"model":"gpt-x","messages":[]}"#;
    assert!(!refused(rig.model_as(&session(), request, used)));
    assert!(!refused(rig.model_as(&session(), request, used)), "the label comes behind the second");
    assert!(refused(rig.model_as(&session(), request, used)));
    let totals = context.meter.totals();
    let model = totals["gpt-x"];
    assert_eq!((model.calls, model.unpriced), (2, 0), "the refused call used nothing");
    assert_eq!((model.usage.tokens_in, model.usage.cost_micros), (2_000, 5_000));
    assert!(
        context.meter.text().contains("tollgate_usage_cost_micros_total{model=\"gpt-x\"} 5000")
    );
}

#[test]
fn a_keyword_is_found_wherever_it_stands_in_the_arguments() {
    let rig = Rig::new([hook("words", EventKind::PreTool, "keywords", r#"["验证码"]"#)]);
    for arguments in [
        r#"{"text":"你的验证码是 1"}"#,
        r#"{"list":[{"deep":["验\u200b证码"]}]}"#,
        r#"{"验证码":1}"#,
    ] {
        assert_eq!(*code(&rig.call("send", arguments, not_run)), Code::HookDenied, "{arguments}");
    }
    assert!(rig.call("send", r#"{"text":"验 证"}"#, ok).ok);
}
