//! Whom a limit or breaker counts: the key of its claims.

use super::ActionError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Write as _;
use tollgate_gate::{EventKind, KindSet, Name, View};

/// What is counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Per {
    /// Each tenant.
    Tenant,
    /// Each user.
    User,
    /// Each agent.
    Agent,
    /// Each session; sub-agents count with the session that started them.
    Session,
    /// Each workspace, across sessions.
    Workspace,
    /// Each tool.
    Tool,
    /// Each model.
    Model,
    /// Each server.
    Server,
}

impl Per {
    const fn name(self) -> &'static str {
        match self {
            Per::Tenant => "tenant",
            Per::User => "user",
            Per::Agent => "agent",
            Per::Session => "session",
            Per::Workspace => "workspace",
            Per::Tool => "tool",
            Per::Model => "model",
            Per::Server => "server",
        }
    }

    /// Whether events of some of these kinds have it.
    fn is_at(self, kinds: KindSet) -> bool {
        match self {
            Per::Tool | Per::Server => kinds.contains(EventKind::PreTool),
            Per::Model => kinds.contains(EventKind::PreModel),
            Per::Tenant | Per::User | Per::Agent | Per::Session | Per::Workspace => true,
        }
    }

    fn of<'v>(self, view: &View<'v>) -> Option<&'v str> {
        let session = &view.event.session;
        match self {
            Per::Tenant => session.tenant.as_deref(),
            Per::User => session.user.as_deref(),
            Per::Agent => session.agent.as_deref(),
            Per::Session => Some(&*view.session.root),
            Per::Workspace => session.workspace.as_deref(),
            Per::Tool => view.payload.tool_call().map(|call| &*call.tool),
            Per::Server => view.payload.tool_call().and_then(|call| call.server.as_deref()),
            Per::Model => view.payload.model_call().and_then(|call| call.model()),
        }
    }
}

/// How a claim's key is made.
#[derive(Debug, Clone)]
pub(crate) struct Counting {
    hook: Name,
    per: Vec<Per>,
}

impl Counting {
    /// Counts for a hook; with no `per` all its events count together.
    pub(crate) fn new(hook: &Name, per: Vec<Per>, kinds: KindSet) -> Result<Counting, ActionError> {
        for (at, one) in per.iter().enumerate() {
            let path = format!("per.{at}");
            if per.iter().take(at).any(|other| other == one) {
                return Err(ActionError::at(path, format!("`{}` stands there twice", one.name())));
            }
            if !one.is_at(kinds) {
                let message = format!("no event of this hook has a {}", one.name());
                return Err(ActionError::at(path, message));
            }
        }
        Ok(Counting { hook: Name::clone(hook), per })
    }

    /// The hook that counts.
    pub(crate) fn hook(&self) -> &Name {
        &self.hook
    }

    /// The key for this event. Every value stands behind its length, so that no value can pass for
    /// two; events that lack a value count together.
    pub(crate) fn key(&self, what: &str, view: &View<'_>) -> Name {
        let mut key = String::with_capacity(64);
        // Writing to a string cannot fail.
        let _ = write!(key, "{}:{}/{what}", self.hook.len(), self.hook);
        for per in &self.per {
            let _ = match per.of(view) {
                Some(value) => write!(key, " {}={}:{value}", per.name(), value.len()),
                None => write!(key, " {}=-", per.name()),
            };
        }
        key.into()
    }
}
