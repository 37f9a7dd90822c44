//! What every store of session state keeps to: one list of laws that each is put through.
//!
//! A law gets a way to open the state, and opens it anew for its steps, as processes that come and go
//! would. Crates with a store of their own include this file by its path.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tollgate_gate::state::{Entry, Trace};
use tollgate_gate::{
    Aborted, CallKey, Claim, Code, Counted, Counters, Quota, Session, SessionView, Settlement,
    State, StateError, Timestamp, Usage,
};

/// Opens the state: always the same one.
pub(crate) type Open<'a> = &'a dyn Fn() -> Arc<dyn State>;

/// A law in words, and its trial.
type Law = (&'static str, fn(Open<'_>));

/// The laws, each to be tried on a state of its own.
pub(crate) const LAWS: &[Law] = &[
    ("an attempt is seen by the event that makes it", an_attempt_is_seen_by_its_event),
    ("children count into all above them", children_count_into_all_above_them),
    ("the end of a session is its children's, and the first reason stays", ends_are_inherited),
    ("labels go up, and down to children that come later", labels_join),
    ("a parent that was never seen stands for its children", an_unseen_parent_stands),
    ("sessions that name each other as parents end in no circle", no_circles),
    ("a chain of parents that is too long ends", too_long_a_chain_ends),
    ("ids are told apart byte by byte", hostile_ids),
    ("repeats are counted among the session's own calls", repeats_are_its_own),
    ("too many labels are refused", too_many_labels),
    ("all claims are reserved or none", all_or_none),
    ("what did not run is given back", what_did_not_run_is_given_back),
    ("attempts count although they are refused", attempts_count),
    ("a lease that ends frees its place", leases_end),
    ("tokens are spent when they are known", tokens_are_spent),
    ("a breaker opens, probes and closes", a_breaker_opens_and_closes),
    ("looking reserves nothing", looking_reserves_nothing),
    ("one key twice is two reservations", one_key_twice),
    ("settling what holds nothing is nothing", settling_nothing),
];

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(value) = polled {
            return value;
        }
    }
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + ms)
}

fn attempt() -> Entry {
    Entry { count: Counters { tool_calls_attempted: 1, ..Counters::default() }, call: None }
}

fn enter(open: Open<'_>, session: &Session, entry: Entry) -> SessionView {
    ready(open().enter(session, entry)).unwrap()
}

fn look(open: Open<'_>, session: &Session) -> SessionView {
    enter(open, session, Entry::default())
}

fn abort(open: Open<'_>, session: &Session, reason: &str) {
    let aborted = Aborted { code: "OWN".into(), reason: reason.into(), hook: Some("h".into()) };
    ready(open().abort(session, aborted)).unwrap();
}

fn label(open: Open<'_>, session: &Session, label: &str) {
    let trace = Trace { labels: vec![label.into()], ..Trace::default() };
    ready(open().leave(session, &trace)).unwrap();
}

fn key(call: &str) -> CallKey {
    CallKey { session: "s".into(), call: call.into() }
}

fn claim(key: &str, quota: Quota) -> Claim {
    Claim { hook: "limit".into(), key: key.into(), quota }
}

fn count(max: u64) -> Quota {
    Quota::Count { max, counted: Counted::Executed }
}

/// Reserves, in a session that is known.
fn reserve(open: Open<'_>, call: &str, claims: &[Claim], ms: u64) -> Result<(), Code> {
    look(open, &Session::new("s"));
    let answer = ready(open().reserve(&key(call), claims, at(ms), 1_000)).unwrap();
    answer.map_err(|exceeded| exceeded.code)
}

fn settle(open: Open<'_>, call: &str, executed: bool, ok: bool, ms: u64) {
    let settlement = Settlement { executed, ok, usage: Usage::default() };
    ready(open().settle(&key(call), &settlement, at(ms))).unwrap();
}

fn an_attempt_is_seen_by_its_event(open: Open<'_>) {
    let session = Session::new("s");
    for expected in 1..=3 {
        let view = enter(open, &session, attempt());
        assert_eq!(view.counters.tool_calls_attempted, expected);
        assert_eq!((view.tree, &*view.root), (view.counters, "s"));
    }
    let more = Counters { cost_micros: u64::MAX, tokens_in: 5, ..Counters::default() };
    for _ in 0..2 {
        let trace = Trace { count: more, ..Trace::default() };
        ready(open().leave(&session, &trace)).unwrap();
    }
    let counters = look(open, &session).counters;
    assert_eq!((counters.cost_micros, counters.tokens_in), (u64::MAX, 10));
}

fn children_count_into_all_above_them(open: Open<'_>) {
    let (root, child) = (Session::new("s"), Session::new("kid").with_parent("s"));
    let grandchild = Session::new("grandkid").with_parent("kid");
    enter(open, &root, attempt());
    enter(open, &child, attempt());
    let view = enter(open, &grandchild, attempt());
    assert_eq!(view.counters.tool_calls_attempted, 1);
    assert_eq!((view.tree.tool_calls_attempted, &*view.root), (3, "s"));
    assert_eq!(look(open, &child).counters.tool_calls_attempted, 2);
    assert_eq!(look(open, &root).counters.tool_calls_attempted, 3);
    let trace = Trace { count: attempt().count, ..Trace::default() };
    ready(open().leave(&grandchild, &trace)).unwrap();
    assert_eq!(look(open, &root).counters.tool_calls_attempted, 4);
}

fn ends_are_inherited(open: Open<'_>) {
    let (root, child) = (Session::new("s"), Session::new("kid").with_parent("s"));
    let grandchild = Session::new("grandkid").with_parent("kid");
    look(open, &child);
    look(open, &grandchild);
    abort(open, &root, "first");
    abort(open, &root, "second");
    for session in [&root, &child, &grandchild, &Session::new("late").with_parent("kid")] {
        let aborted = look(open, session).aborted.unwrap();
        assert_eq!((&*aborted.reason, aborted.code.as_str()), ("first", "OWN"));
        assert_eq!(aborted.hook.as_deref(), Some("h"));
    }
    assert!(look(open, &Session::new("other")).aborted.is_none());
    // A child's end is not its parent's.
    abort(open, &Session::new("b").with_parent("a"), "own");
    assert!(look(open, &Session::new("a")).aborted.is_none());
}

fn labels_join(open: Open<'_>) {
    let (root, child) = (Session::new("s"), Session::new("kid").with_parent("s"));
    label(open, &root, "before");
    look(open, &child);
    label(open, &child, "from-child");
    label(open, &child, "from-child");
    label(open, &root, "after");
    let labels = |session: &Session| look(open, session).labels.iter().cloned().collect::<Vec<_>>();
    assert_eq!(
        labels(&root),
        ["after".into(), "before".into(), "from-child".into()] as [Arc<str>; 3]
    );
    assert_eq!(labels(&child), ["before".into(), "from-child".into()] as [Arc<str>; 2]);
    assert!(labels(&Session::new("other")).is_empty());
}

fn an_unseen_parent_stands(open: Open<'_>) {
    let child = Session { root: Some("s".into()), ..Session::new("kid").with_parent("mid") };
    let view = enter(open, &child, attempt());
    assert_eq!(&*view.root, "s");
    abort(open, &Session::new("s"), "the root");
    assert!(look(open, &child).aborted.is_some());
    let only_root = Session { root: Some("top".into()), ..Session::new("leaf") };
    assert_eq!(&*look(open, &only_root).root, "top");
    abort(open, &Session::new("top"), "the top");
    assert!(look(open, &only_root).aborted.is_some());
}

fn no_circles(open: Open<'_>) {
    let (a, b) = (Session::new("a").with_parent("b"), Session::new("b").with_parent("a"));
    look(open, &a);
    let view = enter(open, &b, attempt());
    assert_eq!(&*view.root, "b", "it was known as a root before");
    assert_eq!(&*look(open, &a).root, "b");
    assert_eq!(&*look(open, &Session::new("self").with_parent("self")).root, "self");
}

fn too_long_a_chain_ends(open: Open<'_>) {
    look(open, &Session::new("0"));
    for number in 1..=64 {
        let session = Session::new(number.to_string()).with_parent((number - 1).to_string());
        assert!(look(open, &session).aborted.is_none(), "{number}");
    }
    let view = look(open, &Session::new("65").with_parent("64"));
    assert_eq!(view.aborted.unwrap().code, Code::LimitExceeded);
    assert_eq!(&*view.root, "0");
}

fn hostile_ids(open: Open<'_>) {
    let ids = ["", ".", "..", "/", "../../x", "a/b", "a\0b", "A", "a", "\u{e9}", "e\u{301}", "*"];
    let long = "x".repeat(1024);
    for id in ids.into_iter().chain([&*long]) {
        let view = enter(open, &Session::new(id), attempt());
        assert_eq!((view.counters.tool_calls_attempted, &*view.root), (1, id));
    }
}

fn repeats_are_its_own(open: Open<'_>) {
    let (session, child) = (Session::new("s"), Session::new("kid").with_parent("s"));
    let calls = [(1, false), (2, true), (1, true), (1, true)];
    for call in calls {
        let trace = Trace { call: Some(call), ..Trace::default() };
        ready(open().leave(&session, &trace)).unwrap();
    }
    let entry = Entry { call: Some(1), ..Entry::default() };
    let repeats = enter(open, &session, entry).repeats;
    assert_eq!((repeats.in_a_row, repeats.refused_before, repeats.recent), (3, 2, 4));
    assert_eq!(enter(open, &child, entry).repeats.recent, 1);
    for _ in 0..64 {
        let trace = Trace { call: Some((9, false)), ..Trace::default() };
        ready(open().leave(&session, &trace)).unwrap();
    }
    assert_eq!(enter(open, &session, entry).repeats.recent, 1, "only the last ones are kept");
}

fn too_many_labels(open: Open<'_>) {
    let session = Session::new("s");
    let labels = (0..256).map(|number| number.to_string().into()).collect();
    ready(open().leave(&session, &Trace { labels, ..Trace::default() })).unwrap();
    let trace = Trace { labels: vec!["one more".into()], ..Trace::default() };
    let refused = ready(open().leave(&session, &trace));
    assert_eq!(refused, Err(StateError::Full { what: "labels", max: 256 }));
    assert_eq!(look(open, &session).labels.len(), 256);
}

fn all_or_none(open: Open<'_>) {
    let both = [claim("wide", count(5)), claim("narrow", count(1))];
    assert_eq!(reserve(open, "1", &both, 0), Ok(()));
    assert_eq!(reserve(open, "2", &both, 0), Err(Code::LimitExceeded));
    let wide = [claim("wide", count(2))];
    assert_eq!(reserve(open, "3", &wide, 0), Ok(()), "the refused one has taken nothing");
    assert_eq!(reserve(open, "4", &wide, 0), Err(Code::LimitExceeded));
    let twice = [claim("twice", count(1)), claim("twice", count(1))];
    assert_eq!(reserve(open, "5", &twice, 0), Err(Code::LimitExceeded));
}

fn what_did_not_run_is_given_back(open: Open<'_>) {
    let one = [claim("one", count(1))];
    assert_eq!(reserve(open, "1", &one, 0), Ok(()));
    settle(open, "1", false, false, 1);
    assert_eq!(reserve(open, "2", &one, 2), Ok(()));
    settle(open, "2", true, false, 3);
    assert_eq!(reserve(open, "3", &one, 4), Err(Code::LimitExceeded));
    let rate = Quota::Rate { max: 1, window_ms: 100, counted: Counted::Executed };
    let rate = [claim("rate", rate)];
    assert_eq!(reserve(open, "4", &rate, 10), Ok(()));
    assert_eq!(reserve(open, "5", &rate, 109), Err(Code::LimitExceeded));
    settle(open, "4", false, false, 109);
    assert_eq!(reserve(open, "6", &rate, 109), Ok(()));
    assert_eq!(reserve(open, "7", &rate, 209), Ok(()), "the window has passed");
}

fn attempts_count(open: Open<'_>) {
    let quota = Quota::Count { max: 2, counted: Counted::Attempts };
    let claims = [claim("attempts", quota), claim("open", count(9))];
    ready(open().charge(&claims, at(0))).unwrap();
    ready(open().charge(&claims, at(0))).unwrap();
    assert_eq!(reserve(open, "1", &claims, 0), Err(Code::LimitExceeded));
    assert_eq!(reserve(open, "2", &[claim("open", count(1))], 0), Ok(()));
}

fn leases_end(open: Open<'_>) {
    let one = [claim("at-once", Quota::Concurrency { max: 1 })];
    assert_eq!(reserve(open, "1", &one, 0), Ok(()));
    assert_eq!(reserve(open, "2", &one, 999), Err(Code::LimitExceeded));
    assert_eq!(reserve(open, "2", &one, 1_000), Ok(()));
    settle(open, "1", true, true, 1_001);
    assert_eq!(reserve(open, "3", &one, 1_002), Err(Code::LimitExceeded), "its lease has ended");
    settle(open, "2", true, true, 1_003);
    assert_eq!(reserve(open, "3", &one, 1_004), Ok(()));
}

fn tokens_are_spent(open: Open<'_>) {
    let quota = Quota::Tokens { max: 100, window_ms: Some(500), estimate: 60 };
    let tokens = [claim("tokens", quota)];
    assert_eq!(reserve(open, "1", &tokens, 0), Ok(()));
    assert_eq!(reserve(open, "2", &tokens, 0), Err(Code::LimitExceeded), "60 are held");
    let usage = Usage { tokens_in: 20, tokens_out: 15, cost_micros: 0 };
    let settlement = Settlement { executed: true, ok: true, usage };
    ready(open().settle(&key("1"), &settlement, at(10))).unwrap();
    assert_eq!(reserve(open, "2", &tokens, 20), Ok(()), "35 were used");
    ready(open().settle(&key("2"), &settlement, at(30))).unwrap();
    assert_eq!(reserve(open, "3", &tokens, 40), Err(Code::LimitExceeded));
    assert_eq!(reserve(open, "3", &tokens, 510), Ok(()));
}

fn a_breaker_opens_and_closes(open: Open<'_>) {
    let quota = Quota::Breaker { failures: 2, window_ms: 100, open_ms: 50 };
    let breaker = [claim("breaker", quota)];
    for (call, ms) in [("1", 0), ("2", 1)] {
        assert_eq!(reserve(open, call, &breaker, ms), Ok(()));
        settle(open, call, true, false, ms);
    }
    assert_eq!(reserve(open, "3", &breaker, 2), Err(Code::CircuitOpen));
    assert_eq!(reserve(open, "4", &breaker, 51), Ok(()), "one probes");
    assert_eq!(reserve(open, "5", &breaker, 52), Err(Code::CircuitOpen));
    settle(open, "4", true, true, 53);
    assert_eq!(reserve(open, "6", &breaker, 54), Ok(()));
}

fn looking_reserves_nothing(open: Open<'_>) {
    let one = [claim("one", count(1))];
    for _ in 0..3 {
        assert_eq!(ready(open().peek(&one, at(0))).unwrap(), Ok(()));
    }
    assert_eq!(reserve(open, "1", &one, 0), Ok(()));
    let exceeded = ready(open().peek(&one, at(0))).unwrap().unwrap_err();
    assert_eq!((&*exceeded.hook, exceeded.code), ("limit", Code::LimitExceeded));
}

fn one_key_twice(open: Open<'_>) {
    let two = [claim("two", Quota::Concurrency { max: 2 })];
    assert_eq!(reserve(open, "same", &two, 0), Ok(()));
    assert_eq!(reserve(open, "same", &two, 0), Ok(()));
    assert_eq!(reserve(open, "same", &two, 0), Err(Code::LimitExceeded));
    settle(open, "same", true, true, 1);
    assert_eq!(reserve(open, "other", &two, 2), Ok(()));
    settle(open, "same", true, true, 3);
    assert_eq!(reserve(open, "third", &two, 4), Ok(()));
}

fn settling_nothing(open: Open<'_>) {
    settle(open, "never", true, true, 0);
    let one = [claim("one", count(1))];
    assert_eq!(reserve(open, "1", &one, 0), Ok(()));
    settle(open, "1", true, true, 1);
    settle(open, "1", false, false, 2);
    assert_eq!(reserve(open, "2", &one, 3), Err(Code::LimitExceeded), "it was settled once");
}
