//! Bytes and the classes they belong to: the small questions every detector asks of a text.
//!
//! All detectors work on bytes and ASCII classes, so that a datum next to a Chinese character is found
//! (a Unicode word boundary does not lie between `机` and `1`). Nothing here allocates.

use memchr::memchr2;

/// The byte at `at`, or zero outside the text. Zero belongs to no class.
pub(crate) fn at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The byte before `at`, or zero at the start.
pub(crate) fn before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).and_then(|i| bytes.get(i)).copied().unwrap_or(0)
}

/// The part of the slice that lies in the text.
pub(crate) fn cut(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    bytes.get(start..end.min(bytes.len())).unwrap_or(&[])
}

/// The text slice, or nothing when the range does not lie on character boundaries.
pub(crate) fn cut_str(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or("")
}

/// Letter, digit or underscore.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A byte that may stand inside an identifier: letter, digit, `_`, `-`, `.`.
pub(crate) fn is_name(byte: u8) -> bool {
    is_word(byte) || byte == b'-' || byte == b'.'
}

/// A set of ASCII bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSet {
    low: u64,
    high: u64,
}

impl ByteSet {
    pub(crate) const EMPTY: Self = Self { low: 0, high: 0 };

    pub(crate) const fn of(text: &str) -> Self {
        let mut rest = text.as_bytes();
        let mut set = Self::EMPTY;
        while let [first, tail @ ..] = rest {
            set = set.with_range(*first, *first);
            rest = tail;
        }
        set
    }

    pub(crate) const fn with_range(mut self, low: u8, high: u8) -> Self {
        let mut byte = low;
        while byte <= high && byte < 128 {
            if byte < 64 {
                self.low |= 1 << byte;
            } else {
                self.high |= 1 << (byte - 64);
            }
            byte += 1;
        }
        self
    }

    #[inline]
    pub(crate) const fn has(self, byte: u8) -> bool {
        let word = if byte & 64 == 0 { self.low } else { self.high };
        byte < 128 && (word >> (byte & 63)) & 1 == 1
    }

    pub(crate) fn bytes(self) -> impl Iterator<Item = u8> {
        (0..128).filter(move |byte| self.has(*byte))
    }
}

pub(crate) const DIGITS: ByteSet = ByteSet::EMPTY.with_range(b'0', b'9');
pub(crate) const ALNUM: ByteSet = DIGITS.with_range(b'a', b'z').with_range(b'A', b'Z');
/// Both base64 alphabets, padding included.
pub(crate) const BASE64: ByteSet =
    ByteSet::of("+/-_=").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');

/// Where the run of `set` that begins at `from` ends.
pub(crate) fn run_end(bytes: &[u8], from: usize, set: ByteSet) -> usize {
    let rest = bytes.get(from..).unwrap_or(&[]);
    from + rest.iter().take_while(|byte| set.has(**byte)).count()
}

/// Where the run of `set` that ends before `to` begins, looking back at most `most` bytes.
pub(crate) fn run_start(bytes: &[u8], to: usize, set: ByteSet, most: usize) -> usize {
    let head = bytes.get(..to).unwrap_or(&[]);
    to - head.iter().rev().take(most).take_while(|byte| set.has(**byte)).count()
}

/// Position of `needle` (lower-case ASCII or other bytes) in `hay`, ASCII case ignored.
pub(crate) fn find_folded(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let last_start = hay.len().checked_sub(needle.len())?;
    let mut from = 0;
    while from <= last_start {
        let rest = hay.get(from..=last_start)?;
        let hit = from + memchr2(first, first.to_ascii_uppercase(), rest)?;
        if cut(hay, hit, hit + needle.len()).eq_ignore_ascii_case(needle) {
            return Some(hit);
        }
        from = hit + 1;
    }
    None
}

/// Whether `word` stands in `hay` as a word of its own, ASCII case ignored. A word that is not ASCII
/// (Chinese) counts wherever it stands.
pub(crate) fn has_word(hay: &[u8], word: &[u8]) -> bool {
    let mut from = 0;
    while let Some(found) = hay.get(from..).and_then(|rest| find_folded(rest, word)) {
        let start = from + found;
        let end = start + word.len();
        let ascii = word.is_ascii();
        if !ascii
            || !(before(hay, start).is_ascii_alphabetic() || at(hay, end).is_ascii_alphabetic())
        {
            return true;
        }
        from = start + 1;
    }
    false
}

/// Which letters a text has: a bit each, and one for everything that is not ASCII.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Letters(u32);

impl Letters {
    pub(crate) const fn of(text: &[u8]) -> Self {
        let mut bits = 0;
        let mut rest = text;
        while let [first, tail @ ..] = rest {
            bits |= Self::bit(*first);
            rest = tail;
        }
        Self(bits)
    }

    const fn bit(byte: u8) -> u32 {
        match byte | 0x20 {
            letter @ b'a'..=b'z' => 1 << (letter - b'a'),
            0x80.. => 1 << 31,
            _ => 0,
        }
    }

    /// Whether a word can stand in the text, by its first letter.
    pub(crate) fn may_hold(self, word: &[u8]) -> bool {
        let needed = word.first().map_or(0, |first| Self::bit(*first));
        needed == 0 || self.0 & needed != 0
    }

    /// Whether all of these letters are there.
    pub(crate) const fn hold(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// Whether any of the words stands in `hay` as [`has_word`] says.
pub(crate) fn has_any_word(hay: &[u8], words: &[&str]) -> bool {
    let letters = Letters::of(hay);
    words.iter().any(|word| letters.may_hold(word.as_bytes()) && has_word(hay, word.as_bytes()))
}

/// Lower-case words with their letters, so that most are ruled out at once.
#[derive(Debug)]
pub(crate) struct Words<const N: usize> {
    words: [&'static str; N],
    letters: [Letters; N],
}

impl<const N: usize> Words<N> {
    pub(crate) const fn new(words: [&'static str; N]) -> Self {
        let mut letters = [Letters(0); N];
        let mut rest: &[&str] = &words;
        let mut places: &mut [Letters] = &mut letters;
        while let ([word, tail @ ..], [place, free @ ..]) = (rest, places) {
            *place = Letters::of(word.as_bytes());
            rest = tail;
            places = free;
        }
        Self { words, letters }
    }

    /// Whether any of the words stands anywhere in `hay`, ASCII case ignored.
    pub(crate) fn any_in(&self, hay: &[u8]) -> bool {
        let letters = Letters::of(hay);
        let mut possible =
            self.words.iter().zip(&self.letters).filter(|(_, needed)| letters.hold(**needed));
        possible.any(|(word, _)| find_folded(hay, word.as_bytes()).is_some())
    }
}

/// The nearest character boundary at or before `at`.
pub(crate) fn floor_char(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether a datum may begin at `start`: no letter or digit before it, unless that is the last
/// character of an escape (`\n`, `%3D`, `\u003d`), which stands for something else.
pub(crate) fn opens_token(bytes: &[u8], start: usize) -> bool {
    let previous = before(bytes, start);
    if !previous.is_ascii_alphanumeric() {
        return true;
    }
    let back = |n: usize| start.checked_sub(n).map_or(0, |i| at(bytes, i));
    let escaped = back(2) == b'\\' && matches!(previous, b'n' | b'r' | b't' | b'b' | b'f');
    let percent = back(3) == b'%' && back(2).is_ascii_hexdigit() && previous.is_ascii_hexdigit();
    let unicode =
        back(6) == b'\\' && back(5) == b'u' && (1..=4).all(|n| back(n).is_ascii_hexdigit());
    escaped || percent || unicode
}

#[cfg(test)]
mod tests {
    use super::{find_folded, has_word, opens_token};

    #[test]
    fn a_word_is_found_whatever_its_case_and_only_as_a_word() {
        assert_eq!(find_folded(b"my PassWord", b"password"), Some(3));
        assert!(has_word("订单手机号".as_bytes(), "手机".as_bytes()));
        assert!(has_word(b"tel: 1", b"tel"));
        assert!(!has_word(b"hotel 1", b"tel"));
    }

    #[test]
    fn an_escape_before_a_token_is_no_letter() {
        assert!(opens_token(br"\nghp_", 2));
        assert!(opens_token(b"%3Dghp_", 3));
        assert!(opens_token(br"\u003dghp_", 6));
        assert!(!opens_token(b"xghp_", 1));
    }
}
