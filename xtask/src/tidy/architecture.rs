//! ARCHITECTURE.md names every crate and stays short.
//!
//! A map that lacks a room is worse than none, and a long one is not read. A crate is named by its
//! folder (`crates/gate`), since the words alone (`policy`, `store`) stand in any prose. What the
//! page says about a crate is for people to judge.

use super::{Finding, Tree};
use crate::workspace::Workspace;

const PAGE: &str = "ARCHITECTURE.md";

/// The page has fewer lines than this.
const PAGE_LINES_BELOW: usize = 250;

/// Findings in the page.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else {
        return vec![Finding::new(PAGE, 1, "the page does not exist", "write it")];
    };
    let mut found = Vec::new();
    let lines = page.text.lines().count();
    if lines >= PAGE_LINES_BELOW {
        found.push(Finding::new(
            PAGE,
            lines,
            format!("{lines} lines, not under {PAGE_LINES_BELOW}"),
            "move detail to the `//!` of the crate or file that it is about",
        ));
    }
    for krate in workspace.crates.iter().filter(|krate| !names(&page.text, &krate.folder)) {
        found.push(Finding::new(
            PAGE,
            1,
            format!("crate `{}` is not named", krate.folder),
            format!("say in a line what `{}` is", krate.folder),
        ));
    }
    found
}

/// True if the folder stands in the text as a whole word.
fn names(text: &str, folder: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(folder).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + folder.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::{check, names};
    use crate::tidy::{TextFile, Tree};
    use crate::workspace::Workspace;

    fn whats(page: Option<String>) -> Vec<String> {
        let metadata = r#"{"workspace_root": "/r", "packages": [
            {"name": "tollgate-gate", "manifest_path": "/r/crates/gate/Cargo.toml",
             "targets": [], "dependencies": []}]}"#;
        let workspace = Workspace::from_metadata(metadata).unwrap();
        let page = page.map(|text| TextFile { path: "ARCHITECTURE.md".into(), text });
        let tree = Tree { files: page.into_iter().collect() };
        check(&workspace, &tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_crate_that_the_page_does_not_name_is_found() {
        assert!(whats(Some("- `crates/gate`: the law\n".into())).is_empty());
        assert_eq!(whats(Some("the gate\n".into())), ["crate `crates/gate` is not named"]);
        assert_eq!(whats(None), ["the page does not exist"]);
    }

    #[test]
    fn a_page_that_is_not_under_250_lines_is_found() {
        let page = |lines: usize| Some(format!("crates/gate\n{}", "x\n".repeat(lines - 1)));
        assert!(whats(page(249)).is_empty());
        assert_eq!(whats(page(250)), ["250 lines, not under 250"]);
    }

    #[test]
    fn a_folder_is_named_as_a_whole_word_only() {
        assert!(names("see crates/gate/src/lib.rs", "crates/gate"));
        assert!(!names("see crates/gateway", "crates/gate"));
        assert!(!names("see crates/gate-house", "crates/gate"));
    }
}
