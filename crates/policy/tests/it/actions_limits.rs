//! Limits, breakers and guards through a gate.

use super::actions_rig::{
    Rig, code, fails, hook, json, message, not_run, ok, session, tool_result,
};
use std::sync::Arc;
use tollgate_gate::{
    Code, DryRun, EventKind, Matcher, Passage, Payload, Performed, Session, Settled, ToolCall,
    Usage,
};

// Limits and breakers.

#[test]
fn a_rate_counts_by_its_keys_and_frees_with_its_window() {
    let rig = Rig::new([hook(
        "calls-per-minute",
        EventKind::PreTool,
        "limit",
        r#"{"rate":"2/min","per":["session","tool"]}"#,
    )]);
    assert!(rig.call("a", "{}", ok).ok && rig.call("a", "{}", ok).ok);
    let refused = rig.call("a", "{}", not_run);
    assert_eq!(*code(&refused), Code::LimitExceeded);
    assert!(message(&refused).starts_with("at most 2 calls in a minute"));
    assert!(rig.call("b", "{}", ok).ok, "another tool counts by itself");
    let other = Arc::new(Session::new("s2"));
    assert!(tool_result(rig.call_as(&other, "a", "{}", ok)).ok);
    // A sub-agent counts with the session that started it.
    let child = Arc::new(Session::new("s1.1").with_parent("s1"));
    assert_eq!(*code(&tool_result(rig.call_as(&child, "a", "{}", not_run))), Code::LimitExceeded);
    rig.clock.advance(std::time::Duration::from_secs(60));
    assert!(rig.call("a", "{}", ok).ok);
}

#[test]
fn an_exceeded_limit_speaks_in_its_own_words() {
    let rig = Rig::new([hook(
        "few",
        EventKind::PreTool,
        "limit",
        r#"{"count":0,"code":"COST_LIMIT","reason":"enough for today"}"#,
    )]);
    let payload = Payload::PreTool(Arc::new(ToolCall::new("t", json("{}"))));
    let decision = rig.decide(&session(), payload).decision;
    assert_eq!(decision.code, Some(Code::from("COST_LIMIT")));
    assert_eq!(decision.reason.as_deref(), Some("enough for today"));
    assert_eq!(decision.remedy.as_deref(), Some("at most 0 calls"));
    assert_eq!(decision.hook.as_deref(), Some("few"));
}

#[test]
fn a_dry_limit_reports_in_its_own_words_what_it_would_refuse() {
    let limit = hook("few", EventKind::PreTool, "limit", r#"{"count":0,"code":"COST_LIMIT"}"#);
    let rig = Rig::new([limit.with_dry_run(DryRun::Yes)]);
    let payload = Payload::PreTool(Arc::new(ToolCall::new("t", json("{}"))));
    let ruling = rig.decide(&session(), payload);
    assert!(matches!(ruling.passage, Passage::Open(_)));
    let vote = ruling.decision.votes[0].vote.as_ref().unwrap();
    assert_eq!(vote.refusal().unwrap().code, Some(Code::from("COST_LIMIT")));
}

#[test]
fn executed_counts_give_back_what_did_not_run_and_attempts_do_not() {
    let deny = || {
        hook("no-b", EventKind::PreTool, "deny", r#""no""#).matching(Matcher::tool("b").unwrap())
    };
    let executed = hook("few", EventKind::PreTool, "limit", r#"{"count":2}"#);
    let rig = Rig::new([executed, deny()]);
    assert!(!rig.call("b", "{}", not_run).ok && !rig.call("b", "{}", not_run).ok);
    assert!(rig.call("a", "{}", ok).ok && rig.call("a", "{}", ok).ok);
    let attempts = hook("few", EventKind::PreTool, "limit", r#"{"count":2,"counted":"attempts"}"#);
    let rig = Rig::new([attempts, deny()]);
    assert!(!rig.call("b", "{}", not_run).ok && !rig.call("b", "{}", not_run).ok);
    assert_eq!(*code(&rig.call("a", "{}", not_run)), Code::LimitExceeded);
}

#[test]
fn tokens_are_counted_when_they_are_known() {
    let rig = Rig::new([hook(
        "budget",
        EventKind::PreModel,
        "limit",
        r#"{"tokens":"100/day","per":"tenant"}"#,
    )]);
    let usage = Usage { tokens_in: 60, tokens_out: 40, cost_micros: 0 };
    let request = r#"{"model":"m","messages":[]}"#;
    let ended = |settled: Settled| {
        let Performed::Model(result) = settled.performed else { panic!("a model call was made") };
        result.error.map(|failure| failure.code)
    };
    assert_eq!(ended(rig.model_as(&session(), request, usage)), None);
    assert_eq!(ended(rig.model_as(&session(), request, usage)), Some(Code::LimitExceeded));
    let other = Arc::new(Session::new("s9").with_tenant("other"));
    assert_eq!(ended(rig.model_as(&other, request, usage)), None);
}

#[test]
fn a_breaker_opens_probes_and_closes() {
    let rig = Rig::new([hook(
        "pause",
        EventKind::PreTool,
        "breaker",
        r#"{"failures":2,"window":"1m","open_for":"30s","per":"tool"}"#,
    )]);
    assert_eq!(*code(&rig.call("t", "{}", fails)), Code::ToolError);
    assert_eq!(*code(&rig.call("t", "{}", fails)), Code::ToolError);
    assert_eq!(*code(&rig.call("t", "{}", not_run)), Code::CircuitOpen);
    assert!(rig.call("other", "{}", ok).ok);
    rig.clock.advance(std::time::Duration::from_secs(31));
    assert_eq!(*code(&rig.call("t", "{}", fails)), Code::ToolError, "the probe fails");
    assert_eq!(*code(&rig.call("t", "{}", not_run)), Code::CircuitOpen);
    rig.clock.advance(std::time::Duration::from_secs(31));
    assert!(rig.call("t", "{}", ok).ok && rig.call("t", "{}", ok).ok);
}
