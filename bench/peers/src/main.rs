//! The gate beside other policy engines, on equivalent rules, in one run: prints a table.
//!
//! `cargo xtask bench peers`. 100 rules of which 5 are about the tool that is called and permit the
//! call; each looks at an amount, the start of a path and a group of the user. Every engine comes to
//! the same decision, which is checked before anything is timed. Cedar and regorus only decide; the
//! gate also makes a scrubbed record of the decision, which is dropped here, for they have none. A time
//! is that of one decision in the fastest batch.
//!
//! Not compared: loading, memory, and what only one of them can do.

use cedar_policy::{Authorizer, Context as CedarContext, Entities, EntityUid, PolicySet, Request};
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::RegoVM;
use std::fmt::Write as _;
use std::hint::black_box;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tollgate_gate::{
    Durability, Event, Gate, Ledger, LedgerError, Record, SessionView, Soon, Subject, Timestamp,
    Verdict,
};
use tollgate_policy::{LoadOptions, load_text};
use tollgate_store::SystemClock;

/// Rules of each policy.
const RULES: usize = 100;
/// Those that are about the call.
const MATCHING: usize = 5;
/// Decisions in a batch.
const BATCH: u32 = 100;
/// Batches.
const BATCHES: u32 = 2_000;

const ARGUMENTS: &str = r#"{"amount":700,"path":"src/main.rs"}"#;

fn tool(at: usize) -> String {
    if at < MATCHING { "pay".to_owned() } else { format!("tool_{at}") }
}

fn tollgate_policy() -> String {
    let mut text = "version: 1\ngroups: { ops: [alice] }\nhooks:\n".to_owned();
    for at in 0..RULES {
        let action = if at < MATCHING { "allow: {}" } else { "deny: no" };
        let (tool, limit) = (tool(at), 1000 + at);
        let _ = writeln!(
            text,
            "  - name: rule-{at}\n    on: pre_tool\n    match: {{ tool: {tool} }}\n    when: \"args.amount < {limit} && args.path.startsWith('src/') && 'ops' in user.groups\"\n    {action}"
        );
    }
    text
}

fn cedar_policy() -> String {
    let mut text = String::new();
    for at in 0..RULES {
        let effect = if at < MATCHING { "permit" } else { "forbid" };
        let (tool, limit) = (tool(at), 1000 + at);
        let _ = writeln!(
            text,
            "{effect}(principal in Group::\"ops\", action == Action::\"call\", resource == Tool::\"{tool}\") when {{ context.amount < {limit} && context.path like \"src/*\" }};"
        );
    }
    text
}

fn rego_policy() -> String {
    let mut text =
        "package gate\nimport rego.v1\ndefault allow := false\ndefault deny := false\ndefault decision := \"deny\"\ndecision := \"allow\" if { not deny; allow }\n".to_owned();
    for at in 0..RULES {
        let head = if at < MATCHING { "allow" } else { "deny" };
        let (tool, limit) = (tool(at), 1000 + at);
        let _ = writeln!(
            text,
            "{head} if {{ input.tool == \"{tool}\"; input.args.amount < {limit}; startswith(input.args.path, \"src/\"); \"ops\" in input.user.groups }}"
        );
    }
    text
}

/// Takes records and keeps none.
struct Nowhere;

impl Ledger for Nowhere {
    fn append(&self, record: Record, _: Durability) -> Soon<'_, Result<(), LedgerError>> {
        drop(black_box(record));
        Soon::now(Ok(()))
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

/// The time of one decision in the fastest batch, in nanoseconds.
fn row(what: &str, mut decide: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..BATCH {
            decide();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    println!("| {what} | {best:.0} ns |");
}

fn tollgate() {
    let loaded = load_text("bench", &tollgate_policy(), &LoadOptions::new(Timestamp::default()));
    let ruleset = loaded.expect("the policy loads").ruleset;
    let clock = Arc::new(SystemClock::new());
    let gate = Gate::builder(clock).ledger(Arc::new(Nowhere)).ruleset(ruleset).build();
    let gate = gate.expect("the gate is built");
    let text = format!(
        r#"{{"kind":"pre_tool","session":{{"id":"s","user":"alice"}},"payload":{{"tool":"pay","arguments":{ARGUMENTS}}}}}"#
    );
    let event = Event::read(text.as_bytes(), Timestamp::default()).expect("the event is read");
    let decision = ready(gate.decide(event.clone())).decision;
    assert_eq!((decision.verdict, decision.votes.len()), (Verdict::Allow, MATCHING));
    let ruleset = gate.ruleset();
    let view = SessionView::default();
    let subject = Subject { event: &event, payload: &event.payload, session: &view };
    row("Tollgate: all 100 matchers and conditions one by one, no record", || {
        let matching =
            ruleset.hooks().filter(|h| h.matcher().matches(black_box(&subject)) == Ok(true));
        assert_eq!(matching.count(), MATCHING);
    });
    row("Tollgate: decide, record made and scrubbed", || {
        drop(black_box(ready(gate.decide(event.clone()))));
    });
    row("Tollgate: the same from JSON text", || {
        let event = Event::read(black_box(text.as_bytes()), Timestamp::default());
        drop(black_box(ready(gate.decide(event.expect("the event is read")))));
    });
}

fn cedar() {
    let policies = PolicySet::from_str(&cedar_policy()).expect("the policies are read");
    let entities = r#"[{"uid":{"type":"User","id":"alice"},"attrs":{},"parents":[{"type":"Group","id":"ops"}]},{"uid":{"type":"Group","id":"ops"},"attrs":{},"parents":[]}]"#;
    let entities = Entities::from_json_str(entities, None).expect("the entities are read");
    let uid = |text: &str| EntityUid::from_str(text).expect("a good uid");
    let (user, action, tool) =
        (uid("User::\"alice\""), uid("Action::\"call\""), uid("Tool::\"pay\""));
    let request = |text: &str| {
        let context = CedarContext::from_json_str(text, None).expect("the context is read");
        Request::new(user.clone(), action.clone(), tool.clone(), context, None).expect("a request")
    };
    let authorizer = Authorizer::new();
    let made = request(ARGUMENTS);
    let response = authorizer.is_authorized(&made, &policies, &entities);
    assert_eq!(response.decision(), cedar_policy::Decision::Allow);
    assert_eq!(response.diagnostics().reason().count(), MATCHING);
    row("Cedar: is_authorized, request made before", || {
        black_box(authorizer.is_authorized(black_box(&made), &policies, &entities));
    });
    row("Cedar: the same, context from JSON text", || {
        let made = request(black_box(ARGUMENTS));
        black_box(authorizer.is_authorized(&made, &policies, &entities));
    });
}

fn rego() {
    const RULE: &str = "data.gate.decision";
    let text =
        format!(r#"{{"tool":"pay","args":{ARGUMENTS},"user":{{"id":"alice","groups":["ops"]}}}}"#);
    let read = || regorus::Value::from_json_str(black_box(&text)).expect("the input is read");
    let allow = regorus::Value::from("allow");
    let mut engine = regorus::Engine::new();
    engine.add_policy("gate.rego".to_owned(), rego_policy()).expect("the policy is read");
    let compiled = engine.compile_with_entrypoint(&RULE.into()).expect("the policy compiles");
    let program = Compiler::compile_from_policy(&compiled, &[RULE]).expect("the program compiles");
    let mut vm = RegoVM::new();
    vm.load_program(program);
    let input = read();
    vm.set_input(input.clone());
    assert_eq!(vm.execute().expect("it runs"), allow);
    row("regorus RVM: execute, input made before", || {
        vm.set_input(input.clone());
        black_box(vm.execute().expect("it runs"));
    });
    row("regorus RVM: the same, input from JSON text", || {
        vm.set_input(read());
        black_box(vm.execute().expect("it runs"));
    });
    engine.set_input(input.clone());
    assert_eq!(engine.eval_rule(RULE.to_owned()).expect("it runs"), allow);
    row("regorus interpreter: eval_rule, input made before", || {
        engine.set_input(input.clone());
        black_box(engine.eval_rule(RULE.to_owned()).expect("it runs"));
    });
}

fn main() {
    println!("| {RULES} rules, {MATCHING} matching: one decision | fastest batch |\n|---|---|");
    tollgate();
    cedar();
    rego();
}
