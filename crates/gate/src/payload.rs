//! What an event carries, typed by kind, and the one part of it that a hook may rewrite.
//!
//! Each payload has a *part*: arguments before a tool call, content after it, the request before a
//! model call, and so on. A rewrite replaces the part and can touch nothing else, so no hook can
//! turn one tool's call into another's. Parts are shared, not copied, until something changes them.
//!
//! Fields that this version does not know are kept in `extra` and written back.

use crate::code::Code;
use crate::event::Name;
use crate::json::{Json, Object};
use crate::kind::EventKind;
use std::sync::Arc;

/// The payload of an event; the variant is the event's kind.
///
/// Each is shared: a copy of a payload costs one count, however much it carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// A session opens.
    AgentStart(Arc<Opening>),
    /// The prompt is assembled.
    PromptBuild(Arc<PromptBuild>),
    /// Stored memory enters the context.
    MemoryLoad(Arc<MemoryLoad>),
    /// Before a model call.
    PreModel(Arc<ModelCall>),
    /// After a model call.
    PostModel(Arc<ModelOutcome>),
    /// Before a tool call.
    PreTool(Arc<ToolCall>),
    /// A tool call ended well.
    PostTool(Arc<ToolOutcome>),
    /// A tool call ended badly.
    ToolError(Arc<ToolOutcome>),
    /// The agent finished.
    AgentEnd(Arc<Ending>),
    /// The session was ended.
    AgentAbort(Arc<Abortion>),
    /// Anything else went wrong.
    Error(Arc<Report>),
}

/// A session opens. Part: `context`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Opening {
    /// What the agent starts with: instructions, settings.
    pub context: Arc<Json>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// The prompt is assembled. Part: `prompt`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptBuild {
    /// The prompt: a text, or a list of messages.
    pub prompt: Arc<Json>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// Stored memory enters the context. Part: `memory`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryLoad {
    /// The memory text.
    pub memory: Arc<Json>,
    /// Where it came from.
    pub source: Option<Name>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// A model call. Part: an object with `model`, `messages` and `tools`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelCall {
    /// Who serves the model.
    pub provider: Option<Name>,
    /// The call's id within its session.
    pub call_id: Option<Name>,
    /// `model` (text), `messages` (array), `tools` (array or absent).
    pub request: Arc<Json>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// How a model call ended. Part: an object with `reply` and `tool_calls`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelOutcome {
    /// The call as it ran.
    pub call: Arc<ModelCall>,
    /// `reply` (text) and `tool_calls` (array).
    pub reply: Arc<Json>,
    /// Whether it ended well.
    pub ok: bool,
    /// Whether the model was called at all.
    pub executed: bool,
    /// The failure, when it did not end well.
    pub error: Option<Failure>,
    /// What it used.
    pub usage: Usage,
}

/// A tool call. Part: `arguments`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: Name,
    /// The server that has the tool, for MCP and the like.
    pub server: Option<Name>,
    /// The call's id within its session.
    pub call_id: Option<Name>,
    /// The arguments.
    pub arguments: Arc<Json>,
    /// The canonical reading of a host's own tool, filled by the adapter or the policy.
    pub call: Option<Arc<Json>>,
    /// How the adapter reads it, so that rewritten arguments are read anew.
    pub reader: Option<CallReader>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// How an adapter reads a host's own tool: from tool and arguments to the canonical `call`.
#[derive(Clone, Copy)]
pub struct CallReader(pub fn(&ToolCall) -> Option<Json>);

/// A reader is no part of what an event says.
impl PartialEq for CallReader {
    fn eq(&self, _: &CallReader) -> bool {
        true
    }
}

impl std::fmt::Debug for CallReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallReader")
    }
}

/// How a tool call ended. Part: `result.content` when it ended well; otherwise an object with the
/// error's `message` and the `content`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutcome {
    /// The call as it ran.
    pub call: Arc<ToolCall>,
    /// What came of it.
    pub result: ToolResult,
}

/// What a tool call gives back to the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResult {
    /// Whether it ended well.
    pub ok: bool,
    /// What it gave back.
    pub content: Arc<Json>,
    /// The failure, when it did not end well.
    pub error: Option<Failure>,
    /// Whether the tool ran.
    pub executed: bool,
    /// What it used, where known.
    pub usage: Usage,
}

/// The shape of every failed tool call, whoever refused it: `{code, message, tool}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For programs.
    pub code: Code,
    /// For the model.
    pub message: Arc<str>,
    /// The tool (or model) that was asked for.
    pub tool: Name,
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens read by the model.
    pub tokens_in: u64,
    /// Tokens written by the model.
    pub tokens_out: u64,
    /// Cost in millionths of the currency that the deployment counts in.
    pub cost_micros: u64,
}

/// The agent finished. Part: `answer`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ending {
    /// The final answer.
    pub answer: Arc<Json>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// The session was ended. No part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Abortion {
    /// The code of whoever ended it.
    pub code: Option<Name>,
    /// Why.
    pub reason: Arc<str>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// Something else went wrong. No part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Where: `model`, `loop`, `host` and so on.
    pub source: Option<Name>,
    /// What.
    pub message: Arc<str>,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// A rewrite that does not fit the kind's part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The kind has nothing to rewrite.
    #[error("nothing can be rewritten at `{0}`")]
    NotRewritable(EventKind),
    /// The new part has the wrong shape.
    #[error("a rewrite at `{kind}` must be {expected}")]
    WrongShape {
        /// At which kind.
        kind: EventKind,
        /// The shape it must have.
        expected: &'static str,
    },
}

impl Payload {
    /// The kind of event that carries this.
    pub const fn kind(&self) -> EventKind {
        match self {
            Payload::AgentStart(_) => EventKind::AgentStart,
            Payload::PromptBuild(_) => EventKind::PromptBuild,
            Payload::MemoryLoad(_) => EventKind::MemoryLoad,
            Payload::PreModel(_) => EventKind::PreModel,
            Payload::PostModel(_) => EventKind::PostModel,
            Payload::PreTool(_) => EventKind::PreTool,
            Payload::PostTool(_) => EventKind::PostTool,
            Payload::ToolError(_) => EventKind::ToolError,
            Payload::AgentEnd(_) => EventKind::AgentEnd,
            Payload::AgentAbort(_) => EventKind::AgentAbort,
            Payload::Error(_) => EventKind::Error,
        }
    }

    /// The tool call in it, before or after.
    pub fn tool_call(&self) -> Option<&ToolCall> {
        match self {
            Payload::PreTool(call) => Some(call),
            Payload::PostTool(outcome) | Payload::ToolError(outcome) => Some(&outcome.call),
            Payload::AgentStart(_)
            | Payload::PromptBuild(_)
            | Payload::MemoryLoad(_)
            | Payload::PreModel(_)
            | Payload::PostModel(_)
            | Payload::AgentEnd(_)
            | Payload::AgentAbort(_)
            | Payload::Error(_) => None,
        }
    }

    /// The model call in it, before or after.
    pub fn model_call(&self) -> Option<&ModelCall> {
        if let Payload::PreModel(call) = self {
            return Some(call);
        }
        if let Payload::PostModel(outcome) = self { Some(&outcome.call) } else { None }
    }

    /// The tool result in it, after a tool call.
    pub fn tool_result(&self) -> Option<&ToolResult> {
        if let Payload::PostTool(outcome) | Payload::ToolError(outcome) = self {
            return Some(&outcome.result);
        }
        None
    }

    /// The name by which an index finds hooks for it: the tool, or the model.
    pub fn subject(&self) -> Option<&str> {
        match self.tool_call() {
            Some(call) => Some(&call.tool),
            None => self.model_call().and_then(ModelCall::model),
        }
    }

    /// The part that a hook may rewrite; `None` where nothing can be.
    pub fn part(&self) -> Option<Arc<Json>> {
        Some(match self {
            Payload::AgentStart(opening) => Arc::clone(&opening.context),
            Payload::PromptBuild(prompt) => Arc::clone(&prompt.prompt),
            Payload::MemoryLoad(memory) => Arc::clone(&memory.memory),
            Payload::PreModel(call) => Arc::clone(&call.request),
            Payload::PostModel(outcome) if outcome.ok => Arc::clone(&outcome.reply),
            Payload::PostModel(outcome) => {
                Arc::new(error_part(outcome.error.as_ref(), &outcome.reply))
            }
            Payload::PreTool(call) => Arc::clone(&call.arguments),
            Payload::PostTool(outcome) => Arc::clone(&outcome.result.content),
            Payload::ToolError(outcome) => {
                Arc::new(error_part(outcome.result.error.as_ref(), &outcome.result.content))
            }
            Payload::AgentEnd(ending) => Arc::clone(&ending.answer),
            Payload::AgentAbort(_) | Payload::Error(_) => return None,
        })
    }

    /// A copy of this payload with another part; everything else is shared with this one.
    ///
    /// # Errors
    /// [`PartError`] when the kind has no part or the new one has the wrong shape.
    pub fn with_part(&self, part: impl Into<Arc<Json>>) -> Result<Payload, PartError> {
        let part = part.into();
        self.check_part(&part)?;
        let mut payload = self.clone();
        match &mut payload {
            Payload::AgentStart(opening) => Arc::make_mut(opening).context = part,
            Payload::PromptBuild(prompt) => Arc::make_mut(prompt).prompt = part,
            Payload::MemoryLoad(memory) => Arc::make_mut(memory).memory = part,
            Payload::PreModel(call) => Arc::make_mut(call).request = part,
            Payload::PostModel(outcome) if outcome.ok => Arc::make_mut(outcome).reply = part,
            Payload::PostModel(outcome) => {
                let outcome = Arc::make_mut(outcome);
                set_error_part(&part, &mut outcome.error, &mut outcome.reply);
            }
            Payload::PreTool(call) => {
                let call = Arc::make_mut(call);
                call.arguments = part;
                call.read_anew();
            }
            Payload::PostTool(outcome) => Arc::make_mut(outcome).result.content = part,
            Payload::ToolError(outcome) => {
                let result = &mut Arc::make_mut(outcome).result;
                set_error_part(&part, &mut result.error, &mut result.content);
            }
            Payload::AgentEnd(ending) => Arc::make_mut(ending).answer = part,
            Payload::AgentAbort(_) | Payload::Error(_) => {}
        }
        Ok(payload)
    }

    fn check_part(&self, part: &Json) -> Result<(), PartError> {
        let kind = self.kind();
        let wrong = |expected| Err(PartError::WrongShape { kind, expected });
        let array_or_absent = |key| part.get(key).is_none_or(|v| v.as_array().is_some());
        match kind {
            EventKind::AgentAbort | EventKind::Error => Err(PartError::NotRewritable(kind)),
            EventKind::PreTool if part.as_object().is_none() => wrong("an object of arguments"),
            EventKind::PreModel
                if part.get("model").and_then(Json::as_str).is_none()
                    || !array_or_absent("messages")
                    || !array_or_absent("tools") =>
            {
                wrong("an object with `model` and the arrays `messages` and `tools`")
            }
            EventKind::PostModel
                if self.part_is_error() && part.get("message").and_then(Json::as_str).is_none() =>
            {
                wrong("an object with the text `message` and `content`")
            }
            EventKind::PostModel if !self.part_is_error() && !array_or_absent("tool_calls") => {
                wrong("an object with `reply` and the array `tool_calls`")
            }
            EventKind::ToolError if part.get("message").and_then(Json::as_str).is_none() => {
                wrong("an object with the text `message` and `content`")
            }
            EventKind::AgentStart
            | EventKind::PromptBuild
            | EventKind::MemoryLoad
            | EventKind::PreModel
            | EventKind::PostModel
            | EventKind::PreTool
            | EventKind::PostTool
            | EventKind::ToolError
            | EventKind::AgentEnd => Ok(()),
        }
    }

    fn part_is_error(&self) -> bool {
        matches!(self, Payload::PostModel(outcome) if !outcome.ok)
            || matches!(self, Payload::ToolError(_))
    }
}

fn error_part(error: Option<&Failure>, content: &Arc<Json>) -> Json {
    let message = error.map_or("", |failure| &*failure.message);
    let mut part = Object::new();
    part.insert("message", message);
    part.insert("content", Json::clone(content));
    part.into()
}

fn set_error_part(part: &Json, error: &mut Option<Failure>, content: &mut Arc<Json>) {
    if let Some(failure) = error
        && let Some(message) = part.get("message").and_then(Json::as_str)
    {
        failure.message = message.into();
    }
    *content = Arc::new(part.get("content").cloned().unwrap_or_default());
}

impl From<ToolCall> for Payload {
    /// Before a tool call.
    fn from(call: ToolCall) -> Payload {
        Payload::PreTool(Arc::new(call))
    }
}

impl From<ToolOutcome> for Payload {
    /// After a tool call: `post_tool` when it ended well, `tool_error` when not.
    fn from(outcome: ToolOutcome) -> Payload {
        let ok = outcome.result.ok;
        let outcome = Arc::new(outcome);
        if ok { Payload::PostTool(outcome) } else { Payload::ToolError(outcome) }
    }
}

impl From<ModelCall> for Payload {
    /// Before a model call.
    fn from(call: ModelCall) -> Payload {
        Payload::PreModel(Arc::new(call))
    }
}

impl From<ModelOutcome> for Payload {
    /// After a model call.
    fn from(outcome: ModelOutcome) -> Payload {
        Payload::PostModel(Arc::new(outcome))
    }
}

impl From<Opening> for Payload {
    /// A session opens.
    fn from(opening: Opening) -> Payload {
        Payload::AgentStart(Arc::new(opening))
    }
}

impl From<PromptBuild> for Payload {
    /// The prompt is assembled.
    fn from(prompt: PromptBuild) -> Payload {
        Payload::PromptBuild(Arc::new(prompt))
    }
}

impl From<MemoryLoad> for Payload {
    /// Stored memory enters the context.
    fn from(memory: MemoryLoad) -> Payload {
        Payload::MemoryLoad(Arc::new(memory))
    }
}

impl From<Ending> for Payload {
    /// The agent finished.
    fn from(ending: Ending) -> Payload {
        Payload::AgentEnd(Arc::new(ending))
    }
}

impl From<Abortion> for Payload {
    /// The session was ended.
    fn from(abortion: Abortion) -> Payload {
        Payload::AgentAbort(Arc::new(abortion))
    }
}

impl From<Report> for Payload {
    /// Anything else went wrong.
    fn from(report: Report) -> Payload {
        Payload::Error(Arc::new(report))
    }
}

impl ModelCall {
    /// The model asked for.
    pub fn model(&self) -> Option<&str> {
        self.request.get("model").and_then(Json::as_str)
    }
}

impl ToolCall {
    /// A call of `tool` with `arguments`.
    pub fn new(tool: impl Into<Name>, arguments: impl Into<Json>) -> ToolCall {
        ToolCall { tool: tool.into(), arguments: Arc::new(arguments.into()), ..ToolCall::default() }
    }

    /// Lets an adapter read what the call is, now and after every rewrite.
    #[must_use]
    pub fn read_by(mut self, reader: CallReader) -> ToolCall {
        self.reader = Some(reader);
        self.read_anew();
        self
    }

    /// A call that its reader no longer understands has no reading: its effects are unknown then.
    fn read_anew(&mut self) {
        if let Some(CallReader(read)) = self.reader {
            self.call = read(self).map(Arc::new);
        }
    }

    /// Sets the call's id.
    #[must_use]
    pub fn with_call_id(mut self, call_id: impl Into<Name>) -> ToolCall {
        self.call_id = Some(call_id.into());
        self
    }
}

impl ToolResult {
    /// The tool ran and gave this back.
    pub fn success(content: impl Into<Json>) -> ToolResult {
        ToolResult {
            ok: true,
            content: Arc::new(content.into()),
            executed: true,
            ..ToolResult::default()
        }
    }

    /// The call ended badly; `executed` says whether the tool ran.
    pub fn failure(failure: Failure, executed: bool) -> ToolResult {
        ToolResult { error: Some(failure), executed, ..ToolResult::default() }
    }
}

impl Usage {
    /// Tokens read and written.
    pub const fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    /// Whether nothing was used (or nothing is known).
    pub fn is_zero(&self) -> bool {
        *self == Usage::default()
    }
}
