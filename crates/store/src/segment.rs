//! Segment files: their names, and where the data in one ends.
//!
//! A segment holds lines and, while it is the last one, newlines ahead of them. So data ends at the
//! first empty line. A file system may show zeros where newlines ahead were not on disk when the
//! power went; both are blank.

use crate::head::Place;
use crate::line::Line;

/// How a segment's name ends.
const SUFFIX: &str = ".jsonl";

/// The name of the segment whose first line has this number.
pub(crate) fn segment_name(first_seq: u64) -> String {
    format!("{first_seq:020}{SUFFIX}")
}

/// The number of the first line of the segment of this name; `None` if it names no segment.
pub(crate) fn first_seq(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok())?
        .filter(|seq| *seq > 0)
}

/// Newlines to compare with, a block at a time: what stands ahead of the data is looked at whenever
/// the ledger is opened.
static NEWLINES: [u8; 4096] = [b'\n'; 4096];

/// Whether nothing stands here.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.chunks(NEWLINES.len()).all(|block| {
        NEWLINES.get(..block.len()) == Some(block)
            || block.iter().all(|byte| matches!(byte, b'\n' | 0))
    })
}

/// What follows a place in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Lines, if any, and nothing behind them.
    Clean,
    /// Something that is no next line, with nothing behind it that vouches for it.
    Torn {
        /// How many bytes, blanks behind it left out.
        bytes: usize,
    },
    /// Something that is no next line, but must be: a later line says that it was on disk. Or a whole
    /// line that no crash leaves there.
    Damaged {
        /// What is wrong.
        what: String,
    },
}

/// Passes all lines that follow `place` in its segment; `bytes` is what stands behind it.
pub(crate) fn pass_lines(place: &mut Place, bytes: &[u8]) -> Rest {
    let mut rest = bytes;
    let mut is_foreign = false;
    let fault = loop {
        let Some(len) = rest.iter().position(|byte| *byte == b'\n') else {
            break "a line without its end".to_owned();
        };
        let (line, behind) = (rest.get(..len), rest.get(len + 1..));
        let (Some(line), Some(behind)) = (line, behind) else { break String::new() };
        match check_next(place, line) {
            Ok(()) => place.pass(line),
            Err(fault) => {
                is_foreign = is_foreign_at(place, line);
                break fault;
            }
        }
        rest = behind;
    };
    if is_blank(rest) {
        return Rest::Clean;
    }
    if is_foreign {
        return Rest::Damaged { what: fault };
    }
    match rest.split(|byte| *byte == b'\n').filter_map(vouches_for).max() {
        Some(synced) if synced > place.seq() => Rest::Damaged {
            what: format!("{fault}, where a later line says that line {synced} was on disk"),
        },
        Some(_) | None => {
            let blank = rest.iter().rev().take_while(|byte| is_blank(&[**byte])).count();
            Rest::Torn { bytes: rest.len() - blank }
        }
    }
}

/// Whether this is the line that follows.
fn check_next(place: &Place, text: &[u8]) -> Result<(), String> {
    let line = Line::read(text).map_err(|fault| fault.to_string())?;
    if line.seq != place.seq() + 1 {
        return Err(format!("line {} where line {} belongs", line.seq, place.seq() + 1));
    }
    if line.prev != place.prev {
        return Err(format!("line {} does not follow the line before it", line.seq));
    }
    Ok(())
}

/// Whether this is a whole line that nothing could have begun to write here: one that the book has
/// already, or one of this number that hangs on another. It was put there, and is not cut.
fn is_foreign_at(place: &Place, text: &[u8]) -> bool {
    Line::read(text).is_ok_and(|line| line.seq <= place.seq() + 1)
}

fn vouches_for(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    Line::read(text).ok()?.synced
}

#[cfg(test)]
mod tests {
    use super::{Rest, first_seq, pass_lines, segment_name};
    use crate::head::Place;
    use crate::line::write_line;

    /// Lines from 1 on, each with what it says about the lines before it.
    fn book(synced: &[Option<u64>]) -> (Vec<u8>, Place) {
        let (mut bytes, mut place) = (Vec::new(), Place::start());
        for synced in synced {
            let mut line = Vec::new();
            write_line(&mut line, place.seq() + 1, &place.prev, *synced, b"{\"kind\":\"x\"}");
            place.pass(&line);
            bytes.extend_from_slice(&line);
            bytes.push(b'\n');
        }
        (bytes, place)
    }

    fn pass(bytes: &[u8]) -> (u64, Rest) {
        let mut place = Place::start();
        let rest = pass_lines(&mut place, bytes);
        (place.seq(), rest)
    }

    #[test]
    fn names_order_as_their_numbers_do() {
        assert_eq!(first_seq(&segment_name(42)), Some(42));
        assert!(segment_name(99) < segment_name(100));
        for other in ["head", "1.jsonl", "0000000000000000000x.jsonl", "00000000000000000000.jsonl"]
        {
            assert_eq!(first_seq(other), None, "{other}");
        }
    }

    #[test]
    fn lines_end_at_the_blanks_and_a_part_of_a_line_is_torn() {
        let (bytes, end) = book(&[None, None, None]);
        for blanks in ["", "\n\n\n", "\0\0"] {
            let mut place = Place::start();
            let text = [&bytes, blanks.as_bytes()].concat();
            assert_eq!(pass_lines(&mut place, &text), Rest::Clean);
            assert_eq!(place, end);
        }
        let last = bytes.iter().rposition(|byte| *byte == b'{').unwrap() - 40;
        let torn = [&bytes[..last], b"\n\n"].concat();
        assert!(matches!(pass(&torn), (_, Rest::Torn { .. })));
    }

    #[test]
    fn a_whole_line_of_another_place_is_no_torn_end() {
        let (bytes, _) = book(&[None, None, None]);
        let again = [&bytes[..], &bytes[..]].concat();
        assert!(matches!(pass(&again), (3, Rest::Damaged { .. })));
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let mut other = bytes.clone();
        // The first line is another one, so that the second hangs on nothing here.
        let kind = other.windows(5).position(|part| part == b"\"x\"}\n").unwrap();
        other[kind + 1] = b'y';
        assert!(matches!(pass(&other), (1, Rest::Damaged { .. })));
        // A later line behind one that was not written is what a power cut leaves.
        let later = [&bytes[..first], &bytes[first * 2..]].concat();
        assert!(
            matches!(pass(&later), (1, Rest::Torn { .. })),
            "{}",
            String::from_utf8_lossy(&later)
        );
    }

    #[test]
    fn a_hole_before_a_line_that_vouches_for_it_is_damage() {
        let hole = |synced: &[Option<u64>]| {
            let (mut bytes, _) = book(synced);
            let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            bytes[second + 10..second + 20].fill(b'\n');
            pass(&bytes)
        };
        assert!(matches!(hole(&[None, None, None]), (1, Rest::Torn { .. })));
        assert!(matches!(hole(&[None, None, Some(1)]), (1, Rest::Torn { .. })));
        assert!(matches!(hole(&[None, None, Some(2)]), (1, Rest::Damaged { .. })));
    }
}
