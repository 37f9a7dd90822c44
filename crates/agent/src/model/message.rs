//! Messages, requests and replies, and their JSON form, which is what hooks see and may rewrite.
//!
//! The conversion is written by hand because arguments are [`Json`]: a number that a model wrote must
//! come out as it went in. Reading back refuses what it does not understand, for a rewrite that leaves
//! no request behind must not reach a model half understood.

use std::sync::Arc;
use tollgate_gate::{Failure, Json, Name, Object, ToolResult};

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The program.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl Role {
    /// The word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }

    fn from_name(name: &str) -> Option<Role> {
        [Role::System, Role::User, Role::Assistant, Role::Tool]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Instructions.
    System(String),
    /// What the person says.
    User(String),
    /// What the model said.
    Assistant(Reply),
    /// What a tool call gave back.
    Tool {
        /// The call that it answers.
        call_id: Option<Name>,
        /// The tool.
        tool: Name,
        /// Whether the call ended well.
        ok: bool,
        /// The content, or `{code, message, tool}` of a call that ended badly.
        content: Arc<Json>,
    },
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The text; empty when there is none.
    pub text: String,
    /// The tool calls that it asks for.
    pub calls: Vec<RequestedCall>,
}

/// A tool call that a model asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedCall {
    /// The call's id, by which the result is paired.
    pub id: Name,
    /// The tool.
    pub tool: Name,
    /// The arguments. A text instead of an object: what the model wrote was no JSON.
    pub arguments: Arc<Json>,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The model.
    pub model: Name,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools, each as `{name, description, parameters}`.
    pub tools: Vec<Json>,
    /// Further members (a temperature, a limit of tokens), as the client understands them.
    pub extra: Object,
}

/// The members of a request that are not further ones.
const REQUEST_MEMBERS: [&str; 3] = ["model", "messages", "tools"];

/// A JSON value that is no message, reply or request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {expected}")]
pub struct ShapeError {
    place: String,
    expected: &'static str,
}

impl ShapeError {
    fn at(place: impl Into<String>, expected: &'static str) -> ShapeError {
        ShapeError { place: place.into(), expected }
    }

    fn within(mut self, place: &str) -> ShapeError {
        self.place = format!("{place}.{}", self.place);
        self
    }
}

impl Message {
    /// The message that answers a tool call.
    pub fn of_result(call_id: Option<Name>, tool: Name, result: &ToolResult) -> Message {
        let content = match &result.error {
            Some(error) if !result.ok => Arc::new(failed(error, &result.content)),
            Some(_) | None => Arc::clone(&result.content),
        };
        Message::Tool { call_id, tool, ok: result.ok, content }
    }

    /// Who says it.
    pub fn role(&self) -> Role {
        match self {
            Message::System(_) => Role::System,
            Message::User(_) => Role::User,
            Message::Assistant(_) => Role::Assistant,
            Message::Tool { .. } => Role::Tool,
        }
    }

    /// Its JSON form.
    pub fn to_json(&self) -> Json {
        let mut out = Object::new();
        out.insert("role", self.role().name());
        match self {
            Message::System(text) | Message::User(text) => {
                out.insert("content", text.as_str());
            }
            Message::Assistant(reply) => {
                out.insert("content", reply.text.as_str());
                out.insert("tool_calls", reply.calls_json());
            }
            Message::Tool { call_id, tool, ok, content } => {
                out.insert("call_id", call_id.as_deref());
                out.insert("tool", &**tool);
                out.insert("ok", *ok);
                out.insert("content", Json::clone(content));
            }
        }
        out.into()
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// [`ShapeError`] names the member that is missing or of the wrong type.
    pub fn from_json(value: &Json) -> Result<Message, ShapeError> {
        let role = value.get("role").and_then(Json::as_str).and_then(Role::from_name);
        let role = role.ok_or_else(|| {
            ShapeError::at("role", "must be `system`, `user`, `assistant` or `tool`")
        })?;
        let text = || text_at(value, "content");
        Ok(match role {
            Role::System => Message::System(text()?),
            Role::User => Message::User(text()?),
            Role::Assistant => {
                Message::Assistant(Reply { text: text()?, calls: Reply::calls_from(value)? })
            }
            Role::Tool => Message::Tool {
                call_id: value.get("call_id").and_then(Json::as_str).map(Name::from),
                tool: text_at(value, "tool")?.into(),
                ok: value
                    .get("ok")
                    .and_then(Json::as_bool)
                    .ok_or_else(|| ShapeError::at("ok", "must be a boolean"))?,
                content: Arc::new(value.get("content").cloned().unwrap_or_default()),
            },
        })
    }

    /// Reads a list of messages; a text alone is what the person says.
    ///
    /// # Errors
    /// [`ShapeError`] with the place of the message that is none.
    pub fn list_from_json(value: &Json) -> Result<Vec<Message>, ShapeError> {
        if let Some(text) = value.as_str() {
            return Ok(vec![Message::User(text.to_owned())]);
        }
        let items = value
            .as_array()
            .ok_or_else(|| ShapeError::at("messages", "must be a text or a list of messages"))?;
        let read = |(at, item): (usize, &Json)| {
            Message::from_json(item).map_err(|error| error.within(&format!("messages[{at}]")))
        };
        items.iter().enumerate().map(read).collect()
    }

    /// The JSON form of a list of messages.
    pub fn list_to_json(messages: &[Message]) -> Json {
        Json::Array(messages.iter().map(Message::to_json).collect())
    }
}

impl Reply {
    /// Its JSON form: `reply` and `tool_calls`.
    pub fn to_json(&self) -> Json {
        let mut out = Object::new();
        out.insert("reply", self.text.as_str());
        out.insert("tool_calls", self.calls_json());
        out.into()
    }

    /// Reads the JSON form; a `reply` of `null` is an empty text.
    ///
    /// # Errors
    /// [`ShapeError`] names the member that is missing or of the wrong type.
    pub fn from_json(value: &Json) -> Result<Reply, ShapeError> {
        let text = match value.get("reply") {
            None | Some(Json::Null) => String::new(),
            Some(_) => text_at(value, "reply")?,
        };
        Ok(Reply { text, calls: Reply::calls_from(value)? })
    }

    fn calls_json(&self) -> Json {
        let call = |call: &RequestedCall| {
            let mut out = Object::new();
            out.insert("id", &*call.id);
            out.insert("tool", &*call.tool);
            out.insert("arguments", Json::clone(&call.arguments));
            Json::from(out)
        };
        Json::Array(self.calls.iter().map(call).collect())
    }

    fn calls_from(value: &Json) -> Result<Vec<RequestedCall>, ShapeError> {
        let Some(calls) = value.get("tool_calls").filter(|calls| !calls.is_null()) else {
            return Ok(Vec::new());
        };
        let calls =
            calls.as_array().ok_or_else(|| ShapeError::at("tool_calls", "must be a list"))?;
        let read = |(at, call): (usize, &Json)| {
            RequestedCall::from_json(call)
                .map_err(|error| error.within(&format!("tool_calls[{at}]")))
        };
        calls.iter().enumerate().map(read).collect()
    }
}

impl RequestedCall {
    fn from_json(value: &Json) -> Result<RequestedCall, ShapeError> {
        Ok(RequestedCall {
            id: text_at(value, "id")?.into(),
            tool: text_at(value, "tool")?.into(),
            arguments: Arc::new(value.get("arguments").cloned().unwrap_or_default()),
        })
    }
}

impl ModelRequest {
    /// Its JSON form: `model`, `messages` and `tools`.
    pub fn to_json(&self) -> Json {
        let mut out = Object::new();
        out.insert("model", &*self.model);
        out.insert("messages", Message::list_to_json(&self.messages));
        out.insert("tools", Json::Array(self.tools.clone()));
        for (key, value) in self.extra.iter() {
            // A further member never takes the place of one of these.
            if !REQUEST_MEMBERS.contains(&key) {
                out.insert(key, value.clone());
            }
        }
        out.into()
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// [`ShapeError`] names the member that is missing or of the wrong type.
    pub fn from_json(value: &Json) -> Result<ModelRequest, ShapeError> {
        let messages = value.get("messages").unwrap_or(&Json::Null);
        let tools = value.get("tools").and_then(Json::as_array).unwrap_or_default();
        Ok(ModelRequest {
            model: text_at(value, "model")?.into(),
            messages: Message::list_from_json(messages)?,
            tools: tools.to_vec(),
            extra: value
                .as_object()
                .into_iter()
                .flat_map(Object::iter)
                .filter(|(key, _)| !REQUEST_MEMBERS.contains(key))
                .map(|(key, value)| (key, value.clone()))
                .collect(),
        })
    }
}

fn text_at(value: &Json, key: &str) -> Result<String, ShapeError> {
    let text = value.get(key).and_then(Json::as_str);
    text.map(str::to_owned).ok_or_else(|| ShapeError::at(key, "must be a text"))
}

/// `{code, message, tool}`, and the content where there is some.
fn failed(error: &Failure, content: &Json) -> Json {
    let mut out = Object::new();
    out.insert("code", error.code.as_str());
    out.insert("message", &*error.message);
    out.insert("tool", &*error.tool);
    if !content.is_null() {
        out.insert("content", content.clone());
    }
    out.into()
}
