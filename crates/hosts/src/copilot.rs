//! GitHub Copilot CLI and cloud agent, from documents: the event's name in camel case chooses the
//! payload.

use crate::answer::{Answer, Wanted, text_of};
use crate::call::{self, Reading, Tools, of};
use crate::claude_code::{self, failed, opening};
use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::heard::{APPEND_ONLY, Fields, Heard, SHOWN_ONLY, Unreadable, Who};
use crate::host::Host;
use tollgate_gate::EventKind::{
    AgentEnd, AgentStart, Error, PostTool, PreTool, PromptBuild, ToolError,
};
use tollgate_gate::payload::{Ending, PromptBuild as Prompt, Report};
use tollgate_gate::{Bounds, CallReader, Json, Object, Payload, ToolCall, ToolOutcome, ToolResult};

/// GitHub Copilot CLI.
pub(crate) struct Copilot;

static FACTS: Facts = Facts {
    name: "copilot",
    title: "GitHub Copilot CLI",
    evidence: Evidence::Document("1.0.102"),
    events: &[
        EventFacts::judged("preToolUse", &[PreTool]),
        EventFacts::judged("postToolUse", &[PostTool]),
        EventFacts::judged("postToolUseFailure", &[ToolError]),
        EventFacts::judged("userPromptSubmitted", &[PromptBuild]),
        EventFacts::judged("sessionStart", &[AgentStart]),
        EventFacts::judged("agentStop", &[AgentEnd]),
        EventFacts::judged("subagentStart", &[AgentStart]),
        EventFacts::judged("subagentStop", &[AgentEnd]),
        EventFacts::judged("errorOccurred", &[Error]),
        EventFacts {
            name: "sessionEnd",
            used: EventUse::Remembered("what was remembered of the session is cleared"),
            timeout_ms: None,
        },
        EventFacts::ignored("userPromptTransformed", "the prompt comes at userPromptSubmitted"),
        EventFacts::ignored("permissionRequest", "the call was judged at preToolUse"),
        EventFacts::ignored("preCompact", "it only tells"),
        EventFacts::ignored("notification", "it only tells"),
    ],
    ask: Ability::Partly("in the CLI; the cloud agent takes it for a denial"),
    skip_prompt: Ability::Yes,
    rewrite: Ability::Yes,
    redact: Ability::Yes,
    redact_failure: Ability::No("`install --wrap` masks shell commands; other tools' errors stay"),
    errors_stay: true,
    on_crash: Crash::Closed,
    on_timeout: Crash::Open,
    timeout_ms: 30_000,
    timeout_unit: TimeUnit::Seconds,
    not_shown: &[
        "what the model is sent",
        "reported: calls of sub-agents, parallel calls on a time-out",
    ],
};

/// Its own tools; in its other payload it names them as Claude Code does.
static TOOLS: Tools = &[
    ("bash", Reading::Shell("command", &["cwd"])),
    ("powershell", Reading::PowerShell("command")),
    ("view", Reading::Read(&["path"])),
    ("create", Reading::Write(&["path"], &["file_text", "content"])),
    ("edit", Reading::Edit(&["path"])),
    ("str_replace", Reading::Edit(&["path"])),
    ("glob", Reading::Search(&["path"], &["pattern"])),
    ("grep", Reading::Grep(&["path"], &["glob"])),
    ("web_fetch", Reading::Fetch("url")),
    ("web_search", Reading::Web("query")),
    ("task", Reading::Task(&["agent_type"])),
];

fn reading(call: &ToolCall) -> Option<Json> {
    call::read(TOOLS, call).or_else(|| call::read(claude_code::TOOLS, call))
}

/// A field in either of its two spellings.
fn either<'m>(fields: &Fields<'m>, camel: &str, snake: &str) -> Option<&'m Json> {
    fields.0.get(camel).or_else(|| fields.0.get(snake))
}

fn tool_call(fields: &Fields<'_>) -> Result<ToolCall, Unreadable> {
    let missing = |field, expected| Unreadable::Field { field, expected };
    let name = either(fields, "toolName", "tool_name").and_then(Json::as_str);
    let name = name.ok_or(missing("toolName", "text"))?;
    let arguments = match either(fields, "toolArgs", "tool_input") {
        Some(object @ Json::Object(_)) => object.clone(),
        // The CLI gives them as a text that holds JSON.
        Some(Json::String(text)) => Json::read(text.as_bytes())
            .ok()
            .filter(|value| value.as_object().is_some())
            .ok_or(missing("toolArgs", "object"))?,
        _ => return Err(missing("toolArgs", "object")),
    };
    let mut call = ToolCall::new(name, arguments);
    call.call_id = fields.name("tool_use_id").or_else(|| fields.name("toolCallId"));
    Ok(call.read_by(CallReader(reading)))
}

fn result(fields: &Fields<'_>) -> Json {
    let result = either(fields, "toolResult", "tool_result").cloned().unwrap_or_default();
    let text = result.get("textResultForLlm").or_else(|| result.get("text_result_for_llm"));
    text.cloned().unwrap_or(result)
}

/// The event's name: as the message says it, as the hook was told, or by what the message carries.
fn event_name<'m>(fields: &Fields<'m>, told: Option<&'m str>) -> Option<&'m str> {
    let said = fields.text("hook_event_name").or_else(|| fields.text("hookEventName"));
    said.or(told).or_else(|| told_by_fields(fields))
}

/// The event that a message without a name is about, by what it carries.
fn told_by_fields(fields: &Fields<'_>) -> Option<&'static str> {
    let has = |camel, snake| either(fields, camel, snake).is_some();
    Some(match () {
        () if has("toolResult", "tool_result") => "postToolUse",
        () if has("toolName", "tool_name") && has("error", "error") => "postToolUseFailure",
        () if has("toolName", "tool_name") => "preToolUse",
        () if has("prompt", "prompt") && !has("source", "source") => "userPromptSubmitted",
        () if has("error", "error") => "errorOccurred",
        () => return None,
    })
}

/// `PreToolUse` and `preToolUse` are one event; what Claude Code calls otherwise is mapped.
fn event_of(name: &str) -> Option<&'static EventFacts> {
    let mapped = match name {
        "UserPromptSubmit" => "userPromptSubmitted",
        "Stop" => "agentStop",
        other => other,
    };
    FACTS.events.iter().find(|event| event.name.eq_ignore_ascii_case(mapped))
}

fn payload(event: &str, fields: &Fields<'_>) -> Result<(Option<Payload>, Bounds), Unreadable> {
    let free = Bounds::default();
    let (payload, bounds): (Payload, Bounds) = match event {
        "preToolUse" => (tool_call(fields)?.into(), free),
        "postToolUse" => {
            let result = ToolResult::success(result(fields));
            (ToolOutcome { call: tool_call(fields)?.into(), result }.into(), free)
        }
        "postToolUseFailure" => {
            let error = text_of(&fields.value("error"));
            (failed(tool_call(fields)?, &error, true).into(), SHOWN_ONLY)
        }
        // No document says that a prompt can be refused, and none that anything can be added.
        "userPromptSubmitted" => {
            let prompt = fields.value("prompt").into();
            (Prompt { prompt, extra: Object::new() }.into(), SHOWN_ONLY)
        }
        "sessionStart" | "subagentStart" => (opening().into(), APPEND_ONLY),
        "agentStop" | "subagentStop" => {
            let answer = Json::Null.into();
            (Ending { answer, extra: Object::new() }.into(), SHOWN_ONLY)
        }
        "errorOccurred" => {
            let message = text_of(&fields.value("error")).into();
            let source = Some("copilot errorOccurred".into());
            (Report { source, message, extra: Object::new() }.into(), SHOWN_ONLY)
        }
        _ => return Ok((None, free)),
    };
    Ok((Some(payload), bounds))
}

impl Host for Copilot {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read(&self, message: Json, event: Option<&str>) -> Result<Heard, Unreadable> {
        let Json::Object(message) = message else { return Err(Unreadable::NoObject) };
        let fields = Fields(&message);
        let name = event_name(&fields, event).ok_or(Unreadable::NoEvent)?;
        let event = event_of(name).ok_or_else(|| Unreadable::UnknownEvent(name.to_owned()))?;
        let session = either(&fields, "sessionId", "session_id").and_then(Json::as_str);
        let session = session.ok_or(Unreadable::Field { field: "sessionId", expected: "text" })?;
        let who = Who {
            session: session.into(),
            agent_id: fields.name("agentId").or_else(|| fields.name("agent_id")),
            agent_type: fields.name("agentName").or_else(|| fields.name("agent_type")),
            cwd: fields.name("cwd"),
            mode: fields.name("permission_mode"),
        };
        let (payload, bounds) = payload(event.name, &fields)?;
        let can_ask = event.name == "preToolUse";
        Ok(Heard { event, who, payload, bounds, can_ask, notice: None, message })
    }

    fn event_of(&self, message: &Object, told: Option<&str>) -> Option<&'static EventFacts> {
        event_of(event_name(&Fields(message), told)?)
    }

    fn reading_of(&self, call: &ToolCall) -> Option<Json> {
        reading(call)
    }

    fn command_of(&self, call: &ToolCall) -> Option<&'static str> {
        call::command_of(TOOLS, call).or_else(|| call::command_of(claude_code::TOOLS, call))
    }

    fn answer(&self, heard: &Heard, wanted: &Wanted) -> Answer {
        match heard.event.name {
            "preToolUse" => before_tool(wanted),
            "postToolUse" => after_tool(wanted),
            "sessionStart" | "subagentStart" => at_start(wanted),
            _ => Answer::silence(),
        }
    }
}

fn before_tool(wanted: &Wanted) -> Answer {
    let verdict = |word: &str, reason: &str| {
        Answer::json(&of([
            ("permissionDecision", word.into()),
            ("permissionDecisionReason", reason.into()),
        ]))
    };
    match wanted {
        Wanted::Nothing => Answer::silence(),
        Wanted::Allow => verdict("allow", "allowed by policy"),
        Wanted::Ask(reason) => verdict("ask", reason),
        Wanted::Rewrite { arguments, skip_prompt } => {
            let word = if *skip_prompt { "allow".into() } else { Json::Null };
            Answer::json(&of([("permissionDecision", word), ("modifiedArgs", arguments.clone())]))
        }
        Wanted::Refuse(reason)
        | Wanted::Withhold(reason)
        | Wanted::Append(reason)
        | Wanted::ReplaceError(reason) => verdict("deny", reason).and_exit_2(reason),
        Wanted::Replace(_) => verdict("deny", "refused by policy").and_exit_2("refused by policy"),
    }
}

fn after_tool(wanted: &Wanted) -> Answer {
    let replaced = |text: &str| {
        let result = of([("resultType", "success".into()), ("textResultForLlm", text.into())]);
        Answer::json(&of([("modifiedResult", result)]))
    };
    match wanted {
        Wanted::Nothing | Wanted::Allow | Wanted::Append(_) => Answer::silence(),
        Wanted::Replace(content) => replaced(&text_of(content)),
        Wanted::Withhold(text)
        | Wanted::Refuse(text)
        | Wanted::Ask(text)
        | Wanted::ReplaceError(text) => replaced(text),
        Wanted::Rewrite { .. } => replaced("withheld by policy"),
    }
}

fn at_start(wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Append(text) => Answer::json(&of([("additionalContext", text.as_str().into())])),
        Wanted::Nothing
        | Wanted::Allow
        | Wanted::Ask(_)
        | Wanted::Refuse(_)
        | Wanted::Rewrite { .. }
        | Wanted::Replace(_)
        | Wanted::ReplaceError(_)
        | Wanted::Withhold(_) => Answer::silence(),
    }
}
