//! Cursor, the editor and `cursor-agent`, from documents: one event for each kind of tool.

use crate::answer::{Answer, Wanted, text_of};
use crate::call::{self, Reading, Tools, of};
use crate::claude_code::{failed, opening};
use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::heard::{APPEND, APPEND_ONLY, Fields, Heard, REFUSE_ONLY, SHOWN_ONLY, Unreadable, Who};
use crate::host::Host;
use tollgate_gate::EventKind::{AgentEnd, AgentStart, PostTool, PreTool, PromptBuild, ToolError};
use tollgate_gate::payload::{Ending, PromptBuild as Prompt};
use tollgate_gate::{
    Bounds, CallReader, Json, Name, Object, Payload, ToolCall, ToolOutcome, ToolResult,
};

/// Cursor.
pub(crate) struct Cursor;

const TWICE: &str = "the call was judged at preToolUse";

static FACTS: Facts = Facts {
    name: "cursor",
    title: "Cursor",
    evidence: Evidence::Document("3.x"),
    events: &[
        EventFacts::judged("preToolUse", &[PreTool]),
        EventFacts::judged("postToolUse", &[PostTool]),
        EventFacts::judged("postToolUseFailure", &[ToolError]),
        EventFacts::judged("beforeReadFile", &[PreTool]),
        EventFacts::judged("beforeSubmitPrompt", &[PromptBuild]),
        EventFacts::judged("sessionStart", &[AgentStart]),
        EventFacts::judged("subagentStart", &[AgentStart]),
        EventFacts::judged("subagentStop", &[AgentEnd]),
        EventFacts::judged("stop", &[AgentEnd]),
        EventFacts::ignored("beforeShellExecution", TWICE),
        EventFacts::ignored("afterShellExecution", "the call ends at postToolUse"),
        EventFacts::ignored("beforeMCPExecution", TWICE),
        EventFacts::ignored("afterMCPExecution", "the call ends at postToolUse"),
        EventFacts::ignored("afterFileEdit", "the call ends at postToolUse"),
        EventFacts::ignored("beforeTabFileRead", "no agent acts: completions in the editor"),
        EventFacts::ignored("afterTabFileEdit", "no agent acts: completions in the editor"),
        EventFacts::ignored("afterAgentResponse", "it only tells"),
        EventFacts::ignored("afterAgentThought", "it only tells"),
        EventFacts::ignored("preCompact", "it only tells"),
        EventFacts {
            name: "sessionEnd",
            used: EventUse::Remembered("what was remembered of the session is cleared"),
            timeout_ms: None,
        },
        EventFacts::ignored("workspaceOpen", "it only tells"),
    ],
    ask: Ability::No("it asks at events of shell and MCP only; the call is refused"),
    skip_prompt: Ability::Partly("the editor; the CLI ignored it"),
    rewrite: Ability::Yes,
    redact: Ability::Partly("results of MCP tools; `install --wrap` masks shell commands"),
    redact_failure: Ability::No("`install --wrap` masks shell commands; other tools' errors stay"),
    errors_stay: true,
    on_crash: Crash::OpenUnless("failClosed: true"),
    on_timeout: Crash::OpenUnless("failClosed: true"),
    timeout_ms: 60_000,
    timeout_unit: TimeUnit::Seconds,
    not_shown: &[
        "files that are open in the editor",
        "what the model is sent",
        "reported: prompts and stops of the CLI with -p",
    ],
};

const PATHS: &[&str] = &["file_path", "target_file", "path"];

static TOOLS: Tools = &[
    ("Shell", Reading::Shell("command", &["working_directory", "cwd"])),
    ("Read", Reading::Read(PATHS)),
    ("Write", Reading::Write(PATHS, &["contents", "content"])),
    ("Edit", Reading::Edit(PATHS)),
    ("Delete", Reading::Delete(PATHS)),
    ("Grep", Reading::Grep(&["path"], &["glob"])),
    ("Task", Reading::Task(&["subagent_type"])),
];

fn reading(call: &ToolCall) -> Option<Json> {
    call::read(TOOLS, call)
}

/// Tools of servers are named `MCP:<tool>`; the server is not named.
fn tool_call(fields: &Fields<'_>) -> Result<ToolCall, Unreadable> {
    let full = fields.need("tool_name")?;
    let of_server = full.strip_prefix("MCP:");
    let mut call = ToolCall::new(of_server.unwrap_or(full), fields.object("tool_input")?);
    call.server = of_server.map(|_| Name::from("mcp"));
    call.call_id = fields.name("tool_use_id");
    Ok(call.read_by(CallReader(reading)))
}

/// Reading a file has an event of its own, which also stands where no `preToolUse` came.
fn file_read(fields: &Fields<'_>) -> Result<ToolCall, Unreadable> {
    let arguments = of([("file_path", fields.need("file_path")?.into())]);
    Ok(ToolCall::new("Read", arguments).read_by(CallReader(reading)))
}

/// The result comes as a text that holds JSON.
fn result(fields: &Fields<'_>) -> Json {
    let output = fields.value("tool_output");
    let inner = output.as_str().and_then(|text| Json::read(text.as_bytes()).ok());
    inner.unwrap_or(output)
}

fn payload(event: &str, fields: &Fields<'_>) -> Result<(Option<Payload>, Bounds), Unreadable> {
    let free = Bounds::default();
    let (payload, bounds): (Payload, Bounds) = match event {
        "preToolUse" => (tool_call(fields)?.into(), free),
        "beforeReadFile" => (file_read(fields)?.into(), REFUSE_ONLY),
        "postToolUse" => {
            let call = tool_call(fields)?;
            let bounds = if call.server.is_some() { free } else { SHOWN_ONLY };
            let result = ToolResult::success(result(fields));
            (ToolOutcome { call: call.into(), result }.into(), bounds)
        }
        "postToolUseFailure" => {
            let error = fields.text("error_message").or_else(|| fields.text("error"));
            (failed(tool_call(fields)?, error.unwrap_or_default(), true).into(), SHOWN_ONLY)
        }
        "beforeSubmitPrompt" => {
            let prompt = Json::from(fields.need("prompt")?).into();
            (Prompt { prompt, extra: Object::new() }.into(), APPEND)
        }
        "sessionStart" => (opening().into(), APPEND_ONLY),
        "subagentStart" => (opening().into(), SHOWN_ONLY),
        "stop" | "subagentStop" => {
            let answer = Json::Null.into();
            (Ending { answer, extra: Object::new() }.into(), SHOWN_ONLY)
        }
        _ => return Ok((None, free)),
    };
    Ok((Some(payload), bounds))
}

impl Host for Cursor {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read(&self, message: Json, event: Option<&str>) -> Result<Heard, Unreadable> {
        let Json::Object(message) = message else { return Err(Unreadable::NoObject) };
        let fields = Fields(&message);
        let event = fields.event(event, event_of)?;
        let session = fields.name("conversation_id").or_else(|| fields.name("session_id"));
        let session =
            session.ok_or(Unreadable::Field { field: "conversation_id", expected: "text" })?;
        let roots = message.get("workspace_roots").and_then(Json::as_array);
        let root = roots.and_then(|roots| roots.first()).and_then(Json::as_str).map(Name::from);
        let who = Who {
            session,
            agent_id: fields.name("subagent_id"),
            agent_type: fields.name("subagent_type"),
            cwd: fields.name("cwd").or(root),
            mode: None,
        };
        let (payload, bounds) = payload(event.name, &fields)?;
        Ok(Heard { event, who, payload, bounds, can_ask: false, notice: None, message })
    }

    fn reading_of(&self, call: &ToolCall) -> Option<Json> {
        reading(call)
    }

    fn command_of(&self, call: &ToolCall) -> Option<&'static str> {
        call::command_of(TOOLS, call)
    }

    fn answer(&self, heard: &Heard, wanted: &Wanted) -> Answer {
        match heard.event.name {
            "preToolUse" | "beforeReadFile" => before_tool(wanted),
            "postToolUse" => after_tool(heard, wanted),
            "beforeSubmitPrompt" => at_prompt(wanted),
            "sessionStart" => at_start(wanted),
            _ if matches!(heard.event.used, EventUse::Ignored(_)) => Answer::silence(),
            _ => nothing(),
        }
    }
}

/// Nothing to say: with `failClosed` set, no output at all would refuse.
fn nothing() -> Answer {
    Answer::json(&of([]))
}

/// Where it reads Claude Code's settings, it maps their names.
fn event_of(name: &str) -> Option<&'static EventFacts> {
    let mapped = if name == "UserPromptSubmit" { "beforeSubmitPrompt" } else { name };
    FACTS.events.iter().find(|event| event.name.eq_ignore_ascii_case(mapped))
}

fn before_tool(wanted: &Wanted) -> Answer {
    let deny = |reason: &str| {
        Answer::json(&of([
            ("permission", "deny".into()),
            ("user_message", reason.into()),
            ("agent_message", reason.into()),
        ]))
        .and_exit_2(reason)
    };
    match wanted {
        Wanted::Nothing => nothing(),
        Wanted::Allow => Answer::json(&of([("permission", "allow".into())])),
        Wanted::Rewrite { arguments, .. } => Answer::json(&of([
            ("permission", "allow".into()),
            ("updated_input", arguments.clone()),
        ])),
        Wanted::Ask(reason)
        | Wanted::Refuse(reason)
        | Wanted::Withhold(reason)
        | Wanted::Append(reason)
        | Wanted::ReplaceError(reason) => deny(reason),
        Wanted::Replace(_) => deny("refused by policy"),
    }
}

fn after_tool(heard: &Heard, wanted: &Wanted) -> Answer {
    let call = heard.payload.as_ref().and_then(Payload::tool_call);
    // Of a result that could not be read nobody knows whose it is; replacing costs nothing then.
    if call.is_some_and(|call| call.server.is_none()) {
        return nothing();
    }
    let replaced = |text: &str| Answer::json(&of([("updated_mcp_tool_output", text.into())]));
    match wanted {
        Wanted::Nothing | Wanted::Allow | Wanted::Append(_) => nothing(),
        Wanted::Replace(content) => replaced(&text_of(content)),
        Wanted::Withhold(text)
        | Wanted::Refuse(text)
        | Wanted::Ask(text)
        | Wanted::ReplaceError(text) => replaced(text),
        Wanted::Rewrite { .. } => replaced("withheld by policy"),
    }
}

fn at_prompt(wanted: &Wanted) -> Answer {
    let stop = |reason: &str| {
        Answer::json(&of([("continue", false.into()), ("user_message", reason.into())]))
    };
    match wanted {
        Wanted::Nothing | Wanted::Allow => nothing(),
        Wanted::Append(text) => Answer::json(&of([("additional_context", text.as_str().into())])),
        Wanted::Refuse(reason)
        | Wanted::Ask(reason)
        | Wanted::Withhold(reason)
        | Wanted::ReplaceError(reason) => stop(reason),
        Wanted::Rewrite { .. } | Wanted::Replace(_) => stop("refused by policy"),
    }
}

fn at_start(wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Append(text) => Answer::json(&of([("additional_context", text.as_str().into())])),
        Wanted::Nothing
        | Wanted::Allow
        | Wanted::Ask(_)
        | Wanted::Refuse(_)
        | Wanted::Rewrite { .. }
        | Wanted::Replace(_)
        | Wanted::ReplaceError(_)
        | Wanted::Withhold(_) => nothing(),
    }
}
