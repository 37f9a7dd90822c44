//! Outcomes that never come.

use crate::rig::{Rig, text};
use std::sync::Arc;
use tollgate_gate::{
    Durability, EventId, EventKind, Record, RecordKind, Session, Timestamp, Verdict,
};
use tollgate_store::{FileLedger, OpenCalls};

const HOUR_MS: u64 = 3_600_000;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn decide(ledger: &FileLedger, id: &str, session: &str, ms: u64, verdict: Verdict) {
    let mut record = Record::new(EventId::Given(id.into()), at(ms), RecordKind::Decision);
    record.event = Some(EventKind::PreTool);
    record.verdict = Some(verdict);
    record.session = Some(Arc::new(Session::new(session).with_user("alice")));
    record.tool = Some("edit_file".into());
    record.call_id = Some(format!("call-{id}").into());
    ledger.append_blocking(&record, Durability::BeforeEffect).unwrap();
}

fn settle(ledger: &FileLedger, session: &str, decision: Option<&str>, call_id: Option<&str>) {
    let mut record = Record::new(EventId::made(at(1)), at(1), RecordKind::Outcome);
    record.session = Some(Arc::new(Session::new(session)));
    record.tool = Some("edit_file".into());
    record.decision = decision.map(|id| EventId::Given(id.into()));
    record.call_id = call_id.map(Into::into);
    record.executed = Some(true);
    ledger.append_blocking(&record, Durability::BeforeEffect).unwrap();
}

/// The decisions that got an unknown outcome.
fn unknown(rig: &Rig) -> Vec<String> {
    let entries = rig.entries();
    let outcomes = entries.iter().filter(|entry| text(entry, "kind") == "outcome");
    outcomes
        .filter(|entry| entry.line.json.get("executed").unwrap().is_null())
        .map(|entry| {
            assert_eq!((text(entry, "tool"), text(entry, "user")), ("edit_file", "alice"));
            assert!(text(entry, "reason").starts_with("no outcome came"));
            text(entry, "decision").to_owned()
        })
        .collect()
}

#[test]
fn an_outcome_that_never_comes_becomes_unknown_after_a_time() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    for id in ["a", "b", "c", "d"] {
        decide(&ledger, id, "s1", 0, Verdict::Allow);
    }
    decide(&ledger, "denied", "s1", 0, Verdict::Deny);
    decide(&ledger, "young", "s1", HOUR_MS, Verdict::Allow);
    settle(&ledger, "s1", Some("a"), None);
    settle(&ledger, "s1", None, Some("call-b"));
    settle(&ledger, "another", None, Some("call-c"));
    let mut calls = OpenCalls::new(&rig.folder());
    assert_eq!(calls.settle_overdue(&ledger, at(HOUR_MS), HOUR_MS).unwrap(), 2);
    assert_eq!(unknown(&rig), ["c", "d"]);
    assert_eq!(calls.count(), 1);
    // Once is enough, for this process and for the next one, which starts at the oldest open call.
    assert_eq!(calls.settle_overdue(&ledger, at(HOUR_MS), HOUR_MS).unwrap(), 0);
    let mut later = OpenCalls::new(&rig.folder());
    assert_eq!(later.settle_overdue(&ledger, at(HOUR_MS), HOUR_MS).unwrap(), 0);
    assert_eq!(later.count(), 1);
    assert_eq!(later.settle_overdue(&ledger, at(2 * HOUR_MS), HOUR_MS).unwrap(), 1);
    assert_eq!(unknown(&rig), ["c", "d", "young"]);
}

#[test]
fn the_end_of_a_session_settles_its_open_calls_and_no_others() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    decide(&ledger, "a", "s1", 0, Verdict::Allow);
    decide(&ledger, "b", "s2", 0, Verdict::Allow);
    let mut calls = OpenCalls::new(&rig.folder());
    assert_eq!(calls.settle_session(&ledger, at(5), "s1").unwrap(), 1);
    assert_eq!(unknown(&rig), ["a"]);
    assert_eq!(calls.count(), 1);
}
