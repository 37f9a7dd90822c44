//! Files that are written from the code, and the check that they still say what the code says.
//!
//! A page or schema kept by hand beside the types drifts; these are compared byte by byte, in CI
//! and by `cargo test`. One row is one file. Only files below `schema/` and `docs/` are written.

use std::fs;
use std::path::Path;

use crate::hosts_page;
use crate::menu::{self, Command};
use crate::outcome::{Answer, Error};
use crate::workspace::Workspace;
use tollgate_gate::schema;
use tollgate_policy::policy_schema;

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "gen",
    arguments: "[--check]",
    about: "Write the generated files in schema/ and docs/",
    details: "\
Writes every file of the table in xtask/src/generate.rs whose text differs from what the code
says, and names it. With `--check` nothing is written: each stale file is named with the first
line that differs, and the answer is no if there is one. `cargo test` runs the same check.
",
    run,
};

/// One generated file.
struct Generated {
    /// Where it is written, below the root with forward slashes.
    path: &'static str,
    /// Makes its text, always the same for the same code.
    text: fn() -> String,
}

/// Every generated file: the place to add one.
const GENERATED: &[Generated] = &[
    Generated { path: "docs/xtask.md", text: menu::reference_page },
    Generated { path: "docs/hosts.md", text: hosts_page::page },
    Generated { path: "schema/event.v1.json", text: || schema_text(&schema::event()) },
    Generated { path: "schema/decision.v1.json", text: || schema_text(&schema::decision()) },
    Generated { path: "schema/record.v1.json", text: || schema_text(&schema::record()) },
    Generated { path: "schema/policy.v1.json", text: || format!("{:#}\n", policy_schema()) },
];

fn schema_text(schema: &schemars::Schema) -> String {
    format!("{:#}\n", schema.as_value())
}

/// What was found at the place of a generated file.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// It says what the code says.
    Fresh,
    /// There is no such file.
    Missing,
    /// It says something else, first in this line (counted from 1).
    Stale { line: usize, found: String, wanted: String },
}

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let only_check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        [other, ..] => return Err(Error::unexpected(other)),
    };
    let workspace = Workspace::load()?;
    generate(&workspace.root, GENERATED, only_check)
}

/// Compares every file and, unless only checking, writes those that differ.
fn generate(root: &Path, files: &[Generated], only_check: bool) -> Result<Answer, Error> {
    let mut stale_count = 0_usize;
    for file in files {
        let path = root.join(file.path);
        let text = (file.text)();
        let state = compare(&path, &text)?;
        if state == State::Fresh {
            continue;
        }
        stale_count += 1;
        if only_check {
            println!("{}", describe(file.path, &state));
        } else {
            write(&path, &text)?;
            println!("wrote {}", file.path);
        }
    }
    println!("{} generated files, {stale_count} stale", files.len());
    Ok(if only_check && stale_count > 0 { Answer::No } else { Answer::Done })
}

fn compare(path: &Path, wanted: &str) -> Result<State, Error> {
    let found = match fs::read_to_string(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::Missing),
        Err(source) => return Err(Error::File { verb: "read", path: path.into(), source }),
    };
    if found == wanted {
        return Ok(State::Fresh);
    }
    let same = found.split('\n').zip(wanted.split('\n')).take_while(|(f, w)| f == w).count();
    let line_of = |text: &str| text.split('\n').nth(same).unwrap_or("(end of file)").to_string();
    Ok(State::Stale { line: same + 1, found: line_of(&found), wanted: line_of(wanted) })
}

fn describe(path: &str, state: &State) -> String {
    const REMEDY: &str = "    remedy: run `cargo xtask gen` and commit the result";
    match state {
        State::Fresh => format!("{path}: up to date"),
        State::Missing => format!("{path}:1: the generated file does not exist\n{REMEDY}"),
        State::Stale { line, found, wanted } => format!(
            "{path}:{line}: differs from what the code says\n    found:  {found}\n    \
             wanted: {wanted}\n{REMEDY}"
        ),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |source| Error::File { verb: "write", path: path.into(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Generated, State, compare, describe, generate};
    use crate::outcome::Answer;

    const FILES: &[Generated] = &[Generated { path: "docs/a.md", text: || "one\ntwo\n".into() }];

    #[test]
    fn a_missing_file_is_stale_until_it_is_written() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(generate(root.path(), FILES, true).unwrap(), Answer::No);
        assert!(!root.path().join("docs/a.md").exists(), "a check writes nothing");
        assert_eq!(generate(root.path(), FILES, false).unwrap(), Answer::Done);
        assert_eq!(fs::read_to_string(root.path().join("docs/a.md")).unwrap(), "one\ntwo\n");
        assert_eq!(generate(root.path(), FILES, true).unwrap(), Answer::Done);
    }

    #[test]
    fn a_changed_file_is_stale_and_the_check_names_the_line() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.md");
        fs::write(&path, "one\n2\n").unwrap();
        let state = compare(&path, "one\ntwo\n").unwrap();
        assert_eq!(state, State::Stale { line: 2, found: "2".into(), wanted: "two".into() });
        assert!(describe("a.md", &state).starts_with("a.md:2: differs"));
    }

    #[test]
    fn a_missing_line_feed_at_the_end_is_a_difference() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.md");
        fs::write(&path, "one").unwrap();
        let wanted = State::Stale { line: 2, found: "(end of file)".into(), wanted: String::new() };
        assert_eq!(compare(&path, "one\n").unwrap(), wanted);
    }
}
