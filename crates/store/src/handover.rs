//! The hand-over from one key to the next: the old key signs that the new one takes its place, so that
//! whoever trusts the old one can trust the new one.
//!
//! Hand-overs lie beside the key, and go into every ledger that the new key signs, before its first
//! checkpoint there: so a copy of the ledger, or a proof out of it, verifies with the first key alone.

use crate::disk::{Disk, OpenHow, read_whole};
use crate::error::StoreError;
use crate::folder::{open_file, wait_for, write_whole};
use crate::hash::{parse_hex, write_hex};
use crate::key::{CheckpointKey, PublicKey, beside, fresh_seed, key_text};
use crate::limits::{HANDOVERS_BYTES_MAX, LOCK_WAIT_MS_MAX};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tollgate_gate::{Json, Object, Timestamp};

/// The file in the ledger's folder that holds the hand-overs of its keys, one a line.
pub const HANDOVERS_NAME: &str = "handovers.jsonl";

/// A new key that is to take the place of the one in a file.
pub struct Rotation {
    key_file: PathBuf,
    seed: [u8; 32],
    handover: Handover,
}

impl Rotation {
    /// Makes a new key, for which the one in this file signs. Nothing is changed yet.
    ///
    /// # Errors
    /// [`StoreError`] when the file holds no usable key.
    pub fn prepare(key_file: &Path, now: Timestamp) -> Result<Rotation, StoreError> {
        let old = CheckpointKey::open(key_file)?;
        let seed = fresh_seed()
            .map_err(|error| StoreError::io("replace", key_file.to_string_lossy(), error))?;
        let handover = Handover::sign(&old, &CheckpointKey::from_seed(&seed).public(), now);
        Ok(Rotation { key_file: key_file.to_owned(), seed, handover })
    }

    /// Which key takes the place of which.
    pub const fn handover(&self) -> &Handover {
        &self.handover
    }

    /// Puts the new key in the place of the old one, with the hand-over beside it. A process that has
    /// the old key open signs with it until it opens the ledger again.
    ///
    /// # Errors
    /// [`StoreError`] when the key was replaced meanwhile, or cannot be.
    pub fn carry_out(self) -> Result<Handover, StoreError> {
        let io = |error| StoreError::io("replace", self.key_file.to_string_lossy(), error);
        let turn = open_file(&beside(&self.key_file, ".lock"), OpenHow::OrNew).map_err(io)?;
        let until = Instant::now() + Duration::from_millis(LOCK_WAIT_MS_MAX);
        let _held = wait_for(&Arc::new(turn), until)?;
        if CheckpointKey::open(&self.key_file)?.public() != self.handover.old {
            let what = "another key was put in its place meanwhile";
            return Err(StoreError::Key { file: self.key_file, what });
        }
        // First who vouches for the new key: one that nobody has does no harm.
        let mut handovers = read_handovers(&self.key_file)?;
        handovers.push(self.handover.clone());
        let text: String = handovers.iter().map(|handover| handover.text() + "\n").collect();
        write_whole(&handovers_file(&self.key_file), text.as_bytes())
            .and_then(|()| write_whole(&self.key_file, &key_text(&self.seed)))
            .map_err(io)?;
        Ok(self.handover)
    }
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
    Ok(read_lines(&handovers_file(key_file))?.into_iter().flatten().collect())
}

/// The hand-overs in a ledger's folder, in order; none in the place of a line that is no signed one.
///
/// # Errors
/// [`StoreError::Io`] when the file is there and cannot be read.
pub fn handovers_of_ledger(folder: &Path) -> Result<Vec<Option<Handover>>, StoreError> {
    read_lines(&folder.join(HANDOVERS_NAME))
}

/// Signed hand-overs, a line each.
fn read_lines(path: &Path) -> Result<Vec<Option<Handover>>, StoreError> {
    let mut text = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(HANDOVERS_BYTES_MAX).read_to_end(&mut text));
    match read {
        Ok(_) => {
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            Ok(lines.map(|line| Handover::read(line).filter(Handover::is_signed)).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io("read", path.to_string_lossy(), error)),
    }
}

/// Puts the hand-overs that lie beside a key into the ledger that it is to sign.
pub(crate) fn carry(disk: &dyn Disk, key_file: &Path) -> Result<(), StoreError> {
    let handovers = read_handovers(key_file)?;
    if handovers.is_empty() {
        return Ok(());
    }
    let carry = || {
        let mut text = read_whole(disk, HANDOVERS_NAME, HANDOVERS_BYTES_MAX)?.unwrap_or_default();
        let is_there = |handover: &&Handover| {
            text.split(|byte| *byte == b'\n').any(|line| line == handover.text().as_bytes())
        };
        let missing: Vec<_> = handovers.iter().filter(|handover| !is_there(handover)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        for handover in missing {
            text.extend_from_slice(format!("{}\n", handover.text()).as_bytes());
        }
        disk.replace(HANDOVERS_NAME, &text)
    };
    carry().map_err(|error| StoreError::io("write", HANDOVERS_NAME, error))
}

/// The keys that whoever trusts the first ones can trust, by hand-overs.
pub fn trusted_keys(first: &[PublicKey], handovers: &[Handover]) -> Vec<PublicKey> {
    let mut keys = first.to_vec();
    loop {
        let next = handovers.iter().find(|handover| {
            keys.contains(&handover.old) && !keys.contains(&handover.new) && handover.is_signed()
        });
        match next {
            Some(handover) => keys.push(handover.new),
            None => return keys,
        }
    }
}

fn handovers_file(key_file: &Path) -> PathBuf {
    beside(key_file, ".handovers")
}
