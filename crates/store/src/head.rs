//! The head: a small file that says where the book ends, so that nobody need read the book to go on
//! with it.
//!
//! It is a hint that is checked, never a source: whoever opens the book compares it with the last
//! line. It holds two places: where the book ends now, which is right as long as the system runs on,
//! since a process that is killed takes nothing with it that it has written; and the last end that is
//! known to be on disk, from which on the book is read after the system was started anew. A head that
//! was lost is made again by reading the book.

use crate::hash::HashValue;
use crate::line::leaf_of;
use crate::tree::Frontier;
use std::io::Write as _;

/// The file's name.
pub(crate) const HEAD_NAME: &str = "head";

/// A place in the book: behind a line, in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The segment, by the number of its first line.
    pub(crate) segment: u64,
    /// Where its last line starts; its end if it has none.
    pub(crate) last: u64,
    /// Where it ends.
    pub(crate) end: u64,
    /// The hash of the first line of the book, by which it is known.
    pub(crate) first: HashValue,
    /// The hash of the last line of the book.
    pub(crate) prev: HashValue,
    /// The tree over all lines; its size is the number of the last one.
    pub(crate) tree: Frontier,
}

impl Place {
    /// The start of an empty book.
    pub(crate) fn start() -> Place {
        Place {
            segment: 1,
            last: 0,
            end: 0,
            first: HashValue::ZERO,
            prev: HashValue::ZERO,
            tree: Frontier::default(),
        }
    }

    /// The number of the last line.
    pub(crate) const fn seq(&self) -> u64 {
        self.tree.size()
    }

    /// Goes on behind a line of this text, given without its newline.
    pub(crate) fn pass(&mut self, line: &[u8]) {
        self.prev = leaf_of(line);
        if self.seq() == 0 {
            self.first = self.prev;
        }
        self.tree.push(self.prev);
        self.last = self.end;
        self.end += line.len() as u64 + 1;
    }

    /// Goes on at the start of the next segment.
    pub(crate) fn turn(&mut self) {
        self.segment = self.seq() + 1;
        self.last = 0;
        self.end = 0;
    }
}

/// The last checkpoint, as far as the next one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Signed {
    /// The number of records that it covers.
    pub(crate) size: u64,
    /// When it was made, in milliseconds since 1970.
    pub(crate) at_ms: u64,
}

/// Where the book ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Now.
    pub(crate) now: Place,
    /// On disk for certain.
    pub(crate) synced: Place,
    /// How far it is signed.
    pub(crate) signed: Signed,
    /// The run of the system in which this was written, if it has a name.
    pub(crate) boot: Option<String>,
}

impl Head {
    pub(crate) fn start() -> Head {
        let (now, synced) = (Place::start(), Place::start());
        Head { now, synced, signed: Signed::default(), boot: None }
    }

    /// Its text, checked by a hash at its end.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(b"tollgate-head 1\n");
        write_place(out, &self.now);
        if self.synced == self.now {
            out.extend_from_slice(b"synced\n");
        } else {
            write_place(out, &self.synced);
        }
        // Writing to memory cannot fail.
        let _ = writeln!(out, "signed {} {}", self.signed.size, self.signed.at_ms);
        let _ = writeln!(out, "boot {}", self.boot.as_deref().unwrap_or("-"));
        let sum = HashValue::of(out);
        out.extend_from_slice(b"sum ");
        sum.write_to(out);
        out.push(b'\n');
    }

    /// Reads the text; what stands behind it is left over from a longer one. `None` if it is torn.
    pub(crate) fn read(text: &[u8]) -> Option<Head> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n');
        let mut len = 0;
        let mut next = || {
            let line = lines.next()?.strip_suffix(b"\n")?;
            len += line.len() + 1;
            std::str::from_utf8(line).ok()
        };
        if next()? != "tollgate-head 1" {
            return None;
        }
        let now = read_place(next()?)?;
        let synced = match next()? {
            "synced" => now.clone(),
            place => read_place(place)?,
        };
        let (size, at_ms) = next()?.strip_prefix("signed ")?.split_once(' ')?;
        let signed = Signed { size: size.parse().ok()?, at_ms: at_ms.parse().ok()? };
        let boot = next()?.strip_prefix("boot ")?;
        let boot = (boot != "-").then(|| boot.to_owned());
        let covered = text.get(..len)?;
        let sum = text.get(len..len + 69)?.strip_prefix(b"sum ")?.strip_suffix(b"\n")?;
        let sum = HashValue::parse(std::str::from_utf8(sum).ok()?)?;
        (sum == HashValue::of(covered)).then_some(Head { now, synced, signed, boot })
    }
}

pub(crate) fn write_place(out: &mut Vec<u8>, place: &Place) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{} {} {} {} ", place.segment, place.last, place.end, place.seq());
    place.first.write_to(out);
    out.push(b' ');
    place.prev.write_to(out);
    for peak in place.tree.peaks() {
        out.push(b' ');
        peak.write_to(out);
    }
    out.push(b'\n');
}

pub(crate) fn read_place(line: &str) -> Option<Place> {
    let mut words = line.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    let (segment, last, end, size) = (number()?, number()?, number()?, number()?);
    let first = HashValue::parse(words.next()?)?;
    let prev = HashValue::parse(words.next()?)?;
    let peaks = words.map(HashValue::parse).collect::<Option<Vec<_>>>()?;
    let tree = Frontier::from_peaks(size, peaks)?;
    Some(Place { segment, last, end, first, prev, tree })
}

#[cfg(test)]
mod tests {
    use super::{Head, Place, Signed};

    fn place(lines: usize) -> Place {
        let mut place = Place::start();
        for line in 0..lines {
            place.pass(line.to_string().as_bytes());
        }
        place
    }

    #[test]
    fn a_head_is_read_back_even_over_the_rest_of_a_longer_one() {
        let mut text = Vec::new();
        for (now, synced) in [(0, 0), (1, 0), (7, 3), (1000, 1000)] {
            let signed = Signed { size: synced as u64, at_ms: 5 };
            let boot = (now > 5).then(|| "run-1".to_owned());
            let head = Head { now: place(now), synced: place(synced), signed, boot };
            head.write_to(&mut text);
            assert_eq!(Head::read(&text), Some(head.clone()));
            text.extend_from_slice(b"rest of a longer one\n");
            assert_eq!(Head::read(&text), Some(head));
        }
    }

    #[test]
    fn a_torn_or_changed_head_is_no_head() {
        let mut text = Vec::new();
        let (now, synced) = (place(7), place(3));
        Head { now, synced, ..Head::start() }.write_to(&mut text);
        for len in 0..text.len() {
            assert_eq!(Head::read(&text[..len]), None, "{len}");
        }
        for at in 0..text.len() {
            text[at] ^= 1;
            assert_eq!(Head::read(&text), None, "{at}");
            text[at] ^= 1;
        }
    }
}
