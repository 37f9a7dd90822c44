//! The trust store: which project files a person has looked at and said yes to, byte for byte.
//!
//! A trusted file is pinned by its path and the digest of its bytes and of all that it includes; a
//! changed file is not trusted. The store is one private file in the state directory.

use crate::limits::TRUST_BYTES_MAX;
use crate::private::{self, PrivateError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tollgate_gate::Timestamp;

/// The file of the store, in the state directory.
const FILE: &str = "trust.json";

/// Which project files are trusted.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
    entries: Vec<TrustEntry>,
}

/// A trusted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustEntry {
    /// The file, with all links followed.
    pub path: PathBuf,
    /// What was trusted: `sha256:` and 64 hex digits.
    pub digest: String,
    /// When, as RFC 3339.
    pub at: String,
}

/// Whether a file is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// A person trusted exactly this.
    Trusted,
    /// A person trusted this file with other content.
    Changed,
    /// Nobody trusted it.
    Unknown,
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file is not private, or cannot be read or written.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The file is not what the store writes.
    #[error("`{path}` is no trust store: {cause}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    trusted: Vec<TrustEntry>,
}

impl TrustStore {
    /// Opens the store of a state directory; one that is not there yet is empty.
    ///
    /// # Errors
    /// [`TrustError`] when the file could have been written by somebody else, or is malformed. Then
    /// nothing is trusted.
    pub fn open(state_dir: &Path) -> Result<TrustStore, TrustError> {
        let path = state_dir.join(FILE);
        let Some(bytes) = private::read(&path, TRUST_BYTES_MAX)? else {
            return Ok(TrustStore { path, entries: Vec::new() });
        };
        let malformed = |cause: String| TrustError::Malformed { path: path.clone(), cause };
        let written: Written =
            serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))?;
        if written.version != 1 {
            return Err(malformed(format!("version {} is not known", written.version)));
        }
        Ok(TrustStore { path, entries: written.trusted })
    }

    /// Whether this content of a file is trusted. The path is taken with all links followed.
    pub fn look(&self, path: &Path, digest: &str) -> Trust {
        let Ok(path) = path.canonicalize() else { return Trust::Unknown };
        match self.entries.iter().find(|entry| entry.path == path) {
            None => Trust::Unknown,
            Some(entry) if entry.digest == digest => Trust::Trusted,
            Some(_) => Trust::Changed,
        }
    }

    /// Trusts this content of a file, in place of what was trusted of it before.
    ///
    /// # Errors
    /// [`TrustError`] when the path cannot be resolved or the store cannot be written.
    pub fn trust(&mut self, path: &Path, digest: &str, now: Timestamp) -> Result<(), TrustError> {
        let path = path
            .canonicalize()
            .map_err(|cause| PrivateError::Io { path: path.to_owned(), cause })?;
        self.entries.retain(|entry| entry.path != path);
        let entry = TrustEntry { path, digest: digest.to_owned(), at: now.to_string() };
        self.entries.push(entry);
        self.write()
    }

    /// Takes trust back; says whether there was any.
    ///
    /// # Errors
    /// [`TrustError`] when the store cannot be written.
    pub fn forget(&mut self, path: &Path) -> Result<bool, TrustError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let before = self.entries.len();
        self.entries.retain(|entry| entry.path != path);
        let found = self.entries.len() != before;
        if found {
            self.write()?;
        }
        Ok(found)
    }

    /// What is trusted.
    pub fn entries(&self) -> &[TrustEntry] {
        &self.entries
    }

    fn write(&self) -> Result<(), TrustError> {
        let written = Written { version: 1, trusted: self.entries.clone() };
        let text = serde_json::to_string_pretty(&written).map_err(|error| {
            TrustError::Malformed { path: self.path.clone(), cause: error.to_string() }
        })?;
        Ok(private::write(&self.path, text.as_bytes())?)
    }
}
