//! What the gate costs: prints a table against the aims of the design (section 7).
//!
//! A time is that of the fastest batch of 200 calls, here and in Python, so that a busy machine
//! disturbs both little and alike; the Python rows are measured in the same run where `python3` is
//! there, and left out with a word where it is not.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has no figures")]

mod seed;

use seed::{call, decide, gate, one_of, seed_call, seed_hooks, session};
use std::time::Instant;
use tollgate_gate::{EventKind, Hook, Json, Matcher, Opinion, Roles, inline};

/// The time of one call in the fastest batch, in nanoseconds.
fn time(mut call: impl FnMut()) -> f64 {
    const BATCH: u32 = 200;
    for _ in 0..2_000 {
        call();
    }
    let mut best = f64::INFINITY;
    let end = Instant::now() + std::time::Duration::from_millis(400);
    while Instant::now() < end {
        let start = Instant::now();
        for _ in 0..BATCH {
            call();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    best
}

/// 100 hooks of which `matching` match `tool_5`.
fn some_of_100(matching: usize) -> Vec<Hook> {
    let none = inline(|_| Ok(Opinion::none()));
    (0..100)
        .map(|i| {
            let tool = if i < matching { "tool_5".to_owned() } else { format!("other_{i}") };
            let matcher = Matcher::tool(&tool).expect("a good glob");
            Hook::new(format!("hook-{i}"), EventKind::PreTool, Roles::JUDGE, none.clone())
                .matching(matcher)
        })
        .collect()
}

fn python() -> Option<Json> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/seed_chain.py");
    let output = std::process::Command::new("python3").arg(script).output().ok()?;
    Json::read(output.stdout.trim_ascii()).ok()
}

fn row(what: &str, measured: String, aim: &str) {
    println!("| {what} | {measured} | {aim} |");
}

fn main() {
    let python = python();
    let of_python = |key: &str| {
        python.as_ref().and_then(|json| json.get(key)).and_then(Json::as_number).map(|n| n.to_f64())
    };
    let session = session();
    println!("| what | measured | aim |\n|---|---|---|");

    let seed = gate(seed_hooks());
    let chain = time(|| seed_call(&seed, &session));
    let python_chain = of_python("seed_chain");
    let ratio = python_chain.map_or_else(
        || "python3 is not there: not compared".to_owned(),
        |python| format!("{:.2} x Python's {python:.0} ns", chain / python),
    );
    row("the first seed's chain, decide + settle", format!("{chain:.0} ns; {ratio}"), "<= 0.25 x");

    let mut at_10 = f64::NAN;
    for count in [10, 100, 1_000, 10_000] {
        let gate = gate(one_of(count));
        let ns = time(|| decide(&gate, &session, call("tool_5", 1)));
        if count == 10 {
            at_10 = ns;
        }
        let against = match of_python(&format!("registered_{count}")) {
            Some(python) if count == 1_000 => {
                format!("; 1/{:.0} of Python's {python:.0} ns", python / ns)
            }
            _ => String::new(),
        };
        let aim = if count == 1_000 { "<= 2 x; 1/300 of Python" } else { "<= 2 x" };
        row(
            &format!("decide, {count} hooks registered, 1 matching"),
            format!("{ns:.0} ns, {:.2} x that of 10{against}", ns / at_10),
            aim,
        );
    }
    for matching in [1, 10, 50] {
        let gate = gate(some_of_100(matching));
        let ns = time(|| decide(&gate, &session, call("tool_5", 1)));
        row(&format!("decide, 100 hooks, {matching} matching"), format!("{ns:.0} ns"), "-");
    }
}
