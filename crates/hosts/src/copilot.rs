//! GitHub Copilot CLI and cloud agent, from documents: the event's name in camel case chooses the
//! payload.

use crate::facts::{Ability, Crash, EventFacts, Evidence, Facts, TimeUnit};
use crate::host::Host;
use tollgate_gate::EventKind::{
    AgentEnd, AgentStart, Error, PostTool, PreTool, PromptBuild, ToolError,
};

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
        EventFacts::ignored("sessionEnd", "it only tells"),
        EventFacts::ignored("userPromptTransformed", "the prompt comes at userPromptSubmitted"),
        EventFacts::ignored("permissionRequest", "the call was judged at preToolUse"),
        EventFacts::ignored("preCompact", "it only tells"),
        EventFacts::ignored("notification", "it only tells"),
    ],
    ask: Ability::Partly("in the CLI; the cloud agent takes it for a denial"),
    skip_prompt: Ability::Yes,
    rewrite: Ability::Yes,
    redact: Ability::Yes,
    redact_failure: Ability::No("a shell command is wrapped beforehand; other tools' errors stay"),
    on_crash: Crash::Closed,
    on_timeout: Crash::Open,
    timeout_ms: 30_000,
    timeout_unit: TimeUnit::Seconds,
    not_shown: &[
        "what the model is sent",
        "reported: calls of sub-agents, parallel calls on a time-out",
    ],
};

impl Host for Copilot {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }
}
