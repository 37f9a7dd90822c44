//! Who acts: the identity that every event carries, set by the adapter.

use crate::event::Name;
use crate::json::Object;
use serde::Serialize;

/// Who acts. Identity is what the adapter knows (operating-system user, token), not what a message
/// claims.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Session {
    /// The session's id.
    pub id: Name,
    /// The tenant, where there are several.
    pub tenant: Option<Name>,
    /// The person for whom the agent acts.
    pub user: Option<Name>,
    /// The agent's name.
    pub agent: Option<Name>,
    /// The session that started this one, for a sub-agent.
    pub parent: Option<Name>,
    /// The first session of the tree. Left out, the gate follows the parents it knows.
    pub root: Option<Name>,
    /// The working directory.
    pub cwd: Option<Name>,
    /// The project's root, fixed when the session starts.
    pub workspace: Option<Name>,
    /// The host, where an adapter sits in one.
    pub host: Option<Name>,
    /// Fields that this version does not know, kept.
    #[serde(flatten)]
    pub extra: Object,
}

impl Session {
    /// A session of this id; the other fields are set by `with_*` or directly.
    pub fn new(id: impl Into<Name>) -> Session {
        Session { id: id.into(), ..Session::default() }
    }

    /// Sets the tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<Name>) -> Session {
        self.tenant = Some(tenant.into());
        self
    }

    /// Sets the user.
    #[must_use]
    pub fn with_user(mut self, user: impl Into<Name>) -> Session {
        self.user = Some(user.into());
        self
    }

    /// Sets the agent.
    #[must_use]
    pub fn with_agent(mut self, agent: impl Into<Name>) -> Session {
        self.agent = Some(agent.into());
        self
    }

    /// Sets the parent session.
    #[must_use]
    pub fn with_parent(mut self, parent: impl Into<Name>) -> Session {
        self.parent = Some(parent.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn with_cwd(mut self, cwd: impl Into<Name>) -> Session {
        self.cwd = Some(cwd.into());
        self
    }
}
