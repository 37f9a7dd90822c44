//! Asking a person: the gate's side of an approval.
//!
//! The gate says what is to be agreed to and by whom; an [`Approver`] reaches the people. After a
//! yes the call is decided anew with the answer attached, so that a yes holds only for the exact
//! call and policy that it was given for.

use crate::event::{EventId, Name};
use crate::json::Json;
use crate::session::Session;
use crate::soon::Soon;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A question to people.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The approval's id.
    pub id: Name,
    /// The event that asks.
    pub event_id: EventId,
    /// Who acts.
    pub session: Arc<Session>,
    /// The tool or model.
    pub subject: Name,
    /// The arguments that will run, scrubbed.
    pub shown: Json,
    /// The digest of the exact call, unscrubbed: host, session, cwd, tool, server and arguments.
    pub call_digest: Name,
    /// Whether the call that will run is another than the one that was asked for.
    pub rewritten: bool,
    /// Who must agree, every one of them; empty: whoever is at the screen.
    pub who: BTreeSet<Name>,
    /// The hook that asks, and why.
    pub hook: Name,
    /// Why.
    pub reason: Arc<str>,
    /// How long the question stands, in milliseconds.
    pub expires_ms: Option<u64>,
}

/// What people answered. Pending, denied, expired and cancelled are four different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Everyone who was asked agrees.
    Approved {
        /// Who did.
        by: BTreeSet<Name>,
    },
    /// Someone said no.
    Denied {
        /// Who.
        by: Name,
        /// Why.
        reason: Arc<str>,
    },
    /// Nobody answered in time.
    Expired,
    /// The question was taken back.
    Cancelled,
    /// It stands, and is answered later; the call is refused for now and may be made again then.
    Pending,
    /// The host asks its own user and acts by the answer; the verdict is `ask`. Only for whoever judges
    /// for a host that can: see [`crate::Gate::judge`].
    LeftToHost,
    /// There is no way to reach a person.
    Unreachable,
}

/// Reaches people.
pub trait Approver: Send + Sync {
    /// Asks, and waits for as long as the deployment wants to wait.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalAnswer>;
}
