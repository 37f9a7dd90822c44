//! Batches: at the same time when all only read, in order otherwise; one refusal drops nobody, an
//! abort drops what has begun, and every call has its result.

use crate::rig::{ANYTHING, RealClock, Rig, call, clock, echo, endless, gate_by, judge, registry};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::tempdir;
use tollgate_agent::{
    Declaration, Dispatch, Dispatched, Fate, Gated, Tool, asynchronous, blocking,
};
use tollgate_gate::{
    ApprovalReply, ApprovalRequest, Approver, Claim, Code, Counted, EventKind, Gate, Hook, Matcher,
    MemoryLedger, Opinion, Quota, RecordKind, Roles, Session, Soon, inline,
};

fn rig(tools: Vec<Tool>, hooks: Vec<Hook>) -> Rig {
    Rig::with_tools(tempdir().unwrap(), registry(tools), hooks)
}

/// A tool that notes how many of its calls ran at the same time.
fn crowd(name: &str, reads_only: bool, most: &Arc<AtomicUsize>) -> Tool {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::clone(most));
    let mut declaration = Declaration::new(name, "Counts itself.", ANYTHING).unwrap();
    declaration.read_only = reads_only;
    let handler = asynchronous(move |invocation| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        Box::pin(async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Later calls end first: results must be put back in order.
            let wait = 40 - 10 * invocation.optional_u64("n").unwrap_or(0).min(3);
            tokio::time::sleep(Duration::from_millis(wait)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(invocation.call.call_id.as_deref().unwrap_or_default().into())
        })
    });
    Tool::new(declaration, handler).unwrap()
}

#[tokio::test]
async fn calls_that_only_read_run_at_the_same_time_and_keep_their_order() {
    let (read, write) = (Arc::default(), Arc::default());
    let rig = rig(vec![crowd("read", true, &read), crowd("write", false, &write)], vec![]);
    let calls = |tool: &str| {
        let call = |n| call(&format!("c{n}"), tool, &format!(r#"{{"n": {n}}}"#));
        (0..4).map(call).collect::<Vec<_>>()
    };
    for (tool, most, expected) in [("read", &read, 4), ("write", &write, 1)] {
        let done = rig.tools.dispatch_many(calls(tool)).await;
        let contents: Vec<_> =
            done.iter().map(|done| done.result.content.as_str().unwrap()).collect();
        assert_eq!(contents, ["c0", "c1", "c2", "c3"]);
        assert_eq!(most.load(Ordering::SeqCst), expected, "{tool}");
    }
}

#[tokio::test]
async fn a_large_batch_runs_a_bounded_number_at_a_time() {
    use tollgate_agent::limits::BATCH_CONCURRENT_CALLS_MAX;
    let most = Arc::default();
    let rig = rig(vec![crowd("read", true, &most)], vec![]);
    let calls: Vec<_> = (0..50).map(|n| call(&format!("c{n}"), "read", r#"{"n": 9}"#)).collect();
    let ids: Vec<_> = calls.iter().map(|call| call.call_id.clone()).collect();
    let done = rig.tools.dispatch_many(calls).await;
    assert_eq!(done.iter().map(|done| done.call_id.clone()).collect::<Vec<_>>(), ids);
    assert_eq!(most.load(Ordering::SeqCst), BATCH_CONCURRENT_CALLS_MAX);
}

#[tokio::test]
async fn one_call_that_writes_puts_the_whole_batch_in_order() {
    let read = Arc::default();
    let rig = rig(vec![crowd("read", true, &read), crowd("write", false, &Arc::default())], vec![]);
    let calls = vec![call("a", "read", "{}"), call("b", "write", "{}"), call("c", "read", "{}")];
    let done = rig.tools.dispatch_many(calls).await;
    assert!(done.iter().all(|done| done.result.ok));
    assert_eq!(read.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_refusal_drops_no_sibling() {
    let deny = judge("deny", EventKind::PreTool, || Opinion::deny("no"))
        .matching(Matcher::tool("closed").unwrap());
    let rig = rig(vec![echo("open", "hi"), echo("closed", "ho")], vec![deny]);
    let calls = vec![
        call("c1", "open", "{}"),
        call("c2", "closed", "{}"),
        call("c3", "nowhere", "{}"),
        call("c4", "open", "{}"),
    ];
    let done = rig.tools.dispatch_many(calls).await;
    let oks: Vec<_> = done.iter().map(|done| done.result.ok).collect();
    assert_eq!(oks, [true, false, false, true]);
    assert_eq!(rig.outcomes().len(), 4);
}

#[tokio::test]
async fn an_abort_drops_what_has_begun_and_refuses_the_rest() {
    let abort = judge("abort", EventKind::PreTool, || Opinion::abort("enough"))
        .matching(Matcher::tool("last").unwrap());
    let mut tools: Vec<_> = vec![endless("wait"), echo("last", ""), echo("after", "never")];
    tools.push(echo("before", "done"));
    let rig = rig(tools, vec![abort]);
    let mut calls = vec![call("c1", "wait", "{}"), call("c2", "wait", "{}")];
    calls.extend([call("c3", "last", "{}"), call("c4", "after", "{}")]);
    let done = rig.tools.dispatch_many(calls).await;
    let ids: Vec<_> = done.iter().map(|done| done.call_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["c1", "c2", "c3", "c4"]);
    let fates: Vec<_> = done.iter().map(|done| done.fate).collect();
    assert_eq!(fates, [Fate::Unknown, Fate::Unknown, Fate::Known, Fate::Known]);
    let codes: Vec<_> = done.iter().map(|d| d.result.error.clone().unwrap().code).collect();
    let ended = Code::SessionAborted;
    assert_eq!(codes, [ended.clone(), ended.clone(), Code::HookDenied, ended]);
    let told = |done: &Dispatched| done.aborted.clone().map(|aborted| aborted.reason);
    assert!(done.iter().all(|done| told(done).as_deref() == Some("enough")));

    rig.gate.flush().await.unwrap();
    let outcomes = rig.outcomes();
    assert_eq!(outcomes.len(), 4, "every call has its one outcome");
    let unknown: Vec<_> = outcomes
        .iter()
        .filter(|record| record.is_unknown_outcome())
        .map(|record| record.call_id.as_deref().unwrap())
        .collect();
    assert_eq!(unknown, ["c1", "c2"]);
    assert_eq!(rig.decisions(EventKind::PreTool).len(), 4);
}

#[tokio::test]
async fn a_call_that_is_permitted_when_its_session_has_just_ended_does_not_run() {
    let ran = Arc::new(AtomicUsize::new(0));
    let abort = judge("abort", EventKind::PreTool, || Opinion::abort("enough"))
        .matching(Matcher::tool("last").unwrap());
    let slowly = tollgate_gate::asynchronous(|_| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(30)).await;
            Ok(Opinion::allow())
        })
    });
    let slowly = Hook::new("slowly", EventKind::PreTool, Roles::JUDGE, slowly)
        .matching(Matcher::tool("count").unwrap());
    let (gate, ledger) = gate_by(Arc::new(RealClock(Instant::now())), [abort, slowly]);
    let registry = registry(vec![counted("count", &ran), echo("last", "")]);
    let tools = Gated::new(registry, gate, Session::new("s1"));
    let done = tools.dispatch_many(vec![call("c1", "count", "{}"), call("c2", "last", "{}")]).await;
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!((done[0].fate, done[0].result.executed), (Fate::Known, false));
    assert_eq!(done[0].result.error.clone().unwrap().code, Code::SessionAborted);
    let of_first = ledger.records().into_iter().filter(|r| r.call_id.as_deref() == Some("c1"));
    let outcome = of_first.last().unwrap();
    assert_eq!((outcome.kind, outcome.executed), (RecordKind::Outcome, Some(false)));
}

#[test]
fn blocking_work_that_is_dropped_while_it_waits_for_a_thread_never_begins() {
    let ran = Arc::new(AtomicUsize::new(0));
    let abort = judge("abort", EventKind::PreTool, || Opinion::abort("enough"))
        .matching(Matcher::tool("last").unwrap());
    let hold = Declaration::new("hold", "Holds the only thread.", ANYTHING).unwrap().reads_only();
    let handler = blocking(|_| {
        std::thread::sleep(Duration::from_millis(100));
        Ok("held".into())
    });
    let hold = Tool::new(hold, handler).unwrap();
    let rig = rig(vec![hold, counted("count", &ran), echo("last", "")], vec![abort]);
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let calls = ["hold", "count", "last"].map(|tool| call(tool, tool, "{}"));
    let done = runtime.block_on(rig.tools.dispatch_many(calls.to_vec()));
    let fates: Vec<_> = done.iter().map(|done| done.fate).collect();
    assert_eq!(fates, [Fate::Unknown, Fate::Unknown, Fate::Known]);
    // The thread is free again when this has run on it: behind whatever waited for it before.
    runtime.block_on(async { tokio::task::spawn_blocking(|| ()).await }).unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

/// Reaches a person who never answers.
struct Silence;

impl Approver for Silence {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        Soon::later(std::future::pending())
    }
}

#[tokio::test]
async fn an_abort_does_not_wait_for_a_person_who_is_asked_about_a_sibling() {
    let ran = Arc::new(AtomicUsize::new(0));
    let ask = judge("ask", EventKind::PreTool, || Opinion::ask(["owner"], "is that all right?"))
        .matching(Matcher::tool("count").unwrap());
    let abort = judge("abort", EventKind::PreTool, || Opinion::abort("enough"))
        .matching(Matcher::tool("last").unwrap());
    let ledger = Arc::new(MemoryLedger::new());
    let gate = Gate::builder(clock())
        .ledger(Arc::clone(&ledger) as _)
        .approver(Arc::new(Silence))
        .hooks([ask, abort])
        .build()
        .unwrap();
    let registry = registry(vec![counted("count", &ran), echo("last", "")]);
    let tools = Gated::new(registry, Arc::new(gate), Session::new("s1"));
    let calls = vec![call("c1", "count", "{}"), call("c2", "last", "{}")];
    let done = tokio::time::timeout(Duration::from_secs(30), tools.dispatch_many(calls)).await;
    let done = done.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!((done[0].fate, done[0].result.executed), (Fate::Known, false));
    assert_eq!(done[0].result.error.clone().unwrap().code, Code::SessionAborted);
    let outcomes = ledger.records().into_iter().filter(|r| r.kind == RecordKind::Outcome);
    let of_first: Vec<_> = outcomes.filter(|r| r.call_id.as_deref() == Some("c1")).collect();
    assert_eq!(of_first.len(), 1);
    assert_eq!((of_first[0].executed, of_first[0].ok), (Some(false), Some(false)));
}

#[tokio::test]
async fn an_abort_after_a_call_ends_the_batch_in_order_too() {
    let abort = judge("abort", EventKind::PostTool, || Opinion::abort("seen enough"));
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let declaration = Declaration::new("write", "Writes.", ANYTHING).unwrap();
    let write = Tool::new(
        declaration,
        blocking(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok("written".into())
        }),
    );
    let rig = rig(vec![write.unwrap()], vec![abort]);
    let calls = vec![call("c1", "write", "{}"), call("c2", "write", "{}")];
    let done = rig.tools.dispatch_many(calls).await;
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let first = done[0].result.error.clone().unwrap();
    assert_eq!(first.code, Code::Withheld);
    assert!(done[0].result.executed);
    assert_eq!(done[1].result.error.clone().unwrap().code, Code::SessionAborted);
    assert!(!done[1].result.executed);
}

fn at_most(max: u64) -> Hook {
    let claim = inline(move |_| {
        let quota = Quota::Count { max, counted: Counted::Executed };
        Ok(Opinion::claim(Claim { hook: "limit".into(), key: "limit".into(), quota }))
    });
    Hook::new("limit", EventKind::PreTool, Roles::JUDGE, claim)
}

fn counted(name: &str, ran: &Arc<AtomicUsize>) -> Tool {
    let count = Arc::clone(ran);
    let declaration = Declaration::new(name, "Counts.", ANYTHING).unwrap().reads_only();
    let handler = blocking(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(2));
        Ok("done".into())
    });
    Tool::new(declaration, handler).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_calls_against_a_limit_execute_exactly_as_many_as_it_allows() {
    let ran = Arc::new(AtomicUsize::new(0));
    let rig = rig(vec![counted("count", &ran)], vec![at_most(7)]);
    let tools = Arc::new(rig.tools);
    let calls: Vec<_> = (0..40)
        .map(|n| {
            let tools = Arc::clone(&tools);
            tokio::spawn(async move { tools.dispatch(call(&format!("c{n}"), "count", "{}")).await })
        })
        .collect();
    let (mut done, mut refused) = (0, 0);
    for call in calls {
        let result = call.await.unwrap().result;
        match result.error {
            None => done += 1,
            Some(error) => {
                assert_eq!(error.code, Code::LimitExceeded);
                refused += 1;
            }
        }
    }
    assert_eq!((done, refused, ran.load(Ordering::SeqCst)), (7, 33, 7));
}

#[tokio::test]
async fn a_model_that_repeats_a_call_id_gains_nothing_from_it() {
    let ran = Arc::new(AtomicUsize::new(0));
    let rig = rig(vec![counted("count", &ran)], vec![at_most(3)]);
    let calls = (0..8).map(|_| call("same", "count", "{}")).collect();
    let done = rig.tools.dispatch_many(calls).await;
    assert_eq!(done.iter().filter(|done| done.result.ok).count(), 3);
    assert_eq!(ran.load(Ordering::SeqCst), 3);
}
