//! The workspace as cargo describes it, cut down to what the checks need.
//!
//! Cargo itself is asked (`cargo metadata --no-deps`), so that renamed, optional and target-only
//! dependencies are read as cargo reads them. Nothing outside the workspace is looked at, and the
//! network is not needed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::outcome::Error;

/// The workspace: its root and its crates.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// The members, ordered by folder.
    pub(crate) crates: Vec<Crate>,
}

/// One member of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Crate {
    /// The package name, such as `tollgate-gate`.
    pub(crate) package: String,
    /// The folder below the root with forward slashes, such as `crates/gate`.
    pub(crate) folder: String,
    /// Dependencies on other members.
    pub(crate) edges: Vec<Edge>,
    /// Names of the bench targets.
    pub(crate) benches: Vec<String>,
}

impl Crate {
    /// The last part of the folder: the name that the edge table uses.
    pub(crate) fn short_name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or(&self.folder)
    }
}

/// A dependency of one member on another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The package depended on.
    pub(crate) to_package: String,
    /// Its folder below the root.
    pub(crate) to_folder: String,
    /// In which table of the manifest it stands.
    pub(crate) kind: EdgeKind,
}

/// The dependency tables of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    /// `[dependencies]`
    Normal,
    /// `[build-dependencies]`
    Build,
    /// `[dev-dependencies]`
    Dev,
}

/// The cargo that started this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Workspace {
    /// Asks cargo about the workspace of the current folder.
    pub(crate) fn load() -> Result<Workspace, Error> {
        let output = cargo()
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| Error::Start { program: "cargo metadata".into(), source })?;
        if !output.status.success() {
            return Err(Error::Metadata(format!("it ended with {}", output.status)));
        }
        let text = std::str::from_utf8(&output.stdout)
            .map_err(|_| Error::Metadata("it is not UTF-8".into()))?;
        Workspace::from_metadata(text)
    }

    /// Reads what `cargo metadata --format-version 1 --no-deps` prints.
    pub(crate) fn from_metadata(text: &str) -> Result<Workspace, Error> {
        let metadata: Metadata =
            serde_json::from_str(text).map_err(|error| Error::Metadata(error.to_string()))?;
        let root = metadata.workspace_root;
        let folders: Vec<(String, String)> = metadata
            .packages
            .iter()
            .map(|package| (package.name.clone(), folder_below(&root, &package.manifest_path)))
            .collect();
        let mut crates: Vec<Crate> =
            metadata.packages.into_iter().map(|package| to_crate(package, &folders)).collect();
        crates.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(Workspace { root, crates })
    }
}

fn to_crate(package: Package, folders: &[(String, String)]) -> Crate {
    let folder_of = |name: &str| {
        folders.iter().find(|(package, _)| package == name).map(|(_, folder)| folder.clone())
    };
    let edges = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.path.is_some())
        .filter_map(|dependency| {
            Some(Edge {
                to_package: dependency.name.clone(),
                to_folder: folder_of(&dependency.name)?,
                kind: match dependency.kind.as_deref() {
                    Some("dev") => EdgeKind::Dev,
                    Some("build") => EdgeKind::Build,
                    Some(_) | None => EdgeKind::Normal,
                },
            })
        })
        .collect();
    let benches = package
        .targets
        .into_iter()
        .filter(|target| target.kind.iter().any(|kind| kind == "bench"))
        .map(|target| target.name)
        .collect();
    let folder = folder_of(&package.name).unwrap_or_default();
    Crate { package: package.name, folder, edges, benches }
}

/// The folder of a manifest, relative to the root, with forward slashes.
fn folder_below(root: &Path, manifest: &Path) -> String {
    let folder = manifest.parent().unwrap_or(manifest);
    let below = folder.strip_prefix(root).unwrap_or(folder);
    below.to_string_lossy().replace('\\', "/")
}

/// The parts of cargo's answer that are used; fields as documented in `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}
