//! Asking through the host: its own prompt, where it can show one.
//!
//! Only for a question that names nobody, about the call exactly as it was asked for: a host's prompt
//! shows that call, and whoever sits there answers it. Any other question is kept, and answered with
//! `tollgate approvals`.

use std::sync::Arc;
use tollgate::gate::{
    ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver, CallKey, Name, Soon,
};

/// Leaves a question to the host's own prompt where that can be.
pub(crate) struct HostPrompt {
    /// Whether the host can show its user a question at this event, in its mode.
    pub(crate) can_ask: bool,
    /// Where other questions are kept.
    pub(crate) durable: Option<Arc<dyn Approver>>,
}

impl Approver for HostPrompt {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        let is_for_the_screen = request.who.is_empty() && !request.rewritten;
        match &self.durable {
            _ if self.can_ask && is_for_the_screen => {
                Soon::now(ApprovalReply::to(request, ApprovalAnswer::LeftToHost))
            }
            Some(durable) => durable.ask(request),
            None => Soon::now(ApprovalReply::to(request, ApprovalAnswer::Unreachable)),
        }
    }

    // A yes is always one of the durable approvals: the host's own never comes back here.
    fn run<'a>(&'a self, approval: &'a Name, call: &'a CallKey) -> Soon<'a, Result<(), Arc<str>>> {
        match &self.durable {
            Some(durable) => durable.run(approval, call),
            None => Soon::now(Ok(())),
        }
    }

    fn release<'a>(&'a self, approval: &'a Name, call: &'a CallKey) -> Soon<'a, ()> {
        match &self.durable {
            Some(durable) => durable.release(approval, call),
            None => Soon::now(()),
        }
    }
}
