//! Paths into a payload: `args.path`, `args.files.*.name`, `payload.result.content`.
//!
//! Steps are keys, indices (`[0]` or `0`) and `*` for any of either. A key with a dot in it is
//! written in double quotes. A path is looked up by walking, nothing is built for it.

use crate::json::Json;
use crate::limits::{JSON_DEPTH_MAX, NAME_BYTES_MAX};
use crate::payload::{Failure, Payload, ToolCall};
use std::borrow::Cow;
use std::fmt;

/// A path into a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: Box<str>,
    root: Root,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// `args`: the arguments of a tool call.
    Arguments,
    /// `payload`: any field by its wire name.
    Payload,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key; in an array, the index it writes.
    Key(Box<str>),
    /// Any key or index.
    Any,
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It starts with something else than `args.` or `payload.`.
    #[error("path `{0}` must start with `args.` or `payload.`")]
    UnknownRoot(String),
    /// A step is empty or a quote is never closed.
    #[error("path `{0}` has an empty or unfinished step")]
    BadStep(String),
    /// It is too long or has too many steps.
    #[error("path longer than {NAME_BYTES_MAX} bytes or {JSON_DEPTH_MAX} steps")]
    TooLong,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// [`PathError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        let (root, rest) = if let Some(rest) = text.strip_prefix("args.") {
            (Root::Arguments, rest)
        } else if let Some(rest) = text.strip_prefix("payload.") {
            (Root::Payload, rest)
        } else {
            return Err(PathError::UnknownRoot(text.to_owned()));
        };
        Ok(Path { text: text.into(), root, steps: parse_steps(rest)? })
    }

    /// Calls `f` with each value at this path until it says yes; says whether it did.
    pub fn any(&self, payload: &Payload, mut f: impl FnMut(&Json) -> bool) -> bool {
        match self.root {
            Root::Arguments => payload
                .tool_call()
                .is_some_and(|call| any_below(&call.arguments, &self.steps, &mut f)),
            Root::Payload => match self.steps.as_slice() {
                [] => false,
                [Step::Key(field), rest @ ..] if &**field == "result" => {
                    any_of_result(payload, rest, &mut f)
                }
                [Step::Key(field), rest @ ..] => {
                    field_of(payload, field).is_some_and(|value| any_below(&value, rest, &mut f))
                }
                [Step::Any, rest @ ..] => FIELDS.iter().any(|field| {
                    field_of(payload, field).is_some_and(|value| any_below(&value, rest, &mut f))
                }),
            },
        }
    }

    /// The text at this path, where it is a field that a payload holds as a text of its own; found
    /// without building anything.
    pub(crate) fn text<'a>(&self, payload: &'a Payload) -> Option<&'a str> {
        let (Root::Payload, [Step::Key(field)]) = (self.root, self.steps.as_slice()) else {
            return None;
        };
        let (tool, model) = (payload.tool_call(), payload.model_call());
        match &**field {
            "tool" => tool.map(|call| &*call.tool),
            "server" => tool.and_then(|call| call.server.as_deref()),
            "call_id" => match tool {
                Some(call) => call.call_id.as_deref(),
                None => model.and_then(|call| call.call_id.as_deref()),
            },
            "provider" => model.and_then(|call| call.provider.as_deref()),
            _ => None,
        }
    }

    /// The steps behind the root.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads the steps of a path without a root, as actions use them below arguments or content.
///
/// # Errors
/// [`PathError`] says what is wrong with it.
pub fn parse_steps(text: &str) -> Result<Vec<Step>, PathError> {
    if text.len() > NAME_BYTES_MAX {
        return Err(PathError::TooLong);
    }
    let bad = || PathError::BadStep(text.to_owned());
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        let step;
        (step, rest) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted.split_once('"').ok_or_else(bad)?
        } else if let Some(index) = rest.strip_prefix('[') {
            index.split_once(']').ok_or_else(bad)?
        } else {
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        if step.is_empty() {
            return Err(bad());
        }
        steps.push(if step == "*" { Step::Any } else { Step::Key(step.into()) });
        if steps.len() > JSON_DEPTH_MAX {
            return Err(PathError::TooLong);
        }
        if rest.is_empty() {
            return Ok(steps);
        }
        if !rest.starts_with('[') {
            rest = rest.strip_prefix('.').ok_or_else(bad)?;
        }
    }
}

/// Calls `f` with each value below `value` at these steps until it says yes.
pub fn any_below(value: &Json, steps: &[Step], f: &mut impl FnMut(&Json) -> bool) -> bool {
    let [step, rest @ ..] = steps else {
        return f(value);
    };
    match (value, step) {
        (Json::Object(object), Step::Key(key)) => {
            object.get(key).is_some_and(|value| any_below(value, rest, f))
        }
        (Json::Object(object), Step::Any) => {
            object.iter().any(|(_, value)| any_below(value, rest, f))
        }
        (Json::Array(items), Step::Key(key)) => key
            .parse::<usize>()
            .ok()
            .and_then(|at| items.get(at))
            .is_some_and(|value| any_below(value, rest, f)),
        (Json::Array(items), Step::Any) => items.iter().any(|value| any_below(value, rest, f)),
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_), _) => false,
    }
}

/// As [`any_below`], for the result of a tool call, whose content is looked at where it is.
fn any_of_result(payload: &Payload, steps: &[Step], f: &mut impl FnMut(&Json) -> bool) -> bool {
    let Some(result) = payload.tool_result() else {
        return field_of(payload, "result").is_some_and(|value| any_below(&value, steps, f));
    };
    match steps {
        [Step::Key(field), rest @ ..] if &**field == "content" => {
            any_below(&result.content, rest, f)
        }
        [Step::Key(field), rest @ ..] if &**field == "ok" => {
            any_below(&Json::Bool(result.ok), rest, f)
        }
        [Step::Key(field), rest @ ..] if &**field == "executed" => {
            any_below(&Json::Bool(result.executed), rest, f)
        }
        _ => {
            let (ok, executed) = (result.ok, result.executed);
            any_below(&result_json(ok, &result.content, &result.error, executed), steps, f)
        }
    }
}

/// The wire names of all fields that some payload has.
const FIELDS: [&str; 18] = [
    "tool",
    "server",
    "call_id",
    "arguments",
    "call",
    "result",
    "context",
    "prompt",
    "memory",
    "source",
    "provider",
    "model",
    "messages",
    "tools",
    "reply",
    "answer",
    "reason",
    "message",
];

/// A payload's field by its wire name.
fn field_of<'a>(payload: &'a Payload, field: &str) -> Option<Cow<'a, Json>> {
    let text = |text: &str| Some(Cow::Owned(Json::from(text)));
    let name = |name: &Option<crate::event::Name>| name.as_deref().and_then(text);
    if let Some(call) = payload.tool_call() {
        return match field {
            "result" => payload.tool_result().map(|result| {
                Cow::Owned(result_json(result.ok, &result.content, &result.error, result.executed))
            }),
            _ => tool_field(call, field),
        };
    }
    if let Some(call) = payload.model_call() {
        return match (field, payload) {
            ("provider", _) => name(&call.provider),
            ("call_id", _) => name(&call.call_id),
            ("reply" | "tool_calls", Payload::PostModel(outcome)) => {
                outcome.reply.get(field).map(Cow::Borrowed)
            }
            ("model" | "messages" | "tools", _) => call.request.get(field).map(Cow::Borrowed),
            _ => call.extra.get(field).map(Cow::Borrowed),
        };
    }
    match (payload, field) {
        (Payload::AgentStart(opening), "context") => Some(Cow::Borrowed(&*opening.context)),
        (Payload::PromptBuild(prompt), "prompt") => Some(Cow::Borrowed(&*prompt.prompt)),
        (Payload::MemoryLoad(memory), "memory") => Some(Cow::Borrowed(&*memory.memory)),
        (Payload::MemoryLoad(memory), "source") => name(&memory.source),
        (Payload::AgentEnd(ending), "answer") => Some(Cow::Borrowed(&*ending.answer)),
        (Payload::AgentAbort(abortion), "reason") => text(&abortion.reason),
        (Payload::Error(report), "message") => text(&report.message),
        (Payload::Error(report), "source") => name(&report.source),
        _ => extra_of(payload).and_then(|extra| extra.get(field)).map(Cow::Borrowed),
    }
}

fn tool_field<'a>(call: &'a ToolCall, field: &str) -> Option<Cow<'a, Json>> {
    match field {
        "tool" => Some(Cow::Owned(Json::from(&*call.tool))),
        "server" => call.server.as_deref().map(|server| Cow::Owned(Json::from(server))),
        "call_id" => call.call_id.as_deref().map(|id| Cow::Owned(Json::from(id))),
        "arguments" => Some(Cow::Borrowed(&*call.arguments)),
        "call" => call.call.as_deref().map(Cow::Borrowed),
        _ => call.extra.get(field).map(Cow::Borrowed),
    }
}

fn extra_of(payload: &Payload) -> Option<&crate::json::Object> {
    Some(match payload {
        Payload::AgentStart(opening) => &opening.extra,
        Payload::PromptBuild(prompt) => &prompt.extra,
        Payload::MemoryLoad(memory) => &memory.extra,
        Payload::AgentEnd(ending) => &ending.extra,
        Payload::AgentAbort(abortion) => &abortion.extra,
        Payload::Error(report) => &report.extra,
        Payload::PreModel(_)
        | Payload::PostModel(_)
        | Payload::PreTool(_)
        | Payload::PostTool(_)
        | Payload::ToolError(_) => return None,
    })
}

/// The wire form of a result: `{ok, content, error, executed}`.
pub(crate) fn result_json(
    ok: bool,
    content: &Json,
    error: &Option<Failure>,
    executed: bool,
) -> Json {
    let mut object = crate::json::Object::new();
    object.insert("ok", ok);
    object.insert("content", content.clone());
    object.insert("error", error.as_ref().map(failure_json));
    object.insert("executed", executed);
    object.into()
}

/// The wire form of a failure: `{code, message, tool}`.
pub(crate) fn failure_json(failure: &Failure) -> Json {
    let mut object = crate::json::Object::new();
    object.insert("code", failure.code.as_str());
    object.insert("message", &*failure.message);
    object.insert("tool", &*failure.tool);
    object.into()
}

#[cfg(test)]
mod tests {
    use super::{Path, PathError};
    use crate::json::Json;
    use crate::payload::{Payload, ToolCall, ToolOutcome, ToolResult};

    fn values(path: &str, payload: &Payload) -> Vec<String> {
        let mut found = Vec::new();
        Path::parse(path).unwrap().any(payload, |value| {
            found.push(value.text());
            false
        });
        found
    }

    #[test]
    fn paths_reach_keys_indices_and_all_of_either() {
        let arguments =
            Json::read(br#"{"path":"a","files":[{"name":"x"},{"name":"y"}],"a.b":{"c":1}}"#)
                .unwrap();
        let payload = Payload::from(ToolCall::new("t", arguments));
        assert_eq!(values("args.path", &payload), ["\"a\""]);
        assert_eq!(values("args.files.*.name", &payload), ["\"x\"", "\"y\""]);
        assert_eq!(values("args.files[1].name", &payload), ["\"y\""]);
        assert_eq!(values("args.\"a.b\".c", &payload), ["1"]);
        assert_eq!(values("payload.tool", &payload), ["\"t\""]);
        assert_eq!(values("payload.arguments.path", &payload), ["\"a\""]);
        assert_eq!(values("args.none.at.all", &payload), [""; 0]);
        assert_eq!(values("payload.result.ok", &payload), [""; 0]);
    }

    #[test]
    fn paths_reach_into_results() {
        let result = ToolResult::success(Json::read(br#"{"rows":[1,2]}"#).unwrap());
        let payload = Payload::from(ToolOutcome { call: ToolCall::default().into(), result });
        assert_eq!(values("payload.result.content.rows.*", &payload), ["1", "2"]);
        assert_eq!(values("payload.result.ok", &payload), ["true"]);
        assert_eq!(values("payload.result.*", &payload).len(), 4);
        assert_eq!(values("payload.result.error", &payload), ["null"]);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        assert_eq!(Path::parse("arg.x"), Err(PathError::UnknownRoot("arg.x".into())));
        for bad in ["args.", "args.a..b", "args.a[", "args.\"a", "args.a.", "args.[]"] {
            assert!(matches!(Path::parse(bad), Err(PathError::BadStep(_))), "{bad}");
        }
    }
}
