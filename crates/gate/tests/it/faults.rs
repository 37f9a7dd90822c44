//! Law 5: a fault is a vote. Closed hooks never forward, open hooks never block, whatever goes wrong.

use crate::rig::{Rig, call, code, failure, hook, is_open, json, judge, tool_result};
use std::sync::Arc;
use std::time::Duration;
use tollgate_gate::{
    Claim, Clock, EventKind, HandlerError, Hook, ManualClock, Matcher, Name, OnFailure, Opinion,
    Quota, RecordKind, Roles, Subject, Test, TestError, Vote, asynchronous,
};

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in drop");
    }
}

/// Every way in which a hook of a tool call can go wrong, with the code of its refusal.
fn faulty(clock: &Arc<ManualClock>, roles: Roles) -> Vec<(&'static str, Hook)> {
    let of = |f: fn() -> Result<Opinion, HandlerError>| {
        hook("bad", EventKind::PreTool, roles, move |_| f())
    };
    let slow_clock = Arc::clone(clock);
    let slow = hook("bad", EventKind::PreTool, roles, move |_| {
        slow_clock.advance(Duration::from_secs(10));
        Ok(Opinion::none())
    });
    let never = asynchronous(|_| Box::pin(std::future::pending()));
    let panics_later = asynchronous(|_| Box::pin(async { panic!("later") }));
    let panics_when_dropped = asynchronous(|_| {
        Box::pin(async {
            let _bomb = Bomb;
            std::future::pending().await
        })
    });
    let errs_later = asynchronous(|_| Box::pin(async { Err(HandlerError::new("later")) }));
    let of_async = |handler| Hook::new("bad", EventKind::PreTool, roles, handler);
    vec![
        ("hook_error", of(|| Err(HandlerError::new("broken")))),
        ("hook_error", of(|| panic!("boom"))),
        ("hook_error", of(|| std::panic::panic_any(7))),
        ("hook_timeout", slow),
        ("hook_error", of(|| std::panic::panic_any(Bomb))),
        ("hook_timeout", of_async(never)),
        ("hook_timeout", of_async(panics_when_dropped)),
        ("hook_error", of_async(panics_later)),
        ("hook_error", of_async(errs_later)),
        ("hook_error", of(|| Ok(Opinion::rewrite("no object")))),
        (
            "hook_error",
            of(|| {
                Ok(Opinion::claim(claim(Quota::Rate {
                    max: 1,
                    window_ms: 0,
                    counted: tollgate_gate::Counted::Executed,
                })))
            }),
        ),
        ("hook_error", of(|| Ok(Opinion::labels([Name::from("x".repeat(2000))])))),
        (
            "hook_error",
            of(|| {
                Ok(Opinion {
                    claims: vec![
                        claim(Quota::Count {
                            max: 9,
                            counted: tollgate_gate::Counted::Executed
                        });
                        65
                    ],
                    ..Opinion::none()
                })
            }),
        ),
        ("hook_error", of(|| Ok(Opinion::none())).matching(Matcher::Test(Arc::new(Failing)))),
        (
            "hook_error",
            of(|| Ok(Opinion::none())).matching(Matcher::when("p", |_| panic!("match"))),
        ),
    ]
}

fn claim(quota: Quota) -> Claim {
    Claim { hook: "bad".into(), key: "bad".into(), quota }
}

struct Failing;

impl Test for Failing {
    fn test(&self, _: &Subject<'_>) -> Result<bool, TestError> {
        Err(TestError { condition: "c".to_owned(), cause: "no such field".to_owned() })
    }
    fn describe(&self) -> String {
        "failing".to_owned()
    }
}

#[test]
fn a_fault_in_a_closed_hook_never_forwards() {
    let clock = Arc::new(ManualClock::new(crate::rig::start()));
    for (at, (expected, bad)) in faulty(&clock, Roles::ALL).into_iter().enumerate() {
        let rig = Rig::at(Arc::clone(&clock), [bad], |builder| builder);
        let settled = rig.run(call("t", "{}"));
        assert_eq!((at, code(&settled).as_str(), rig.effects()), (at, expected, 0));
        let decision = &rig.records(RecordKind::Decision)[0];
        assert!(decision.votes[0].fault.is_some());
        assert_eq!(rig.gate.metrics()[0].faults, 1);
    }
}

#[test]
fn a_fault_in_an_open_hook_never_blocks_and_is_counted_and_recorded() {
    let clock = Arc::new(ManualClock::new(crate::rig::start()));
    for (at, (_, bad)) in faulty(&clock, Roles::ALL).into_iter().enumerate() {
        let bad = bad.with_on_failure(OnFailure::Open);
        let rig = Rig::at(Arc::clone(&clock), [bad], |builder| builder);
        let settled = rig.run(call("t", "{}"));
        assert_eq!((at, tool_result(&settled).ok, rig.effects()), (at, true, 1));
        let decision = &rig.records(RecordKind::Decision)[0];
        assert!(decision.votes[0].fault.is_some() && decision.votes[0].vote.is_none());
        let metrics = &rig.gate.metrics()[0];
        assert_eq!((metrics.faults, metrics.passes_open), (1, 1));
    }
}

#[test]
fn hooks_that_only_watch_fail_open_and_all_others_closed_by_default() {
    let of = |roles| hook("h", EventKind::PreTool, roles, |_| Err(HandlerError::new("x")));
    for (roles, on_failure) in [
        (Roles::WATCH, OnFailure::Open),
        (Roles::JUDGE, OnFailure::Closed),
        (Roles::REWRITE, OnFailure::Closed),
        (Roles::WATCH.and(Roles::REWRITE), OnFailure::Closed),
    ] {
        assert_eq!(of(roles).on_failure(), on_failure);
        let rig = Rig::of([of(roles)]);
        assert_eq!(is_open(&rig.decide(call("t", "{}"))), on_failure == OnFailure::Open);
    }
}

#[test]
fn what_a_hook_may_not_say_is_a_fault() {
    let votes = |roles, opinion: Opinion| {
        let bad = hook("bad", EventKind::PreTool, roles, move |_| Ok(opinion.clone()));
        let rig = Rig::of([bad.with_on_failure(OnFailure::Closed)]);
        rig.decide(call("t", "{}")).decision
    };
    for (roles, opinion) in [
        (Roles::WATCH, Opinion::deny("no")),
        (Roles::REWRITE, Opinion::allow()),
        (Roles::JUDGE, Opinion::rewrite(json(r#"{"a":1}"#))),
        (Roles::WATCH, Opinion::claim(claim(Quota::Concurrency { max: 1 }))),
    ] {
        let decision = votes(roles, opinion);
        assert!(matches!(decision.votes[0].fault, Some(tollgate_gate::Fault::Nonsense(_))));
        assert_eq!(decision.code, Some(tollgate_gate::Code::HookError));
    }
    let at_prompt = hook("bad", EventKind::PromptBuild, Roles::JUDGE, |_| Ok(Opinion::respond(1)));
    let rig = Rig::of([at_prompt]);
    let ruling = rig.decide(crate::rig::event(EventKind::PromptBuild, r#"{"prompt":"p"}"#));
    assert_eq!(ruling.decision.code, Some(tollgate_gate::Code::HookError));
}

#[test]
fn a_failing_redactor_withholds_the_result() {
    let redactor = hook("redact", EventKind::PostTool, Roles::REWRITE, |_| panic!("regex"));
    let rig = Rig::of([redactor]);
    let settled = rig.run(call("t", "{}"));
    assert_eq!(rig.effects(), 1);
    assert_eq!(code(&settled), "hook_error");
    assert!(tool_result(&settled).content.is_null());
    assert!(!failure(&settled).message.contains("done"));
}

#[test]
fn a_failing_redactor_of_error_text_withholds_the_text() {
    let redactor =
        hook("redact", EventKind::ToolError, Roles::REWRITE, |_| Err(HandlerError::new("x")));
    let rig = Rig::of([redactor]);
    let error = tollgate_gate::Failure {
        code: tollgate_gate::Code::ToolError,
        message: "hunter2 is wrong".into(),
        tool: "t".into(),
    };
    let performed = tollgate_gate::Performed::Tool(tollgate_gate::ToolResult::failure(error, true));
    let settled = rig.run_with(call("t", "{}"), performed);
    assert!(!failure(&settled).message.contains("hunter2"));
}

#[test]
fn the_model_hears_code_hook_and_record_and_never_the_remedy() {
    let refuse = judge("no-prod", |_| {
        let refusal = tollgate_gate::Refusal::because("production is closed")
            .with_remedy("ask ops to lift no-prod");
        Opinion::vote(Vote::Deny(refusal))
    });
    let rig = Rig::of([refuse]);
    let settled = rig.run(call("deploy", "{}"));
    let heard = failure(&settled);
    let decision = &rig.records(RecordKind::Decision)[0];
    for part in ["production is closed", "no-prod", &decision.id.to_string(), "policy"] {
        assert!(heard.message.contains(part), "{part}: {}", heard.message);
    }
    assert!(!heard.message.contains("ops"));
    assert_eq!(&*heard.tool, "deploy");
    let ruling = rig.decide(call("deploy", "{}"));
    assert_eq!(ruling.decision.remedy.as_deref(), Some("ask ops to lift no-prod"));

    let broken = Rig::of([judge("broken", |_| panic!("token xyzzy in line 7"))]);
    let settled = broken.run(call("t", "{}"));
    assert!(!failure(&settled).message.contains("xyzzy"));
    assert!(failure(&settled).message.contains("broken"));
}

#[test]
fn long_reasons_are_cut_with_a_count() {
    let rig = Rig::of([judge("wordy", |_| Opinion::deny("x".repeat(5000)))]);
    let reason = rig.decide(call("t", "{}")).decision.reason.unwrap();
    assert!(reason.ends_with("(904 more bytes)"), "{}", &reason[4090..]);
}

#[test]
fn time_is_the_clocks_and_not_the_machines() {
    let clock = ManualClock::new(crate::rig::start());
    let before = clock.now();
    clock.advance(Duration::from_millis(1500));
    assert_eq!(clock.now().since(before), Duration::from_millis(1500));
}
