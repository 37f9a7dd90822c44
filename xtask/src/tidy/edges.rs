//! The edge table: which crate may depend on which.
//!
//! The arrows of the design are the whole table; an edge that is not in it is a finding, so that a
//! room cannot see another by accident. A new edge is a change of the architecture and gets a commit
//! of its own. What a test may use beyond that stands in a second table. Cycles are cargo's
//! business, and dependencies on crates from outside are `deny.toml`'s.

use super::{Finding, Tree};
use crate::workspace::{Crate, Edge, EdgeKind, Workspace};

/// Allowed edges of `[dependencies]` and `[build-dependencies]`, by the last part of the folder.
/// A row may stand here before its crate exists.
const EDGES: &[(&str, &[&str])] = &[
    ("gate", &[]),
    ("detect", &[]),
    ("ner", &["detect"]),
    ("effects", &[]),
    ("policy", &["gate", "detect", "effects"]),
    ("store", &["gate"]),
    // Everything that sends records over a network stands here, so that the ledger's own room stays
    // with the disk.
    ("export", &["gate", "store"]),
    ("plugins", &["gate"]),
    ("hosts", &["gate"]),
    ("agent", &["gate"]),
    ("tollgate", &["gate", "detect", "ner", "effects", "policy", "store", "plugins"]),
    ("server", &["tollgate"]),
    ("cli", &["tollgate", "export", "hosts", "agent", "server"]),
    ("python", &["tollgate"]),
    // Generated files (schemas, the command line's reference) are made from the types themselves.
    ("xtask", &["gate", "policy", "hosts"]),
];

/// Edges that `[dev-dependencies]` may have beyond those above.
// The README's example builds an agent, and the facade runs it as its test.
const DEV_EDGES: &[(&str, &[&str])] = &[("tollgate", &["agent"])];

/// Edges that no table allows, and crates that no row knows.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for krate in &workspace.crates {
        let manifest = format!("{}/Cargo.toml", krate.folder);
        if allowed(EDGES, krate.short_name()).is_none() {
            found.push(Finding::new(
                &manifest,
                1,
                format!("the edge table has no row for `{}`", krate.short_name()),
                "add one to xtask/src/tidy/edges.rs, after the design says where it stands",
            ));
            continue;
        }
        for edge in krate.edges.iter().filter(|edge| !is_allowed(krate, edge)) {
            let line = tree.file(&manifest).map_or(1, |file| {
                file.line_where(|line| line.trim_start().starts_with(&edge.to_package))
            });
            found.push(edge_finding(&manifest, line, krate, edge));
        }
    }
    found
}

fn edge_finding(manifest: &str, line: usize, krate: &Crate, edge: &Edge) -> Finding {
    let table = match edge.kind {
        EdgeKind::Normal => "dependencies",
        EdgeKind::Build => "build-dependencies",
        EdgeKind::Dev => "dev-dependencies",
    };
    Finding::new(
        manifest,
        line,
        format!("[{table}] `{}` may not depend on `{}`", krate.short_name(), short(edge)),
        "go through a crate that it may see, or change the design and xtask/src/tidy/edges.rs",
    )
}

fn is_allowed(krate: &Crate, edge: &Edge) -> bool {
    let from = krate.short_name();
    let stands_in = |table| allowed(table, from).is_some_and(|to| to.contains(&short(edge)));
    match edge.kind {
        EdgeKind::Normal | EdgeKind::Build => stands_in(EDGES),
        EdgeKind::Dev => stands_in(EDGES) || stands_in(DEV_EDGES),
    }
}

fn allowed(
    table: &'static [(&'static str, &'static [&'static str])],
    from: &str,
) -> Option<&'static [&'static str]> {
    table.iter().find(|(name, _)| *name == from).map(|(_, to)| *to)
}

fn short(edge: &Edge) -> &str {
    edge.to_folder.rsplit('/').next().unwrap_or(&edge.to_folder)
}

#[cfg(test)]
mod tests {
    use super::{DEV_EDGES, EDGES, check};
    use crate::tidy::{TextFile, Tree};
    use crate::workspace::Workspace;

    /// The answer of `cargo metadata` for two crates, the first depending on the second.
    fn workspace(from: &str, to: &str, kind: &str) -> Workspace {
        let text = format!(
            r#"{{"workspace_root": "/r", "packages": [
              {{"name": "tollgate-{from}", "manifest_path": "/r/crates/{from}/Cargo.toml", "targets": [],
                "dependencies": [
                  {{"name": "serde", "kind": null, "path": null}},
                  {{"name": "tollgate-{to}", "kind": {kind}, "path": "/r/crates/{to}"}}]}},
              {{"name": "tollgate-{to}", "manifest_path": "/r/crates/{to}/Cargo.toml", "targets": [],
                "dependencies": []}}]}}"#
        );
        Workspace::from_metadata(&text).unwrap()
    }

    fn whats(from: &str, to: &str, kind: &str) -> Vec<String> {
        let manifest = TextFile {
            path: format!("crates/{from}/Cargo.toml"),
            text: format!("[dependencies]\nserde = \"1\"\ntollgate-{to} = 1\n"),
        };
        let tree = Tree { files: vec![manifest] };
        let found = check(&workspace(from, to, kind), &tree);
        found.into_iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.what)).collect()
    }

    #[test]
    fn an_edge_of_the_table_passes_and_any_other_is_found() {
        assert!(whats("policy", "gate", "null").is_empty());
        assert_eq!(
            whats("gate", "policy", "null"),
            ["crates/gate/Cargo.toml:3: [dependencies] `gate` may not depend on `policy`"]
        );
        assert_eq!(
            whats("store", "detect", r#""build""#),
            ["crates/store/Cargo.toml:3: [build-dependencies] `store` may not depend on `detect`"]
        );
    }

    #[test]
    fn a_dev_edge_needs_a_table_too() {
        assert!(whats("agent", "gate", r#""dev""#).is_empty());
        assert_eq!(
            whats("gate", "store", r#""dev""#),
            ["crates/gate/Cargo.toml:3: [dev-dependencies] `gate` may not depend on `store`"]
        );
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(
            whats("cellar", "gate", "null"),
            ["crates/cellar/Cargo.toml:1: the edge table has no row for `cellar`"]
        );
    }

    #[test]
    fn the_tables_name_only_crates_that_have_a_row_and_point_downwards() {
        for (from, to) in EDGES.iter().chain(DEV_EDGES) {
            for name in *to {
                assert!(EDGES.iter().any(|(row, _)| row == name), "`{from}` to `{name}`");
            }
        }
    }
}
