//! The key of keyed masks: a file in the state folder that only its owner can read.
//!
//! It is made when a datum is first masked with it, and never comes from the environment or a policy
//! (law 13). Whoever holds it can try values against hashes, so it is guarded like the ledger; without
//! it the hashes of one tenant say nothing. A new key makes new hashes: old ones no longer compare.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tollgate_policy::detection::{MaskKeyError, MaskKeys};
use tollgate_policy::private;

/// The file, in the state folder.
const FILE: &str = "mask.key";
/// Its length, in bytes.
const KEY_BYTES: usize = 32;
/// Where the system gives random bytes.
const RANDOM: &str = "/dev/urandom";

/// The key in a state folder.
pub(crate) struct StateKey {
    file: PathBuf,
}

impl StateKey {
    /// The key in this state folder, whether or not it is there.
    pub(crate) fn in_folder(state: &Path) -> StateKey {
        StateKey { file: state.join(FILE) }
    }

    fn read(&self) -> Result<Option<[u8; KEY_BYTES]>, MaskKeyError> {
        let bytes = private::read(&self.file, KEY_BYTES).map_err(failed)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let key = bytes.try_into().map_err(|_| {
            MaskKeyError(format!("`{}` is not {KEY_BYTES} bytes long", self.file.display()))
        });
        key.map(Some)
    }

    /// Writes a new key, unless another process was faster: then that one's stays.
    fn make(&self) -> Result<(), MaskKeyError> {
        let mut key = [0; KEY_BYTES];
        File::open(RANDOM).and_then(|mut file| file.read_exact(&mut key)).map_err(failed)?;
        let fresh = self.file.with_extension(format!("{}.new", std::process::id()));
        private::write(&fresh, &key).map_err(failed)?;
        // A link is made or it is not; a rename would put a second key over the first.
        let linked = fs::hard_link(&fresh, &self.file);
        // What is left over would only be in the way.
        let _ = fs::remove_file(&fresh);
        match linked {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> MaskKeyError {
    MaskKeyError(error.to_string())
}

impl MaskKeys for StateKey {
    fn key(&self) -> Result<[u8; KEY_BYTES], MaskKeyError> {
        if let Some(key) = self.read()? {
            return Ok(key);
        }
        self.make()?;
        let gone = || MaskKeyError(format!("`{}` was taken away", self.file.display()));
        self.read()?.ok_or_else(gone)
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
