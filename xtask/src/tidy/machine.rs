//! No path of the machine that the work was done on stands in the tree.
//!
//! Such a path is noise for every reader, breaks on every other machine and tells about people's
//! folders. Found are the folder of this checkout, everything below the build machine's work
//! folder, and below the temporary and home folders whatever does not look like an example:
//! examples of shell commands need such paths, and take plain names for them.

use std::path::Path;

use super::{Finding, TextFile};

/// Home folders that are examples, by the name of the user.
const EXAMPLE_USERS: [&str; 9] =
    ["alice", "bob", "carol", "dev", "mallory", "me", "someone", "user", "you"];

/// Where a folder prefix is looked for, and which names right below it are examples. The prefixes
/// are put together here so that this file does not find itself.
struct Place {
    prefix: &'static str,
    is_example: fn(&str) -> bool,
}

const PLACES: [Place; 3] = [
    Place { prefix: concat!("/", "work/"), is_example: |_| false },
    Place { prefix: concat!("/", "tmp/"), is_example: is_plain },
    Place { prefix: concat!("/", "home/"), is_example: |name| EXAMPLE_USERS.contains(&name) },
];

/// The paths in one file.
pub(super) fn check(file: &TextFile, root: &Path) -> Vec<Finding> {
    let root = root.to_string_lossy();
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(path) = machine_path(line, &root) {
            found.push(Finding::new(
                &file.path,
                index + 1,
                format!("`{path}` looks like a path of the build machine"),
                "make it relative, or take an example: a plain lower-case name below a temporary \
                 folder, a usual example name as a user",
            ));
        }
    }
    found
}

/// The first path in a line that belongs to a machine rather than to an example.
fn machine_path<'a>(line: &'a str, root: &str) -> Option<&'a str> {
    if root.len() > 1
        && let Some((at, _)) = line.match_indices(root).find(|(at, _)| starts_path(line, *at))
    {
        return line.get(at..).map(path_at);
    }
    for place in &PLACES {
        for (at, prefix) in line.match_indices(place.prefix) {
            let path = line.get(at..).map(path_at).unwrap_or_default();
            let below = path.get(prefix.len()..).unwrap_or_default();
            let name = below.split('/').next().unwrap_or_default();
            if starts_path(line, at) && !name.is_empty() && !(place.is_example)(name) {
                return Some(path);
            }
        }
    }
    None
}

/// True if no part of a longer relative path or of a URL stands before this place.
fn starts_path(line: &str, at: usize) -> bool {
    let before = line.get(..at).and_then(|head| head.chars().next_back());
    !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '}' | '*'))
}

/// The path at the start of the text, up to what cannot be part of one.
fn path_at(text: &str) -> &str {
    let end = text.find(|c: char| {
        !(c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | '~'))
    });
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

/// A name that a person gives an example: lower-case letters, perhaps numbered, perhaps with a
/// suffix. Names that programs make have capitals, longer numbers, underscores or leading dots.
fn is_plain(name: &str) -> bool {
    const DIGITS_MAX: usize = 2;
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let name = name.trim_end_matches('.');
    let (stem, suffix) = name.split_once('.').unwrap_or((name, "txt"));
    let letters = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    is_word(letters) && stem.len() - letters.len() <= DIGITS_MAX && suffix.split('.').all(is_word)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{check, machine_path};
    use crate::tidy::TextFile;

    /// Puts a leading slash before a path, so that this file does not find itself.
    fn absolute(path: &str) -> String {
        format!("/{path}")
    }

    fn found(path: &str) -> bool {
        let line = format!("see `{}` there", absolute(path));
        machine_path(&line, "/srv/checkout").is_some()
    }

    #[test]
    fn paths_of_the_build_machine_are_found() {
        assert!(found("work/any/thing"));
        assert!(found("tmp/.tmpAbc123/out"));
        assert!(found("tmp/run_0042/out"));
        assert!(found("tmp/job.20261130"));
        assert!(found("home/zdeveloper/src"));
        assert!(found("srv/checkout/crates/gate"));
    }

    #[test]
    fn examples_and_relative_paths_pass() {
        assert!(!found("tmp/x"));
        assert!(!found("tmp/report-two.tar.gz"));
        assert!(!found("tmp/file1.txt"));
        assert!(!found("home/alice/.ssh/id_ed25519"));
        assert!(!found("tmp/"));
        assert!(!found("srv/other"));
        assert!(machine_path(&format!("src{}", absolute("work/a")), "/r").is_none());
        assert!(machine_path(&format!("~{}", absolute("work/a")), "/r").is_none());
    }

    #[test]
    fn a_finding_says_where_and_which_path() {
        let text = format!("one\ntwo \"{}\"\n", absolute("work/a/b.rs"));
        let file = TextFile { path: "docs/a.md".into(), text };
        let findings = check(&file, Path::new("/r"));
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].line, findings[0].path.as_str()), (2, "docs/a.md"));
        assert!(findings[0].what.contains(&absolute("work/a/b.rs")));
    }
}
