//! Pruning: taking the oldest segments away, with a signed tombstone in their place.
//!
//! The tombstone holds what the rest of the book hangs on: the hash of the last line that was taken
//! away and the tree over all of them. So chain and checkpoints of what is left still verify, and
//! segments that are missing without a tombstone are found. Only what a checkpoint covers is taken
//! away, whole segments at a time, never the last one.

use crate::book::{Book, BookError, Entries};
use crate::checkpoint::{self, origin};
use crate::disk::{Disk, read_whole};
use crate::error::StoreError;
use crate::folder::Folder;
use crate::hash::{HashValue, parse_hex, write_hex};
use crate::head::Place;
use crate::key::{CheckpointKey, PublicKey};
use crate::limits::TOMBSTONE_BYTES_MAX;
use crate::segment::segment_name;
use crate::tree::Frontier;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tollgate_gate::{Json, Object, Timestamp};

/// The file in the ledger's folder that stands for what was pruned.
pub const TOMBSTONE_NAME: &str = "pruned.json";

/// Why the book cannot be pruned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PruneError {
    /// The book cannot be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The folder or the key cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The book does not hold together; what is wrong must not be taken away.
    #[error("`{}` line {number} does not follow the line before it", .file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// The line in the file, from 1 on.
        number: u64,
    },
}

/// What stands for the first `size` records, which were taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// How many records were taken away, from the first on.
    pub size: u64,
    /// The hash of the first line of the book.
    pub first: HashValue,
    /// The hash of the last line that was taken away.
    pub prev: HashValue,
    /// The roots of the full subtrees that they made, largest first.
    pub peaks: Vec<HashValue>,
    /// When they were taken away.
    pub at: Timestamp,
    /// The key that signed this.
    pub key: PublicKey,
    /// The signature.
    pub signature: [u8; 64],
}

impl Tombstone {
    pub(crate) fn sign(place: &Place, at: Timestamp, key: &CheckpointKey) -> Tombstone {
        let at = Timestamp::from_millis(at.millis());
        let signature = key.sign(body(place, at).as_bytes());
        Tombstone {
            size: place.seq(),
            first: place.first,
            prev: place.prev,
            peaks: place.tree.peaks().to_vec(),
            at,
            key: key.public(),
            signature,
        }
    }

    /// Whether its key has signed it. Whether that key is to be trusted is another question.
    pub fn is_signed(&self) -> bool {
        let signed =
            |place: Place| self.key.has_signed(body(&place, self.at).as_bytes(), &self.signature);
        self.place().is_some_and(signed)
    }

    /// The start of what is left; none if size and tree do not fit.
    pub(crate) fn place(&self) -> Option<Place> {
        let tree = Frontier::from_peaks(self.size, self.peaks.clone())?;
        let segment = self.size.checked_add(1)?;
        Some(Place { segment, last: 0, end: 0, first: self.first, prev: self.prev, tree })
    }

    fn text(&self) -> String {
        let mut signature = Vec::new();
        write_hex(&self.signature, &mut signature);
        let peaks = self.peaks.iter().map(|peak| Json::String(peak.to_string())).collect();
        let mut out = Object::new();
        out.insert("size", self.size);
        out.insert("first", self.first.to_string());
        out.insert("prev", self.prev.to_string());
        out.insert("peaks", Json::Array(peaks));
        out.insert("at", self.at.to_string());
        out.insert("key", self.key.to_string());
        out.insert("signature", String::from_utf8_lossy(&signature).into_owned());
        Json::Object(out).text()
    }

    fn read(text: &[u8]) -> Option<Tombstone> {
        let json = Json::read(text).ok()?;
        let text = |key| json.get(key).and_then(Json::as_str);
        let peaks = json.get("peaks")?.as_array()?.iter();
        Some(Tombstone {
            size: json.get("size")?.as_u64()?,
            first: HashValue::parse(text("first")?)?,
            prev: HashValue::parse(text("prev")?)?,
            peaks: peaks.map(|peak| HashValue::parse(peak.as_str()?)).collect::<Option<_>>()?,
            at: Timestamp::parse(text("at")?)?,
            key: PublicKey::parse(text("key")?)?,
            signature: parse_hex(text("signature")?)?,
        })
    }
}

fn body(place: &Place, at: Timestamp) -> String {
    let (origin, size, root) = (origin(&place.first), place.seq(), place.tree.root());
    format!("tollgate-pruned\n{origin}\n{size}\n{root}\n{}\n{}\nat {at}\n", place.first, place.prev)
}

/// The tombstone of a ledger; none if nothing was pruned or what is there is no signed tombstone.
pub(crate) fn read_tombstone(disk: &dyn Disk) -> Result<Option<Tombstone>, StoreError> {
    let text = read_whole(disk, TOMBSTONE_NAME, TOMBSTONE_BYTES_MAX)
        .map_err(|error| StoreError::io("read", TOMBSTONE_NAME, error))?;
    Ok(text.as_deref().and_then(Tombstone::read).filter(Tombstone::is_signed))
}

/// As [`read_tombstone`], for readers of a folder.
pub(crate) fn tombstone_in(folder: &Path) -> io::Result<Option<Tombstone>> {
    match fs::read(folder.join(TOMBSTONE_NAME)) {
        Ok(text) if text.len() as u64 <= TOMBSTONE_BYTES_MAX => {
            Ok(Tombstone::read(&text).filter(Tombstone::is_signed))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes away the segments all of whose records are older than `before`. Gives the tombstone that
/// stands now, none if nothing was ever taken away.
///
/// # Errors
/// [`PruneError`]; nothing is taken away then.
pub fn prune(
    folder: &Path,
    key_file: &Path,
    before: Timestamp,
    now: Timestamp,
) -> Result<Option<Tombstone>, PruneError> {
    let disk = Folder::open(folder)?;
    let held = disk.lock()?;
    let key = CheckpointKey::open(key_file)?;
    let signed = checkpoint::read_last(&disk)?.map_or(0, |last| last.size);
    let old = read_tombstone(&disk)?;
    let mut place = old.as_ref().and_then(Tombstone::place).unwrap_or_else(Place::start);
    let start = place.clone();
    let book = Book::open(folder)?;
    let mut ahead = book.segments().collect::<Vec<_>>();
    // The last segment is the one that is written to, whatever else was put there.
    match book.head() {
        Some(head) => ahead.retain(|(first_seq, _)| *first_seq < head.now.segment),
        None => drop(ahead.pop()),
    }
    let mut over = Vec::new();
    for (segment, file) in ahead {
        let mut end = place.clone();
        if !pass_if_older(&file, &mut end, before)? || end.seq() > signed {
            break;
        }
        end.turn();
        place = end;
        over.push(segment);
    }
    if place == start {
        return Ok(old);
    }
    let tombstone = Tombstone::sign(&place, now, &key);
    bury(&disk, &tombstone, &over)
        .map_err(|error| StoreError::io("prune", folder.to_string_lossy(), error))?;
    drop(held);
    Ok(Some(tombstone))
}

/// Takes segments away. Only behind a tombstone that is on disk may any go.
pub(crate) fn bury(disk: &dyn Disk, tombstone: &Tombstone, over: &[u64]) -> io::Result<()> {
    disk.replace(TOMBSTONE_NAME, tombstone.text().as_bytes())?;
    over.iter().try_for_each(|segment| disk.remove(&segment_name(*segment)))?;
    disk.sync_folder()
}

/// Passes all lines of a sealed segment; says whether all of them are older.
fn pass_if_older(file: &Path, place: &mut Place, before: Timestamp) -> Result<bool, PruneError> {
    let mut is_older = true;
    for entry in Entries::open(file)? {
        let entry = entry?;
        if entry.line.seq != place.seq() + 1 || entry.line.prev != place.prev {
            return Err(PruneError::Broken { file: file.to_owned(), number: entry.number });
        }
        let at = entry.line.json.get("at").and_then(Json::as_str).and_then(Timestamp::parse);
        is_older &= at.is_some_and(|at| at < before);
        place.pass(&entry.text);
    }
    Ok(is_older)
}
