//! Asking a person: the gate's side of an approval.
//!
//! The gate says what is to be agreed to and by whom; an [`Approver`] reaches the people. After a
//! yes the call is decided anew with the answer attached, so that a yes holds only for the exact
//! call and policy that it was given for.

use crate::event::{EventId, Name};
use crate::json::Json;
use crate::payload::Payload;
use crate::session::Session;
use crate::soon::Soon;
use crate::state::CallKey;
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
    /// The call as it will run, unscrubbed: to say what it would do. Never to be shown or kept.
    pub payload: Payload,
    /// The call's key, by which its end is told.
    pub call: CallKey,
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
    /// How long the call may wait for its answer, in milliseconds.
    pub wait_ms: Option<u64>,
}

/// An answer, and the approval that it is given under: an earlier one, where the same question stood
/// already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalReply {
    /// The approval's id.
    pub approval: Name,
    /// What was answered.
    pub answer: ApprovalAnswer,
}

impl ApprovalReply {
    /// An answer to this request itself.
    pub fn to(request: &ApprovalRequest, answer: ApprovalAnswer) -> ApprovalReply {
        ApprovalReply { approval: Name::clone(&request.id), answer }
    }
}

/// What people answered. Pending, denied, expired and cancelled are four different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Everyone who was asked agrees.
    Approved {
        /// Who did, and in whose name: users, and the groups that were asked.
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
    /// So many questions of this session are unanswered that no further one is put.
    TooMany {
        /// How many.
        waiting: usize,
    },
    /// What keeps the questions failed.
    Failed {
        /// Why; for the person, not for the model.
        cause: Arc<str>,
    },
}

/// Reaches people.
pub trait Approver: Send + Sync {
    /// Asks, and waits for as long as the deployment wants to wait.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply>;

    /// Nobody waits for the answer to this question any more, and the call does not come again for it: it
    /// is taken back. Called while [`Approver::ask`] still waits.
    fn take_back<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        Soon::now(ApprovalReply::to(request, ApprovalAnswer::Cancelled))
    }

    /// A yes is used up: the call that it was given for runs next. Whoever keeps approvals makes this
    /// durable, once for each yes; otherwise the call is refused.
    ///
    /// # Errors
    /// Why the yes cannot be used, for the person.
    fn run<'a>(
        &'a self,
        _approval: &'a Name,
        _call: &'a CallKey,
    ) -> Soon<'a, Result<(), Arc<str>>> {
        Soon::now(Ok(()))
    }

    /// A yes that was given out to this call is free again: the call does not run. One that another call has by
    /// now stays with that.
    fn release<'a>(&'a self, _approval: &'a Name, _call: &'a CallKey) -> Soon<'a, ()> {
        Soon::now(())
    }
}
