//! The key that checkpoints are signed with: Ed25519 (RFC 8032), in a file that only its owner reads.
//!
//! It lies beside the ledger's folder, not in it, so that a copy of the book gives nobody the means to
//! sign another. Beside the key stands the last checkpoint that it signed: a book that was set back to
//! an earlier state is a whole book, and only something kept elsewhere tells.

use crate::disk::Leave;
use crate::error::StoreError;
use crate::folder::{check, sync_names, write_fresh};
use crate::hash::{parse_hex, write_hex};
use crate::secret::read_private;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// How the text of a key file starts; the seed follows as 64 hexadecimal digits.
const KEY_START: &str = "tollgate-ed25519-seed ";

/// A public key, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads 64 lower-case hexadecimal digits; `None` for anything that is no key.
    pub fn parse(text: &str) -> Option<PublicKey> {
        VerifyingKey::from_bytes(&parse_hex(text)?).ok().map(PublicKey)
    }

    pub(crate) fn of(key: &SigningKey) -> PublicKey {
        PublicKey(key.verifying_key())
    }

    /// Its 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    pub(crate) fn has_signed(&self, text: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(text, &Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The private key.
pub struct CheckpointKey(SigningKey);

impl CheckpointKey {
    /// Reads the key from this file; makes one if there is no file.
    ///
    /// # Errors
    /// [`StoreError`] when the file, or the folder it is in, is open to others, or holds no key.
    pub fn open_or_make(path: &Path) -> Result<CheckpointKey, StoreError> {
        match CheckpointKey::open(path) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                make_with(path, key_text)?;
                CheckpointKey::open(path)
            }
            opened => opened,
        }
    }

    /// Reads the key from this file.
    ///
    /// # Errors
    /// As [`CheckpointKey::open_or_make`], and when there is no such file.
    pub fn open(path: &Path) -> Result<CheckpointKey, StoreError> {
        let seed = read_private(path, KEY_START)?;
        Ok(CheckpointKey::from_seed(&seed))
    }

    pub(crate) fn from_seed(seed: &[u8; 32]) -> CheckpointKey {
        CheckpointKey(SigningKey::from_bytes(seed))
    }

    /// The key that its signatures are checked with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, text: &[u8]) -> [u8; 64] {
        self.0.sign(text).to_bytes()
    }
}

/// Makes a file of a fresh key. Of two processes that do so at once, the first one's stays.
pub(crate) fn make_with(
    path: &Path,
    text: impl Fn(&[u8; 32]) -> Vec<u8>,
) -> Result<(), StoreError> {
    let folder = folder_of(path);
    let io = |error| StoreError::io("make", path.to_string_lossy(), error);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    check(folder)?;
    let text = text(&fresh_seed().map_err(io)?);
    // A link is made or it is not; a rename would put a second key over the first.
    let made = write_fresh(path, &text, Leave::Synced).and_then(|fresh| {
        let linked = match fs::hard_link(&fresh, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => sync_names(path),
        };
        linked.and(fs::remove_file(&fresh))
    });
    made.map_err(io)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

pub(crate) fn fresh_seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(seed)
}

pub(crate) fn key_text(seed: &[u8; 32]) -> Vec<u8> {
    text_of(KEY_START, seed)
}

/// The text of a file that holds these bytes.
pub(crate) fn text_of(start: &str, seed: &[u8; 32]) -> Vec<u8> {
    let mut text = start.as_bytes().to_vec();
    write_hex(seed, &mut text);
    text.push(b'\n');
    text
}

/// The file beside a key that holds the last checkpoint that it signed of each ledger, one a line.
pub fn last_checkpoint_file(key_file: &Path) -> PathBuf {
    beside(key_file, ".last")
}

pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
