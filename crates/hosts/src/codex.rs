//! Codex CLI: formats that look like Claude Code's and are not; most wrong answers let the call run.

use crate::answer::{Answer, Wanted, decided, specific, text_of};
use crate::call::{self, Reading, Tools, of};
use crate::claude_code::{at_prompt, at_start, ending, opening, tool_call, who};
use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::heard::{APPEND, APPEND_ONLY, Fields, Heard, SHOWN_ONLY, Unreadable};
use crate::host::Host;
use tollgate_gate::EventKind::{AgentEnd, AgentStart, PostTool, PreTool, PromptBuild};
use tollgate_gate::payload::PromptBuild as Prompt;
use tollgate_gate::{Bounds, Json, Object, Payload, ToolCall, ToolOutcome, ToolResult};

/// Codex CLI.
pub(crate) struct Codex;

static FACTS: Facts = Facts {
    name: "codex",
    title: "Codex CLI",
    evidence: Evidence::Live("0.171.0"),
    events: &[
        EventFacts::judged("PreToolUse", &[PreTool]),
        EventFacts::judged("PostToolUse", &[PostTool]),
        EventFacts {
            name: "PermissionRequest",
            used: EventUse::Remembered(
                "the call was judged at PreToolUse; what allowed it may skip",
            ),
            timeout_ms: None,
        },
        EventFacts::judged("UserPromptSubmit", &[PromptBuild]),
        EventFacts::judged("SessionStart", &[AgentStart]),
        EventFacts::judged("SubagentStart", &[AgentStart]),
        EventFacts::judged("SubagentStop", &[AgentEnd]),
        EventFacts::judged("Stop", &[AgentEnd]),
        EventFacts {
            name: "SessionEnd",
            used: EventUse::Remembered("what was remembered of the session is cleared"),
            timeout_ms: Some(1_000),
        },
        EventFacts::ignored("Interrupt", "it only tells").within_ms(1_000),
        EventFacts::ignored("PreCompact", "it only tells"),
        EventFacts::ignored("PostCompact", "it only tells"),
        EventFacts::ignored("PreModelRequest", "there is no command hook for it"),
        EventFacts::ignored("PostModelRequest", "there is no command hook for it"),
    ],
    ask: Ability::No("the approval is Tollgate's own, or the call is refused"),
    skip_prompt: Ability::Partly(
        "at PermissionRequest, from the decision at PreToolUse; a rewrite, which has to say allow, skips nothing: \
         the prompt comes, with the rewritten command",
    ),
    rewrite: Ability::Yes,
    redact: Ability::Partly(
        "the result becomes an error text; the session files keep the original",
    ),
    redact_failure: Ability::Partly("as for results"),
    errors_stay: false,
    on_crash: Crash::Open,
    on_timeout: Crash::Open,
    timeout_ms: 600_000,
    timeout_unit: TimeUnit::Seconds,
    not_shown: &[
        "text typed into a running process (write_stdin)",
        "output handed out before a command has ended; only a wrapped command masks it",
        "the end of a patch applied inside a shell command",
        "the JavaScript of its code mode (the calls inside are shown)",
        "web search and other hosted tools",
        "what the model is sent",
        "everything, while its hooks are not trusted (/hooks)",
    ],
};

static TOOLS: Tools = &[
    ("Bash", Reading::Shell("command", &[])),
    ("apply_patch", Reading::Patch("command")),
    ("spawn_agent", Reading::Task(&["agent_type"])),
];

fn reading(call: &ToolCall) -> Option<Json> {
    call::read(TOOLS, call)
}

fn payload(event: &str, fields: &Fields<'_>) -> Result<(Option<Payload>, Bounds), Unreadable> {
    let call = || tool_call(fields, reading);
    let free = Bounds::default();
    let (payload, bounds): (Payload, Bounds) = match event {
        "PreToolUse" | "PermissionRequest" => (call()?.into(), free),
        // Whether a command failed is not said: its output is all that comes.
        "PostToolUse" => {
            let result = ToolResult::success(fields.value("tool_response"));
            (ToolOutcome { call: call()?.into(), result }.into(), free)
        }
        "UserPromptSubmit" => {
            let prompt = Json::from(fields.need("prompt")?).into();
            (Prompt { prompt, extra: Object::new() }.into(), APPEND)
        }
        "SessionStart" | "SubagentStart" => (opening().into(), APPEND_ONLY),
        "Stop" | "SubagentStop" => (ending(fields).into(), SHOWN_ONLY),
        _ => return Ok((None, free)),
    };
    Ok((Some(payload), bounds))
}

impl Host for Codex {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn read(&self, message: Json, event: Option<&str>) -> Result<Heard, Unreadable> {
        let Json::Object(message) = message else { return Err(Unreadable::NoObject) };
        let fields = Fields(&message);
        let event = fields.event(event, |name| FACTS.event(name))?;
        let who = who(&fields)?;
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
            "PreToolUse" => before_tool(wanted),
            "PostToolUse" => after_tool(wanted),
            "PermissionRequest" => at_permission(wanted),
            "UserPromptSubmit" => at_prompt(heard.event.name, wanted),
            "SessionStart" | "SubagentStart" => at_start(heard, wanted),
            _ => Answer::silence(),
        }
    }
}

/// Only two answers are no mistake here: a denial with a reason, and `allow` together with a rewrite.
/// A bare `allow`, `ask` or an unknown key is an invalid answer, and the call runs.
fn before_tool(wanted: &Wanted) -> Answer {
    let deny = |reason: &str| {
        let reason = if reason.trim().is_empty() { "refused by policy" } else { reason };
        specific(
            "PreToolUse",
            [("permissionDecision", "deny".into()), ("permissionDecisionReason", reason.into())],
        )
        .and_exit_2(reason)
    };
    match wanted {
        Wanted::Nothing | Wanted::Allow => Answer::silence(),
        Wanted::Rewrite { arguments, .. } => specific(
            "PreToolUse",
            [("permissionDecision", "allow".into()), ("updatedInput", arguments.clone())],
        ),
        Wanted::Ask(reason)
        | Wanted::Refuse(reason)
        | Wanted::Withhold(reason)
        | Wanted::Append(reason)
        | Wanted::ReplaceError(reason) => deny(reason),
        Wanted::Replace(_) => deny("refused by policy"),
    }
}

fn after_tool(wanted: &Wanted) -> Answer {
    match wanted {
        Wanted::Nothing | Wanted::Allow | Wanted::Append(_) => Answer::silence(),
        Wanted::Replace(content) => decided("block", &text_of(content)),
        Wanted::ReplaceError(text)
        | Wanted::Withhold(text)
        | Wanted::Refuse(text)
        | Wanted::Ask(text) => decided("block", text),
        Wanted::Rewrite { .. } => decided("block", "withheld by policy"),
    }
}

/// Silence lets Codex ask its user.
fn at_permission(wanted: &Wanted) -> Answer {
    let decision = match wanted {
        Wanted::Allow => of([("behavior", "allow".into())]),
        Wanted::Refuse(reason) => {
            of([("behavior", "deny".into()), ("message", reason.as_str().into())])
        }
        Wanted::Nothing
        | Wanted::Ask(_)
        | Wanted::Rewrite { .. }
        | Wanted::Append(_)
        | Wanted::Replace(_)
        | Wanted::ReplaceError(_)
        | Wanted::Withhold(_) => return Answer::silence(),
    };
    specific("PermissionRequest", [("decision", decision)])
}
