//! Session state: what the gate counts, labels, reserves and remembers between events.
//!
//! Hooks read it, only the gate writes it (law 9). The trait is what a store implements; the form in
//! memory is here. Every answer may come later, so that a store may live across a network.

mod claims;
mod memory;
mod parts;

pub use claims::{Claim, ClaimTable, Counted, Exceeded, Quota, QuotaError, Settlement};
pub use memory::MemoryState;
pub use parts::{AccountPart, BreakerPart, ClaimParts, HeldPart};

use crate::clock::Timestamp;
use crate::code::Code;
use crate::event::Name;
use crate::payload::Usage;
use crate::session::Session;
use crate::soon::Soon;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// What was counted in a session and its children, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Tool calls that were asked for.
    pub tool_calls_attempted: u64,
    /// Tool calls that ran.
    pub tool_calls_executed: u64,
    /// Tool calls that were refused.
    pub tool_calls_refused: u64,
    /// Model calls that were asked for.
    pub model_calls: u64,
    /// Tokens that models read.
    pub tokens_in: u64,
    /// Tokens that models wrote.
    pub tokens_out: u64,
    /// Cost, in millionths of the deployment's currency.
    pub cost_micros: u64,
}

impl Counters {
    /// These and others. Usage comes from outside, so a sum stays at its largest value and never
    /// starts again from zero.
    pub fn add(&mut self, other: &Counters) {
        self.tool_calls_attempted =
            self.tool_calls_attempted.saturating_add(other.tool_calls_attempted);
        self.tool_calls_executed =
            self.tool_calls_executed.saturating_add(other.tool_calls_executed);
        self.tool_calls_refused = self.tool_calls_refused.saturating_add(other.tool_calls_refused);
        self.model_calls = self.model_calls.saturating_add(other.model_calls);
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }

    /// A count of what was used.
    pub fn of_usage(usage: &Usage) -> Counters {
        Counters {
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            cost_micros: usage.cost_micros,
            ..Counters::default()
        }
    }
}

/// Why a session was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aborted {
    /// The code of whoever ended it.
    pub code: Code,
    /// Why.
    pub reason: Arc<str>,
    /// The hook that ended it; `None` for a person or the program.
    pub hook: Option<Name>,
}

/// How often the call in hand stood among the last calls of its session, itself included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repeats {
    /// The same call, one after the other, up to now.
    pub in_a_row: u32,
    /// How many calls before this one, in a row, were the same call and were refused.
    pub refused_before: u32,
    /// The same call among the remembered ones.
    pub recent: u32,
}

impl Repeats {
    /// Counts this call among the recent ones (oldest first, each with whether it was refused), itself
    /// included.
    pub fn among(recent: &VecDeque<(u64, bool)>, call: u64) -> Repeats {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let newest_first = || recent.iter().rev();
        Repeats {
            in_a_row: 1 + count(newest_first().take_while(|(other, _)| *other == call).count()),
            refused_before: count(
                newest_first().take_while(|(other, refused)| *other == call && *refused).count(),
            ),
            recent: 1 + count(recent.iter().filter(|(other, _)| *other == call).count()),
        }
    }
}

/// What hooks see of a session: a snapshot that includes the event being decided.
#[derive(Debug, Clone, Default)]
pub struct SessionView {
    /// Counts of this session and its children.
    pub counters: Counters,
    /// Counts of the whole tree of sessions that this one belongs to.
    pub tree: Counters,
    /// The id of the tree's first session.
    pub root: Name,
    /// The labels of this session.
    pub labels: Arc<BTreeSet<Name>>,
    /// Set when this session or an ancestor was ended.
    pub aborted: Option<Arc<Aborted>>,
    /// How often the call in hand was repeated; filled when some hook of the ruleset asks for it.
    pub repeats: Repeats,
}

impl SessionView {
    /// Whether the session has this label.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.contains(label)
    }
}

/// What entering a session for an event changes before anything is decided.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    /// Counted first, so that hooks see it.
    pub count: Counters,
    /// The digest of the call in hand, to be found among the recent ones.
    pub call: Option<u64>,
}

/// What an event leaves behind in its session.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// Added to the counters.
    pub count: Counters,
    /// Joined with the labels of the session and of its ancestors.
    pub labels: Vec<Name>,
    /// A call that ended, and whether it was refused, to be remembered.
    pub call: Option<(u64, bool)>,
}

/// A reservation's key: the session and the call within it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey {
    /// The session's id.
    pub session: Name,
    /// The call's id, or the event's where the host gives no call ids.
    pub call: Name,
}

/// The state could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A cap is reached.
    #[error("too many {what}: the state holds at most {max}")]
    Full {
        /// Of what.
        what: &'static str,
        /// The cap.
        max: usize,
    },
    /// The store behind it failed.
    #[error("session state: {0}")]
    Store(String),
}

/// Where session state lives. Every method is one atomic step.
pub trait State: Send + Sync {
    /// Enters a session for an event: counts, then shows the session as hooks are to see it.
    fn enter<'a>(
        &'a self,
        session: &'a Session,
        entry: Entry,
    ) -> Soon<'a, Result<SessionView, StateError>>;

    /// Writes what an event leaves behind.
    fn leave<'a>(
        &'a self,
        session: &'a Session,
        trace: &'a Trace,
    ) -> Soon<'a, Result<(), StateError>>;

    /// Ends a session and with it its children. The first reason stays.
    fn abort<'a>(
        &'a self,
        session: &'a Session,
        aborted: Aborted,
    ) -> Soon<'a, Result<(), StateError>>;

    /// Reserves all claims or none, under a lease that frees them by itself after `lease_ms`.
    fn reserve<'a>(
        &'a self,
        key: &'a CallKey,
        claims: &'a [Claim],
        now: Timestamp,
        lease_ms: u64,
    ) -> Soon<'a, Result<Result<(), Exceeded>, StateError>>;

    /// Says what `reserve` would say and reserves nothing.
    fn peek<'a>(
        &'a self,
        claims: &'a [Claim],
        now: Timestamp,
    ) -> Soon<'a, Result<Result<(), Exceeded>, StateError>>;

    /// Counts the attempts among these claims for a call that does not go through.
    fn charge<'a>(
        &'a self,
        claims: &'a [Claim],
        now: Timestamp,
    ) -> Soon<'a, Result<(), StateError>>;

    /// Settles what a call reserved, with what came of it. A key without a reservation is nothing.
    fn settle<'a>(
        &'a self,
        key: &'a CallKey,
        settlement: &'a Settlement,
        now: Timestamp,
    ) -> Soon<'a, Result<(), StateError>>;
}
