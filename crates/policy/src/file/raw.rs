//! The raw form: a policy file as it was typed, with places, before anything is decided about it.

use super::node::Node;
use crate::diagnostic::{Place, SourceId, Span};
use crate::load::Pinning;
use std::time::Duration;
use tollgate_gate::{
    DefaultVote, DryRun, Durability, KindSet, Mode, Name, OnFailure, Resolution, Roles, Rollout,
    Sees, Timestamp,
};

/// A value with the bytes it was written in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

impl<T> Spanned<T> {
    pub(crate) fn new(value: T, span: Span) -> Spanned<T> {
        Spanned { value, span }
    }
}

/// A policy file.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawPolicy {
    pub(crate) source: SourceId,
    /// The top keys that are there.
    pub(crate) keys: Vec<Spanned<String>>,
    pub(crate) mode: Option<Mode>,
    pub(crate) resolution: Option<Resolution>,
    /// Whether an internal error lets a host go on.
    pub(crate) open_on_error: Option<bool>,
    pub(crate) defaults: Vec<Spanned<(KindSet, DefaultVote)>>,
    pub(crate) audit_store: Option<String>,
    pub(crate) durability: Option<Durability>,
    pub(crate) alerts: Vec<RawAlert>,
    pub(crate) pinning: Option<Pinning>,
    pub(crate) groups: Vec<(Spanned<Name>, Vec<Name>)>,
    pub(crate) approvers: Vec<(Spanned<Name>, String)>,
    pub(crate) session_store: Option<String>,
    pub(crate) session_idle: Option<Duration>,
    pub(crate) session_lease: Option<Duration>,
    pub(crate) tools: RawTools,
    /// Lines of the program table.
    pub(crate) programs: Vec<Spanned<String>>,
    pub(crate) env: Vec<RawEnv>,
    pub(crate) locked: Vec<Spanned<Name>>,
    pub(crate) includes: Vec<RawInclude>,
    pub(crate) hooks: Vec<RawHook>,
    pub(crate) exceptions: Vec<RawException>,
}

impl RawPolicy {
    pub(crate) fn place(&self, span: Span) -> Place {
        Place { source: self.source, span }
    }

    /// Where a top key stands.
    pub(crate) fn key(&self, key: &str) -> Option<Place> {
        let found = self.keys.iter().find(|spanned| spanned.value == key)?;
        Some(self.place(found.span))
    }
}

/// Who is told of what.
#[derive(Debug, Clone)]
pub(crate) struct RawAlert {
    pub(crate) name: Spanned<String>,
    pub(crate) to: Spanned<String>,
    pub(crate) header_file: Option<Spanned<String>>,
    pub(crate) ca_file: Option<Spanned<String>>,
    pub(crate) severity: Option<String>,
    pub(crate) refusals_per_minute: Option<u32>,
}

/// What a policy says about tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawTools {
    pub(crate) names: Vec<String>,
    pub(crate) aliases: Vec<(Spanned<String>, Vec<String>)>,
    pub(crate) groups: Vec<(Spanned<String>, Vec<String>)>,
    pub(crate) read_only: Vec<Spanned<String>>,
    pub(crate) writing: Vec<Spanned<String>>,
    /// Tool, then effect and argument.
    pub(crate) arguments: Vec<(String, Vec<(String, String)>)>,
}

/// A declared environment variable.
#[derive(Debug, Clone)]
pub(crate) struct RawEnv {
    pub(crate) name: Spanned<String>,
    pub(crate) default: Option<String>,
    pub(crate) secret: bool,
}

/// A further file.
#[derive(Debug, Clone)]
pub(crate) struct RawInclude {
    pub(crate) file: Spanned<String>,
    pub(crate) roles: Roles,
    pub(crate) tenants: Vec<String>,
    pub(crate) agents: Vec<String>,
    pub(crate) tools: Vec<String>,
}

/// A hook.
#[derive(Debug, Clone)]
pub(crate) struct RawHook {
    pub(crate) name: Spanned<Name>,
    pub(crate) kinds: Spanned<KindSet>,
    pub(crate) matching: Option<Node>,
    pub(crate) when: Option<Node>,
    pub(crate) unless: Option<Node>,
    pub(crate) actions: Vec<RawAction>,
    pub(crate) priority: Option<i32>,
    pub(crate) enabled: bool,
    pub(crate) dry_run: Option<Spanned<DryRun>>,
    pub(crate) rollout: Option<Spanned<Rollout>>,
    pub(crate) on_failure: Option<Spanned<OnFailure>>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sees: Sees,
    pub(crate) severity: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) locked: bool,
    pub(crate) overrides: Option<Span>,
    /// A part of it could not be read.
    pub(crate) broken: bool,
}

/// An action of a hook.
#[derive(Debug, Clone)]
pub(crate) struct RawAction {
    pub(crate) name: Spanned<String>,
    pub(crate) value: Node,
}

/// An exception to a hook of an earlier layer.
#[derive(Debug, Clone)]
pub(crate) struct RawException {
    pub(crate) hook: Spanned<Name>,
    pub(crate) matching: Node,
    pub(crate) reason: String,
    pub(crate) until: Option<Timestamp>,
}
