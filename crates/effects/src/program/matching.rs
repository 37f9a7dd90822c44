//! Scripts that a command names by a pattern: `bash scripts/*.sh`, `find scripts -name x.sh -exec sh {} +`.
//!
//! What the pattern may stand for is looked up, in few folders and not deep. Refused: a search through all
//! of a project, and patterns whose folder is not known.

use crate::files::Entry;
use crate::glob::PathGlob;
use crate::limits::{LISTED_MAX, SCRIPTS_MATCHED_MAX};
use crate::mark;
use crate::path;
use crate::run::Run;
use crate::shell::scope::Scope;

/// How deep below the known part of a pattern is looked.
const DEPTH_MAX: usize = 4;
/// Folders of other people's code, and what builds leave.
const LEFT_OUT: &[&str] =
    &["node_modules", "target", ".git", ".venv", "venv", "vendor", "dist", "build"];

impl Run<'_> {
    /// The files that a marked text may stand for; none for a text without marks, or with an unknown part.
    pub(crate) fn matching_files(&mut self, scope: &Scope, text: &str) -> Vec<String> {
        if !mark::has_mark(text) || mark::has_void(text) || !self.ctx.files.is_present() {
            return Vec::new();
        }
        let Some(pattern) = path::normalise(&scope.cwd, text) else { return Vec::new() };
        // Whatever a program lists is no pattern.
        let name = path::base_name(&pattern);
        let any = name.chars().all(|c| matches!(c, mark::WORD | mark::BELOW | mark::DEEP));
        if any && text.starts_with(mark::is_mark) {
            return Vec::new();
        }
        let known = pattern.split(mark::is_mark).next().unwrap_or_default();
        let folder = known.get(..known.rfind('/').unwrap_or(0)).unwrap_or_default().to_owned();
        let mut found = Vec::new();
        let mut left = LISTED_MAX;
        let mut todo = vec![(folder, 0)];
        while let Some((folder, depth)) = todo.pop() {
            if self.lookups == 0 || left == 0 {
                break;
            }
            self.lookups -= 1;
            let mut names = self.ctx.files.names(&folder, left);
            left -= names.len().min(left);
            names.sort();
            for name in names {
                let at = format!("{folder}/{name}");
                if found.len() < SCRIPTS_MATCHED_MAX && PathGlob::is_meant(&pattern, &at) {
                    found.push(at);
                } else if depth < DEPTH_MAX
                    && !LEFT_OUT.contains(&name.as_str())
                    && self.lookups > 0
                {
                    self.lookups -= 1;
                    if self.ctx.files.look(&at) == Entry::Folder {
                        todo.push((at, depth + 1));
                    }
                }
            }
        }
        found
    }
}
