//! Units: the stretches of text in which a datum must lie, and why a stream and a whole text agree.
//!
//! A unit ends after a line break (but not inside base64 that is broken into lines), after a sentence, between two JSON or CSV strings, between two XML
//! tags, and where it would become longer than [`UNIT_BYTES_MAX`]. Whether a unit ends at a place
//! depends only on the unit so far and one byte behind it. A datum never crosses the end of its unit
//! (a private key block may), it may look back over earlier text as far as the look-back cap, and it
//! never looks beyond its unit. So whoever holds a text up to the end of a unit knows everything about
//! that unit, and how the text arrived does not matter.

use crate::ascii::{BASE64, ByteSet, at, before, cut, run_start};
use crate::limits::UNIT_BYTES_MAX;

/// Where a unit that would be too long may end early, looking back this many bytes for a gap.
const GAP_LOOKBACK_BYTES: usize = 4096;

/// Walks the units of a text from left to right.
#[derive(Debug, Clone)]
pub(crate) struct Units<'a> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> Units<'a> {
    /// Units from `origin` on; what lies before it is history and one unit.
    pub(crate) fn new(bytes: &'a [u8], origin: usize) -> Self {
        // The first unit's end is looked for when it is asked for: most scans never do.
        Self { bytes, start: 0, end: origin }
    }

    /// The unit that holds `position`. Positions must not decrease; an earlier one gets the current unit.
    pub(crate) fn at(&mut self, position: usize) -> (usize, usize) {
        if position >= self.end && self.end < self.bytes.len() {
            let skipped = cut(self.bytes, self.end, position.min(self.bytes.len()));
            let ends = |line: &usize| !joins_lines(self.bytes, self.end + line);
            if let Some(line) = memchr::memrchr_iter(b'\n', skipped).find(ends) {
                self.end += line + 1;
            }
            while self.end <= position && self.end < self.bytes.len() {
                self.start = self.end;
                self.end = next_end(self.bytes, self.start).unwrap_or(self.bytes.len());
            }
        }
        (self.start, self.end)
    }
}

/// Where the unit that begins at `start` ends, or `None` while that is not yet known.
pub(crate) fn next_end(bytes: &[u8], start: usize) -> Option<usize> {
    next_end_from(bytes, start, 0)
}

/// The same, for a caller who knows that none of the first `seen` bytes of the unit ends it.
pub(crate) fn next_end_from(bytes: &[u8], start: usize, seen: usize) -> Option<usize> {
    let unit = bytes.get(start..)?;
    let rest = cut(unit, seen, UNIT_BYTES_MAX);
    for (offset, byte) in rest.iter().enumerate() {
        if ends_after(unit, seen + offset, *byte) {
            return Some(start + seen + offset + 1);
        }
    }
    // One more byte must be there, so that the place of a forced end is the same however text arrives.
    (unit.len() > UNIT_BYTES_MAX).then(|| start + forced_end(unit))
}

/// Whether the unit ends after its byte at `place`.
fn ends_after(unit: &[u8], place: usize, byte: u8) -> bool {
    match byte {
        b'\n' => !joins_lines(unit, place),
        b',' => before(unit, place) == b'"' && at(unit, place + 1) == b'"',
        b'>' => at(unit, place + 1) == b'<',
        b' ' => {
            // `Musterstr. 12` goes on; so does what is not there yet.
            let next = at(unit, place + 1);
            before(unit, place) == b'.'
                && place >= 5
                && next != 0
                && !next.is_ascii_digit()
                && cut(unit, place - 5, place - 1).iter().all(u8::is_ascii_lowercase)
        }
        // The last byte of an ideographic full stop (E3 80 82).
        0x82 => place >= 2 && cut(unit, place - 2, place) == [0xE3, 0x80],
        _ => false,
    }
}

/// Whether the line break at `place` stands inside base64 that is broken into lines, as mail and key files have it:
/// behind a line of one of the usual widths, before more of it. Such lines are one unit, for a datum may lie across
/// the break.
pub(crate) fn joins_lines(bytes: &[u8], place: usize) -> bool {
    const WIDTHS: std::ops::RangeInclusive<usize> = 60..=76;
    const SYMBOLS: ByteSet =
        ByteSet::of("+/").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');
    if !SYMBOLS.has(at(bytes, place + 1)) {
        return false;
    }
    let end = place - usize::from(before(bytes, place) == b'\r');
    let start = run_start(bytes, end, SYMBOLS, WIDTHS.end() + 1);
    let width = end - start;
    WIDTHS.contains(&width) && width.is_multiple_of(4) && matches!(before(bytes, start), 0 | b'\n')
}

/// The best gap before the cap, the last of its kind, or else the last character boundary: no datum
/// that is shorter than the look-back is cut while a better gap stands near.
fn forced_end(unit: &[u8]) -> usize {
    let low = UNIT_BYTES_MAX - GAP_LOOKBACK_BYTES;
    let best = (low + 1..=UNIT_BYTES_MAX).max_by_key(|end| (gap(unit, *end), *end));
    if let Some(end) = best.filter(|end| gap(unit, *end) > Gap::None) {
        return end;
    }
    let mut end = UNIT_BYTES_MAX;
    while end > low && (at(unit, end) & 0xC0) == 0x80 {
        end -= 1;
    }
    end
}

/// How likely it is that no datum goes on over a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    /// A sign that addresses, numbers and tokens may hold.
    Sign,
    /// A sign that separates data, or the middle of text without blanks.
    Separator,
    /// A blank, which numbers in groups may hold.
    Blank,
    /// A blank between words.
    Words,
}

fn gap(unit: &[u8], end: usize) -> Gap {
    let (last, next) = (before(unit, end), at(unit, end));
    if last >= 0x80 {
        let between = next >= 0xC0;
        return if between { Gap::Separator } else { Gap::None };
    }
    match last {
        b' ' | b'\t' | b'\r' => {
            let previous = before(unit, end - 1);
            let word = previous.is_ascii_alphabetic() || matches!(previous, b',' | b';' | b'.');
            if word && next.is_ascii_alphabetic() { Gap::Words } else { Gap::Blank }
        }
        b',' | b';' | b'|' | b'&' | b'"' | b'<' | b'>' => Gap::Separator,
        _ if BASE64.has(last) => Gap::None,
        _ => Gap::Sign,
    }
}

#[cfg(test)]
mod tests {
    use super::{Units, next_end};
    use crate::limits::UNIT_BYTES_MAX;

    #[test]
    fn a_unit_ends_at_lines_sentences_and_between_strings() {
        for (text, end) in [
            ("ab\ncd", 3),
            (r#"["a","b"]"#, 5),
            ("<a>x</a><b>", 8),
            ("this ends. Next", 11),
            ("完了。次", 9),
        ] {
            assert_eq!(next_end(text.as_bytes(), 0), Some(end), "{text}");
        }
        assert_eq!(next_end(b"5 St. James", 0), None);
    }

    #[test]
    fn no_unit_is_longer_than_the_cap() {
        let text = "x".repeat(3 * UNIT_BYTES_MAX);
        let mut units = Units::new(text.as_bytes(), 0);
        for position in 0..text.len() {
            let (start, end) = units.at(position);
            assert!(start <= position && position < end && end - start <= UNIT_BYTES_MAX);
        }
    }
}
