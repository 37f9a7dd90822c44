//! Why an event is decided as it is: every hook in order, what kept it from matching, what it said,
//! what it rewrote, how long it took.
//!
//! Nothing is guessed: the event goes through a real gate with the same hooks, each wrapped so that
//! it notes what it was asked and what it answered. State is that of a fresh session, and the
//! explanation says so. Texts of the event are escaped and cut when shown.

mod amend;
mod diff;
mod exception;
mod record;
mod render;

pub use amend::{AmendError, with_exception, with_unless};
pub use diff::Change;
pub(crate) use diff::diff;
pub use exception::{Exception, NoException, exception_for};

use crate::compile::{self, build};
use crate::judged;
use crate::load::{HookInfo, Loaded};
use record::{Log, Note, RecordingHandler, RecordingTest};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tollgate_gate::{
    Clock, Decision, Event, EventKind, Gate, Hook, Json, KindSet, Ledger, ManualClock, Matcher,
    MemoryLedger, Mode, Object, Payload, RecordKind, Rollout, RolloutBy, Ruleset, Soon, Timestamp,
    VoteKind,
};

/// Why an event is decided as it is.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The event's kind.
    pub kind: EventKind,
    /// The verdict that the policy gives. Where nobody can be asked, an `ask` is refused.
    pub verdict: VoteKind,
    /// What is decided.
    pub decision: Decision,
    /// Every hook, in the order in which they run.
    pub hooks: Vec<HookExplanation>,
    /// What to know when reading this.
    pub notes: Vec<String>,
}

/// What one hook did.
#[derive(Debug, Serialize)]
pub struct HookExplanation {
    /// The hook.
    #[serde(flatten)]
    pub hook: HookInfo,
    /// What came of it.
    pub fate: Fate,
}

/// What came of a hook.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum Fate {
    /// It runs at other kinds.
    OtherKind,
    /// It is disabled.
    Disabled,
    /// The rollout leaves this event out.
    NotRolledOut,
    /// The chain ended before it.
    NotReached,
    /// A key of its match or a condition did not hold.
    NoMatch {
        /// Which, in words.
        key: String,
    },
    /// An exception holds.
    Excepted,
    /// It ran.
    Ran {
        /// What it said; none is no opinion.
        vote: Option<VoteKind>,
        /// Why.
        reason: Option<String>,
        /// What it rewrote.
        rewrite: Vec<Change>,
        /// How many claims it asked for.
        claims: u32,
        /// It only recorded this.
        dry_run: bool,
        /// What went wrong with it.
        fault: Option<String>,
        /// It looked once more at what will really run.
        judged_again: bool,
        /// How long it took, in microseconds.
        us: u32,
    },
}

/// Why an explanation cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this policy cannot be explained: {0}")]
pub struct ExplainError(String);

/// Explains an event under a policy, at this moment.
///
/// # Errors
/// [`ExplainError`] when the policy's hooks cannot be built once more.
pub async fn explain(
    loaded: &Loaded,
    event: Event,
    now: Timestamp,
) -> Result<Explanation, ExplainError> {
    let explainer = Explainer::new(loaded, Arc::new(Running::from(now)))?;
    let mut explanation = explainer.explain(event).await;
    explainer.as_recorded(&mut explanation.decision);
    let mut notes = vec!["counters, limits and labels are those of a fresh session".to_owned()];
    if loaded.settings.mode == Mode::Off {
        notes.push("the mode is `off`: nothing of this happens".to_owned());
    }
    explanation.notes = notes;
    Ok(explanation)
}

/// A clock that runs on from a given moment, so that each hook's time can be told.
struct Running {
    start: Timestamp,
    since: Instant,
    /// Nothing is waited for here: what does not answer at once has overrun.
    sleeps: ManualClock,
}

impl Running {
    fn from(start: Timestamp) -> Running {
        Running { start, since: Instant::now(), sleeps: ManualClock::new(start) }
    }
}

impl Clock for Running {
    fn now(&self) -> Timestamp {
        let nanos = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Timestamp::from_nanos(self.start.nanos().saturating_add(nanos))
    }

    fn sleep(&self, time: Duration) -> Soon<'static, ()> {
        self.sleeps.sleep(time)
    }
}

/// A gate with a policy's hooks, each noting what happens to it. Its state lives on from event to event.
pub(crate) struct Explainer<'l> {
    loaded: &'l Loaded,
    gate: Gate,
    ledger: Arc<MemoryLedger>,
    log: Arc<Log>,
    /// The names of the hooks, in the order in which they run.
    order: Vec<String>,
}

impl<'l> Explainer<'l> {
    pub(crate) fn new(
        loaded: &'l Loaded,
        clock: Arc<dyn Clock>,
    ) -> Result<Explainer<'l>, ExplainError> {
        let fail = |error: &dyn std::fmt::Display| ExplainError(error.to_string());
        let log = Arc::new(Log::default());
        let mut settings =
            compile::gate_settings(&loaded.plan.settings).map_err(|error| fail(&error))?;
        if settings.mode == Mode::Off {
            settings.mode = Mode::Enforce;
        }
        let hooks = recording_hooks(loaded, &log).map_err(|error| fail(&error))?;
        let ruleset = Ruleset::new(settings, hooks).map_err(|error| fail(&error))?;
        let order = ruleset.hooks().map(|hook| hook.name().to_string()).collect();
        let ruleset = ruleset.with_digest(Arc::clone(&loaded.digest));
        let ledger = Arc::new(MemoryLedger::new());
        let builder = Gate::builder(clock).ledger(Arc::clone(&ledger) as Arc<dyn Ledger>);
        let gate = builder.ruleset(ruleset).build().map_err(|error| fail(&error))?;
        Ok(Explainer { loaded, gate, ledger, log, order })
    }

    /// Shows of the last call what its record does: a hook that masks may not have been reached.
    fn as_recorded(&self, decision: &mut Decision) {
        let records = self.ledger.records();
        let record = records.iter().rev().find(|record| record.kind == RecordKind::Decision);
        let shown = record.and_then(|record| {
            record.arguments.ran.as_ref().or(record.arguments.asked.as_ref()).cloned()
        });
        let Some(shown) = shown.filter(|shown| decision.payload.part().as_ref() != Some(shown))
        else {
            return;
        };
        // What no record shows is nothing here either.
        let payload = decision.payload.with_part(shown);
        let payload = payload.or_else(|_| decision.payload.with_part(Json::from(Object::new())));
        decision.payload = payload.unwrap_or_else(|_| decision.payload.clone());
        if let Payload::PreTool(call) = &mut decision.payload {
            // The host's reading says the same in its own words.
            Arc::make_mut(call).call = None;
        }
    }

    /// Decides the next event and says why so.
    pub(crate) async fn explain(&self, event: Event) -> Explanation {
        let decision = self.gate.judge(event.clone()).await;
        let noted = self.log.take();
        let infos: HashMap<String, (usize, HookInfo)> = self
            .loaded
            .hooks()
            .enumerate()
            .map(|(at, info)| (info.name.clone(), (at, info)))
            .collect();
        let mut notes_of: HashMap<usize, Vec<&Note>> = HashMap::new();
        for (hook, note) in &noted {
            notes_of.entry(*hook).or_default().push(note);
        }
        let hooks = self
            .order
            .iter()
            .filter_map(|name| infos.get(name))
            .filter_map(|(at, info)| {
                let noted = notes_of.get(at).map_or(&[] as &[&Note], Vec::as_slice);
                let fate = fate(self.loaded, *at, &event, &decision, noted)?;
                Some(HookExplanation { hook: info.clone(), fate })
            })
            .collect();
        let verdict = judged::verdict(&decision);
        Explanation { kind: event.kind(), verdict, decision, hooks, notes: Vec::new() }
    }
}

/// The policy's hooks, each noting what happens to it.
fn recording_hooks(loaded: &Loaded, log: &Arc<Log>) -> Result<Vec<Hook>, build::BuildError> {
    let mut hooks = Vec::with_capacity(loaded.plan.hooks.len());
    for (at, plan) in loaded.plan.hooks.iter().enumerate() {
        let ready = loaded.ready.get(at).cloned().flatten();
        let build::Parts { matcher, handler, exceptions } =
            build::parts(plan, ready, &loaded.context)?;
        let test = RecordingTest { inner: matcher, hook: at, log: Arc::clone(log) };
        let handler = RecordingHandler {
            inner: handler,
            exceptions: Arc::clone(&exceptions),
            hook: at,
            log: Arc::clone(log),
        };
        let none = build::Exceptions::default();
        hooks.push(build::hook(
            plan,
            build::Parts {
                matcher: Matcher::Test(Arc::new(test)),
                handler: Arc::new(handler),
                exceptions: Arc::new(none),
            },
        )?);
    }
    Ok(hooks)
}

fn fate(
    loaded: &Loaded,
    at: usize,
    event: &Event,
    decision: &Decision,
    notes: &[&Note],
) -> Option<Fate> {
    let plan = loaded.plan.hooks.get(at)?;
    if !KindSet::of(plan.kinds.iter().copied()).contains(event.kind()) {
        return Some(Fate::OtherKind);
    }
    if !plan.enabled {
        return Some(Fate::Disabled);
    }
    if let Some((percent, by)) = plan.rollout {
        let by = match by {
            1 => RolloutBy::Tenant,
            2 => RolloutBy::User,
            _ => RolloutBy::Session,
        };
        if !Rollout::percent(percent, by).applies(&plan.name, event) {
            return Some(Fate::NotRolledOut);
        }
    }
    if notes.iter().any(|note| matches!(note, Note::Excepted)) {
        return Some(Fate::Excepted);
    }
    // A judge may look twice; what it said last is what counts.
    if let Some(cast) = decision.votes.iter().rev().find(|cast| *cast.hook == *plan.name) {
        let rewrite = notes.iter().rev().find_map(|note| match note {
            Note::Rewrote(changes) => Some(changes.clone()),
            Note::Mismatch(_) | Note::Matched | Note::Excepted => None,
        });
        let rewrite = rewrite.unwrap_or_default().into_iter();
        let rewrite = if cast.findings.is_empty() {
            rewrite.collect()
        } else {
            rewrite.map(Change::hidden).collect()
        };
        let reason = cast.vote.as_ref().and_then(record::reason);
        return Some(Fate::Ran {
            vote: cast.vote_kind(),
            reason,
            rewrite,
            claims: cast.claims,
            dry_run: cast.dry_run,
            fault: cast.fault.as_ref().map(ToString::to_string),
            judged_again: cast.judged_again,
            us: cast.us,
        });
    }
    let mismatch = notes.iter().rev().find_map(|note| match note {
        Note::Mismatch(key) => Some(key.clone()),
        Note::Matched | Note::Rewrote(_) | Note::Excepted => None,
    });
    Some(mismatch.map_or(Fate::NotReached, |key| Fate::NoMatch { key }))
}
