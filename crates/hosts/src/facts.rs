//! What a host can do, as data: the source of the table in `docs/hosts.md`, of what `install` writes
//! and `doctor` says, and of what the hook process may promise.

use tollgate_gate::EventKind;

/// How what is said of a host is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The real program of this version was run against a scripted model, and this was seen.
    Live(&'static str),
    /// The vendor's documents of this version say so, or others do; nobody here has seen it.
    Document(&'static str),
}

impl Evidence {
    /// The word for tables: `live` or `document`.
    pub const fn word(self) -> &'static str {
        match self {
            Evidence::Live(_) => "live",
            Evidence::Document(_) => "document",
        }
    }

    /// The version that it is about.
    pub const fn version(self) -> &'static str {
        match self {
            Evidence::Live(version) | Evidence::Document(version) => version,
        }
    }
}

/// Whether a host can do something that a decision may want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// It can.
    Yes,
    /// It can, within these bounds.
    Partly(&'static str),
    /// It cannot; what is done in its place.
    No(&'static str),
}

/// What a host does when the hook process dies, answers nonsense or takes too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The call runs.
    Open,
    /// The call runs, unless this switch stands at the hook's entry; `install` sets it.
    OpenUnless(&'static str),
    /// The call does not run.
    Closed,
}

/// The unit of the timeout in a host's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Milliseconds,
}

/// What becomes of one of a host's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventUse {
    /// It passes the gate, as one of these kinds.
    Judged(&'static [EventKind]),
    /// It is answered from a decision that the gate has made before.
    Remembered(&'static str),
    /// Nothing is done with it, for this reason.
    Ignored(&'static str),
}

/// One of a host's events.
#[derive(Debug, Clone, Copy)]
pub struct EventFacts {
    /// Its name, as the host writes it.
    pub name: &'static str,
    /// What becomes of it.
    pub used: EventUse,
    /// The host's own time limit at this event, in milliseconds, where it is another than
    /// [`Facts::timeout_ms`].
    pub timeout_ms: Option<u64>,
}

impl EventFacts {
    /// An event that passes the gate.
    pub const fn judged(name: &'static str, kinds: &'static [EventKind]) -> EventFacts {
        EventFacts { name, used: EventUse::Judged(kinds), timeout_ms: None }
    }

    /// An event that nothing is done with.
    pub const fn ignored(name: &'static str, why: &'static str) -> EventFacts {
        EventFacts { name, used: EventUse::Ignored(why), timeout_ms: None }
    }

    /// The same, with a time limit of its own.
    #[must_use]
    pub const fn within_ms(mut self, timeout_ms: u64) -> EventFacts {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// Whether a hook is to stand at this event.
    pub const fn is_wanted(&self) -> bool {
        !matches!(self.used, EventUse::Ignored(_))
    }
}

/// What a host is and can do.
#[derive(Debug)]
pub struct Facts {
    /// The name on the command line, in sessions and in records.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// How this is known.
    pub evidence: Evidence,
    /// Its events, each with what becomes of it.
    pub events: &'static [EventFacts],
    /// Whether it can ask its user.
    pub ask: Ability,
    /// Whether an allowed call can skip the host's own prompt.
    pub skip_prompt: Ability,
    /// Whether arguments can be rewritten.
    pub rewrite: Ability,
    /// Whether the result of a call that ended well can be replaced.
    pub redact: Ability,
    /// Whether the text of a call that failed can be replaced.
    pub redact_failure: Ability,
    /// Whether the model reads the error of a tool, other than a shell, as the tool wrote it.
    pub errors_stay: bool,
    /// When the hook process dies or answers nonsense.
    pub on_crash: Crash,
    /// When the hook process takes too long.
    pub on_timeout: Crash,
    /// The host's time limit for a hook when none is configured, in milliseconds.
    pub timeout_ms: u64,
    /// The unit of the time limit in its configuration.
    pub timeout_unit: TimeUnit,
    /// What it never shows to a hook, so that no policy can judge it.
    pub not_shown: &'static [&'static str],
}

impl Facts {
    /// The event of this name.
    pub fn event(&self, name: &str) -> Option<&'static EventFacts> {
        self.events.iter().find(|event| event.name == name)
    }

    /// The host's time limit at an event when none is configured, in milliseconds.
    pub fn timeout_ms_at(&self, event: &str) -> u64 {
        self.event(event).and_then(|event| event.timeout_ms).unwrap_or(self.timeout_ms)
    }
}
