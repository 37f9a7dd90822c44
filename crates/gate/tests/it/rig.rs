//! What the tests stand on: a gate with everything in memory, hooks from closures, effects that count.

use std::future::Future;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use tollgate_gate::{
    Durability, Event, EventKind, Failure, Gate, GateBuilder, HandlerError, Hook, Json, KindSet,
    Ledger, LedgerError, ManualClock, MemoryLedger, Opinion, Passage, Payload, Performed, Record,
    RecordKind, Roles, Ruling, Session, Settled, Soon, Timestamp, ToolCall, ToolResult, View,
    inline,
};

/// Polls until the answer is there; manual clocks wake by themselves.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
    }
}

/// A gate, and what a test looks at.
pub(crate) struct Rig {
    pub(crate) gate: Arc<Gate>,
    pub(crate) ledger: Arc<MemoryLedger>,
    pub(crate) clock: Arc<ManualClock>,
    /// How often an effect took place.
    pub(crate) effects: AtomicU32,
}

pub(crate) fn start() -> Timestamp {
    Timestamp::parse("2026-11-30T12:00:00Z").unwrap()
}

impl Rig {
    pub(crate) fn of(hooks: impl IntoIterator<Item = Hook>) -> Rig {
        Rig::with(hooks, |builder| builder)
    }

    pub(crate) fn with(
        hooks: impl IntoIterator<Item = Hook>,
        change: impl FnOnce(GateBuilder) -> GateBuilder,
    ) -> Rig {
        let clock = Arc::new(ManualClock::new(start()));
        Rig::at(clock, hooks, change)
    }

    pub(crate) fn at(
        clock: Arc<ManualClock>,
        hooks: impl IntoIterator<Item = Hook>,
        change: impl FnOnce(GateBuilder) -> GateBuilder,
    ) -> Rig {
        let ledger = Arc::new(MemoryLedger::new());
        let shared: Arc<ManualClock> = Arc::clone(&clock);
        let book: Arc<MemoryLedger> = Arc::clone(&ledger);
        let builder = Gate::builder(shared).ledger(book).hooks(hooks);
        let gate = Arc::new(change(builder).build().unwrap());
        Rig { gate, ledger, clock, effects: AtomicU32::new(0) }
    }

    pub(crate) fn decide(&self, event: Event) -> Ruling {
        block_on(self.gate.decide(event))
    }

    /// Decides, performs with success, settles.
    pub(crate) fn run(&self, event: Event) -> Settled {
        self.run_with(event, Performed::Tool(ToolResult::success("done")))
    }

    pub(crate) fn run_with(&self, event: Event, performed: Performed) -> Settled {
        block_on(self.gate.guard(event, async |permit| {
            self.effects.fetch_add(1, Ordering::Relaxed);
            let (_, ticket) = permit.redeem();
            (ticket, performed)
        }))
    }

    pub(crate) fn effects(&self) -> u32 {
        self.effects.load(Ordering::Relaxed)
    }

    pub(crate) fn records(&self, kind: RecordKind) -> Vec<Record> {
        self.ledger.records().into_iter().filter(|record| record.kind == kind).collect()
    }

    /// The whole book as it would be written.
    pub(crate) fn book(&self) -> String {
        let records = self.ledger.records();
        let lines = records.iter().map(|record| serde_json::to_string(record).unwrap());
        lines.collect::<Vec<_>>().join("\n") + &format!("{records:?}")
    }
}

pub(crate) fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

pub(crate) fn session(id: &str) -> Arc<Session> {
    Arc::new(Session::new(id))
}

pub(crate) fn child(id: &str, parent: &str) -> Arc<Session> {
    Arc::new(Session::new(id).with_parent(parent))
}

/// A tool call of session `s1`.
pub(crate) fn call(tool: &str, arguments: &str) -> Event {
    call_of(&session("s1"), tool, arguments)
}

pub(crate) fn call_of(session: &Arc<Session>, tool: &str, arguments: &str) -> Event {
    let call = ToolCall::new(tool, json(arguments));
    Event::new(Arc::clone(session), Payload::from(call), start())
}

pub(crate) fn event(kind: EventKind, payload: &str) -> Event {
    let text = format!(r#"{{"kind":"{kind}","session":{{"id":"s1"}},"payload":{payload}}}"#);
    Event::read(text.as_bytes(), start()).unwrap()
}

pub(crate) fn hook<F>(name: &str, kinds: impl Into<KindSet>, roles: Roles, f: F) -> Hook
where
    F: for<'a> Fn(View<'a>) -> Result<Opinion, HandlerError> + Send + Sync + 'static,
{
    Hook::new(name, kinds, roles, inline(f))
}

/// A judge of tool calls.
pub(crate) fn judge(
    name: &str,
    f: impl for<'a> Fn(View<'a>) -> Opinion + Send + Sync + 'static,
) -> Hook {
    hook(name, EventKind::PreTool, Roles::JUDGE, move |view| Ok(f(view)))
}

/// A rewriter of tool calls.
pub(crate) fn rewriter(name: &str, arguments: &str) -> Hook {
    let arguments = Arc::new(json(arguments));
    hook(name, EventKind::PreTool, Roles::REWRITE, move |_| {
        Ok(Opinion { rewrite: Some(Arc::clone(&arguments)), ..Opinion::default() })
    })
}

pub(crate) fn tool_result(settled: &Settled) -> &ToolResult {
    if let Performed::Tool(result) = &settled.performed {
        return result;
    }
    panic!("a tool call gives a tool result")
}

pub(crate) fn failure(settled: &Settled) -> &Failure {
    tool_result(settled).error.as_ref().unwrap()
}

pub(crate) fn code(settled: &Settled) -> String {
    failure(settled).code.to_string()
}

pub(crate) fn is_open(ruling: &Ruling) -> bool {
    matches!(ruling.passage, Passage::Open(_))
}

/// Arguments as they run, if they run.
pub(crate) fn running(ruling: &Ruling) -> Option<String> {
    if let Passage::Open(permit) = &ruling.passage {
        return permit.payload().part().map(|part| part.text());
    }
    None
}

/// A ledger that can be made to fail.
#[derive(Default)]
pub(crate) struct Breakable {
    pub(crate) broken: AtomicBool,
    pub(crate) records: Mutex<Vec<(Record, Durability)>>,
}

impl Ledger for Breakable {
    fn append(&self, record: Record, durability: Durability) -> Soon<'_, Result<(), LedgerError>> {
        if self.broken.load(Ordering::Relaxed) {
            return Soon::now(Err(LedgerError::Storage("disk is gone".to_owned())));
        }
        self.records.lock().unwrap().push((record, durability));
        Soon::now(Ok(()))
    }
}
