//! A session on disk: what it costs to open the state, enter the session of an event and leave it, as
//! every hook process does.
//!
//! Takes the number of turns as an argument (default 2,000), and the folder to write in as a second one.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not as it must be")]

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tollgate_gate::state::{Entry, Trace};
use tollgate_gate::{Clock, Counters, Session, State as _};
use tollgate_store::{DiskState, SystemClock};

const TURNS: usize = 2_000;

/// The state on disk is ready at the first look; it waits for nobody.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let polled = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    let answer = if let Poll::Ready(value) = polled { Some(value) } else { None };
    answer.unwrap()
}

fn one_event(state: &DiskState, session: &Session) {
    let count = Counters { tool_calls_attempted: 1, ..Counters::default() };
    ready(state.enter(session, Entry { count, call: None })).unwrap();
    ready(state.leave(session, &Trace::default())).unwrap();
}

/// Prints the median and the 99th of a hundred, in microseconds.
fn measure(what: &str, turns: usize, mut turn: impl FnMut(usize)) {
    let mut times: Vec<f64> = (0..turns)
        .map(|at| {
            let since = Instant::now();
            turn(at);
            since.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap();
    println!("| {what} | {:.1} | {:.1} |", at(0.5), at(0.99));
}

fn run(folder: &Path, turns: usize) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let open = || DiskState::new(folder, Arc::clone(&clock), None);
    println!("{turns} turns each, microseconds\n\n| a turn | p50 | p99 |\n|---|---|---|");
    let known = Session::new("known");
    measure("open, enter and leave a session", turns, |_| one_event(&open(), &known));
    let child = Session::new("child").with_parent("known");
    measure("open, enter and leave a child of it", turns, |_| one_event(&open(), &child));
    measure("open, enter and leave a new session", turns, |at| {
        one_event(&open(), &Session::new(format!("new-{at}").as_str()));
    });
    let state = open();
    measure("enter and leave, the state being open", turns, |_| one_event(&state, &known));
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let turns = arguments.next().map_or(TURNS, |turns| turns.parse().unwrap());
    let dir = arguments.next().map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap();
    run(&dir.path().join("state"), turns.max(1));
}
