//! Installs: into which settings of which hosts our hooks were put, and what stood there before. One
//! private file of the state folder, with the backups beside it.
//!
//! It is a help, not a proof: what is in force is what stands in the settings. `uninstall` gives a file
//! back byte for byte when nobody else has changed it since, `doctor` asks whether a host has called
//! since then, and the gate guards the files that are named here.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tollgate_gate::Timestamp;
use tollgate_policy::private::{self, PrivateError};

/// The file, in the state folder.
const FILE: &str = "installs.json";
/// Its lock.
const LOCK: &str = "installs.lock";
/// The folder of backups, in the state folder.
const BACKUPS: &str = "backups";
/// Largest file of installs, and largest backup, in bytes.
const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One install.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// The host.
    pub host: String,
    /// Whose settings: `user`, `project` or `managed`.
    pub scope: String,
    /// The settings file, links followed.
    pub file: PathBuf,
    /// What stood in it before; `None`: there was no file.
    pub backup: Option<PathBuf>,
    /// Folders that were made for it, the outermost first.
    pub folders: Vec<PathBuf>,
    /// The SHA-256 of what was written, in hex.
    pub written: String,
    /// When, in RFC 3339.
    pub at: String,
}

/// All installs of a state folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installs(Vec<Install>);

/// The lock under which installs and the settings that they are about change: one install at a time, for each
/// reads, changes and writes two files. It is held until it is dropped.
#[derive(Debug)]
pub struct InstallLock(#[expect(dead_code, reason = "its life is the lock")] File);

/// Why installs cannot be known or written down.
#[derive(Debug, thiserror::Error)]
pub enum InstallsError {
    /// The file is not private, or cannot be read or written.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The file is not what is written here.
    #[error("`{path}` is no file of installs: {cause}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The state folder cannot be used.
    #[error("`{path}` cannot be locked: {cause}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl Install {
    /// When, as a moment.
    pub fn moment(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.at)
    }
}

impl Installs {
    /// Waits until no other process installs or takes out.
    ///
    /// # Errors
    /// [`InstallsError::Lock`] when there can be no lock file.
    pub fn lock(state: &Path) -> Result<InstallLock, InstallsError> {
        let path = state.join(LOCK);
        let lock = || {
            if !state.exists() {
                DirBuilder::new().recursive(true).mode(0o700).create(state)?;
            }
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
            file.lock()?;
            Ok(InstallLock(file))
        };
        lock().map_err(|cause| InstallsError::Lock { path: path.clone(), cause })
    }

    /// Reads the installs of a state folder; without a file there are none.
    ///
    /// # Errors
    /// [`InstallsError`] when somebody else could have written the file, or it is malformed.
    pub fn read(state: &Path) -> Result<Installs, InstallsError> {
        let path = state.join(FILE);
        let Some(bytes) = private::read(&path, FILE_BYTES_MAX)? else {
            return Ok(Installs::default());
        };
        let read = serde_json::from_slice(&bytes);
        read.map(Installs)
            .map_err(|error| InstallsError::Malformed { path, cause: error.to_string() })
    }

    /// Writes them down.
    ///
    /// # Errors
    /// [`InstallsError`]; nothing has changed then.
    pub fn write(&self, state: &Path) -> Result<(), InstallsError> {
        let path = state.join(FILE);
        let bytes = serde_json::to_vec_pretty(&self.0).map_err(|error| {
            InstallsError::Malformed { path: path.clone(), cause: error.to_string() }
        })?;
        Ok(private::write(&path, &bytes)?)
    }

    /// The install into this file for this host.
    pub fn of(&self, host: &str, file: &Path) -> Option<&Install> {
        self.0.iter().find(|install| install.host == host && install.file == file)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Install> {
        self.0.iter()
    }

    /// Puts one down in the place of an earlier one for the same file and host.
    pub fn put(&mut self, install: Install) {
        self.remove(&install.host, &install.file);
        self.0.push(install);
    }

    /// Forgets one; whether there was one.
    pub fn remove(&mut self, host: &str, file: &Path) -> bool {
        let before = self.0.len();
        self.0.retain(|install| install.host != host || install.file != file);
        self.0.len() != before
    }

    /// Keeps what stands in a file before it is changed. The same text is kept once.
    ///
    /// # Errors
    /// [`InstallsError`] when it cannot be kept.
    pub fn keep(state: &Path, host: &str, text: &[u8]) -> Result<PathBuf, InstallsError> {
        let digest = digest(text);
        let name = format!("{host}-{}", digest.get(..16).unwrap_or(&digest));
        let path = state.join(BACKUPS).join(name);
        private::write(&path, text)?;
        Ok(path)
    }

    /// Reads a backup back.
    ///
    /// # Errors
    /// [`InstallsError`] when it is not there, or somebody else could have written it.
    pub fn kept(path: &Path) -> Result<Option<Vec<u8>>, InstallsError> {
        Ok(private::read(path, FILE_BYTES_MAX)?)
    }
}

/// The SHA-256 of a text, in hex.
pub fn digest(text: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::{Install, Installs, digest};

    #[test]
    fn what_was_kept_comes_back_and_one_file_has_one_install() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        assert_eq!(Installs::read(state).unwrap(), Installs::default());
        let backup = Installs::keep(state, "codex", b"{}\n").unwrap();
        assert_eq!(Installs::kept(&backup).unwrap().as_deref(), Some(b"{}\n".as_slice()));
        let install = Install {
            host: "codex".into(),
            scope: "user".into(),
            file: "/h/.codex/hooks.json".into(),
            backup: Some(backup),
            folders: Vec::new(),
            written: digest(b"x"),
            at: "2026-01-15T08:30:00Z".into(),
        };
        let mut installs = Installs::default();
        installs.put(install.clone());
        installs.put(install.clone());
        installs.write(state).unwrap();
        let mut again = Installs::read(state).unwrap();
        assert_eq!(again.iter().count(), 1);
        assert_eq!(again.of("codex", &install.file), Some(&install));
        assert!(install.moment().is_some());
        assert!(again.remove("codex", &install.file) && !again.remove("codex", &install.file));
    }
}
