//! How each host writes hooks into its settings, and where the settings are.
//!
//! What can be set at a hook differs by name only; two shapes are enough: a list of groups with a list
//! of handlers each, or a list of handlers. Whether a host is known from running it or from documents
//! stands at its facts.

use crate::facts::{EventFacts, EventUse, Facts, TimeUnit};
use tollgate_gate::EventKind;

/// How long a hook may take, in milliseconds, where the host does not limit the event to less. The
/// hook process answers by itself long before.
pub const TIMEOUT_MS: u64 = 30_000;

/// Within this a hook process answers, whatever happens, in milliseconds; within half of the host's own limit
/// where that is shorter.
pub const ANSWER_MS: u64 = 8_000;

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those of the person, for all projects.
    User,
    /// Those of a project, for all its people.
    Project,
    /// Those of the machine, which no person can change.
    Managed,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 3] = [Scope::User, Scope::Project, Scope::Managed];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Managed => "managed",
        }
    }
}

/// Where a person's settings are.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The host's own variable that names another folder.
    pub variable: Option<&'static str>,
    /// The folder, below the home folder.
    pub folder: &'static str,
    /// The file in it.
    pub file: &'static str,
}

/// Where the machine's settings are.
#[derive(Debug, Clone, Copy)]
pub enum Managed {
    /// In this file.
    File(&'static str),
    /// In this file, which is no JSON and is written by hand.
    ByHand(&'static str),
}

/// How a host writes hooks, and where.
#[derive(Debug)]
pub struct Form {
    /// The host's name.
    pub host: &'static str,
    /// The person's settings.
    pub user: Place,
    /// The project's settings, below its root.
    pub project: &'static str,
    /// The machine's.
    pub managed: Managed,
    /// Further files, below the home folder or a project's root, in which hooks or switches of hooks
    /// can stand.
    pub further: &'static [&'static str],
    /// Whether handlers stand in groups.
    pub(super) grouped: bool,
    /// What the file begins with, where it must say its version.
    pub(super) version: bool,
    /// The name of the command.
    pub(super) command: &'static str,
    /// The name of the time limit.
    pub(super) timeout: &'static str,
    /// What makes a hook that fails refuse.
    pub(super) closed: Option<Closed>,
    /// The switches that turn hooks off.
    pub(super) off: &'static [Off],
    /// The switch in the machine's settings under which only the hooks there run.
    pub(super) only_managed: Option<&'static str>,
    /// Whether the host passes over a file as a whole that names an event it does not know, or no version.
    pub(super) strict: bool,
    /// Whether the command has to name its event, because the host's messages do not.
    pub names_event: bool,
    /// Whether shell commands can be rewritten to mask their output, and need it.
    pub wraps: bool,
    /// What a person has to do after an install, where we cannot.
    pub then: &'static str,
}

/// The switch at a hook that makes its failure a refusal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Closed {
    /// A name and a word.
    Word(&'static str, &'static str),
    /// A name, set to true.
    Flag(&'static str),
}

/// A switch that turns hooks off, by its path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Off {
    /// All of them, when it is true.
    When(&'static [&'static str]),
    /// All of them, when it is false.
    Unless(&'static [&'static str]),
    /// Those that it lists, by name or by command.
    Listed(&'static [&'static str]),
}

/// Every host's form.
pub static FORMS: [Form; 5] = [CLAUDE_CODE, CODEX, GEMINI, COPILOT, CURSOR];

/// The form of this host.
pub fn form(host: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.host == host)
}

const CLAUDE_CODE: Form = Form {
    host: "claude-code",
    user: Place { variable: Some("CLAUDE_CONFIG_DIR"), folder: ".claude", file: "settings.json" },
    project: ".claude/settings.json",
    managed: Managed::File(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode/managed-settings.json"
    } else {
        "/etc/claude-code/managed-settings.json"
    }),
    further: &[".claude/settings.local.json"],
    grouped: true,
    version: false,
    command: "command",
    timeout: "timeout",
    closed: Some(Closed::Word("onFailure", "block")),
    off: &[Off::When(&["disableAllHooks"])],
    only_managed: Some("allowManagedHooksOnly"),
    strict: false,
    names_event: false,
    wraps: false,
    then: "a session that is open reads its hooks again by itself, or after `/hooks`",
};

const CODEX: Form = Form {
    host: "codex",
    user: Place { variable: Some("CODEX_HOME"), folder: ".codex", file: "hooks.json" },
    project: ".codex/hooks.json",
    managed: Managed::ByHand("/etc/codex/requirements.toml"),
    further: &[".codex/config.toml"],
    grouped: true,
    version: false,
    command: "command",
    timeout: "timeout",
    closed: None,
    off: &[],
    only_managed: None,
    strict: false,
    names_event: false,
    wraps: true,
    then: "start Codex, type /hooks and trust each hook of Tollgate: until then Codex skips them \
           without a word",
};

const GEMINI: Form = Form {
    host: "gemini",
    user: Place { variable: None, folder: ".gemini", file: "settings.json" },
    project: ".gemini/settings.json",
    managed: Managed::File(if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli/settings.json"
    } else {
        "/etc/gemini-cli/settings.json"
    }),
    further: &[],
    grouped: true,
    version: false,
    command: "command",
    timeout: "timeout",
    closed: None,
    off: &[
        Off::When(&["hooksConfig", "disabled"]),
        Off::Unless(&["hooksConfig", "enabled"]),
        Off::Listed(&["hooksConfig", "disabled"]),
        // As it was written before.
        Off::Unless(&["hooks", "enabled"]),
        Off::Listed(&["hooks", "disabled"]),
        Off::Unless(&["tools", "enableHooks"]),
    ],
    only_managed: None,
    strict: false,
    names_event: false,
    wraps: false,
    then: "start Gemini CLI again; a project's hooks run in trusted folders only",
};

const COPILOT: Form = Form {
    host: "copilot",
    user: Place { variable: Some("COPILOT_HOME"), folder: ".copilot", file: "hooks/tollgate.json" },
    project: ".github/hooks/tollgate.json",
    managed: Managed::File("/etc/github-copilot/policy.d/tollgate.json"),
    further: &[".copilot/settings.json", ".github/copilot/settings.json"],
    grouped: false,
    version: true,
    command: "bash",
    timeout: "timeoutSec",
    closed: None,
    off: &[Off::When(&["disableAllHooks"])],
    only_managed: None,
    strict: false,
    names_event: true,
    wraps: true,
    then: "start Copilot CLI again",
};

const CURSOR: Form = Form {
    host: "cursor",
    user: Place { variable: None, folder: ".cursor", file: "hooks.json" },
    project: ".cursor/hooks.json",
    managed: Managed::File(if cfg!(target_os = "macos") {
        "/Library/Application Support/Cursor/hooks.json"
    } else {
        "/etc/cursor/hooks.json"
    }),
    further: &[],
    grouped: false,
    version: true,
    command: "command",
    timeout: "timeout",
    closed: Some(Closed::Flag("failClosed")),
    off: &[],
    only_managed: None,
    strict: true,
    names_event: false,
    wraps: true,
    then: "start Cursor again",
};

impl Form {
    /// Whether the host has a switch at a hook that makes its failure a refusal.
    pub fn has_closed_switch(&self) -> bool {
        self.closed.is_some()
    }

    /// The time limit that is set at an event, in the host's unit.
    pub fn timeout_at(&self, facts: &Facts, event: &str) -> u64 {
        let limit_ms = facts.timeout_ms_at(event).min(TIMEOUT_MS);
        match facts.timeout_unit {
            TimeUnit::Seconds => (limit_ms / 1_000).max(1),
            TimeUnit::Milliseconds => limit_ms,
        }
    }
}

/// The least time that a hook needs at an event, in milliseconds: it answers by itself within this.
pub(super) fn needed_ms(facts: &Facts, event: &str) -> u64 {
    ANSWER_MS.min(facts.timeout_ms_at(event) / 2)
}

/// Whether a refusal at this event keeps a call from running.
pub fn stops_a_call(event: &EventFacts) -> bool {
    match event.used {
        EventUse::Judged(kinds) => kinds.contains(&EventKind::PreTool),
        EventUse::Remembered(_) | EventUse::Ignored(_) => false,
    }
}
