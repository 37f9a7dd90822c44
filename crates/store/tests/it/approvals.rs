//! A yes on disk has one owner at a time and runs one call.

use std::path::Path;
use tollgate_gate::{CallKey, Timestamp};
use tollgate_store::approvals::{Answer, Scope};
use tollgate_store::{Approval, ApprovalState, Approvals};

/// A minute and a bit: a claim has run out then.
const LATER_MS: u64 = 61_000;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(1_000 + ms)
}

fn key(call: &str) -> CallKey {
    CallKey { session: "s".into(), call: call.into() }
}

fn question() -> Approval {
    Approval {
        id: "yes".into(),
        state: ApprovalState::Pending,
        hook: "h".into(),
        call_digest: "d".into(),
        effects_digest: "e".into(),
        session: "s".into(),
        root: "s".into(),
        user: None,
        agent: None,
        host: None,
        cwd: None,
        subject: "t".into(),
        reason: "r".into(),
        shown: "{}".into(),
        effects: Vec::new(),
        who: Vec::new(),
        asked_at: at(0),
        expires_at: at(1_000_000),
        changed_at: at(0),
        came: None,
        answers: Vec::new(),
    }
}

fn approved(folder: &Path) -> Approvals {
    let approvals = Approvals::new(folder);
    approvals.put(&question(), 8, at(0), at(0)).unwrap();
    let answer = Answer {
        by: "ann".into(),
        yes: true,
        scope: Scope::Once,
        reason: String::new(),
        at: at(0),
        signature: None,
    };
    approvals.answer("yes", &answer, |_| ApprovalState::Approved, at(0)).unwrap();
    approvals
}

fn state(approvals: &Approvals, now: Timestamp) -> ApprovalState {
    approvals.show("yes", now).unwrap().unwrap().state
}

#[test]
fn only_the_call_that_has_a_yes_can_use_it_or_give_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let approvals = approved(folder.path());
    assert!(approvals.claim("yes", &key("a"), at(1)).unwrap());
    assert!(!approvals.claim("yes", &key("b"), at(1)).unwrap());
    assert!(!approvals.run("yes", &key("b"), at(1)).unwrap());
    approvals.release("yes", &key("b"), at(1)).unwrap();
    assert_eq!(state(&approvals, at(1)), ApprovalState::Claimed);
    approvals.release("yes", &key("a"), at(1)).unwrap();
    assert_eq!(state(&approvals, at(1)), ApprovalState::Approved);
}

#[test]
fn a_claim_that_ran_out_is_had_by_another_and_the_late_one_neither_runs_nor_frees_it() {
    let folder = tempfile::tempdir().unwrap();
    let approvals = approved(folder.path());
    assert!(approvals.claim("yes", &key("late"), at(1)).unwrap());
    let now = at(LATER_MS);
    assert!(approvals.claim("yes", &key("next"), now).unwrap());
    assert!(!approvals.run("yes", &key("late"), now).unwrap());
    assert!(approvals.run("yes", &key("next"), now).unwrap());
    // The late one gives back what it no longer has; the yes stays used.
    approvals.release("yes", &key("late"), now).unwrap();
    assert!(!approvals.claim("yes", &key("third"), at(2 * LATER_MS)).unwrap());
    assert!(!approvals.run("yes", &key("next"), now).unwrap(), "it runs once");
    approvals.settle(&key("next"), true, false, now).unwrap();
    assert_eq!(state(&approvals, now), ApprovalState::Settled);
    assert!(!approvals.claim("yes", &key("next"), now).unwrap());
}
