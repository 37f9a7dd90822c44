//! Asking people: joined questions, four different answers, and that a yes holds for the exact call.

use crate::rig::{Rig, block_on, call, code, is_open, judge, session, tool_result};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};
use tollgate_gate::{
    ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver, CallKey, Claim, Code, Counted, Gate,
    Mode, Name, Opinion, Quota, RecordKind, Soon,
};

/// Always gives the same answer.
pub(crate) struct Says(pub(crate) ApprovalAnswer);

impl Approver for Says {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        Soon::now(ApprovalReply::to(request, self.0.clone()))
    }
}

/// Agrees in everyone's name, remembers what it was asked, and may do something meanwhile.
struct Agrees {
    asked: Mutex<Vec<ApprovalRequest>>,
    only: Option<BTreeSet<Name>>,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl Agrees {
    fn new(meanwhile: impl Fn() + Send + Sync + 'static) -> Agrees {
        Agrees { asked: Mutex::default(), only: None, meanwhile: Box::new(meanwhile) }
    }
}

impl Approver for Agrees {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        self.asked.lock().unwrap().push(request.clone());
        (self.meanwhile)();
        let by = self.only.clone().unwrap_or_else(|| request.who.clone());
        Soon::now(ApprovalReply::to(request, ApprovalAnswer::Approved { by }))
    }
}

fn names(names: &[&str]) -> BTreeSet<Name> {
    names.iter().map(|name| Name::from(*name)).collect()
}

fn asking(name: &'static str, who: &'static [&'static str]) -> tollgate_gate::Hook {
    judge(name, move |_| Opinion::ask(who.iter().copied(), "really?"))
}

#[test]
fn without_a_way_to_reach_people_an_ask_is_a_refusal_that_says_so() {
    let rig = Rig::of([asking("asks", &["alice"])]);
    let settled = rig.run(call("t", "{}"));
    assert_eq!((code(&settled).as_str(), rig.effects()), ("approval_required", 0));
    assert!(crate::rig::failure(&settled).message.contains("confirm"));
}

#[test]
fn several_asks_join_and_everyone_asked_must_agree() {
    for (only, executed) in [(names(&["alice", "bob"]), true), (names(&["alice"]), false)] {
        let approver = Arc::new(Agrees { only: Some(only), ..Agrees::new(|| ()) });
        let shared: Arc<Agrees> = Arc::clone(&approver);
        let rig = Rig::with([asking("a", &["alice"]), asking("b", &["bob", "alice"])], |builder| {
            builder.approver(shared)
        });
        let settled = rig.run(call("t", "{}"));
        assert_eq!(tool_result(&settled).executed, executed);
        assert_eq!(approver.asked.lock().unwrap()[0].who, names(&["alice", "bob"]));
    }
}

#[test]
fn denied_expired_cancelled_and_pending_are_four_different_things() {
    let denied = ApprovalAnswer::Denied { by: "bob".into(), reason: "too risky".into() };
    for (answer, expected, state) in [
        (denied, "approval_denied", "denied"),
        (ApprovalAnswer::Expired, "approval_expired", "expired"),
        (ApprovalAnswer::Cancelled, "approval_cancelled", "cancelled"),
        (ApprovalAnswer::Pending, "approval_required", "pending"),
        (ApprovalAnswer::Unreachable, "approval_required", "unreachable"),
    ] {
        let rig =
            Rig::with([asking("a", &["bob"])], |builder| builder.approver(Arc::new(Says(answer))));
        let settled = rig.run(call("t", "{}"));
        assert_eq!((code(&settled).as_str(), rig.effects()), (expected, 0));
        let record = &rig.records(RecordKind::Approval)[0];
        let detail = record.detail.as_ref().unwrap();
        assert_eq!(detail.get("state").unwrap().as_str(), Some(state));
    }
}

#[test]
fn a_yes_lets_the_call_pass_and_its_decision_names_the_approval() {
    let rig =
        Rig::with([asking("a", &[])], |builder| builder.approver(Arc::new(Agrees::new(|| ()))));
    let ruling = rig.decide(call("t", "{}"));
    assert!(is_open(&ruling));
    let approval = rig.records(RecordKind::Approval)[0].approval.clone();
    assert!(approval.is_some());
    assert_eq!(ruling.decision.approval, approval);
    // Both runs of the chain count.
    assert_eq!(rig.gate.metrics()[0].runs, 2);
}

#[test]
fn a_yes_does_not_hold_for_a_call_that_changed_meanwhile() {
    let round = std::sync::atomic::AtomicU32::new(0);
    let changing = crate::rig::hook(
        "changing",
        tollgate_gate::EventKind::PreTool,
        tollgate_gate::Roles::REWRITE,
        move |_| {
            let round = round.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(Opinion::rewrite(crate::rig::json(&format!("{{\"round\":{round}}}"))))
        },
    );
    let rig = Rig::with([changing, asking("a", &[])], |builder| {
        builder.approver(Arc::new(Agrees::new(|| ())))
    });
    let settled = rig.run(call("t", "{}"));
    assert_eq!((code(&settled).as_str(), rig.effects()), ("approval_required", 0));
}

#[test]
fn a_yes_does_not_revive_a_policy_that_changed_or_a_session_that_ended_meanwhile() {
    for (end_session, expected) in [(true, "session_aborted"), (false, "approval_required")] {
        let gate: Arc<OnceLock<Arc<Gate>>> = Arc::default();
        let known = Arc::clone(&gate);
        let approver = Agrees::new(move || {
            let gate = known.get().unwrap();
            if end_session {
                block_on(gate.abort_session(&session("s1"), "stop", "by hand")).unwrap();
            } else {
                let no = judge("no", |_| Opinion::deny("new rule"));
                block_on(gate.attach(no)).unwrap();
            }
        });
        let rig = Rig::with([asking("a", &[])], |builder| builder.approver(Arc::new(approver)));
        gate.set(Arc::clone(&rig.gate)).ok();
        let settled = rig.run(call("t", "{}"));
        assert_eq!((code(&settled).as_str(), rig.effects()), (expected, 0));
    }
}

#[test]
fn nothing_is_reserved_while_people_are_asked_and_a_late_deny_beats_the_yes() {
    let gate: Arc<OnceLock<Arc<Gate>>> = Arc::default();
    let known = Arc::clone(&gate);
    let approver = Agrees::new(move || {
        // Another call takes the only place while the question is open.
        let ruling = block_on(known.get().unwrap().decide(call("quick", "{}")));
        assert!(is_open(&ruling));
        if let tollgate_gate::Passage::Open(permit) = ruling.passage {
            permit.hand_over();
        }
    });
    let once = judge("once", |_| {
        let quota = Quota::Count { max: 1, counted: Counted::Executed };
        Opinion::claim(Claim { hook: "once".into(), key: "k".into(), quota })
    });
    let ask = asking("a", &[]).matching(tollgate_gate::Matcher::tool("slow").unwrap());
    let rig = Rig::with([once, ask], |builder| builder.approver(Arc::new(approver)));
    gate.set(Arc::clone(&rig.gate)).ok();
    assert_eq!(code(&rig.run(call("slow", "{}"))), "limit_exceeded");
}

#[test]
fn what_is_shown_is_scrubbed_and_the_digest_is_of_the_plain_call() {
    let approver = Arc::new(Agrees::new(|| ()));
    let shared: Arc<Agrees> = Arc::clone(&approver);
    let rig = Rig::with([asking("a", &[])], |builder| builder.approver(shared));
    rig.run(call("t", r#"{"password":"one"}"#));
    rig.run(call("t", r#"{"password":"two"}"#));
    let asked = approver.asked.lock().unwrap();
    assert_eq!(asked[0].shown.text(), r#"{"password":"[SECRET]"}"#);
    assert_ne!(asked[0].call_digest, asked[1].call_digest);
}

#[test]
fn the_digest_of_a_call_leaves_out_the_id_that_the_host_gave_it() {
    for (kind, payload) in [
        (tollgate_gate::EventKind::PreTool, r#""tool":"t","arguments":{"a":1}"#),
        (tollgate_gate::EventKind::PreModel, r#""model":"m","messages":[]"#),
    ] {
        let approver = Arc::new(Agrees::new(|| ()));
        let shared: Arc<Agrees> = Arc::clone(&approver);
        let asks = crate::rig::hook("a", kind, tollgate_gate::Roles::JUDGE, |_| {
            Ok(Opinion::ask([] as [&str; 0], "really?"))
        });
        let rig = Rig::with([asks], |builder| builder.approver(shared));
        for id in ["one", "two"] {
            let payload = format!(r#"{{"call_id":"{id}",{payload}}}"#);
            let _ = block_on(rig.gate.decide(crate::rig::event(kind, &payload)));
        }
        let asked = approver.asked.lock().unwrap();
        assert_eq!(asked.len(), 2, "{kind}");
        assert_eq!(asked[0].call_digest, asked[1].call_digest, "{kind}");
    }
}

#[test]
fn nobody_is_asked_in_mode_dry_run_or_by_a_dry_hook() {
    let approver = Arc::new(Agrees::new(|| ()));
    let shared: Arc<Agrees> = Arc::clone(&approver);
    let rig = Rig::with([asking("a", &[])], |builder| builder.approver(shared).mode(Mode::DryRun));
    let ruling = rig.decide(call("t", "{}"));
    assert!(is_open(&ruling));
    assert_eq!(ruling.decision.would, Some(tollgate_gate::Verdict::Ask));
    let shared: Arc<Agrees> = Arc::clone(&approver);
    let dry = asking("a", &[]).with_dry_run(tollgate_gate::DryRun::Yes);
    let rig = Rig::with([dry], |builder| builder.approver(shared));
    assert!(is_open(&rig.decide(call("t", "{}"))));
    assert_eq!(approver.asked.lock().unwrap().len(), 0);
    assert_eq!(rig.records(RecordKind::Approval), []);
}

#[test]
fn an_answer_that_cannot_be_recorded_is_no_answer() {
    let ledger = Arc::new(crate::rig::Breakable::default());
    let (book, broken) = (Arc::clone(&ledger), Arc::clone(&ledger));
    let approver =
        Agrees::new(move || broken.broken.store(true, std::sync::atomic::Ordering::Relaxed));
    let rig =
        Rig::with([asking("a", &[])], |builder| builder.approver(Arc::new(approver)).ledger(book));
    let ruling = rig.decide(call("t", "{}"));
    assert_eq!(ruling.decision.code, Some(Code::LedgerUnavailable));
}

/// Agrees, and what becomes of the yes fails or is noted.
struct Keeps {
    fails: std::sync::atomic::AtomicBool,
    released: Mutex<Vec<(Name, CallKey)>>,
}

impl Approver for Keeps {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        let answer = ApprovalAnswer::Approved { by: names(&["ann"]) };
        Soon::now(ApprovalReply { approval: "yes".into(), ..ApprovalReply::to(request, answer) })
    }

    fn run<'a>(&'a self, _: &'a Name, _: &'a CallKey) -> Soon<'a, Result<(), Arc<str>>> {
        match self.fails.load(std::sync::atomic::Ordering::Relaxed) {
            true => Soon::now(Err("the disk is full".into())),
            false => Soon::now(Ok(())),
        }
    }

    fn release<'a>(&'a self, approval: &'a Name, call: &'a CallKey) -> Soon<'a, ()> {
        self.released.lock().unwrap().push((approval.clone(), call.clone()));
        Soon::now(())
    }
}

#[test]
fn a_yes_that_cannot_be_used_up_runs_nothing_and_gives_back_what_was_reserved() {
    let approver = Arc::new(Keeps { fails: true.into(), released: Mutex::default() });
    let once = judge("once", |_| {
        let quota = Quota::Count { max: 1, counted: Counted::Executed };
        Opinion::claim(Claim { hook: "once".into(), key: "k".into(), quota })
    });
    let known = Arc::clone(&approver);
    let rig = Rig::with([once, asking("a", &[])], |builder| builder.approver(known));
    for _ in 0..3 {
        assert_eq!(code(&rig.run(call("t", "{}"))), "approval_required");
    }
    assert_eq!(rig.effects(), 0);
    // A failure to keep it is no release: whoever keeps approvals does not know of a call that ended.
    assert_eq!(approver.released.lock().unwrap().len(), 0);
    approver.fails.store(false, std::sync::atomic::Ordering::Relaxed);
    rig.run(call("t", "{}"));
    assert_eq!(rig.effects(), 1, "nothing stayed reserved");
    assert_eq!(code(&rig.run(call("t", "{}"))), "limit_exceeded");
}

#[test]
fn a_yes_is_given_back_under_the_name_of_the_call_that_has_it() {
    let approver = Arc::new(Keeps { fails: false.into(), released: Mutex::default() });
    let known = Arc::clone(&approver);
    let never = judge("never", |_| {
        let quota = Quota::Count { max: 0, counted: Counted::Executed };
        Opinion::claim(Claim { hook: "never".into(), key: "k".into(), quota })
    });
    let rig = Rig::with([asking("a", &[]), never], |builder| builder.approver(known));
    let mut event = call("t", "{}");
    event.id = tollgate_gate::EventId::Given("e1".into());
    assert_eq!(code(&rig.run(event)), "limit_exceeded");
    let key = CallKey { session: "s1".into(), call: "e1".into() };
    assert_eq!(*approver.released.lock().unwrap(), [("yes".into(), key)]);
}
