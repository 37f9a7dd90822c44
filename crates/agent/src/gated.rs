//! Gated and ungated dispatch: one body, before two different gates.
//!
//! A call is checked, decided, performed with its permit and settled; the settled result is what the
//! model sees. `Gated` does so before a gate that you bring. `Ungated` does the very same before a
//! gate of its own that is off, so that "no gate" is a word in the code that builds the agent, and
//! nothing else changes: not the loop, not a tool, not the batch.

use crate::actor::Actor;
use crate::dispatch::{Dispatch, Dispatched, Fate};
use crate::registry::{Declaration, Tools, failure};
use std::sync::Arc;
use tollgate_gate::{
    Clock, Code, Failure, Gate, HookError, Name, Passage, Payload, Performed, Permit, Session,
    Settled, Soon, ToolCall, ToolResult,
};

/// Tools whose every call passes a gate.
#[derive(Debug)]
pub struct Gated<R> {
    tools: R,
    actor: Actor,
}

impl<R: Tools> Gated<R> {
    /// Puts `tools` behind `gate`, in the hands of `session`.
    pub fn new(tools: R, gate: Arc<Gate>, session: Session) -> Gated<R> {
        Gated { tools, actor: Actor::gated(gate, session) }
    }

    /// Puts `tools` behind the gate of an actor that there is already. As bare as the actor is.
    pub(crate) fn of(tools: R, actor: Actor) -> Gated<R> {
        Gated { tools, actor }
    }

    /// Who acts: for the model gateway and the loop of the same agent.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }
}

/// Tools that nothing governs.
#[derive(Debug)]
pub struct Ungated<R>(Gated<R>);

impl<R: Tools> Ungated<R> {
    /// Dispatches to `tools` without any hook, limit or record.
    ///
    /// # Errors
    /// [`HookError`] if the gate that is off cannot be built.
    pub fn new(tools: R, clock: Arc<dyn Clock>, session: Session) -> Result<Ungated<R>, HookError> {
        Ok(Ungated(Gated { tools, actor: Actor::bare(clock, session)? }))
    }

    /// Who acts: for the model gateway and the loop of the same agent.
    pub fn actor(&self) -> &Actor {
        &self.0.actor
    }
}

impl<R: Tools> Dispatch for Gated<R> {
    fn declarations(&self) -> Vec<&Declaration> {
        self.tools.declarations()
    }

    fn is_read_only(&self, tool: &str) -> bool {
        self.tools.declaration(tool).is_some_and(|declaration| declaration.read_only)
    }

    fn dispatch(&self, call: ToolCall) -> Soon<'_, Dispatched> {
        Soon::later(async move {
            let call = Arc::new(call);
            match self.pass(&call).await {
                Some(settled) => self.told(&call, settled),
                None => self.dropped(&call),
            }
        })
    }
}

impl<R: Tools> Dispatch for Ungated<R> {
    fn declarations(&self) -> Vec<&Declaration> {
        self.0.declarations()
    }

    fn is_read_only(&self, tool: &str) -> bool {
        self.0.is_read_only(tool)
    }

    fn dispatch(&self, call: ToolCall) -> Soon<'_, Dispatched> {
        self.0.dispatch(call)
    }
}

impl<R: Tools> Gated<R> {
    /// The whole way of a call; `None` when the session ended while it ran.
    async fn pass(&self, call: &Arc<ToolCall>) -> Option<Settled> {
        let gate = self.actor.gate();
        if let Err(failure) = self.tools.check(call) {
            let call = ToolCall::clone(call);
            return Some(gate.settle_unjudged(self.actor.session(), call, failure).await);
        }
        let tags = self.tools.declaration(&call.tool).map(|it| it.tags.clone()).unwrap_or_default();
        let event = self.actor.event(Payload::PreTool(Arc::clone(call))).with_tags(tags);
        let Some(ruling) = self.actor.unless_long_ended(gate.decide(event)).await else {
            // Dropped while a person was asked: it did not run, and that is its outcome. (Were it
            // dropped in a ledger that stands still, the gate would note an unknown outcome besides.)
            let failure = self.not_run(&call.tool);
            let call = ToolCall::clone(call);
            return Some(gate.settle_unjudged(self.actor.session(), call, failure).await);
        };
        self.actor.note_decision(&ruling.decision);
        match ruling.passage {
            Passage::Closed(closed) => Some(gate.settle_closed(closed).await),
            Passage::Open(permit) => self.perform(permit).await,
        }
    }

    async fn perform(&self, permit: Permit) -> Option<Settled> {
        let gate = self.actor.gate();
        let (ticket, result) = if self.actor.aborted().is_some() {
            // A sibling ended the session between this decision and its effect.
            let (payload, ticket) = permit.redeem();
            let failure = self.not_run(&payload.subject().unwrap_or_default().into());
            (ticket, ToolResult::failure(failure, false))
        } else {
            // Dropping the effect drops its ticket: the gate records the outcome as unknown.
            self.actor.unless_ended(self.tools.perform(permit, &self.actor)).await?
        };
        Some(gate.settle(ticket, Performed::Tool(result)).await)
    }

    fn told(&self, asked: &ToolCall, settled: Settled) -> Dispatched {
        self.actor.note(settled.aborted.as_ref());
        let result = match settled.performed {
            Performed::Tool(result) => result,
            Performed::Model(_) => {
                let message = "the gate settled this call as a model call";
                ToolResult::failure(failure(&asked.tool, Code::ToolError, message), false)
            }
        };
        let aborted = self.actor.ended();
        let ToolCall { tool, call_id, .. } = asked.clone();
        Dispatched { tool, call_id, result, fate: Fate::Known, aborted }
    }

    fn dropped(&self, asked: &ToolCall) -> Dispatched {
        let aborted = self.actor.ended();
        let failure = self.failed_by_end(&asked.tool, "what came of this call is not known");
        let ToolCall { tool, call_id, .. } = asked.clone();
        let result = ToolResult::failure(failure, true);
        Dispatched { tool, call_id, result, fate: Fate::Unknown, aborted }
    }

    fn not_run(&self, tool: &Name) -> Failure {
        self.failed_by_end(tool, "this call did not run")
    }

    fn failed_by_end(&self, tool: &Name, so: &str) -> Failure {
        let by = self.actor.aborted().map(|aborted| format!(" ({})", aborted.code));
        let message = format!("the session was ended{}; {so}", by.unwrap_or_default());
        failure(tool, Code::SessionAborted, &message)
    }
}
