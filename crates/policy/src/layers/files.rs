//! Reading policy files: whole, capped, UTF-8.

use crate::limits::POLICY_BYTES_MAX;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Why a policy file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be opened or read.
    #[error("`{path}` cannot be read: {cause}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It is a link, a folder, a device: what a found file may not be.
    #[error("`{0}` is no regular file")]
    NoFile(PathBuf),
    /// It is said to be the machine's, and somebody else than its administrator can write it.
    #[error("`{path}` is no managed policy: {why}")]
    NotManaged {
        /// The file.
        path: PathBuf,
        /// What gives it away.
        why: String,
    },
    /// It is larger than [`POLICY_BYTES_MAX`].
    #[error("`{0}` is larger than {POLICY_BYTES_MAX} bytes")]
    TooLarge(PathBuf),
    /// It is not UTF-8.
    #[error("`{0}` is no UTF-8 text")]
    NoText(PathBuf),
}

/// Reads a policy file that somebody named.
pub(super) fn read(path: &Path) -> Result<String, FileError> {
    let fail = |cause| FileError::Io { path: path.to_owned(), cause };
    // A pipe or device would block, or never end.
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(FileError::NoFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(POLICY_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).map_err(fail)?.take(limit).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() > POLICY_BYTES_MAX {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| FileError::NoText(path.to_owned()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads the machine's policy: it belongs to root, and nobody else can write it.
pub(super) fn read_managed(path: &Path) -> Result<String, FileError> {
    let found = fs::metadata(path);
    let found = found.map_err(|cause| FileError::Io { path: path.to_owned(), cause })?;
    let not_managed = |why| Err(FileError::NotManaged { path: path.to_owned(), why });
    if found.uid() != 0 {
        return not_managed(format!("it belongs to user {}, not to root", found.uid()));
    }
    if found.mode() & 0o022 != 0 {
        return not_managed(format!("others can write it: its mode is {:o}", found.mode() & 0o777));
    }
    read(path)
}

/// Reads a policy file that was found: a link is refused, wherever it leads.
pub(super) fn read_found(path: &Path) -> Result<String, FileError> {
    let found = fs::symlink_metadata(path);
    let found = found.map_err(|cause| FileError::Io { path: path.to_owned(), cause })?;
    if !found.is_file() {
        return Err(FileError::NoFile(path.to_owned()));
    }
    read(path)
}
