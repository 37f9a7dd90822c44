//! Gemini CLI: `decision` and `reason` at the top, no call ids, time limits in milliseconds.

use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::host::Host;
use tollgate_gate::EventKind::{
    AgentEnd, AgentStart, PostTool, PreModel, PreTool, PromptBuild, ToolError,
};

/// Gemini CLI.
pub(crate) struct Gemini;

static FACTS: Facts = Facts {
    name: "gemini",
    title: "Gemini CLI",
    evidence: Evidence::Live("0.61.0"),
    events: &[
        EventFacts::judged("BeforeTool", &[PreTool]),
        EventFacts::judged("AfterTool", &[PostTool, ToolError]),
        EventFacts::judged("BeforeAgent", &[PromptBuild]),
        EventFacts::judged("AfterAgent", &[AgentEnd]),
        EventFacts::judged("BeforeModel", &[PreModel]),
        EventFacts::judged("SessionStart", &[AgentStart]),
        EventFacts {
            name: "SessionEnd",
            used: EventUse::Remembered("what was remembered of the session is cleared"),
            timeout_ms: None,
        },
        EventFacts::ignored("AfterModel", "it comes once a chunk: no chunk is a reply"),
        EventFacts::ignored("BeforeToolSelection", "it takes no decision"),
        EventFacts::ignored("PreCompress", "it only tells"),
        EventFacts::ignored("Notification", "it only tells"),
    ],
    ask: Ability::No("the approval is Tollgate's own, or the call is refused"),
    skip_prompt: Ability::No("its own prompt stays"),
    rewrite: Ability::Partly("the model is told that a hook changed the input"),
    redact: Ability::Partly("the result becomes an error text"),
    redact_failure: Ability::Partly("as for results"),
    on_crash: Crash::Open,
    on_timeout: Crash::Open,
    timeout_ms: 60_000,
    timeout_unit: TimeUnit::Milliseconds,
    not_shown: &[
        "the model's answers as a whole (they come by chunks)",
        "everything, in a folder that it does not trust, for hooks of the project",
    ],
};

impl Host for Gemini {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }
}
