//! The trace of a decision: what each hook that ran said, and what went wrong with it.

use crate::event::Name;
use crate::hook::Found;
use crate::vote::{Vote, VoteKind};
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// What one hook did in one decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Cast {
    /// The hook.
    pub hook: Name,
    /// What it said; `None` is no opinion.
    pub vote: Option<Vote>,
    /// Whether it rewrote the payload.
    pub rewrote: bool,
    /// Whether it was dry: recorded, and without any effect.
    pub dry_run: bool,
    /// What went wrong with it.
    pub fault: Option<Fault>,
    /// How many claims it asked for.
    pub claims: u32,
    /// How long it took, in microseconds.
    pub us: u32,
    /// Whether this is the vote of the judging-only pass.
    pub judged_again: bool,
    /// Whether its matcher failed, so that its handler never ran.
    pub unmatched: bool,
    /// What it found.
    pub findings: Vec<Found>,
    /// Placeholders of the vault whose data it gives back to the call.
    pub reveals: Vec<Name>,
}

/// The hooks of a trace that rewrote the payload, in order.
pub(crate) fn rewritten_by(votes: &[Cast]) -> impl Iterator<Item = &Name> {
    votes.iter().filter(|cast| cast.rewrote && !cast.dry_run).map(|cast| &cast.hook)
}

impl Cast {
    /// An entry of a hook that has not said anything.
    pub(crate) fn new(hook: Name) -> Cast {
        Cast {
            hook,
            vote: None,
            rewrote: false,
            dry_run: false,
            fault: None,
            claims: 0,
            us: 0,
            judged_again: false,
            unmatched: false,
            findings: Vec::new(),
            reveals: Vec::new(),
        }
    }

    /// The word of its vote.
    pub fn vote_kind(&self) -> Option<VoteKind> {
        self.vote.as_ref().map(Vote::kind)
    }
}

/// What went wrong with a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The handler, or a condition of the matcher, failed.
    #[error("failed: {0}")]
    Failed(String),
    /// The handler panicked.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The handler took longer than it may.
    #[error("took longer than {timeout_ms} ms")]
    TimedOut {
        /// What it was allowed, in milliseconds.
        timeout_ms: u64,
    },
    /// The opinion was one that the hook may not have.
    #[error("nonsense: {0}")]
    Nonsense(String),
}

impl Fault {
    /// The word for this kind of fault.
    pub const fn name(&self) -> &'static str {
        match self {
            Fault::Failed(_) => "failed",
            Fault::Panicked(_) => "panicked",
            Fault::TimedOut { .. } => "timed_out",
            Fault::Nonsense(_) => "nonsense",
        }
    }
}

impl Serialize for Found {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Found", 5)?;
        out.serialize_field("rule", &self.rule)?;
        out.serialize_field("count", &self.count)?;
        if let Some(severity) = self.severity {
            out.serialize_field("severity", severity)?;
        }
        if self.dry_run {
            out.serialize_field("dry_run", &true)?;
        }
        if !self.prints.is_empty() {
            out.serialize_field("prints", &self.prints)?;
        }
        out.end()
    }
}

impl Serialize for Cast {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Cast", 10)?;
        out.serialize_field("hook", &self.hook)?;
        out.serialize_field("vote", &self.vote_kind())?;
        if let Some(refusal) = self.vote.as_ref().and_then(Vote::refusal) {
            if let Some(code) = &refusal.code {
                out.serialize_field("code", code)?;
            }
            out.serialize_field("reason", &refusal.reason)?;
        } else if let Some(Vote::Ask(question)) = &self.vote {
            out.serialize_field("reason", &question.reason)?;
            out.serialize_field("who", &question.who)?;
        }
        out.serialize_field("rewrote", &self.rewrote)?;
        out.serialize_field("dry_run", &self.dry_run)?;
        out.serialize_field("fault", &self.fault.as_ref().map(Fault::to_string))?;
        if self.claims > 0 {
            out.serialize_field("claims", &self.claims)?;
        }
        if self.judged_again {
            out.serialize_field("judged_again", &true)?;
        }
        if !self.findings.is_empty() {
            let in_force = self.findings.iter().filter(|found| !found.dry_run);
            let rules: Vec<&Name> = in_force.map(|found| &found.rule).collect();
            if !rules.is_empty() {
                out.serialize_field("findings", &rules)?;
            }
            out.serialize_field("found", &self.findings)?;
        }
        out.serialize_field("us", &self.us)?;
        out.end()
    }
}
