//! Claude Code: hooks as commands, one JSON object in and out.

use crate::facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
use crate::host::Host;
use tollgate_gate::EventKind::{
    AgentEnd, AgentStart, Error, PostTool, PreTool, PromptBuild, ToolError,
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
    ask: Ability::Partly("in a terminal; headless or in a mode that skips prompts it is a denial"),
    skip_prompt: Ability::Yes,
    rewrite: Ability::Partly("not of shell commands inside skills: they are refused"),
    redact: Ability::Yes,
    redact_failure: Ability::No("a shell command is wrapped beforehand; other tools' errors stay"),
    on_crash: Crash::OpenUnless("onFailure: \"block\""),
    on_timeout: Crash::OpenUnless("onFailure: \"block\""),
    timeout_ms: 600_000,
    timeout_unit: TimeUnit::Seconds,
    not_shown: &[
        "files mentioned with @ in a prompt (use its own Read deny rules)",
        "calls that fail its schema check",
        "what the model is sent",
    ],
};

impl Host for ClaudeCode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }
}
