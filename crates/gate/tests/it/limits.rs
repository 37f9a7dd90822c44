//! Claims: exactly K of N pass, all or nothing, settled once, leased; and the breaker.

use crate::rig::{Rig, block_on, call, code, is_open, judge, session, tool_result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tollgate_gate::{
    CallKey, Claim, Counted, Event, Exceeded, Failure, Hook, Json, Mode, Opinion, Passage, Payload,
    Performed, Quota, RecordKind, Settlement, Timestamp, ToolCall, ToolResult, state::ClaimTable,
};

fn limiting(name: &'static str, quota: Quota) -> Hook {
    judge(name, move |_| {
        Opinion::claim(Claim { hook: name.into(), key: name.into(), quota: quota.clone() })
    })
}

const fn count(max: u64) -> Quota {
    Quota::Count { max, counted: Counted::Executed }
}

#[test]
fn n_parallel_calls_against_a_limit_of_k_execute_exactly_k() {
    for quota in [count(7), Quota::Rate { max: 7, window_ms: 60_000, counted: Counted::Executed }] {
        let rig = Rig::of([limiting("k", quota)]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        rig.run(call("t", "{}"));
                    }
                });
            }
        });
        assert_eq!(rig.effects(), 7);
        let executed = rig.records(RecordKind::Outcome);
        assert_eq!(executed.len(), 200);
        assert_eq!(executed.iter().filter(|record| record.executed == Some(true)).count(), 7);
    }
}

#[test]
fn calls_that_share_an_id_do_not_share_a_reservation() {
    let rig = Rig::of([limiting("k", count(2))]);
    let with_id = || {
        let call = ToolCall::new("t", crate::rig::json("{}")).with_call_id("c1");
        Event::new(session("s1"), Payload::from(call), crate::rig::start())
    };
    let open: Vec<_> = (0..4).map(|_| rig.decide(with_id())).collect();
    assert_eq!(open.iter().filter(|ruling| is_open(ruling)).count(), 2);
    // The refused ones settle; what the others hold stays held.
    let mut held = Vec::new();
    for ruling in open {
        match ruling.passage {
            Passage::Closed(closed) => drop(block_on(rig.gate.settle_closed(closed))),
            Passage::Open(permit) => held.push(permit),
        }
    }
    assert!(!is_open(&rig.decide(with_id())));
    assert_eq!(held.len(), 2);
}

#[test]
fn no_more_than_k_run_at_the_same_time() {
    let rig = Rig::of([limiting("at-once", Quota::Concurrency { max: 2 })]);
    let (now, most) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..20 {
                    block_on(rig.gate.guard(call("t", "{}"), async |permit| {
                        let running = now.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(running, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                        (permit.redeem().1, Performed::Tool(ToolResult::success(1)))
                    }));
                }
            });
        }
    });
    assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
    assert!(is_open(&rig.decide(call("t", "{}"))));
}

#[test]
fn all_claims_are_reserved_or_none_is() {
    let rig = Rig::of([limiting("wide", count(10)), limiting("narrow", count(1))]);
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    for _ in 0..20 {
        let settled = rig.run(call("t", "{}"));
        assert_eq!(code(&settled), "limit_exceeded");
    }
    block_on(rig.gate.detach("narrow")).unwrap();
    for _ in 0..9 {
        assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    }
    assert_eq!(code(&rig.run(call("t", "{}"))), "limit_exceeded");
}

#[test]
fn a_refused_call_reserves_nothing_and_an_attempt_limit_counts_it() {
    let attempts = Quota::Count { max: 3, counted: Counted::Attempts };
    let no =
        judge("no", |_| Opinion::deny("no")).matching(tollgate_gate::Matcher::tool("bad").unwrap());
    let rig = Rig::of([limiting("executed", count(1)), limiting("attempts", attempts), no]);
    rig.run(call("bad", "{}"));
    rig.run(call("bad", "{}"));
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    let decision = rig.decide(call("t", "{}")).decision;
    assert_eq!(decision.code.unwrap().as_str(), "limit_exceeded");
}

#[test]
fn a_claim_is_its_hooks_whatever_name_it_carries() {
    let borrowed = judge("mine", |_| {
        Opinion::claim(Claim { hook: "yours".into(), key: "k".into(), quota: count(0) })
    });
    let rig = Rig::of([borrowed]);
    let decision = rig.decide(call("t", "{}")).decision;
    assert_eq!(decision.hook.as_deref(), Some("mine"));
    assert_eq!(decision.votes[0].vote_kind(), Some(tollgate_gate::VoteKind::Deny));
}

#[test]
fn leases_of_calls_that_never_report_back_end() {
    let rig = Rig::with([limiting("at-once", Quota::Concurrency { max: 1 })], |builder| {
        builder.lease_ms(1000)
    });
    let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
    permit.hand_over();
    assert!(!is_open(&rig.decide(call("t", "{}"))));
    rig.clock.advance(Duration::from_millis(1001));
    assert!(is_open(&rig.decide(call("t", "{}"))));
}

#[test]
fn a_dropped_call_frees_its_place_and_one_that_never_ran_its_count() {
    let rig = Rig::of([limiting("once", count(1))]);
    drop(rig.decide(call("t", "{}")));
    let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
    drop(permit.redeem());
    assert!(!is_open(&rig.decide(call("t", "{}"))), "it may have run, so it counts");
}

#[test]
fn a_rate_opens_again_when_its_window_has_moved_on_however_many_were_refused() {
    let rate = Quota::Rate { max: 2, window_ms: 1000, counted: Counted::Attempts };
    let rig = Rig::of([limiting("rate", rate)]);
    for expected in [true, true, false, false] {
        assert_eq!(tool_result(&rig.run(call("t", "{}"))).ok, expected);
    }
    rig.clock.advance(Duration::from_millis(1000));
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
}

#[test]
fn tokens_and_cost_are_held_as_estimated_and_counted_as_used() {
    let tokens = Quota::Tokens { max: 100, window_ms: None, estimate: 40 };
    let rig = Rig::of([limiting("tokens", tokens)]);
    let Passage::Open(first) = rig.decide(call("t", "{}")).passage else { panic!() };
    let Passage::Open(second) = rig.decide(call("t", "{}")).passage else { panic!() };
    assert!(!is_open(&rig.decide(call("t", "{}"))), "80 are held");
    drop(second);
    let mut result = ToolResult::success(1);
    result.usage.tokens_out = 95;
    block_on(rig.gate.settle(first.redeem().1, Performed::Tool(result)));
    assert_eq!(code(&rig.run(call("t", "{}"))), "limit_exceeded");
}

#[test]
fn a_breaker_opens_after_failures_lets_one_probe_through_and_only_the_probe_closes_it() {
    let breaker = Quota::Breaker { failures: 2, window_ms: 60_000, open_ms: 1000 };
    let rig = Rig::of([limiting("breaker", breaker)]);
    let open = || {
        let Passage::Open(permit) = rig.decide(call("t", "{}")).passage else { panic!() };
        permit.redeem().1
    };
    let error = || Failure { code: "tool_error".into(), message: "x".into(), tool: "t".into() };
    let fails = || Performed::Tool(ToolResult::failure(error(), true));
    let old = open();
    for _ in 0..2 {
        rig.run_with(call("t", "{}"), fails());
    }
    assert_eq!(code(&rig.run(call("t", "{}"))), "circuit_open");
    rig.clock.advance(Duration::from_millis(1000));
    let probe = open();
    assert_eq!(code(&rig.run(call("t", "{}"))), "circuit_open");
    block_on(rig.gate.settle(old, Performed::Tool(ToolResult::success(1))));
    assert_eq!(code(&rig.run(call("t", "{}"))), "circuit_open", "an old call is no probe");
    block_on(rig.gate.settle(probe, Performed::Tool(ToolResult::success(1))));
    assert!(tool_result(&rig.run(call("t", "{}"))).ok);
}

#[test]
fn dry_limits_reserve_nothing_and_say_what_they_would_have_said() {
    let dry = limiting("dry", count(0)).with_dry_run(tollgate_gate::DryRun::Yes);
    let rig = Rig::of([dry]);
    let ruling = rig.decide(call("t", "{}"));
    assert!(is_open(&ruling));
    assert_eq!(ruling.decision.votes[0].vote_kind(), Some(tollgate_gate::VoteKind::Deny));

    let rig = Rig::with([limiting("k", count(1))], |builder| builder.mode(Mode::DryRun));
    for _ in 0..3 {
        assert!(tool_result(&rig.run(call("t", "{}"))).ok);
    }
    block_on(rig.gate.set_mode(Mode::Enforce, "now")).unwrap();
    assert!(tool_result(&rig.run(call("t", "{}"))).ok, "the dry calls took nothing");
}

#[test]
fn settling_twice_settles_once() {
    let (mut table, now) = (ClaimTable::default(), Timestamp::from_millis(1000));
    let claims = [Claim { hook: "h".into(), key: "k".into(), quota: count(1) }];
    let key = CallKey { session: "s".into(), call: "c".into() };
    let gave_back = Settlement::default();
    table.reserve(&key, &claims, now, 1000).unwrap().unwrap();
    table.settle(&key, &gave_back, now);
    table.settle(&key, &gave_back, now);
    assert_eq!(table.reserve(&key, &claims, now, 1000).unwrap(), Ok(()));
    assert!(table.reserve(&key, &claims, now, 1000).unwrap().is_err());
}

/// In every interleaving of the claim step exactly one of three passes a limit of one, and what the
/// others could have had of a second limit is not taken.
#[test]
fn loom_exactly_k_pass_in_every_interleaving_and_all_or_nothing() {
    loom::model(|| {
        let now = Timestamp::from_millis(1);
        let table = Arc::new(loom::sync::Mutex::new(ClaimTable::default()));
        let claims = |narrow: bool| {
            let of =
                |key: &str, max| Claim { hook: key.into(), key: key.into(), quota: count(max) };
            if narrow { vec![of("wide", 2), of("narrow", 1)] } else { vec![of("wide", 2)] }
        };
        let key = |n: u32| CallKey { session: "s".into(), call: n.to_string().into() };
        let reserve = move |table: &loom::sync::Mutex<ClaimTable>, n| -> Result<(), Exceeded> {
            table.lock().unwrap().reserve(&key(n), &claims(true), now, 1000).unwrap()
        };
        let others: Vec<_> = (0..2)
            .map(|n| {
                let table = Arc::clone(&table);
                loom::thread::spawn(move || {
                    let reserved = reserve(&table, n).is_ok();
                    if reserved {
                        let came = Settlement { executed: true, ok: true, ..Settlement::default() };
                        table.lock().unwrap().settle(&key(n), &came, now);
                    }
                    reserved
                })
            })
            .collect();
        let mut passed = u32::from(reserve(&table, 2).is_ok());
        for other in others {
            passed += u32::from(other.join().unwrap());
        }
        assert_eq!(passed, 1);
        let mut table = table.lock().unwrap();
        assert!(table.peek(&claims(false), now).is_ok(), "only one of two places is taken");
        assert!(table.reserve(&key(8), &claims(false), now, 1000).unwrap().is_ok());
        assert!(table.reserve(&key(9), &claims(false), now, 1000).unwrap().is_err());
    });
}

/// A reservation that is given back lets exactly one other pass, whenever that comes.
#[test]
fn loom_what_is_given_back_is_taken_at_most_once() {
    loom::model(|| {
        let now = Timestamp::from_millis(1);
        let table = Arc::new(loom::sync::Mutex::new(ClaimTable::default()));
        let claims =
            [Claim { hook: "h".into(), key: "k".into(), quota: Quota::Concurrency { max: 1 } }];
        let key = |n: u32| CallKey { session: "s".into(), call: n.to_string().into() };
        table.lock().unwrap().reserve(&key(0), &claims, now, 1000).unwrap().unwrap();
        let others: Vec<_> = (1..3)
            .map(|n| {
                let (table, claims) = (Arc::clone(&table), claims.clone());
                loom::thread::spawn(move || {
                    table.lock().unwrap().reserve(&key(n), &claims, now, 1000).unwrap().is_ok()
                })
            })
            .collect();
        table.lock().unwrap().settle(&key(0), &Settlement::default(), now);
        let passed =
            others.into_iter().filter_map(|other| other.join().ok()).filter(|ok| *ok).count();
        assert!(passed <= 1);
        let is_free = table.lock().unwrap().peek(&claims, now).is_ok();
        assert_eq!(is_free, passed == 0);
    });
}

#[test]
fn a_limit_of_json_size_is_refused_by_the_reader() {
    let text = format!("\"{}\"", "x".repeat(tollgate_gate::limits::JSON_BYTES_MAX));
    assert!(Json::read(text.as_bytes()).is_err());
}
