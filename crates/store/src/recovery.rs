//! Finding the end of the book again: after a crash, a power cut, a lost head.
//!
//! Reading starts at the last end that is known to be on disk, or at the first line, and follows the
//! chain. What a crash can leave behind the last whole line is cut, by whoever holds the lock, and a
//! record tells of it. Anything else is damage, and damage is never repaired here: the ledger refuses
//! to open, and a person looks.

use crate::checkpoint;
use crate::disk::{Disk, DiskFile, OpenHow, read_range};
use crate::error::StoreError;
use crate::hash::HashValue;
use crate::head::{Head, Place, Signed};
use crate::limits::{SEGMENT_READ_BYTES_MAX, SEGMENTS_MAX};
use crate::line::leaf_of;
use crate::prune::{Tombstone, read_tombstone};
use crate::segment::{Rest, first_seq, pass_lines, segment_name};

/// The end of the book, as it was found.
pub(crate) struct Found {
    pub(crate) place: Place,
    /// The last segment; none while the book is empty.
    pub(crate) file: Option<Box<dyn DiskFile>>,
    /// What was cut.
    pub(crate) cut: Option<Cut>,
    /// How far it is signed.
    pub(crate) signed: Signed,
}

/// What was cut from the end of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) segment: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) sha256: HashValue,
}

/// Finds the end of the book, cuts what is torn, and makes both durable. The lock must be held.
pub(crate) fn recover(disk: &dyn Disk, head: Option<&Head>) -> Result<Found, StoreError> {
    let segments = list_segments(disk)?;
    let mut place = start(disk, head, &segments)?;
    let mut found =
        Found { place: place.clone(), file: None, cut: None, signed: Signed::default() };
    let from = place.segment;
    for segment in segments.iter().filter(|segment| **segment >= from) {
        if *segment != place.segment {
            check_leads_on(&place, *segment, found.cut.as_ref())?;
            place.turn();
        }
        let name = segment_name(*segment);
        let file = disk
            .open(&name, OpenHow::Existing)
            .map_err(|error| StoreError::io("open", &name, error))?;
        found.cut = pass_segment(&*file, &mut place)?;
        found.file = Some(file);
    }
    found.place = place;
    check_against(head, &found)?;
    // Within one run of the system nothing that was written is lost: the head knows the end as it is.
    if let Some(head) = head.filter(|head| head.boot.is_some() && head.boot == disk.boot()) {
        check_last_line(disk, &head.now)?;
    }
    if let Some(last) = checkpoint::read_last(disk)? {
        found.signed = Signed { size: last.size, at_ms: last.at.millis() };
        let seq = found.place.seq();
        if last.size > seq {
            let what = format!("the book ends at line {seq}, but {} lines were signed", last.size);
            return Err(damaged(found.place.segment, found.place.end, what));
        }
    }
    // What the head knows to be on disk needs no second sync; the usual case, and a cheap one.
    let is_known = head.is_some_and(|head| head.synced == found.place) && found.cut.is_none();
    if let Some(file) = found.file.as_ref().filter(|_| !is_known) {
        settle_end(&**file, &found)?;
    }
    Ok(found)
}

/// Where reading starts.
fn start(disk: &dyn Disk, head: Option<&Head>, segments: &[u64]) -> Result<Place, StoreError> {
    if let Some(head) = head.filter(|head| head.synced.seq() > 0) {
        let place = head.synced.clone();
        if !segments.contains(&place.segment) {
            return Err(damaged(place.segment, 0, "the segment is missing".into()));
        }
        check_last_line(disk, &place)?;
        return Ok(place);
    }
    let pruned = read_tombstone(disk)?.as_ref().and_then(Tombstone::place);
    let start = pruned.unwrap_or_else(Place::start);
    // Segments that should have been pruned may still be there.
    match segments.iter().find(|segment| **segment >= start.segment) {
        Some(first) if *first != start.segment => {
            Err(damaged(*first, 0, "the segments before it are missing".into()))
        }
        None if start.segment > 1 => {
            Err(damaged(start.segment, 0, "the segments behind the pruned ones are missing".into()))
        }
        Some(_) | None => Ok(start),
    }
}

/// The line before a place must be the one that the head knows.
pub(crate) fn check_last_line(disk: &dyn Disk, place: &Place) -> Result<(), StoreError> {
    if place.end == 0 {
        return Ok(());
    }
    let name = segment_name(place.segment);
    let read = || {
        let file = disk.open(&name, OpenHow::Existing)?;
        read_range(&*file, place.last, place.end)
    };
    let bytes = read().map_err(|error| StoreError::io("read", &name, error))?;
    let hash = bytes.strip_suffix(b"\n").map(leaf_of);
    if hash != Some(place.prev) {
        let what = format!("line {} is not the one that was written", place.seq());
        return Err(damaged(place.segment, place.last, what));
    }
    Ok(())
}

/// Whether the next segment can be the one that follows: a segment is begun where the one before it
/// ends, and only when that one is whole.
fn check_leads_on(place: &Place, segment: u64, cut: Option<&Cut>) -> Result<(), StoreError> {
    let next = place.seq() + 1;
    if segment > next {
        let what = format!(
            "line {next} is missing before it: either the lines before it were taken away, or this file \
             was put there and is to be taken away"
        );
        return Err(damaged(segment, 0, what));
    }
    if segment < next {
        let what = format!(
            "the book has line {segment} already: this file was put there, and is to be taken away"
        );
        return Err(damaged(segment, 0, what));
    }
    match cut {
        None => Ok(()),
        Some(cut) => {
            let what = format!("no line, where `{}` follows", segment_name(segment));
            Err(StoreError::Damaged { segment: cut.segment.clone(), offset: cut.offset, what })
        }
    }
}

fn pass_segment(file: &dyn DiskFile, place: &mut Place) -> Result<Option<Cut>, StoreError> {
    let name = segment_name(place.segment);
    let read = || {
        let len = file.len()?;
        if len.saturating_sub(place.end) > SEGMENT_READ_BYTES_MAX {
            return Err(std::io::Error::other("it is larger than a segment can be"));
        }
        read_range(file, place.end, len)
    };
    let bytes = read().map_err(|error| StoreError::io("read", &name, error))?;
    let start = place.end;
    match pass_lines(place, &bytes) {
        Rest::Clean => Ok(None),
        Rest::Torn { bytes: torn } => {
            let from = usize::try_from(place.end - start).unwrap_or(usize::MAX);
            let torn_bytes = bytes.get(from..).and_then(|rest| rest.get(..torn));
            Ok(Some(Cut {
                segment: name,
                offset: place.end,
                bytes: torn as u64,
                sha256: HashValue::of(torn_bytes.unwrap_or_default()),
            }))
        }
        Rest::Damaged { what } => Err(damaged(place.segment, place.end, what)),
    }
}

/// What the head knows to be on disk must have been found.
fn check_against(head: Option<&Head>, found: &Found) -> Result<(), StoreError> {
    let Some(head) = head else { return Ok(()) };
    let (known, seq) = (head.synced.seq(), found.place.seq());
    if known > seq {
        let what = format!("the book ends at line {seq}, but line {known} was on disk");
        return Err(damaged(found.place.segment, found.place.end, what));
    }
    Ok(())
}

/// Cuts what is torn; what was found must be on disk before anything is built on it.
fn settle_end(file: &dyn DiskFile, found: &Found) -> Result<(), StoreError> {
    let name = || segment_name(found.place.segment);
    if found.cut.is_some() {
        file.set_len(found.place.end).map_err(|error| StoreError::io("trim", name(), error))?;
    }
    file.sync().map_err(|error| StoreError::io("recover", name(), error))
}

/// The first numbers of all segments, in order.
pub(crate) fn list_segments(disk: &dyn Disk) -> Result<Vec<u64>, StoreError> {
    let names = disk.list().map_err(|error| StoreError::io("list", "the ledger", error))?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| first_seq(name)).collect();
    if segments.len() > SEGMENTS_MAX {
        return Err(damaged(0, 0, format!("there are more than {SEGMENTS_MAX} segments")));
    }
    segments.sort_unstable();
    Ok(segments)
}

fn damaged(segment: u64, offset: u64, what: String) -> StoreError {
    StoreError::Damaged { segment: segment_name(segment), offset, what }
}
