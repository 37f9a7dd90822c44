//! The hook: name, event kinds, matcher, one handler, and how it is run.
//!
//! A handler is one function: it sees a [`View`] and gives an [`Opinion`], now or later. It cannot
//! change anything: counters, labels, claims and payloads are the gate's to write, from what the
//! opinion asks for and the hook's roles allow.

use crate::clock::Timestamp;
use crate::event::{Event, Name};
use crate::json::Json;
use crate::kind::{EventKind, KindSet};
use crate::limits::HANDLER_TIMEOUT_MS;
use crate::matcher::Matcher;
use crate::payload::Payload;
use crate::soon::Soon;
use crate::state::{Claim, SessionView};
use crate::trace::Cast;
use crate::vault::Reveal;
use crate::vote::{Allowance, Answer, Question, Refusal, Vote, VoteKind};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What a handler sees.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The event as it came, with its session and tags.
    pub event: &'a Event,
    /// The payload: as the hooks before left it, or as it came for a hook that sees the original.
    pub payload: &'a Payload,
    /// The payload as it came.
    pub original: &'a Payload,
    /// Counters and labels of the session, this event included.
    pub session: &'a SessionView,
    /// The votes so far.
    pub votes: &'a [Cast],
    /// The present moment.
    pub now: Timestamp,
}

impl View<'_> {
    /// The event's kind.
    pub fn kind(&self) -> EventKind {
        self.payload.kind()
    }
}

/// What a hook does.
pub trait Handler: Send + Sync {
    /// Looks at an event and says what it thinks of it: at once (inline) or later (async).
    ///
    /// # Errors
    /// A [`HandlerError`] is a fault, and the hook's `on_failure` decides what it means. So is a
    /// panic, an overrun and an opinion that the hook's roles or the event's kind do not allow.
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>>;

    /// The handler in words, with all that makes it differ from others: two handlers that describe
    /// themselves alike count as the same. `None`: it is only the same as itself.
    fn describe(&self) -> Option<String> {
        None
    }

    /// The votes it may give, checked against the hook's kinds when it is registered. `None`:
    /// whatever its roles allow.
    fn votes(&self) -> Option<&[VoteKind]> {
        None
    }

    /// Whether it may ask for claims.
    fn claims(&self) -> bool {
        false
    }

    /// Whether it looks at [`SessionView::repeats`], so that the gate keeps the recent calls.
    fn needs_repeats(&self) -> bool {
        false
    }

    /// Whether it refuses by saying that there is no such tool, so that a list of tools leaves out
    /// what it matches ([`crate::Gate::hides`]).
    fn hides(&self) -> bool {
        false
    }

    /// Whether it gives data of the vault back ([`Opinion::reveals`]): then its policy must name the tool.
    fn reveals(&self) -> bool {
        false
    }

    /// What it masks, for records: those of an event that its hook matches show it masked, also where the
    /// chain did not come to the hook. `None`: it masks nothing.
    fn masking(&self) -> Option<&dyn Masking> {
        None
    }

    /// What a refusal says when one of its claims cannot be reserved: what stands here (a code, a
    /// reason) replaces the words of the limit itself. `None`: the limit's own words.
    fn exceeded(&self) -> Option<&Refusal> {
        None
    }
}

/// Masks in records what its hook masks in events ([`Handler::masking`]).
pub trait Masking: Send + Sync {
    /// The value as its hook would let it through in this event; `None`: as it is. Nothing is counted,
    /// labelled or kept for it.
    ///
    /// # Errors
    /// A [`HandlerError`] when it cannot tell: the record shows nothing of the value then.
    fn masked(&self, view: &View<'_>, value: &Json) -> Result<Option<Json>, HandlerError>;
}

/// A handler failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandlerError(pub String);

impl HandlerError {
    /// A failure for this reason.
    pub fn new(cause: impl fmt::Display) -> HandlerError {
        HandlerError(cause.to_string())
    }
}

/// What a handler thinks of an event: nothing, or any of a vote, a rewrite, claims and labels.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Opinion {
    /// A vote; none is "no opinion".
    pub vote: Option<Vote>,
    /// A new part of the payload. "No rewrite" and an empty object differ.
    pub rewrite: Option<Arc<Json>>,
    /// What is to be reserved if the event goes through.
    pub claims: Vec<Claim>,
    /// Labels for the session.
    pub labels: Vec<Name>,
    /// What was found, for the record.
    pub findings: Vec<Found>,
    /// Data of the vault that go back into the call when it runs, and nowhere else.
    pub reveals: Vec<Reveal>,
}

/// What a handler found of one rule, for the record: never the datum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The rule.
    pub rule: Name,
    /// How many times.
    pub count: u32,
    /// How bad it is, as a word, where the handler knows.
    pub severity: Option<&'static str>,
    /// The rule is on trial: what it found was let through.
    pub dry_run: bool,
    /// Keyed fingerprints of the data, at most [`PRINTS_MAX`](Found::PRINTS_MAX), where the hook keeps them.
    pub prints: Vec<Name>,
}

impl Found {
    /// Most fingerprints that a record carries of one rule.
    pub const PRINTS_MAX: usize = 16;

    /// One finding of a rule.
    pub fn of(rule: impl Into<Name>) -> Found {
        let (severity, dry_run, prints) = (None, false, Vec::new());
        Found { rule: rule.into(), count: 1, severity, dry_run, prints }
    }
}

impl Opinion {
    /// No opinion.
    pub fn none() -> Opinion {
        Opinion::default()
    }

    /// Whether there is nothing in it.
    pub fn says_nothing(&self) -> bool {
        self.vote.is_none()
            && self.rewrite.is_none()
            && self.claims.is_empty()
            && self.labels.is_empty()
            && self.findings.is_empty()
            && self.reveals.is_empty()
    }

    /// A vote and nothing else.
    pub fn vote(vote: Vote) -> Opinion {
        Opinion { vote: Some(vote), ..Opinion::default() }
    }

    /// `allow`.
    pub fn allow() -> Opinion {
        Opinion::vote(Vote::Allow(Allowance::default()))
    }

    /// `deny`, for this reason.
    pub fn deny(reason: impl Into<Arc<str>>) -> Opinion {
        Opinion::vote(Vote::Deny(Refusal::because(reason)))
    }

    /// `abort`, for this reason.
    pub fn abort(reason: impl Into<Arc<str>>) -> Opinion {
        Opinion::vote(Vote::Abort(Refusal::because(reason)))
    }

    /// `ask` these, for this reason.
    pub fn ask<W: Into<Name>>(who: impl IntoIterator<Item = W>, reason: &str) -> Opinion {
        let who = who.into_iter().map(Into::into).collect();
        Opinion::vote(Vote::Ask(Question { who, reason: reason.into(), ..Question::default() }))
    }

    /// `respond` with this.
    pub fn respond(content: impl Into<Json>) -> Opinion {
        Opinion::vote(Vote::Respond(Answer { content: Arc::new(content.into()) }))
    }

    /// A rewrite of the payload's part.
    pub fn rewrite(part: impl Into<Json>) -> Opinion {
        Opinion { rewrite: Some(Arc::new(part.into())), ..Opinion::default() }
    }

    /// A claim.
    pub fn claim(claim: Claim) -> Opinion {
        Opinion { claims: vec![claim], ..Opinion::default() }
    }

    /// Labels for the session.
    pub fn labels<L: Into<Name>>(labels: impl IntoIterator<Item = L>) -> Opinion {
        Opinion { labels: labels.into_iter().map(Into::into).collect(), ..Opinion::default() }
    }
}

/// What a hook may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Roles(u8);

impl Roles {
    /// Look, label, count. Cannot change or stop anything by itself.
    pub const WATCH: Roles = Roles(1);
    /// Change the payload's part.
    pub const REWRITE: Roles = Roles(2);
    /// Vote and claim.
    pub const JUDGE: Roles = Roles(4);
    /// All of them.
    pub const ALL: Roles = Roles(7);

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Roles) -> Roles {
        Roles(self.0 | other.0)
    }

    /// Whether all of `other` is in this.
    pub const fn include(self, other: Roles) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(Roles::WATCH, "watch"), (Roles::REWRITE, "rewrite"), (Roles::JUDGE, "judge")];
        let mut first = true;
        for (_, name) in names.iter().filter(|(role, _)| self.include(*role)) {
            write!(f, "{}{name}", if first { "" } else { ", " })?;
            first = false;
        }
        Ok(())
    }
}

/// What a fault of a hook means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnFailure {
    /// Go on without it, count it, record it.
    Open,
    /// Refuse; after the effect: withhold.
    Closed,
}

/// Which payload a judge sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Sees {
    /// As the hooks before it left it.
    #[default]
    Current,
    /// As it was asked for.
    Original,
}

/// Whether a hook only records what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum DryRun {
    /// It acts.
    #[default]
    No,
    /// It only records.
    Yes,
    /// It only records until this moment, and acts from then on.
    Until(Timestamp),
}

impl DryRun {
    /// Whether it is dry at this moment.
    pub fn is_dry(self, now: Timestamp) -> bool {
        match self {
            DryRun::No => false,
            DryRun::Yes => true,
            DryRun::Until(end) => now < end,
        }
    }
}

/// For which part of the sessions, tenants or users a hook applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rollout {
    /// Share in hundredths of a percent, 0 to 10,000.
    pub basis_points: u16,
    /// What the share is taken of.
    pub by: RolloutBy,
}

/// What a rollout's share is taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RolloutBy {
    /// Sessions; a child goes with its root as far as the event names it.
    Session,
    /// Tenants.
    Tenant,
    /// Users.
    User,
}

impl Rollout {
    /// This many percent.
    pub fn percent(percent: u8, by: RolloutBy) -> Rollout {
        Rollout { basis_points: u16::from(percent.min(100)) * 100, by }
    }

    /// Whether the hook of this name applies to this event. The same key always gives the same
    /// answer (FNV-1a of 64 bits over hook name and key); a missing key means that it applies.
    pub fn applies(&self, hook: &str, event: &Event) -> bool {
        let session = &event.session;
        let key = match self.by {
            RolloutBy::Session => session.root.as_ref().or(Some(&session.id)),
            RolloutBy::Tenant => session.tenant.as_ref(),
            RolloutBy::User => session.user.as_ref(),
        };
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            return true;
        };
        let bytes = hook.bytes().chain([0]).chain(key.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // FNV's low bits are weak for short keys; fold the high half in.
        (hash ^ (hash >> 32)) % 10_000 < u64::from(self.basis_points)
    }
}

/// A hook, as it is registered.
#[derive(Clone)]
pub struct Hook {
    pub(crate) name: Name,
    pub(crate) kinds: KindSet,
    pub(crate) matcher: Matcher,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) roles: Roles,
    pub(crate) priority: i32,
    pub(crate) enabled: bool,
    pub(crate) dry_run: DryRun,
    pub(crate) rollout: Option<Rollout>,
    pub(crate) on_failure: OnFailure,
    pub(crate) timeout: Duration,
    pub(crate) sees: Sees,
    pub(crate) guards: bool,
}

/// The priority of hooks that do not name one.
pub const PRIORITY_DEFAULT: i32 = 100;
/// The priority of security hooks.
pub const PRIORITY_SECURITY: i32 = 0;
/// The priority of business rewriting.
pub const PRIORITY_REWRITE: i32 = 200;

impl Hook {
    /// A hook that runs `handler` at `kinds`, matching every event of them.
    ///
    /// It is enabled, has the default priority and timeout, and fails closed; a hook that only
    /// watches fails open.
    pub fn new(
        name: impl Into<Name>,
        kinds: impl Into<KindSet>,
        roles: Roles,
        handler: Arc<dyn Handler>,
    ) -> Hook {
        let on_failure = if roles == Roles::WATCH { OnFailure::Open } else { OnFailure::Closed };
        Hook {
            name: name.into(),
            kinds: kinds.into(),
            matcher: Matcher::Always,
            handler,
            roles,
            priority: PRIORITY_DEFAULT,
            enabled: true,
            dry_run: DryRun::No,
            rollout: None,
            on_failure,
            timeout: Duration::from_millis(HANDLER_TIMEOUT_MS),
            sees: Sees::Current,
            guards: false,
        }
    }

    /// Sets the matcher.
    #[must_use]
    pub fn matching(mut self, matcher: Matcher) -> Hook {
        self.matcher = matcher;
        self
    }

    /// Sets the priority; lower comes first.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Hook {
        self.priority = priority;
        self
    }

    /// Enables or disables it.
    #[must_use]
    pub fn with_enabled(mut self, enabled: bool) -> Hook {
        self.enabled = enabled;
        self
    }

    /// Makes it dry.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: DryRun) -> Hook {
        self.dry_run = dry_run;
        self
    }

    /// Applies it to a share only.
    #[must_use]
    pub fn with_rollout(mut self, rollout: Rollout) -> Hook {
        self.rollout = Some(rollout);
        self
    }

    /// Sets what a fault means.
    #[must_use]
    pub fn with_on_failure(mut self, on_failure: OnFailure) -> Hook {
        self.on_failure = on_failure;
        self
    }

    /// Sets the time that its handler may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Hook {
        self.timeout = timeout;
        self
    }

    /// Sets which payload it sees.
    #[must_use]
    pub fn with_sees(mut self, sees: Sees) -> Hook {
        self.sees = sees;
        self
    }

    /// Makes it one that guards the gate itself (law 13): it holds in mode `dry_run` too, and cannot be
    /// removed, replaced, disabled or made dry while the gate runs.
    #[must_use]
    pub fn guarding(mut self) -> Hook {
        self.guards = true;
        self
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its event kinds.
    pub fn kinds(&self) -> KindSet {
        self.kinds
    }

    /// Its matcher.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Its roles.
    pub fn roles(&self) -> Roles {
        self.roles
    }

    /// Its priority.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// Whether it gives data of the vault back.
    pub fn reveals(&self) -> bool {
        self.handler.reveals()
    }

    /// Whether it is enabled.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether and how long it is dry.
    pub fn dry_run(&self) -> DryRun {
        self.dry_run
    }

    /// What a fault of it means.
    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// The hook in words, for the ruleset's digest: everything that changes what it does.
    pub(crate) fn describe(&self) -> String {
        let kinds: Vec<_> = self.kinds.iter().map(EventKind::name).collect();
        let handler = self.handler.describe();
        format!(
            "{} on={kinds:?} match={} roles={} priority={} enabled={} dry={:?} rollout={:?} \
             on_failure={:?} timeout={:?} sees={:?} guards={} do={}",
            self.name,
            self.matcher,
            self.roles,
            self.priority,
            self.enabled,
            self.dry_run,
            self.rollout,
            self.on_failure,
            self.timeout,
            self.sees,
            self.guards,
            handler.as_deref().unwrap_or("code"),
        )
    }

    /// Whether another hook of this name is this hook: the same handler, run in the same way.
    pub(crate) fn is_same(&self, other: &Hook) -> bool {
        let same_handler = Arc::ptr_eq(&self.handler, &other.handler)
            || (self.handler.describe().is_some()
                && self.handler.describe() == other.handler.describe());
        same_handler && self.describe() == other.describe()
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hook({})", self.describe())
    }
}

/// A handler from a function that answers at once.
pub fn inline<F>(f: F) -> Arc<dyn Handler>
where
    F: for<'a> Fn(View<'a>) -> Result<Opinion, HandlerError> + Send + Sync + 'static,
{
    Arc::new(Inline(f))
}

struct Inline<F>(F);

impl<F> Handler for Inline<F>
where
    F: for<'a> Fn(View<'a>) -> Result<Opinion, HandlerError> + Send + Sync,
{
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        Soon::now((self.0)(view))
    }
}

/// A future of an opinion.
pub type OpinionFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Opinion, HandlerError>> + Send + 'a>>;

/// A handler from a function that answers later. What may block belongs here, under a timeout.
pub fn asynchronous<F>(f: F) -> Arc<dyn Handler>
where
    F: for<'a> Fn(View<'a>) -> OpinionFuture<'a> + Send + Sync + 'static,
{
    Arc::new(Asynchronous(f))
}

struct Asynchronous<F>(F);

impl<F> Handler for Asynchronous<F>
where
    F: for<'a> Fn(View<'a>) -> OpinionFuture<'a> + Send + Sync,
{
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        Soon::Later((self.0)(view))
    }
}
