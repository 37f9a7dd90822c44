//! The key of keyed masks: a file in the state folder that only its owner can read.
//!
//! It is made when a datum is first masked with it, and never comes from the environment or a policy
//! (law 13). Whoever holds it can try values against hashes, so it is guarded like the ledger; without
//! it the hashes of one tenant say nothing. A new key makes new hashes: old ones no longer compare.

use std::path::{Path, PathBuf};
use tollgate_policy::detection::{MaskKeyError, MaskKeys};
use tollgate_policy::private::{KEY_BYTES, key_or_new};

/// The file, in the state folder.
const FILE: &str = "mask.key";

/// The key in a state folder.
pub(crate) struct StateKey {
    file: PathBuf,
}

impl StateKey {
    /// The key in this state folder, whether or not it is there.
    pub(crate) fn in_folder(state: &Path) -> StateKey {
        StateKey { file: state.join(FILE) }
    }
}

impl MaskKeys for StateKey {
    fn key(&self) -> Result<[u8; KEY_BYTES], MaskKeyError> {
        key_or_new(&self.file).map_err(|error| MaskKeyError(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::StateKey;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use tollgate_policy::detection::MaskKeys;

    #[test]
    fn the_key_is_made_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let key = StateKey::in_folder(&state).key().unwrap();
        assert_eq!(StateKey::in_folder(&state).key().unwrap(), key);
        let file = state.join("mask.key");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1, "nothing is left over");
        let other = folder.path().join("other");
        assert_ne!(StateKey::in_folder(&other).key().unwrap(), key);
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_cut_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let key = StateKey::in_folder(folder.path());
        key.key().unwrap();
        let file = folder.path().join("mask.key");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(key.key().is_err());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "short").unwrap();
        assert!(key.key().unwrap_err().to_string().contains("32 bytes"));
    }
}
