//! Backtests: captured events through a new policy, and what would change.
//!
//! Each event is decided by the new policy and compared with what the old policy decides, where there is
//! one, or else with what was decided then, where that is known; without either, with "everything was
//! allowed". Both policies keep their own state, and the clock goes by the events' own times, so limits
//! count as they would have. With labels (which events were harmful) it also says how well the new
//! policy tells them apart.

mod line;
mod render;

pub use line::{Baseline, Captured, LineError, read_line};

use crate::explain::{Change, diff};
use crate::judged;
use crate::limits::{EXAMPLE_CHANGES_MAX, EXAMPLES_MAX};
use crate::load::Loaded;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tollgate_gate::{Decision, Event, Gate, Json, ManualClock, Timestamp, Verdict};

/// How a decision differs from what was decided then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It went through then, and is refused now.
    NewlyRefused,
    /// It was refused, asked or answered then, and goes through now.
    NewlyAllowed,
    /// A person is asked now.
    NewlyAsked,
    /// It is answered in its place now.
    NewlyAnswered,
    /// The session ends now.
    NewlyAborted,
    /// Refused as before, with another code.
    OtherCode,
    /// It goes on with another payload.
    OtherRewrite,
}

/// Changes of one kind by one hook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changes {
    /// How they differ.
    pub kind: ChangeKind,
    /// The hook that decides now, or that decided then; empty: none.
    pub hook: String,
    /// How many.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<Example>,
}

/// An event whose decision changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    /// Its id.
    pub event: String,
    /// Its tool or model.
    pub subject: String,
    /// What was decided then.
    pub before: String,
    /// What is decided now.
    pub after: String,
    /// With another rewrite: what differs in the payload as it goes on.
    pub rewrite: Vec<Change>,
}

/// How well the new policy tells labelled events apart. Refused, aborted and asked count as a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Hits {
    /// Harmful events that it stops or asks about.
    pub harmful_stopped: u64,
    /// Harmful events.
    pub harmful: u64,
    /// Harmless events that it stops or asks about.
    pub harmless_stopped: u64,
    /// Harmless events.
    pub harmless: u64,
    /// Labels of which no event was decided.
    pub unused_labels: u64,
}

impl Hits {
    /// The share of harmful events that it stops or asks about; none without such events.
    pub fn hit_rate(&self) -> Option<f64> {
        rate(self.harmful_stopped, self.harmful)
    }

    /// The share of harmless events that it stops or asks about; none without such events.
    pub fn false_positive_rate(&self) -> Option<f64> {
        rate(self.harmless_stopped, self.harmless)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of events are far below 2^53")]
fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What would change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BacktestReport {
    /// Events that were decided.
    pub events: u64,
    /// Events whose decision is the same.
    pub unchanged: u64,
    /// Events that could not be judged, because parts of them are masked.
    pub masked: u64,
    /// What changed, the most frequent first.
    pub changes: Vec<Changes>,
    /// With labels: how well they are told apart.
    pub hits: Option<Hits>,
}

/// A backtest that is under way.
pub struct Backtest {
    new: Side,
    old: Option<Side>,
    labels: Option<HashMap<String, bool>>,
    hits: Hits,
    events: u64,
    unchanged: u64,
    masked: u64,
    changes: BTreeMap<(ChangeKind, String), Changes>,
}

struct Side {
    gate: Gate,
    clock: Arc<ManualClock>,
    at: Timestamp,
}

/// The policy's hooks cannot be built once more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this policy cannot be replayed: {0}")]
pub struct BacktestError(String);

impl Side {
    fn new(loaded: &Loaded) -> Result<Side, BacktestError> {
        let ruleset = loaded.another_ruleset().map_err(BacktestError)?;
        let at = Timestamp::default();
        let clock = Arc::new(ManualClock::new(at));
        let gate = Gate::builder(Arc::<ManualClock>::clone(&clock)).ruleset(ruleset).build();
        let gate = gate.map_err(|error| BacktestError(error.to_string()))?;
        Ok(Side { gate, clock, at })
    }

    async fn judge(&mut self, event: &Event) -> Decision {
        // Time never goes backwards, whatever the order of the events.
        self.clock.advance(event.at.since(self.at));
        self.at = self.at.max(event.at);
        self.gate.judge(event.clone()).await
    }
}

impl Backtest {
    /// A backtest of a policy, against what the events come with or what another policy decides.
    ///
    /// # Errors
    /// [`BacktestError`] when a gate cannot be built with a policy.
    pub fn new(new: &Loaded, old: Option<&Loaded>) -> Result<Backtest, BacktestError> {
        Ok(Backtest {
            new: Side::new(new)?,
            old: old.map(Side::new).transpose()?,
            labels: None,
            hits: Hits::default(),
            events: 0,
            unchanged: 0,
            masked: 0,
            changes: BTreeMap::new(),
        })
    }

    /// Sets the labels: by the event's id, whether it was harmful.
    #[must_use]
    pub fn with_labels(mut self, labels: HashMap<String, bool>) -> Backtest {
        self.labels = Some(labels);
        self
    }

    /// Decides one more event.
    pub async fn take(&mut self, captured: Captured) {
        let Captured { event, baseline, masked } = captured;
        if masked {
            self.masked += 1;
            return;
        }
        self.events += 1;
        let decision = self.new.judge(&event).await;
        let before = match (&mut self.old, baseline) {
            (Some(old), _) => Baseline::of(&old.judge(&event).await),
            (None, Some(baseline)) => baseline,
            (None, None) => Baseline::untouched(&event),
        };
        self.label(&event, &decision);
        let after = Baseline::of(&decision);
        let Some(kind) = change(&before, &after) else {
            self.unchanged += 1;
            return;
        };
        let hook = after.hook.clone().or_else(|| before.hook.clone());
        let hook = hook.or_else(|| decision.rewritten_by().last().map(ToString::to_string));
        let hook = hook.unwrap_or_default();
        let entry = self.changes.entry((kind, hook.clone())).or_insert(Changes {
            kind,
            hook,
            count: 0,
            examples: Vec::new(),
        });
        entry.count += 1;
        if entry.examples.len() < EXAMPLES_MAX {
            entry.examples.push(Example {
                event: event.id.to_string(),
                subject: event.payload.subject().unwrap_or_default().to_owned(),
                before: before.words(),
                after: after.words(),
                rewrite: match kind {
                    ChangeKind::OtherRewrite if has_masked(&decision) => {
                        differences(&before, &after).into_iter().map(Change::hidden).collect()
                    }
                    ChangeKind::OtherRewrite => differences(&before, &after),
                    ChangeKind::NewlyRefused
                    | ChangeKind::NewlyAllowed
                    | ChangeKind::NewlyAsked
                    | ChangeKind::NewlyAnswered
                    | ChangeKind::NewlyAborted
                    | ChangeKind::OtherCode => Vec::new(),
                },
            });
        }
    }

    fn label(&mut self, event: &Event, decision: &Decision) {
        let Some(labels) = &self.labels else { return };
        let Some(harmful) = labels.get(&event.id.to_string()) else { return };
        let stopped = u64::from(judged::verdict(decision) >= Verdict::Ask);
        if *harmful {
            self.hits.harmful += 1;
            self.hits.harmful_stopped += stopped;
        } else {
            self.hits.harmless += 1;
            self.hits.harmless_stopped += stopped;
        }
    }

    /// What would change.
    pub fn report(self) -> BacktestReport {
        let mut changes: Vec<Changes> = self.changes.into_values().collect();
        changes.sort_by(|a, b| b.count.cmp(&a.count).then(a.kind.cmp(&b.kind)));
        BacktestReport {
            events: self.events,
            unchanged: self.unchanged,
            masked: self.masked,
            changes,
            hits: self.labels.map(|labels| {
                let seen = self.hits.harmful + self.hits.harmless;
                let labels = u64::try_from(labels.len()).unwrap_or(u64::MAX);
                Hits { unused_labels: labels.saturating_sub(seen), ..self.hits }
            }),
        }
    }
}

/// How two decisions differ, if they do.
fn change(before: &Baseline, after: &Baseline) -> Option<ChangeKind> {
    if before.verdict != after.verdict {
        return Some(match after.verdict {
            Verdict::Allow => ChangeKind::NewlyAllowed,
            Verdict::Respond => ChangeKind::NewlyAnswered,
            Verdict::Ask => ChangeKind::NewlyAsked,
            Verdict::Deny => ChangeKind::NewlyRefused,
            Verdict::Abort => ChangeKind::NewlyAborted,
        });
    }
    if before.code.is_some() && before.code != after.code {
        return Some(ChangeKind::OtherCode);
    }
    let goes_through = after.verdict == Verdict::Allow;
    let rewritten = goes_through && before.part.is_some() && before.part != after.part;
    rewritten.then_some(ChangeKind::OtherRewrite)
}

/// Whether a hook found something to mask.
fn has_masked(decision: &Decision) -> bool {
    decision.votes.iter().any(|cast| !cast.findings.is_empty())
}

/// What differs between the payloads of two decisions.
fn differences(before: &Baseline, after: &Baseline) -> Vec<Change> {
    let read = |baseline: &Baseline| Json::read(baseline.part.as_deref()?.as_bytes()).ok();
    match (read(before), read(after)) {
        (Some(before), Some(after)) => {
            diff(&before, &after).into_iter().take(EXAMPLE_CHANGES_MAX).collect()
        }
        (_, _) => Vec::new(),
    }
}

/// The canonical text of the part of a payload.
pub(crate) fn part_text(part: Option<Arc<Json>>) -> Option<String> {
    part.map(|part| part.canonical_text())
}
