//! Snapshots: a compiled policy in one file, for processes that live for one call.
//!
//! A snapshot is believed only when it is private (`private.rs`), carries the seal of this state
//! folder's key (`seal.rs`), was written by this very version for these very layers, and everything it
//! was made from is unchanged: the bytes of every file, the declared variables, and what is trusted.
//! Otherwise it is as if there were none, and the files are read. Nothing secret is in it: secret
//! variables stay `${NAME}`.

mod seal;

use crate::compile::plan::Plan;
use crate::layers::{Layer, LayerState, LayerStatus, Origin, Trust};
use crate::limits::SNAPSHOT_BYTES_MAX;
use crate::load::{Inputs, LoadFailure, LoadOptions, Loaded, PLAN_VERSION, in_order, load};
use crate::private::{self, PrivateError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tollgate_gate::Name;

/// The folder of snapshots, in the state directory.
const FOLDER: &str = "snapshots";

/// Whether a policy came from a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing had to be compiled.
    FromSnapshot,
    /// The files were read and compiled.
    Compiled,
    /// The files do not load; what they were when they last did is in force.
    LastGood,
}

/// Why a snapshot was not used. None of these keeps a policy from loading.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file is not private, or cannot be read or written.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// Its seal is not that of this state folder's key.
    #[error(
        "the snapshot `{0}` was not sealed with the key of its state folder: the policy's files are read instead"
    )]
    NotSealed(PathBuf),
    /// It is not what this version writes.
    #[error("the snapshot cannot be read: {0}")]
    Malformed(String),
}

/// Everything that a policy was made from, and the policy.
#[derive(Serialize, Deserialize)]
struct Written {
    version: String,
    digest: String,
    layers: Vec<WrittenLayer>,
    files: Vec<(PathBuf, [u8; 32])>,
    /// Declared variables that are no secrets, with the SHA-256 of their value where they are set.
    env: Vec<(String, Option<[u8; 32]>)>,
    plan: Plan,
}

#[derive(Serialize, Deserialize)]
struct WrittenLayer {
    kind: crate::layers::LayerKind,
    found: bool,
    path: PathBuf,
    digest: String,
    state: u8,
    includes: Vec<PathBuf>,
}

/// Loads layers, from a snapshot in the state directory if there is one that still holds. What was
/// compiled anew is written there for the next time.
///
/// The second part says where the policy came from, the third why a snapshot that is there was not
/// used or why none could be written.
///
/// # Errors
/// [`LoadFailure`] as [`load`].
pub fn load_with_snapshot(
    layers: &[Layer],
    options: &LoadOptions<'_>,
    state_dir: &Path,
) -> Result<(Loaded, Freshness, Option<SnapshotError>), LoadFailure> {
    let path = path_of(layers, state_dir);
    let trouble = match read(&path, layers, options) {
        Ok(Some(loaded)) => return Ok((loaded, Freshness::FromSnapshot, None)),
        Ok(None) => None,
        Err(error) => Some(error),
    };
    let loaded = load(layers, options)?;
    let written = write(&path, &loaded).err();
    Ok((loaded, Freshness::Compiled, trouble.or(written)))
}

/// The policy that these layers were when they last loaded; `None` when that is not known. It is for
/// processes that live for one call, where nothing else remembers the policy in force while its file is
/// being edited.
pub fn last_good(layers: &[Layer], options: &LoadOptions<'_>, state_dir: &Path) -> Option<Loaded> {
    let written = written_at(&path_of(layers, state_dir)).ok().flatten()?;
    if !are_layers_of(&written, layers) {
        return None;
    }
    loaded_of(written, options).ok()
}

/// Where the snapshot of these layers lies.
fn path_of(layers: &[Layer], state_dir: &Path) -> PathBuf {
    let mut hasher = Sha256::new();
    for layer in layers {
        let path = layer.path.as_os_str().as_encoded_bytes();
        hasher.update([layer.kind as u8, u8::from(layer.origin == Origin::Found)]);
        hasher.update(u64::try_from(path.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(path);
    }
    let mut name = String::new();
    for byte in hasher.finalize().iter().take(16) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    state_dir.join(FOLDER).join(name)
}

fn write(path: &Path, loaded: &Loaded) -> Result<(), SnapshotError> {
    let written = Written {
        version: PLAN_VERSION.to_owned(),
        digest: loaded.digest.to_string(),
        layers: loaded.layers.iter().map(written_layer).collect(),
        files: loaded.inputs.files.clone(),
        env: loaded.inputs.env.iter().map(|(name, v)| (name.clone(), text_digest(v))).collect(),
        plan: loaded.plan.clone(),
    };
    let bytes = postcard::to_stdvec(&written)
        .map_err(|error| SnapshotError::Malformed(error.to_string()))?;
    let bytes = seal::sealed(path, bytes)?;
    if bytes.len() > SNAPSHOT_BYTES_MAX {
        let (path, max) = (path.to_owned(), SNAPSHOT_BYTES_MAX);
        return Err(PrivateError::TooLarge { path, max }.into());
    }
    Ok(private::write(path, &bytes)?)
}

/// The policy of a snapshot; `None` when there is none or it no longer holds.
fn read(
    path: &Path,
    layers: &[Layer],
    options: &LoadOptions<'_>,
) -> Result<Option<Loaded>, SnapshotError> {
    match written_at(path)? {
        Some(written) if holds(&written, layers, options) => loaded_of(written, options).map(Some),
        Some(_) | None => Ok(None),
    }
}

/// What this version has written; `None` for what another has.
fn written_at(path: &Path) -> Result<Option<Written>, SnapshotError> {
    let Some(bytes) = private::read(path, SNAPSHOT_BYTES_MAX)? else { return Ok(None) };
    // Nothing of it is looked at before it is known who wrote it.
    let Some(bytes) = seal::opened(path, &bytes)? else {
        return Err(SnapshotError::NotSealed(path.to_owned()));
    };
    // The version comes first, so that another version's form is not even looked at.
    let (version, _) =
        postcard::take_from_bytes::<String>(bytes).map_err(|error| malformed(&error))?;
    if version != PLAN_VERSION {
        return Ok(None);
    }
    postcard::from_bytes(bytes).map(Some).map_err(|error| malformed(&error))
}

fn loaded_of(written: Written, options: &LoadOptions<'_>) -> Result<Loaded, SnapshotError> {
    let statuses = written.layers.iter().map(status).collect();
    let inputs = Inputs { files: written.files, env: Vec::new() };
    let digest: Name = written.digest.into();
    let loaded = Loaded::of_plan(written.plan, statuses, digest, inputs, options);
    loaded.map_err(|error| malformed(&error))
}

fn malformed(error: &dyn std::fmt::Display) -> SnapshotError {
    SnapshotError::Malformed(error.to_string())
}

/// Whether a snapshot is one of these layers.
fn are_layers_of(written: &Written, layers: &[Layer]) -> bool {
    layers.len() == written.layers.len()
        && in_order(layers).into_iter().zip(&written.layers).all(|(asked, written)| {
            asked.kind == written.kind
                && (asked.origin == Origin::Found) == written.found
                && asked.path == written.path
        })
}

/// Whether nothing has changed that the policy was made from.
fn holds(written: &Written, layers: &[Layer], options: &LoadOptions<'_>) -> bool {
    are_layers_of(written, layers)
        && written.layers.iter().all(|layer| state_holds(layer, options))
        && written.env.iter().all(|(name, digest)| text_digest(&(options.env)(name)) == *digest)
        && written.files.iter().all(|(path, digest)| {
            // A file that became a link or a device is not read through.
            fs::metadata(path).is_ok_and(|found| found.is_file())
                && fs::read(path).is_ok_and(|bytes| sha256(without_mark(&bytes)) == *digest)
        })
}

/// Whether a found file is as trusted as it was.
fn state_holds(written: &WrittenLayer, options: &LoadOptions<'_>) -> bool {
    if !written.found {
        return written.state == state_number(LayerState::InForce);
    }
    if written.state == state_number(LayerState::NoFile) {
        return !fs::symlink_metadata(&written.path).is_ok_and(|found| found.is_file());
    }
    let is_file = fs::symlink_metadata(&written.path).is_ok_and(|found| found.is_file());
    let trust = options.trust.map_or(Trust::Unknown, |t| t.look(&written.path, &written.digest));
    is_file && (trust == Trust::Trusted) == (written.state == state_number(LayerState::InForce))
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(bytes)
}

fn text_digest(value: &Option<String>) -> Option<[u8; 32]> {
    value.as_ref().map(|value| sha256(value.as_bytes()))
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

const STATES: [LayerState; 5] = [
    LayerState::InForce,
    LayerState::Untrusted,
    LayerState::Changed,
    LayerState::NoFile,
    LayerState::Broken,
];

fn state_number(state: LayerState) -> u8 {
    STATES.iter().zip(0..).find(|(known, _)| **known == state).map_or(u8::MAX, |(_, at)| at)
}

fn written_layer(status: &LayerStatus) -> WrittenLayer {
    WrittenLayer {
        kind: status.kind,
        found: status.origin == Origin::Found,
        path: status.path.clone(),
        digest: status.digest.clone(),
        state: state_number(status.state),
        includes: status.includes.clone(),
    }
}

fn status(written: &WrittenLayer) -> LayerStatus {
    let state = STATES.get(usize::from(written.state)).copied();
    LayerStatus {
        kind: written.kind,
        origin: if written.found { Origin::Found } else { Origin::Named },
        path: written.path.clone(),
        digest: written.digest.clone(),
        state: state.unwrap_or(LayerState::Broken),
        includes: written.includes.clone(),
    }
}
