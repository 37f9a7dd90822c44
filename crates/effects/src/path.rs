//! Paths: from words to absolute, normalised targets, lexical and resolved.
//!
//! The lexical path is what the text says after `~`, `.` and `..`; the resolved path is where the
//! links lead. Rules look at both, since either alone can be used to hide. Refused here: touching a
//! file system other than through [`FileSystem`], and paths over the cap.

use std::fmt;

use crate::files::{Entry, FileSystem};
use crate::glob::PathGlob;
use crate::limits::{LINKS_MAX, PATH_BYTES_MAX};
use crate::mark;

/// Stands for any character where a wildcard stands.
const SAMPLE: char = '\u{1}';

/// The front of paths in a container.
pub(crate) const ELSEWHERE: &str = "container:";

/// A path that a call acts on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathTarget {
    marked: Box<str>,
    resolved: Option<Box<str>>,
    tree: bool,
    /// There is no folder yet, so nothing below it is overwritten.
    fresh: bool,
}

/// Whether a glob speaks of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// The glob names the path itself, or may.
    Itself,
    /// The glob may name the path, depending on a value that is only known when it runs. The same
    /// effect is there as an `unknown` as well.
    Possibly,
    /// The glob names something below the folder that the call acts on as a whole.
    Below,
    /// It does not.
    No,
}

/// Whether a target lies within a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// Both forms lie strictly below the folder.
    Below,
    /// The target is the folder itself.
    Root,
    /// At least one form lies outside.
    Outside,
    /// It depends on a value that is only known when it runs.
    Maybe,
}

/// Folders whose content is made by tools and can be made again. A glob that floats (`**/x`) does not
/// speak of what may lie in one of these.
const DERIVED: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    "__pycache__",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".cache",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    "coverage",
    "htmlcov",
    ".nyc_output",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".gradle",
    "DerivedData",
    "Pods",
    "vendor",
    "tmp",
    "_build",
    "deps",
    "bin",
    "obj",
    "cmake-build-debug",
    "site-packages",
    ".terraform",
    ".eggs",
    "storybook-static",
    ".svelte-kit",
    ".angular",
    ".dart_tool",
    "zig-cache",
    "zig-out",
    ".stack-work",
    "dist-newstyle",
    "elm-stuff",
];

impl PathTarget {
    pub(crate) fn new(marked: String, resolved: Option<String>, tree: bool) -> Self {
        let resolved = resolved.filter(|r| **r != *marked).map(Into::into);
        Self { marked: marked.into(), resolved, tree, fresh: false }
    }

    pub(crate) fn fresh(mut self, fresh: bool) -> Self {
        self.fresh = fresh;
        self
    }

    /// The path as the text says it, for people: marks are shown as `*`, `**`, `<unknown>`.
    pub fn lexical(&self) -> String {
        mark::shown(&self.marked)
    }

    /// The path where the links lead, if that is another one.
    pub fn resolved(&self) -> Option<&str> {
        self.resolved.as_deref()
    }

    /// Whether the call acts on everything below the path as well.
    pub fn is_tree(&self) -> bool {
        self.tree
    }

    pub(crate) fn marked(&self) -> &str {
        &self.marked
    }

    /// Whether the path, in either form, is `folder` or lies below it.
    pub fn within_or_is(&self, folder: &str) -> bool {
        let inside = |path: &str| matches!(within(path, folder), Within::Below | Within::Root);
        inside(&self.marked) || self.resolved.as_deref().is_some_and(inside)
    }

    /// Whether a part of the path is only known when it runs.
    pub fn is_partly_unknown(&self) -> bool {
        mark::has_void(&self.marked)
    }

    /// Whether the path lies on another machine: in a container.
    pub fn is_elsewhere(&self) -> bool {
        self.marked.starts_with(ELSEWHERE)
    }

    /// Whether the text names nothing in particular here: the last component begins with a wildcard,
    /// or the path is any below a folder.
    pub fn is_wide(&self) -> bool {
        let last = self.marked.rsplit('/').next().unwrap_or_default();
        last.starts_with(mark::is_mark) || self.marked.contains([mark::DEEP, mark::BELOW])
    }

    /// Whether a part of the name is only known when it runs (`mktemp`, `$(date)`).
    pub fn is_computed(&self) -> bool {
        let last = self.marked.rsplit('/').next().unwrap_or_default();
        last.contains(mark::WORD) || mark::has_void(last)
    }

    /// Whether the text says nothing at all about the name: a list of files that a program prints.
    pub fn is_anything(&self) -> bool {
        let last = self.marked.rsplit('/').next().unwrap_or_default();
        !last.is_empty() && last.chars().all(|c| matches!(c, mark::WORD | mark::DEEP | mark::BELOW))
    }

    /// Whether `glob` names a single file that is not hidden, and the text no file at all (`$x/*`, any folder
    /// that something is unpacked to).
    pub fn is_unnamed_for(&self, glob: &PathGlob) -> bool {
        let last = self.marked.rsplit('/').next().unwrap_or_default();
        last.chars().all(mark::is_mark)
            && glob.hidden_components() == 0
            && glob.last_name().is_some()
    }

    /// Whether it is only by a wildcard that goes through all folders that the path meets `glob`, which
    /// names a hidden one (`find . -name '*.json'` and `**/.tool/*.json`), or a single file where the path says
    /// nothing of the name.
    pub fn is_by_chance(&self, glob: &PathGlob) -> bool {
        self.marked.contains([mark::DEEP, mark::BELOW, mark::WORD])
            && glob.hidden_components() > self.marked.matches("/.").count()
            && !self.names(glob)
            || self.is_anything() && !self.tree && glob.last_name().is_some()
    }

    /// Whether the text names the last component of `glob`, for all that a wildcard goes through the folders:
    /// `find . -name .env`, and `-name '*.env'`, whose ending is the whole name.
    pub fn names(&self, glob: &PathGlob) -> bool {
        let text = self.marked.trim_end_matches(mark::ANY);
        glob.last_name().is_some_and(|name| {
            // `.e*` says as much of a hidden name as it can.
            let hidden = text.rsplit(['/', mark::DEEP, mark::BELOW]).next().unwrap_or_default();
            let begins = hidden.len() > 1
                && hidden.len() < name.len()
                && text.len() < self.marked.len()
                && hidden.starts_with('.')
                && name.starts_with(hidden);
            begins
                || text
                    .strip_suffix(name.as_str())
                    .is_some_and(|rest| rest.ends_with(['/', mark::DEEP, mark::BELOW, mark::ANY]))
        })
    }

    /// Whether the path is a single literal one, without globs or unknown parts.
    pub fn is_literal(&self) -> bool {
        !mark::has_mark(&self.marked)
    }

    /// Whether `glob` speaks of this target: of the path in either form, or of something below it.
    pub fn cover(&self, glob: &PathGlob) -> Cover {
        // An unknown part is an `unknown` effect of its own; here it stands for one component, or a
        // rule about test files would refuse every write to a computed name.
        let narrowed: String;
        let marked: &str = if mark::has_void(&self.marked) {
            narrowed = self
                .marked
                .replace([mark::VOID, mark::REMOTE, mark::SECRET, mark::LINE], "\u{E003}");
            &narrowed
        } else {
            &self.marked
        };
        let forms = [Some(marked), self.resolved.as_deref()];
        if forms.iter().flatten().any(|form| glob.meets(form, false)) {
            return if mark::has_void(&self.marked) { Cover::Possibly } else { Cover::Itself };
        }
        if self.tree {
            for form in forms.iter().flatten() {
                if !glob.meets(form, true) {
                    continue;
                }
                let name = form.rsplit('/').next().unwrap_or_default();
                if glob.is_anchored() || !(self.fresh || DERIVED.contains(&name)) {
                    return Cover::Below;
                }
            }
        }
        Cover::No
    }

    /// Whether `glob` speaks of all that the path may stand for: `*.lock` of `a*.lock`, not of `a*`.
    pub fn is_surely(&self, glob: &PathGlob) -> bool {
        // A character that no glob names, alone and with a folder before it, stands for what is open.
        let sample = |text: &str, deep: &str| -> String {
            let mut out = String::with_capacity(text.len());
            for c in text.chars() {
                match c {
                    mark::DEEP | mark::BELOW => out.push_str(deep),
                    c if mark::is_mark(c) => out.push(SAMPLE),
                    c => out.push(c),
                }
            }
            out
        };
        let is = |text: &str| {
            let (shallow, deep) = (SAMPLE.to_string(), format!("{SAMPLE}/{SAMPLE}"));
            glob.matches(&sample(text, &shallow)) && glob.matches(&sample(text, &deep))
        };
        !mark::has_void(&self.marked) && is(&self.marked) && self.resolved.as_deref().is_none_or(is)
    }

    /// Like [`PathTarget::cover`] for a test of whole paths instead of a glob; only literal forms are
    /// tested, and nothing below them.
    pub fn any_form(&self, test: &dyn Fn(&str) -> bool) -> bool {
        (self.is_literal() && test(&self.marked)) || self.resolved.as_deref().is_some_and(test)
    }

    /// Whether the target lies in `folder`, an absolute normalised path. Everything in the folder
    /// (`*`) counts as the folder itself.
    pub fn within(&self, folder: &str) -> Within {
        let all = self.marked.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        let is_all = match all.and_then(|rest| rest.strip_suffix(mark::is_mark)) {
            Some("") if self.marked.ends_with(mark::ANY) => true,
            Some("") => self.tree && self.marked.ends_with([mark::DEEP, mark::BELOW]),
            Some(_) | None => false,
        };
        if is_all && self.resolved.is_none() {
            return Within::Root;
        }
        let lexical = within(&self.marked, folder);
        match self.resolved.as_deref().map(|path| within(path, folder)) {
            None => lexical,
            Some(resolved) if resolved == lexical => lexical,
            Some(Within::Outside) => Within::Outside,
            Some(Within::Maybe) => Within::Maybe,
            Some(Within::Root | Within::Below) if lexical == Within::Outside => Within::Outside,
            Some(Within::Root) => Within::Root,
            Some(Within::Below) => lexical,
        }
    }

    /// Whether the call acts on `path` (absolute, normalised): the target is it, stands for it, or is
    /// a folder above it that is acted on as a whole.
    pub fn touches(&self, path: &str) -> bool {
        let glob = PathGlob::literal(path);
        // With a whole tree: the target's steps followed by anything.
        let forms = [Some(&*self.marked), self.resolved.as_deref()];
        forms.iter().flatten().any(|form| glob.meets(form, self.tree))
    }
}

impl fmt::Display for PathTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lexical())?;
        if self.tree {
            f.write_str(" and all below")?;
        }
        if let Some(resolved) = &self.resolved {
            write!(f, " (that is {resolved})")?;
        }
        Ok(())
    }
}

pub(crate) fn within(path: &str, folder: &str) -> Within {
    let known = path.split(mark::is_mark).next().unwrap_or_default();
    let folder = folder.trim_end_matches('/');
    if path == folder {
        return Within::Root;
    }
    let below = path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    if mark::has_void(path) {
        let decided =
            !known.starts_with(folder) && !folder.starts_with(known.trim_end_matches('/'));
        return if decided { Within::Outside } else { Within::Maybe };
    }
    if below { Within::Below } else { Within::Outside }
}

/// Whether `text` is absolute on some system: `/x`, `C:\x`, `\\server\x`.
pub(crate) fn is_absolute(text: &str) -> bool {
    text.starts_with('/') || has_drive(text) || text.starts_with("\\\\")
}

/// Whether a text begins with a drive's letter, with or without a slash behind it.
pub(crate) fn has_drive_letter(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

fn has_drive(text: &str) -> bool {
    let mut chars = text.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    drive && chars.next() == Some(':') && matches!(chars.next(), Some('/' | '\\'))
}

/// Joins `text` to `base` and folds `.` and `..`; both may hold marks. `None` over the cap.
pub(crate) fn normalise(base: &str, text: &str) -> Option<String> {
    if base.len() + text.len() > PATH_BYTES_MAX {
        return None;
    }
    let windows = has_drive(text) || text.starts_with("\\\\") || has_drive(base);
    let slashed: String;
    let text = if windows && text.contains('\\') {
        slashed = text.replace('\\', "/");
        &slashed
    } else {
        text
    };
    let mut out = String::with_capacity(base.len() + text.len() + 1);
    let mut floor = 0;
    if has_drive(text) {
        floor = 2;
        out.extend(text.chars().take(2).map(|c| c.to_ascii_uppercase()));
        fold(&mut out, floor, text.get(3..).unwrap_or_default());
    } else {
        if has_drive(base) {
            floor = 2;
        }
        if !text.starts_with('/') {
            out.push_str(base.trim_end_matches('/'));
        } else if floor == 2 {
            out.push_str(base.get(..2).unwrap_or_default());
        }
        fold(&mut out, floor, text);
    }
    if out.len() == floor {
        out.push('/');
    }
    Some(out)
}

fn fold(out: &mut String, floor: usize, text: &str) {
    for component in text.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                let cut = out.rfind('/').unwrap_or(floor).max(floor);
                out.truncate(cut);
            }
            component => {
                out.push('/');
                out.push_str(component);
            }
        }
    }
}

/// Follows the links in `path` (absolute, normalised, no marks). `None` if nothing is known or a cap
/// is hit; `lookups` counts down.
pub(crate) fn resolve(files: &dyn FileSystem, path: &str, lookups: &mut u32) -> Option<String> {
    let mut done = String::with_capacity(path.len());
    let mut todo: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
    let mut links = 0;
    while let Some(component) = todo.pop() {
        match component.as_str() {
            "" | "." => continue,
            ".." => {
                let cut = done.rfind('/').unwrap_or(0);
                done.truncate(cut);
                continue;
            }
            _ => {}
        }
        done.push('/');
        done.push_str(&component);
        *lookups = lookups.checked_sub(1)?;
        match files.look(&done) {
            Entry::Link(text) => {
                links += 1;
                if links > LINKS_MAX || text.len() > PATH_BYTES_MAX || todo.len() > PATH_BYTES_MAX {
                    return None;
                }
                let cut = if text.starts_with('/') { 0 } else { done.rfind('/').unwrap_or(0) };
                done.truncate(cut);
                todo.extend(text.rsplit('/').map(str::to_owned));
            }
            Entry::Absent => {
                // Nothing below an absent path can be a link; `..` cannot be left in a normalised
                // rest except from a link's text, which the loop above folds.
                while let Some(rest) = todo.pop() {
                    match rest.as_str() {
                        "" | "." => {}
                        ".." => {
                            let cut = done.rfind('/').unwrap_or(0);
                            done.truncate(cut);
                        }
                        rest => {
                            done.push('/');
                            done.push_str(rest);
                        }
                    }
                }
            }
            Entry::File | Entry::Folder | Entry::Special => {}
        }
    }
    if done.is_empty() {
        done.push('/');
    }
    Some(done)
}

/// A path whose folder is written and whose rest is a line of a file: something below that folder.
pub(crate) fn below_the_known(text: &str) -> Option<String> {
    let known = text.split(mark::is_mark).next().unwrap_or_default();
    let folder = known.get(..known.rfind('/')?)?;
    let named = folder.rsplit('/').next().is_some_and(|name| !matches!(name, "" | "." | ".."));
    let rest = text.get(known.len()..)?.replace(mark::LINE, "\u{E004}");
    let is_line = rest.len() > mark::BELOW.len_utf8() || rest.starts_with(mark::BELOW);
    (named && is_line && text.contains(mark::LINE) && !mark::has_void(&rest))
        .then(|| format!("{known}{rest}"))
}

/// The last component.
pub(crate) fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Everything before the last component, or `/`.
pub(crate) fn folder_of(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}
