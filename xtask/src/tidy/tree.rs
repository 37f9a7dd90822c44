//! The files that the rules look at: what git tracks or would track.
//!
//! Git is asked, so that `.gitignore` is read by the one program that defines it. Where there is no
//! git checkout (an unpacked archive) the folder is walked instead, without `target` and hidden
//! `.git`. Files that are not UTF-8 or over the size cap are left out: no rule is about them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::outcome::Error;

/// A file over this size holds data, not text that a person wrote.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A tree with more entries than this is not this project; the walk ends there with an error.
const FILES_MAX: usize = 100_000;

/// Folders that a walk without git does not enter.
const FOLDERS_SKIPPED: [&str; 2] = [".git", "target"];

/// The text files of the project, ordered by path.
pub(super) struct Tree {
    pub(super) files: Vec<TextFile>,
}

/// One text file.
pub(super) struct TextFile {
    /// The path below the root with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
}

impl TextFile {
    /// The line (from 1) of the first line for which `found` holds, or 1.
    pub(super) fn line_where(&self, found: impl Fn(&str) -> bool) -> usize {
        self.text.lines().position(found).map_or(1, |index| index + 1)
    }
}

impl Tree {
    /// Reads all text files below `root`.
    pub(super) fn read(root: &Path) -> Result<Tree, Error> {
        let paths = match paths_from_git(root) {
            Some(paths) => paths,
            None => paths_from_walk(root)?,
        };
        let mut files = Vec::new();
        for path in paths {
            if let Some(text) = read_text(&root.join(&path))? {
                files.push(TextFile { path, text });
            }
        }
        Ok(Tree { files })
    }

    /// The file at exactly this path.
    pub(super) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Tracked files and untracked ones that are not ignored; `None` outside a checkout.
fn paths_from_git(root: &Path) -> Option<BTreeSet<String>> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let paths: BTreeSet<String> =
        listing.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect();
    // An archive unpacked below somebody else's checkout lists nothing: then the walk is right.
    (output.status.success() && paths.contains("Cargo.toml")).then_some(paths)
}

fn paths_from_walk(root: &Path) -> Result<BTreeSet<String>, Error> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        let failed = |source| Error::File { verb: "list", path: full.clone(), source };
        for entry in fs::read_dir(&full).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let path = folder.join(entry.file_name());
            if kind.is_dir() {
                if !FOLDERS_SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                    folders.push(path);
                }
            } else if kind.is_file() {
                paths.insert(path.to_string_lossy().replace('\\', "/"));
            }
            if paths.len() + folders.len() > FILES_MAX {
                return Err(failed(std::io::Error::other("more files than a source tree has")));
            }
        }
    }
    Ok(paths)
}

/// The text of a regular file; `None` for what is no text, too big, or already gone.
fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let is_candidate =
        fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= FILE_BYTES_MAX);
    if !is_candidate {
        return Ok(None);
    }
    let bytes =
        fs::read(path).map_err(|source| Error::File { verb: "read", path: path.into(), source })?;
    Ok(String::from_utf8(bytes).ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Tree;

    #[test]
    fn a_folder_without_git_is_walked_without_build_output_and_binary_files() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("src")).unwrap();
        fs::create_dir_all(root.path().join("target/debug")).unwrap();
        fs::write(root.path().join("src/lib.rs"), "//! a").unwrap();
        fs::write(root.path().join("target/debug/out.rs"), "x").unwrap();
        fs::write(root.path().join("picture"), [0xff, 0xfe, 0x00]).unwrap();
        let tree = Tree::read(root.path()).unwrap();
        let paths: Vec<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/lib.rs"]);
    }
}
