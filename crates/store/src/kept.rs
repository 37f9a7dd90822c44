//! What was signed last, kept beside the key: a line for each ledger that the key signs.
//!
//! A book that was set back to an earlier state is a whole book, with checkpoints that verify; one that
//! was removed leaves room for a new one. Only what is kept elsewhere tells. So whoever signs first
//! looks whether the book still leads on from what the key has signed, and signs nothing if it does
//! not: another checkpoint would bear witness for the forgery.
//!
//! It is no proof against whoever can read the key: they can sign, and can write here. So opening a ledger
//! takes a line at its word, without the signature, which would be a good part of a short process's life: a
//! forged line can only close the ledger. Before anything is signed, the signature is looked at.

use crate::book::Book;
use crate::checkpoint::{CHECKPOINTS_NAME, Checkpoint, last_checkpoint, origin};
use crate::disk::{Disk, OpenHow, read_range};
use crate::error::StoreError;
use crate::folder::{Folder, open_file, wait_for, write_whole};
use crate::head::{HEAD_NAME, Head, Place, read_place, write_place};
use crate::key::{CheckpointKey, beside, last_checkpoint_file};
use crate::limits::{KEPT_BYTES_MAX, LOCK_WAIT_MS_MAX, SEGMENT_READ_BYTES_MAX};
use crate::recovery::{check_last_line, list_segments};
use crate::segment::{Rest, pass_lines, segment_name};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tollgate_gate::Json;

/// What is kept of one ledger.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) checkpoint: Checkpoint,
    /// Where the ledger is; none in a line of an earlier version.
    folder: Option<String>,
    /// The place in the book that was signed.
    pub(crate) place: Option<Place>,
}

impl Kept {
    /// Reads a line; none if it is no checkpoint. Whether it is signed is not looked at.
    fn read(line: &[u8]) -> Option<Kept> {
        let checkpoint = Checkpoint::read(line)?;
        let json = Json::read(line).ok()?;
        let text = |key| json.get(key).and_then(Json::as_str);
        let is_of_it = |place: &Place| {
            place.seq() == checkpoint.size
                && place.tree.root() == checkpoint.root
                && origin(&place.first) == checkpoint.origin
        };
        let place = text("place").and_then(read_place).filter(is_of_it);
        Some(Kept { folder: text("folder").map(str::to_owned), place, checkpoint })
    }

    fn text(&self) -> String {
        let mut out = self.checkpoint.object();
        out.insert("folder", self.folder.as_deref());
        if let Some(place) = &self.place {
            let mut text = Vec::new();
            write_place(&mut text, place);
            out.insert("place", String::from_utf8_lossy(&text).trim_end());
        }
        Json::Object(out).text()
    }

    /// Whether a book that ends here can be the one that was signed, as far as its length and its first
    /// line tell.
    pub(crate) fn check(&self, key: &Path, folder: &Path, now: &Place) -> Result<(), StoreError> {
        let is_same = now.seq() == 0 || origin(&now.first) == self.checkpoint.origin;
        match is_same && now.seq() >= self.checkpoint.size {
            true => Ok(()),
            false => Err(set_back(key, folder, self.checkpoint.size, now.seq())),
        }
    }
}

/// Whoever signs rests on what was signed before, so that must be what it says.
pub(crate) fn check_signature(key: &Path, kept: &Kept) -> Result<(), StoreError> {
    if kept.checkpoint.is_signed() {
        return Ok(());
    }
    let what = "the signature of a checkpoint in it is wrong: bring the file back from a copy; or, if it \
                was damaged by accident, move it away";
    Err(StoreError::Key { file: last_checkpoint_file(key), what })
}

pub(crate) fn set_back(key: &Path, folder: &Path, signed: u64, records: u64) -> StoreError {
    let kept = last_checkpoint_file(key);
    StoreError::SetBack { folder: folder.to_owned(), kept, signed, records }
}

/// What is kept beside this key of the ledger in this folder, or of the book of this origin wherever it
/// was.
pub(crate) fn of_ledger(
    key: &Path,
    folder: &Path,
    origin: Option<&str>,
) -> Result<Option<Kept>, StoreError> {
    let name = name_of(folder);
    let mut all = read_all(key)?;
    let here = all.iter().position(|kept| kept.folder.as_deref() == Some(&*name));
    let same = || all.iter().position(|kept| Some(&*kept.checkpoint.origin) == origin);
    Ok(here.or_else(same).map(|place| all.swap_remove(place)))
}

/// The checkpoint that is kept beside this key of the ledger in this folder.
///
/// # Errors
/// [`StoreError::Io`] when the file is there and cannot be read.
pub fn kept_checkpoint(
    key: &Path,
    folder: &Path,
    origin: Option<&str>,
) -> Result<Option<Checkpoint>, StoreError> {
    Ok(of_ledger(key, folder, origin)?.map(|kept| kept.checkpoint))
}

/// Whether the ledger in this folder could be written to now, and still holds as much as this key has
/// signed of it. Makes the files of its locks if they are gone, and writes nothing else.
///
/// # Errors
/// What a writer would meet: [`StoreError::SetBack`] when the book does not lead on from what was signed,
/// [`StoreError::Damaged`] when it does not end as its head says, others when files cannot be used.
pub fn look(key: &Path, folder: &Path) -> Result<(), StoreError> {
    let is_there = fs::symlink_metadata(folder).is_ok();
    let head = if is_there { check_end(folder)? } else { None };
    let now = match head {
        Some(head) => head.now,
        None if has_segments(folder) => return Ok(()),
        None => Place::start(),
    };
    let known = (now.seq() > 0).then(|| origin(&now.first));
    let kept = of_ledger(key, folder, known.as_deref())?;
    if let Some(kept) = &kept {
        kept.check(key, folder, &now)?;
    }
    check_key(key, kept.is_some() || last_checkpoint(folder)?.is_some())?;
    // One that is there will be signed with.
    match fs::symlink_metadata(key) {
        Ok(_) => CheckpointKey::open(key).map(drop),
        Err(_) => Ok(()),
    }
}

/// The head of a ledger, where its files can be written to and the book ends as it says.
fn check_end(folder: &Path) -> Result<Option<Head>, StoreError> {
    let disk = Folder::open(folder)?;
    let io = |error| StoreError::io("write to", folder.to_string_lossy(), error);
    let room = rustix::fs::statvfs(folder).map_err(io_error).map_err(io)?;
    if room.f_bavail == 0 {
        return Err(io(io::ErrorKind::StorageFull.into()));
    }
    for name in [HEAD_NAME, CHECKPOINTS_NAME] {
        match disk.open(name, OpenHow::Existing) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("open", name, error));
            }
            Ok(_) | Err(_) => {}
        }
    }
    let head = Book::open(folder).ok().and_then(|book| book.head().cloned());
    // After a start of the system the end is looked for by reading.
    if let Some(head) = head.as_ref().filter(|head| head.boot == disk.boot()) {
        check_last_line(&disk, &head.now)?;
    }
    Ok(head)
}

fn io_error(error: rustix::io::Errno) -> io::Error {
    error.into()
}

/// A new key in the place of a lost one would sign without anybody vouching for it.
pub(crate) fn check_key(key: &Path, has_signed: bool) -> Result<(), StoreError> {
    let is_gone =
        fs::symlink_metadata(key).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if is_gone && has_signed {
        let what = "it is gone, and has signed this ledger: bring it back from a copy; or move the \
                    ledger and what lies beside the key away, and a new ledger begins";
        return Err(StoreError::Key { file: key.to_owned(), what });
    }
    Ok(())
}

fn has_segments(folder: &Path) -> bool {
    Book::open(folder).is_ok_and(|book| book.files().next().is_some())
}

/// Puts in place of what was kept of this ledger what was signed now.
pub(crate) fn keep(
    key: &Path,
    folder: &Path,
    checkpoint: &Checkpoint,
    place: &Place,
) -> Result<(), StoreError> {
    // Ledgers that one key signs have locks of their own, and share this file.
    let io = |error| StoreError::io("write beside", key.to_string_lossy(), error);
    let turn = Arc::new(open_file(&beside(key, ".lock"), OpenHow::OrNew).map_err(io)?);
    let held = wait_for(&turn, Instant::now() + Duration::from_millis(LOCK_WAIT_MS_MAX))?;
    let name = name_of(folder);
    let mut all = read_all(key)?;
    all.retain(|kept| {
        kept.folder.as_deref() != Some(&*name) && kept.checkpoint.origin != checkpoint.origin
    });
    let (checkpoint, place) = (checkpoint.clone(), Some(place.clone()));
    all.push(Kept { checkpoint, folder: Some(name), place });
    let text: String = all.iter().map(|kept| kept.text() + "\n").collect();
    if text.len() as u64 > KEPT_BYTES_MAX {
        return Err(StoreError::Key {
            file: last_checkpoint_file(key),
            what: "it is about too many ledgers: take out the lines of those that are gone",
        });
    }
    write_whole(&last_checkpoint_file(key), text.as_bytes()).map_err(io)?;
    drop(held);
    Ok(())
}

fn read_all(key: &Path) -> Result<Vec<Kept>, StoreError> {
    let path = last_checkpoint_file(key);
    // With room for the usual few lines: a buffer that grows takes a read for each of its sizes.
    let mut text = Vec::with_capacity(4 * 1024);
    match File::open(&path).and_then(|file| file.take(KEPT_BYTES_MAX).read_to_end(&mut text)) {
        Ok(_) => Ok(text.split(|byte| *byte == b'\n').filter_map(Kept::read).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io("read", path.to_string_lossy(), error)),
    }
}

/// The folder as it is written down: whole, links followed where it is there.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().or_else(|_| std::path::absolute(folder));
    whole.unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

/// Whether the lines behind one place of the book lead to another.
pub(crate) fn leads_to(disk: &dyn Disk, from: &Place, to: &Place) -> Result<bool, StoreError> {
    let mut place = from.clone();
    for segment in list_segments(disk)? {
        if segment < place.segment || segment > to.segment {
            continue;
        }
        if segment != place.segment {
            // The segment that it stood at the end of may have been pruned meanwhile.
            if segment != place.seq() + 1 {
                return Ok(false);
            }
            place.turn();
        }
        let name = segment_name(segment);
        let read = || {
            let file = disk.open(&name, OpenHow::Existing)?;
            let end = if segment == to.segment { to.end } else { file.len()? };
            if end.saturating_sub(place.end) > SEGMENT_READ_BYTES_MAX {
                return Err(io::Error::other("it is larger than a segment can be"));
            }
            read_range(&*file, place.end, end)
        };
        let bytes = read().map_err(|error| StoreError::io("read", &name, error))?;
        if pass_lines(&mut place, &bytes) != Rest::Clean {
            return Ok(false);
        }
    }
    Ok(place.tree == to.tree && place.prev == to.prev)
}
