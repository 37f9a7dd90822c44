//! What a call would do, as far as the policy's matches ask: the seam to whatever can tell.
//!
//! A match such as `writes: "**/test_*.py"` does not look at tool names but at effects. Who knows
//! them stands behind [`EffectSource`]; the answer is a count of targets, so that a source may
//! compare globs with targets in its own way (a command's own globs, unknown parts). The source here
//! knows what is exact: the policy's `tools:` and the canonical `call` of an adapter. What a shell
//! command does it calls unknown.

use super::names::NameGlobs;
use super::paths::{self, PathGlobs};
use crate::limits::EFFECTS_KEPT_MAX;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tollgate_effects as seen;
use tollgate_gate::glob::Glob;
use tollgate_gate::{Json, Session, Subject, Test, TestError, ToolCall};

/// What is done to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verb {
    /// A path is read.
    Reads,
    /// A path is written.
    Writes,
    /// A path is deleted or moved away.
    Deletes,
    /// A program is run.
    Runs,
    /// A host is contacted.
    Contacts,
    /// A file, a secret variable or data is handed to a host.
    Sends,
    /// Something is made public that is hard to take back.
    Publishes,
    /// Something that is no file is destroyed: a disk, a database, shared history.
    Destroys,
    /// Privileges change.
    Escalates,
    /// Something is made to run later or again.
    Persists,
    /// A secret is shown.
    Exposes,
}

impl Verb {
    /// All of them.
    pub const ALL: [Verb; 11] = [
        Verb::Reads,
        Verb::Writes,
        Verb::Deletes,
        Verb::Runs,
        Verb::Contacts,
        Verb::Sends,
        Verb::Publishes,
        Verb::Destroys,
        Verb::Escalates,
        Verb::Persists,
        Verb::Exposes,
    ];

    /// The key of the policy.
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Reads => "reads",
            Verb::Writes => "writes",
            Verb::Deletes => "deletes",
            Verb::Runs => "runs",
            Verb::Contacts => "contacts",
            Verb::Sends => "sends",
            Verb::Publishes => "publishes",
            Verb::Destroys => "destroys",
            Verb::Escalates => "escalates",
            Verb::Persists => "persists",
            Verb::Exposes => "exposes",
        }
    }

    /// The verb of a key; `hosts` is another word for `contacts`.
    pub fn from_name(name: &str) -> Option<Verb> {
        if name == "hosts" {
            return Some(Verb::Contacts);
        }
        Verb::ALL.into_iter().find(|verb| verb.name() == name)
    }

    /// Whether its targets are paths, or can be.
    pub const fn is_path(self) -> bool {
        matches!(self, Verb::Reads | Verb::Writes | Verb::Deletes | Verb::Sends)
    }

    /// The same verb of the analysis.
    pub(crate) const fn seen(self) -> seen::Verb {
        match self {
            Verb::Reads => seen::Verb::Reads,
            Verb::Writes => seen::Verb::Writes,
            Verb::Deletes => seen::Verb::Deletes,
            Verb::Runs => seen::Verb::Runs,
            Verb::Contacts => seen::Verb::Contacts,
            Verb::Sends => seen::Verb::Sends,
            Verb::Publishes => seen::Verb::Publishes,
            Verb::Destroys => seen::Verb::Destroys,
            Verb::Escalates => seen::Verb::Escalates,
            Verb::Persists => seen::Verb::Persists,
            Verb::Exposes => seen::Verb::Exposes,
        }
    }
}

/// What a match asks about the targets of a verb.
#[derive(Debug, Clone)]
pub enum Question {
    /// Paths that match one of these globs.
    Paths(PathGlobs),
    /// Paths that lie in none of these folders.
    Outside(Vec<Folder>),
    /// Programs, hosts or things that match one of these globs.
    Names(NameGlobs),
}

/// A folder of an `outside:`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Folder {
    /// The project root of the session.
    Workspace,
    /// A path; relative ones start at the project root.
    Path(String),
}

/// How many targets a verb has, and how many of them match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Targets of the verb.
    pub targets: u32,
    /// Targets that match, or of which a part may: what a restricting hook goes by.
    pub some: u32,
    /// Targets that match as a whole: what `allow` and `unless` go by.
    pub whole: u32,
}

/// What one call would do.
pub trait CallEffects: Send + Sync {
    /// How many targets of the verb match.
    fn tally(&self, verb: Verb, question: &Question) -> Tally;

    /// Whether the call may have targets of the verb that are not known.
    fn is_unknown(&self, verb: Verb) -> bool;

    /// Whether the call itself hides a target of the verb. What a program does inside is not hidden:
    /// that is unknown of every program.
    fn is_hidden(&self, verb: Verb) -> bool;
}

/// Tells what calls would do. Must answer alike for alike calls, without I/O that blocks.
pub trait EffectSource: Send + Sync {
    /// What this call would do.
    fn effects(&self, call: &ToolCall, session: &Session) -> Arc<dyn CallEffects>;

    /// Whether all places that this call goes to are told by it: it is a fetch of the host's own, or the policy
    /// names the arguments of its tool that hold them. Of other tools nobody knows which argument is a host.
    fn tells_destination(&self, call: &ToolCall) -> bool;

    /// Whether it looks into shell commands. One that does not calls them unknown, and the compiler
    /// warns where a hook would miss them.
    fn reads_shell(&self) -> bool;
}

/// How many targets must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Quantifier {
    /// Any target: hooks that restrict.
    Any,
    /// All targets, at least one, and nothing unknown: `allow`, `unless`, exceptions.
    All,
    /// Any target, or something unknown: below a `not` of the former.
    AnyOrUnknown,
}

impl Quantifier {
    /// The quantifier below a `not`.
    pub(crate) const fn negated(self) -> Quantifier {
        match self {
            Quantifier::Any | Quantifier::AnyOrUnknown => Quantifier::All,
            Quantifier::All => Quantifier::AnyOrUnknown,
        }
    }
}

/// The effects of the last calls, so that the hooks of one decision ask once.
pub(crate) struct EffectMemo {
    source: Arc<dyn EffectSource>,
    memo: CallMemo<Arc<dyn CallEffects>>,
}

impl EffectMemo {
    pub(crate) fn new(source: Arc<dyn EffectSource>) -> EffectMemo {
        EffectMemo { source, memo: CallMemo::default() }
    }

    pub(crate) fn source(&self) -> &Arc<dyn EffectSource> {
        &self.source
    }

    pub(crate) fn of(&self, call: &ToolCall, session: &Arc<Session>) -> Arc<dyn CallEffects> {
        self.memo.of(call, session, || self.source.effects(call, session))
    }
}

/// What was made of the last calls.
pub struct CallMemo<T> {
    kept: Mutex<Vec<(ToolCall, Arc<Session>, T)>>,
}

impl<T> Default for CallMemo<T> {
    fn default() -> CallMemo<T> {
        CallMemo { kept: Mutex::new(Vec::new()) }
    }
}

impl<T: Clone> CallMemo<T> {
    /// What was made of this very call of this very session, or is made of it now.
    pub fn of(&self, call: &ToolCall, session: &Arc<Session>, make: impl FnOnce() -> T) -> T {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(known, of, _): &&(ToolCall, Arc<Session>, T)| {
            Arc::ptr_eq(&known.arguments, &call.arguments)
                && same_arc(known.call.as_ref(), call.call.as_ref())
                && known.tool == call.tool
                && known.server == call.server
                && Arc::ptr_eq(of, session)
        };
        if let Some((_, _, made)) = kept.iter().find(same) {
            return made.clone();
        }
        let made = make();
        if kept.len() >= EFFECTS_KEPT_MAX {
            kept.remove(0);
        }
        kept.push((call.clone(), Arc::clone(session), made.clone()));
        made
    }
}

fn same_arc(a: Option<&Arc<Json>>, b: Option<&Arc<Json>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// A match on effects as a test of the gate.
pub(crate) struct EffectTest {
    pub(crate) memo: Arc<EffectMemo>,
    pub(crate) verb: Verb,
    pub(crate) question: Question,
    pub(crate) quantifier: Quantifier,
}

impl Test for EffectTest {
    fn test(&self, subject: &Subject<'_>) -> Result<bool, TestError> {
        let Some(call) = subject.payload.tool_call() else { return Ok(false) };
        let effects = self.memo.of(call, &subject.event.session);
        let tally = effects.tally(self.verb, &self.question);
        Ok(match self.quantifier {
            Quantifier::Any => tally.some > 0,
            Quantifier::All => {
                tally.targets > 0
                    && tally.whole == tally.targets
                    && !Verb::ALL.iter().any(|verb| effects.is_unknown(*verb))
            }
            Quantifier::AnyOrUnknown => tally.some > 0 || effects.is_unknown(self.verb),
        })
    }

    fn describe(&self) -> String {
        let which = match self.quantifier {
            Quantifier::Any => "",
            Quantifier::All => "all ",
            Quantifier::AnyOrUnknown => "maybe ",
        };
        format!("{which}{}: {}", self.verb.name(), self.question)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::Paths(globs) => write!(f, "{globs}"),
            Question::Names(patterns) => write!(f, "{patterns}"),
            Question::Outside(folders) => {
                let words: Vec<&str> = folders
                    .iter()
                    .map(|folder| match folder {
                        Folder::Workspace => "workspace",
                        Folder::Path(path) => path,
                    })
                    .collect();
                write!(f, "outside {}", words.join(", "))
            }
        }
    }
}

/// `unknown:` and `hidden:` as a test of the gate.
pub(crate) struct UnknownTest {
    pub(crate) memo: Arc<EffectMemo>,
    pub(crate) verbs: Vec<Verb>,
    /// Whether only what the call itself hides counts.
    pub(crate) hidden: bool,
}

impl Test for UnknownTest {
    fn test(&self, subject: &Subject<'_>) -> Result<bool, TestError> {
        let Some(call) = subject.payload.tool_call() else { return Ok(false) };
        let effects = self.memo.of(call, &subject.event.session);
        Ok(self.verbs.iter().any(|verb| match self.hidden {
            true => effects.is_hidden(*verb),
            false => effects.is_unknown(*verb),
        }))
    }

    fn describe(&self) -> String {
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.name()).collect();
        let key = if self.hidden { "hidden" } else { "unknown" };
        format!("{key}: {}", verbs.join(", "))
    }
}

/// What a policy declares about tools, as compiled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolFacts {
    /// Globs of tools that change nothing.
    pub read_only: Vec<String>,
    /// Globs of tools that change something.
    pub writing: Vec<String>,
    /// Other names: alias, then the tool it stands for.
    pub aliases: BTreeMap<String, String>,
    /// Tool, then which effect which argument has.
    pub arguments: BTreeMap<String, Vec<(Verb, String)>>,
    /// Further lines of the program table.
    pub programs: Vec<String>,
    /// Lines of a project, which can only add effects.
    pub project_programs: Vec<String>,
}

impl ToolFacts {
    /// The name that a tool's hooks are written for.
    pub fn canonical<'n>(&'n self, tool: &'n str) -> &'n str {
        self.aliases.get(tool).map_or(tool, String::as_str)
    }
}

/// The globs; what is none matches nothing, and was reported where it stands.
fn compiled(globs: &[String]) -> Vec<Glob> {
    globs.iter().filter_map(|glob| Glob::text(glob).ok()).collect()
}

/// The source that knows what the policy declares and what an adapter's `call` says exactly.
#[derive(Debug, Clone, Default)]
pub struct DeclaredEffects {
    facts: ToolFacts,
    read_only: Vec<Glob>,
    writing: Vec<Glob>,
}

impl DeclaredEffects {
    /// A source that goes by these declarations.
    pub fn new(facts: ToolFacts) -> DeclaredEffects {
        let (read_only, writing) = (compiled(&facts.read_only), compiled(&facts.writing));
        DeclaredEffects { facts, read_only, writing }
    }

    /// Whether the policy says that the tool changes nothing.
    pub fn is_read_only(&self, tool: &str) -> bool {
        let tool = self.facts.canonical(tool);
        self.read_only.iter().any(|glob| glob.matches(tool))
    }

    fn is_writing(&self, tool: &str) -> bool {
        let tool = self.facts.canonical(tool);
        self.writing.iter().any(|glob| glob.matches(tool))
    }
}

/// Effects as far as they are declared.
#[derive(Debug, Default)]
struct Declared {
    root: Option<String>,
    paths: Vec<(Verb, Option<String>)>,
    names: Vec<(Verb, String)>,
    unknown: Vec<Verb>,
    /// What an argument of another form than declared hides.
    hidden: Vec<Verb>,
}

impl EffectSource for DeclaredEffects {
    fn effects(&self, call: &ToolCall, session: &Session) -> Arc<dyn CallEffects> {
        let root = session.workspace.as_deref().or(session.cwd.as_deref());
        let base = session.cwd.as_deref().or(root);
        // A folder that is not absolute lies nobody knows where: as good as none.
        let (root, base) = (root.and_then(paths::absolute), base.and_then(paths::absolute));
        let base = base.as_deref();
        let mut out = Declared { root, ..Declared::default() };
        let declared = self.facts.arguments.get(self.facts.canonical(&call.tool));
        for (verb, argument) in declared.into_iter().flatten() {
            out.argument(*verb, call.arguments.get(argument), base);
        }
        let understood = call.call.as_deref().is_some_and(|call| out.call(call, base));
        if declared.is_none() && !understood && !self.is_read_only(&call.tool) {
            out.unknown.extend(if self.is_writing(&call.tool) {
                vec![Verb::Writes, Verb::Deletes]
            } else {
                Verb::ALL.to_vec()
            });
        }
        Arc::new(out)
    }

    fn tells_destination(&self, call: &ToolCall) -> bool {
        let kind = call.call.as_deref().and_then(|call| call.get("kind")).and_then(Json::as_str);
        let declared = self.facts.arguments.get(self.facts.canonical(&call.tool));
        let names_hosts =
            |list: &Vec<(Verb, String)>| list.iter().any(|(v, _)| *v == Verb::Contacts);
        kind == Some("fetch") || declared.is_some_and(names_hosts)
    }

    fn reads_shell(&self) -> bool {
        false
    }
}

impl Declared {
    /// One argument, or each of a list.
    fn argument(&mut self, verb: Verb, value: Option<&Json>, base: Option<&str>) {
        match value {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => self.target(verb, text, base),
            Some(Json::Array(items)) => {
                for item in items {
                    self.argument(verb, Some(item), base);
                }
            }
            Some(Json::Bool(_) | Json::Number(_) | Json::Object(_)) => self.hidden.push(verb),
        }
    }

    fn target(&mut self, verb: Verb, text: &str, base: Option<&str>) {
        match verb {
            Verb::Reads | Verb::Writes | Verb::Deletes => {
                self.paths.push((verb, paths::normalise(base, text)));
            }
            Verb::Contacts => match host_of(text) {
                Some(host) => self.names.push((verb, host)),
                None => self.hidden.push(verb),
            },
            // What a command does is not looked into; its first word is the program that it names.
            Verb::Runs => {
                let program = text.split_whitespace().next().unwrap_or_default();
                let program = program.rsplit('/').next().unwrap_or_default();
                self.names.push((verb, program.to_owned()));
                self.unknown.extend(Verb::ALL);
            }
            // No argument is declared to be one of these.
            Verb::Sends
            | Verb::Publishes
            | Verb::Destroys
            | Verb::Escalates
            | Verb::Persists
            | Verb::Exposes => self.hidden.push(verb),
        }
    }

    /// The canonical reading; says whether all of it was understood.
    fn call(&mut self, call: &Json, base: Option<&str>) -> bool {
        let field = |key: &str| call.get(key).and_then(Json::as_str);
        let (verb, key) = match field("kind") {
            Some("read") => (Verb::Reads, "path"),
            Some("write" | "edit") => (Verb::Writes, "path"),
            Some("delete") => (Verb::Deletes, "path"),
            Some("fetch") => (Verb::Contacts, "url"),
            Some("shell") => (Verb::Runs, "command"),
            Some("search") if field("path").is_some() => (Verb::Reads, "path"),
            _ => return false,
        };
        match field(key) {
            Some(text) => self.target(verb, text, base),
            None => return false,
        }
        true
    }
}

impl CallEffects for Declared {
    fn tally(&self, verb: Verb, question: &Question) -> Tally {
        let mut tally = Tally::default();
        let mut count = |some: bool, whole: bool| {
            tally.targets += 1;
            tally.some += u32::from(some);
            tally.whole += u32::from(whole);
        };
        if let Question::Names(patterns) = question {
            for (_, name) in self.names.iter().filter(|(v, _)| *v == verb) {
                let matches = patterns.matches(&[name]);
                count(matches, matches);
            }
            return tally;
        }
        let root = self.root.as_deref();
        for (_, path) in self.paths.iter().filter(|(v, _)| *v == verb) {
            // A path that cannot be told where it lies may match anything, and surely matches nothing.
            let Some(path) = path else {
                count(true, false);
                continue;
            };
            match question {
                Question::Paths(globs) => {
                    let tree = verb == Verb::Deletes;
                    let found = globs.look(path, root, tree);
                    count(found.some, found.whole);
                }
                Question::Outside(folders) => {
                    let deletes = verb == Verb::Deletes;
                    let outside = paths::is_outside(path, root, folders, deletes);
                    count(outside, outside);
                }
                Question::Names(_) => {}
            }
        }
        tally
    }

    fn is_unknown(&self, verb: Verb) -> bool {
        self.unknown.contains(&verb) || self.is_hidden(verb)
    }

    fn is_hidden(&self, verb: Verb) -> bool {
        self.hidden.contains(&verb)
            || self.paths.iter().any(|(v, path)| *v == verb && path.is_none())
    }
}

/// The host of a URL or of `host[:port]`, in lower case.
fn host_of(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_host = !host.is_empty() && !host.contains(char::is_whitespace);
    is_host.then_some(host)
}
