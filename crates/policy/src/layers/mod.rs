//! Whose policy: managed, user and project layers, and what each may do (section 4 of the design).
//!
//! Layers add up. A project's file may only tighten, and one that was found by itself counts only
//! after a person has trusted exactly these bytes. What an included file may do is what the including
//! file grants.

mod files;
mod include;
mod tighten;
mod trust;

pub use files::FileError;
pub use trust::{Trust, TrustEntry, TrustError, TrustStore};

pub(crate) use include::{Expanded, Opened, expand};
pub(crate) use tighten::check;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Whose policy a layer is, from the one that cannot be loosened to the one that cannot loosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// Of the machine: owned by its administrator.
    Managed,
    /// Of the user.
    User,
    /// Of the project: it may only tighten.
    Project,
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LayerKind::Managed => "managed",
            LayerKind::User => "user",
            LayerKind::Project => "project",
        })
    }
}

/// How a layer's file came to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person or a setup named it.
    Named,
    /// It was found where a project's file is looked for; it needs trust.
    Found,
}

/// A layer of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Whose it is.
    pub kind: LayerKind,
    /// How it came to be looked at.
    pub origin: Origin,
    /// Its file.
    pub path: PathBuf,
}

impl Layer {
    /// A file that somebody named.
    pub fn named(kind: LayerKind, path: impl Into<PathBuf>) -> Layer {
        Layer { kind, origin: Origin::Named, path: path.into() }
    }

    /// A project's file that was found.
    pub fn found(path: impl Into<PathBuf>) -> Layer {
        Layer { kind: LayerKind::Project, origin: Origin::Found, path: path.into() }
    }
}

/// Where a project's policy is looked for: directly in the project's root, nowhere else.
pub const PROJECT_FILES: [&str; 2] = ["tollgate.yaml", "tollgate.yml"];

/// The policy of the project with this root, if it has one. The root is fixed when a session starts;
/// a file in a folder below it, or in a call's working directory, is never looked for.
pub fn project_layer(root: &Path) -> Option<Layer> {
    let mut files = PROJECT_FILES.iter().map(|name| root.join(name));
    files.find(|path| path.symlink_metadata().is_ok()).map(Layer::found)
}

/// What became of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerStatus {
    /// Whose it is.
    pub kind: LayerKind,
    /// How it came to be looked at.
    pub origin: Origin,
    /// Its file.
    pub path: PathBuf,
    /// The digest of its bytes and of all files that it includes: `sha256:` and 64 hex digits.
    pub digest: String,
    /// Whether it counts.
    pub state: LayerState,
    /// Files that it includes.
    pub includes: Vec<PathBuf>,
}

/// Whether a layer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerState {
    /// It is in force.
    InForce,
    /// Nobody has trusted it; it is ignored.
    Untrusted,
    /// It changed since it was trusted; it is ignored.
    Changed,
    /// It is a link or no regular file; it is ignored.
    NoFile,
    /// It cannot be read as a policy; it is ignored, for nobody has trusted it.
    Broken,
}
