//! Small files that only their owner can touch: cursors, and headers with a token.
//!
//! A file with a token that others can read is refused, and so is a link: whoever can put one there
//! could have the token sent elsewhere.

use crate::limits::SMALL_FILE_BYTES_MAX;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Why a small file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be used: {why}", .file.display())]
pub struct PrivateError {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub why: String,
}

fn refuse(file: &Path, why: impl ToString) -> PrivateError {
    PrivateError { file: file.to_owned(), why: why.to_string() }
}

/// Opens a file that is no link, for appending where it is to be written. A new one is 0600.
pub(crate) fn open(path: &Path, append: bool) -> io::Result<File> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.read(true).append(append).create(append).mode(0o600).custom_flags(no_follow);
    options.open(path)
}

/// Reads a file of the user's own that nobody else can read or write; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, PrivateError> {
    let file = match open(path, false) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(path, error)),
    };
    let found = file.metadata().map_err(|error| refuse(path, error))?;
    if !found.is_file() {
        return Err(refuse(path, "it is no regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse(path, "it belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(refuse(path, "others can read or write it (chmod 600)"));
    }
    let mut text = String::new();
    file.take(SMALL_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| refuse(path, error))?;
    if text.len() as u64 > SMALL_FILE_BYTES_MAX {
        return Err(refuse(path, format!("it is larger than {SMALL_FILE_BYTES_MAX} bytes")));
    }
    Ok(Some(text))
}

/// Makes a folder for such files, and what is missing above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), PrivateError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| refuse(folder, error))
}

/// Writes a file whole or not at all, and sees that it is on disk.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), PrivateError> {
    tollgate_store::write_whole(path, text.as_bytes()).map_err(|error| refuse(path, error))
}

/// A header as it is to be sent, from a file that holds `Name: value` in one line.
#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Reads the header in a file. It is read for each sending, so that a token may be exchanged.
pub(crate) fn header(path: &Path) -> Result<Header, PrivateError> {
    let text = read(path)?.ok_or_else(|| refuse(path, "there is no such file"))?;
    let line = text.trim_end_matches(['\n', '\r']);
    let parts = line.split_once(':').filter(|_| !line.contains(['\n', '\r']));
    let Some((name, value)) = parts.map(|(name, value)| (name.trim(), value.trim())) else {
        return Err(refuse(path, "it is not one line `Name: value`"));
    };
    if name.is_empty() || value.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refuse(path, "it is not one line `Name: value`"));
    }
    Ok(Header { name: name.to_owned(), value: value.to_owned() })
}
