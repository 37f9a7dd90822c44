//! The source of effects that looks into commands: `tollgate-effects` behind the matches of a policy.
//!
//! What a policy declares about a tool's arguments counts as it stands; a canonical `call` and
//! arguments declared as commands are analysed. What the analysis cannot tell is unknown, and so is a
//! `call` that it does not understand: a match that permits is never met by either.

use super::effects::{
    CallEffects, DeclaredEffects, EffectSource, Folder, Question, Tally, ToolFacts, Verb,
};
use super::paths;
use super::rooted::Rooted;
use std::sync::Arc;
use tollgate_effects as seen;
use tollgate_effects::{
    Call, Context, Cover, Effects, FileSystem, Programs, Protects, Row, Target, Touch, Within,
};
use tollgate_gate::{Json, Session, ToolCall};

/// How a call touches what is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It names it, runs it or stops it.
    Itself,
    /// It takes a whole folder that lies above it.
    FolderAbove,
}

/// The source that reads commands.
pub struct AnalysedEffects {
    /// Which argument of which tool is a command.
    facts: ToolFacts,
    /// What is declared of the other arguments.
    declared: DeclaredEffects,
    /// The program table where the policy adds to it.
    programs: Option<Programs>,
    /// The same with a project's lines.
    project_programs: Option<Programs>,
    files: Arc<dyn FileSystem + Send + Sync>,
    home: Option<String>,
}

impl AnalysedEffects {
    /// A source that goes by these declarations, asks `files` where links lead and what scripts say,
    /// and takes `home` for `~`.
    pub fn new(
        facts: &ToolFacts,
        files: Arc<dyn FileSystem + Send + Sync>,
        home: Option<String>,
    ) -> AnalysedEffects {
        let mut others = facts.clone();
        for arguments in others.arguments.values_mut() {
            arguments.retain(|(verb, _)| *verb != Verb::Runs);
        }
        let declared = DeclaredEffects::new(others);
        let own = facts.programs.join("\n");
        let all = format!("{own}\n{}", facts.project_programs.join("\n"));
        // What is no line of the table was reported where it stands.
        let table = |lines: &str| Programs::with(lines).ok();
        let programs = if facts.programs.is_empty() { None } else { table(&own) };
        let of_project = if facts.project_programs.is_empty() { None } else { table(&all) };
        let facts = facts.clone();
        AnalysedEffects { facts, declared, programs, project_programs: of_project, files, home }
    }

    /// How this call would change or run something protected; `None` when it would not, as far as its
    /// effects are known. `paths` are the protected ones as globs, for what is only declared of a tool.
    ///
    /// # Errors
    /// What `paths` says.
    pub fn touches<'p, E>(
        &self,
        call: &ToolCall,
        session: &Session,
        protected: &dyn Protects,
        paths: impl FnOnce() -> Result<&'p paths::PathGlobs, E>,
    ) -> Result<Option<Reach>, E> {
        let is_declared = self.facts.arguments.contains_key(self.facts.canonical(&call.tool));
        if !is_declared && call.call.is_none() {
            return Ok(None);
        }
        let (calls, _) = self.calls(call);
        let mut reach = None;
        for seen in self.look_at(&calls, &Place::of(session)) {
            for touch in seen.touches(protected) {
                if !matches!(touch, Touch::Above(_)) {
                    return Ok(Some(Reach::Itself));
                }
                reach = Some(Reach::FolderAbove);
            }
        }
        let arguments = self.facts.arguments.get(self.facts.canonical(&call.tool));
        let changes = |(verb, _): &(Verb, String)| matches!(verb, Verb::Writes | Verb::Deletes);
        if !arguments.is_some_and(|arguments| arguments.iter().any(changes)) {
            return Ok(reach);
        }
        let declared = self.declared.effects(&ToolCall { call: None, ..call.clone() }, session);
        let question = Question::Paths(paths()?.clone());
        let touched = [Verb::Writes, Verb::Deletes]
            .iter()
            .any(|verb| declared.tally(*verb, &question).some > 0);
        Ok(if touched { Some(Reach::Itself) } else { reach })
    }

    /// What this call would do, as far as it is seen: one set for each command or canonical call in it.
    pub fn seen(&self, call: &ToolCall, session: &Session) -> Vec<Effects> {
        self.look_at(&self.calls(call).0, &Place::of(session))
    }

    /// The same as rows for people, with what is declared of the other arguments. What is not known of
    /// the call as such is a row too: nothing seen is not the same as nothing done.
    pub fn rows(&self, call: &ToolCall, session: &Session) -> Vec<Row> {
        let mut rows = self.seen_rows(call, session);
        rows.extend(self.unread(call));
        rows
    }

    /// What is not looked into at all, and why.
    fn unread(&self, call: &ToolCall) -> Option<Row> {
        let (calls, is_unclear) = self.calls(call);
        let is_declared = self.facts.arguments.contains_key(self.facts.canonical(&call.tool));
        let (why, piece) = match (is_unclear, calls.is_empty() && !is_declared) {
            (true, _) => ("unknown: its reading is not understood", "the call"),
            (false, true) => {
                ("unknown: nothing says what this tool's arguments mean", "the tool's name")
            }
            (false, false) => return None,
        };
        let (target, piece) = (why.to_owned(), piece.to_owned());
        Some(Row { effect: seen::Verb::Does.as_str(), target, unknown: true, piece, span: (0, 0) })
    }

    fn seen_rows(&self, call: &ToolCall, session: &Session) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for row in self.seen(call, session).iter().flat_map(Effects::rows) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let declared = self.facts.arguments.get(self.facts.canonical(&call.tool));
        for (verb, argument) in declared.into_iter().flatten().filter(|(v, _)| *v != Verb::Runs) {
            let values = match call.arguments.get(argument) {
                None | Some(Json::Null) => continue,
                Some(Json::Array(values)) => values.as_slice(),
                Some(value) => std::slice::from_ref(value),
            };
            rows.extend(values.iter().map(|value| Row {
                effect: verb.name(),
                target: value.as_str().unwrap_or("unknown: not a text").to_owned(),
                unknown: value.as_str().is_none(),
                piece: format!("the argument {argument}"),
                span: (0, 0),
            }));
        }
        rows
    }

    /// What this call would do, a line each, and whether all of it is known: for people.
    pub fn lines(&self, call: &ToolCall, session: &Session) -> (Vec<String>, bool) {
        let rows = self.seen_rows(call, session);
        let is_declared = self.facts.arguments.contains_key(self.facts.canonical(&call.tool));
        let mut all_known = !self.calls(call).1 && (is_declared || !rows.is_empty());
        let mut lines = Vec::new();
        for row in rows {
            all_known &= !row.unknown;
            let unknown = if row.unknown { "something unknown: " } else { "" };
            let line = format!("{} {unknown}{}", row.effect, row.target);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        if !all_known && lines.is_empty() {
            lines.push("what it does is not known: only its arguments are".to_owned());
        }
        (lines, all_known)
    }

    /// Why a canonical reading is not understood, if it is not.
    pub fn misread(canonical: &Json) -> Option<String> {
        let error = canonical.to::<Call>().err()?;
        Some(error.to_string().replace("unknown variant", "there is no"))
    }

    /// The effects of calls; with a project's lines of the program table once more, since these can
    /// only add.
    fn look_at(&self, calls: &[Call], place: &Place) -> Vec<Effects> {
        let own = self.programs.as_ref().unwrap_or(Programs::built_in());
        std::iter::once(own)
            .chain(&self.project_programs)
            .flat_map(|programs| {
                let context = self.context(place, programs);
                calls.iter().map(move |call| seen::effects(call, &context))
            })
            .collect()
    }

    fn context<'c>(&'c self, place: &'c Place, programs: &'c Programs) -> Context<'c> {
        Context {
            cwd: place.cwd.as_deref().unwrap_or("/"),
            root: place.root.as_deref(),
            home: self.home.as_deref(),
            env: &[],
            programs,
            files: &*self.files,
        }
    }

    /// The calls that this one comes down to, and whether some part of it is not understood.
    fn calls(&self, call: &ToolCall) -> (Vec<Call>, bool) {
        let mut calls = Vec::new();
        let mut is_unclear = false;
        if let Some(canonical) = &call.call {
            match canonical.to::<Call>() {
                Ok(canonical) => calls.push(canonical),
                Err(_) => is_unclear = true,
            }
        }
        let declared = self.facts.arguments.get(self.facts.canonical(&call.tool));
        for (_, argument) in declared.into_iter().flatten().filter(|(verb, _)| *verb == Verb::Runs)
        {
            match call.arguments.get(argument) {
                None | Some(Json::Null) => {}
                Some(Json::String(command)) => calls.push(shell(command.clone())),
                Some(Json::Array(words)) => match words_of(words) {
                    Some(command) => calls.push(shell(command)),
                    None => is_unclear = true,
                },
                Some(Json::Bool(_) | Json::Number(_) | Json::Object(_)) => is_unclear = true,
            }
        }
        (calls, is_unclear)
    }
}

fn shell(command: String) -> Call {
    Call::Shell { command, cwd: None, shell: Default::default() }
}

/// A command given word by word, as one text of the shell.
fn words_of(words: &[Json]) -> Option<String> {
    let quoted: Option<Vec<String>> = words
        .iter()
        .map(|word| word.as_str().map(|word| format!("'{}'", word.replace('\'', r"'\''"))))
        .collect();
    quoted.map(|words| words.join(" "))
}

impl EffectSource for AnalysedEffects {
    fn effects(&self, call: &ToolCall, session: &Session) -> Arc<dyn CallEffects> {
        let (calls, is_unclear) = self.calls(call);
        let is_declared = self.facts.arguments.contains_key(self.facts.canonical(&call.tool));
        if calls.is_empty() && !is_unclear {
            return self.declared.effects(call, session);
        }
        let place = Place::of(session);
        let effects = self.look_at(&calls, &place);
        // The declared arguments that are no commands; without the `call`, which was analysed.
        let declared = is_declared
            .then(|| self.declared.effects(&ToolCall { call: None, ..call.clone() }, session));
        let Place { root, cwd } = place;
        let (home, knows_place) = (self.home.clone(), cwd.is_some());
        Arc::new(Analysed { effects, declared, is_unclear, root, home, knows_place })
    }

    fn tells_destination(&self, call: &ToolCall) -> bool {
        self.declared.tells_destination(call)
    }

    fn reads_shell(&self) -> bool {
        true
    }
}

/// Where a session works.
struct Place {
    root: Option<String>,
    cwd: Option<String>,
}

impl Place {
    fn of(session: &Session) -> Place {
        let root = session.workspace.as_deref().or(session.cwd.as_deref());
        let root = root.and_then(paths::absolute);
        let cwd = session.cwd.as_deref().and_then(paths::absolute).or_else(|| root.clone());
        Place { root, cwd }
    }
}

/// Effects as far as they were seen.
struct Analysed {
    effects: Vec<Effects>,
    declared: Option<Arc<dyn CallEffects>>,
    is_unclear: bool,
    root: Option<String>,
    home: Option<String>,
    /// Without a directory to start from, relative paths may lie anywhere.
    knows_place: bool,
}

impl CallEffects for Analysed {
    fn tally(&self, verb: Verb, question: &Question) -> Tally {
        let mut tally = match &self.declared {
            Some(declared) => declared.tally(verb, question),
            None => Tally::default(),
        };
        for effect in self.seen(verb) {
            let Some((some, whole)) = self.look(verb, &effect.target, question) else {
                continue;
            };
            tally.targets += 1;
            tally.some += u32::from(some);
            tally.whole += u32::from(whole);
        }
        tally
    }

    fn is_unknown(&self, verb: Verb) -> bool {
        let does = |effect: &seen::Effect| {
            effect.verb == seen::Verb::Does && matches!(effect.target, Target::Unknown(_))
        };
        self.is_hidden(verb)
            || (verb.is_path() && !self.knows_place)
            || self.declared.as_ref().is_some_and(|declared| declared.is_unknown(verb))
            || self.effects.iter().flat_map(Effects::iter).any(does)
    }

    fn is_hidden(&self, verb: Verb) -> bool {
        self.is_unclear
            || self.declared.as_ref().is_some_and(|declared| declared.is_hidden(verb))
            || self.seen(verb).any(|effect| matches!(effect.target, Target::Unknown(_)))
    }
}

impl Analysed {
    /// The effects of a verb.
    fn seen(&self, verb: Verb) -> impl Iterator<Item = &seen::Effect> {
        self.effects.iter().flat_map(Effects::iter).filter(move |e| e.verb == verb.seen())
    }

    /// Whether a target matches in part and as a whole; `None` when the question is not about it.
    fn look(&self, verb: Verb, target: &Target, question: &Question) -> Option<(bool, bool)> {
        match (target, question) {
            (Target::Path(path), Question::Paths(globs)) => Some(self.paths(verb, path, globs)),
            (Target::Path(path), Question::Outside(folders)) => {
                Some(self.outside(verb, path, folders))
            }
            (Target::Secret(name), Question::Paths(globs)) => {
                Some(both(globs.speaks_of(&format!("${name}"))))
            }
            (Target::Thing(_), Question::Paths(globs)) => Some(both(globs.speaks_of("-"))),
            (Target::Program { name, sub }, Question::Names(globs)) => {
                let full = format!("{name} {sub}");
                Some(both(globs.matches(&[name, full.trim_end()])))
            }
            (Target::Agent { name, unguarded: true }, Question::Names(globs)) => {
                Some(both(globs.matches(&["agent", "unguarded-agent", name])))
            }
            (Target::Agent { name, unguarded: false }, Question::Names(globs)) => {
                Some(both(globs.matches(&["agent", name])))
            }
            (Target::Host(host), Question::Names(globs)) => Some(both(globs.matches(&[host]))),
            (Target::RemoteCode, Question::Names(globs)) => {
                Some(both(globs.matches(&["remote-code"])))
            }
            (Target::Thing(thing), Question::Names(globs)) => Some(both(globs.matches(&[thing]))),
            (Target::Secret(name), Question::Names(globs)) => {
                Some(both(globs.matches(&[&format!("${name}")])))
            }
            (_, _) => None,
        }
    }

    /// Whether globs speak of a path.
    fn paths(&self, verb: Verb, path: &seen::PathTarget, globs: &paths::PathGlobs) -> (bool, bool) {
        let globs = globs.rooted(self.root.as_deref(), self.home.as_deref());
        let (mut some, mut whole, mut out, mut may_be_out) = (false, false, false, false);
        for glob in globs.iter() {
            let cover = path.cover(&glob.glob);
            if cover == Cover::No {
                continue;
            }
            let is_whole = cover == Cover::Itself && path.is_literal() && !path.is_tree();
            if glob.excepts {
                out |= path.is_surely(&glob.glob);
                may_be_out = true;
            } else {
                some |= self.is_named(verb, path, glob, cover);
                let is_below =
                    || self.root.as_deref().is_some_and(|root| path.within(root) == Within::Below);
                whole |= is_whole && (!glob.floats || is_below());
            }
        }
        (some && !out, whole && !may_be_out)
    }

    /// Whether what restricts goes by this cover. A folder that is read as a whole, or a wildcard in
    /// the workspace, is no reading of every file that a floating glob (`**/.env`) speaks of: `grep`
    /// and `cp -r` would be one of each secret there is.
    fn is_named(&self, verb: Verb, path: &seen::PathTarget, glob: &Rooted, cover: Cover) -> bool {
        let is_inside =
            || self.root.as_deref().is_some_and(|root| path.within(root) != Within::Outside);
        let is_wide = path.is_wide() && is_inside();
        let is_open = verb == Verb::Writes && path.is_unnamed_for(&glob.glob);
        if is_wide && (is_open || path.is_by_chance(&glob.glob)) {
            return false;
        }
        match (glob.floats, verb) {
            (true, Verb::Reads | Verb::Sends) => {
                let named = !is_wide || path.names(&glob.glob);
                cover == Cover::Itself && named && !path.is_computed()
            }
            (_, _) => true,
        }
    }

    /// Whether a path lies, or may lie, in none of the folders. What lies on another machine is in
    /// none of this one's, and not outside of them either.
    fn outside(&self, verb: Verb, path: &seen::PathTarget, folders: &[Folder]) -> (bool, bool) {
        if path.is_elsewhere() {
            return (false, false);
        }
        let mut may_be_inside = false;
        for folder in folders {
            // Deleting or sending the workspace is not doing so to something in it.
            let itself =
                !matches!(verb, Verb::Deletes | Verb::Sends) || *folder != Folder::Workspace;
            let place = match folder {
                Folder::Workspace => self.root.clone(),
                Folder::Path(text) => self.folder(text),
            };
            match place.map(|folder| path.within(&folder)) {
                Some(Within::Below) => return (false, false),
                Some(Within::Root) if itself => return (false, false),
                Some(Within::Maybe) => may_be_inside = true,
                Some(Within::Root | Within::Outside) | None => {}
            }
        }
        (true, !may_be_inside)
    }

    /// A folder of an `outside:`, where it is known.
    fn folder(&self, text: &str) -> Option<String> {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.home.as_deref()?;
                Some(format!("{}{}", home.trim_end_matches('/'), rest.trim_end_matches('/')))
            }
            Some(_) | None => paths::normalise(self.root.as_deref(), text),
        }
    }
}

/// A target that matches does so as a whole.
fn both(matches: bool) -> (bool, bool) {
    (matches, matches)
}
