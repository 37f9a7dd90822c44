//! What an event costs in memory: nothing for hooks that do not match.

use crate::rig::{Rig, call, hook, judge};
use allocation_counter::measure;
use std::sync::Arc;
use tollgate_gate::path::Path;
use tollgate_gate::{
    EventKind, Gate, Hook, Matcher, Mode, Opinion, Patterns, Roles, Rollout, RolloutBy,
};

/// Hooks of tool calls that do not concern a call of `read_file` with `{"path": "a", "n": 7}`.
fn strangers(n: usize) -> Vec<Hook> {
    let globs = |pattern: &str| Patterns::globs([pattern]).unwrap();
    let value =
        |path: &str, pattern: &str| Matcher::Value(Path::parse(path).unwrap(), globs(pattern));
    let kinds: Vec<Matcher> = vec![
        Matcher::tool("write_file").unwrap(),
        Matcher::tool("delete_*").unwrap(),
        Matcher::tool("*_dir").unwrap(),
        Matcher::tool("r*x*z").unwrap(),
        Matcher::User(globs("mallory")),
        Matcher::Tenant(globs("*corp")),
        Matcher::AnyTag(vec!["batch".into()]),
        Matcher::Labels(vec!["tainted".into()]),
        value("args.path", "*secret*"),
        value("args.*.deep", "x"),
        value("args.n", "8"),
        value("payload.tool", "write*"),
        value("payload.call_id", "x*"),
        Matcher::Not(Box::new(Matcher::tool("read_*").unwrap())),
        Matcher::tool("read_*").unwrap().and(Matcher::Server(globs("mail"))),
    ];
    let of = |(at, matcher): (usize, Matcher)| {
        judge(&format!("stranger-{at}"), |_| Opinion::deny("no")).matching(matcher)
    };
    kinds.into_iter().cycle().take(n).enumerate().map(of).collect()
}

fn allocations_of_a_decision(gate: &Arc<Gate>) -> u64 {
    let decide = |event| drop(crate::rig::block_on(gate.decide(event)));
    for _ in 0..10 {
        decide(call("read_file", r#"{"path":"a","n":7}"#));
        crate::rig::block_on(gate.flush()).unwrap();
    }
    let event = call("read_file", r#"{"path":"a","n":7}"#);
    measure(|| decide(event)).count_total
}

#[test]
fn a_hook_that_does_not_match_costs_no_allocation() {
    // The ledger in memory grows now and then; a gate in mode dry_run or not, the same.
    for mode in [Mode::Enforce, Mode::DryRun] {
        let none = Rig::with([], |builder| builder.mode(mode));
        let alone = allocations_of_a_decision(&none.gate);
        let many = Rig::with(strangers(30), |builder| builder.mode(mode));
        assert_eq!(allocations_of_a_decision(&many.gate), alone);
    }
}

#[test]
fn a_hook_outside_its_rollout_costs_no_allocation() {
    let nobody = Rollout { basis_points: 0, by: RolloutBy::Session };
    let hook = hook("h", EventKind::PreTool, Roles::WATCH, |_| Ok(Opinion::none()));
    let (none, some) = (Rig::of([]), Rig::of([hook.with_rollout(nobody)]));
    let alone = allocations_of_a_decision(&none.gate);
    assert_eq!(allocations_of_a_decision(&some.gate), alone);
}
