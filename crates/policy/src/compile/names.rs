//! Name globs of effects: programs, hosts, things; with exceptions.
//!
//! A glob that begins with `!` takes names out again. A target can have several names (`git` and
//! `git push`); it matches when one of them is meant and none is taken out.

use std::fmt;
use tollgate_gate::Patterns;
use tollgate_gate::glob::GlobError;

/// Globs of names.
#[derive(Debug, Clone)]
pub struct NameGlobs {
    any: Patterns,
    except: Option<Patterns>,
    text: String,
}

impl NameGlobs {
    /// Compiles globs; with none but exceptions, all other names are meant.
    ///
    /// # Errors
    /// [`GlobError`] of the first bad pattern.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Result<NameGlobs, GlobError> {
        let globs: Vec<&str> = globs.into_iter().collect();
        let (except, mut any): (Vec<&str>, Vec<&str>) =
            globs.iter().partition(|glob| glob.starts_with('!'));
        if any.is_empty() {
            any.push("*");
        }
        let except = except.iter().map(|glob| glob.trim_start_matches('!'));
        let except = match except.clone().next() {
            Some(_) => Some(Patterns::globs(except)?),
            None => None,
        };
        let text = match globs.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{many:?}"),
        };
        Ok(NameGlobs { any: Patterns::globs(any)?, except, text })
    }

    /// Whether a target with these names matches.
    pub fn matches(&self, names: &[&str]) -> bool {
        let taken_out = |except: &Patterns| names.iter().any(|name| except.matches(name));
        names.iter().any(|name| self.any.matches(name))
            && !self.except.as_ref().is_some_and(taken_out)
    }
}

impl fmt::Display for NameGlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
