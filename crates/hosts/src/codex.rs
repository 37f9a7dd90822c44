//! Codex CLI: formats that look like Claude Code's and are not; most wrong answers let the call run.

use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::host::Host;
use tollgate_gate::EventKind::{AgentEnd, AgentStart, PostTool, PreTool, PromptBuild};

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
    skip_prompt: Ability::Partly("at PermissionRequest, from the decision at PreToolUse"),
    rewrite: Ability::Yes,
    redact: Ability::Partly(
        "the result becomes an error text; the session files keep the original",
    ),
    redact_failure: Ability::Partly("as for results"),
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

impl Host for Codex {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }
}
