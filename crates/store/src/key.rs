//! The key that checkpoints are signed with: Ed25519 (RFC 8032), in a file that only its owner reads.
//!
//! It lies beside the ledger's folder, not in it, so that a copy of the book gives nobody the means to
//! sign another. Beside the key stands the last checkpoint that it signed: a book that was set back to
//! an earlier state is a whole book, and only something kept elsewhere tells.

use crate::disk::OpenHow;
use crate::error::StoreError;
use crate::folder::{check, open_file};
use crate::hash::{parse_hex, write_hex};
use crate::limits::HANDOVERS_BYTES_MAX;
use crate::secret::read_private;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tollgate_gate::{Json, Object, Timestamp};

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
    // Threads of one process make keys at the same time as well.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = beside(path, &format!(".{}-{count}.new", std::process::id()));
    let made = write_whole(&fresh, &text).and_then(|()| match fs::hard_link(&fresh, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => File::open(folder)?.sync_all(),
    });
    let removed = fs::remove_file(&fresh);
    made.and(removed).map_err(io)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn fresh_seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(seed)
}

fn key_text(seed: &[u8; 32]) -> Vec<u8> {
    text_of(KEY_START, seed)
}

/// The text of a file that holds these bytes.
pub(crate) fn text_of(start: &str, seed: &[u8; 32]) -> Vec<u8> {
    let mut text = start.as_bytes().to_vec();
    write_hex(seed, &mut text);
    text.push(b'\n');
    text
}

fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = open_file(path, OpenHow::OrNew)?;
    file.set_len(0)?;
    file.write_all(text)?;
    file.sync_all()
}

/// Puts a new key in the place of the one in this file. The old key signs the hand-over, which is kept
/// beside the key, so that whoever trusts the old one can trust the new one. A process that has the old
/// key open signs with it until it opens the ledger again.
///
/// # Errors
/// [`StoreError`] when the file holds no usable key or cannot be replaced.
pub fn rotate(key_file: &Path, now: Timestamp) -> Result<Handover, StoreError> {
    let old = CheckpointKey::open(key_file)?;
    let io = |error| StoreError::io("replace", key_file.to_string_lossy(), error);
    let seed = fresh_seed().map_err(io)?;
    let handover = Handover::sign(&old, &CheckpointKey::from_seed(&seed).public(), now);
    let mut line = handover.text().into_bytes();
    line.push(b'\n');
    let replace = || {
        let mut file = open_file(&handovers_file(key_file), OpenHow::OrNew)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&line)?;
        file.sync_all()?;
        let fresh = beside(key_file, &format!(".{}.new", std::process::id()));
        write_whole(&fresh, &key_text(&seed))?;
        fs::rename(&fresh, key_file)?;
        File::open(folder_of(key_file))?.sync_all()
    };
    replace().map_err(io)?;
    Ok(handover)
}

/// That one key takes the place of another, signed by the old one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// The key that signed before.
    pub old: PublicKey,
    /// The key that signs from now on.
    pub new: PublicKey,
    /// When.
    pub at: Timestamp,
    /// The signature of the old key.
    pub signature: [u8; 64],
}

impl Handover {
    fn sign(old: &CheckpointKey, new: &PublicKey, at: Timestamp) -> Handover {
        let at = Timestamp::from_millis(at.millis());
        let signature = old.sign(handover_body(&old.public(), new, at).as_bytes());
        Handover { old: old.public(), new: *new, at, signature }
    }

    /// Whether the old key has signed it.
    pub fn is_signed(&self) -> bool {
        let body = handover_body(&self.old, &self.new, self.at);
        self.old.has_signed(body.as_bytes(), &self.signature)
    }

    /// It as one line of JSON.
    pub fn text(&self) -> String {
        let mut signature = Vec::new();
        write_hex(&self.signature, &mut signature);
        let mut out = Object::new();
        out.insert("old", self.old.to_string());
        out.insert("new", self.new.to_string());
        out.insert("at", self.at.to_string());
        out.insert("signature", String::from_utf8_lossy(&signature).into_owned());
        Json::Object(out).text()
    }

    /// Reads what [`Handover::text`] gives; `None` for anything else.
    pub fn read(text: &[u8]) -> Option<Handover> {
        let json = Json::read(text).ok()?;
        let text = |key| json.get(key).and_then(Json::as_str);
        Some(Handover {
            old: PublicKey::parse(text("old")?)?,
            new: PublicKey::parse(text("new")?)?,
            at: Timestamp::parse(text("at")?)?,
            signature: parse_hex(text("signature")?)?,
        })
    }
}

fn handover_body(old: &PublicKey, new: &PublicKey, at: Timestamp) -> String {
    format!("tollgate-key-handover\n{old}\n{new}\nat {at}\n")
}

/// The hand-overs beside a key, in order. Lines that are none are passed over: they give no trust.
///
/// # Errors
/// [`StoreError::Io`] when the file is there and cannot be read.
pub fn read_handovers(key_file: &Path) -> Result<Vec<Handover>, StoreError> {
    let path = handovers_file(key_file);
    let mut text = Vec::new();
    let read =
        File::open(&path).and_then(|file| file.take(HANDOVERS_BYTES_MAX).read_to_end(&mut text));
    match read {
        Ok(_) => Ok(text.split(|byte| *byte == b'\n').filter_map(Handover::read).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io("read", path.to_string_lossy(), error)),
    }
}

/// The keys that whoever trusts the first one can trust, by hand-overs.
pub fn trusted_keys(first: PublicKey, handovers: &[Handover]) -> Vec<PublicKey> {
    let mut keys = vec![first];
    for handover in handovers {
        let is_new = keys.contains(&handover.old) && !keys.contains(&handover.new);
        if is_new && handover.is_signed() {
            keys.push(handover.new);
        }
    }
    keys
}

/// The file beside a key that holds the last checkpoint that it signed of each ledger, one a line.
pub fn last_checkpoint_file(key_file: &Path) -> PathBuf {
    beside(key_file, ".last")
}

fn handovers_file(key_file: &Path) -> PathBuf {
    beside(key_file, ".handovers")
}

pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
