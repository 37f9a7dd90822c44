//! What is kept on disk beside the ledger: sessions, limits, approvals.

use crate::approver::DiskApprover;
use crate::places::{Places, PlacesError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate_gate::{Approver, Clock, GateBuilder, Scrub};
use tollgate_policy::PolicySettings;
use tollgate_store::{DiskState, HostProcess};

/// How it is kept.
#[derive(Default)]
pub(crate) struct Keeping {
    /// The folder, where one was named.
    pub(crate) folder: Option<PathBuf>,
    /// The agent program that this process is a hook of.
    pub(crate) host: Option<HostProcess>,
    /// Longest time that a call waits for an answer, in milliseconds.
    pub(crate) wait_ms_max: Option<u64>,
}

impl Keeping {
    /// Where sessions are kept on disk: where the program says, or the policy, or in the state folder.
    /// `None` for a program that keeps them itself, and for memory.
    pub(crate) fn folder_for(
        &self,
        places: Option<&Places>,
        settings: &PolicySettings,
        has_own: bool,
    ) -> Result<Option<PathBuf>, PlacesError> {
        if has_own || self.folder.is_some() {
            return Ok(self.folder.clone());
        }
        let store = settings.session_store.as_deref();
        match (store.map(|store| store.strip_prefix("file:").unwrap_or(store)), places) {
            (Some("memory"), _) => Ok(None),
            (None | Some("default"), places) => places.map(Places::state).transpose(),
            (Some(folder), _) if Path::new(folder).is_absolute() => Ok(Some(folder.into())),
            (Some(folder), places) => {
                Ok(places.map(Places::state).transpose()?.map(|state| state.join(folder)))
            }
        }
    }

    /// Gives the gate its state in this folder, and what asks people by way of it.
    pub(crate) fn open(
        &self,
        builder: GateBuilder,
        folder: Option<&Path>,
        clock: &Arc<dyn Clock>,
        scrub: &Arc<dyn Scrub>,
        settings: &PolicySettings,
    ) -> (GateBuilder, Option<Arc<DiskApprover>>) {
        let Some(folder) = folder else { return (builder, None) };
        let state = DiskState::new(folder, Arc::clone(clock), self.host);
        let state = Arc::new(state.forgetting_after(settings.session_idle));
        let wait_ms_max = self.wait_ms_max.unwrap_or(crate::approver::WAIT_MS_MAX);
        let approver = Arc::new(DiskApprover::new(
            folder,
            Arc::clone(&state),
            Arc::clone(clock),
            Arc::clone(scrub),
            settings,
            wait_ms_max,
        ));
        let asking = Arc::clone(&approver) as Arc<dyn Approver>;
        (builder.state(state).approver(asking), Some(approver))
    }
}
