//! For agents written in Rust: tools, models and a loop that are governed by the gate without
//! knowing of it.
//!
//! A [`ToolRegistry`] holds tools; [`Gated`] puts them behind a gate; a [`ModelGateway`] does the
//! same for model calls; an [`Agent`] is the loop around both. Gating an agent is the one line that
//! says `Gated` instead of `Ungated`.
//!
//! Handlers are reached with a permit only, and only the gate makes permits. This crate refuses to
//! have a second way in.
//!
//! It runs on a tokio runtime of either flavour; `run_test` needs its timer enabled.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_agent::{
//!     Agent, AgentSettings, Declaration, Ended, Gated, ModelGateway, ScriptedClient, Tool,
//!     ToolRegistry, blocking,
//! };
//! use tollgate_gate::{
//!     EventKind, Gate, Hook, Json, ManualClock, Matcher, Opinion, Roles, Session, Timestamp, inline,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut tools = ToolRegistry::new();
//! let hello = Declaration::new("hello", "Greets.", r#"{"type": "object"}"#)?;
//! tools.add(Tool::new(hello, blocking(|_| Ok("hello".into())))?)?;
//!
//! let deny = inline(|_| Ok(Opinion::deny("no greetings before nine")));
//! let hook = Hook::new("early", EventKind::PreTool, Roles::JUDGE, deny)
//!     .matching(Matcher::tool("hello")?);
//! let clock = Arc::new(ManualClock::new(Timestamp::parse("2027-01-15T08:30:00Z").unwrap()));
//! let gate = Arc::new(Gate::builder(clock).hook(hook).build()?);
//!
//! // The one line: `Ungated::new(tools, clock, Session::new("s1"))?` would be the other.
//! let tools = Gated::new(tools, gate, Session::new("s1"));
//!
//! let actor = tools.actor().clone();
//! let script = Json::read(br#"{"turns": [
//!     {"tool_calls": [{"id": "c1", "tool": "hello"}]},
//!     {"text": "I was not allowed to."}
//! ]}"#)?;
//! let client = Arc::new(ScriptedClient::from_json(&script)?);
//! let models = ModelGateway::new(client, "scripted", &actor);
//! let settings = AgentSettings::new("You greet people.");
//! let agent = Agent::new(Arc::new(tools), models, Arc::new(actor), settings);
//! let run = tokio::runtime::Builder::new_current_thread().build()?.block_on(agent.run("Greet me."));
//! assert_eq!(run.ended, Ended::Finished { answer: "I was not allowed to.".into() });
//! # Ok(())
//! # }
//! ```

pub mod actor;
pub mod agent;
pub mod dispatch;
pub mod gated;
pub mod limits;
pub mod model;
mod panics;
pub mod registry;
pub mod sub_agent;
pub mod tool;
pub mod trace;
pub mod workspace;

pub use actor::{Actor, Emitted, Lifecycle, TooDeep};
pub use agent::{Agent, AgentSettings, Ended, Memory, Run};
pub use dispatch::{Dispatch, Dispatched, Fate};
pub use gated::{Gated, Ungated};
pub use model::{
    Delta, Message, ModelAnswer, ModelClient, ModelError, ModelGateway, ModelRequest, ModelStream,
    Reply, RequestedCall, Role, ScriptError, ScriptedClient,
};
pub use registry::{Declaration, DeclarationError, ToolRegistry, Tools};
pub use sub_agent::{ChildAgent, SubAgents};
pub use tool::{Invocation, Tool, ToolFailure, ToolFuture, ToolHandler, asynchronous, blocking};
pub use trace::{FileTrace, MemoryTrace, TraceError, TraceSink};
pub use workspace::{TestCommand, Workspace, WorkspaceError, workspace_tools};
