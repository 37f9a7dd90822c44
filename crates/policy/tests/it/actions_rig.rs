//! What the tests of the actions stand on: a gate with its clock and ledger in hand.

use std::future::Future;
use std::sync::Arc;
use tollgate_gate::{
    Clock, Code, Event, Failure, Gate, GateBuilder, Hook, Json, KindSet, ManualClock, MemoryLedger,
    ModelResult, Payload, Performed, RecordKind, Ruling, Session, Settled, Timestamp, ToolCall,
    ToolResult, Usage,
};
use tollgate_policy::actions::{self, ActionContext};

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
    }
}

pub(crate) fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

/// A hook with this action, its value as JSON text.
pub(crate) fn hook(name: &str, kinds: impl Into<KindSet>, action: &str, value: &str) -> Hook {
    let context = ActionContext::new(name, kinds);
    actions::find(action).unwrap().hook(&json(value), &context).unwrap()
}

/// A gate with its clock and ledger in hand.
pub(crate) struct Rig {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ledger: Arc<MemoryLedger>,
    pub(crate) gate: Gate,
}

impl Rig {
    pub(crate) fn new(hooks: impl IntoIterator<Item = Hook>) -> Rig {
        Rig::with(hooks, |builder| builder)
    }

    pub(crate) fn with(
        hooks: impl IntoIterator<Item = Hook>,
        more: impl FnOnce(GateBuilder) -> GateBuilder,
    ) -> Rig {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        let ledger = Arc::new(MemoryLedger::new());
        let as_clock: Arc<dyn Clock> = clock.clone();
        let builder = Gate::builder(as_clock).ledger(ledger.clone()).hooks(hooks);
        Rig { clock, ledger, gate: more(builder).build().unwrap() }
    }

    pub(crate) fn event(&self, session: &Arc<Session>, payload: Payload) -> Event {
        Event::new(Arc::clone(session), payload, self.clock.now())
    }

    pub(crate) fn decide(&self, session: &Arc<Session>, payload: Payload) -> Ruling {
        block_on(self.gate.decide(self.event(session, payload)))
    }

    /// Guards a tool call; `tool` is what the tool does.
    pub(crate) fn call_as(
        &self,
        session: &Arc<Session>,
        name: &str,
        arguments: &str,
        tool: impl FnOnce(&Json) -> ToolResult,
    ) -> Settled {
        let payload = Payload::PreTool(Arc::new(ToolCall::new(name, json(arguments))));
        let event = self.event(session, payload);
        block_on(self.gate.guard(event, |permit| async {
            let (payload, ticket) = permit.redeem();
            let arguments = &payload.tool_call().unwrap().arguments;
            (ticket, Performed::Tool(tool(arguments)))
        }))
    }

    pub(crate) fn call(
        &self,
        name: &str,
        arguments: &str,
        tool: impl FnOnce(&Json) -> ToolResult,
    ) -> ToolResult {
        tool_result(self.call_as(&session(), name, arguments, tool))
    }

    /// Guards a model call that uses this much.
    pub(crate) fn model_as(&self, session: &Arc<Session>, request: &str, usage: Usage) -> Settled {
        let call = tollgate_gate::payload::ModelCall {
            request: Arc::new(json(request)),
            ..Default::default()
        };
        let event = self.event(session, Payload::PreModel(Arc::new(call)));
        block_on(self.gate.guard(event, |permit| async {
            let (_, ticket) = permit.redeem();
            let reply = Arc::new(json(r#"{"reply":"hello","tool_calls":[]}"#));
            let result = ModelResult { ok: true, reply, executed: true, usage, error: None };
            (ticket, Performed::Model(result))
        }))
    }

    pub(crate) fn decisions(&self) -> usize {
        self.ledger.records().iter().filter(|record| record.kind == RecordKind::Decision).count()
    }
}

pub(crate) fn session() -> Arc<Session> {
    Arc::new(Session::new("s1").with_user("alice").with_tenant("acme"))
}

pub(crate) fn tool_result(settled: Settled) -> ToolResult {
    let Performed::Tool(result) = settled.performed else { panic!("a tool call was made") };
    result
}

pub(crate) fn message(result: &ToolResult) -> &str {
    &result.error.as_ref().unwrap().message
}

pub(crate) fn code(result: &ToolResult) -> &Code {
    &result.error.as_ref().unwrap().code
}

pub(crate) fn not_run(_: &Json) -> ToolResult {
    panic!("the tool must not run")
}

pub(crate) fn ok(_: &Json) -> ToolResult {
    ToolResult::success("ok")
}

pub(crate) fn fails(_: &Json) -> ToolResult {
    let failure = Failure { code: Code::ToolError, message: "no".into(), tool: "t".into() };
    ToolResult::failure(failure, true)
}
