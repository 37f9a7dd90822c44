//! Path globs as the analysis takes them: with their root in front, braces expanded.
//!
//! A relative glob starts at the project root and `~` at the home folder, which are only known with
//! the call. They seldom change from one call to the next, so the last form is kept. Refused: a root
//! or home whose own characters would count as wildcards.

use super::paths::{is_rooted, literal};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tollgate_effects::PathGlob;
use tollgate_gate::glob::expand_braces;

/// A glob as the analysis takes it.
#[derive(Debug)]
pub(crate) struct Rooted {
    pub(crate) glob: PathGlob,
    /// A relative glob that does not stand below its root: it starts with `**`, or the root is not
    /// known. What restricts goes by it wherever it matches, what permits only below the root.
    pub(crate) floats: bool,
    /// It takes paths out.
    pub(crate) excepts: bool,
}

/// From where relative globs and `~` start.
#[derive(Debug, Clone, PartialEq, Eq)]
struct From {
    root: Option<String>,
    home: Option<String>,
}

/// The last form of some globs.
#[derive(Default)]
pub(crate) struct LastForm(Mutex<Option<(From, Arc<[Rooted]>)>>);

impl LastForm {
    /// The form for this root and home; `texts` yields the globs, and whether each takes paths out.
    pub(crate) fn of<'t>(
        &self,
        root: Option<&str>,
        home: Option<&str>,
        texts: impl Iterator<Item = (&'t str, bool)>,
    ) -> Arc<[Rooted]> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((from, globs)) = &*last
            && from.root.as_deref() == root
            && from.home.as_deref() == home
        {
            return Arc::clone(globs);
        }
        let mut out = Vec::new();
        for (text, excepts) in texts {
            rooted(text, excepts, root, home, &mut out);
        }
        let globs: Arc<[Rooted]> = out.into();
        let from = From { root: root.map(str::to_owned), home: home.map(str::to_owned) };
        *last = Some((from, Arc::clone(&globs)));
        globs
    }
}

/// One glob, which its braces may make several of.
fn rooted(
    text: &str,
    excepts: bool,
    root: Option<&str>,
    home: Option<&str>,
    out: &mut Vec<Rooted>,
) {
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = match text.strip_suffix('/') {
        Some(folder) if !folder.is_empty() => format!("{folder}/**"),
        _ => text.to_owned(),
    };
    let is_home = text == "~" || text.starts_with("~/");
    let is_relative = !is_home && !is_rooted(&text);
    let floats = is_relative && (root.is_none() || text.starts_with("**"));
    let whole = match (root, home) {
        (_, Some(home)) if is_home => {
            format!("{}{}", literal(home.trim_end_matches('/')), text.trim_start_matches('~'))
        }
        // Whose home it is is not known: any folder may be it.
        (_, None) if is_home => format!("**{}", text.trim_start_matches('~')),
        (Some(root), _) if text == "." => literal(root),
        (Some(root), _) if is_relative && !floats => {
            format!("{}/{text}", literal(root.trim_end_matches('/')))
        }
        (None, _) if is_relative && !text.starts_with("**") => format!("**/{text}"),
        _ => text,
    };
    // The braces were expanded once before, when the policy was loaded.
    let expanded = expand_braces(&whole).unwrap_or_else(|_| vec![whole]);
    out.extend(expanded.iter().map(|pattern| Rooted {
        glob: PathGlob::new(pattern),
        floats,
        excepts,
    }));
}

/// The same globs have the same last form, whichever was asked for last.
impl Clone for LastForm {
    fn clone(&self) -> LastForm {
        LastForm::default()
    }
}

impl PartialEq for LastForm {
    fn eq(&self, _: &LastForm) -> bool {
        true
    }
}

impl Eq for LastForm {}

impl fmt::Debug for LastForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastForm")
    }
}
