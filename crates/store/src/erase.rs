//! Erasing: taking one person's records out of the book without breaking it.
//!
//! A line that is erased is overwritten in its place, by one of the same length that holds its hash and
//! says no more than when something happened, of what kind, and what a hook decided. Chain, tree and
//! checkpoints rest on the hash alone, so all of them still verify; nothing else in the file moves, and
//! processes that have the book open notice nothing. What was erased is gone: the hash covers a random
//! id and keyed digests, so nobody can find the text again by trying.
//!
//! Each erasure is signed with the key of the checkpoints, over the exact lines that now stand there. A
//! line that was overwritten without such a signature is a finding, so erasing is no way to forge.
//!
//! It happens whole: what is to be written stands in a journal on disk before the first line is
//! touched. After a crash the next erasure, or the next run of the same, carries it out.

use crate::book::{Book, BookError, Entries};
use crate::checkpoint::{self, origin};
use crate::disk::{Disk, DiskFile, OpenHow, read_range, read_whole};
use crate::error::StoreError;
use crate::folder::Folder;
use crate::hash::{HashValue, parse_hex, write_hex};
use crate::index;
use crate::key::{CheckpointKey, PublicKey};
use crate::limits::{ERASURES_BYTES_MAX, JOURNAL_BYTES_MAX};
use crate::line::{Line, leaf_of};
use crate::segment::segment_name;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use tollgate_gate::{Json, Object, Timestamp};

/// The file in the ledger's folder that holds the erasures, one a line.
pub const ERASURES_NAME: &str = "erasures.jsonl";
/// What is to be overwritten, while that is going on.
const JOURNAL_NAME: &str = "erase.journal";
/// What an erased line still says, as far as there is room.
const KEPT: [&str; 7] = ["at", "kind", "event", "tool", "verdict", "hook", "code"];

/// Why nothing can be erased.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// The book cannot be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The folder or the key cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A line changed between looking at it and taking it away.
    #[error("record {seq} changed while it was looked at")]
    Changed {
        /// The record.
        seq: u64,
    },
    /// A line is too short for what must stand in its place.
    #[error("record {seq} is too short to be erased")]
    TooShort {
        /// The record.
        seq: u64,
    },
    /// What an earlier erasure left cannot be read.
    #[error("`{0}` cannot be read: it was not written by Tollgate, or only in part")]
    Journal(&'static str),
}

/// The lines that were erased in one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedPart {
    /// The segment, by the number of its first line.
    pub segment: u64,
    /// How many lines.
    pub lines: u64,
    /// The SHA-256 of what stands in their place, each line with its newline.
    pub sha256: HashValue,
}

/// That lines were erased, signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// Its number, from 1 on.
    pub number: u64,
    /// Which book, as checkpoints name it.
    pub origin: String,
    /// When.
    pub at: Timestamp,
    /// What was erased, segment by segment.
    pub parts: Vec<ErasedPart>,
    /// The key that signed this.
    pub key: PublicKey,
    /// The signature.
    pub signature: [u8; 64],
}

impl Erasure {
    pub(crate) fn sign(
        number: u64,
        origin: String,
        parts: Vec<ErasedPart>,
        at: Timestamp,
        key: &CheckpointKey,
    ) -> Erasure {
        let at = Timestamp::from_millis(at.millis());
        let mut erasure =
            Erasure { number, origin, at, parts, key: key.public(), signature: [0; 64] };
        erasure.signature = key.sign(erasure.body().as_bytes());
        erasure
    }

    /// How many lines were erased.
    pub fn lines(&self) -> u64 {
        self.parts.iter().map(|part| part.lines).sum()
    }

    /// Whether its key has signed it. Whether that key is to be trusted is another question.
    pub fn is_signed(&self) -> bool {
        self.key.has_signed(self.body().as_bytes(), &self.signature)
    }

    fn body(&self) -> String {
        let mut body = format!("tollgate-erasure\n{}\n{}\n", self.origin, self.number);
        for ErasedPart { segment, lines, sha256 } in &self.parts {
            body.push_str(&format!("{segment} {lines} {sha256}\n"));
        }
        body.push_str(&format!("at {}\n", self.at));
        body
    }

    fn text(&self) -> String {
        let part = |part: &ErasedPart| {
            let mut out = Object::new();
            out.insert("segment", part.segment);
            out.insert("lines", part.lines);
            out.insert("sha256", part.sha256.to_string());
            Json::Object(out)
        };
        let mut signature = Vec::new();
        write_hex(&self.signature, &mut signature);
        let mut out = Object::new();
        out.insert("erasure", self.number);
        out.insert("origin", &*self.origin);
        out.insert("at", self.at.to_string());
        out.insert("parts", Json::Array(self.parts.iter().map(part).collect()));
        out.insert("key", self.key.to_string());
        out.insert("signature", String::from_utf8_lossy(&signature).into_owned());
        Json::Object(out).text()
    }

    pub(crate) fn read(text: &[u8]) -> Option<Erasure> {
        let json = Json::read(text).ok()?;
        let text = |key| json.get(key).and_then(Json::as_str);
        let part = |part: &Json| {
            Some(ErasedPart {
                segment: part.get("segment")?.as_u64()?,
                lines: part.get("lines")?.as_u64()?,
                sha256: HashValue::parse(part.get("sha256")?.as_str()?)?,
            })
        };
        Some(Erasure {
            number: json.get("erasure")?.as_u64()?,
            origin: text("origin")?.to_owned(),
            at: Timestamp::parse(text("at")?)?,
            parts: json.get("parts")?.as_array()?.iter().map(part).collect::<Option<_>>()?,
            key: PublicKey::parse(text("key")?)?,
            signature: parse_hex(text("signature")?)?,
        })
    }
}

/// A line that is to be overwritten.
pub(crate) struct Planned {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
    pub(crate) seq: u64,
    pub(crate) stub: Vec<u8>,
    pub(crate) hash: HashValue,
}

/// Erases the records that are meant. `None` if there are none. An erasure that a crash has interrupted
/// is carried out first.
///
/// # Errors
/// [`EraseError`]; nothing is erased then, or, once the journal is written, it is carried out by the
/// next call.
pub fn erase(
    folder: &Path,
    key_file: &Path,
    is_meant: &dyn Fn(&Json) -> bool,
    now: Timestamp,
) -> Result<Option<Erasure>, EraseError> {
    let disk = Folder::open(folder)?;
    // Never a new one in the place of a lost one.
    let key = match checkpoint::read_last(&disk)? {
        Some(_) => CheckpointKey::open(key_file)?,
        None => CheckpointKey::open_or_make(key_file)?,
    };
    // The index holds names; it is made anew by whoever asks next.
    let forget_index = || index::remove(folder).map_err(io::Error::other);
    {
        let held = disk.lock()?;
        carry_out(&disk, &forget_index)?;
        drop(held);
    }
    let number = read_erasures(folder)?.last().map_or(1, |last| last.number + 1);
    let planned = plan(folder, number, is_meant)?;
    if planned.is_empty() {
        return Ok(None);
    }
    let origin = book_origin(folder)?;
    let erasure = Erasure::sign(number, origin, parts_of(&planned), now, &key);
    let held = disk.lock()?;
    for line in &planned {
        let end = line.offset + line.stub.len() as u64;
        let name = segment_name(line.segment);
        let read = || read_range(&*disk.open(&name, OpenHow::Existing)?, line.offset, end);
        let now = read().map_err(|error| StoreError::io("read", &name, error))?;
        if leaf_of(&now) != line.hash || now == line.stub {
            return Err(EraseError::Changed { seq: line.seq });
        }
    }
    write_journal(&disk, &erasure, &planned)?;
    carry_out(&disk, &forget_index)?;
    drop(held);
    Ok(Some(erasure))
}

/// Looks for what is meant, without holding anybody up: lines do not move.
fn plan(
    folder: &Path,
    number: u64,
    is_meant: &dyn Fn(&Json) -> bool,
) -> Result<Vec<Planned>, EraseError> {
    let book = Book::open(folder)?;
    let end = book.head().map(|head| (head.now.segment, head.now.end));
    let mut planned = Vec::new();
    for (segment, file) in book.segments() {
        let until = match end {
            Some((last, end)) if segment == last => end,
            Some((last, _)) if segment > last => break,
            Some(_) | None => u64::MAX,
        };
        for entry in Entries::open_range(file, 0, until)? {
            let entry = entry?;
            if entry.line.erased.is_some() || !is_meant(&entry.line.json) {
                continue;
            }
            let (seq, hash) = (entry.line.seq, leaf_of(&entry.text));
            let stub = stub(&entry.line, &hash, number, entry.text.len());
            let stub = stub.ok_or(EraseError::TooShort { seq })?;
            planned.push(Planned { segment, offset: entry.offset, seq, stub, hash });
        }
    }
    Ok(planned)
}

/// What stands in the place of a line: as long as it, to the byte.
pub(crate) fn stub(line: &Line, hash: &HashValue, number: u64, len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(len);
    let _ = write!(out, "{{\"seq\":{},\"prev\":\"{}\"", line.seq, line.prev);
    let _ = write!(out, ",\"erased\":\"{hash}\",\"erasure\":{number}");
    if let Some(synced) = line.synced {
        let _ = write!(out, ",\"synced\":{synced}");
    }
    for key in KEPT {
        let Some(value) = line.json.get(key).filter(|value| value.as_str().is_some()) else {
            continue;
        };
        let member = format!(",\"{key}\":{}", value.text());
        if out.len() + member.len() < len {
            out.extend_from_slice(member.as_bytes());
        }
    }
    let room = len.checked_sub(out.len() + 1)?;
    out.resize(out.len() + room, b' ');
    out.push(b'}');
    Some(out)
}

pub(crate) fn parts_of(planned: &[Planned]) -> Vec<ErasedPart> {
    let mut parts: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    for line in planned {
        match parts.last_mut().filter(|part| part.0 == line.segment) {
            Some(part) => part.1 += 1,
            None => parts.push((line.segment, 1, Vec::new())),
        }
        if let Some((_, _, text)) = parts.last_mut() {
            text.extend_from_slice(&line.stub);
            text.push(b'\n');
        }
    }
    let part = |(segment, lines, text): (u64, u64, Vec<u8>)| ErasedPart {
        segment,
        lines,
        sha256: HashValue::of(&text),
    };
    parts.into_iter().map(part).collect()
}

fn book_origin(folder: &Path) -> Result<String, EraseError> {
    let book = Book::open(folder)?;
    if let Some(tombstone) = book.tombstone() {
        return Ok(origin(&tombstone.first));
    }
    let first = book.entries().next().transpose()?;
    Ok(origin(&first.map_or(HashValue::ZERO, |first| leaf_of(&first.text))))
}

pub(crate) fn write_journal(
    disk: &dyn Disk,
    erasure: &Erasure,
    planned: &[Planned],
) -> Result<(), EraseError> {
    let mut text = format!("{}\n", erasure.text()).into_bytes();
    for line in planned {
        let mut out = Object::new();
        out.insert("segment", line.segment);
        out.insert("offset", line.offset);
        out.insert("line", String::from_utf8_lossy(&line.stub).into_owned());
        text.extend_from_slice(Json::Object(out).text().as_bytes());
        text.push(b'\n');
    }
    let written = disk.replace(JOURNAL_NAME, &text);
    Ok(written.map_err(|error| StoreError::io("write", JOURNAL_NAME, error))?)
}

/// Does what the journal says, if there is one. Doing it twice changes nothing. The lock must be held.
pub(crate) fn carry_out(
    disk: &dyn Disk,
    forget_index: &dyn Fn() -> io::Result<()>,
) -> Result<(), EraseError> {
    let text = read_whole(disk, JOURNAL_NAME, JOURNAL_BYTES_MAX)
        .map_err(|error| StoreError::io("read", JOURNAL_NAME, error))?;
    let Some(text) = text else { return Ok(()) };
    let bad = || EraseError::Journal(JOURNAL_NAME);
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let erasure = lines.next().and_then(Erasure::read).ok_or_else(bad)?;
    add_erasure(disk, &erasure).map_err(|error| StoreError::io("write", ERASURES_NAME, error))?;
    let mut open: Option<(u64, Box<dyn DiskFile>)> = None;
    for line in lines {
        let (segment, offset, stub) = read_stub(line).ok_or_else(bad)?;
        let mut overwrite = || {
            if open.as_ref().is_none_or(|(other, _)| *other != segment) {
                if let Some((_, done)) = open.take() {
                    done.sync()?;
                }
                // What was pruned meanwhile is gone all the same.
                match disk.open(&segment_name(segment), OpenHow::Existing) {
                    Ok(file) => open = Some((segment, file)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            open.as_ref().map_or(Ok(()), |(_, file)| file.write_at(stub.as_bytes(), offset))
        };
        overwrite()
            .map_err(|error| StoreError::io("overwrite in", segment_name(segment), error))?;
    }
    let finish = || {
        open.map_or(Ok(()), |(_, done)| done.sync())?;
        forget_index()?;
        disk.remove(JOURNAL_NAME)?;
        disk.sync_folder()
    };
    Ok(finish().map_err(|error| StoreError::io("finish", JOURNAL_NAME, error))?)
}

/// Puts an erasure behind those that there are, if it is not one of them.
fn add_erasure(disk: &dyn Disk, erasure: &Erasure) -> io::Result<()> {
    let mut text = read_whole(disk, ERASURES_NAME, ERASURES_BYTES_MAX)?.unwrap_or_default();
    let mut known = text.split(|byte| *byte == b'\n').filter_map(Erasure::read);
    if known.any(|known| known.number == erasure.number) {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{}\n", erasure.text()).as_bytes());
    disk.replace(ERASURES_NAME, &text)
}

/// What a line of the journal says: the segment, the byte in it, and what is to stand there.
fn read_stub(line: &[u8]) -> Option<(u64, u64, String)> {
    let json = Json::read(line).ok()?;
    let number = |key| json.get(key).and_then(Json::as_u64);
    let stub = json.get("line").and_then(Json::as_str)?;
    Some((number("segment")?, number("offset")?, stub.to_owned()))
}

/// The erasures of a ledger, in order; lines that are none are left out here, and found by `verify`.
///
/// # Errors
/// [`StoreError::Io`] when the file is there and cannot be read.
pub fn read_erasures(folder: &Path) -> Result<Vec<Erasure>, StoreError> {
    let text = read_capped(folder, ERASURES_NAME, ERASURES_BYTES_MAX)?.unwrap_or_default();
    Ok(text.split(|byte| *byte == b'\n').filter_map(Erasure::read).collect())
}

/// A file of the folder; none if it is not there.
pub(crate) fn read_capped(
    folder: &Path,
    name: &str,
    max: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut text = Vec::new();
    let read = File::open(folder.join(name)).and_then(|file| file.take(max).read_to_end(&mut text));
    match read {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", name, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::stub;
    use crate::hash::HashValue;
    use crate::line::{Line, leaf_of, write_line};

    #[test]
    fn what_stands_in_place_of_a_line_is_as_long_and_stands_for_its_hash() {
        let body = br#"{"version":1,"id":"0199","at":"2026-01-02T03:04:05Z","kind":"decision",
            "user":"alice","asked":{"to":"alice@example.com"},"verdict":"deny","hook":"h","more":"text"}"#;
        let mut text = Vec::new();
        write_line(&mut text, 7, &HashValue::of(b"x"), Some(5), body);
        text.retain(|byte| *byte != b'\n');
        let (line, hash) = (Line::read(&text).unwrap(), leaf_of(&text));
        let stub = stub(&line, &hash, 3, text.len()).unwrap();
        assert_eq!(stub.len(), text.len());
        let read = Line::read(&stub).unwrap();
        let erased = read.erased.unwrap();
        assert_eq!((erased.hash, erased.erasure, read.synced), (hash, 3, Some(5)));
        assert_eq!(leaf_of(&stub), hash);
        assert_eq!(read.json.get("verdict"), line.json.get("verdict"));
        assert!(!String::from_utf8(stub).unwrap().contains("alice"));
        assert!(super::stub(&line, &hash, 3, 150).is_none());
    }
}
