//! The public wire form of events and payloads, read strictly and written exactly.
//!
//! Reading is by hand, field by field, so that unknown fields are kept, numbers survive and every
//! error names its place. What is read here is what an agent in any language sends; the schema in
//! `schema/` says the same.

use crate::clock::Timestamp;
use crate::code::Code;
use crate::event::{Event, EventId, Name, WIRE_VERSION};
use crate::json::{Json, Object, ReadError};
use crate::kind::EventKind;
use crate::limits::{NAME_BYTES_MAX, TAGS_MAX};
use crate::path::{failure_json, result_json};
use crate::payload::{
    Abortion, Ending, Failure, MemoryLoad, ModelCall, ModelOutcome, Opening, Payload, PromptBuild,
    Report, ToolCall, ToolOutcome, ToolResult, Usage,
};
use crate::session::Session;
use std::sync::Arc;

/// Why a text is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// It is not strict JSON.
    #[error(transparent)]
    Json(#[from] ReadError),
    /// A field is missing.
    #[error("event field `{0}` is missing")]
    Missing(String),
    /// A field has the wrong type or a value that it cannot have.
    #[error("event field `{field}` must be {expected}, found {found}")]
    Wrong {
        /// The field, with the way to it.
        field: String,
        /// What it must be.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// The event is of a later major version.
    #[error("event version {0} is not known; this gate reads version {WIRE_VERSION}")]
    Version(u64),
}

impl Event {
    /// Reads an event from JSON text. `now` is its time if it names none.
    ///
    /// # Errors
    /// [`EventError`] names the field and what it must be.
    pub fn read(text: &[u8], now: Timestamp) -> Result<Event, EventError> {
        Event::from_json(Json::read(text)?, now)
    }

    /// Reads an event from a JSON value. `now` is its time if it names none.
    ///
    /// # Errors
    /// [`EventError`] names the field and what it must be.
    pub fn from_json(value: Json, now: Timestamp) -> Result<Event, EventError> {
        let mut fields = Fields::of(value, "")?;
        match fields.take_u64("version")? {
            None => {}
            Some(version) if version == u64::from(WIRE_VERSION) => {}
            Some(version) => return Err(EventError::Version(version)),
        }
        let kind_word = fields.require_name("kind")?;
        let kind = EventKind::from_name(&kind_word).ok_or_else(|| unknown_kind(&kind_word))?;
        let at = match fields.take_name("at")? {
            None => now,
            Some(text) => Timestamp::parse(&text)
                .ok_or_else(|| wrong("at", "a time of RFC 3339", &Json::from(&*text)))?,
        };
        let id = fields.take_name("id")?.map_or_else(|| EventId::made(at), EventId::Given);
        let tags = fields.take_names("tags")?;
        if tags.len() > TAGS_MAX {
            let found = format!("{} tags", tags.len());
            let (field, expected) = ("tags".to_owned(), "at most 64 tags");
            return Err(EventError::Wrong { field, expected, found });
        }
        let session = match fields.take("session") {
            None => return Err(EventError::Missing("session".to_owned())),
            Some(session) => read_session(Fields::of(session, "session")?)?,
        };
        let payload = fields.take("payload").unwrap_or_else(|| Object::new().into());
        refuse_beside_payload(kind, &fields)?;
        let payload = read_payload(kind, Fields::of(payload, "payload")?)?;
        Ok(Event {
            id,
            at,
            session: Arc::new(session),
            payload,
            tags,
            bounds: Default::default(),
            extra: fields.rest,
        })
    }

    /// The wire form.
    pub fn to_json(&self) -> Json {
        let mut out = Object::new();
        out.insert("version", u64::from(WIRE_VERSION));
        out.insert("id", self.id.to_string());
        out.insert("at", self.at.to_string());
        out.insert("kind", self.kind().name());
        out.insert("tags", self.tags.iter().map(|tag| Json::from(&**tag)).collect::<Vec<_>>());
        out.insert("session", session_json(&self.session));
        out.insert("payload", payload_json(&self.payload, None));
        extend(&mut out, &self.extra);
        out.into()
    }
}

/// The fields of one object while it is read: each is taken out, the rest is kept.
struct Fields {
    rest: Object,
    place: &'static str,
}

/// What stands in a field is named and never quoted: it may be a datum that no hook has seen.
fn wrong(field: &str, expected: &'static str, found: &Json) -> EventError {
    let found = match found.as_str() {
        Some(text) => format!("a text of {} bytes", text.len()),
        None => found.type_name().to_owned(),
    };
    EventError::Wrong { field: field.to_owned(), expected, found }
}

/// A kind that does not exist, quoted where it is a plain word: another spelling is the usual mistake.
fn unknown_kind(word: &str) -> EventError {
    let is_plain = word.len() <= 32 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    if !is_plain {
        return wrong("kind", "an event kind", &Json::from(word));
    }
    let found = format!("`{word}`");
    EventError::Wrong { field: "kind".to_owned(), expected: "an event kind", found }
}

/// Optional parts of a tool call that stand beside the payload would be kept as unknown fields, and
/// no hook would look at them: what is known under the wrong roof is an error.
fn refuse_beside_payload(kind: EventKind, fields: &Fields) -> Result<(), EventError> {
    if !matches!(kind, EventKind::PreTool | EventKind::PostTool | EventKind::ToolError) {
        return Ok(());
    }
    let misplaced = ["call", "arguments", "server"]
        .into_iter()
        .find(|key| fields.rest.get(key).is_some_and(|value| !value.is_null()));
    let Some(key) = misplaced else { return Ok(()) };
    let (field, found) = (key.to_owned(), "beside it".to_owned());
    Err(EventError::Wrong { field, expected: "inside of `payload`", found })
}

impl Fields {
    fn of(value: Json, place: &'static str) -> Result<Fields, EventError> {
        if let Json::Object(rest) = value {
            return Ok(Fields { rest, place });
        }
        let field = if place.is_empty() { "event" } else { place };
        Err(wrong(field, "an object", &value))
    }

    fn named(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// Takes a field; `null` counts as absent.
    fn take(&mut self, key: &str) -> Option<Json> {
        self.rest.remove(key).filter(|value| !value.is_null())
    }

    /// Takes a field of any value, `null` included; absent is `null`.
    fn take_shared(&mut self, key: &str) -> Arc<Json> {
        Arc::new(self.rest.remove(key).unwrap_or_default())
    }

    fn take_name(&mut self, key: &str) -> Result<Option<Name>, EventError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::String(text)) if text.len() <= NAME_BYTES_MAX => Ok(Some(text.into())),
            Some(text @ Json::String(_)) => {
                Err(wrong(&self.named(key), "a text of at most 1024 bytes", &text))
            }
            Some(other) => Err(wrong(&self.named(key), "a text", &other)),
        }
    }

    fn require_name(&mut self, key: &str) -> Result<Name, EventError> {
        let name = self.take_name(key)?.filter(|name| !name.is_empty());
        name.ok_or_else(|| EventError::Missing(self.named(key)))
    }

    /// A text of any length up to the reader's cap.
    fn take_text(&mut self, key: &str) -> Result<Arc<str>, EventError> {
        match self.take(key) {
            None => Ok("".into()),
            Some(Json::String(text)) => Ok(text.into()),
            Some(other) => Err(wrong(&self.named(key), "a text", &other)),
        }
    }

    fn take_names(&mut self, key: &str) -> Result<Vec<Name>, EventError> {
        let named = self.named(key);
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Json::Array(items)) => items
                .into_iter()
                .map(|item| match item.as_str() {
                    Some(text) if text.len() <= NAME_BYTES_MAX => Ok(text.into()),
                    _ => Err(wrong(&named, "an array of short texts", &item)),
                })
                .collect(),
            Some(other) => Err(wrong(&named, "an array of texts", &other)),
        }
    }

    fn take_u64(&mut self, key: &str) -> Result<Option<u64>, EventError> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(&self.named(key), "a whole number, zero or more", &value)),
            },
        }
    }

    fn take_bool(&mut self, key: &str) -> Result<Option<bool>, EventError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(wrong(&self.named(key), "true or false", &other)),
        }
    }

    fn take_array(&mut self, key: &str) -> Result<Option<Json>, EventError> {
        match self.take(key) {
            None => Ok(None),
            Some(array @ Json::Array(_)) => Ok(Some(array)),
            Some(other) => Err(wrong(&self.named(key), "an array", &other)),
        }
    }
}

fn read_session(mut fields: Fields) -> Result<Session, EventError> {
    Ok(Session {
        id: fields.require_name("id")?,
        tenant: fields.take_name("tenant")?,
        user: fields.take_name("user")?,
        agent: fields.take_name("agent")?,
        parent: fields.take_name("parent")?,
        root: fields.take_name("root")?,
        cwd: fields.take_name("cwd")?,
        workspace: fields.take_name("workspace")?,
        host: fields.take_name("host")?,
        extra: fields.rest,
    })
}

fn read_payload(kind: EventKind, mut fields: Fields) -> Result<Payload, EventError> {
    Ok(match kind {
        EventKind::AgentStart => {
            Opening { context: fields.take_shared("context"), extra: fields.rest }.into()
        }
        EventKind::PromptBuild => {
            PromptBuild { prompt: fields.take_shared("prompt"), extra: fields.rest }.into()
        }
        EventKind::MemoryLoad => MemoryLoad {
            memory: fields.take_shared("memory"),
            source: fields.take_name("source")?,
            extra: fields.rest,
        }
        .into(),
        EventKind::PreModel => read_model_call(fields)?.into(),
        EventKind::PostModel => read_model_outcome(fields)?.into(),
        EventKind::PreTool => read_tool_call(fields)?.into(),
        EventKind::PostTool => read_tool_outcome(fields, true)?.into(),
        EventKind::ToolError => read_tool_outcome(fields, false)?.into(),
        EventKind::AgentEnd => {
            Ending { answer: fields.take_shared("answer"), extra: fields.rest }.into()
        }
        EventKind::AgentAbort => Abortion {
            code: fields.take_name("code")?,
            reason: fields.take_text("reason")?,
            extra: fields.rest,
        }
        .into(),
        EventKind::Error => Report {
            source: fields.take_name("source")?,
            message: fields.take_text("message")?,
            extra: fields.rest,
        }
        .into(),
    })
}

fn read_tool_call(mut fields: Fields) -> Result<ToolCall, EventError> {
    let arguments = match fields.take("arguments") {
        None => Json::from(Object::new()),
        Some(object @ Json::Object(_)) => object,
        Some(other) => return Err(wrong("payload.arguments", "an object", &other)),
    };
    let call = match fields.take("call") {
        None => None,
        Some(object @ Json::Object(_)) => Some(Arc::new(object)),
        Some(other) => return Err(wrong("payload.call", "an object", &other)),
    };
    Ok(ToolCall {
        tool: fields.require_name("tool")?,
        server: fields.take_name("server")?,
        call_id: fields.take_name("call_id")?,
        arguments: Arc::new(arguments),
        call,
        reader: None,
        extra: fields.rest,
    })
}

fn read_tool_outcome(mut fields: Fields, ok: bool) -> Result<ToolOutcome, EventError> {
    let result =
        fields.take("result").ok_or_else(|| EventError::Missing("payload.result".into()))?;
    let call = read_tool_call(fields)?;
    let mut result = Fields::of(result, "payload.result")?;
    if let Some(said) = result.take_bool("ok")?
        && said != ok
    {
        let expected = if ok { "true at post_tool" } else { "false at tool_error" };
        return Err(wrong("payload.result.ok", expected, &Json::Bool(said)));
    }
    let error = read_failure(&mut result, "payload.result.error", &call.tool)?;
    if !ok && error.is_none() {
        return Err(EventError::Missing("payload.result.error".to_owned()));
    }
    let result = ToolResult {
        ok,
        content: result.take_shared("content"),
        error,
        executed: result.take_bool("executed")?.unwrap_or(true),
        usage: read_usage(&mut result)?,
    };
    Ok(ToolOutcome { call: Arc::new(call), result })
}

fn read_failure(
    fields: &mut Fields,
    place: &'static str,
    tool: &Name,
) -> Result<Option<Failure>, EventError> {
    match fields.take("error") {
        None => Ok(None),
        Some(Json::String(message)) => Ok(Some(Failure {
            code: Code::ToolError,
            message: message.into(),
            tool: Name::clone(tool),
        })),
        Some(error) => {
            let mut error = Fields::of(error, place)?;
            let code = error.take_name("code")?;
            Ok(Some(Failure {
                code: code.map_or(Code::ToolError, |code| Code::from(&*code)),
                message: error.take_text("message")?,
                tool: error.take_name("tool")?.unwrap_or_else(|| Name::clone(tool)),
            }))
        }
    }
}

fn read_usage(fields: &mut Fields) -> Result<Usage, EventError> {
    let Some(usage) = fields.take("usage") else {
        return Ok(Usage::default());
    };
    let mut usage = Fields::of(usage, "payload.usage")?;
    Ok(Usage {
        tokens_in: usage.take_u64("tokens_in")?.unwrap_or(0),
        tokens_out: usage.take_u64("tokens_out")?.unwrap_or(0),
        cost_micros: usage.take_u64("cost_micros")?.unwrap_or(0),
    })
}

fn read_model_call(mut fields: Fields) -> Result<ModelCall, EventError> {
    let mut request = Object::new();
    request.insert("model", &*fields.require_name("model")?);
    request.insert("messages", fields.take_array("messages")?.unwrap_or(Json::Array(Vec::new())));
    if let Some(tools) = fields.take_array("tools")? {
        request.insert("tools", tools);
    }
    Ok(ModelCall {
        provider: fields.take_name("provider")?,
        call_id: fields.take_name("call_id")?,
        request: Arc::new(request.into()),
        extra: fields.rest,
    })
}

fn read_model_outcome(mut fields: Fields) -> Result<ModelOutcome, EventError> {
    let mut reply = Object::new();
    reply.insert("reply", fields.take("reply"));
    reply.insert("tool_calls", fields.take_array("tool_calls")?.unwrap_or(Json::Array(Vec::new())));
    let usage = read_usage(&mut fields)?;
    let executed = fields.take_bool("executed")?.unwrap_or(true);
    let model = fields.rest.get("model").and_then(Json::as_str).unwrap_or_default().into();
    let error = read_failure(&mut fields, "payload.error", &model)?;
    let ok = fields.take_bool("ok")?.unwrap_or(error.is_none());
    let call = Arc::new(read_model_call(fields)?);
    Ok(ModelOutcome { call, reply: Arc::new(reply.into()), ok, executed, error, usage })
}

pub(crate) fn session_json(session: &Session) -> Json {
    let mut out = Object::new();
    out.insert("id", &*session.id);
    for (key, value) in [
        ("tenant", &session.tenant),
        ("user", &session.user),
        ("agent", &session.agent),
        ("parent", &session.parent),
        ("root", &session.root),
        ("cwd", &session.cwd),
        ("workspace", &session.workspace),
        ("host", &session.host),
    ] {
        out.insert(key, value.as_deref());
    }
    extend(&mut out, &session.extra);
    out.into()
}

/// The wire form of a payload; `result` is what a before-event's decision gives the model, where it
/// does not go through.
pub(crate) fn payload_json(payload: &Payload, result: Option<&ToolResult>) -> Json {
    let mut out = Object::new();
    match payload {
        Payload::AgentStart(opening) => put(&mut out, "context", &opening.context, &opening.extra),
        Payload::PromptBuild(prompt) => put(&mut out, "prompt", &prompt.prompt, &prompt.extra),
        Payload::MemoryLoad(memory) => {
            out.insert("source", memory.source.as_deref());
            put(&mut out, "memory", &memory.memory, &memory.extra);
        }
        Payload::PreModel(call) => put_model_call(&mut out, call),
        Payload::PostModel(outcome) => put_model_outcome(&mut out, outcome),
        Payload::PreTool(call) => put_tool_call(&mut out, call),
        Payload::PostTool(outcome) | Payload::ToolError(outcome) => {
            put_tool_call(&mut out, &outcome.call);
            out.insert("result", tool_result_json(&outcome.result));
        }
        Payload::AgentEnd(ending) => put(&mut out, "answer", &ending.answer, &ending.extra),
        Payload::AgentAbort(abortion) => {
            out.insert("code", abortion.code.as_deref());
            out.insert("reason", &*abortion.reason);
            extend(&mut out, &abortion.extra);
        }
        Payload::Error(report) => {
            out.insert("source", report.source.as_deref());
            out.insert("message", &*report.message);
            extend(&mut out, &report.extra);
        }
    }
    if let Some(result) = result {
        out.insert("result", tool_result_json(result));
    }
    out.into()
}

fn put(out: &mut Object, key: &str, part: &Arc<Json>, extra: &Object) {
    out.insert(key, Json::clone(part));
    extend(out, extra);
}

fn extend(out: &mut Object, extra: &Object) {
    out.extend_missing(extra);
}

fn put_tool_call(out: &mut Object, call: &ToolCall) {
    out.insert("tool", &*call.tool);
    out.insert("server", call.server.as_deref());
    out.insert("call_id", call.call_id.as_deref());
    out.insert("arguments", Json::clone(&call.arguments));
    out.insert("call", call.call.as_deref().cloned());
    extend(out, &call.extra);
}

fn put_model_call(out: &mut Object, call: &ModelCall) {
    out.insert("provider", call.provider.as_deref());
    out.insert("call_id", call.call_id.as_deref());
    for (key, value) in call.request.as_object().into_iter().flat_map(Object::iter) {
        out.insert(key, value.clone());
    }
    extend(out, &call.extra);
}

fn put_model_outcome(out: &mut Object, outcome: &ModelOutcome) {
    put_model_call(out, &outcome.call);
    for (key, value) in outcome.reply.as_object().into_iter().flat_map(Object::iter) {
        out.insert(key, value.clone());
    }
    out.insert("ok", outcome.ok);
    out.insert("executed", outcome.executed);
    out.insert("error", outcome.error.as_ref().map(failure_json));
    out.insert("usage", usage_json(&outcome.usage));
}

pub(crate) fn tool_result_json(result: &ToolResult) -> Json {
    let mut out = result_json(result.ok, &result.content, &result.error, result.executed);
    if let Json::Object(object) = &mut out
        && !result.usage.is_zero()
    {
        object.insert("usage", usage_json(&result.usage));
    }
    out
}

pub(crate) fn usage_json(usage: &Usage) -> Json {
    Object::from_iter([
        ("tokens_in", usage.tokens_in),
        ("tokens_out", usage.tokens_out),
        ("cost_micros", usage.cost_micros),
    ])
    .into()
}
