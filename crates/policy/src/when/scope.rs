//! What a condition sees: the variables, their fields and types, and at which events they exist.
//!
//! One closed table ([`FIELDS`]) is read by the check at load and by the page that documents it. What
//! stands in it is never a whole object, so that nothing is built to read one field.

use super::value::Type;
use serde::{Deserialize, Serialize};
use tollgate_gate::{EventKind, KindSet};

/// A field of the event with a place of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Known {
    EventKind,
    EventId,
    EventTags,
    EventAt,
    EventTool,
    EventServer,
    Args,
    OriginalArgs,
    OriginalModel,
    OriginalMessages,
    Call,
    Model,
    Messages,
    ResultOk,
    ResultContent,
    ResultExecuted,
    ResultError,
    ResultErrorCode,
    ResultErrorMessage,
    ResultErrorTool,
    SessionId,
    SessionRoot,
    SessionParent,
    SessionCwd,
    SessionWorkspace,
    SessionHost,
    SessionAgent,
    SessionTenant,
    SessionUser,
    SessionLabels,
    Tree(Count),
    Own(Count),
    UserName,
    UserGroups,
    Tenant,
}

impl Known {
    /// Whether this is a JSON value of the event, which paths lead into.
    pub(super) const fn is_json(self) -> bool {
        matches!(self, Known::Args | Known::OriginalArgs | Known::Call)
    }
}

/// What is counted in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Count {
    ToolCalls,
    ToolCallsExecuted,
    ToolCallsRefused,
    ModelCalls,
    TokensIn,
    TokensOut,
    Tokens,
    CostMicros,
}

/// Every counter by its name.
pub(super) const COUNTS: [(&str, Count); 8] = [
    ("tool_calls", Count::ToolCalls),
    ("tool_calls_executed", Count::ToolCallsExecuted),
    ("tool_calls_refused", Count::ToolCallsRefused),
    ("model_calls", Count::ModelCalls),
    ("tokens_in", Count::TokensIn),
    ("tokens_out", Count::TokensOut),
    ("tokens", Count::Tokens),
    ("cost_micros", Count::CostMicros),
];

/// What a name with its fields (`session.cwd`) stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// A value.
    Value {
        known: Known,
        kind: Type,
        /// Whether it may be absent.
        optional: bool,
    },
    /// An object that has only the fields of the table; `Some` when `has()` can ask for it.
    Object(Option<Known>),
}

/// At which events a variable exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Everywhere,
    Tools,
    Models,
    Calls,
    Results,
}

impl Where {
    /// Whether it exists at this kind.
    pub(super) const fn includes(self, kind: EventKind) -> bool {
        let tool = matches!(kind, EventKind::PreTool | EventKind::PostTool | EventKind::ToolError);
        let model = matches!(kind, EventKind::PreModel | EventKind::PostModel);
        match self {
            Where::Everywhere => true,
            Where::Tools => tool,
            Where::Models => model,
            Where::Calls => tool || model,
            Where::Results => {
                (tool || model) && !matches!(kind, EventKind::PreTool | EventKind::PreModel)
            }
        }
    }
}

/// A field: its full name, what it is, its type, whether it may be absent, where it exists.
type Row = (&'static str, Known, Type, bool, Where);

const fn row(name: &'static str, known: Known, kind: Type, place: Where) -> Row {
    (name, known, kind, false, place)
}

const fn optional(name: &'static str, known: Known, kind: Type, place: Where) -> Row {
    (name, known, kind, true, place)
}

/// Every field with a place of its own, counters aside.
pub(super) const FIELDS: [Row; 32] = [
    row("event.kind", Known::EventKind, Type::Text, Where::Everywhere),
    row("event.id", Known::EventId, Type::Text, Where::Everywhere),
    row("event.tags", Known::EventTags, Type::Texts, Where::Everywhere),
    row("event.at", Known::EventAt, Type::Timestamp, Where::Everywhere),
    row("event.tool", Known::EventTool, Type::Text, Where::Tools),
    optional("event.server", Known::EventServer, Type::Text, Where::Tools),
    row("args", Known::Args, Type::Map, Where::Tools),
    row("call", Known::Call, Type::Map, Where::Tools),
    row("original.args", Known::OriginalArgs, Type::Map, Where::Tools),
    row("original.model", Known::OriginalModel, Type::Text, Where::Models),
    row("original.messages", Known::OriginalMessages, Type::List, Where::Models),
    row("model", Known::Model, Type::Text, Where::Models),
    row("messages", Known::Messages, Type::List, Where::Models),
    row("result.ok", Known::ResultOk, Type::Bool, Where::Results),
    row("result.content", Known::ResultContent, Type::Any, Where::Results),
    row("result.executed", Known::ResultExecuted, Type::Bool, Where::Results),
    row("result.error.code", Known::ResultErrorCode, Type::Text, Where::Results),
    row("result.error.message", Known::ResultErrorMessage, Type::Text, Where::Results),
    row("result.error.tool", Known::ResultErrorTool, Type::Text, Where::Results),
    row("session.id", Known::SessionId, Type::Text, Where::Everywhere),
    row("session.root", Known::SessionRoot, Type::Text, Where::Everywhere),
    optional("session.parent", Known::SessionParent, Type::Text, Where::Everywhere),
    optional("session.cwd", Known::SessionCwd, Type::Text, Where::Everywhere),
    optional("session.workspace", Known::SessionWorkspace, Type::Text, Where::Everywhere),
    optional("session.host", Known::SessionHost, Type::Text, Where::Everywhere),
    optional("session.agent", Known::SessionAgent, Type::Text, Where::Everywhere),
    optional("session.tenant", Known::SessionTenant, Type::Text, Where::Everywhere),
    optional("session.user", Known::SessionUser, Type::Text, Where::Everywhere),
    row("session.labels", Known::SessionLabels, Type::Texts, Where::Everywhere),
    row("user.name", Known::UserName, Type::Text, Where::Everywhere),
    row("user.groups", Known::UserGroups, Type::Texts, Where::Everywhere),
    row("tenant", Known::Tenant, Type::Text, Where::Everywhere),
];

/// The variables and where each exists.
pub(super) const VARIABLES: [(&str, Where); 10] = [
    ("event", Where::Everywhere),
    ("args", Where::Tools),
    ("result", Where::Results),
    ("session", Where::Everywhere),
    ("user", Where::Everywhere),
    ("tenant", Where::Everywhere),
    ("call", Where::Tools),
    ("original", Where::Calls),
    ("model", Where::Models),
    ("messages", Where::Models),
];

/// The place of this full name, and where it exists; `None` when there is none.
pub(super) fn place(name: &str) -> Option<(Place, Where)> {
    match name {
        "event" | "session" | "session.own" | "user" => {
            return Some((Place::Object(None), Where::Everywhere));
        }
        "original" => return Some((Place::Object(None), Where::Calls)),
        "result" => return Some((Place::Object(None), Where::Results)),
        "result.error" => {
            return Some((Place::Object(Some(Known::ResultError)), Where::Results));
        }
        _ => {}
    }
    if let Some((_, known, kind, optional, place)) = FIELDS.iter().find(|row| row.0 == name) {
        let (known, kind, optional) = (*known, *kind, *optional);
        return Some((Place::Value { known, kind, optional }, *place));
    }
    let counter = name.strip_prefix("session.")?;
    let (own, counter) = match counter.strip_prefix("own.") {
        Some(counter) => (true, counter),
        None => (false, counter),
    };
    let (_, count) = COUNTS.iter().find(|(name, _)| *name == counter)?;
    let known = if own { Known::Own(*count) } else { Known::Tree(*count) };
    Some((Place::Value { known, kind: Type::Int, optional: false }, Where::Everywhere))
}

/// The names of the fields of this object, for remedies and the page.
pub(super) fn fields_of(object: &str) -> Vec<&'static str> {
    let below = |name: &'static str| {
        let rest = name.strip_prefix(object)?.strip_prefix('.')?;
        rest.split('.').next()
    };
    let mut fields: Vec<&str> = FIELDS.iter().filter_map(|row| below(row.0)).collect();
    if matches!(object, "session" | "session.own") {
        fields.extend(COUNTS.iter().map(|(name, _)| *name));
    }
    if object == "session" {
        fields.push("own");
    }
    fields.dedup();
    fields
}

/// The kinds among `kinds` at which something does not exist.
pub(super) fn missing(place: Where, kinds: KindSet) -> Vec<&'static str> {
    kinds.iter().filter(|kind| !place.includes(*kind)).map(EventKind::name).collect()
}
