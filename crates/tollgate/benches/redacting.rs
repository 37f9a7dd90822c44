//! What a `redact` hook costs a tool result of 1 KiB on its way through the gate, beside the same way
//! without one. The record is scrubbed and kept in memory both times.
//!
//! `cargo bench -p tollgate --bench redacting`. Results are timed one by one, in batches; shown are p50 and
//! p99 of the batch with the smallest p50, which a busy machine disturbs least.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has no figures")]

use std::future::Future;
use std::hint::black_box;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tollgate::Tollgate;
use tollgate::gate::{Event, Timestamp};

/// Results in a batch.
const BATCH: usize = 500;
/// Batches.
const BATCHES: usize = 20;
/// Length of a result, in bytes.
const RESULT_BYTES: usize = 1024;

const NONE: &str = "version: 1
hooks: [{ name: other, on: after_tool, match: { tool: other }, label: seen }]
";
const REDACTS: &str = "version: 1
hooks: [{ name: masked, on: after_tool, redact: { find: [secrets, pii] } }]
";

const PROSE: &str =
    "The build went through after twelve minutes, and nobody had to look at it again. ";
const ROWS: &str =
    r#"{"id": 4711, "state": "open", "tags": ["a", "b"], "at": "2026-11-30T10:00:00Z"}, "#;
const DATUM: &str = "Write to zhang.san@example.org or call 13812345678. ";

fn main() {
    let few = format!("{DATUM}{}", PROSE.repeat(20));
    let rows = format!("[{}{{}}]", ROWS.repeat(RESULT_BYTES / ROWS.len()));
    let texts = [
        ("prose, nothing to mask", cut(&PROSE.repeat(20))),
        ("rows of JSON in a text, nothing to mask", rows),
        ("prose, two data", cut(&few)),
        ("data throughout", cut(&DATUM.repeat(40))),
    ];
    println!("{:<40} {:>11} {:>11} {:>11} {:>11}", "us", "none p50", "none p99", "p50", "p99");
    for (name, text) in &texts {
        let (none_p50, none_p99) = measured(NONE, text);
        let (p50, p99) = measured(REDACTS, text);
        println!("{name:<40} {none_p50:>11.1} {none_p99:>11.1} {p50:>11.1} {p99:>11.1}");
    }
}

fn cut(text: &str) -> String {
    text.chars().take(RESULT_BYTES).collect()
}

/// Microseconds a result, p50 and p99.
fn measured(policy: &str, content: &str) -> (f64, f64) {
    let tollgate = Tollgate::builder().policy_text("bench", policy).open().expect("opens");
    let content = serde_json::to_string(content).expect("is a text");
    let event = format!(
        r#"{{"kind":"post_tool","session":{{"id":"s"}},"payload":{{"tool":"t","arguments":{{}},"result":{{"ok":true,"content":{content}}}}}}}"#
    );
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..BATCHES {
        let mut times: Vec<f64> = (0..BATCH)
            .map(|_| {
                let event = Event::read(event.as_bytes(), Timestamp::from_millis(0));
                let event = event.expect("is an event");
                let started = Instant::now();
                black_box(ready(tollgate.gate().judge(event)));
                started.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let at = |share: usize| times.get(BATCH * share / 100).copied().unwrap_or(f64::MAX);
        if at(50) < best.0 {
            best = (at(50), at(99));
        }
    }
    best
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(value) = polled {
            return value;
        }
        std::thread::yield_now();
    }
}
