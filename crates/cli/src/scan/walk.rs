//! The list of files to look at.
//!
//! Folders are walked in the order of names, so that two runs tell the same in the same order. Left out: what
//! git ignores (unless asked for), the folders of version control, links, and whatever is no regular file.
//! What a person names is looked at whatever it is. Environment variables have no say: the user's global
//! list of ignored files is not read.

use ignore::{DirEntry, WalkBuilder};
use std::path::{Path, PathBuf};

/// Folders of version control: full of copies, and not what anybody means by "this folder".
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// A file to look at.
#[derive(Debug)]
pub(crate) struct Target {
    /// `None`: standard input.
    pub(crate) path: Option<PathBuf>,
    /// As it is told: without a leading `./`.
    pub(crate) shown: String,
    /// Its length as far as is known.
    pub(crate) bytes: u64,
    /// Whether a person named it, and not only a folder above it.
    pub(crate) named: bool,
}

/// The files under these paths. `tell` hears how many there are so far, and what could not be listed.
pub(crate) fn targets(
    paths: &[PathBuf],
    no_ignore: bool,
    mut tell: impl FnMut(Result<usize, String>),
) -> Vec<Target> {
    let mut targets = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let shown = "-".to_owned();
            targets.push(Target { path: None, shown, bytes: 0, named: true });
            continue;
        }
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => walk(path, no_ignore, &mut targets, &mut tell),
            Ok(found) => targets.push(Target::new(path, found.len(), true)),
            Err(error) => tell(Err(format!("{}: {error}", path.display()))),
        }
    }
    targets
}

impl Target {
    fn new(path: &Path, bytes: u64, named: bool) -> Target {
        let bare = path.strip_prefix(".").unwrap_or(path);
        Target {
            path: Some(path.to_owned()),
            shown: bare.to_string_lossy().into_owned(),
            bytes,
            named,
        }
    }

    /// The path as it is told, for what can tell any bytes.
    pub(crate) fn bare_path(&self) -> Option<&Path> {
        let path = self.path.as_deref()?;
        Some(path.strip_prefix(".").unwrap_or(path))
    }
}

fn walk(
    folder: &Path,
    no_ignore: bool,
    targets: &mut Vec<Target>,
    tell: &mut impl FnMut(Result<usize, String>),
) {
    let walk = WalkBuilder::new(folder)
        .standard_filters(!no_ignore)
        .git_global(false)
        .hidden(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| !is_version_control(entry))
        .build();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|found| found.is_file()) => {
                let bytes = entry.metadata().map_or(0, |found| found.len());
                targets.push(Target::new(entry.path(), bytes, false));
                tell(Ok(targets.len()));
            }
            Ok(_) => {}
            Err(error) => tell(Err(error.to_string())),
        }
    }
}

/// `.git` may be a file, too: that of a further work tree.
fn is_version_control(entry: &DirEntry) -> bool {
    entry.depth() > 0 && VERSION_CONTROL.iter().any(|name| entry.file_name() == *name)
}
