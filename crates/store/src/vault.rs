//! The vault on disk: one sealed file a session, in a folder of its own.
//!
//! A file is XChaCha20-Poly1305 over the session's data, under the installation's key (`keys/vault.key`, 0600)
//! and bound to tenant and session as associated data: a file that is copied to another session opens
//! nothing. Its name is a keyed digest, so that the folder does not tell who was there. Processes take turns
//! by a lock; a file is replaced whole, so a crash of a process leaves the old one or the new one.
//!
//! A file that nobody has written to for [`SESSION_IDLE_DAYS_MAX`] days is removed, as its session is. Refused:
//! a folder, file or key that others may read or write, and a file that does not open. What it holds is lost
//! then, but it is neither guessed nor shown.

use crate::disk::{Leave, OpenHow};
use crate::folder::{FileHeld, check, make, open_file, put_whole, wait_for};
use crate::hash::HashValue;
use crate::limits::{LOCK_WAIT_MS_MAX, SESSION_IDLE_DAYS_MAX};
use crate::secret::open_or_make_secret;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tollgate_gate::vault::{known, placeholder};
use tollgate_gate::{Hidden, Json, Kept, Name, Object, Vault, VaultError, VaultOwner};

/// How a file starts.
const START: &[u8] = b"tollgate-vault 1\n";
const NONCE_BYTES: usize = 24;
/// Longest file, in bytes: a session's data at their largest, escaped.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A session's data as they were read last, with the state of the file then.
type Read = (Stamp, Arc<Vec<Kept>>);

/// When and which: a file that was replaced has another inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed_s: i64,
    changed_ns: i64,
    bytes: u64,
}

/// A vault in a state folder.
pub struct FileVault {
    folder: PathBuf,
    key_file: PathBuf,
    key: OnceLock<[u8; 32]>,
    last: Mutex<HashMap<PathBuf, Read>>,
}

impl fmt::Debug for FileVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileVault").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl FileVault {
    /// The vault of a state folder. Nothing is made or read before a datum is kept.
    pub fn in_folder(state: &Path) -> FileVault {
        FileVault {
            folder: state.join("vault"),
            key_file: state.join("keys").join("vault.key"),
            key: OnceLock::new(),
            last: Mutex::default(),
        }
    }

    fn key(&self) -> Result<[u8; 32], VaultError> {
        if let Some(key) = self.key.get() {
            return Ok(*key);
        }
        // A new key would open nothing of what is there, and nobody would look for it any more.
        if !self.key_file.exists() && self.holds_files() {
            let why = "it is gone, and there are sealed data; put it back, or remove them";
            return Err(VaultError::Unusable(format!("`{}`: {why}", self.key_file.display())));
        }
        let key = open_or_make_secret(&self.key_file).map_err(unusable)?;
        Ok(*self.key.get_or_init(|| key))
    }

    /// Whether anything is sealed here. What cannot be read may be.
    fn holds_files(&self) -> bool {
        match fs::read_dir(&self.folder) {
            Ok(entries) => entries.flatten().any(|entry| is_sealed(&entry.path())),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// The file of an owner, by a keyed digest of who it is.
    fn file(&self, owner: VaultOwner<'_>) -> Result<PathBuf, VaultError> {
        let digest = HashValue::of(&[self.key()?.as_slice(), &bound_to(owner)].concat());
        Ok(self.folder.join(format!("{digest}.vault")))
    }

    fn cipher(&self) -> Result<XChaCha20Poly1305, VaultError> {
        Ok(XChaCha20Poly1305::new(&self.key()?.into()))
    }

    /// Reads a file; one that is not there holds nothing.
    fn read(&self, file: &Path, owner: VaultOwner<'_>) -> Result<Arc<Vec<Kept>>, VaultError> {
        let opened = match open_file(file, OpenHow::Existing) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(at(file, &error)),
        };
        let data = opened.metadata().map_err(|error| at(file, &error))?;
        if data.mode() & 0o077 != 0 {
            return Err(at(file, &"others may read or write it"));
        }
        let stamp = Stamp {
            inode: data.ino(),
            changed_s: data.mtime(),
            changed_ns: data.mtime_nsec(),
            bytes: data.len(),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kept)) = last.get(file).filter(|(known, _)| *known == stamp) {
            return Ok(Arc::clone(kept));
        }
        let mut sealed = Vec::new();
        opened.take(FILE_BYTES_MAX).read_to_end(&mut sealed).map_err(|error| at(file, &error))?;
        let kept =
            Arc::new(self.open(&sealed, owner).ok_or_else(|| at(file, &"it does not open"))?);
        // A process serves few sessions at once.
        if last.len() >= 64 {
            last.clear();
        }
        last.insert(file.to_owned(), (stamp, Arc::clone(&kept)));
        Ok(kept)
    }

    fn open(&self, sealed: &[u8], owner: VaultOwner<'_>) -> Option<Vec<Kept>> {
        let rest = sealed.strip_prefix(START)?;
        let (nonce, text) = rest.split_at_checked(NONCE_BYTES)?;
        let nonce = XNonce::from(<[u8; NONCE_BYTES]>::try_from(nonce).ok()?);
        let aad = bound_to(owner);
        let payload = Payload { msg: text, aad: &aad };
        let plain = self.cipher().ok()?.decrypt(&nonce, payload).ok()?;
        let Json::Array(items) = Json::read(&plain).ok()? else { return None };
        items
            .iter()
            .map(|item| {
                let of = |key| item.as_object()?.get(key)?.as_str();
                let value = Hidden(of("value")?.into());
                Some(Kept { placeholder: of("placeholder")?.into(), value })
            })
            .collect()
    }

    /// Replaces the file by one with these data.
    fn write(&self, file: &Path, owner: VaultOwner<'_>, kept: &[Kept]) -> Result<(), VaultError> {
        let list: Vec<Json> = kept
            .iter()
            .map(|one| {
                let mut object = Object::new();
                object.insert("placeholder", &*one.placeholder);
                object.insert("value", &*one.value.0);
                object.into()
            })
            .collect();
        let plain = Json::Array(list).text();
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(unusable)?;
        let aad = bound_to(owner);
        let payload = Payload { msg: plain.as_bytes(), aad: &aad };
        let sealed = self.cipher()?.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| at(file, &"it cannot be sealed"))?;
        // Without a sync, which a result with many data would wait for as often: what a power cut takes back
        // are placeholders that open nothing, not data that show.
        put_whole(file, &[START, &nonce, &sealed].concat(), Leave::Written)
            .map_err(|error| at(file, &error))
    }

    /// Whether the folder is there.
    fn is_there(&self) -> Result<bool, VaultError> {
        match fs::symlink_metadata(&self.folder) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(&self.folder, &error)),
        }
    }

    /// Waits for this process' turn, which ends when what is given back is dropped.
    fn lock(&self) -> Result<FileHeld, VaultError> {
        check(&self.folder).map_err(unusable)?;
        let lock = open_file(&self.folder.join("lock"), OpenHow::OrNew).map_err(unusable)?;
        let until = Instant::now() + Duration::from_millis(LOCK_WAIT_MS_MAX);
        wait_for(&Arc::new(lock), until).map_err(unusable)
    }

    /// Forgets all data of an owner for good; whether there were any. Its placeholders open nothing any more.
    ///
    /// # Errors
    /// [`VaultError`] when the file cannot be removed, or its name, which needs the key, not be told.
    pub fn forget(&self, owner: VaultOwner<'_>) -> Result<bool, VaultError> {
        if !self.is_there()? || !self.holds_files() {
            return Ok(false);
        }
        let file = self.file(owner)?;
        let _held = self.lock()?;
        self.last.lock().unwrap_or_else(PoisonError::into_inner).remove(&file);
        match fs::remove_file(&file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(&file, &error)),
        }
    }

    /// Removes the files of sessions that have long ended.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let old = entry.metadata().and_then(|data| data.modified()).is_ok_and(|changed| {
                let age = SystemTime::now().duration_since(changed).unwrap_or_default();
                age > DAY * SESSION_IDLE_DAYS_MAX
            });
            let ours = is_sealed(&entry.path())
                || entry.path().extension().is_some_and(|end| end == "new");
            if old && ours {
                // Another process may have been faster.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Vault for FileVault {
    fn keep(&self, owner: VaultOwner<'_>, label: &str, value: &str) -> Result<Name, VaultError> {
        let file = self.file(owner)?;
        if let Some(found) = known(&self.read(&file, owner)?, value)? {
            return Ok(found);
        }
        if !self.is_there()? {
            make(&self.folder).map_err(unusable)?;
        }
        let _held = self.lock()?;
        // Another process may have kept it meanwhile.
        let kept = self.read(&file, owner)?;
        if let Some(found) = known(&kept, value)? {
            return Ok(found);
        }
        if kept.is_empty() {
            self.sweep();
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(unusable)?;
        let placeholder = placeholder(label, random);
        let mut kept = Vec::clone(&kept);
        kept.push(Kept { placeholder: Name::clone(&placeholder), value: Hidden(value.into()) });
        self.write(&file, owner, &kept)?;
        Ok(placeholder)
    }

    fn kept(&self, owner: VaultOwner<'_>) -> Result<Arc<Vec<Kept>>, VaultError> {
        // Most installations have no vault: no key is made to find that out.
        if !self.is_there()? {
            return Ok(Arc::default());
        }
        check(&self.folder).map_err(unusable)?;
        self.read(&self.file(owner)?, owner)
    }
}

fn is_sealed(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "vault")
}

/// What a file is bound to. Lengths stand before, so that no two owners look alike.
fn bound_to(owner: VaultOwner<'_>) -> Vec<u8> {
    let mut bound = b"tollgate vault 1".to_vec();
    for part in [owner.tenant, owner.session] {
        bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bound.extend_from_slice(part.as_bytes());
    }
    bound
}

fn unusable(error: impl fmt::Display) -> VaultError {
    VaultError::Unusable(error.to_string())
}

fn at(path: &Path, why: &dyn fmt::Display) -> VaultError {
    VaultError::Unusable(format!(
        "`{}`: {why}; mend its owner and mode, or remove it",
        path.display()
    ))
}
