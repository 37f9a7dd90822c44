//! Effects: what a call would do, as a set of small facts with the text that each comes from.
//!
//! One effect is a verb and a target. A target that cannot be known is [`Target::Unknown`] with a
//! reason, so that "writes something, nobody knows what" is a fact like any other and a policy can
//! ask about it. Refused here: silence about what was not understood, and a verdict (that is the
//! policy's).

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::{EFFECTS_MAX, PIECE_BYTES_MAX};
use crate::mark;
use crate::path::PathTarget;

/// What is done to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Reads a file.
    Reads,
    /// Writes, creates or changes a file.
    Writes,
    /// Deletes a file or folder, or moves it away.
    Deletes,
    /// Runs a program.
    Runs,
    /// Opens a connection to a host.
    Contacts,
    /// Hands data (a file, a variable, standard input) to a host.
    Sends,
    /// Waits for connections.
    Listens,
    /// Makes something public or shared that is hard to take back: a package, a release.
    Publishes,
    /// Destroys what is not a file: a disk, a database, a cluster, history.
    Destroys,
    /// Changes privileges: root, permissions, users, kernel.
    Escalates,
    /// Arranges that something runs later or again: cron, services, login files.
    Persists,
    /// Shows a secret: prints or hands on the value of a variable that is named like one.
    Exposes,
    /// May do anything: the inside of a program that is not known.
    Does,
}

impl Verb {
    /// The word used in policies and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Deletes => "deletes",
            Self::Runs => "runs",
            Self::Contacts => "contacts",
            Self::Sends => "sends",
            Self::Listens => "listens",
            Self::Publishes => "publishes",
            Self::Destroys => "destroys",
            Self::Escalates => "escalates",
            Self::Persists => "persists",
            Self::Exposes => "exposes",
            Self::Does => "does",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a target is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The text does not follow the shell's grammar as it is understood here.
    Syntax,
    /// The text holds characters that are not accepted (private use, NUL).
    Characters,
    /// The text is over a size cap.
    Size,
    /// The text is nested over a cap.
    Depth,
    /// The work, or the number of effects, is over a cap.
    Steps,
    /// Which program runs depends on a value that is only known when it runs.
    ProgramName,
    /// A text is run that is only known when it runs.
    RunText,
    /// A path depends on a value that is only known when it runs.
    PathText,
    /// A host depends on a value that is only known when it runs.
    HostText,
    /// The environment changes which code runs (`PATH`, `LD_PRELOAD`).
    Environment,
    /// A git alias, hook or configured command runs.
    GitConfig,
    /// A script could not be read.
    Script,
    /// A program that is not in the table, or a sub-command that its entry does not know.
    Program,
    /// Code of the project runs: tests, build scripts, package scripts.
    ProjectCode,
    /// Text that a known tool prints to set up its environment is run.
    SetUpText,
}

impl Reason {
    /// Whether the text itself hides what happens. The other reasons name a program whose inside is
    /// not known, as is so for every program.
    pub fn is_hidden(self) -> bool {
        match self {
            Self::Syntax
            | Self::Characters
            | Self::Size
            | Self::Depth
            | Self::Steps
            | Self::ProgramName
            | Self::RunText
            | Self::PathText
            | Self::HostText
            | Self::Environment
            | Self::GitConfig => true,
            Self::Script | Self::Program | Self::ProjectCode | Self::SetUpText => false,
        }
    }

    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "the text is not understood",
            Self::Characters => "the text holds characters that are not accepted",
            Self::Size => "the text is too long",
            Self::Depth => "the text is nested too deeply",
            Self::Steps => "there is too much to look at",
            Self::ProgramName => "which program runs is only known when it runs",
            Self::RunText => "the text that runs is only known when it runs",
            Self::PathText => "the path is only known when it runs",
            Self::HostText => "the host is only known when it runs",
            Self::Environment => "the environment changes which code runs",
            Self::GitConfig => "a git alias, hook or configured command runs",
            Self::Script => "the script could not be read",
            Self::Program => "the program is not in the table",
            Self::ProjectCode => "code of the project runs",
            Self::SetUpText => "set-up text that a tool prints is run",
        }
    }
}

/// What an effect acts on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// A file or folder.
    Path(PathTarget),
    /// A host name or address, lower case, without port.
    Host(Box<str>),
    /// A program, with the sub-command where the table knows one: `git`, `push`.
    Program {
        /// The program's name without folders.
        name: Box<str>,
        /// The sub-command words, or empty.
        sub: Box<str>,
    },
    /// Another AI agent.
    Agent {
        /// The agent program.
        name: Box<str>,
        /// Whether its own guards (permission prompts, hooks, sandbox) are switched off.
        unguarded: bool,
    },
    /// Code that comes straight from the network and is run.
    RemoteCode,
    /// Something that is no file: `disk`, `database`, `cluster`, `history`, `root`, `cron`.
    Thing(Box<str>),
    /// A variable named like a secret, by its name; `*` for the whole environment.
    Secret(Box<str>),
    /// Not known, and why.
    Unknown(Reason),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{path}"),
            Self::Host(host) => f.write_str(&mark::shown(host)),
            Self::Program { name, sub } if sub.is_empty() => f.write_str(name),
            Self::Program { name, sub } => write!(f, "{name} {sub}"),
            Self::Agent { name, unguarded: true } => write!(f, "agent {name}, its guards off"),
            Self::Agent { name, unguarded: false } => write!(f, "agent {name}"),
            Self::RemoteCode => f.write_str("code from the network"),
            Self::Thing(thing) => f.write_str(thing),
            Self::Secret(name) => write!(f, "variable {name}"),
            Self::Unknown(reason) => write!(f, "unknown: {}", reason.as_str()),
        }
    }
}

/// The piece of text that an effect comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The innermost command, cut to [`PIECE_BYTES_MAX`] bytes. For a text inside a text
    /// (`sh -c '..'`, a script) this is the inner one.
    pub text: Arc<str>,
    /// Where the outermost command stands in the call's text, as byte offsets.
    pub span: (u32, u32),
}

impl Piece {
    pub(crate) fn new(text: &str, span: (u32, u32)) -> Self {
        let text = text.trim();
        let mut end = text.len().min(PIECE_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self { text: Arc::from(text.get(..end).unwrap_or_default()), span }
    }
}

/// One fact about what a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Effect {
    /// What is done.
    pub verb: Verb,
    /// To what.
    pub target: Target,
    /// By which piece of the text.
    pub piece: Piece,
}

/// Keys that are hashes already, as they are.
#[derive(Debug, Clone, Copy, Default)]
struct Already(u64);

impl Hasher for Already {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Only numbers are keys; a whole key of another kind would still be told from others.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// Everything that a call would do, as far as it is known, in the order of the text.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    list: Vec<Effect>,
    /// Where an effect with this hash stands; what collides is kept twice, never dropped.
    seen: HashMap<u64, usize, BuildHasherDefault<Already>>,
    full: bool,
}

/// One line of the table that `tollgate try` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The verb's word.
    pub effect: &'static str,
    /// The target in words.
    pub target: String,
    /// Whether the target is unknown.
    pub unknown: bool,
    /// The piece of text.
    pub piece: String,
    /// Where the outermost command stands, byte offsets.
    pub span: (u32, u32),
}

impl Effects {
    /// Adds one effect; the same effect of the same piece counts once.
    pub(crate) fn add(&mut self, verb: Verb, target: Target, piece: &Piece) {
        if self.list.len() >= EFFECTS_MAX {
            if !self.full {
                self.full = true;
                let target = Target::Unknown(Reason::Steps);
                self.list.push(Effect { verb: Verb::Runs, target, piece: piece.clone() });
            }
            return;
        }
        let mut hasher = DefaultHasher::new();
        (verb, &target, piece.span).hash(&mut hasher);
        let effect = Effect { verb, target, piece: piece.clone() };
        let at = *self.seen.entry(hasher.finish()).or_insert(self.list.len());
        if self.list.get(at) != Some(&effect) {
            self.list.push(effect);
        }
    }

    /// Takes back what was shown since there were `before` effects; whether anything was. For output that
    /// goes into a value and is shown only when the value is.
    pub(crate) fn take_back_shown(&mut self, before: usize) -> bool {
        let shown = self.list.iter().skip(before).any(|effect| effect.verb == Verb::Exposes);
        if shown {
            self.take_back(before, Verb::Exposes);
        }
        shown
    }

    /// Takes back what `verb` acts on since there were `before` effects.
    pub(crate) fn take_back(&mut self, before: usize, verb: Verb) {
        let mut index = 0;
        self.list.retain(|effect| {
            index += 1;
            index <= before || effect.verb != verb
        });
        self.seen.retain(|_, at| *at < before);
    }

    pub(crate) fn unknown(&mut self, verb: Verb, reason: Reason, piece: &Piece) {
        self.add(verb, Target::Unknown(reason), piece);
    }

    /// The effects in the order of the text.
    pub fn iter(&self) -> std::slice::Iter<'_, Effect> {
        self.list.iter()
    }

    /// Whether nothing at all is done.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many effects there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The effects with this verb.
    pub fn with(&self, verb: Verb) -> impl Iterator<Item = &Effect> {
        self.list.iter().filter(move |effect| effect.verb == verb)
    }

    /// The paths that `verb` acts on.
    pub fn paths(&self, verb: Verb) -> impl Iterator<Item = &PathTarget> {
        self.with(verb).filter_map(|effect| match &effect.target {
            Target::Path(path) => Some(path),
            Target::Host(_)
            | Target::Program { .. }
            | Target::Agent { .. }
            | Target::RemoteCode
            | Target::Thing(_)
            | Target::Secret(_)
            | Target::Unknown(_) => None,
        })
    }

    /// The hosts that are contacted or sent to.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter_map(|effect| match &effect.target {
            Target::Host(host) => Some(&**host),
            Target::Path(_)
            | Target::Program { .. }
            | Target::Agent { .. }
            | Target::RemoteCode
            | Target::Thing(_)
            | Target::Secret(_)
            | Target::Unknown(_) => None,
        })
    }

    /// Why what `verb` acts on is not fully known, each reason with its effect. The inside of an
    /// unknown program ([`Verb::Does`]) is asked for by its own verb.
    pub fn unknowns(&self, verb: Verb) -> impl Iterator<Item = (Reason, &Effect)> {
        self.with(verb).filter_map(|effect| match effect.target {
            Target::Unknown(reason) => Some((reason, effect)),
            Target::Path(_)
            | Target::Host(_)
            | Target::Program { .. }
            | Target::Agent { .. }
            | Target::RemoteCode
            | Target::Thing(_)
            | Target::Secret(_) => None,
        })
    }

    /// For a rule that restricts: whether any target of `verb` satisfies `test`. Unknown targets are
    /// handed to the test as well.
    pub fn any(&self, verb: Verb, mut test: impl FnMut(&Target) -> bool) -> bool {
        self.with(verb).any(|effect| test(&effect.target))
    }

    /// For a rule that permits: whether `verb` has a target, all satisfy `test`, and nothing at all
    /// is unknown about the call.
    pub fn all(&self, verb: Verb, mut test: impl FnMut(&Target) -> bool) -> bool {
        let nothing_unknown =
            self.list.iter().all(|effect| !matches!(effect.target, Target::Unknown(_)));
        let mut targets = self.with(verb).peekable();
        nothing_unknown && targets.peek().is_some() && targets.all(|e| test(&e.target))
    }

    /// The effects as the table that a person reads.
    pub fn rows(&self) -> Vec<Row> {
        let row = |effect: &Effect| Row {
            effect: effect.verb.as_str(),
            target: effect.target.to_string(),
            unknown: matches!(effect.target, Target::Unknown(_)),
            piece: mark::shown(&effect.piece.text),
            span: effect.piece.span,
        };
        self.list.iter().map(row).collect()
    }
}

impl<'a> IntoIterator for &'a Effects {
    type Item = &'a Effect;
    type IntoIter = std::slice::Iter<'a, Effect>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
