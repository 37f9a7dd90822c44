//! What reaches an agent beside its calls, and what a list of tools leaves out.

use crate::rig::{Rig, block_on, call, hook, json, judge, session, start};
use std::sync::Arc;
use tollgate_gate::hook::Handler;
use tollgate_gate::payload::ToolOutcome;
use tollgate_gate::{
    Event, EventKind, HandlerError, Hook, KindSet, Matcher, Mode, Opinion, RecordKind, Roles, Soon,
    ToolCall, ToolResult, Verdict, View,
};

/// A text beside the calls, as an adapter shows it.
fn aside(text: &str) -> Event {
    let call = Arc::new(ToolCall::new("notifications/message", json("{}")));
    let result = ToolResult::success(text);
    Event::new(session("s1"), ToolOutcome { call, result }, start())
}

fn masking() -> Hook {
    hook("mask", EventKind::PostTool, Roles::REWRITE, |view| {
        let text = view.payload.part().and_then(|part| part.as_str().map(ToOwned::to_owned));
        Ok(Opinion::rewrite(text.unwrap_or_default().replace("secret", "***")))
    })
}

#[test]
fn a_text_beside_calls_passes_the_hooks_of_results() {
    let rig = Rig::of([masking()]);
    let decision = block_on(rig.gate.review(aside("a secret")));
    assert_eq!(decision.verdict, Verdict::Allow);
    assert_eq!(decision.payload.part().unwrap().as_str(), Some("a ***"));
    let no = hook("no", EventKind::PostTool, Roles::JUDGE, |_| Ok(Opinion::deny("not this")));
    let rig = Rig::of([no]);
    let decision = block_on(rig.gate.review(aside("a secret")));
    assert_eq!(decision.verdict, Verdict::Deny);
    assert!(!format!("{:?}", decision.payload).contains("a secret"));
}

#[test]
fn a_text_beside_calls_is_no_call() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let watch = hook("watch", KindSet::AFTER, Roles::WATCH, move |view| {
        log.lock().unwrap().push(view.session.counters.tool_calls_attempted);
        Ok(Opinion::none())
    });
    let rig = Rig::of([watch]);
    for _ in 0..3 {
        let _ = block_on(rig.gate.review(aside("a line")));
    }
    assert_eq!(*seen.lock().unwrap(), [0, 0, 0]);
    assert_eq!(rig.records(RecordKind::Outcome).len(), 0);
    let decisions = rig.records(RecordKind::Decision);
    assert_eq!(decisions.len(), 3);
    assert!(decisions.iter().all(|record| record.executed.is_none()));
}

/// A handler that refuses as if there were no such tool.
struct Hiding;

impl Handler for Hiding {
    fn handle<'a>(&'a self, _: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        Soon::now(Ok(Opinion::deny("unknown tool")))
    }

    fn hides(&self) -> bool {
        true
    }
}

fn hiding(pattern: &str) -> Hook {
    let matcher = Matcher::tool(pattern).unwrap();
    Hook::new("hide", EventKind::PreTool, Roles::JUDGE, Arc::new(Hiding)).matching(matcher)
}

#[test]
fn what_a_list_leaves_out_is_what_a_call_is_refused_for() {
    let denying = judge("no", |_| Opinion::deny("no")).matching(Matcher::tool("plain").unwrap());
    let rig = Rig::of([hiding("admin_*"), denying]);
    for (tool, hidden) in [("admin_reset", true), ("plain", false), ("other", false)] {
        assert_eq!(block_on(rig.gate.hides(&call(tool, "{}"))), hidden, "{tool}");
        let refused = !rig.decide(call(tool, "{}")).decision.goes_through();
        assert!(refused || !hidden, "{tool}");
    }
    // Only the three calls are in the book, no question.
    assert_eq!(rig.records(RecordKind::Decision).len(), 3);
}

#[test]
fn a_hook_that_does_not_act_hides_nothing() {
    let hidden = |hook: Hook, mode: Mode| {
        let rig = Rig::with([hook], |builder| builder.mode(mode));
        block_on(rig.gate.hides(&call("admin_reset", "{}")))
    };
    assert!(hidden(hiding("admin_*"), Mode::Enforce));
    assert!(!hidden(hiding("admin_*"), Mode::DryRun));
    assert!(!hidden(hiding("admin_*"), Mode::Off));
    assert!(!hidden(hiding("admin_*").with_enabled(false), Mode::Enforce));
    assert!(!hidden(hiding("admin_*").with_dry_run(tollgate_gate::DryRun::Yes), Mode::Enforce));
}

#[test]
fn a_matcher_that_cannot_tell_hides() {
    let broken = Matcher::when("broken", |_| panic!("no answer"));
    let hook = Hook::new("hide", EventKind::PreTool, Roles::JUDGE, Arc::new(Hiding));
    let rig = Rig::of([hook.matching(broken)]);
    assert!(block_on(rig.gate.hides(&call("any", "{}"))));
}
