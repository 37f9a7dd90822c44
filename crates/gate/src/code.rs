//! The codes of refusals: what a program may branch on. Policies may use codes of their own.

use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Why something was refused, as a word for programs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The model asked for a tool that does not exist.
    UnknownTool,
    /// The arguments do not fit the tool's schema.
    InvalidArguments,
    /// The tool ran and failed.
    ToolError,
    /// A hook refused.
    HookDenied,
    /// A hook failed, and fails closed.
    HookError,
    /// A hook took too long, and fails closed.
    HookTimeout,
    /// A person must agree, and there is no way to reach one.
    ApprovalRequired,
    /// A person said no.
    ApprovalDenied,
    /// Nobody answered in time.
    ApprovalExpired,
    /// The question was taken back.
    ApprovalCancelled,
    /// A limit is reached.
    LimitExceeded,
    /// A circuit breaker is open.
    CircuitOpen,
    /// The effect took place; what came back is withheld.
    Withheld,
    /// The session was ended.
    SessionAborted,
    /// The decision could not be recorded.
    LedgerUnavailable,
    /// A policy is required and there is none.
    NoPolicy,
    /// A code of the policy's own.
    Own(Arc<str>),
}

impl Code {
    const KNOWN: [(Code, &'static str); 16] = [
        (Code::UnknownTool, "unknown_tool"),
        (Code::InvalidArguments, "invalid_arguments"),
        (Code::ToolError, "tool_error"),
        (Code::HookDenied, "hook_denied"),
        (Code::HookError, "hook_error"),
        (Code::HookTimeout, "hook_timeout"),
        (Code::ApprovalRequired, "approval_required"),
        (Code::ApprovalDenied, "approval_denied"),
        (Code::ApprovalExpired, "approval_expired"),
        (Code::ApprovalCancelled, "approval_cancelled"),
        (Code::LimitExceeded, "limit_exceeded"),
        (Code::CircuitOpen, "circuit_open"),
        (Code::Withheld, "withheld"),
        (Code::SessionAborted, "session_aborted"),
        (Code::LedgerUnavailable, "ledger_unavailable"),
        (Code::NoPolicy, "no_policy"),
    ];

    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        if let Code::Own(code) = self {
            return code;
        }
        Code::KNOWN.iter().find(|(code, _)| code == self).map_or("", |(_, word)| word)
    }
}

impl From<&str> for Code {
    fn from(word: &str) -> Code {
        let known = Code::KNOWN.iter().find(|(_, known)| *known == word);
        known.map_or_else(|| Code::Own(word.into()), |(code, _)| code.clone())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
