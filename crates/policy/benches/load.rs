//! What loading a policy costs: from files, and from a snapshot.
//!
//! `cargo bench -p tollgate-policy --bench load`. Each number is the best and the median of many runs
//! in one process; files are in the page cache. `a rule` is the best time divided by the rules: where
//! it grows with their number, loading is worse than linear. The gate's index makes the decision's
//! time independent of the number of rules.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench stops at what does not work")]

mod rules;

use rules::policy_of;
use std::fs;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tollgate_gate::{Event, Gate, ManualClock, Timestamp};
use tollgate_policy::snapshot::{Freshness, load_with_snapshot};
use tollgate_policy::{Layer, LayerKind, LoadOptions, Loaded, load};

fn measure<T>(runs: usize, mut f: impl FnMut() -> T) -> (Duration, Duration) {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            black_box(f());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    (at(0), at(times.len() / 2))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

/// One decision, the hook of the middle rule matching.
fn decide(loaded: Loaded, rules: usize) -> (Duration, Duration) {
    let middle = rules / 2;
    let clock = Arc::new(ManualClock::new(Timestamp::default()));
    let gate = Gate::builder(clock).ruleset(loaded.ruleset).build().unwrap();
    let text = format!(
        r#"{{"kind":"pre_tool","session":{{"id":"s","user":"alice"}},"payload":{{"tool":"tool_{middle}","arguments":{{"path":"src/a/{middle}_x","n":{}}}}}}}"#,
        middle + 1
    );
    let event = Event::read(text.as_bytes(), Timestamp::default()).unwrap();
    measure(2_000, || {
        let ruling = block_on(gate.decide(event.clone()));
        assert_eq!(ruling.decision.code.as_ref().unwrap().as_str(), format!("CODE_{middle}"));
    })
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let options = LoadOptions::new(Timestamp::default());
    println!("{:>7}  {:<28} {:>12} {:>12} {:>10}", "rules", "what", "best", "median", "a rule");
    for (rules, runs) in [(100, 200), (1_000, 50), (10_000, 5)] {
        let file = folder.path().join(format!("{rules}.yaml"));
        fs::write(&file, policy_of(rules)).unwrap();
        let state = folder.path().join("state");
        let layers = [Layer::named(LayerKind::User, &file)];
        let row = |what: &str, (best, median): (Duration, Duration)| {
            let a_rule = best / u32::try_from(rules).unwrap();
            println!("{rules:>7}  {what:<28} {best:>12.1?} {median:>12.1?} {a_rule:>10.1?}");
        };
        row("from the file", measure(runs, || load(&layers, &options).unwrap()));
        load_with_snapshot(&layers, &options, &state).unwrap();
        let from_snapshot = measure(runs, || {
            let (loaded, freshness, _) = load_with_snapshot(&layers, &options, &state).unwrap();
            assert_eq!(freshness, Freshness::FromSnapshot);
            loaded
        });
        row("from a snapshot", from_snapshot);
        let loaded = load(&layers, &options).unwrap();
        row("one decision, one rule hits", decide(loaded, rules));
    }
}
