//! A yes on disk has one owner at a time and runs one call.

use std::path::Path;
use tollgate_gate::{CallKey, Timestamp};
use tollgate_store::approvals::{Answer, Scope, Stands};
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

fn yes(scope: Scope, at: Timestamp) -> Answer {
    Answer { by: "ann".into(), yes: true, scope, reason: String::new(), at, signature: None }
}

fn approved(folder: &Path) -> Approvals {
    let approvals = Approvals::new(folder);
    approvals.put(&question(), 8, at(0), at(0)).unwrap();
    let answer = yes(Scope::Once, at(0));
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

#[test]
fn a_yes_for_the_session_holds_only_where_it_was_given_since_the_session_began_or_ended_last() {
    let folder = tempfile::tempdir().unwrap();
    let approvals = Approvals::new(folder.path());
    let put = |id: &str, call: &str, since, now| {
        let question = Approval {
            id: id.into(),
            call_digest: call.into(),
            asked_at: now,
            expires_at: at(2_000_000),
            ..question()
        };
        approvals.put(&question, 8, since, now).unwrap()
    };
    let say_yes = |id: &str, now| {
        let answer = yes(Scope::Session, now);
        approvals.answer(id, &answer, |_| ApprovalState::Approved, now).unwrap();
    };
    assert!(matches!(put("one", "d", at(0), at(1)), Stands::Waits(_)));
    say_yes("one", at(2));
    // The same call, and another with the same effects.
    assert!(matches!(put("x", "d", at(0), at(3)), Stands::Answered(found) if &*found.id == "one"));
    assert!(matches!(put("x", "e", at(0), at(3)), Stands::Answered(found) if &*found.id == "one"));
    // The end of the session tells by its time alone, whatever became of the file of approvals.
    assert!(matches!(put("two", "e", at(5), at(6)), Stands::Waits(found) if &*found.id == "two"));
    assert!(
        matches!(put("three", "d", at(5), at(6)), Stands::Waits(found) if &*found.id == "three")
    );
    approvals.end_session("s", at(7)).unwrap();
    let one = approvals.show("one", at(7)).unwrap().unwrap();
    assert_eq!(one.state, ApprovalState::Expired);
    // A question that waited over the end takes its answer, which holds from then on.
    assert!(matches!(put("x", "e", at(8), at(9)), Stands::Waits(found) if &*found.id == "two"));
    say_yes("two", at(10));
    assert!(matches!(put("x", "e", at(8), at(11)), Stands::Answered(found) if &*found.id == "two"));
    // Another session's end is another's.
    approvals.end_session("t", at(12)).unwrap();
    assert!(matches!(put("x", "e", at(8), at(13)), Stands::Answered(_)));
}
