//! The house rules that no compiler and no lint checks, as one check over the whole tree.
//!
//! They stand here because a rule kept by memory is broken in the second week. Each rule is one
//! file in `tidy/` with its own tests, each shown to fail on a bad sample; adding one means adding
//! the file and one line in [`findings`]. Tidy reads; it repairs nothing.

use std::fmt;

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::Workspace;

mod architecture;
mod code;
mod edges;
mod machine;
mod manifests;
mod names;
mod source;
mod tree;

use tree::{TextFile, Tree};

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "tidy",
    arguments: "",
    about: "Check the house rules: crate edges, file heads, lengths, names",
    details: "\
Reads the manifests and every file that git tracks or would track, and prints each finding as
`file:line: what` with its remedy. The rules:

- dependencies between the crates follow the edge table (xtask/src/tidy/edges.rs), dev-dependencies
  a table of their own;
- every .rs file opens with `//!`;
- no file has over 600 lines of code, no function over 70; tests, comments and blank lines do not
  count;
- no file, folder or module is called utils, common, helpers, misc or the like;
- no glob imports, but for the variants of an enum inside tests;
- ARCHITECTURE.md names every crate and has under 250 lines;
- every crate takes the lints of the workspace, and a clippy.toml of its own repeats the root's
  lines, for it replaces them;
- no path of the machine that the work was done on stands in any file.

The answer is no if there is a finding.
",
    run,
};

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// The file below the root.
    path: String,
    /// The line, counted from 1.
    line: usize,
    /// What is wrong.
    what: String,
    /// What to do about it.
    remedy: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { path: path.into(), line, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { path, line, what, remedy } = self;
        write!(f, "{path}:{line}: {what}\n    remedy: {remedy}")
    }
}

fn run(arguments: &[String]) -> Result<Answer, Error> {
    if let Some(other) = arguments.first() {
        return Err(Error::unexpected(other));
    }
    report(&Workspace::load()?)
}

/// Checks the tree and prints what was found.
pub(crate) fn report(workspace: &Workspace) -> Result<Answer, Error> {
    let tree = Tree::read(&workspace.root)?;
    let found = findings(workspace, &tree);
    for finding in &found {
        println!("{finding}");
    }
    println!("{}", code::summary(&tree));
    println!("tidy: {} files read, {} findings", tree.files.len(), found.len());
    Ok(if found.is_empty() { Answer::Done } else { Answer::No })
}

/// Every finding of every rule, ordered by place.
fn findings(workspace: &Workspace, tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(edges::check(workspace, tree));
    found.extend(manifests::check(workspace, tree));
    found.extend(architecture::check(workspace, tree));
    for file in &tree.files {
        found.extend(names::check(file));
        found.extend(code::check(file));
        found.extend(machine::check(file));
    }
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
}

#[cfg(test)]
mod tests {
    use super::Finding;

    #[test]
    fn a_finding_names_place_fault_and_remedy() {
        let finding = Finding::new("a/b.rs", 7, "it is wrong", "make it right");
        assert_eq!(finding.to_string(), "a/b.rs:7: it is wrong\n    remedy: make it right");
    }
}
