//! Escapes: what stands for a character in URLs, string literals, HTML and mail, read as that character.
//!
//! A datum in which a single sign is escaped (`jane%40x.com`, `jane\x40x.com`, `jane&#64;x.com`) is read
//! by no reader of plain text. Here the run around an escape is decoded into a copy whose every place
//! leads back to the original, so that a mask covers the datum's own bytes and no others. Which escapes a
//! text really uses depends on who reads it later; what is decoded here is a second look at the text,
//! never the only one.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::ascii::{ByteSet, at, cut};

/// Bytes of a run in which escapes stand: what is printed, but for quotes and brackets. Bytes of other
/// scripts belong to it, too.
const RUN: ByteSet = ByteSet::of("%\\&#;-._~+=?/:@,!*{}$^")
    .with_range(b'0', b'9')
    .with_range(b'a', b'z')
    .with_range(b'A', b'Z');
/// Shortest text with an address in quoted-printable, in bytes: `a=40b.io`.
const PRINTABLE_BYTES_MIN: usize = 8;
/// Most backslashes before one escape: each string literal around it doubles them.
const BACKSLASHES_MAX: usize = 4;

/// Entities of HTML that may stand inside a datum or around one.
const ENTITIES: &[(&[u8], char)] = &[
    (b"amp;", '&'),
    (b"apos;", '\''),
    (b"colon;", ':'),
    (b"commat;", '@'),
    (b"dash;", '-'),
    (b"equals;", '='),
    (b"gt;", '>'),
    (b"hyphen;", '-'),
    (b"lowbar;", '_'),
    (b"lpar;", '('),
    (b"lt;", '<'),
    (b"nbsp;", ' '),
    (b"num;", '#'),
    (b"percnt;", '%'),
    (b"period;", '.'),
    (b"plus;", '+'),
    (b"quot;", '"'),
    (b"rpar;", ')'),
    (b"shy;", '\u{AD}'),
    (b"sol;", '/'),
];

/// What one escape stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Byte(u8),
    Char(char),
}

/// A run with its escapes decoded.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) bytes: Vec<u8>,
    /// Of each escape: where it stands decoded, and where in the run; starts and ends.
    changes: Vec<((usize, usize), (usize, usize))>,
}

impl Decoded {
    /// The place in the run of a place in the decoded bytes. Inside a character that an escape stands for,
    /// an end is the escape's end and a start its start.
    pub(crate) fn original(&self, place: usize, end: bool) -> usize {
        let index = if end {
            self.changes.partition_point(|(decoded, _)| decoded.0 < place)
        } else {
            self.changes.partition_point(|(decoded, _)| decoded.0 <= place)
        };
        let Some((decoded, run)) = index.checked_sub(1).and_then(|last| self.changes.get(last))
        else {
            return place;
        };
        if place < decoded.1 {
            return if end { run.1 } else { run.0 };
        }
        run.1 + (place - decoded.1)
    }
}

/// Places where an escape may begin, in order; each is to be read by [`read`].
pub(crate) fn sites(bytes: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memchr3_iter(b'%', b'\\', b'&', bytes).filter(|place| read(bytes, *place).is_some())
}

/// Places of `=40`, the `@` of quoted-printable text, in order.
pub(crate) fn printable_sites(bytes: &[u8]) -> impl Iterator<Item = usize> {
    // Made once: making it costs more than searching a short text.
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"=40"));
    let enough = bytes.len() >= PRINTABLE_BYTES_MIN;
    enough.then(|| FINDER.find_iter(bytes)).into_iter().flatten()
}

/// The run around the escape at `place`, within `start..` of the unit.
pub(crate) fn run_around(unit: &[u8], place: usize, start: usize) -> (usize, usize) {
    let belongs = |byte: &&u8| RUN.has(**byte) || **byte >= 0x80;
    let before = cut(unit, start, place).iter().rev().take_while(belongs).count();
    let after = cut(unit, place, unit.len()).iter().take_while(belongs).count();
    (place - before, place + after)
}

/// The run decoded; escapes of quoted-printable only where the caller saw one.
pub(crate) fn decode(run: &[u8], printable: bool) -> Decoded {
    let mut decoded = Decoded { bytes: Vec::with_capacity(run.len()), changes: Vec::new() };
    let mut place = 0;
    while place < run.len() {
        let from = decoded.bytes.len();
        let (len, changed) = match read_any(run, place, printable) {
            Some((said, len)) => {
                decoded.push(said);
                (len, true)
            }
            // A form's blank: only between digits is it sure to be none of the datum's own signs.
            None if is_form_blank(run, place) => {
                decoded.bytes.push(b' ');
                (1, false)
            }
            None => {
                decoded.bytes.push(at(run, place));
                (1, false)
            }
        };
        if changed {
            decoded.changes.push(((from, decoded.bytes.len()), (place, place + len)));
        }
        place += len;
    }
    decoded
}

impl Decoded {
    fn push(&mut self, said: Said) {
        match said {
            // Colours and other control signs part words.
            Said::Byte(byte) if byte.is_ascii_control() => self.bytes.push(b' '),
            Said::Byte(byte) => self.bytes.push(byte),
            Said::Char(char) if char.is_control() => self.bytes.push(b' '),
            Said::Char(char) => {
                self.bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

fn is_form_blank(run: &[u8], place: usize) -> bool {
    at(run, place) == b'+'
        && at(run, place + 1).is_ascii_digit()
        && crate::ascii::before(run, place).is_ascii_digit()
}

fn read_any(run: &[u8], place: usize, printable: bool) -> Option<(Said, usize)> {
    if at(run, place) == b'=' {
        let pair = cut(run, place + 1, place + 3);
        let upper = pair.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
        return (printable && upper)
            .then(|| Some((Said::Byte(u8::try_from(number(pair, 16)?).ok()?), 3)))?;
    }
    read(run, place)
}

/// The escape at `place` and its length.
fn read(bytes: &[u8], place: usize) -> Option<(Said, usize)> {
    match at(bytes, place) {
        b'%' => percent(bytes, place),
        b'\\' => backslash(bytes, place),
        b'&' => entity(bytes, place),
        _ => None,
    }
}

fn percent(bytes: &[u8], place: usize) -> Option<(Said, usize)> {
    if at(bytes, place + 1) == b'u' {
        return Some((code_point(cut(bytes, place + 2, place + 6), 4)?, 6));
    }
    Some((byte(cut(bytes, place + 1, place + 3))?, 3))
}

fn backslash(bytes: &[u8], place: usize) -> Option<(Said, usize)> {
    let head = cut(bytes, place, place + BACKSLASHES_MAX + 1);
    let slashes = head.iter().take_while(|byte| **byte == b'\\').count();
    if slashes > BACKSLASHES_MAX {
        return None;
    }
    let kind = place + slashes;
    let digits = |n: usize| cut(bytes, kind + 1, kind + 1 + n);
    let (said, len) = match at(bytes, kind) {
        b'x' => (byte(digits(2))?, 3),
        b'u' if at(bytes, kind + 1) == b'{' => {
            let end =
                kind + 2 + cut(bytes, kind + 2, kind + 9).iter().position(|byte| *byte == b'}')?;
            let code = cut(bytes, kind + 2, end);
            (code_point(code, code.len())?, end + 1 - kind)
        }
        b'u' => pair_of_surrogates(bytes, kind, slashes)
            .or_else(|| Some((code_point(digits(4), 4)?, 5)))?,
        b'U' => (code_point(digits(8), 8)?, 9),
        b'0'..=b'3' => {
            let value = number(cut(bytes, kind, kind + 3), 8)?;
            (Said::Byte(u8::try_from(value).ok()?), 3)
        }
        _ => return None,
    };
    Some((said, slashes + len))
}

/// `\ud83d\ude00`: two escapes for one character.
fn pair_of_surrogates(bytes: &[u8], kind: usize, slashes: usize) -> Option<(Said, usize)> {
    let high = number(cut(bytes, kind + 1, kind + 5), 16)?;
    let second = kind + 5 + slashes;
    let goes_on = cut(bytes, kind + 5, second).iter().all(|byte| *byte == b'\\')
        && at(bytes, second) == b'u'
        && (0xD800..0xDC00).contains(&high);
    let low = number(cut(bytes, second + 1, second + 5), 16).filter(|_| goes_on)?;
    let code = 0x10000 + ((high - 0xD800) << 10) + low.checked_sub(0xDC00)?;
    Some((Said::Char(char::from_u32(code)?), 5 + slashes + 5))
}

fn entity(bytes: &[u8], place: usize) -> Option<(Said, usize)> {
    if at(bytes, place + 1) == b'#' {
        let hex = matches!(at(bytes, place + 2), b'x' | b'X');
        let from = place + 2 + usize::from(hex);
        let len = cut(bytes, from, from + 8).iter().position(|byte| *byte == b';')?;
        let code = number(cut(bytes, from, from + len), if hex { 16 } else { 10 })?;
        return Some((Said::Char(char::from_u32(code)?), from + len + 1 - place));
    }
    let rest = cut(bytes, place + 1, place + 9);
    let (name, char) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name))?;
    Some((Said::Char(*char), 1 + name.len()))
}

fn byte(pair: &[u8]) -> Option<Said> {
    (pair.len() == 2).then(|| Some(Said::Byte(u8::try_from(number(pair, 16)?).ok()?)))?
}

fn code_point(digits: &[u8], len: usize) -> Option<Said> {
    (digits.len() == len).then(|| Some(Said::Char(char::from_u32(number(digits, 16)?)?)))?
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |sum, byte| {
        sum.checked_mul(radix)?.checked_add(char::from(*byte).to_digit(radix)?)
    })
}

/// Whether `place` lies inside an escape: a datum neither begins nor ends there.
pub(crate) fn splits(bytes: &[u8], place: usize) -> bool {
    const LONGEST: usize = 14;
    (place.saturating_sub(LONGEST)..place)
        .any(|from| read(bytes, from).is_some_and(|(_, len)| from + len > place))
}

#[cfg(test)]
mod tests {
    use super::{decode, sites, splits};

    #[test]
    fn every_escape_is_read_as_what_it_stands_for() {
        for (text, said) in [
            ("jane%40x.com", "jane@x.com"),
            ("%E5%BC%A0%u4E09", "张三"),
            (r"a\x40b\u0040c\u{40}d\100e\U00000040f\\x40g", "a@b@c@d@e@f@g"),
            (r"\ud83d\ude00", "😀"),
            ("a&#64;b&#x40;c&commat;d&amp;e", "a@b@c@d&e"),
            ("4111+1111%20x+y", "4111 1111 x+y"),
            (r"\x1b[31m", " [31m"),
            (r"100% sure \d \n \users &copy=1", r"100% sure \d \n \users &copy=1"),
        ] {
            assert_eq!(String::from_utf8_lossy(&decode(text.as_bytes(), false).bytes), said);
        }
        assert_eq!(decode(b"jane=40x=2Ecom", true).bytes, b"jane@x.com");
        assert_eq!(sites(br"100% \n a%20b \x41").collect::<Vec<_>>(), [9, 14]);
    }

    #[test]
    fn every_place_leads_back() {
        let run = r"q=%E5%BC%A0\x40b";
        let decoded = decode(run.as_bytes(), false);
        assert_eq!(String::from_utf8_lossy(&decoded.bytes), "q=张@b");
        let back = |from, to| &run[decoded.original(from, false)..decoded.original(to, true)];
        assert_eq!(back(2, 5), "%E5%BC%A0");
        assert_eq!(back(5, 7), r"\x40b");
        assert_eq!(back(0, 2), "q=");
        assert!(splits(run.as_bytes(), 3) && splits(run.as_bytes(), 4));
        assert!(!splits(run.as_bytes(), 2) && !splits(run.as_bytes(), 11));
    }
}
