//! For agents written in Rust: tools, models and a loop that are governed by the gate without
//! knowing of it.
//!
//! A [`ToolRegistry`] holds tools; [`Gated`] puts them behind a gate; a [`ModelGateway`] does the
//! same for model calls; an [`Agent`] is the loop around both. Gating an agent is the one line that
//! says `Gated` instead of `Ungated`.
//!
//! Handlers are reached with a permit only, and only the gate makes permits. This crate refuses to
//! have a second way in.

pub mod actor;
pub mod agent;
pub mod dispatch;
pub mod gated;
pub mod limits;
pub mod model;
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
