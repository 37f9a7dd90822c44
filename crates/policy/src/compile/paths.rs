//! Paths and path globs of effects, judged by their text.
//!
//! A relative path starts at the session's working directory, a relative glob at the project root.
//! `.` and `..` are folded away lexically; `~` is a folder of its own that lies outside of every
//! project, for whose home it is is not known here. Where links lead is for a source that may look.

use super::effects::Folder;
use super::rooted::{LastForm, Rooted};
use std::fmt;
use std::sync::Arc;
use tollgate_gate::glob::{Glob, GlobError};

/// Globs of paths. One that begins with `!` takes paths out again; one that begins with `$` speaks of
/// a variable, and `-` of data, where these can be a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathGlobs {
    globs: Vec<PathGlob>,
    values: Vec<Glob>,
    last: LastForm,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PathGlob {
    text: String,
    glob: Glob,
    relative: bool,
    excepts: bool,
}

/// Whether globs speak of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// Of the path, or of something below it that the call acts on as well.
    pub some: bool,
    /// Of the path and of all below it that the call acts on.
    pub whole: bool,
}

impl PathGlobs {
    /// Compiles globs; relative ones start at the project root.
    ///
    /// # Errors
    /// [`GlobError`] of the first bad pattern.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Result<PathGlobs, GlobError> {
        let one = |text: &str| {
            let (excepts, text) = match text.strip_prefix('!') {
                Some(text) => (true, text),
                None => (false, text),
            };
            let relative = !is_rooted(text);
            let pattern = text.strip_prefix("./").unwrap_or(text);
            // `dir/` means the folder and all below it.
            let pattern = match pattern.strip_suffix('/') {
                Some(folder) if !folder.is_empty() => format!("{folder}/**"),
                _ => pattern.to_owned(),
            };
            Ok(PathGlob { text: text.to_owned(), glob: Glob::path(&pattern)?, relative, excepts })
        };
        let (values, globs): (Vec<&str>, Vec<&str>) =
            globs.into_iter().partition(|text| text.starts_with('$') || *text == "-");
        let mut globs = globs.into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
        let values = values.into_iter().map(Glob::text).collect::<Result<Vec<_>, _>>()?;
        if !globs.is_empty() && globs.iter().all(|glob| glob.excepts) {
            globs.insert(0, one("/**")?);
        }
        Ok(PathGlobs { globs, values, last: LastForm::default() })
    }

    /// The globs as the analysis takes them.
    pub(crate) fn rooted(&self, root: Option<&str>, home: Option<&str>) -> Arc<[Rooted]> {
        let texts = self.globs.iter().map(|glob| (glob.text.as_str(), glob.excepts));
        self.last.of(root, home, texts)
    }

    /// Whether they speak of a value: `$NAME`, or `-` for data.
    pub(crate) fn speaks_of(&self, value: &str) -> bool {
        self.values.iter().any(|glob| glob.matches(value))
    }

    /// Whether they speak of a normalised path. `tree`: the call acts on all below it too.
    pub fn look(&self, path: &str, root: Option<&str>, tree: bool) -> Look {
        let all = self.looks(path, root, tree, false);
        if all.some && self.globs.iter().any(|glob| glob.excepts) {
            let taken_out = self.looks(path, root, tree, true);
            return Look { some: !taken_out.whole, whole: all.whole && !taken_out.some };
        }
        all
    }

    fn looks(&self, path: &str, root: Option<&str>, tree: bool, excepts: bool) -> Look {
        let mut out = Look::default();
        for glob in self.globs.iter().filter(|glob| glob.excepts == excepts) {
            let subject = match root {
                _ if !glob.relative => path,
                // The root may lie anywhere: what matches from some folder on may match.
                None => {
                    out.some |= tree || glob.matches_from_some_folder(path);
                    continue;
                }
                Some(root) => match below(path, root) {
                    Some(rest) => rest,
                    // The root itself: nothing is above a relative glob but it.
                    None if tree && covers(path, root) => "",
                    None => continue,
                },
            };
            let itself = !subject.is_empty() && glob.glob.matches(subject);
            let below = tree && glob.may_match_below(subject);
            out.some |= itself || below;
            out.whole |= if tree { glob.matches_all_below(subject) } else { itself };
        }
        out
    }
}

impl PathGlob {
    /// Whether there is a folder above the path from which the glob matches it.
    fn matches_from_some_folder(&self, path: &str) -> bool {
        path.match_indices('/').any(|(at, _)| {
            path.get(at + 1..).is_some_and(|rest| !rest.is_empty() && self.glob.matches(rest))
        })
    }

    /// Whether the glob may match something below this folder. Sure about a no, not about a yes.
    fn may_match_below(&self, folder: &str) -> bool {
        if self.glob.pattern().contains(['{', '[', '\\']) {
            // A probe decides the common case; otherwise closed, as a restricting rule must be.
            return true;
        }
        let mut steps = self.glob.pattern().split('/');
        for component in folder.split('/').filter(|c| !c.is_empty() || folder.starts_with('/')) {
            match steps.next() {
                None => return false,
                Some(step) if step.contains("**") => return true,
                Some(step) => {
                    let matches =
                        step == component || Glob::path(step).is_ok_and(|g| g.matches(component));
                    if !matches {
                        return false;
                    }
                }
            }
        }
        steps.next().is_some()
    }

    /// Whether the glob matches this folder's whole content, whatever it is.
    fn matches_all_below(&self, folder: &str) -> bool {
        let Some(head) = self.glob.pattern().strip_suffix("**") else { return false };
        if head.is_empty() {
            return true;
        }
        let Some(head) = head.strip_suffix('/') else { return false };
        Glob::path(head).is_ok_and(|head| {
            // The folder, or one above it, is what stands before the `/**`.
            let mut ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
            ends.any(|end| folder.get(..end).is_some_and(|above| head.matches(above)))
        })
    }
}

impl fmt::Display for PathGlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text =
            |glob: &PathGlob| format!("{}{}", if glob.excepts { "!" } else { "" }, glob.text);
        let values = self.values.iter().map(|glob| glob.pattern().to_owned());
        let all: Vec<String> = self.globs.iter().map(text).chain(values).collect();
        match all.as_slice() {
            [one] => f.write_str(one),
            many => f.debug_list().entries(many).finish(),
        }
    }
}

pub(crate) fn is_rooted(path: &str) -> bool {
    path.starts_with('/') || path == "~" || path.starts_with("~/") || has_drive(path)
}

fn has_drive(path: &str) -> bool {
    let mut chars = path.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), Some('/' | '\\'))
}

/// An absolute path, normalised; `None` for a relative one.
pub(crate) fn absolute(path: &str) -> Option<String> {
    is_rooted(path).then(|| normalise(None, path))?
}

/// The path behind a text, `.` and `..` folded; `None` when it is relative and there is no base.
pub(crate) fn normalise(base: Option<&str>, text: &str) -> Option<String> {
    let text = if has_drive(text) || text.contains('\\') {
        text.replace('\\', "/")
    } else {
        text.to_owned()
    };
    let whole = if is_rooted(&text) { text } else { format!("{}/{text}", base?) };
    let mut parts: Vec<&str> = Vec::new();
    let home = whole.starts_with('~');
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // Above the home folder is not known where.
                if home && parts.len() <= 1 {
                    return None;
                }
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Some(if home || has_drive(&whole) { joined } else { format!("/{joined}") })
}

/// The rest of a path below a folder; `None` when it does not lie strictly below it.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    rest.strip_prefix('/').filter(|rest| !rest.is_empty())
}

/// Whether the path is the folder, or a folder above it.
fn covers(path: &str, folder: &str) -> bool {
    path == folder || below(folder, path).is_some()
}

/// A glob that speaks of just this path.
pub fn literal(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Whether a path lies in none of these folders. Deleting the workspace is not deleting in it.
pub(crate) fn is_outside(
    path: &str,
    root: Option<&str>,
    folders: &[Folder],
    deletes: bool,
) -> bool {
    !folders.iter().any(|folder| {
        let itself = !deletes || *folder != Folder::Workspace;
        let folder = match folder {
            Folder::Workspace => root.map(str::to_owned),
            Folder::Path(text) => normalise(root, text),
        };
        folder.is_some_and(|folder| below(path, &folder).is_some() || (itself && path == folder))
    })
}

#[cfg(test)]
mod tests {
    use super::{PathGlobs, is_outside, normalise};
    use crate::compile::effects::Folder;

    fn look(glob: &str, path: &str, tree: bool) -> (bool, bool) {
        let found = PathGlobs::new([glob]).unwrap().look(path, Some("/repo"), tree);
        (found.some, found.whole)
    }

    #[test]
    fn relative_globs_start_at_the_project_root() {
        assert_eq!(look("**/test_*.py", "/repo/a/test_x.py", false), (true, true));
        assert_eq!(look("**/test_*.py", "/repo/test_x.py", false), (true, true));
        assert_eq!(look("**/test_*.py", "/other/test_x.py", false), (false, false));
        assert_eq!(look("/etc/**", "/etc/passwd", false), (true, true));
        assert_eq!(look("src/*.rs", "/repo/src/a/b.rs", false), (false, false));
        assert_eq!(look("./src/", "/repo/src/a/b.rs", false), (true, true));
    }

    #[test]
    fn without_a_project_root_a_relative_glob_may_start_anywhere() {
        let look = |glob: &str, path: &str, tree: bool| {
            let found = PathGlobs::new([glob]).unwrap().look(path, None, tree);
            (found.some, found.whole)
        };
        assert_eq!(look("**/test_*.py", "/repo/test_x.py", false), (true, false));
        assert_eq!(look("src/*.rs", "/repo/src/a.rs", false), (true, false));
        assert_eq!(look("src/*.rs", "/repo/docs/a.rs", false), (false, false));
        assert_eq!(look("src/*.rs", "/repo/docs", true), (true, false));
        assert_eq!(look("/etc/**", "/etc/passwd", false), (true, true));
    }

    #[test]
    fn deleting_a_folder_counts_for_all_below() {
        assert_eq!(look("src/**/*.rs", "/repo/src", true), (true, false));
        assert_eq!(look("**/test_*.py", "/repo/tests", true), (true, false));
        assert_eq!(look("**/test_*.py", "/repo", true), (true, false));
        assert_eq!(look("**/test_*.py", "/", true), (true, false));
        assert_eq!(look("src/a.rs", "/repo/docs", true), (false, false));
        assert_eq!(look("build/**", "/repo/build", true), (true, true));
        assert_eq!(look("build/**", "/repo/build/x/y", true), (true, true));
        assert_eq!(look("build/**", "/repo", true), (true, false));
        assert_eq!(look("build/*.o", "/repo/build/x.o", true), (true, false));
    }

    #[test]
    fn outside_is_what_lies_in_none_of_the_folders() {
        let folders = [Folder::Workspace, Folder::Path("/tmp/x".into())];
        for (path, outside) in [
            ("/repo/a", false),
            ("/repo", true),
            ("/repository/a", true),
            ("/tmp/x/y", false),
            ("/etc", true),
            ("~/a", true),
        ] {
            assert_eq!(is_outside(path, Some("/repo"), &folders, true), outside, "{path}");
        }
        assert!(is_outside("/repo/a", None, &[Folder::Workspace], true));
        assert!(!is_outside("/repo", Some("/repo"), &folders, false));
    }

    #[test]
    fn paths_are_folded_lexically() {
        for (text, path) in [
            ("a/../b", Some("/repo/b")),
            ("../../..", Some("/")),
            ("/a//b/./c", Some("/a/b/c")),
            ("~/x/../y", Some("~/y")),
            ("~/../x", None),
            (r"C:\a\..\b", Some("C:/b")),
        ] {
            assert_eq!(normalise(Some("/repo"), text).as_deref(), path, "{text}");
        }
        assert_eq!(normalise(None, "a"), None);
    }
}
