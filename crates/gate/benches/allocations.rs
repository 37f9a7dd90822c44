//! What the gate allocates: a call counted with and without hooks that do not match. Apart from the
//! bench of times, since counting takes time.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has no figures")]

mod seed;

use seed::{call, decide, gate, one_of, ready, seed_call, seed_hooks, session};
use std::hint::black_box;
use std::sync::Arc;
use tollgate_gate::Event;

fn row(what: &str, measured: &str, aim: &str) {
    println!("| {what} | {measured} | {aim} |");
}

fn main() {
    let session = &session();
    println!("| what | measured | aim |\n|---|---|---|");
    for (what, hooks) in [
        ("no hook", Vec::new()),
        (
            "10,000 hooks, none matching",
            one_of(10_000).into_iter().filter(|h| &**h.name() != "hook-5").collect(),
        ),
        ("10,000 hooks, 1 matching", one_of(10_000)),
    ] {
        let gate = gate(hooks);
        decide(&gate, session, call("tool_5", 1));
        let event = Event::new(Arc::clone(session), call("tool_5", 1), gate.clock().now());
        let mut ruling = None;
        let counted = allocation_counter::measure(|| ruling = Some(ready(gate.decide(event))));
        drop(black_box(ruling));
        row(
            &format!("allocations of a decide, {what}"),
            &counted.count_total.to_string(),
            "same with and without hooks that do not match",
        );
    }
    let gate = gate(seed_hooks());
    seed_call(&gate, session);
    let counted = allocation_counter::measure(|| seed_call(&gate, session));
    row(
        "allocations of the first seed's chain, decide + settle",
        &counted.count_total.to_string(),
        "-",
    );
}
