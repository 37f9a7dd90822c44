//! Checkpoints: signed statements of how long the book is and what it holds.
//!
//! What is signed is the text of a checkpoint as transparency logs write it (C2SP tlog-checkpoint):
//! origin, size and root of the tree, and two lines more: the time, and how many records the checkpoint before
//! covers, so that none can be taken out of their row unseen. In the ledger's folder it stands as a line of JSON; [`Checkpoint::note`] gives the signed note that witnesses take.
//!
//! A checkpoint is made only of records that are on disk, and is itself synced, so that no crash can
//! look like a book that was cut.

use crate::disk::{Disk, DiskFile, OpenHow, read_range};
use crate::error::StoreError;
use crate::hash::{HashValue, parse_hex, write_hex};
use crate::head::Place;
use crate::key::{CheckpointKey, PublicKey};
use crate::limits::CHECKPOINT_BYTES_MAX;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::path::Path;
use tollgate_gate::{Json, Object, Timestamp};

/// The file in the ledger's folder that holds the checkpoints, one a line.
pub const CHECKPOINTS_NAME: &str = "checkpoints.jsonl";

/// A signed statement about the first `size` records of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which book: `tollgate/` and the start of the hash of its first line.
    pub origin: String,
    /// How many records it covers.
    pub size: u64,
    /// The root of their tree (RFC 6962 section 2.1).
    pub root: HashValue,
    /// When it was made.
    pub at: Timestamp,
    /// How many records the one before it covers, 0 for the first; `None` in one that does not say so.
    pub after: Option<u64>,
    /// The key that signed it.
    pub key: PublicKey,
    /// The signature.
    pub signature: [u8; 64],
}

impl Checkpoint {
    /// Signs what stands before this place, behind a checkpoint of `after` records.
    pub(crate) fn sign(
        place: &Place,
        at: Timestamp,
        after: u64,
        key: &CheckpointKey,
    ) -> Checkpoint {
        // To whole milliseconds, as it is written.
        let at = Timestamp::from_millis(at.millis());
        let mut checkpoint = Checkpoint {
            origin: origin(&place.first),
            size: place.seq(),
            root: place.tree.root(),
            at,
            after: Some(after),
            key: key.public(),
            signature: [0; 64],
        };
        checkpoint.signature = key.sign(checkpoint.body().as_bytes());
        checkpoint
    }

    /// Whether its key has signed it. Whether that key is to be trusted is another question.
    pub fn is_signed(&self) -> bool {
        self.key.has_signed(self.body().as_bytes(), &self.signature)
    }

    /// Reads the line of JSON that [`Checkpoint::text`] gives; `None` for anything else.
    pub fn read(text: &[u8]) -> Option<Checkpoint> {
        let json = Json::read(text).ok()?;
        let text = |key| json.get(key).and_then(Json::as_str);
        Some(Checkpoint {
            origin: text("origin")?.to_owned(),
            size: json.get("size")?.as_u64()?,
            root: HashValue::parse(text("root")?)?,
            at: Timestamp::parse(text("at")?)?,
            after: json
                .get("after")
                .map(Json::as_u64)
                .map_or(Some(None), |after| after.map(Some))?,
            key: PublicKey::parse(text("key")?)?,
            signature: parse_hex(text("signature")?)?,
        })
    }

    /// It as one line of JSON, without a newline.
    pub fn text(&self) -> String {
        Json::Object(self.object()).text()
    }

    pub(crate) fn object(&self) -> Object {
        let mut signature = Vec::new();
        write_hex(&self.signature, &mut signature);
        let mut out = Object::new();
        out.insert("origin", &*self.origin);
        out.insert("size", self.size);
        out.insert("root", self.root.to_string());
        out.insert("at", self.at.to_string());
        if let Some(after) = self.after {
            out.insert("after", after);
        }
        out.insert("key", self.key.to_string());
        out.insert("signature", String::from_utf8_lossy(&signature).into_owned());
        out
    }

    /// It as a signed note (C2SP signed-note and tlog-checkpoint), for witnesses and for keeping
    /// elsewhere.
    pub fn note(&self) -> String {
        let name = &self.origin;
        let id = Sha256::new()
            .chain_update(name.as_bytes())
            .chain_update(b"\n\x01")
            .chain_update(self.key.as_bytes())
            .finalize();
        let mut signature: Vec<u8> = id.iter().take(4).copied().collect();
        signature.extend_from_slice(&self.signature);
        format!("{}\n\u{2014} {name} {}\n", self.body(), base64(&signature))
    }

    /// What is signed.
    fn body(&self) -> String {
        let Checkpoint { origin, size, root, at, .. } = self;
        let after = self.after.map(|after| format!("after {after}\n")).unwrap_or_default();
        format!("{origin}\n{size}\n{}\nat {at}\n{after}", base64(root.as_bytes()))
    }
}

/// The name of the book whose first line has this hash.
pub(crate) fn origin(first: &HashValue) -> String {
    let mut name = first.to_string();
    name.truncate(16);
    format!("tollgate/{name}")
}

/// Base64 with padding (RFC 4648 section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at)) & 63;
            let digit = DIGITS.get(digit as usize).copied().unwrap_or(b'=');
            out.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// The last checkpoint in this ledger's folder, if it has one.
///
/// # Errors
/// [`StoreError`] when the file is there and cannot be read.
pub fn last_checkpoint(folder: &Path) -> Result<Option<Checkpoint>, StoreError> {
    let path = folder.join(CHECKPOINTS_NAME);
    let read = || {
        let file = File::open(&path)?;
        let len = DiskFile::len(&file)?;
        read_range(&file, len.saturating_sub(4 * CHECKPOINT_BYTES_MAX as u64), len)
    };
    match read() {
        Ok(bytes) => Ok(last_in(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", path.to_string_lossy(), error)),
    }
}

/// The last checkpoint of a ledger, if it has one. What a crash has left behind it is passed over.
pub(crate) fn read_last(disk: &dyn Disk) -> Result<Option<Checkpoint>, StoreError> {
    let read = || {
        let file = match disk.open(CHECKPOINTS_NAME, OpenHow::Existing) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let len = file.len()?;
        read_range(&*file, len.saturating_sub(4 * CHECKPOINT_BYTES_MAX as u64), len)
    };
    let bytes = read().map_err(|error| StoreError::io("read", CHECKPOINTS_NAME, error))?;
    Ok(last_in(&bytes))
}

fn last_in(bytes: &[u8]) -> Option<Checkpoint> {
    bytes.split(|byte| *byte == b'\n').rev().find_map(Checkpoint::read)
}

/// Appends a checkpoint, after cutting what a crash has left of one.
pub(crate) fn append(disk: &dyn Disk, checkpoint: &Checkpoint) -> Result<(), StoreError> {
    let append = || {
        let file = disk.open(CHECKPOINTS_NAME, OpenHow::OrNew)?;
        let len = file.len()?;
        if len == 0 {
            disk.sync_folder()?;
        }
        let from = len.saturating_sub(4 * CHECKPOINT_BYTES_MAX as u64);
        let tail = read_range(&*file, from, len)?;
        // A file whose whole end is no line was not written here; it is left for `verify` to report.
        let end = match whole_lines(&tail) {
            0 if from > 0 => len,
            lines => from + lines as u64,
        };
        if end < len {
            file.set_len(end)?;
        }
        let mut line = checkpoint.text().into_bytes();
        line.push(b'\n');
        file.write_at(&line, end)?;
        file.sync()
    };
    append().map_err(|error| StoreError::io("write", CHECKPOINTS_NAME, error))
}

/// Where the last line that is a checkpoint ends.
fn whole_lines(tail: &[u8]) -> usize {
    let mut end = tail.len();
    while end > 0 {
        let text = tail.get(..end).unwrap_or_default();
        let start = match text.strip_suffix(b"\n") {
            Some(lines) => {
                let start = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                if lines.get(start..).and_then(Checkpoint::read).is_some() {
                    return end;
                }
                start
            }
            None => text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1),
        };
        end = start;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::{Checkpoint, base64, whole_lines};
    use crate::head::Place;
    use crate::key::CheckpointKey;
    use tollgate_gate::Timestamp;

    fn checkpoint() -> Checkpoint {
        let mut place = Place::start();
        place.pass(b"a");
        place.pass(b"b");
        Checkpoint::sign(&place, Timestamp::from_millis(7), 1, &CheckpointKey::from_seed(&[7; 32]))
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let vectors =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, coded) in vectors {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_checkpoint_is_read_back_and_any_change_breaks_its_signature() {
        let checkpoint = checkpoint();
        assert_eq!(Checkpoint::read(checkpoint.text().as_bytes()), Some(checkpoint.clone()));
        assert!(checkpoint.is_signed());
        let mut other = checkpoint.clone();
        other.size += 1;
        assert!(!other.is_signed());
        let mut other = checkpoint.clone();
        other.origin.push('x');
        assert!(!other.is_signed());
        let mut other = checkpoint.clone();
        other.at = Timestamp::from_millis(8);
        assert!(!other.is_signed());
        for after in [None, Some(0)] {
            let mut other = checkpoint.clone();
            other.after = after;
            assert!(!other.is_signed());
        }
        let mut other = checkpoint;
        other.key = CheckpointKey::from_seed(&[8; 32]).public();
        assert!(!other.is_signed());
    }

    #[test]
    fn a_note_has_the_form_that_witnesses_take() {
        let note = checkpoint().note();
        let lines: Vec<&str> = note.lines().collect();
        assert!(lines[0].starts_with("tollgate/"));
        assert_eq!((lines[1], lines[3]), ("2", "at 1970-01-01T00:00:00.007Z"));
        assert_eq!((lines[4], lines[5]), ("after 1", ""));
        assert_eq!(lines[2].len(), 44);
        assert!(lines[6].starts_with(&format!("\u{2014} {} ", lines[0])));
    }

    #[test]
    fn what_a_crash_left_behind_the_last_checkpoint_is_cut() {
        let line = format!("{}\n", checkpoint().text());
        let whole = line.repeat(2);
        assert_eq!(whole_lines(whole.as_bytes()), whole.len());
        assert_eq!(whole_lines(format!("{whole}{}", &line[..50]).as_bytes()), whole.len());
        assert_eq!(whole_lines(format!("{whole}\0\0\n{{\n").as_bytes()), whole.len());
        assert_eq!(whole_lines(&line.as_bytes()[..50]), 0);
    }
}
