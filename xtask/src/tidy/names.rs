//! No file, folder or module with a name that says nothing.
//!
//! What is called after everything collects everything; a thing is named by its noun and stands
//! with its user.

use super::source::Source;
use super::{Finding, TextFile};

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["common", "helper", "helpers", "misc", "util", "utils"];

const REMEDY: &str = "name it by the thing it is about, and put it with what uses it";

/// Findings in the path and, for Rust, in the modules that a file declares.
pub(super) fn check(file: &TextFile) -> Vec<Finding> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let mut found: Vec<Finding> = file
        .path
        .split('/')
        .filter(|part| says_nothing(part.strip_suffix(".rs").unwrap_or(part)))
        .map(|part| Finding::new(&file.path, 1, format!("`{part}` says nothing"), REMEDY))
        .collect();
    // A file that cannot be read is a finding of another rule.
    let modules = Source::read(&file.text, false).map(|source| source.modules).unwrap_or_default();
    for (name, line) in modules {
        if says_nothing(&name) {
            found.push(Finding::new(
                &file.path,
                line,
                format!("module `{name}` says nothing"),
                REMEDY,
            ));
        }
    }
    found
}

fn says_nothing(name: &str) -> bool {
    EMPTY_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::{EMPTY_NAMES, check};
    use crate::tidy::TextFile;

    fn count(path: &str, text: &str) -> usize {
        check(&TextFile { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn empty_names_are_found_in_files_folders_and_modules() {
        for name in EMPTY_NAMES {
            assert_eq!(count(&format!("crates/a/src/{name}.rs"), ""), 1, "{name}");
            assert_eq!(count(&format!("crates/a/tests/it/{name}/mod.rs"), ""), 1, "{name}");
            assert_eq!(count("a.rs", &format!("mod {name} {{}}")), 1, "{name}");
            assert_eq!(count("a.rs", &format!("#[cfg(test)] mod {name};")), 1, "{name}");
        }
    }

    #[test]
    fn names_that_only_contain_an_empty_one_pass() {
        assert_eq!(count("crates/a/src/commonmark.rs", "mod utilisation;"), 0);
        assert_eq!(count("docs/common.md", ""), 0);
    }
}
