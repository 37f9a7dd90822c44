//! One captured event: the line of a file.
//!
//! A line is an event as on the wire, or an object with the `event` and what was decided about it
//! (`decision`, as `tollgate decide` writes it). Events whose arguments were masked in a record
//! cannot be judged and are counted.

use super::part_text;
use crate::judged;
use crate::replay::{Rebuilt, masked_places};
use tollgate_gate::{Decision, Event, EventError, Json, Timestamp, Verdict, VoteKind};

/// A captured event.
#[derive(Debug, Clone)]
pub struct Captured {
    /// The event.
    pub event: Event,
    /// What was decided then, where that is known.
    pub baseline: Option<Baseline>,
    /// Whether a part of it is masked.
    pub masked: bool,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// The verdict.
    pub verdict: Verdict,
    /// The code of a refusal.
    pub code: Option<String>,
    /// The hook that decided.
    pub hook: Option<String>,
    /// The part of the payload as it went on, as canonical text; `None`: not known.
    pub part: Option<String>,
}

/// Why a line is no captured event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is no strict JSON, or no event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The decision has no known verdict.
    #[error("`{0}` is no verdict")]
    Verdict(String),
}

/// Reads a line.
///
/// # Errors
/// [`LineError`] says why it is no captured event.
pub fn read_line(line: &[u8], now: Timestamp) -> Result<Captured, LineError> {
    let value = Json::read(line).map_err(EventError::Json)?;
    let (mut event, mut decision) = (value, None);
    if let Json::Object(object) = &mut event
        && let Some(inner) = object.remove("event")
    {
        decision = object.remove("decision");
        event = inner;
    }
    let event = Event::from_json(event, now)?;
    let baseline = decision.map(|decision| baseline(&event, &decision)).transpose()?;
    let masked = event.payload.part().is_some_and(|part| !masked_places(&part).is_empty());
    Ok(Captured { event, baseline, masked })
}

impl From<Rebuilt> for Captured {
    fn from(rebuilt: Rebuilt) -> Captured {
        let masked = !rebuilt.masked.is_empty();
        Captured { event: rebuilt.event, baseline: Some(rebuilt.baseline), masked }
    }
}

fn baseline(event: &Event, decision: &Json) -> Result<Baseline, LineError> {
    // The payload of a decision is that of an event of the same kind.
    let part = decision.get("payload").and_then(|payload| {
        let mut copy = event.to_json();
        if let Json::Object(object) = &mut copy {
            object.insert("payload", payload.clone());
        }
        part_text(Event::from_json(copy, event.at).ok()?.payload.part())
    });
    Baseline::read(decision, part).map_err(LineError::Verdict)
}

impl Baseline {
    /// What a decision or its record says in its wire form; the word that is no verdict otherwise.
    pub(crate) fn read(decision: &Json, part: Option<String>) -> Result<Baseline, String> {
        let text = |key: &str| decision.get(key).and_then(Json::as_str).map(str::to_owned);
        let word = text("verdict").unwrap_or_default();
        let verdict = VoteKind::ALL.into_iter().find(|kind| kind.name() == word);
        let mut verdict = verdict.ok_or(word)?;
        let (code, hook) = (text("code"), text("hook"));
        // As in `judged`: where nobody could be asked, an ask was refused.
        if verdict == Verdict::Deny && code.as_deref() == Some("approval_required") {
            let votes = decision.get("votes").and_then(Json::as_array).unwrap_or_default();
            let asked = |vote: &&Json| {
                vote.get("hook").and_then(Json::as_str) == hook.as_deref()
                    && vote.get("vote").and_then(Json::as_str) == Some(Verdict::Ask.name())
            };
            if hook.is_none() || votes.iter().any(|vote| asked(&vote)) {
                verdict = Verdict::Ask;
            }
        }
        Ok(Baseline { verdict, code, hook, part })
    }

    /// What a decision says.
    pub(super) fn of(decision: &Decision) -> Baseline {
        Baseline {
            verdict: judged::verdict(decision),
            code: decision.code.as_ref().map(|code| code.as_str().to_owned()),
            hook: decision.hook.as_ref().map(ToString::to_string),
            part: part_text(decision.payload.part()),
        }
    }

    /// It went through as it came.
    pub(super) fn untouched(event: &Event) -> Baseline {
        let part = part_text(event.payload.part());
        Baseline { verdict: Verdict::Allow, code: None, hook: None, part }
    }

    /// In words: `deny by x (code)`.
    pub(super) fn words(&self) -> String {
        let mut out = self.verdict.to_string();
        if let Some(hook) = &self.hook {
            out.push_str(" by ");
            out.push_str(hook);
        }
        if let Some(code) = &self.code {
            out.push_str(&format!(" ({code})"));
        }
        out
    }
}
