//! No path of the machine that the work was done on stands in the tree.
//!
//! Such a path is noise for every reader, breaks on every other machine and tells about people's
//! folders. Found is everything below the usual work folder and cargo's own folder, and below the
//! temporary and home folders whatever does not look like an example: examples of shell commands
//! need such paths, and take plain names for them. The answer depends on the text alone, never on
//! where the checkout stands, so that it is the same for everybody.

use super::{Finding, TextFile};

/// Home folders that are examples, by the name of the user.
const EXAMPLE_USERS: [&str; 14] = [
    "alice", "bob", "carol", "dev", "jane", "john", "mallory", "me", "someone", "u", "user",
    "victim", "x", "you",
];

/// Where a path is looked for, and which names right below it are examples. The prefixes are put
/// together here so that this file does not find itself.
struct Place {
    prefix: &'static str,
    is_example: fn(&str) -> bool,
}

const PLACES: [Place; 5] = [
    Place { prefix: concat!("/", "work/"), is_example: |_| false },
    Place { prefix: concat!("/", "root/.cargo/"), is_example: |name| name != "registry" },
    Place { prefix: concat!("/", "tmp/"), is_example: is_plain },
    Place { prefix: concat!("/", "home/"), is_example: is_example_user },
    Place { prefix: concat!("/", "Users/"), is_example: is_example_user },
];

/// The paths in one file.
pub(super) fn check(file: &TextFile) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(path) = machine_path(line) {
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
fn machine_path(line: &str) -> Option<&str> {
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

fn is_example_user(name: &str) -> bool {
    EXAMPLE_USERS.contains(&name)
}

/// A name that a person gives an example: words in lower case, perhaps numbered, perhaps with short
/// suffixes. Names that programs make have capitals, long numbers or suffixes without a letter.
fn is_plain(name: &str) -> bool {
    const DIGITS_MAX: usize = 2;
    const SUFFIX_BYTES_MAX: usize = 6;
    let is_suffix = |part: &str| {
        part.len() <= SUFFIX_BYTES_MAX
            && part.chars().any(|c| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let name = name.strip_prefix('.').unwrap_or(name).trim_end_matches('.');
    let (stem, suffixes) = name.split_once('.').unwrap_or((name, "txt"));
    let word = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    !word.is_empty()
        && word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_'))
        && stem.len() - word.len() <= DIGITS_MAX
        && suffixes.split('.').all(is_suffix)
}

#[cfg(test)]
mod tests {
    use super::{check, machine_path};
    use crate::tidy::TextFile;

    /// Puts a leading slash before a path, so that this file does not find itself.
    fn absolute(path: &str) -> String {
        format!("/{path}")
    }

    fn found(path: &str) -> bool {
        machine_path(&format!("see `{}` there", absolute(path))).is_some()
    }

    #[test]
    fn paths_of_the_build_machine_are_found() {
        for path in [
            "work/any/thing",
            "root/.cargo/registry/src/a",
            "tmp/.tmpAbc123/out",
            "tmp/tmp.x4Yz/out",
            "tmp/run_0042/out",
            "tmp/jobs.0/out",
            "tmp/job.20261130",
            "home/zdeveloper/src",
            "Users/zdeveloper/src",
        ] {
            assert!(found(path), "{path}");
        }
    }

    #[test]
    fn examples_and_relative_paths_pass() {
        for path in [
            "tmp/x",
            "tmp/",
            "tmp/.hidden",
            "tmp/my_report-two.tar.gz",
            "tmp/file1.mp4",
            "tmp/$NAME",
            "home/alice/.ssh/id_ed25519",
            "home/*/.ssh",
            "root/.ssh/id_rsa",
            "root/.cargo/credentials.toml",
            "srv/work/a",
        ] {
            assert!(!found(path), "{path}");
        }
        assert!(machine_path(&format!("src{}", absolute("work/a"))).is_none());
        assert!(machine_path(&format!("~{}", absolute("work/a"))).is_none());
        assert!(machine_path(&format!("https://example.com{}", absolute("work/a"))).is_none());
    }

    #[test]
    fn a_finding_says_where_and_which_path() {
        let text = format!("one\ntwo \"{}\"\n", absolute("work/a/b.rs"));
        let findings = check(&TextFile { path: "docs/a.md".into(), text });
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].line, findings[0].path.as_str()), (2, "docs/a.md"));
        assert!(findings[0].what.contains(&absolute("work/a/b.rs")));
    }
}
