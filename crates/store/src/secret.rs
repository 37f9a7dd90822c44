//! Secrets of 32 bytes that this installation keeps for itself, one a file: the key of the digests in
//! records, and others like it.
//!
//! A file is made with the first use, 0600, in a folder that only its owner may write to. A file that
//! others may read is refused and never made anew: what was digested with it could no longer be
//! recognised.

use crate::error::StoreError;
use crate::folder::open_to_read;
use crate::hash::parse_hex;
use crate::key::{make_with, text_of};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How the text of such a file starts; 64 hexadecimal digits follow.
const SECRET_START: &str = "tollgate-secret ";

/// Reads the secret from this file; makes one if there is no file.
///
/// # Errors
/// [`StoreError`] when the file, or the folder it is in, is open to others, or holds no secret.
pub fn open_or_make_secret(path: &Path) -> Result<[u8; 32], StoreError> {
    match open_secret(path) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            make_with(path, |seed| text_of(SECRET_START, seed))?;
            open_secret(path)
        }
        opened => opened,
    }
}

fn open_secret(path: &Path) -> Result<[u8; 32], StoreError> {
    read_private(path, SECRET_START)
}

/// Reads 32 bytes from a file that only its owner may read, behind this start.
pub(crate) fn read_private(path: &Path, start: &str) -> Result<[u8; 32], StoreError> {
    let name = || path.to_string_lossy();
    let file = open_to_read(path).map_err(|error| StoreError::io("open", name(), error))?;
    let data = file.metadata().map_err(|error| StoreError::io("look at", name(), error))?;
    if data.mode() & 0o077 != 0 {
        return Err(StoreError::Key { file: path.to_owned(), what: "others may read or write it" });
    }
    let mut text = String::new();
    file.take(256)
        .read_to_string(&mut text)
        .map_err(|error| StoreError::io("read", name(), error))?;
    let seed = text.trim_end().strip_prefix(start).and_then(parse_hex);
    seed.ok_or(StoreError::Key { file: path.to_owned(), what: "it holds no key" })
}

#[cfg(test)]
mod tests {
    use super::open_or_make_secret;
    use crate::error::StoreError;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_secret_is_made_once_and_is_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/digest.key");
        let secret = open_or_make_secret(&path).unwrap();
        assert_eq!(open_or_make_secret(&path).unwrap(), secret);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let other = open_or_make_secret(&folder.path().join("keys/other.key")).unwrap();
        assert_ne!(secret, other);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(open_or_make_secret(&path), Err(StoreError::Key { .. })));
    }
}
