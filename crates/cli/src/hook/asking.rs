//! Asking through the host: its own prompt, where it can show one.
//!
//! Only for a question that names nobody, about the call exactly as it was asked for: a host's prompt
//! shows that call, and whoever sits there answers it.

use tollgate::gate::{ApprovalAnswer, ApprovalRequest, Approver, Soon};

/// Leaves a question to the host's own prompt where that can be.
pub(super) struct HostPrompt {
    /// Whether the host can show its user a question at this event, in its mode.
    pub(super) can_ask: bool,
}

impl Approver for HostPrompt {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalAnswer> {
        let is_for_the_screen = request.who.is_empty() && !request.rewritten;
        Soon::now(if self.can_ask && is_for_the_screen {
            ApprovalAnswer::LeftToHost
        } else {
            ApprovalAnswer::Unreachable
        })
    }
}
