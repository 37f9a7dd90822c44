//! Agents that an agent may start.
//!
//! Each child is a tool of its parent: its start is a call like any other. What the child then does
//! goes through a dispatch that this module makes, before the parent's own gate and in a session whose
//! parent is the parent's session. The child brings tools, which nobody can perform without a permit,
//! and no dispatch; so it cannot be less governed than its parent.

use crate::actor::Actor;
use crate::agent::{Agent, AgentSettings, Ended};
use crate::gated::Gated;
use crate::model::{ModelClient, ModelGateway};
use crate::registry::{Declaration, DeclarationError, ToolRegistry, Tools};
use crate::tool::{Invocation, Tool, ToolFailure, asynchronous};
use crate::trace::TraceSink;
use std::sync::Arc;
use tollgate_gate::{Code, Failure, Json, Name, Permit, Soon, Ticket, ToolCall, ToolResult};

const PARAMETERS: &str = r#"{
    "type": "object",
    "properties": {"task": {"type": "string", "description": "What it is to do."}},
    "required": ["task"],
    "additionalProperties": false
}"#;

/// An agent that another one may start.
#[derive(Clone)]
pub struct ChildAgent {
    /// Its name; also that of the tool that starts it.
    pub name: Name,
    /// What it is good for, for the parent's model.
    pub description: String,
    /// Its tools. They may hold children in turn.
    pub tools: Arc<dyn Tools>,
    /// Its model's client.
    pub client: Arc<dyn ModelClient>,
    /// Its model.
    pub model: Name,
    /// How it is set up.
    pub settings: AgentSettings,
    /// Where its trace goes.
    pub trace: Option<Arc<dyn TraceSink>>,
}

/// Tools, and agents that can be started like tools.
#[derive(Debug)]
pub struct SubAgents<R> {
    inner: R,
    agents: ToolRegistry,
}

impl<R: Tools> SubAgents<R> {
    /// `inner` and no agents yet.
    pub fn new(inner: R) -> SubAgents<R> {
        SubAgents { inner, agents: ToolRegistry::new() }
    }

    /// Adds an agent.
    ///
    /// # Errors
    /// [`DeclarationError::Taken`] when a tool or agent has its name.
    pub fn add(&mut self, child: ChildAgent) -> Result<(), DeclarationError> {
        if self.inner.declaration(&child.name).is_some() {
            return Err(DeclarationError::Taken(child.name));
        }
        let declaration =
            Declaration::new(Name::clone(&child.name), &child.description, PARAMETERS)?
                .with_tags(["sub_agent"]);
        let child = Arc::new(child);
        let handler = asynchronous(move |invocation| {
            let child = Arc::clone(&child);
            Box::pin(async move { child.start(&invocation).await })
        });
        self.agents.add(Tool::new(declaration, handler)?)
    }

    fn has_agent(&self, tool: &str) -> bool {
        self.agents.declaration(tool).is_some()
    }
}

impl<R: Tools> Tools for SubAgents<R> {
    fn declarations(&self) -> Vec<&Declaration> {
        let mut all = self.inner.declarations();
        all.extend(self.agents.declarations());
        all
    }

    fn declaration(&self, tool: &str) -> Option<&Declaration> {
        self.agents.declaration(tool).or_else(|| self.inner.declaration(tool))
    }

    fn check(&self, call: &ToolCall) -> Result<(), Failure> {
        if self.has_agent(&call.tool) { self.agents.check(call) } else { self.inner.check(call) }
    }

    fn perform<'a>(&'a self, permit: Permit, actor: &'a Actor) -> Soon<'a, (Ticket, ToolResult)> {
        if permit.payload().subject().is_some_and(|tool| self.has_agent(tool)) {
            self.agents.perform(permit, actor)
        } else {
            self.inner.perform(permit, actor)
        }
    }
}

impl ChildAgent {
    async fn start(&self, invocation: &Invocation) -> Result<Json, ToolFailure> {
        let task = invocation.text("task")?;
        let actor = invocation.actor.child(&self.name).map_err(ToolFailure::new)?;
        let models = ModelGateway::new(Arc::clone(&self.client), Name::clone(&self.model), &actor);
        let tools = Arc::new(Gated::of(Arc::clone(&self.tools), actor.clone()));
        let mut agent = Agent::new(tools, models, Arc::new(actor), self.settings.clone());
        if let Some(trace) = &self.trace {
            agent = agent.with_trace(Arc::clone(trace));
        }
        let failed = match agent.run(task).await.ended {
            Ended::Finished { answer } => return Ok(answer.into()),
            Ended::Refused { at, failure } => {
                format!("it was refused at `{at}`: {}", failure.message)
            }
            Ended::NoReply(failure) => format!("its model gave no reply: {}", failure.message),
            Ended::TurnLimit { turns_max } => format!("it used all its {turns_max} turns"),
            Ended::Aborted(aborted) => {
                let message = format!(
                    "agent `{}` was ended ({}): {}",
                    self.name, aborted.code, aborted.reason
                );
                return Err(ToolFailure::new(message).with_code(Code::SessionAborted));
            }
        };
        Err(ToolFailure::new(format!("agent `{}` did not finish: {failed}", self.name)))
    }
}
