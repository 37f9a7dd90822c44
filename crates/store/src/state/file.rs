//! The file of one session: four slots, so that a write that is torn never costs what was there.
//!
//! A state is written as a whole into a slot of its own and is known by its number and its hash; the
//! newest whole one counts. Two slots take turns for what a power cut may take back (counters). What it
//! may not take (the end of a session, labels) is written to two others, one after the other, each
//! synced: so one of them is whole at every moment, and damage to either loses nothing.
//!
//! A file in which no synced slot can be read although one was written, or no slot at all, is damaged:
//! that is an error, never an empty session and never an older one.

use crate::disk::DiskFile;
use crate::hash::HashValue;
use std::io;

/// Room for one state, in bytes.
pub(crate) const SLOT_BYTES: usize = 64 * 1024;
/// The slots that are synced, and those that are written without a sync. A file that was cut off loses
/// the second before the first.
const DURABLE: [usize; 2] = [0, 1];
const QUICK: [usize; 2] = [2, 3];
const SLOTS: usize = 4;

/// What a slot starts with: its format, its number, the length of what it holds.
const START: &str = "tollgate-session ";
const VERSION: &str = "1";
const HEADER_BYTES: usize = START.len() + VERSION.len() + 1 + 16 + 1 + 8 + 1;
const HEADER_LEN: u64 = HEADER_BYTES as u64;
const SUM_BYTES: usize = 64 + 1;
/// What is read of a slot at first; most states are shorter.
const FIRST_BYTES: usize = 2048;

/// Largest state, in bytes.
pub(crate) const STATE_BYTES_MAX: usize = SLOT_BYTES - HEADER_BYTES - SUM_BYTES;

/// How a state is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// It is not.
    Not,
    /// A power cut may take it back.
    Quick,
    /// It is on disk when the write returns.
    Durable,
}

/// Why the file cannot be used.
#[derive(Debug)]
pub(crate) enum FileFault {
    Io(io::Error),
    /// No slot can be read, and the file is not blank.
    Damaged,
    /// A newer Tollgate has written it.
    Newer,
    /// The state is larger than a slot.
    TooLarge,
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> FileFault {
        FileFault::Io(error)
    }
}

/// What was found in a file.
#[derive(Debug)]
pub(crate) struct Found {
    /// The newest state; `None` in a blank file.
    pub(crate) state: Option<Vec<u8>>,
    /// The number of each slot that holds a whole state; 0 for one that holds none.
    numbers: [u64; SLOTS],
}

impl Found {
    /// Whether a state was ever synced in this file.
    pub(crate) fn was_synced(&self) -> bool {
        DURABLE.iter().any(|slot| self.numbers.get(*slot).is_some_and(|number| *number > 0))
    }
}

impl Found {
    fn note(&mut self, slot: usize, number: u64) {
        if let Some(known) = self.numbers.get_mut(slot) {
            *known = number;
        }
    }
}

enum Slot {
    Blank,
    Torn,
    Newer,
    Whole(u64, Vec<u8>),
}

/// Reads the newest state.
pub(crate) fn read(file: &dyn DiskFile) -> Result<Found, FileFault> {
    let mut found = Found { state: None, numbers: [0; SLOTS] };
    let (mut newest, mut torn, mut synced_is_torn) = (0, false, false);
    for (slot, number) in found.numbers.iter_mut().enumerate() {
        match read_slot(file, slot)? {
            Slot::Blank => {}
            Slot::Torn => {
                torn = true;
                synced_is_torn |= DURABLE.contains(&slot);
            }
            // What a newer program wrote may be newer than what this one can read.
            Slot::Newer => return Err(FileFault::Newer),
            Slot::Whole(at, state) => {
                *number = at;
                if at > newest {
                    newest = at;
                    found.state = Some(state);
                }
            }
        }
    }
    let is_lost = found.state.is_none() && torn || synced_is_torn && !found.was_synced();
    if is_lost { Err(FileFault::Damaged) } else { Ok(found) }
}

/// Whether nobody has written since this was found, by the slots that whoever writes next writes to first.
pub(crate) fn is_as_found(file: &dyn DiskFile, found: &Found) -> io::Result<bool> {
    for slot in [older_first(found, QUICK)[0], older_first(found, DURABLE)[0]] {
        let mut header = [0; HEADER_BYTES];
        let read = file.read_at(&mut header, start_of(slot))?;
        let bytes = header.get(..read).unwrap_or_default();
        let is_blank = bytes.iter().all(|byte| *byte == 0);
        let number = if is_blank { Some(0) } else { read_header(bytes).map(|(number, _)| number) };
        if number != found.numbers.get(slot).copied() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn older_first(found: &Found, [one, other]: [usize; 2]) -> [usize; 2] {
    let number_of = |slot: usize| found.numbers.get(slot).copied().unwrap_or(0);
    if number_of(one) <= number_of(other) { [one, other] } else { [other, one] }
}

/// Writes the next state, behind what was found, and notes that it stands there now.
pub(crate) fn write(
    file: &dyn DiskFile,
    found: &mut Found,
    state: &[u8],
    how: Write,
) -> Result<(), FileFault> {
    if state.len() > STATE_BYTES_MAX {
        return Err(FileFault::TooLarge);
    }
    let number = found.numbers.iter().max().copied().unwrap_or(0) + 1;
    let header = header(number, state.len()).into_bytes();
    let mut text = Vec::with_capacity(header.len() + state.len() + SUM_BYTES);
    text.extend_from_slice(&header);
    text.extend_from_slice(state);
    let sum = HashValue::of(&text);
    sum.write_to(&mut text);
    text.push(b'\n');
    match how {
        Write::Not => {}
        Write::Quick => {
            let [older, _] = older_first(found, QUICK);
            file.write_at(&text, start_of(older))?;
            found.note(older, number);
        }
        Write::Durable => {
            for slot in older_first(found, DURABLE) {
                // The header last: a kill in between leaves a slot that is still blank.
                let start = start_of(slot);
                file.write_at(text.get(HEADER_BYTES..).unwrap_or_default(), start + HEADER_LEN)?;
                file.write_at(&header, start)?;
                file.sync()?;
                found.note(slot, number);
            }
        }
    }
    Ok(())
}

fn header(number: u64, len: usize) -> String {
    format!("{START}{VERSION} {number:016x} {len:08x}\n")
}

const fn start_of(slot: usize) -> u64 {
    (slot * SLOT_BYTES) as u64
}

fn read_slot(file: &dyn DiskFile, slot: usize) -> Result<Slot, FileFault> {
    let mut bytes = vec![0; FIRST_BYTES];
    let read = file.read_at(&mut bytes, start_of(slot))?;
    bytes.truncate(read);
    if bytes.iter().take(HEADER_BYTES).all(|byte| *byte == 0) {
        return Ok(Slot::Blank);
    }
    let Some((number, len)) = read_header(&bytes) else {
        return Ok(if is_newer(&bytes) { Slot::Newer } else { Slot::Torn });
    };
    let (state_end, end) = (HEADER_BYTES + len, HEADER_BYTES + len + SUM_BYTES);
    if len > STATE_BYTES_MAX || number == 0 {
        return Ok(Slot::Torn);
    }
    if bytes.len() < end {
        bytes.resize(end, 0);
        let read = file.read_at(&mut bytes, start_of(slot))?;
        bytes.truncate(read);
    }
    let sum = bytes.get(state_end..end).and_then(|sum| sum.strip_suffix(b"\n"));
    let sum = sum.and_then(|sum| HashValue::parse(std::str::from_utf8(sum).ok()?));
    match (sum, bytes.get(..state_end), bytes.get(HEADER_BYTES..state_end)) {
        (Some(sum), Some(covered), Some(state)) if sum == HashValue::of(covered) => {
            Ok(Slot::Whole(number, state.to_vec()))
        }
        _ => Ok(Slot::Torn),
    }
}

/// The number and the length of what this slot holds.
fn read_header(bytes: &[u8]) -> Option<(u64, usize)> {
    let header = std::str::from_utf8(bytes.get(..HEADER_BYTES)?).ok()?;
    let rest = header.strip_prefix(START)?.strip_prefix(VERSION)?.strip_prefix(' ')?;
    let (number, len) = rest.strip_suffix('\n')?.split_once(' ')?;
    Some((u64::from_str_radix(number, 16).ok()?, usize::from_str_radix(len, 16).ok()?))
}

fn is_newer(bytes: &[u8]) -> bool {
    let version = bytes.strip_prefix(START.as_bytes()).and_then(|rest| rest.first());
    version.is_some_and(|version| (b'2'..=b'9').contains(version))
}
