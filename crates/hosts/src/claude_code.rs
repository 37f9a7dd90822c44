//! Claude Code: hooks as commands, one JSON object in and out.

use crate::answer::{Answer, Wanted, decided, specific};
use crate::call::{self, Reading, Tools, of};
use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::heard::{APPEND, APPEND_ONLY, Fields, Heard, REFUSE_ONLY, SHOWN_ONLY, Unreadable, Who};
use crate::host::Host;
use crate::shape;
use tollgate_gate::EventKind::{
    AgentEnd, AgentStart, Error, PostTool, PreTool, PromptBuild, ToolError,
};
use tollgate_gate::payload::{Ending, Opening, PromptBuild as Prompt, Report};
use tollgate_gate::{
    Bounds, CallReader, Code, Failure, Json, Name, Object, Payload, ToolCall, ToolOutcome,
    ToolResult,
};

/// Claude Code.
pub(crate) struct ClaudeCode;

const WATCHES: &str = "it only tells, and nothing of it concerns a policy";

static FACTS: Facts = Facts {
    name: "claude-code",
    title: "Claude Code",
    evidence: Evidence::Live("2.1.332"),
    events: &[
        EventFacts::judged("PreToolUse", &[PreTool]),
        EventFacts::judged("PostToolUse", &[PostTool]),
        EventFacts::judged("PostToolUseFailure", &[ToolError]),
        EventFacts::judged("PreSkillShellCommand", &[PreTool]),
        EventFacts::judged("PermissionDenied", &[ToolError]),
        EventFacts::judged("UserPromptSubmit", &[PromptBuild]).within_ms(30_000),
        EventFacts::judged("SessionStart", &[AgentStart]),
        EventFacts::judged("SubagentStart", &[AgentStart]),
        EventFacts::judged("SubagentStop", &[AgentEnd]),
        EventFacts::judged("Stop", &[AgentEnd]),
        EventFacts::judged("StopFailure", &[Error]),
        EventFacts::judged("ConfigChange", &[Error]),
        EventFacts {
            name: "SessionEnd",
            used: EventUse::Remembered("what was remembered of the session is cleared"),
            timeout_ms: Some(1_500),
        },
        EventFacts::ignored("PermissionRequest", "the call was judged at PreToolUse"),
        EventFacts::ignored("PostToolBatch", "each call of the batch has its own event"),
        EventFacts::ignored("UserPromptExpansion", "the prompt comes at UserPromptSubmit"),
        EventFacts::ignored("PreCompact", WATCHES),
        EventFacts::ignored("PostCompact", WATCHES),
        EventFacts::ignored("PreModelSwitch", "no policy speaks of it yet").within_ms(30_000),
        EventFacts::ignored("PostModelSwitch", WATCHES).within_ms(30_000),
        EventFacts::ignored("Notification", WATCHES),
        EventFacts::ignored("Elicitation", "a server asks the person, not the agent"),
        EventFacts::ignored("ElicitationResult", "the person answered, not the agent"),
        EventFacts::ignored("InstructionsLoaded", "it names a file and not what is in it"),
        EventFacts::ignored("Setup", WATCHES),
        EventFacts::ignored("TaskCreated", WATCHES),
        EventFacts::ignored("TaskCompleted", WATCHES),
        EventFacts::ignored("TeammateIdle", WATCHES),
        EventFacts::ignored("WorktreeCreate", "a hook there would have to make the worktree"),
        EventFacts::ignored("WorktreeRemove", WATCHES),
        EventFacts::ignored("CwdChanged", "the project's root does not follow it"),
        EventFacts::ignored("DirectoryAdded", WATCHES),
        EventFacts::ignored("FileChanged", WATCHES),
        EventFacts::ignored("MessageDisplay", "what the person sees").within_ms(10_000),
    ],
    ask: Ability::Partly(
        "in a terminal; headless, which it says of itself, or in a mode that skips prompts the approval \
         is Tollgate's own, or the call is refused",
    ),
    skip_prompt: Ability::Yes,
    rewrite: Ability::Partly("not of shell commands inside skills: they are refused"),
    redact: Ability::Yes,
    redact_failure: Ability::Partly(
        "the session's lines mask shell commands; other tools' errors stay",
    ),
    errors_stay: true,
    on_crash: Crash::OpenUnless("onFailure: \"block\""),
    on_timeout: Crash::OpenUnless("onFailure: \"block\""),
    timeout_ms: 600_000,
    timeout_unit: TimeUnit::Seconds,
    not_shown: &[
        "files mentioned with @ in a prompt (use its own Read deny rules)",
        "calls that fail its schema check",
        "the output of shell commands inside skills",
        "the structured copy of an MCP result that its own transcript keeps (`mcpMeta`)",
        "what the model is sent",
    ],
};

/// Claude Code's own tools, as arguments name what they do.
pub(crate) static TOOLS: Tools = &[
    ("Bash", Reading::Shell("command", &[])),
    ("PowerShell", Reading::PowerShell("command")),
    ("Read", Reading::Read(&["file_path"])),
    ("LS", Reading::Read(&["path"])),
    ("NotebookRead", Reading::Read(&["notebook_path"])),
    ("Write", Reading::Write(&["file_path"], &["content"])),
    ("Edit", Reading::Edit(&["file_path"])),
    ("MultiEdit", Reading::Edit(&["file_path"])),
    ("NotebookEdit", Reading::Edit(&["notebook_path"])),
    ("Glob", Reading::Search(&["path"], &["pattern"])),
    ("Grep", Reading::Grep(&["path"], &["glob"])),
    ("WebFetch", Reading::Fetch("url")),
    ("WebSearch", Reading::Web("query")),
    ("Agent", Reading::Task(&["subagent_type"])),
    ("Task", Reading::Task(&["subagent_type"])),
];

/// The variable that says whether a person sits before a session: `claude -p` has 0 there (live).
const ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";
/// The variable that says how it was started: `sdk-cli` is `claude -p` (live), `sdk-*` a program.
const ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";
/// How the entry points begin at which nobody is known to sit.
const HEADLESS_ENTRY: &str = "sdk-";

/// Modes in which somebody is shown a question. Of one that is not known nobody can say so.
const ASKING_MODES: [&str; 3] = ["default", "acceptEdits", "plan"];

fn reading(call: &ToolCall) -> Option<Json> {
    call::read(TOOLS, call)
}

/// Who acts: the same fields in every message.
pub(crate) fn who(fields: &Fields<'_>) -> Result<Who, Unreadable> {
    Ok(Who {
        session: fields.need("session_id")?.into(),
        agent_id: fields.name("agent_id"),
        agent_type: fields.name("agent_type"),
        cwd: fields.name("cwd"),
        mode: fields.name("permission_mode"),
    })
}

/// The call in a message, its tool parted from its server: `mcp__<server>__<tool>`.
pub(crate) fn tool_call(
    fields: &Fields<'_>,
    reader: fn(&ToolCall) -> Option<Json>,
) -> Result<ToolCall, Unreadable> {
    let full = fields.need("tool_name")?;
    let known = fields.0.get("mcp_server").and_then(|server| server.get("name"));
    let (server, tool) = parted(full, known.and_then(Json::as_str));
    let mut call = ToolCall::new(tool, fields.object("tool_input")?);
    call.server = server.map(Name::from);
    call.call_id = fields.name("tool_use_id");
    Ok(call.read_by(CallReader(reader)))
}

/// A server's name may hold the separator itself, so the server that the host names decides.
fn parted<'n>(full: &'n str, known: Option<&str>) -> (Option<&'n str>, &'n str) {
    let Some(rest) = full.strip_prefix("mcp__") else { return (None, full) };
    let by_name = known.and_then(|known| {
        let tool = rest.strip_prefix(known)?.strip_prefix("__")?;
        Some((rest.get(..known.len())?, tool))
    });
    match by_name.or_else(|| rest.split_once("__")) {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => (Some(server), tool),
        _ => (None, full),
    }
}

/// A call that ended badly, by the text that the host gives.
pub(crate) fn failed(call: ToolCall, message: &str, executed: bool) -> ToolOutcome {
    let tool = Name::clone(&call.tool);
    let failure = Failure { code: Code::ToolError, message: message.into(), tool };
    ToolOutcome { call: call.into(), result: ToolResult::failure(failure, executed) }
}

/// An end of an agent, with its last message.
pub(crate) fn ending(fields: &Fields<'_>) -> Ending {
    let answer = fields.value("last_assistant_message");
    Ending { answer: answer.into(), extra: Object::new() }
}

/// A start, to whose context more can be added.
pub(crate) fn opening() -> Opening {
    Opening { context: Json::from("").into(), extra: Object::new() }
}

fn report(event: &str, fields: &Fields<'_>) -> Report {
    let message = if event == "ConfigChange" {
        let (of, file) = (fields.text("source"), fields.text("file_path"));
        format!("the host's {} changed: {}", of.unwrap_or("settings"), file.unwrap_or("(no file)"))
    } else {
        fields.text("error").unwrap_or_default().to_owned()
    };
    let source = Some(format!("claude-code {event}").into());
    Report { source, message: message.into(), extra: Object::new() }
}

/// What the gate is to judge, and what the host lets be done about it.
fn payload(event: &str, fields: &Fields<'_>) -> Result<(Option<Payload>, Bounds), Unreadable> {
    let call = || tool_call(fields, reading);
    let free = Bounds::default();
    let (payload, bounds): (Payload, Bounds) = match event {
        "PreToolUse" => (call()?.into(), free),
        "PreSkillShellCommand" => (call()?.into(), REFUSE_ONLY),
        "PostToolUse" => {
            let result = ToolResult::success(fields.value("tool_response"));
            (ToolOutcome { call: call()?.into(), result }.into(), free)
        }
        "PostToolUseFailure" => {
            (failed(call()?, fields.text("error").unwrap_or_default(), true).into(), SHOWN_ONLY)
        }
        "PermissionDenied" => {
            (failed(call()?, fields.text("reason").unwrap_or_default(), false).into(), SHOWN_ONLY)
        }
        "UserPromptSubmit" => {
            let prompt = Json::from(fields.need("prompt")?).into();
            (Prompt { prompt, extra: Object::new() }.into(), APPEND)
        }
        "SessionStart" | "SubagentStart" => (opening().into(), APPEND_ONLY),
        "Stop" | "SubagentStop" => (ending(fields).into(), SHOWN_ONLY),
        "StopFailure" | "ConfigChange" => (report(event, fields).into(), SHOWN_ONLY),
        _ => return Ok((None, free)),
    };
    Ok((Some(payload), bounds))
}

impl Host for ClaudeCode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read(&self, message: Json, event: Option<&str>) -> Result<Heard, Unreadable> {
        let Json::Object(message) = message else { return Err(Unreadable::NoObject) };
        let fields = Fields(&message);
        let event = fields.event(event, |name| FACTS.event(name))?;
        let who = who(&fields)?;
        let (payload, bounds) = payload(event.name, &fields)?;
        let asks = who.mode.as_deref().is_some_and(|mode| ASKING_MODES.contains(&mode));
        let can_ask = event.name == "PreToolUse" && asks;
        Ok(Heard { event, who, payload, bounds, can_ask, notice: None, message })
    }

    fn reading_of(&self, call: &ToolCall) -> Option<Json> {
        reading(call)
    }

    fn command_of(&self, call: &ToolCall) -> Option<&'static str> {
        call::command_of(TOOLS, call)
    }

    fn is_unattended(&self, variable: &dyn Fn(&str) -> Option<String>) -> bool {
        match variable(ATTENDED).as_deref() {
            Some("0") => true,
            Some("1") => false,
            Some(_) | None => {
                variable(ENTRYPOINT).is_some_and(|entry| entry.starts_with(HEADLESS_ENTRY))
            }
        }
    }

    fn answer(&self, heard: &Heard, wanted: &Wanted) -> Answer {
        match heard.event.name {
            "PreToolUse" => before_tool(wanted),
            "PreSkillShellCommand" => before_skill(wanted),
            "PostToolUse" => after_tool(heard, wanted),
            "UserPromptSubmit" => at_prompt(heard.event.name, wanted),
            "SessionStart" | "SubagentStart" => at_start(heard, wanted),
            _ => Answer::silence(),
        }
    }
}

fn before_tool(wanted: &Wanted) -> Answer {
    let event = "PreToolUse";
    let verdict = |word: &str, reason: &str| {
        specific(
            event,
            [("permissionDecision", word.into()), ("permissionDecisionReason", reason.into())],
        )
    };
    match wanted {
        Wanted::Nothing => Answer::silence(),
        Wanted::Allow => verdict("allow", "allowed by policy"),
        Wanted::Ask(reason) => verdict("ask", reason),
        Wanted::Rewrite { arguments, skip_prompt: false } => {
            specific(event, [("updatedInput", arguments.clone())])
        }
        Wanted::Rewrite { arguments, skip_prompt: true } => specific(
            event,
            [("permissionDecision", "allow".into()), ("updatedInput", arguments.clone())],
        ),
        Wanted::Refuse(reason)
        | Wanted::Withhold(reason)
        | Wanted::Append(reason)
        | Wanted::ReplaceError(reason) => verdict("deny", reason).and_exit_2(reason),
        Wanted::Replace(_) => verdict("deny", REFUSED).and_exit_2(REFUSED),
    }
}

/// Where a decision has no words of its own.
const REFUSED: &str = "refused by policy";

fn before_skill(wanted: &Wanted) -> Answer {
    let deny = |reason: &str| {
        specific(
            "PreSkillShellCommand",
            [("permissionDecision", "deny".into()), ("permissionDecisionReason", reason.into())],
        )
        .and_exit_2(reason)
    };
    match wanted {
        Wanted::Nothing | Wanted::Allow => Answer::silence(),
        Wanted::Ask(reason) | Wanted::Refuse(reason) => deny(reason),
        Wanted::Rewrite { .. }
        | Wanted::Append(_)
        | Wanted::Replace(_)
        | Wanted::ReplaceError(_)
        | Wanted::Withhold(_) => deny("refused by policy"),
    }
}

fn after_tool(heard: &Heard, wanted: &Wanted) -> Answer {
    let replaced = |output: Json| specific("PostToolUse", [("updatedToolOutput", output)]);
    match wanted {
        Wanted::Nothing | Wanted::Allow | Wanted::Append(_) => Answer::silence(),
        Wanted::Replace(content) => replaced(content.clone()),
        Wanted::Withhold(notice)
        | Wanted::Refuse(notice)
        | Wanted::Ask(notice)
        | Wanted::ReplaceError(notice) => {
            replaced(shape::withheld(heard.message.get("tool_response"), notice))
        }
        Wanted::Rewrite { .. } => {
            replaced(shape::withheld(heard.message.get("tool_response"), "withheld by policy"))
        }
    }
}

/// At a prompt, also that of hosts which took the form over.
pub(crate) fn at_prompt(event: &str, wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Nothing | Wanted::Allow => Answer::silence(),
        Wanted::Append(text) => specific(event, [("additionalContext", text.as_str().into())]),
        Wanted::Refuse(reason)
        | Wanted::Ask(reason)
        | Wanted::Withhold(reason)
        | Wanted::ReplaceError(reason) => decided("block", reason).and_exit_2(reason),
        Wanted::Rewrite { .. } | Wanted::Replace(_) => {
            decided("block", REFUSED).and_exit_2(REFUSED)
        }
    }
}

/// At a start, also that of hosts which took the form over. It cannot be refused: the gate has ended
/// the session, and the next event is refused. The person is told.
pub(crate) fn at_start(heard: &Heard, wanted: &Wanted) -> Answer {
    let told = match wanted {
        Wanted::Refuse(reason) => Some(reason.clone()),
        Wanted::Nothing
        | Wanted::Allow
        | Wanted::Ask(_)
        | Wanted::Rewrite { .. }
        | Wanted::Append(_)
        | Wanted::Replace(_)
        | Wanted::ReplaceError(_)
        | Wanted::Withhold(_) => heard.notice.clone(),
    };
    let context = if let Wanted::Append(text) = wanted { Some(text.as_str()) } else { None };
    if told.is_none() && context.is_none() {
        return Answer::silence();
    }
    let specific = context.map(|text| {
        of([("hookEventName", heard.event.name.into()), ("additionalContext", text.into())])
    });
    Answer::json(&of([
        ("systemMessage", told.map(Json::from).unwrap_or_default()),
        ("hookSpecificOutput", specific.unwrap_or_default()),
    ]))
}
