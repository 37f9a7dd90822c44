//! Every crate takes the workspace's lints, and no `clippy.toml` silently drops the root's lines.
//!
//! A member without `[lints] workspace = true` is not linted at all, and a `clippy.toml` in a crate
//! replaces the root's one as a whole; both look fine and check nothing. So does a member that is no default
//! member: no plain `cargo test` runs it.

use super::{Finding, TextFile, Tree};
use crate::workspace::Workspace;

const CLIPPY_FILES: [&str; 2] = ["clippy.toml", ".clippy.toml"];

/// Members that no default build holds: the model runtime takes minutes to compile.
const APART: [&str; 1] = ["crates/ner"];

/// Findings in the manifests and lint settings of all members.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for krate in &workspace.crates {
        if let Some(manifest) = tree.file(&format!("{}/Cargo.toml", krate.folder)) {
            found.extend(lints(manifest));
        }
        for name in CLIPPY_FILES {
            if let Some(own) = tree.file(&format!("{}/{name}", krate.folder)) {
                found.extend(clippy(own, tree.file("clippy.toml")));
            }
        }
    }
    found.extend(default_members(workspace, tree.file("Cargo.toml")));
    found
}

/// Members that are missing in the root's `default-members`, which lists every other one.
fn default_members(workspace: &Workspace, root: Option<&TextFile>) -> Vec<Finding> {
    let Some(root) = root else { return Vec::new() };
    // Without a list every member is one.
    let Some((_, list)) = root.text.split_once("default-members = [") else { return Vec::new() };
    let list = list.split_once(']').map_or("", |(list, _)| list);
    let missing = workspace.crates.iter().filter(|krate| {
        !APART.contains(&krate.folder.as_str()) && !list.contains(&format!("\"{}\"", krate.folder))
    });
    let finding = |folder: &str| {
        Finding::new(
            &root.path,
            root.line_where(|line| line.starts_with("default-members")),
            format!("`{folder}` is no default member, so a plain `cargo test` leaves it out"),
            "add it to `default-members`",
        )
    };
    missing.map(|krate| finding(&krate.folder)).collect()
}

fn lints(manifest: &TextFile) -> Option<Finding> {
    let mut table = "";
    for line in manifest.text.lines().map(str::trim) {
        if line.starts_with('[') {
            table = line;
        }
        let (key, value) = line.split_once('=').unwrap_or_default();
        let value = value.split('#').next().unwrap_or_default().trim();
        let takes = match table {
            "[lints]" => key.trim() == "workspace",
            "" => key.trim() == "lints.workspace",
            _ => false,
        };
        if takes && value == "true" {
            return None;
        }
    }
    Some(Finding::new(
        &manifest.path,
        manifest.line_where(|line| line.trim() == "[lints]"),
        "the crate does not take the workspace's lints",
        "write `[lints]` and `workspace = true`",
    ))
}

/// Settings of the root's file that a crate's own file lacks.
fn clippy(own: &TextFile, root: Option<&TextFile>) -> Vec<Finding> {
    let settings = |file: &TextFile| -> Vec<String> {
        let lines = file.text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        lines.filter(|line| !line.is_empty()).map(str::to_string).collect()
    };
    let own_settings = settings(own);
    root.map(settings)
        .unwrap_or_default()
        .into_iter()
        .filter(|line| !own_settings.contains(line))
        .map(|line| {
            Finding::new(
                &own.path,
                1,
                format!("`{line}` of the root's clippy.toml is missing"),
                "repeat the line: a crate's own file replaces the root's as a whole",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{clippy, lints};
    use crate::tidy::TextFile;

    fn file(text: &str) -> TextFile {
        TextFile { path: "crates/a/x.toml".into(), text: text.into() }
    }

    #[test]
    fn a_crate_without_the_lints_of_the_workspace_is_found() {
        assert!(lints(&file("[package]\nname = 1\n[lints]\nworkspace = true # all\n")).is_none());
        assert!(lints(&file("lints.workspace = true\n")).is_none());
        assert!(lints(&file("[package]\nname = 1\n")).is_some());
        assert!(lints(&file("[package]\nworkspace = true\n")).is_some());
        assert_eq!(lints(&file("[package]\n[lints]\nworkspace = false\n")).unwrap().line, 2);
        assert!(lints(&file("[lints.rust]\nworkspace = true\n")).is_some());
    }

    #[test]
    fn a_clippy_file_that_drops_a_line_of_the_root_is_found() {
        let root = file("# why\na = 1\nb = true\n");
        assert!(clippy(&file("b = true # kept\nc = 2\na = 1\n"), Some(&root)).is_empty());
        let found = clippy(&file("a = 2\nb = true\n"), Some(&root));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "`a = 1` of the root's clippy.toml is missing");
        assert!(clippy(&file("a = 2\n"), None).is_empty());
    }
}
