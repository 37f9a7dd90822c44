//! Records show what hooks that mask let through, whether or not the chain came to them.

use crate::rig::{Rig, call, event, json, judge, rewriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tollgate_gate::{
    DryRun, EventKind, Handler, HandlerError, Hook, Json, Masking, Matcher, Opinion, Passage,
    Record, RecordKind, Roles, Soon, View,
};

const CALL: &str = r#"{"to":"jane"}"#;

/// Masks `jane`; counts how often a record asked it.
#[derive(Default)]
struct Masks {
    asked: Arc<AtomicU32>,
    fails: bool,
}

fn masked(value: &Json) -> Option<Json> {
    let text = value.text();
    text.contains("jane").then(|| json(&text.replace("jane", "[X]")))
}

impl Handler for Masks {
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        let rewrite = view.payload.part().and_then(|part| masked(&part)).map(Arc::new);
        Soon::now(Ok(Opinion { rewrite, ..Opinion::default() }))
    }

    fn masking(&self) -> Option<&dyn Masking> {
        Some(self)
    }
}

impl Masking for Masks {
    fn masked(&self, _: &View<'_>, value: &Json) -> Result<Option<Json>, HandlerError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.fails { Err(HandlerError::new("cannot tell")) } else { Ok(masked(value)) }
    }
}

/// The hook that masks, and how often a record asked it.
fn masking(kinds: EventKind, fails: bool) -> (Hook, Arc<AtomicU32>) {
    let masks = Masks { fails, ..Masks::default() };
    let asked = Arc::clone(&masks.asked);
    (Hook::new("masks", kinds, Roles::REWRITE, Arc::new(masks)), asked)
}

fn shown(record: &Record) -> (String, Option<String>) {
    let text = |value: &Option<Arc<Json>>| value.as_ref().map(|value| value.text());
    (text(&record.arguments.asked).unwrap(), text(&record.arguments.ran))
}

fn refuses() -> Hook {
    judge("refuses", |_| Opinion::deny("no")).with_priority(0)
}

#[test]
fn a_call_that_is_refused_before_is_recorded_masked() {
    let (masks, _) = masking(EventKind::PreTool, false);
    let rig = Rig::of([refuses(), masks]);
    rig.run(call("send", CALL));
    assert!(!rig.book().contains("jane"), "{}", rig.book());
    let decision = &rig.records(RecordKind::Decision)[0];
    assert_eq!(shown(decision), (r#"{"to":"[X]"}"#.to_owned(), None));
}

#[test]
fn what_was_asked_for_is_recorded_masked_and_looked_at_again_only_if_it_was_rewritten() {
    let (masks, asked) = masking(EventKind::PreTool, false);
    let rig = Rig::of([masks]);
    rig.run(call("send", r#"{"to":"bob"}"#));
    assert_eq!(asked.load(Ordering::Relaxed), 0, "the hook has looked at it already");
    rig.run(call("send", CALL));
    assert!(!rig.book().contains("jane"), "{}", rig.book());
    let masked = r#"{"to":"[X]"}"#.to_owned();
    let decision = &rig.records(RecordKind::Decision)[1];
    assert_eq!(shown(decision), (masked.clone(), Some(masked)));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn what_another_hook_has_rewritten_is_looked_at() {
    let (masks, asked) = masking(EventKind::PreTool, false);
    let rig = Rig::of([rewriter("clamp", r#"{"to":"nobody"}"#).with_priority(0), masks]);
    rig.run(call("send", CALL));
    assert!(!rig.book().contains("jane"), "{}", rig.book());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let ran = shown(&rig.records(RecordKind::Decision)[0]).1;
    assert_eq!(ran.as_deref(), Some(r#"{"to":"nobody"}"#));
}

#[test]
fn a_hook_that_cannot_tell_leaves_nothing_in_the_record() {
    let (masks, _) = masking(EventKind::PreTool, true);
    let rig = Rig::of([refuses(), masks]);
    rig.run(call("send", CALL));
    assert_eq!(shown(&rig.records(RecordKind::Decision)[0]).0, r#""[UNSHOWN]""#);
}

#[test]
fn a_hook_that_does_not_act_or_is_for_others_masks_nothing() {
    for change in [
        |hook: Hook| hook.with_dry_run(DryRun::Yes),
        |hook: Hook| hook.with_enabled(false),
        |hook: Hook| hook.matching(Matcher::tool("other").unwrap()),
    ] {
        let (masks, asked) = masking(EventKind::PreTool, false);
        let rig = Rig::of([refuses(), change(masks)]);
        rig.run(call("send", CALL));
        assert_eq!(shown(&rig.records(RecordKind::Decision)[0]).0, CALL);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn what_a_host_tells_of_a_call_afterwards_is_masked_as_before_it() {
    let (before, _) = masking(EventKind::PreTool, false);
    let rig = Rig::of([before]);
    let ended = r#"{"tool":"send","arguments":{"to":"jane"},"result":{"ok":true,"content":"ok"}}"#;
    let _ = crate::rig::block_on(rig.gate.judge(event(EventKind::PostTool, ended)));
    assert!(!rig.book().contains("jane"), "{}", rig.book());
    assert_eq!(shown(&rig.records(RecordKind::Outcome)[0]).0, r#"{"to":"[X]"}"#);
}

#[test]
fn the_error_of_a_tool_is_recorded_as_the_model_reads_it() {
    let (after, _) = masking(EventKind::ToolError, false);
    let rig = Rig::of([after]);
    let failed =
        r#"{"tool":"t","arguments":{},"result":{"ok":false,"executed":true,"error":"no jane"}}"#;
    let _ = crate::rig::block_on(rig.gate.judge(event(EventKind::ToolError, failed)));
    assert!(!rig.book().contains("jane"), "{}", rig.book());
    let error = rig.records(RecordKind::Outcome)[0].error.clone();
    assert_eq!(error.as_deref(), Some("no [X]"));
}

#[test]
fn in_a_dry_mode_records_are_masked_and_what_runs_is_not() {
    let (masks, _) = masking(EventKind::PreTool, false);
    let rig = Rig::with([masks], |builder| builder.mode(tollgate_gate::Mode::DryRun));
    let ruling = rig.decide(call("send", CALL));
    let Passage::Open(permit) = &ruling.passage else { panic!("it goes through") };
    assert!(permit.payload().part().unwrap().text().contains("jane"));
    assert_eq!(shown(&rig.records(RecordKind::Decision)[0]).0, r#"{"to":"[X]"}"#);
}
