//! The source of effects that looks into commands: `tollgate-effects` behind the matches of a policy.
//!
//! What a policy declares about a tool's arguments counts as it stands; a canonical `call` and
//! arguments declared as commands are analysed. What the analysis cannot tell is unknown, and so is a
//! `call` that it does not understand: a match that permits is never met by either.

use super::effects::{
    CallEffects, DeclaredEffects, EffectSource, Folder, Question, Tally, ToolFacts, Verb,
};
use super::paths;
use std::sync::Arc;
use tollgate_effects as seen;
use tollgate_effects::{
    Call, Context, Cover, Effects, FileSystem, PathGlob, Programs, Protected, Target, Touch, Within,
};
use tollgate_gate::glob::expand_braces;
use tollgate_gate::{Json, Patterns, Session, ToolCall};

/// The source that reads commands.
pub struct AnalysedEffects {
    /// Which argument of which tool is a command.
    facts: ToolFacts,
    /// What is declared of the other arguments.
    declared: DeclaredEffects,
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
        AnalysedEffects { facts: facts.clone(), declared, files, home }
    }

    /// By what this call would change or run something protected, in words; `None` when it would not,
    /// as far as its effects are known.
    pub fn touches(
        &self,
        call: &ToolCall,
        session: &Session,
        protected: &Protected,
        paths: &paths::PathGlobs,
    ) -> Option<String> {
        let is_declared = self.facts.arguments.contains_key(self.facts.canonical(&call.tool));
        if !is_declared && call.call.is_none() {
            return None;
        }
        let (calls, _) = self.calls(call);
        let place = Place::of(session);
        for seen in calls.iter().map(|call| seen::effects(call, &self.context(&place))) {
            let touch = seen.touches(protected).next().map(|touch| match touch {
                Touch::Path(effect) => format!("{} {}", effect.verb.as_str(), effect.target),
                Touch::Command(effect) | Touch::Stops(effect) => format!("runs {}", effect.target),
                _ => "touches it".to_owned(),
            });
            if touch.is_some() {
                return touch;
            }
        }
        let declared = self.declared.effects(&ToolCall { call: None, ..call.clone() }, session);
        let question = Question::Paths(paths.clone());
        [Verb::Writes, Verb::Deletes]
            .into_iter()
            .find(|verb| declared.tally(*verb, &question).some > 0)
            .map(|verb| format!("{} it", verb.name()))
    }

    fn context<'c>(&'c self, place: &'c Place) -> Context<'c> {
        Context {
            cwd: place.cwd.as_deref().unwrap_or("/"),
            root: place.root.as_deref(),
            home: self.home.as_deref(),
            env: &[],
            programs: Programs::built_in(),
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
        let context = self.context(&place);
        let effects = calls.iter().map(|call| seen::effects(call, &context)).collect();
        // The declared arguments that are no commands; without the `call`, which was analysed.
        let declared = is_declared
            .then(|| self.declared.effects(&ToolCall { call: None, ..call.clone() }, session));
        let Place { root, cwd } = place;
        Arc::new(Analysed { effects, declared, is_unclear, root, knows_place: cwd.is_some() })
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
    /// Without a directory to start from, relative paths may lie anywhere.
    knows_place: bool,
}

/// The verbs of the analysis that a verb of the policy speaks of.
fn verbs(verb: Verb) -> &'static [seen::Verb] {
    match verb {
        Verb::Reads => &[seen::Verb::Reads],
        Verb::Writes => &[seen::Verb::Writes],
        Verb::Deletes => &[seen::Verb::Deletes],
        Verb::Runs => &[seen::Verb::Runs],
        Verb::Contacts => &[seen::Verb::Contacts, seen::Verb::Sends],
    }
}

impl CallEffects for Analysed {
    fn tally(&self, verb: Verb, question: &Question) -> Tally {
        let mut tally = match &self.declared {
            Some(declared) => declared.tally(verb, question),
            None => Tally::default(),
        };
        let globs = match question {
            Question::Paths(globs) => self.rooted(globs),
            Question::Outside(_) | Question::Names(_) => Vec::new(),
        };
        for effect in self.effects.iter().flat_map(Effects::iter) {
            if !verbs(verb).contains(&effect.verb) {
                continue;
            }
            let Some((some, whole)) = self.look(&effect.target, question, &globs) else {
                continue;
            };
            tally.targets += 1;
            tally.some += u32::from(some);
            tally.whole += u32::from(whole);
        }
        tally
    }

    fn is_unknown(&self, verb: Verb) -> bool {
        let may = |effect: &seen::Effect| {
            let is_of_verb = verbs(verb).contains(&effect.verb) || effect.verb == seen::Verb::Does;
            is_of_verb && matches!(effect.target, Target::Unknown(_))
        };
        self.is_unclear
            || (verb.is_path() && !self.knows_place)
            || self.declared.as_ref().is_some_and(|declared| declared.is_unknown(verb))
            || self.effects.iter().flat_map(Effects::iter).any(may)
    }
}

impl Analysed {
    /// The globs with their root in front, braces expanded.
    fn rooted(&self, globs: &paths::PathGlobs) -> Vec<PathGlob> {
        let mut out = Vec::new();
        for text in globs.texts() {
            let text = text.strip_prefix("./").unwrap_or(text);
            let text = match text.strip_suffix('/') {
                Some(folder) if !folder.is_empty() => format!("{folder}/**"),
                _ => text.to_owned(),
            };
            let is_relative = !text.starts_with(['/', '~']) && !text.starts_with("**");
            let rooted = match &self.root {
                Some(root) if is_relative => format!("{}/{text}", root.trim_end_matches('/')),
                _ => text,
            };
            // The braces were expanded once before, when the policy was loaded.
            let expanded = expand_braces(&rooted).unwrap_or_else(|_| vec![rooted]);
            out.extend(expanded.iter().map(|pattern| PathGlob::new(pattern)));
        }
        out
    }

    /// Whether a target matches in part and as a whole; `None` when the question is not about it.
    fn look(
        &self,
        target: &Target,
        question: &Question,
        globs: &[PathGlob],
    ) -> Option<(bool, bool)> {
        match (target, question) {
            (Target::Path(path), Question::Paths(_)) => {
                let cover = |glob: &PathGlob| path.cover(glob);
                let some = globs.iter().any(|glob| cover(glob) != Cover::No);
                let whole = path.is_literal()
                    && globs.iter().any(|glob| cover(glob) == Cover::Itself)
                    && !path.is_tree();
                Some((some, whole))
            }
            (Target::Path(path), Question::Outside(folders)) => Some(self.outside(path, folders)),
            (Target::Program { name, sub }, Question::Names(patterns)) => {
                let full = format!("{name} {sub}");
                Some(both(patterns, [&**name, full.trim_end()]))
            }
            (Target::Agent { name, .. }, Question::Names(patterns)) => {
                Some(both(patterns, ["agent", name]))
            }
            (Target::Host(host), Question::Names(patterns)) => Some(both(patterns, [host, host])),
            (Target::RemoteCode, Question::Names(patterns)) => {
                Some(both(patterns, ["remote-code", "remote-code"]))
            }
            _ => None,
        }
    }

    /// Whether a path lies, or may lie, in none of the folders.
    fn outside(&self, path: &seen::PathTarget, folders: &[Folder]) -> (bool, bool) {
        let mut may_be_inside = false;
        for folder in folders {
            let folder = match folder {
                Folder::Workspace => self.root.clone(),
                Folder::Path(text) => paths::normalise(self.root.as_deref(), text),
            };
            match folder.map(|folder| path.within(&folder)) {
                Some(Within::Root | Within::Below) => return (false, false),
                Some(Within::Maybe) => may_be_inside = true,
                Some(Within::Outside) | None => {}
            }
        }
        (true, !may_be_inside)
    }
}

fn both(patterns: &Patterns, names: [&str; 2]) -> (bool, bool) {
    let matches = names.iter().any(|name| patterns.matches(name));
    (matches, matches)
}
