//! Events rebuilt from the ledger's records, as far as a record holds them.
//!
//! A record of a decision holds who acted on what, and the arguments without secrets and without what hooks
//! mask. What was masked is named by its place, and what a record never holds is named too: whoever replays such an
//! event must be able to say what was not looked at. Outcomes hold no result, so no after-event comes
//! back from a ledger.

use crate::backtest::{Baseline, part_text};
use tollgate_detect::masks_in;
use tollgate_gate::{Event, EventError, EventKind, Json, Object, Timestamp};

/// How the texts start that stand where a secret stood, or a value that could not be looked at.
const MASK_STARTS: [&str; 4] = ["[SECRET", "[PRIVATE_KEY", "[PASSWORD", "[UNSHOWN"];
/// Most masked places that are named.
const PLACES_MAX: usize = 100;

/// An event as a record holds it.
#[derive(Debug, Clone)]
pub struct Rebuilt {
    /// The event.
    pub event: Event,
    /// What was decided then.
    pub baseline: Baseline,
    /// The places of its payload where something is masked, such as `arguments.token`.
    pub masked: Vec<String>,
    /// What records do not hold and the event may have had.
    pub missing: &'static [&'static str],
    /// The digest of the policy that decided then.
    pub policy: Option<String>,
}

/// Why a record gives no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// It is about something else than a decision.
    #[error("a record of the kind `{0}` holds no event")]
    OtherKind(String),
    /// What it holds makes no event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The verdict is none that is known.
    #[error("`{0}` is no verdict")]
    Verdict(String),
}

/// Rebuilds the event of a decision from its record.
///
/// # Errors
/// [`RebuildError`] says why the record gives none.
pub fn rebuild(record: &Json) -> Result<Rebuilt, RebuildError> {
    let text = |key: &str| record.get(key).and_then(Json::as_str);
    let kind = text("kind").unwrap_or_default();
    if kind != "decision" {
        return Err(RebuildError::OtherKind(kind.to_owned()));
    }
    let mut session = Object::new();
    for (key, field) in [("session", "id"), ("tenant", "tenant"), ("user", "user")]
        .into_iter()
        .chain(["agent", "parent", "root", "host", "cwd"].map(|key| (key, key)))
    {
        if let Some(value) = text(key) {
            session.insert(field, value);
        }
    }
    let word = text("event").unwrap_or_default();
    let kind = EventKind::from_name(word);
    let mut event = Object::new();
    for key in ["id", "at"] {
        if let Some(value) = text(key) {
            event.insert(key, value);
        }
    }
    event.insert("kind", word);
    event.insert("session", session);
    event.insert("payload", payload(kind, record));
    let event = Event::from_json(event.into(), Timestamp::default())?;
    let asked = record.get("asked");
    let part = record.get("ran").or(asked).filter(|part| masked_places(part).is_empty());
    let part = part.map(|part| part_text(Some(part.clone().into())).unwrap_or_default());
    let baseline = Baseline::read(record, part).map_err(RebuildError::Verdict)?;
    let name = part_name(event.kind());
    let masked = asked.map(masked_places).unwrap_or_default();
    let masked = masked.iter().map(|place| below(name, place)).collect();
    let missing = missing(event.kind());
    Ok(Rebuilt { event, baseline, masked, missing, policy: text("policy").map(str::to_owned) })
}

/// What stands for the payload in a record, in the wire form of the kind.
fn payload(kind: Option<EventKind>, record: &Json) -> Object {
    let asked = record.get("asked").cloned();
    let mut payload = match (kind, asked) {
        // A request is the model, the messages and the tools side by side.
        (Some(EventKind::PreModel), Some(Json::Object(request))) => request,
        (Some(kind), Some(asked)) => Object::from_iter([(part_name(kind), asked)]),
        (_, _) => Object::new(),
    };
    for key in ["tool", "server", "model", "call_id"] {
        if let Some(value) = record.get(key).filter(|_| !payload.contains_key(key)) {
            payload.insert(key, value.clone());
        }
    }
    payload
}

/// The field of a payload that a record shows.
fn part_name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::AgentStart => "context",
        EventKind::PromptBuild => "prompt",
        EventKind::MemoryLoad => "memory",
        EventKind::PreModel => "request",
        EventKind::PreTool => "arguments",
        EventKind::PostTool | EventKind::ToolError => "result",
        EventKind::PostModel => "reply",
        EventKind::AgentEnd => "answer",
        EventKind::AgentAbort | EventKind::Error => "",
    }
}

fn missing(kind: EventKind) -> &'static [&'static str] {
    match kind {
        EventKind::PreTool => &["tags", "the host's reading of the call (`call`)", "extra fields"],
        EventKind::MemoryLoad => &["tags", "the source of the memory", "extra fields"],
        EventKind::PreModel => &["tags", "the provider", "extra fields"],
        EventKind::AgentAbort | EventKind::Error => &["tags", "its code, reason or message"],
        EventKind::AgentStart
        | EventKind::PromptBuild
        | EventKind::PostModel
        | EventKind::PostTool
        | EventKind::ToolError
        | EventKind::AgentEnd => &["tags", "extra fields"],
    }
}

/// The places of a value where something is masked; at most so many as can be read.
pub fn masked_places(value: &Json) -> Vec<String> {
    let mut out = Vec::new();
    walk(String::new(), value, &mut out);
    out
}

fn is_masked(text: &str) -> bool {
    MASK_STARTS.iter().any(|start| text.contains(start)) || !masks_in(text).is_empty()
}

fn walk(path: String, value: &Json, out: &mut Vec<String>) {
    if out.len() >= PLACES_MAX {
        return;
    }
    match value {
        Json::String(text) if is_masked(text) => out.push(path),
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                walk(format!("{path}[{at}]"), item, out);
            }
        }
        Json::Object(object) => {
            for (key, value) in object.iter() {
                let place = below(&path, key);
                if is_masked(key) {
                    out.push(place.clone());
                }
                walk(place, value, out);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn below(path: &str, key: &str) -> String {
    match (path.is_empty(), key.is_empty() || key.starts_with('[')) {
        (true, _) => key.to_owned(),
        (false, true) => format!("{path}{key}"),
        (false, false) => format!("{path}.{key}"),
    }
}
