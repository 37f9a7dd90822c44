//! Law 7: recorded before effective; every event its record, every call its one outcome; no secrets.

use crate::rig::{
    Breakable, Rig, block_on, call, code, event, failure, hook, is_open, judge, tool_result,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tollgate_gate::{
    ApprovalAnswer, Code, Counted, Durability, Event, EventKind, Failure, HandlerError, Json,
    Ledger, MemoryLedger, Mode, ModelResult, Opinion, Passage, Performed, Quota, Record,
    RecordKind, Roles, Settings, ToolCall, ToolResult, Verdict,
};

fn breakable(
    hooks: impl IntoIterator<Item = tollgate_gate::Hook>,
    durability: Durability,
) -> (Rig, Arc<Breakable>) {
    let ledger = Arc::new(Breakable::default());
    let book: Arc<dyn Ledger> = ledger.clone();
    let mut settings = Settings::default();
    settings.durability = durability;
    let rig = Rig::with(hooks, |builder| builder.ledger(book).settings(settings));
    (rig, ledger)
}

fn outcomes(records: &[Record]) -> Vec<&Record> {
    records.iter().filter(|record| record.kind == RecordKind::Outcome).collect()
}

#[test]
fn every_call_has_one_decision_and_one_outcome_record_that_name_each_other() {
    let rig = Rig::of([judge("no-write", |_| Opinion::deny("no"))
        .matching(tollgate_gate::Matcher::tool("write").unwrap())]);
    rig.run(call("read", "{}"));
    rig.run(call("write", "{}"));
    let (decisions, outcomes) =
        (rig.records(RecordKind::Decision), rig.records(RecordKind::Outcome));
    assert_eq!((decisions.len(), outcomes.len()), (2, 2));
    for (decision, outcome) in decisions.iter().zip(&outcomes) {
        assert_eq!(outcome.decision.as_ref(), Some(&decision.id));
        assert_eq!(outcome.policy, decision.policy);
    }
    assert_eq!(outcomes[0].executed, Some(true));
    assert_eq!((outcomes[1].executed, outcomes[1].ok), (Some(false), Some(false)));
    assert_eq!(rig.records(RecordKind::PolicyLoad).len(), 1);
}

#[test]
fn lone_events_have_a_decision_and_no_outcome() {
    let rig = Rig::of([]);
    for (kind, payload) in [
        (EventKind::AgentStart, r#"{"context":"c"}"#),
        (EventKind::PromptBuild, r#"{"prompt":"p"}"#),
        (EventKind::MemoryLoad, r#"{"memory":"m"}"#),
        (EventKind::AgentEnd, r#"{"answer":"a"}"#),
        (EventKind::AgentAbort, r#"{"reason":"r"}"#),
        (EventKind::Error, r#"{"message":"m"}"#),
    ] {
        let ruling = rig.decide(event(kind, payload));
        assert!(is_open(&ruling));
        drop(ruling);
    }
    block_on(rig.gate.flush()).unwrap();
    assert_eq!(rig.records(RecordKind::Decision).len(), 6);
    assert_eq!(rig.records(RecordKind::Outcome), []);
}

#[test]
fn a_dropped_ticket_is_an_outcome_of_which_nothing_is_known() {
    let rig = Rig::of([]);
    let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
    let (_, ticket) = permit.redeem();
    drop(ticket);
    block_on(rig.gate.flush()).unwrap();
    let outcomes = rig.records(RecordKind::Outcome);
    assert_eq!(outcomes.len(), 1);
    assert!(outcomes[0].is_unknown_outcome());
}

#[test]
fn a_permit_that_was_never_redeemed_and_a_refusal_that_was_dropped_are_known_not_to_have_run() {
    let rig =
        Rig::of([judge("no", |_| Opinion::deny("no"))
            .matching(tollgate_gate::Matcher::tool("bad").unwrap())]);
    drop(rig.decide(call("t", "{}")));
    drop(rig.decide(call("bad", "{}")));
    block_on(rig.gate.flush()).unwrap();
    let outcomes = rig.records(RecordKind::Outcome);
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.iter().all(|outcome| outcome.executed == Some(false)));
}

#[test]
fn dropped_calls_wait_for_a_ledger_that_writes_again() {
    let (rig, ledger) = breakable([], Durability::BeforeEffect);
    for _ in 0..3 {
        drop(rig.decide(call("t", "{}")));
    }
    ledger.broken.store(true, Ordering::Relaxed);
    assert!(block_on(rig.gate.flush()).is_err());
    ledger.broken.store(false, Ordering::Relaxed);
    block_on(rig.gate.flush()).unwrap();
    block_on(rig.gate.flush()).unwrap();
    let records: Vec<Record> = ledger.records.lock().unwrap().iter().map(|r| r.0.clone()).collect();
    assert_eq!(outcomes(&records).len(), 3);
}

#[test]
fn a_ledger_that_cannot_write_closes_the_gate_and_gives_back_what_was_reserved() {
    let once = judge("once", |_| {
        let quota = Quota::Count { max: 1, counted: Counted::Executed };
        Opinion::claim(tollgate_gate::Claim { hook: "once".into(), key: "once".into(), quota })
    });
    let (rig, ledger) = breakable([once], Durability::BeforeEffect);
    block_on(rig.gate.flush()).unwrap();
    ledger.broken.store(true, Ordering::Relaxed);
    let settled = rig.run(call("t", "{}"));
    assert_eq!((code(&settled).as_str(), rig.effects()), ("ledger_unavailable", 0));
    ledger.broken.store(false, Ordering::Relaxed);
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    assert_eq!(code(&rig.run(call("t", "{}"))), "limit_exceeded");
}

#[test]
fn a_result_that_cannot_be_recorded_is_withheld() {
    let (rig, ledger) = breakable([], Durability::BeforeEffect);
    let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
    let (_, ticket) = permit.redeem();
    ledger.broken.store(true, Ordering::Relaxed);
    let performed = Performed::Tool(ToolResult::success("plain"));
    let settled = block_on(rig.gate.settle(ticket, performed));
    assert_eq!(code(&settled), "ledger_unavailable");
    assert!(tool_result(&settled).content.is_null());
}

#[test]
fn an_outcome_that_could_not_be_written_is_written_once_the_ledger_is_back() {
    for durability in [Durability::BeforeEffect, Durability::Buffered] {
        let (rig, ledger) = breakable([], durability);
        let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
        let (_, ticket) = permit.redeem();
        ledger.broken.store(true, Ordering::Relaxed);
        let performed = Performed::Tool(ToolResult::success("plain"));
        drop(block_on(rig.gate.settle(ticket, performed)));
        ledger.broken.store(false, Ordering::Relaxed);
        rig.run(call("t", "{}"));
        let records = ledger.records.lock().unwrap();
        let outcomes = records.iter().filter(|(record, _)| record.kind == RecordKind::Outcome);
        assert_eq!(outcomes.count(), 2);
    }
}

#[test]
fn a_settling_that_is_cancelled_leaves_an_outcome_all_the_same() {
    let never = tollgate_gate::asynchronous(|_| {
        Box::pin(async {
            std::future::pending::<()>().await;
            Ok(Opinion::none())
        })
    });
    let slow = tollgate_gate::Hook::new("slow", EventKind::PostTool, Roles::WATCH, never);
    let rig = Rig::of([slow]);
    let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
    let (_, ticket) = permit.redeem();
    {
        use std::future::Future as _;
        let performed = Performed::Tool(ToolResult::success("plain"));
        let mut settling = std::pin::pin!(rig.gate.settle(ticket, performed));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(settling.as_mut().poll(&mut cx).is_pending());
    }
    block_on(rig.gate.flush()).unwrap();
    let outcomes = rig.records(RecordKind::Outcome);
    assert_eq!(outcomes.len(), 1);
    assert!(outcomes[0].is_unknown_outcome());
}

/// A ledger that takes its time: each record is there at once, the answer comes a poll later.
#[derive(Default)]
struct Slow(MemoryLedger);

impl Ledger for Slow {
    fn append(
        &self,
        record: Record,
        durability: Durability,
    ) -> tollgate_gate::Soon<'_, Result<(), tollgate_gate::LedgerError>> {
        tollgate_gate::Soon::later(async move {
            self.0.append(record, durability).await?;
            let mut is_second = false;
            std::future::poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                match std::mem::replace(&mut is_second, true) {
                    true => std::task::Poll::Ready(Ok(())),
                    false => std::task::Poll::Pending,
                }
            })
            .await
        })
    }
}

#[test]
fn a_decision_that_is_cancelled_while_it_is_recorded_has_its_outcome_and_gives_back_its_place() {
    use std::future::Future as _;
    let once = judge("once", |_| {
        let quota = Quota::Concurrency { max: 1 };
        Opinion::claim(tollgate_gate::Claim { hook: "once".into(), key: "once".into(), quota })
    });
    let ledger = Arc::new(Slow::default());
    let book = Arc::clone(&ledger);
    let rig = Rig::with([once], |builder| builder.ledger(book));
    block_on(rig.gate.flush()).unwrap();
    {
        let mut deciding = std::pin::pin!(rig.gate.decide(call("t", "{}")));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(deciding.as_mut().poll(&mut cx).is_pending());
    }
    assert!(is_open(&rig.decide(call("t", "{}"))), "its place is free again");
    block_on(rig.gate.flush()).unwrap();
    let records = ledger.0.records();
    let decisions = records.iter().filter(|record| record.kind == RecordKind::Decision).count();
    assert_eq!((decisions, outcomes(&records).len()), (2, 2));
    assert!(outcomes(&records).iter().all(|outcome| outcome.executed == Some(false)));
}

#[test]
fn buffered_goes_on_without_a_ledger() {
    let (rig, ledger) = breakable([], Durability::Buffered);
    ledger.broken.store(true, Ordering::Relaxed);
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    assert_eq!(rig.effects(), 1);
}

#[test]
fn decisions_are_written_with_the_durability_of_the_policy_and_before_the_effect() {
    let (rig, ledger) = breakable([], Durability::BeforeEffect);
    let ruling = rig.decide(call("t", "{}"));
    let written = ledger.records.lock().unwrap().last().cloned().unwrap();
    assert_eq!(written.0.kind, RecordKind::Decision);
    assert_eq!(written.1, Durability::BeforeEffect);
    drop(ruling);
}

#[test]
fn a_call_that_never_came_to_a_decision_still_has_its_outcome() {
    let rig = Rig::of([]);
    let failure = Failure {
        code: Code::UnknownTool,
        message: "there is no tool `x`".into(),
        tool: "x".into(),
    };
    let call = ToolCall::new("x", crate::rig::json("{}"));
    block_on(rig.gate.settle_unjudged(&crate::rig::session("s1"), call, failure));
    let outcomes = rig.records(RecordKind::Outcome);
    assert_eq!((outcomes.len(), outcomes[0].code.clone()), (1, Some(Code::UnknownTool)));
    assert_eq!(outcomes[0].decision, None);
}

#[test]
fn a_result_of_another_kind_than_was_permitted_is_a_failure_and_is_recorded() {
    let rig = Rig::of([]);
    let wrong =
        Performed::Model(ModelResult { ok: true, executed: true, ..ModelResult::default() });
    let settled = rig.run_with(call("t", "{}"), wrong);
    assert_eq!(code(&settled), "tool_error");
    assert_eq!(rig.records(RecordKind::Outcome).len(), 1);
    let model = event(EventKind::PreModel, r#"{"model":"m"}"#);
    let settled = rig.run_with(model, Performed::Tool(ToolResult::success("plain")));
    let Performed::Model(result) = settled.performed else { panic!() };
    assert!(!result.ok && result.error.is_some());
}

#[test]
fn no_secret_reaches_any_record() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let text = secret.clone();
    let failing = hook("errs", EventKind::PreTool, Roles::WATCH, move |_| {
        Err(HandlerError::new(format!("cannot use {text}")))
    });
    let text = secret.clone();
    let panics = hook("panics", EventKind::PreTool, Roles::WATCH, move |_| panic!("bad {text}"));
    let text = secret.clone();
    let denies = judge("denies", move |_| {
        let refusal = tollgate_gate::Refusal::because(format!("has {text}")).with_remedy(&*text);
        Opinion::vote(tollgate_gate::Vote::Deny(refusal))
    });
    let text = secret.clone();
    let answers = judge("answers", move |_| Opinion::respond(&*text));
    let text = secret.clone();
    let labels =
        hook("labels", EventKind::PreTool, Roles::WATCH, move |_| Ok(Opinion::labels([&*text])));
    let only = |name: &str| tollgate_gate::Matcher::tool(name).unwrap();
    let text = secret.clone();
    let rig = Rig::with(
        [failing, panics, labels, denies.matching(only("no")), answers.matching(only("cached"))],
        |builder| {
            builder.approver(Arc::new(crate::approvals::Says(ApprovalAnswer::Denied {
                by: "bob".into(),
                reason: text.into(),
            })))
        },
    );
    let arguments = format!(r#"{{"password":"{secret}","list":["x {secret}"],"{secret}":1}}"#);
    for tool in ["no", "cached", "read", &secret] {
        rig.run(call(tool, &arguments));
    }
    let error = Failure { code: Code::ToolError, message: (*secret).into(), tool: "read".into() };
    rig.run_with(call("read", &arguments), Performed::Tool(ToolResult::failure(error, true)));
    block_on(rig.gate.attach(judge("asks", |_| Opinion::ask(["bob"], "?")))).unwrap();
    rig.run(call("read", "{}"));
    block_on(rig.gate.disable("asks", &secret)).unwrap();
    block_on(rig.gate.abort_session(&crate::rig::session("s9"), "mine", &secret)).unwrap();
    block_on(rig.gate.set_mode(Mode::DryRun, &secret)).unwrap();
    assert!(rig.book().contains("[SECRET]"));
    assert!(!rig.book().contains(&secret), "{}", rig.book());
}

#[test]
fn a_call_that_began_before_the_gate_went_off_still_ends_in_the_book() {
    let rig = Rig::of([]);
    let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
    let (_, ticket) = permit.redeem();
    block_on(rig.gate.set_mode(Mode::Off, "maintenance")).unwrap();
    let settled = block_on(rig.gate.settle(ticket, Performed::Tool(ToolResult::success("x"))));
    assert!(tool_result(&settled).ok);
    assert_eq!(rig.records(RecordKind::Outcome).len(), 1);
}

#[test]
fn off_records_only_that_it_is_off_and_touches_nothing() {
    let rig = Rig::with([judge("no", |_| Opinion::deny("no"))], |builder| builder.mode(Mode::Off));
    let settled = rig.run(call("t", r#"{"a":1}"#));
    assert!(tool_result(&settled).ok);
    let kinds: Vec<_> = rig.ledger.records().iter().map(|record| record.kind).collect();
    assert_eq!(kinds, [RecordKind::PolicyLoad, RecordKind::ModeChange]);
    assert_eq!(rig.gate.metrics()[0].runs, 0);
}

#[test]
fn the_first_record_is_written_once_whoever_comes_first() {
    let rig = Rig::of([]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| rig.run(call("t", "{}")));
        }
    });
    assert_eq!(rig.records(RecordKind::PolicyLoad).len(), 1);
    assert_eq!(rig.records(RecordKind::Outcome).len(), 8);
}

#[test]
fn a_host_that_tells_by_events_gets_records_and_the_relay() {
    let rig = Rig::of([hook("mask", EventKind::PostTool, Roles::REWRITE, |_| {
        Ok(Opinion::rewrite("masked"))
    })]);
    let before = Event::read(
        br#"{"kind":"pre_tool","session":{"id":"s1"},"payload":{"tool":"t","call_id":"c1"}}"#,
        crate::rig::start(),
    )
    .unwrap();
    let decision = block_on(rig.gate.judge(before));
    assert_eq!(decision.verdict, Verdict::Allow);
    let after = Event::read(br#"{"kind":"post_tool","session":{"id":"s1"},"payload":{"tool":"t","call_id":"c1","result":{"ok":true,"content":"plain"}}}"#, crate::rig::start()).unwrap();
    let decision = block_on(rig.gate.judge(after));
    assert_eq!(decision.payload.tool_result().unwrap().content.as_str(), Some("masked"));
    block_on(rig.gate.flush()).unwrap();
    assert_eq!(rig.records(RecordKind::Decision).len(), 1);
    assert_eq!(rig.records(RecordKind::Outcome).len(), 1);
}

#[test]
fn a_host_that_is_refused_gets_the_refusal_and_the_outcome_at_once() {
    let rig = Rig::of([judge("no", |_| Opinion::deny("no"))]);
    let decision = block_on(rig.gate.judge(call("t", "{}")));
    let result = decision.result.unwrap();
    assert_eq!((result.ok, result.executed), (false, false));
    assert_eq!(rig.records(RecordKind::Outcome).len(), 1);
    let settled = rig.run(call("t", "{}"));
    assert!(failure(&settled).message.contains("no"));
}

#[test]
fn no_secret_in_an_identity_or_a_given_id_reaches_the_ledger() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = format!(
        r#"{{"kind":"pre_tool","id":"id {token}","session":{{"id":"s {token}","user":"u {token}",
            "tenant":"t {token}","cwd":"/x/{token}","parent":"p {token}"}},"payload":{{"tool":"t"}}}}"#
    );
    let rig = Rig::of([judge("no", |_| Opinion::deny("no"))]);
    let event = Event::read(text.as_bytes(), crate::rig::start()).unwrap();
    block_on(rig.gate.judge(event));
    let records = rig.ledger.records();
    assert!(records.len() >= 3);
    for record in records {
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains(&token), "{text}");
    }
}

#[test]
fn the_ledger_in_memory_keeps_the_contract() {
    crate::ledger_contract::check(&|| {
        let ledger = Arc::new(MemoryLedger::new());
        let read = {
            let ledger = Arc::clone(&ledger);
            move || {
                let records = ledger.records();
                let json = |record| Json::read(&serde_json::to_vec(record).unwrap()).unwrap();
                records.iter().map(json).collect()
            }
        };
        crate::ledger_contract::UnderTest { ledger, read: Box::new(read) }
    });
}
