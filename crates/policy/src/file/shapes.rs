//! The shapes of the language: every key of a policy file, with its words.

use super::shape::{Key, More, Shape, Want};
use tollgate_gate::EventKind;

/// Words for the mapping of actions in the schema.
pub(crate) const ACTION_DOC: &str = "A hook has exactly one action.";

const KINDS_AND_GROUPS: &[&str] = &[
    EventKind::AgentStart.name(),
    EventKind::PromptBuild.name(),
    EventKind::MemoryLoad.name(),
    EventKind::PreModel.name(),
    EventKind::PostModel.name(),
    EventKind::PreTool.name(),
    EventKind::PostTool.name(),
    EventKind::ToolError.name(),
    EventKind::AgentEnd.name(),
    EventKind::AgentAbort.name(),
    EventKind::Error.name(),
    "before",
    "after",
    "after_tool",
];

const KIND: Want = Want::Word(KINDS_AND_GROUPS);
const KIND_LIST: Want = Want::ListOf(&KIND);

/// A policy file.
pub(crate) static POLICY: Shape = Shape {
    what: "a policy",
    more: More::Nothing,
    keys: &[
        Key::new("version", Want::Whole(1, 1), "The version of the language: 1.").required(),
        Key::new(
            "mode",
            Want::Word(&["enforce", "dry_run", "off"]),
            "Whether decisions hold (`enforce`, the default), are only recorded (`dry_run`), or nothing is looked at (`off`).",
        ),
        Key::new(
            "default",
            Want::Object(&DEFAULTS),
            "What holds at a kind when no hook votes: `allow` (unless set), `ask` or `deny`.",
        ),
        Key::new(
            "resolution",
            Want::Word(&["first_deny", "collect"]),
            "Whether the first deny ends the chain (`first_deny`, the default) or every judge votes (`collect`).",
        ),
        Key::new(
            "on_internal_error",
            Want::Word(&["closed", "open"]),
            "What a hook process of a host answers when something goes wrong inside of it: it refuses (`closed`, the default) or lets the host go on (`open`).",
        ),
        Key::new("audit", Want::Object(&AUDIT), "Where decisions are recorded, and how durably."),
        Key::new(
            "alerts",
            Want::ListOf(&Want::Object(&ALERT)),
            "Who is told when something grave or much is refused.",
        ),
        Key::new(
            "groups",
            Want::MapOf(&Want::Names),
            "Groups of users by name, for `ask.who` and `user.groups`.",
        ),
        Key::new(
            "approvers",
            Want::MapOf(&Want::Text),
            "Users who sign their answers, with their public keys. A project's file has none.",
        ),
        Key::new("sessions", Want::Object(&SESSIONS), "What is kept about sessions, and how long."),
        Key::new("tools", Want::Object(&TOOLS), "What the gate should know about tools."),
        Key::new(
            "mcp",
            Want::Object(&MCP),
            "What holds for servers of the Model Context Protocol.",
        ),
        Key::new(
            "programs",
            Want::Names,
            "Further lines of the program table: what programs of yours do with their arguments.",
        ),
        Key::new(
            "env",
            Want::MapOf(&ENV_WANT),
            "The environment variables that texts may use as `${NAME}`.",
        ),
        Key::new(
            "locked",
            Want::Names,
            "Names of hooks that no later layer may override, except or disable.",
        ),
        Key::new(
            "include",
            Want::ListOf(&Want::Object(&INCLUDE)),
            "Further files, below this file's folder, with what they may do.",
        ),
        Key::new("hooks", Want::ListOf(&Want::Object(&HOOK)), "The hooks."),
        Key::new(
            "exceptions",
            Want::ListOf(&Want::Object(&EXCEPTION)),
            "Where a hook of an earlier layer does not hold.",
        ),
    ],
};

static DEFAULTS: Shape = Shape {
    what: "the defaults",
    more: More::Nothing,
    keys: &[
        Key::new("pre_tool", DEFAULT_VOTE, "Before a tool call."),
        Key::new("pre_model", DEFAULT_VOTE, "Before a model call."),
        Key::new("before", DEFAULT_VOTE, "Before a tool or model call."),
        Key::new("agent_start", DEFAULT_REFUSE, "When a session opens."),
        Key::new("prompt_build", DEFAULT_REFUSE, "When the prompt is assembled."),
        Key::new("memory_load", DEFAULT_REFUSE, "When memory enters the context."),
        Key::new("post_model", DEFAULT_REFUSE, "After a model call."),
        Key::new("post_tool", DEFAULT_REFUSE, "After a tool call that ended well."),
        Key::new("tool_error", DEFAULT_REFUSE, "After a tool call that ended badly."),
        Key::new("after_tool", DEFAULT_REFUSE, "After a tool call."),
        Key::new("after", DEFAULT_REFUSE, "After a tool or model call."),
        Key::new("agent_end", DEFAULT_REFUSE, "When the agent finished."),
    ],
};

const DEFAULT_VOTE: Want = Want::Word(&["allow", "ask", "deny"]);
const DEFAULT_REFUSE: Want = Want::Word(&["allow", "deny"]);

static AUDIT: Shape = Shape {
    what: "the audit settings",
    more: More::Nothing,
    keys: &[
        Key::new("store", Want::Text, "`memory`, `file:default` or `file:` and a folder."),
        Key::new(
            "durability",
            Want::Word(&["before_effect", "buffered"]),
            "Whether a decision is on disk before its effect (`before_effect`, the default).",
        ),
    ],
};

static MCP: Shape = Shape {
    what: "the settings of servers of tools",
    more: More::Nothing,
    keys: &[Key::new(
        "pin",
        Want::Word(&["warn", "deny", "off"]),
        "What is done about a tool whose definition changed since it was first seen: the person is told (`warn`, the default), it is refused until it is accepted (`deny`), or nothing is remembered (`off`).",
    )],
};

static ALERT: Shape = Shape {
    what: "an alert",
    more: More::Nothing,
    keys: &[
        Key::new("name", Want::Text, "Its name.").required(),
        Key::new("to", Want::Text, "The webhook: a URL without user, password or query.")
            .required(),
        Key::new(
            "header_file",
            Want::Text,
            "An absolute path of a file (0600) with one header `Name: value` that is sent with it.",
        ),
        Key::new(
            "ca_file",
            Want::Text,
            "An absolute path of a file with the certificates to trust in place of the machine's.",
        ),
        Key::new(
            "severity",
            Want::Word(&["low", "medium", "high", "critical"]),
            "Alert at a decision of this severity or above.",
        ),
        Key::new(
            "refusals_per_minute",
            Want::Whole(1, 1_000_000),
            "Alert when as much is refused within a minute, over all sessions.",
        ),
    ],
};

static SESSIONS: Shape = Shape {
    what: "the session settings",
    more: More::Nothing,
    keys: &[
        Key::new("store", Want::Text, "`memory`, `file:default` or `file:` and a folder."),
        Key::new("idle", Want::Duration, "A session that was idle this long is forgotten."),
        Key::new(
            "lease",
            Want::Duration,
            "What a call reserved is free again after this time, if it never reports back.",
        ),
    ],
};

static TOOLS: Shape = Shape {
    what: "the tools",
    more: More::Nothing,
    keys: &[
        Key::new(
            "names",
            Want::Names,
            "All tools that there are; globs of hooks are checked against them.",
        ),
        Key::new(
            "aliases",
            Want::MapOf(&Want::Names),
            "Other names of a tool: a hook on the tool concerns them too.",
        ),
        Key::new(
            "groups",
            Want::MapOf(&Want::Names),
            "Groups of tools by name; `tool:` takes the name of a group.",
        ),
        Key::new(
            "read_only",
            Want::Globs,
            "Tools that change nothing; calls of these may run side by side.",
        ),
        Key::new(
            "writing",
            Want::Globs,
            "Tools that change something; what they write is unknown unless `arguments` says.",
        ),
        Key::new(
            "arguments",
            Want::MapOf(&Want::Object(&TOOL_ARGUMENTS)),
            "Which arguments of a tool are paths, commands or URLs.",
        ),
    ],
};

static TOOL_ARGUMENTS: Shape = Shape {
    what: "the arguments of a tool",
    more: More::Nothing,
    keys: &[
        Key::new("reads", Want::Names, "Arguments that name a path which is read."),
        Key::new("writes", Want::Names, "Arguments that name a path which is written."),
        Key::new(
            "deletes",
            Want::Names,
            "Arguments that name a path which is deleted or moved away.",
        ),
        Key::new("runs", Want::Names, "Arguments that hold a command."),
        Key::new("contacts", Want::Names, "Arguments that hold a URL or host."),
    ],
};

const ENV_WANT: Want = Want::Object(&ENV);

static ENV: Shape = Shape {
    what: "a variable",
    more: More::Nothing,
    keys: &[
        Key::new(
            "default",
            Want::Text,
            "The value where the variable is not set; without one it must be set.",
        ),
        Key::new(
            "secret",
            Want::Flag,
            "Never shown or stored; only for commands, webhooks and WASM components.",
        ),
        Key::new("description", Want::Text, "For people."),
    ],
};

static INCLUDE: Shape = Shape {
    what: "an include",
    more: More::Nothing,
    keys: &[
        Key::new("file", Want::Text, "A path below this file's folder.").required(),
        Key::new("grant", ROLES, "The roles that hooks of the file may have.").required(),
        Key::new("only", Want::Object(&ONLY), "The events that hooks of the file may concern."),
    ],
};

const ROLES: Want = Want::ListOf(&Want::Word(&["watch", "rewrite", "judge"]));

static ONLY: Shape = Shape {
    what: "a scope",
    more: More::Nothing,
    keys: &[
        Key::new("tenant", Want::Globs, "Globs of tenants."),
        Key::new("agent", Want::Globs, "Globs of agents."),
        Key::new("tool", Want::Globs, "Globs of tools."),
    ],
};

static EXCEPTION: Shape = Shape {
    what: "an exception",
    more: More::Nothing,
    keys: &[
        Key::new("hook", Want::Text, "The hook that does not hold.").required(),
        Key::new("match", Want::Object(&MATCH), "For which events.").required(),
        Key::new("reason", Want::Text, "Why.").required(),
        Key::new("until", Want::Date, "The exception ends here."),
    ],
};

/// A hook.
pub(crate) static HOOK: Shape = Shape {
    what: "a hook",
    more: More::Actions,
    keys: &[
        Key::new("name", Want::Text, "Its name, unique in the policy.").required(),
        Key::new(
            "on",
            Want::Either(&[KIND, KIND_LIST]),
            "The event kinds, or groups of them: `before`, `after`, `after_tool`.",
        )
        .required(),
        Key::new("description", Want::Text, "For people."),
        Key::new("match", Want::Object(&MATCH), "Which events it concerns; all keys must match."),
        Key::new(
            "when",
            Want::Text,
            "A condition in CEL; the hook concerns events for which it is true.",
        ),
        Key::new(
            "unless",
            Want::Either(&[Want::Text, Want::Object(&MATCH)]),
            "A condition in CEL or a match; the hook does not concern events for which it holds.",
        ),
        Key::new(
            "priority",
            Want::Whole(-1_000_000, 1_000_000),
            "Lower runs first: 0 security, 100 (default), 200 business rewriting.",
        ),
        Key::new("enabled", Want::Flag, "Whether it runs at all."),
        Key::new(
            "dry_run",
            Want::Either(&[Want::Flag, Want::Object(&DRY_RUN)]),
            "Only record what it would do; `{ until: DATE }` ends that by itself.",
        ),
        Key::new("rollout", Want::Object(&ROLLOUT), "Apply it to a share only."),
        Key::new(
            "on_failure",
            Want::Word(&["closed", "open"]),
            "What a fault means: refuse (`closed`) or go on without it (`open`).",
        ),
        Key::new("timeout", Want::Duration, "How long it may take; 3s unless set."),
        Key::new(
            "sees",
            Want::Word(&["current", "original"]),
            "Which payload a judge sees: as rewritten so far, or as asked for.",
        ),
        Key::new("severity", Want::Word(&["low", "medium", "high", "critical"]), "For reports."),
        Key::new("locked", Want::Flag, "No later layer may override, except or disable it."),
        Key::new(
            "override",
            Want::Flag,
            "Takes the place of the hook of this name in an earlier file.",
        ),
    ],
};

static DRY_RUN: Shape = Shape {
    what: "a dry run",
    more: More::Nothing,
    keys: &[Key::new("until", Want::Date, "From this moment on the hook acts.").required()],
};

static ROLLOUT: Shape = Shape {
    what: "a rollout",
    more: More::Nothing,
    keys: &[
        Key::new("percent", Want::Whole(0, 100), "The share, in percent.").required(),
        Key::new(
            "by",
            Want::Word(&["session", "tenant", "user"]),
            "What the share is taken of; sessions unless set.",
        ),
    ],
};

const PATHS: Want = Want::Either(&[Want::Object(&OUTSIDE), Want::Globs]);

static OUTSIDE: Shape = Shape {
    what: "a place",
    more: More::Nothing,
    keys: &[Key::new(
        "outside",
        Want::Names,
        "`workspace`, or folders: paths that are in none of them.",
    )
    .required()],
};

/// A match.
pub(crate) static MATCH: Shape = Shape {
    what: "a match",
    more: More::Paths,
    keys: &[
        Key::new("tool", Want::Globs, "The tool's name, or the name of a group of `tools.groups`."),
        Key::new("server", Want::Globs, "The server that has the tool."),
        Key::new("model", Want::Globs, "The model."),
        Key::new("tenant", Want::Globs, "The tenant."),
        Key::new("user", Want::Globs, "The user."),
        Key::new("agent", Want::Globs, "The agent."),
        Key::new("host", Want::Globs, "The agent program that Tollgate is plugged into."),
        Key::new("tags", Want::Names, "The event has all of these tags."),
        Key::new("any_tag", Want::Names, "The event has any of these tags."),
        Key::new("labels", Want::Names, "The session has all of these labels."),
        Key::new(
            "reads",
            PATHS,
            "Paths that the call would read; relative globs start at the project root.",
        ),
        Key::new("writes", PATHS, "Paths that the call would write."),
        Key::new("deletes", PATHS, "Paths that the call would delete or move away."),
        Key::new("runs", Want::Globs, "Programs that the call would run."),
        Key::new("contacts", Want::Globs, "Hosts that the call would contact."),
        Key::new(
            "sends",
            PATHS,
            "Files that the call would hand to a host; `$NAME`: a variable named like a secret; `-`: data.",
        ),
        Key::new("publishes", Want::Globs, "What the call would make public: `npm`, `release` ..."),
        Key::new(
            "destroys",
            Want::Globs,
            "What the call would destroy that is no file: `disk`, `database`, `shared-history` ...",
        ),
        Key::new(
            "escalates",
            Want::Globs,
            "The privileges that the call would change: `root`, `setuid`, `kernel` ...",
        ),
        Key::new(
            "persists",
            Want::Globs,
            "By what the call would run again later: `cron`, `service`, `git-hooks` ...",
        ),
        Key::new(
            "exposes",
            Want::Globs,
            "The secret that the call would show: `$NAME` of a variable, `token`, `keychain` ...",
        ),
        Key::new("hosts", Want::Globs, "The same as `contacts`."),
        Key::new("unknown", UNKNOWN, "What about the call cannot be known."),
        Key::new("hidden", UNKNOWN, "What the text of the call itself hides."),
        Key::new("all", Want::ListOf(&Want::Object(&MATCH)), "All of these match."),
        Key::new("any", Want::ListOf(&Want::Object(&MATCH)), "Any of these matches."),
        Key::new("not", Want::Object(&MATCH), "This does not match."),
    ],
};

const VERB: Want = Want::Word(&[
    "reads",
    "writes",
    "deletes",
    "runs",
    "contacts",
    "sends",
    "publishes",
    "destroys",
    "escalates",
    "persists",
    "exposes",
]);
const VERBS: Want = Want::ListOf(&VERB);
const UNKNOWN: Want = Want::Either(&[VERB, VERBS]);
