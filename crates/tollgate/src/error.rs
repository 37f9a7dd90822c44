//! Why Tollgate does not open or load its policy again.

use crate::places::{PlacesError, PlacesLoadError};
use crate::switches::SwitchesError;
use std::path::PathBuf;
use tollgate_gate::{HookError, SwitchError};
use tollgate_policy::layers::TrustError;
use tollgate_policy::{LayerKind, LayerState, LoadFailure};
use tollgate_store::StoreError;

/// Why Tollgate does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Neither a policy nor a hook was given.
    #[error("no policy: name a policy file, or register hooks in code")]
    NoPolicy,
    /// The policy does not load; the text names every problem with its place and its remedy.
    #[error("{0}")]
    Policy(#[from] LoadFailure),
    /// A policy's place cannot be used.
    #[error("{0}; {remedy}", remedy = .0.remedy())]
    Places(#[from] PlacesError),
    /// It is not known what is trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A hook registered in code cannot work.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a reload did not happen. The policy that was in force stays in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The policy does not load.
    #[error("{0}")]
    Policy(#[from] LoadFailure),
    /// A policy's place cannot be used.
    #[error("{0}; {remedy}", remedy = .0.remedy())]
    Places(#[from] PlacesError),
    /// It is not known what is trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A policy that was in force is gone, or no longer trusted. A gate that runs is not loosened by
    /// that: whoever means it opens a new one.
    #[error("the {kind} policy `{path}`, which is in force, {}", missing(*.state))]
    Missing {
        /// Whose policy.
        kind: LayerKind,
        /// The file.
        path: PathBuf,
        /// What became of it; `None`: it is not there.
        state: Option<LayerState>,
    },
    /// The hooks do not go together with those that were registered in code.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The load could not be recorded.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// The switches cannot be read. Nothing is switched then.
    #[error(transparent)]
    Switches(#[from] SwitchesError),
}

fn missing(state: Option<LayerState>) -> &'static str {
    match state {
        None | Some(LayerState::NoFile) => "is no longer there",
        Some(LayerState::Changed) => "changed since it was trusted",
        Some(LayerState::Untrusted) => "is no longer trusted",
        Some(LayerState::Broken) => "is no policy any more",
        Some(LayerState::InForce) => "was exchanged",
    }
}

impl From<PlacesLoadError> for OpenError {
    fn from(error: PlacesLoadError) -> OpenError {
        match error {
            PlacesLoadError::Places(error) => error.into(),
            PlacesLoadError::Trust(error) => error.into(),
            PlacesLoadError::Policy(error) => error.into(),
        }
    }
}

impl From<PlacesLoadError> for ReloadError {
    fn from(error: PlacesLoadError) -> ReloadError {
        match error {
            PlacesLoadError::Places(error) => error.into(),
            PlacesLoadError::Trust(error) => error.into(),
            PlacesLoadError::Policy(error) => error.into(),
        }
    }
}
