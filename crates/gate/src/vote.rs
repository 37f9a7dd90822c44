//! Votes, and how they join into a verdict.
//!
//! The join is a semilattice: associative, commutative and idempotent. So the verdict does not depend
//! on the order in which hooks voted, only on what they said; order decides whose reason is shown
//! and, under `first_deny`, when the chain stops.

use crate::code::Code;
use crate::event::Name;
use crate::json::Json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The five words of votes and verdicts, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VoteKind {
    /// Let it pass.
    Allow,
    /// Answer in its place.
    Respond,
    /// Ask a person.
    Ask,
    /// Refuse this call.
    Deny,
    /// End the session.
    Abort,
}

/// What is decided for an event: the same five words.
pub type Verdict = VoteKind;

impl VoteKind {
    /// All, from the mildest to the strictest.
    pub const ALL: [VoteKind; 5] =
        [VoteKind::Allow, VoteKind::Respond, VoteKind::Ask, VoteKind::Deny, VoteKind::Abort];

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            VoteKind::Allow => "allow",
            VoteKind::Respond => "respond",
            VoteKind::Ask => "ask",
            VoteKind::Deny => "deny",
            VoteKind::Abort => "abort",
        }
    }
}

impl fmt::Display for VoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a judging hook says.
#[derive(Debug, Clone, PartialEq)]
pub enum Vote {
    /// Let it pass; lifts the default, nothing else.
    Allow(Allowance),
    /// Answer in its place.
    Respond(Answer),
    /// Ask a person.
    Ask(Question),
    /// Refuse this call.
    Deny(Refusal),
    /// End the session.
    Abort(Refusal),
}

/// What an `allow` brings with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// The host's own prompt is skipped too.
    pub skip_host_prompt: bool,
}

/// An answer in place of the effect.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// What the model is given: a tool's content, or a model's reply.
    pub content: Arc<Json>,
}

/// A question to people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// Who must agree: users or groups. Empty: whoever is at the screen.
    pub who: BTreeSet<Name>,
    /// Why it is asked.
    pub reason: Arc<str>,
    /// How long the question stands, in milliseconds.
    pub expires_ms: Option<u64>,
    /// How long the call may wait for its answer, in milliseconds.
    pub wait_ms: Option<u64>,
}

/// A refusal, of a call or of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refusal {
    /// For programs; `hook_denied` unless the policy says otherwise.
    pub code: Option<Code>,
    /// For the model and the person.
    pub reason: Arc<str>,
    /// What a person can do about it. The model never hears it.
    pub remedy: Option<Arc<str>>,
}

impl Refusal {
    /// A refusal for this reason, with the usual code.
    pub fn because(reason: impl Into<Arc<str>>) -> Refusal {
        Refusal { code: None, reason: reason.into(), remedy: None }
    }

    /// Sets the code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Code>) -> Refusal {
        self.code = Some(code.into());
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Arc<str>>) -> Refusal {
        self.remedy = Some(remedy.into());
        self
    }
}

impl Vote {
    /// Its word.
    pub const fn kind(&self) -> VoteKind {
        match self {
            Vote::Allow(_) => VoteKind::Allow,
            Vote::Respond(_) => VoteKind::Respond,
            Vote::Ask(_) => VoteKind::Ask,
            Vote::Deny(_) => VoteKind::Deny,
            Vote::Abort(_) => VoteKind::Abort,
        }
    }

    /// The refusal in it, if it refuses.
    pub const fn refusal(&self) -> Option<&Refusal> {
        match self {
            Vote::Deny(refusal) | Vote::Abort(refusal) => Some(refusal),
            Vote::Allow(_) | Vote::Respond(_) | Vote::Ask(_) => None,
        }
    }
}

/// A hook's place in the order: ascending priority, then order of registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rank {
    /// The hook's priority.
    pub priority: i32,
    /// The order in which it was registered.
    pub order: u32,
}

/// The join of votes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Joined {
    lead: Option<Lead>,
    who: BTreeSet<Name>,
    expires_ms: Option<u64>,
    wait_ms: Option<u64>,
    skip_host_prompt: bool,
}

/// The vote that decides: the strictest, and among equals that of the hook which comes first.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    /// The place of the hook that gave it.
    pub rank: Rank,
    /// Its name.
    pub hook: Name,
    /// What it said.
    pub vote: Vote,
}

impl Joined {
    /// The join of one vote. A hook votes once, so a rank stands for one vote.
    pub fn of(rank: Rank, hook: Name, vote: Vote) -> Joined {
        let (mut who, mut expires_ms, mut wait_ms) = (BTreeSet::new(), None, None);
        if let Vote::Ask(question) = &vote {
            who.clone_from(&question.who);
            (expires_ms, wait_ms) = (question.expires_ms, question.wait_ms);
        }
        let skip_host_prompt = matches!(vote, Vote::Allow(Allowance { skip_host_prompt: true }));
        let lead = Some(Lead { rank, hook, vote });
        Joined { lead, who, expires_ms, wait_ms, skip_host_prompt }
    }

    /// The join of both: the strictest vote leads, everyone asked by either is asked, and the
    /// shorter times hold.
    #[must_use]
    pub fn join(self, other: Joined) -> Joined {
        let mut who = self.who;
        who.extend(other.who);
        let shorter = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        let expires_ms = shorter(self.expires_ms, other.expires_ms);
        let wait_ms = shorter(self.wait_ms, other.wait_ms);
        let lead = match (self.lead, other.lead) {
            (Some(a), Some(b)) => Some(if leads(&a, &b) { a } else { b }),
            (a, b) => a.or(b),
        };
        let skip_host_prompt = self.skip_host_prompt || other.skip_host_prompt;
        Joined { lead, who, expires_ms, wait_ms, skip_host_prompt }
    }

    /// The strictest vote, or `None` when nobody voted.
    pub fn lead(&self) -> Option<&Lead> {
        self.lead.as_ref()
    }

    /// The word of the strictest vote, or `None` when nobody voted.
    pub fn verdict(&self) -> Option<Verdict> {
        self.lead.as_ref().map(|lead| lead.vote.kind())
    }

    /// Everyone who must agree, if the verdict is `ask`.
    pub fn who(&self) -> &BTreeSet<Name> {
        &self.who
    }

    /// The shortest expiry of any question, in milliseconds.
    pub fn expires_ms(&self) -> Option<u64> {
        self.expires_ms
    }

    /// The shortest wait of any question that has one, in milliseconds.
    pub fn wait_ms(&self) -> Option<u64> {
        self.wait_ms
    }

    /// Whether the host's own prompt is to be skipped, if the verdict is `allow`.
    pub fn skip_host_prompt(&self) -> bool {
        self.skip_host_prompt && self.verdict() == Some(VoteKind::Allow)
    }
}

fn leads(a: &Lead, b: &Lead) -> bool {
    let (kind_a, kind_b) = (a.vote.kind(), b.vote.kind());
    kind_a > kind_b || (kind_a == kind_b && a.rank <= b.rank)
}
