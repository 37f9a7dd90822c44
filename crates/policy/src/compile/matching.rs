//! From a `match:` as written to its plan, every pattern checked where it stands.

use super::effects::{Folder, Quantifier, Verb};
use super::names::NameGlobs;
use super::paths::PathGlobs;
use super::plan::{Field, MatchPlan};
use super::vars::Vars;
use crate::diagnostic::{Diagnostic, Place, SourceId, Span};
use crate::file::shape::nearest;
use crate::file::{Entry, Node, Value};
use std::collections::BTreeMap;
use tollgate_effects::things;
use tollgate_gate::glob::Glob;
use tollgate_gate::limits::{MATCHER_DEPTH_MAX, MATCHER_PATTERNS_MAX};
use tollgate_gate::path::Path;

/// What matches are compiled with.
pub(crate) struct MatchContext<'c> {
    pub(crate) source: SourceId,
    pub(crate) tool_groups: &'c BTreeMap<String, Vec<String>>,
    /// Alias lists by tool.
    pub(crate) aliases: &'c BTreeMap<String, Vec<String>>,
    pub(crate) vars: &'c Vars,
}

impl MatchContext<'_> {
    fn error(&self, code: &'static str, span: Span, message: String) -> Diagnostic {
        Diagnostic::error(code, Place { source: self.source, span }, message)
    }

    /// Compiles a match; what is wrong goes to `problems` and is left out.
    pub(crate) fn compile(
        &self,
        node: &Node,
        quantifier: Quantifier,
        problems: &mut Vec<Diagnostic>,
    ) -> MatchPlan {
        let plan = self.level(node, quantifier, 0, problems);
        let mut patterns = 0;
        plan.walk(&mut |plan| {
            if let MatchPlan::Name(_, globs) | MatchPlan::Value(_, globs) = plan {
                patterns += globs.len();
            }
        });
        if patterns > MATCHER_PATTERNS_MAX {
            let message = format!("a match with more than {MATCHER_PATTERNS_MAX} patterns");
            problems.push(
                self.error("too-large", node.span, message).with_remedy("make several hooks of it"),
            );
        }
        plan
    }

    fn level(
        &self,
        node: &Node,
        quantifier: Quantifier,
        depth: usize,
        problems: &mut Vec<Diagnostic>,
    ) -> MatchPlan {
        if depth > MATCHER_DEPTH_MAX {
            let message = format!("a match nested deeper than {MATCHER_DEPTH_MAX} levels");
            let found = self.error("too-large", node.span, message);
            problems.push(found.with_remedy("flatten it, or make several hooks of it"));
            return MatchPlan::Always;
        }
        let mut plan = MatchPlan::Always;
        for entry in node.entries().iter().filter(|entry| !entry.node.is_broken()) {
            if matches!(entry.key.as_str(), "all" | "any") && entry.node.items().is_empty() {
                let message = format!("`{}` lists no match", entry.key);
                let found = self.error("never-matches", entry.node.span, message);
                problems.push(found.with_remedy("list matches, or leave the key out"));
                continue;
            }
            let one = match entry.key.as_str() {
                "all" => {
                    let all = self.list(&entry.node, quantifier, depth, problems);
                    all.into_iter().fold(MatchPlan::Always, MatchPlan::and)
                }
                "any" => MatchPlan::AnyOf(self.list(&entry.node, quantifier, depth, problems)),
                "not" => {
                    let negated = quantifier.negated();
                    let inner = self.level(&entry.node, negated, depth + 1, problems);
                    MatchPlan::Not(Box::new(inner))
                }
                _ => self.key(entry, quantifier, problems),
            };
            plan = plan.and(one);
        }
        plan
    }

    fn list(
        &self,
        node: &Node,
        quantifier: Quantifier,
        depth: usize,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<MatchPlan> {
        let items = node.items().iter();
        items.map(|item| self.level(item, quantifier, depth + 1, problems)).collect()
    }

    fn key(
        &self,
        entry: &Entry,
        quantifier: Quantifier,
        problems: &mut Vec<Diagnostic>,
    ) -> MatchPlan {
        let key = entry.key.as_str();
        if let Some(field) = Field::ALL.into_iter().find(|field| field.key() == key) {
            let globs = self.globs(&entry.node, Globs::Text, problems);
            let globs = if field == Field::Tool { self.expand_tools(globs) } else { globs };
            return if globs.is_empty() {
                MatchPlan::Always
            } else {
                MatchPlan::Name(field, globs)
            };
        }
        if let Some(verb) = Verb::from_name(key) {
            return self.effect(verb, &entry.node, quantifier, problems);
        }
        match key {
            "tags" => MatchPlan::Tags(self.names(&entry.node, problems)),
            "any_tag" => MatchPlan::AnyTag(self.names(&entry.node, problems)),
            "labels" => MatchPlan::Labels(self.names(&entry.node, problems)),
            "unknown" => MatchPlan::Unknown(verbs(&entry.node)),
            "hidden" => MatchPlan::Hidden(verbs(&entry.node)),
            _ if key.starts_with("args.") || key.starts_with("payload.") => {
                if let Err(error) = Path::parse(key) {
                    let found = self.error("path", entry.key_span, error.to_string());
                    let remedy = "steps are keys, `[0]` and `*`: args.files.*.name";
                    problems.push(found.with_remedy(remedy));
                    return MatchPlan::Always;
                }
                let globs = self.globs(&entry.node, Globs::Text, problems);
                MatchPlan::Value(key.to_owned(), globs)
            }
            // Reported as an unknown key.
            _ => MatchPlan::Always,
        }
    }

    fn effect(
        &self,
        verb: Verb,
        node: &Node,
        quantifier: Quantifier,
        problems: &mut Vec<Diagnostic>,
    ) -> MatchPlan {
        if !verb.is_path() {
            self.check_words(verb, node, problems);
            return MatchPlan::Names(verb, self.globs(node, Globs::Text, problems), quantifier);
        }
        if matches!(node.value, Value::Map(_)) {
            let outside = node.get("outside").map(|n| self.names(n, problems)).unwrap_or_default();
            let folder = |text: String| match text.as_str() {
                "workspace" => Folder::Workspace,
                _ => Folder::Path(text),
            };
            return MatchPlan::Outside(verb, outside.into_iter().map(folder).collect(), quantifier);
        }
        MatchPlan::Paths(verb, self.globs(node, Globs::Path, problems), quantifier)
    }

    /// Things have words of their own; another word would never match.
    fn check_words(&self, verb: Verb, node: &Node, problems: &mut Vec<Diagnostic>) {
        let known = things(verb.seen());
        if known.is_empty() {
            return;
        }
        for item in node.one_or_many() {
            let Some(text) = item.as_str() else { continue };
            let word = text.strip_prefix('!').unwrap_or(text);
            // The name of a variable or branch is anybody's.
            if word.starts_with(['$', '*']) || word.starts_with("history:") {
                continue;
            }
            let is_known = Glob::text(word).is_ok_and(|g| known.iter().any(|word| g.matches(word)));
            if is_known {
                continue;
            }
            let message = format!("`{word}` is nothing that a call `{}`", verb.name());
            let remedy = match nearest(word, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("words: {}", known.join(", ")),
            };
            let found = self.error("unknown-word", item.span, message);
            problems.push(found.with_remedy(remedy));
        }
    }

    fn names(&self, node: &Node, problems: &mut Vec<Diagnostic>) -> Vec<String> {
        let mut out = Vec::new();
        for item in node.one_or_many() {
            let Some(text) = item.as_str() else { continue };
            match self.vars.fill(text, false) {
                Ok(text) => out.push(text),
                Err(error) => {
                    problems.push(error.at(Place { source: self.source, span: item.span }))
                }
            }
        }
        out
    }

    fn globs(&self, node: &Node, kind: Globs, problems: &mut Vec<Diagnostic>) -> Vec<String> {
        let mut out = Vec::new();
        for item in node.one_or_many() {
            let Some(text) = item.scalar_text() else { continue };
            let text = match self.vars.fill(&text, true) {
                Ok(text) => text,
                Err(error) => {
                    problems.push(error.at(Place { source: self.source, span: item.span }));
                    continue;
                }
            };
            let checked = match kind {
                Globs::Text => NameGlobs::new([text.as_str()]).map(drop),
                Globs::Path => PathGlobs::new([text.as_str()]).map(drop),
            };
            match checked {
                Ok(()) => out.push(text),
                Err(error) => {
                    let found = self.error("glob", item.span, error.to_string());
                    let remedy =
                        "a `\\` before `*`, `?`, `[`, `{` or `\\` takes their meaning away";
                    problems.push(found.with_remedy(remedy));
                }
            }
        }
        out
    }

    /// Names of groups become their members, and tools bring their other names along.
    fn expand_tools(&self, globs: Vec<String>) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for glob in globs {
            let members = self.tool_groups.get(&glob).cloned().unwrap_or_else(|| vec![glob]);
            for member in members {
                let others = self.aliases.get(&member).into_iter().flatten().cloned();
                let all: Vec<String> = std::iter::once(member.clone()).chain(others).collect();
                out.extend(all);
            }
        }
        let mut seen = std::collections::HashSet::new();
        out.retain(|glob| seen.insert(glob.clone()));
        out
    }
}

fn verbs(node: &Node) -> Vec<Verb> {
    let words = node.one_or_many().iter().filter_map(Node::as_str);
    words.filter_map(Verb::from_name).collect()
}

#[derive(Clone, Copy)]
enum Globs {
    Text,
    Path,
}
