//! Cursor, the editor and `cursor-agent`, from documents: one event for each kind of tool.

use crate::facts::{Ability, Crash, EventFacts, Evidence, Facts, TimeUnit};
use crate::host::Host;
use tollgate_gate::EventKind::{AgentEnd, AgentStart, PostTool, PreTool, PromptBuild, ToolError};

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
        EventFacts::ignored("sessionEnd", "it only tells"),
        EventFacts::ignored("workspaceOpen", "it only tells"),
    ],
    ask: Ability::No("it asks at events of shell and MCP only; the call is refused"),
    skip_prompt: Ability::Partly("the editor; the CLI ignored it"),
    rewrite: Ability::Yes,
    redact: Ability::Partly("results of MCP tools; shell commands are wrapped beforehand"),
    redact_failure: Ability::No("shell commands are wrapped beforehand; other tools' errors stay"),
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

impl Host for Cursor {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }
}
