//! The gate, the hooks and the calls that the benches share.

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

pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => std::process::abort(),
    }
}

pub(crate) fn gate(hooks: impl IntoIterator<Item = Hook>) -> Gate {
    Gate::builder(Arc::new(BenchClock(Instant::now())))
        .ledger(Arc::new(LastRecord::default()))
        .hooks(hooks)
        .build()
        .expect("the bench's hooks can be registered")
}

pub(crate) fn session() -> Arc<Session> {
    Arc::new(Session::new("s1").with_user("alice").with_tenant("acme"))
}

pub(crate) fn call(tool: &str, max_entries: i64) -> Payload {
    ToolCall::new(tool, Object::from_iter([("max_entries", max_entries)])).into()
}

pub(crate) fn decide(gate: &Gate, session: &Arc<Session>, payload: Payload) {
    let event = Event::new(Arc::clone(session), payload, gate.clock().now());
    match ready(gate.decide(event)).passage {
        Passage::Open(permit) => drop(black_box(permit.hand_over())),
        Passage::Closed(closed) => drop(black_box(closed)),
    }
}

/// The first seed's four hooks: permission, argument rewrite, redaction, audit.
pub(crate) fn seed_hooks() -> Vec<Hook> {
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

pub(crate) fn seed_call(gate: &Gate, session: &Arc<Session>) {
    let event = Event::new(Arc::clone(session), call("list_files", 100), gate.clock().now());
    let Passage::Open(permit) = ready(gate.decide(event)).passage else { return };
    let (payload, ticket) = permit.redeem();
    black_box(payload);
    let result = ToolResult::success("a = 1\nTOKEN = 'x'  # SECRET\nb = 2\n");
    black_box(ready(gate.settle(ticket, Performed::Tool(result))));
}

/// `count` hooks for tools of their own, one of which is `tool_5`.
pub(crate) fn one_of(count: usize) -> Vec<Hook> {
    let none = inline(|_| Ok(Opinion::none()));
    (0..count)
        .map(|i| {
            let matcher = Matcher::tool(&format!("tool_{i}")).expect("a good glob");
            Hook::new(format!("hook-{i}"), EventKind::PreTool, Roles::JUDGE, none.clone())
                .matching(matcher)
        })
        .collect()
}
