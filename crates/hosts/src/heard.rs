//! What a host said: its message, read.

use crate::facts::EventFacts;
use tollgate_gate::{Bounds, Json, Name, Object, Payload, Rewriting};

/// Why a message of a host is not understood. None of these lets anything pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is no JSON object.
    #[error("the host's message is no JSON object")]
    NoObject,
    /// A field is missing or of another type.
    #[error("the host's message has no {expected} `{field}`")]
    Field {
        /// The field.
        field: &'static str,
        /// The type it must have.
        expected: &'static str,
    },
    /// It does not say which event it is about.
    #[error("the host's message does not say which event it is about")]
    NoEvent,
    /// An event that this version does not know.
    #[error("the event `{0}` is not known to this version of tollgate")]
    UnknownEvent(String),
}

/// A message, read.
#[derive(Debug, Clone)]
pub struct Heard {
    /// The event, as the host names it.
    pub event: &'static EventFacts,
    /// Who acts, in the host's words.
    pub who: Who,
    /// What the gate is to judge; `None` where nothing is.
    pub payload: Option<Payload>,
    /// What the host lets a decision do here.
    pub bounds: Bounds,
    /// Whether the host can show its user a question about this call.
    pub can_ask: bool,
    /// What the person is told when the session starts.
    pub notice: Option<String>,
    /// The message as it came: answers take the shape of what they replace.
    pub message: Object,
}

/// Who acts, in the host's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// The host's session.
    pub session: Name,
    /// The sub-agent's id, inside of one.
    pub agent_id: Option<Name>,
    /// The sub-agent's kind.
    pub agent_type: Option<Name>,
    /// Where the agent works at this moment.
    pub cwd: Option<Name>,
    /// The host's permission mode.
    pub mode: Option<Name>,
}

/// A host shows what came of a call and lets nothing be changed.
pub(crate) const SHOWN_ONLY: Bounds = Bounds { rewriting: Rewriting::Nothing, goes_on: true };
/// A text can be continued or refused.
pub(crate) const APPEND: Bounds = Bounds { rewriting: Rewriting::Append, goes_on: false };
/// A text can be continued, and nothing refused.
pub(crate) const APPEND_ONLY: Bounds = Bounds { rewriting: Rewriting::Append, goes_on: true };
/// It can be refused, and not changed.
pub(crate) const REFUSE_ONLY: Bounds = Bounds { rewriting: Rewriting::Nothing, goes_on: false };

/// The fields of a message.
pub(crate) struct Fields<'m>(pub(crate) &'m Object);

impl<'m> Fields<'m> {
    /// The event that a message is about, as it says itself or else as the hook was told when it was
    /// started.
    pub(crate) fn event(
        &self,
        told: Option<&str>,
        find: impl Fn(&str) -> Option<&'static EventFacts>,
    ) -> Result<&'static EventFacts, Unreadable> {
        let name = self.text("hook_event_name").or(told).ok_or(Unreadable::NoEvent)?;
        find(name).ok_or_else(|| Unreadable::UnknownEvent(name.to_owned()))
    }

    pub(crate) fn text(&self, field: &str) -> Option<&'m str> {
        self.0.get(field).and_then(Json::as_str)
    }

    pub(crate) fn name(&self, field: &str) -> Option<Name> {
        self.text(field).filter(|text| !text.is_empty()).map(Name::from)
    }

    pub(crate) fn need(&self, field: &'static str) -> Result<&'m str, Unreadable> {
        self.text(field).ok_or(Unreadable::Field { field, expected: "text" })
    }

    pub(crate) fn object(&self, field: &'static str) -> Result<Json, Unreadable> {
        let found = self.0.get(field).filter(|value| value.as_object().is_some());
        found.cloned().ok_or(Unreadable::Field { field, expected: "object" })
    }

    pub(crate) fn value(&self, field: &str) -> Json {
        self.0.get(field).cloned().unwrap_or_default()
    }
}
