//! The ruleset: an immutable compiled set of hooks with a digest, swapped whole.
//!
//! A decision uses one ruleset from start to end and names its digest. What cannot work is refused
//! here, when a set is built, and never discovered while an agent waits.

use crate::event::{Event, Name};
use crate::hook::{Hook, Roles, Sees};
use crate::index::{Candidates, KindIndex};
use crate::kind::{EventKind, KindSet};
use crate::limits::{HOOKS_MAX, NAME_BYTES_MAX};
use crate::matcher::MatcherError;
use crate::metrics::{HookCounts, HookMetrics};
use crate::payload::Payload;
use crate::vote::{Rank, VoteKind};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Whether the gate enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Decisions hold.
    #[default]
    Enforce,
    /// Decisions are made and recorded as if they held, and change nothing.
    DryRun,
    /// Everything passes untouched and unrecorded; that it is off is a record.
    Off,
}

impl Mode {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::DryRun => "dry_run",
            Mode::Off => "off",
        }
    }
}

/// When a chain stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Resolution {
    /// The first deny or abort ends it.
    #[default]
    FirstDeny,
    /// Every judge votes; later ones see the votes so far.
    Collect,
}

/// What holds when no hook votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum DefaultVote {
    /// Let it pass.
    #[default]
    Allow,
    /// Ask a person.
    Ask,
    /// Refuse.
    Deny,
}

/// When a decision counts as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Durability {
    /// On disk before the permit is released; a ledger that cannot write closes the gate.
    #[default]
    BeforeEffect,
    /// Handed over; what a crash can lose is bounded and counted.
    Buffered,
}

/// How a ruleset decides, beside its hooks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Settings {
    /// Whether the gate enforces.
    pub mode: Mode,
    /// When a chain stops.
    pub resolution: Resolution,
    /// When a decision counts as recorded.
    pub durability: Durability,
    defaults: [DefaultVote; EventKind::ALL.len()],
}

impl Settings {
    /// What holds at this kind when no hook votes.
    pub fn default_at(&self, kind: EventKind) -> DefaultVote {
        self.defaults.get(kind.index()).copied().unwrap_or_default()
    }

    /// Sets what holds at a kind when no hook votes.
    ///
    /// # Errors
    /// [`HookError::NotPossible`] where the kind does not know that vote.
    pub fn set_default(&mut self, kind: EventKind, vote: DefaultVote) -> Result<(), HookError> {
        let word = match vote {
            DefaultVote::Allow => None,
            DefaultVote::Ask => Some(VoteKind::Ask),
            DefaultVote::Deny => Some(VoteKind::Deny),
        };
        if let Some(word) = word.filter(|word| !kind.may_vote(*word)) {
            let what = format!("a default of `{word}`");
            return Err(HookError::NotPossible { hook: "default".into(), kind, what });
        }
        if let Some(place) = self.defaults.get_mut(kind.index()) {
            *place = vote;
        }
        Ok(())
    }
}

/// Why a hook cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// The name is empty or longer than [`NAME_BYTES_MAX`].
    #[error("a hook needs a name of 1 to {NAME_BYTES_MAX} bytes")]
    BadName,
    /// No event kind.
    #[error("hook `{0}` names no event kind")]
    NoKinds(Name),
    /// No role.
    #[error("hook `{0}` has no role")]
    NoRoles(Name),
    /// A zero timeout would make every run a fault.
    #[error("hook `{0}` has a timeout of zero")]
    NoTime(Name),
    /// A rewrite of the original would undo what the hooks before have rewritten.
    #[error("hook `{0}` sees the original, so it may judge and not rewrite")]
    RewritesOriginal(Name),
    /// What it does is not possible at one of its kinds.
    #[error("hook `{hook}`: {what} is not possible at `{kind}`")]
    NotPossible {
        /// The hook.
        hook: Name,
        /// The kind.
        kind: EventKind,
        /// What is not possible.
        what: String,
    },
    /// Another hook has this name.
    #[error("hook `{0}` is registered already, with another handler or another way of running it")]
    NameTaken(Name),
    /// There is no hook of this name.
    #[error("there is no hook `{0}`")]
    Unknown(Name),
    /// It guards the gate itself.
    #[error("hook `{0}` guards the gate itself and stays as it is while the gate runs")]
    Guards(Name),
    /// The registrar's grant does not cover it.
    #[error("hook `{hook}`: this registrar may not {what}")]
    NotGranted {
        /// The hook.
        hook: Name,
        /// What is missing.
        what: String,
    },
    /// Too many hooks.
    #[error("more than {HOOKS_MAX} hooks")]
    TooMany,
    /// The matcher is over a cap.
    #[error("hook `{hook}`: {error}")]
    Matcher {
        /// The hook.
        hook: Name,
        /// Which cap.
        error: MatcherError,
    },
}

/// A hook in a ruleset. Rulesets are made from one another, so they share their hooks.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) hook: Arc<Hook>,
    pub(crate) rank: Rank,
    pub(crate) counts: Arc<HookCounts>,
}

impl Placed {
    /// Checks a hook and gives it a place. `order` is its place among the registered.
    pub(crate) fn new(hook: Hook, order: u32) -> Result<Placed, HookError> {
        check(&hook)?;
        let rank = Rank { priority: hook.priority, order };
        Ok(Placed { hook: Arc::new(hook), rank, counts: Arc::default() })
    }

    /// The same place with another way of running the hook.
    pub(crate) fn with_hook(&self, hook: Hook) -> Result<Placed, HookError> {
        let mut placed = Placed::new(hook, self.rank.order)?;
        placed.counts = Arc::clone(&self.counts);
        Ok(placed)
    }
}

fn check(hook: &Hook) -> Result<(), HookError> {
    let name = || Name::clone(&hook.name);
    if hook.name.is_empty() || hook.name.len() > NAME_BYTES_MAX {
        return Err(HookError::BadName);
    }
    if hook.kinds.is_empty() {
        return Err(HookError::NoKinds(name()));
    }
    if hook.roles.is_empty() {
        return Err(HookError::NoRoles(name()));
    }
    if hook.timeout.is_zero() {
        return Err(HookError::NoTime(name()));
    }
    if hook.sees == Sees::Original && hook.roles.include(Roles::REWRITE) {
        return Err(HookError::RewritesOriginal(name()));
    }
    hook.matcher.check().map_err(|error| HookError::Matcher { hook: name(), error })?;
    for kind in hook.kinds.iter() {
        let not_possible = |what: String| HookError::NotPossible { hook: name(), kind, what };
        if hook.roles.include(Roles::REWRITE) && !kind.may_rewrite() {
            return Err(not_possible("to rewrite".to_owned()));
        }
        if hook.handler.claims() && !kind.may_claim() {
            return Err(not_possible("to limit".to_owned()));
        }
        if hook.roles.include(Roles::JUDGE) {
            let votes = hook.handler.votes().unwrap_or_default();
            if let Some(vote) = votes.iter().find(|vote| !kind.may_vote(**vote)) {
                return Err(not_possible(format!("to {vote}")));
            }
            if !VoteKind::ALL.iter().any(|vote| kind.may_vote(*vote)) {
                return Err(not_possible("to judge".to_owned()));
            }
        }
    }
    Ok(())
}

/// An immutable compiled set of hooks.
#[derive(Debug)]
pub struct Ruleset {
    settings: Settings,
    /// By priority, then order of registration.
    hooks: Vec<Placed>,
    kinds: [KindIndex; EventKind::ALL.len()],
    /// For each kind the place of its first judging hook.
    first_judge: [Option<u32>; EventKind::ALL.len()],
    /// The kinds at which a hook masks something.
    masking: KindSet,
    digest: Name,
    needs_repeats: bool,
}

impl Ruleset {
    /// Compiles hooks in their order of registration.
    ///
    /// # Errors
    /// [`HookError`] names the hook that cannot work and why.
    pub fn new(
        settings: Settings,
        hooks: impl IntoIterator<Item = Hook>,
    ) -> Result<Ruleset, HookError> {
        Ruleset::build(settings, hooks, None)
    }

    /// Compiles hooks whose digest is known: that of the source they were made from. Its own, which
    /// costs more than all the rest, is not made then.
    ///
    /// # Errors
    /// As [`Ruleset::new`].
    pub fn of_source(
        settings: Settings,
        hooks: impl IntoIterator<Item = Hook>,
        digest: impl Into<Name>,
    ) -> Result<Ruleset, HookError> {
        Ruleset::build(settings, hooks, Some(digest.into()))
    }

    fn build(
        settings: Settings,
        hooks: impl IntoIterator<Item = Hook>,
        digest: Option<Name>,
    ) -> Result<Ruleset, HookError> {
        let mut registry = Registry::default();
        for hook in hooks {
            registry.add(hook)?;
        }
        Ok(compile(settings, registry.hooks, digest))
    }

    /// How it decides, beside its hooks.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The digest of everything that it decides by: `sha256:` and 64 hex digits.
    pub fn digest(&self) -> &Name {
        &self.digest
    }

    /// Its hooks, in the order in which they run.
    pub fn hooks(&self) -> impl Iterator<Item = &Hook> {
        self.hooks.iter().map(|placed| &*placed.hook)
    }

    /// Takes another digest, of the source that this was compiled from.
    #[must_use]
    pub fn with_digest(mut self, digest: impl Into<Name>) -> Ruleset {
        self.digest = digest.into();
        self
    }

    pub(crate) fn placed(&self) -> &[Placed] {
        &self.hooks
    }

    pub(crate) fn candidates(&self, event: &Event, payload: &Payload) -> Candidates {
        self.kinds
            .get(payload.kind().index())
            .map(|index| index.candidates(event, payload))
            .unwrap_or_default()
    }

    /// Whether a judging hook of this kind stands before `place`.
    pub(crate) fn has_judge_before(&self, kind: EventKind, place: u32) -> bool {
        let first = self.first_judge.get(kind.index()).copied().flatten();
        first.is_some_and(|first| first < place)
    }

    /// Whether a hook of this kind masks something.
    pub(crate) fn has_masking(&self, kind: EventKind) -> bool {
        self.masking.contains(kind)
    }

    pub(crate) fn needs_repeats(&self) -> bool {
        self.needs_repeats
    }
}

/// The registered hooks, in order of registration: what a ruleset is compiled from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    hooks: Vec<Placed>,
    by_name: HashMap<Name, usize>,
    next_order: u32,
}

/// Whether registering changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// The hook is new.
    New,
    /// The same hook was there already; nothing changed.
    Already,
}

impl Registry {
    /// Takes the hooks of a ruleset that was compiled elsewhere.
    pub(crate) fn of(ruleset: &Ruleset) -> Registry {
        let mut hooks = ruleset.hooks.clone();
        hooks.sort_by_key(|placed| placed.rank.order);
        let next_order = hooks.last().map_or(0, |placed| placed.rank.order + 1);
        let mut registry = Registry { hooks, by_name: HashMap::new(), next_order };
        registry.reindex();
        registry
    }

    fn reindex(&mut self) {
        let names = self.hooks.iter().map(|placed| Name::clone(&placed.hook.name));
        self.by_name = names.zip(0..).collect();
    }

    /// Keeps the counts of hooks that `before` knew by the same name.
    pub(crate) fn keep_counts(&mut self, before: &Registry) {
        for placed in &mut self.hooks {
            let known = before.by_name.get(&placed.hook.name).and_then(|at| before.hooks.get(*at));
            if let Some(known) = known {
                placed.counts = Arc::clone(&known.counts);
            }
        }
    }

    pub(crate) fn metrics(&self) -> Vec<HookMetrics> {
        self.hooks.iter().map(|placed| placed.counts.read(&placed.hook.name)).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Hook> {
        self.by_name.get(name).and_then(|at| self.hooks.get(*at)).map(|placed| &*placed.hook)
    }

    pub(crate) fn add(&mut self, hook: Hook) -> Result<Registered, HookError> {
        if let Some(known) = self.get(&hook.name) {
            return if known.is_same(&hook) {
                Ok(Registered::Already)
            } else {
                Err(HookError::NameTaken(hook.name))
            };
        }
        if self.hooks.len() >= HOOKS_MAX {
            return Err(HookError::TooMany);
        }
        let name = Name::clone(&hook.name);
        self.hooks.push(Placed::new(hook, self.next_order)?);
        self.by_name.insert(name, self.hooks.len() - 1);
        self.next_order += 1;
        Ok(Registered::New)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<Hook, HookError> {
        let at = self.by_name.get(name).copied();
        let at = at.ok_or_else(|| HookError::Unknown(name.into()))?;
        self.check_no_guard(name)?;
        self.by_name.remove(name);
        let placed = self.hooks.remove(at);
        self.reindex();
        Ok(Arc::unwrap_or_clone(placed.hook))
    }

    fn check_no_guard(&self, name: &str) -> Result<(), HookError> {
        match self.get(name) {
            Some(hook) if hook.guards => Err(HookError::Guards(Name::clone(&hook.name))),
            Some(_) | None => Ok(()),
        }
    }

    /// Puts another hook in the place of the one of its name.
    pub(crate) fn replace(&mut self, hook: Hook) -> Result<(), HookError> {
        self.check_no_guard(&hook.name)?;
        let at = self.by_name.get(&hook.name);
        let place = at.and_then(|at| self.hooks.get_mut(*at));
        let place = place.ok_or_else(|| HookError::Unknown(Name::clone(&hook.name)))?;
        *place = place.with_hook(hook)?;
        Ok(())
    }

    pub(crate) fn compile(&self, settings: Settings) -> Ruleset {
        compile(settings, self.hooks.clone(), None)
    }

    /// The same under a digest that is known: its own, which takes long to make out, is not.
    pub(crate) fn compile_as(&self, settings: Settings, digest: Name) -> Ruleset {
        compile(settings, self.hooks.clone(), Some(digest))
    }
}

/// Compiles under a digest that is known, or under its own.
fn compile(settings: Settings, mut hooks: Vec<Placed>, known: Option<Name>) -> Ruleset {
    hooks.sort_by_key(|placed| placed.rank);
    let mut kinds: [KindIndex; EventKind::ALL.len()] = Default::default();
    let mut first_judge = [None; EventKind::ALL.len()];
    let mut needs_repeats = false;
    let mut masking = KindSet::NONE;
    for (place, placed) in (0u32..).zip(&hooks) {
        let hook = &placed.hook;
        if !hook.enabled {
            continue;
        }
        needs_repeats |= hook.handler.needs_repeats();
        for kind in hook.kinds.iter() {
            if let Some(index) = kinds.get_mut(kind.index()) {
                index.add(place, kind, &hook.matcher);
            }
            if hook.handler.masking().is_some() {
                masking = masking.with(kind);
            }
            if hook.roles.include(Roles::JUDGE)
                && let Some(first) = first_judge.get_mut(kind.index())
            {
                first.get_or_insert(place);
            }
        }
    }
    let digest = known.unwrap_or_else(|| digest(&settings, &hooks));
    Ruleset { settings, hooks, kinds, first_judge, masking, digest, needs_repeats }
}

fn digest(settings: &Settings, hooks: &[Placed]) -> Name {
    let mut hasher = Sha256::new();
    hasher.update(format!("{settings:?}").as_bytes());
    for placed in hooks {
        hasher.update(Sha256::digest(placed.hook.describe().as_bytes()));
    }
    let mut text = String::from("sha256:");
    for byte in hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.into()
}
