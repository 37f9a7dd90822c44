//! Files of variables that a text loads into its own environment: `source .env`, `export $(cat .env | xargs)`,
//! `env $(cat .env) program`.
//!
//! A program that gets its secrets from its environment is how it should be: the file is not shown, and what
//! came from it is a secret wherever it is put afterwards. Refused: a value of such a file in the analysis.

use crate::effect::{Reason, Target, Verb};
use crate::mark;
use crate::path;
use crate::run::Run;
use crate::shell::scope::{Scope, Var};
use crate::shell::syntax::{Part, Word};

/// Programs that a file of variables goes through on its way into the environment.
const FILTERS: &[&str] =
    &["cat", "grep", "egrep", "sed", "xargs", "echo", "tr", "sort", "envsubst", "awk", "cut"];

/// Whether a file holds variables, by its name: `.env`, `.env.local`, `prod.env`.
pub(crate) fn is_env_file(file: &str) -> bool {
    let name = path::base_name(file);
    !mark::has_mark(file) && (name.starts_with(".env") || name.ends_with(".env"))
}

impl Run<'_> {
    /// `source .env`: what else it runs counts; its variables are not known, and secrets by their names.
    pub(crate) fn load_env_file(&mut self, scope: &mut Scope, file: &str) {
        self.unknown(Verb::Does, Reason::SetUpText);
        let Some(text) = self.content(scope, file) else { return };
        let mut inner = scope.clone();
        self.run_text(&mut inner, &text, "");
        let changed: Vec<Box<str>> = inner
            .vars
            .iter()
            .filter(|(name, value)| scope.vars.get(&***name) != Some(value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in changed {
            let value = self.void(&name);
            scope.set(&name, Var::Scalar(vec![value]));
        }
    }

    /// The fields of a command; words by which `export` and `env` load a file of variables are left out.
    pub(crate) fn fields_but_loaded(
        &mut self,
        scope: &mut Scope,
        words: &[Word<'_>],
    ) -> Vec<String> {
        let loads = matches!(
            words.first().and_then(|word| word.plain()),
            Some("export" | "env" | "declare" | "eval")
        );
        let is_command = |word: &Word<'_>| matches!(word.parts.as_slice(), [Part::Command { .. }]);
        if !loads || !words.iter().any(is_command) {
            return self.fields(scope, words);
        }
        let mut out = Vec::with_capacity(words.len());
        let mut left_out = false;
        for (index, word) in words.iter().enumerate() {
            let before = self.out.len();
            let fields = self.fields(scope, std::slice::from_ref(word));
            let last =
                index + 1 == words.len() && words.first().and_then(|w| w.plain()) == Some("env");
            if is_command(word) && !last && self.takes_back_load(before) {
                left_out = true;
            } else {
                out.extend(fields);
            }
        }
        if left_out && out.len() == 1 && out.first().is_some_and(|name| name != "env") {
            // `export` without a word shows all there is.
            return vec!["true".to_owned()];
        }
        out
    }

    /// Whether what was done since there were `before` effects is the reading of a file of variables and
    /// nothing else; it is taken back then.
    fn takes_back_load(&mut self, before: usize) -> bool {
        let mut reads = false;
        for effect in self.out.iter().skip(before) {
            match (&effect.verb, &effect.target) {
                (Verb::Reads, Target::Path(path)) if is_env_file(&path.lexical()) => reads = true,
                (Verb::Runs, Target::Program { name, .. }) if FILTERS.contains(&&**name) => {}
                _ => return false,
            }
        }
        if reads {
            self.out.take_back(before, Verb::Reads);
            self.unknown(Verb::Does, Reason::SetUpText);
        }
        reads
    }
}
