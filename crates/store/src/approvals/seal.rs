//! The key that an approver signs answers with: Ed25519, in a file that only a passphrase opens.
//!
//! The passphrase goes through Argon2id, whose result opens XChaCha20-Poly1305 over the seed. All that
//! is not secret stands beside it in plain text and is bound to it, so that no part can be exchanged.
//! A stolen file is worth as much as its passphrase is hard to guess.

use crate::disk::OpenHow;
use crate::folder::open_file;
use crate::hash::{parse_hex, write_hex};
use crate::key::PublicKey;
use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ed25519_dalek::{Signer as _, SigningKey};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tollgate_gate::{Json, Object};

/// What Argon2id is given: memory in KiB, passes, lanes.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 1;
/// Most memory and passes that a file may ask for.
const MEMORY_KIB_MAX: u64 = 1024 * 1024;
const PASSES_MAX: u64 = 64;
/// Shortest passphrase, in characters.
pub(crate) const PASSPHRASE_CHARS_MIN: usize = 10;
/// Largest key file, in bytes.
const FILE_BYTES_MAX: u64 = 4096;

/// Why a key cannot be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The passphrase is too short.
    #[error("a passphrase has at least {PASSPHRASE_CHARS_MIN} characters")]
    Short,
    /// The passphrase is another one, or the file was changed.
    #[error("the passphrase does not open `{}`", .file.display())]
    Wrong {
        /// The file.
        file: PathBuf,
    },
    /// It is no key file.
    #[error("`{}` is no approver's key: {what}", .file.display())]
    NoKey {
        /// The file.
        file: PathBuf,
        /// Why not.
        what: &'static str,
    },
    /// There is one already.
    #[error("`{}` is there already", .file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// The system refused something.
    #[error("the key file `{}` cannot be used: {cause}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// An approver's private key.
pub struct ApproverKey(SigningKey);

impl ApproverKey {
    /// A new key.
    ///
    /// # Errors
    /// [`io::Error`] when the system has no random numbers.
    pub fn fresh() -> io::Result<ApproverKey> {
        Ok(ApproverKey(SigningKey::from_bytes(&random()?)))
    }

    /// The key that its signatures are checked with.
    pub fn public(&self) -> PublicKey {
        PublicKey::of(&self.0)
    }

    /// Signs a text.
    pub fn sign(&self, text: &str) -> [u8; 64] {
        self.0.sign(text.as_bytes()).to_bytes()
    }
}

/// A key file, still sealed.
pub struct SealedKey {
    file: PathBuf,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: [u8; 16],
    nonce: [u8; 24],
    public: PublicKey,
    sealed: [u8; 48],
}

impl SealedKey {
    /// Seals a key into a new file.
    ///
    /// # Errors
    /// [`SealError`]; a file that is there already stays as it is.
    pub fn make(file: &Path, key: &ApproverKey, passphrase: &str) -> Result<(), SealError> {
        if passphrase.chars().count() < PASSPHRASE_CHARS_MIN {
            return Err(SealError::Short);
        }
        let io = |cause| SealError::Io { file: file.to_owned(), cause };
        let mut sealed = SealedKey {
            file: file.to_owned(),
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: random().map_err(io)?,
            nonce: random().map_err(io)?,
            public: key.public(),
            sealed: [0; 48],
        };
        let aad = sealed.head();
        let payload = Payload { msg: key.0.as_bytes(), aad: aad.as_bytes() };
        let nonce = XNonce::from(sealed.nonce);
        let text = sealed.cipher(passphrase)?.encrypt(&nonce, payload);
        let text = text.ok().and_then(|text| <[u8; 48]>::try_from(text).ok());
        sealed.sealed = text.ok_or(SealError::NoKey { file: file.into(), what: "not sealed" })?;
        if fs::symlink_metadata(file).is_ok() {
            return Err(SealError::Exists { file: file.to_owned() });
        }
        let mut out = open_file(file, OpenHow::OrNew).map_err(io)?;
        out.write_all(sealed.text().as_bytes()).and_then(|()| out.sync_all()).map_err(io)
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`SealError`] when it is none, or others may read it.
    pub fn read(file: &Path) -> Result<SealedKey, SealError> {
        let io = |cause| SealError::Io { file: file.to_owned(), cause };
        let none = |what| SealError::NoKey { file: file.to_owned(), what };
        let opened = open_file(file, OpenHow::Existing).map_err(io)?;
        if opened.metadata().map_err(io)?.mode() & 0o077 != 0 {
            return Err(none("others may read or write it"));
        }
        let mut text = Vec::new();
        opened.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(io)?;
        let json = Json::read(&text).map_err(|_| none("it is no JSON"))?;
        SealedKey::of(file, &json).ok_or_else(|| none("it lacks what a key has"))
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`SealError::Wrong`] for another passphrase.
    pub fn open(&self, passphrase: &str) -> Result<ApproverKey, SealError> {
        let wrong = || SealError::Wrong { file: self.file.clone() };
        let aad = self.head();
        let payload = Payload { msg: &self.sealed, aad: aad.as_bytes() };
        let seed = self.cipher(passphrase)?.decrypt(&XNonce::from(self.nonce), payload);
        let seed = seed.ok().and_then(|seed| <[u8; 32]>::try_from(seed).ok()).ok_or_else(wrong)?;
        let key = ApproverKey(SigningKey::from_bytes(&seed));
        if key.public() == self.public { Ok(key) } else { Err(wrong()) }
    }

    fn cipher(&self, passphrase: &str) -> Result<XChaCha20Poly1305, SealError> {
        let none = |what| SealError::NoKey { file: self.file.clone(), what };
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(32));
        let params = params.map_err(|_| none("its parameters cannot be used"))?;
        let mut key = [0; 32];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.as_bytes(), &self.salt, &mut key)
            .map_err(|_| none("its parameters cannot be used"))?;
        Ok(XChaCha20Poly1305::new(&key.into()))
    }

    /// What is not secret, and bound to what is.
    fn head(&self) -> String {
        format!(
            "tollgate-approver-key 1 argon2id m={} t={} p={} {} {}",
            self.memory_kib,
            self.passes,
            self.lanes,
            hex(&self.salt),
            self.public
        )
    }

    fn text(&self) -> String {
        let mut out = Object::new();
        out.insert("version", 1_u64);
        out.insert("public", format!("ed25519:{}", self.public));
        out.insert("kdf", "argon2id");
        out.insert("memory_kib", u64::from(self.memory_kib));
        out.insert("passes", u64::from(self.passes));
        out.insert("lanes", u64::from(self.lanes));
        out.insert("salt", hex(&self.salt));
        out.insert("cipher", "xchacha20-poly1305");
        out.insert("nonce", hex(&self.nonce));
        out.insert("sealed", hex(&self.sealed));
        format!("{}\n", Json::Object(out).text())
    }

    fn of(file: &Path, json: &Json) -> Option<SealedKey> {
        let text = |key| json.get(key).and_then(Json::as_str);
        let number = |key: &str| json.get(key)?.to::<u64>().ok();
        let bounded =
            |key, max| number(key).filter(|n| *n <= max).and_then(|n| u32::try_from(n).ok());
        let is_known = number("version") == Some(1)
            && text("kdf") == Some("argon2id")
            && text("cipher") == Some("xchacha20-poly1305");
        is_known.then_some(())?;
        Some(SealedKey {
            file: file.to_owned(),
            memory_kib: bounded("memory_kib", MEMORY_KIB_MAX)?,
            passes: bounded("passes", PASSES_MAX)?,
            lanes: bounded("lanes", PASSES_MAX)?,
            salt: parse_hex(text("salt")?)?,
            nonce: parse_hex(text("nonce")?)?,
            public: PublicKey::parse(text("public")?.strip_prefix("ed25519:")?)?,
            sealed: parse_hex(text("sealed")?)?,
        })
    }
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    write_hex(bytes, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{ApproverKey, SealError, SealedKey};

    #[test]
    fn a_sealed_key_opens_with_its_passphrase_only_and_no_part_can_be_exchanged() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        let key = ApproverKey::fresh().unwrap();
        assert!(matches!(SealedKey::make(&file, &key, "short"), Err(SealError::Short)));
        SealedKey::make(&file, &key, "a long passphrase").unwrap();
        let again = SealedKey::make(&file, &key, "a long passphrase");
        assert!(matches!(again, Err(SealError::Exists { .. })));
        let sealed = SealedKey::read(&file).unwrap();
        assert_eq!(sealed.public(), key.public());
        assert_eq!(sealed.open("a long passphrase").unwrap().sign("x"), key.sign("x"));
        assert!(matches!(sealed.open("a long passphrasE"), Err(SealError::Wrong { .. })));
        let text = std::fs::read_to_string(&file).unwrap();
        let other = ApproverKey::fresh().unwrap().public().to_string();
        std::fs::write(&file, text.replace(&key.public().to_string(), &other)).unwrap();
        let exchanged = SealedKey::read(&file).unwrap().open("a long passphrase");
        assert!(matches!(exchanged, Err(SealError::Wrong { .. })));
    }
}
