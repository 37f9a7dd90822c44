//! What the gate costs: prints a table against the aims of the design (section 7).
//!
//! Times are the median over batches, so that a busy machine disturbs them little; the Python rows
//! are measured in the same run where `python3` is there, and left out with a word where it is not.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has no figures")]

use std::hint::black_box;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tollgate_gate::{
    Clock, Event, EventKind, Gate, Hook, Json, KindSet, Ledger, LedgerError, Matcher, Object,
    Opinion, Passage, Payload, Performed, Record, Roles, Session, Soon, Timestamp, ToolCall,
    ToolResult, inline,
};

/// The machine's clock: one reading of the monotonic clock a call.
struct BenchClock(Instant);

impl Clock for BenchClock {
    fn now(&self) -> Timestamp {
        let nanos = u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Timestamp::from_nanos(1_700_000_000_000_000_000 + nanos)
    }
    fn sleep(&self, _: std::time::Duration) -> Soon<'static, ()> {
        Soon::later(std::future::pending())
    }
}

/// Keeps the last record, so that memory does not grow with the number of calls.
#[derive(Default)]
struct LastRecord(std::sync::Mutex<Option<Record>>);

impl Ledger for LastRecord {
    fn append(
        &self,
        record: Record,
        _: tollgate_gate::Durability,
    ) -> Soon<'_, Result<(), LedgerError>> {
        if let Ok(mut last) = self.0.lock() {
            *last = Some(record);
        }
        Soon::now(Ok(()))
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => std::process::abort(),
    }
}

/// Median over batches of the time of one call, in nanoseconds.
fn time(mut call: impl FnMut()) -> f64 {
    const BATCH: u32 = 200;
    for _ in 0..2_000 {
        call();
    }
    let mut batches = Vec::new();
    let end = Instant::now() + std::time::Duration::from_millis(400);
    while Instant::now() < end {
        let start = Instant::now();
        for _ in 0..BATCH {
            call();
        }
        batches.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    batches.sort_by(f64::total_cmp);
    batches.get(batches.len() / 2).copied().unwrap_or(f64::NAN)
}

fn gate(hooks: impl IntoIterator<Item = Hook>) -> Gate {
    Gate::builder(Arc::new(BenchClock(Instant::now())))
        .ledger(Arc::new(LastRecord::default()))
        .hooks(hooks)
        .build()
        .expect("the bench's hooks can be registered")
}

fn session() -> Arc<Session> {
    Arc::new(Session::new("s1").with_user("alice").with_tenant("acme"))
}

fn call(tool: &str, max_entries: i64) -> Payload {
    ToolCall::new(tool, Object::from_iter([("max_entries", max_entries)])).into()
}

fn decide(gate: &Gate, session: &Arc<Session>, payload: Payload) {
    let event = Event::new(Arc::clone(session), payload, gate.clock().now());
    match ready(gate.decide(event)).passage {
        Passage::Open(permit) => drop(black_box(permit.hand_over())),
        Passage::Closed(closed) => drop(black_box(closed)),
    }
}

/// The first seed's four hooks: permission, argument rewrite, redaction, audit.
fn seed_hooks() -> Vec<Hook> {
    let permission = inline(|view| {
        let Some(call) = view.payload.tool_call() else { return Ok(Opinion::none()) };
        let path = call.arguments.get("path").and_then(Json::as_str).unwrap_or_default();
        let is_test = path.rsplit('/').next().is_some_and(|name| name.starts_with("test_"));
        Ok(if is_test { Opinion::deny("test files are protected") } else { Opinion::none() })
    });
    let clamp = inline(|view| {
        let Some(call) = view.payload.tool_call() else { return Ok(Opinion::none()) };
        if call.arguments.get("max_entries").and_then(Json::as_i64).is_none_or(|n| n <= 10) {
            return Ok(Opinion::none());
        }
        let mut arguments = Json::clone(&call.arguments);
        if let Json::Object(object) = &mut arguments {
            object.insert("max_entries", 10);
        }
        Ok(Opinion::rewrite(arguments))
    });
    let redact = inline(|view| {
        let content = view.payload.tool_result().and_then(|result| result.content.as_str());
        let Some(text) = content.filter(|text| text.contains("SECRET")) else {
            return Ok(Opinion::none());
        };
        let lines: Vec<&str> = text
            .split('\n')
            .map(|line| if line.contains("SECRET") { "[masked]" } else { line })
            .collect();
        Ok(Opinion::rewrite(lines.join("\n")))
    });
    let watch = inline(|_| Ok(Opinion::none()));
    let writes = Matcher::tools(["edit_file", "run_test", "list_files"]).expect("good globs");
    vec![
        Hook::new("permission", EventKind::PreTool, Roles::JUDGE, permission)
            .matching(writes)
            .with_priority(0),
        Hook::new("clamp", EventKind::PreTool, Roles::REWRITE, clamp)
            .matching(Matcher::tool("list_files").expect("a good glob")),
        Hook::new("redact", KindSet::AFTER_TOOL, Roles::REWRITE, redact),
        Hook::new("audit", KindSet::AFTER_TOOL, Roles::WATCH, watch),
    ]
}

fn seed_call(gate: &Gate, session: &Arc<Session>) {
    let event = Event::new(Arc::clone(session), call("list_files", 100), gate.clock().now());
    let Passage::Open(permit) = ready(gate.decide(event)).passage else { return };
    let (payload, ticket) = permit.redeem();
    black_box(payload);
    let result = ToolResult::success("a = 1\nTOKEN = 'x'  # SECRET\nb = 2\n");
    black_box(ready(gate.settle(ticket, Performed::Tool(result))));
}

/// `count` hooks for tools of their own, one of which is `tool_5`.
fn one_of(count: usize) -> Vec<Hook> {
    let none = inline(|_| Ok(Opinion::none()));
    (0..count)
        .map(|i| {
            let matcher = Matcher::tool(&format!("tool_{i}")).expect("a good glob");
            Hook::new(format!("hook-{i}"), EventKind::PreTool, Roles::JUDGE, none.clone())
                .matching(matcher)
        })
        .collect()
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
    allocations(&session);
}

fn allocations(session: &Arc<Session>) {
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
            counted.count_total.to_string(),
            "same with and without hooks that do not match",
        );
    }
    let gate = gate(seed_hooks());
    seed_call(&gate, session);
    let counted = allocation_counter::measure(|| seed_call(&gate, session));
    row(
        "allocations of the first seed's chain, decide + settle",
        counted.count_total.to_string(),
        "-",
    );
}
