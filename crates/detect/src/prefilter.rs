//! Where in a text the keyword of any rule stands: the one pass over every byte that secrets cost.
//!
//! Each keyword is represented by its rarest four bytes. The pass hashes the four bytes at every
//! position (ASCII case folded away) into a table of 65,536 bits that fits the first-level cache; only
//! a set bit leads to the exact comparison. Building the table takes some tens of microseconds and no
//! automaton, which is what makes a first scan in a fresh process cheap; an Aho-Corasick DFA over the
//! same words takes milliseconds to build. The cost a byte does not depend on the number of rules, and
//! a text made to hit everywhere costs one comparison a keyword sharing the same four bytes.

use std::borrow::Cow;

use crate::ascii::{at, cut};

const GRAM_BYTES: usize = 4;
const TABLE_WORDS: usize = 1024;
/// Fewest slots; there are at least twice as many as grams, so that each finds a place near its own.
const SLOTS_MIN: usize = 8192;
const FOLD: u32 = 0x2020_2020;
const HASH: u32 = 0x9E37_79B1;

/// A keyword and whether its letters' case matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keyword {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) exact: bool,
}

/// Four bytes and a keyword that is found by them, packed so that the order of the numbers is that of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u64);

impl Entry {
    fn new(gram: u32, keyword: u16, offset: u16) -> Self {
        Self(u64::from(gram) << 32 | u64::from(keyword) << 16 | u64::from(offset))
    }

    fn gram(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn keyword(self) -> usize {
        usize::from((self.0 >> 16) as u16)
    }

    fn offset(self) -> usize {
        usize::from(self.0 as u16)
    }
}

/// The table over all keywords of a detector.
#[derive(Debug)]
pub(crate) struct Prefilter {
    bits: Box<[u64; TABLE_WORDS]>,
    /// Open-addressed: the place of a gram's first entry, counted from one; zero where there is none.
    slots: Vec<u32>,
    /// In order, so that those of one gram stand together.
    entries: Vec<Entry>,
    keywords: Vec<Keyword>,
}

fn hash(gram: u32) -> usize {
    (gram.wrapping_mul(HASH) >> 16) as usize
}

fn gram_at(bytes: &[u8], from: usize) -> u32 {
    u32::from_le_bytes([
        at(bytes, from),
        at(bytes, from + 1),
        at(bytes, from + 2),
        at(bytes, from + 3),
    ]) | FOLD
}

/// How common a byte is in the texts that agents see; only the order matters.
const fn commonness(byte: u8) -> u8 {
    match byte | 0x20 {
        b' ' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 8,
        b'h' | b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'f' => 6,
        b'g' | b'y' | b'b' | b'w' | b'v' | b'k' | b'-' | b'/' | b'=' | b':' | b'"' => 4,
        b'0'..=b'9' | 0x7f => 2,
        _ => 1,
    }
}

/// The same of every byte.
const COMMONNESS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    #[expect(clippy::indexing_slicing, reason = "counted, and checked when this is compiled")]
    while byte < table.len() {
        table[byte] = commonness(byte as u8);
        byte += 1;
    }
    table
};

/// Where a keyword's rarest four bytes begin.
fn rarest(bytes: &[u8]) -> Option<usize> {
    let common = |byte: &u8| u32::from(COMMONNESS.get(usize::from(*byte)).copied().unwrap_or(0));
    let weights = bytes.windows(GRAM_BYTES).map(|gram| gram.iter().map(common).sum::<u32>());
    weights.enumerate().min_by_key(|(_, weight)| *weight).map(|(offset, _)| offset)
}

impl Prefilter {
    /// Builds the table. A keyword shorter than three bytes or longer than the offsets can say is the
    /// caller's mistake and is never found; rule tests hold the tables to that.
    pub(crate) fn new(keywords: Vec<Keyword>) -> Self {
        let mut grams: Vec<Entry> = Vec::with_capacity(2048);
        for (index, keyword) in keywords.iter().enumerate() {
            let Ok(index) = u16::try_from(index) else { break };
            let bytes = &keyword.bytes;
            if let [a, b, c] = **bytes {
                // The fourth byte: what a token goes on with, or what may follow a word that stands for
                // itself. (`|` with 0x20 makes `_` 0x7F.)
                let token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | 0x7F);
                // A word that ends with a sign is followed by anything.
                let (exact, signed) = (keyword.exact, !c.is_ascii_alphanumeric());
                let fourths = (0x20..0x40u8).chain(0x60..0x80).filter(|byte| match exact {
                    true => token(byte),
                    false => signed || !byte.is_ascii_alphabetic(),
                });
                let entry = |d| Entry::new(u32::from_le_bytes([a, b, c, d]) | FOLD, index, 0);
                grams.extend(fourths.map(entry));
                continue;
            }
            let Some(offset) = rarest(bytes) else { continue };
            grams.push(Entry::new(gram_at(bytes, offset), index, offset as u16));
        }
        grams.sort_unstable();
        Self::lay_out(grams, keywords)
    }

    fn lay_out(entries: Vec<Entry>, keywords: Vec<Keyword>) -> Self {
        let mut bits = Box::new([0u64; TABLE_WORDS]);
        let grams = entries.chunk_by(|one, other| one.gram() == other.gram()).count();
        let count = (2 * grams).next_power_of_two().max(SLOTS_MIN);
        let mut slots = vec![0u32; count];
        let mut first = 0;
        for group in entries.chunk_by(|one, other| one.gram() == other.gram()) {
            let Some(entry) = group.first() else { continue };
            let hashed = hash(entry.gram());
            if let Some(word) = bits.get_mut(hashed >> 6) {
                *word |= 1 << (hashed & 63);
            }
            let free = (0..count).map(|step| (hashed + step) % count);
            for slot in free {
                if let Some(place @ 0) = slots.get_mut(slot) {
                    *place = first as u32 + 1;
                    break;
                }
            }
            first += group.len();
        }
        Self { bits, slots, entries, keywords }
    }

    /// Calls `found(position, keyword)` for every keyword in the text, in order of the position of
    /// its rarest four bytes.
    pub(crate) fn scan(&self, bytes: &[u8], mut found: impl FnMut(usize, usize)) {
        for (position, window) in bytes.windows(GRAM_BYTES).enumerate() {
            let &[a, b, c, d] = window else { continue };
            let gram = u32::from_le_bytes([a, b, c, d]) | FOLD;
            let hashed = hash(gram);
            let word = self.bits.get(hashed >> 6).copied().unwrap_or(0);
            if (word >> (hashed & 63)) & 1 == 1 {
                self.verify(bytes, position, gram, hashed, &mut found);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn verify(
        &self,
        bytes: &[u8],
        position: usize,
        gram: u32,
        hashed: usize,
        found: &mut impl FnMut(usize, usize),
    ) {
        let mut slot = hashed % self.slots.len();
        while let Some(first) = self.slots.get(slot).and_then(|first| first.checked_sub(1)) {
            let group = self.entries.get(first as usize..).unwrap_or(&[]);
            if group.first().is_none_or(|entry| entry.gram() != gram) {
                slot = (slot + 1) % self.slots.len();
                continue;
            }
            for entry in group.iter().take_while(|entry| entry.gram() == gram) {
                let index = entry.keyword();
                let Some(start) = position.checked_sub(entry.offset()) else { continue };
                let Some(keyword) = self.keywords.get(index) else { continue };
                let here = cut(bytes, start, start + keyword.bytes.len());
                let same = if keyword.exact {
                    here == &*keyword.bytes
                } else {
                    here.eq_ignore_ascii_case(&keyword.bytes)
                };
                if same {
                    found(start, index);
                }
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Keyword, Prefilter, SLOTS_MIN};
    use std::borrow::Cow;

    #[test]
    fn every_keyword_is_found_wherever_it_stands() {
        let words = ["ghp_", "SG.", "password", "密码", "sk-ant-"];
        let keywords: Vec<Keyword> = words
            .iter()
            .map(|word| Keyword {
                bytes: Cow::Borrowed(word.as_bytes()),
                exact: word.contains(['_', '.']),
            })
            .collect();
        let filter = Prefilter::new(keywords);
        for (index, word) in words.iter().enumerate() {
            for lead in 0..9 {
                let text = format!("{}{word}xyz", ".".repeat(lead));
                let mut hits = Vec::new();
                filter.scan(text.as_bytes(), |at, keyword| hits.push((at, keyword)));
                assert_eq!(hits, vec![(lead, index)], "{text}");
            }
        }
        let mut hits = Vec::new();
        filter.scan(b"PassWord GHP_x", |at, keyword| hits.push((at, keyword)));
        assert_eq!(hits, vec![(0, 2)]);
    }

    #[test]
    fn words_that_share_their_rarest_bytes_are_all_found_however_many_there_are() {
        // Each short word stands for many grams: more than the fewest slots.
        let letters = || (b'a'..=b'z').map(char::from);
        let words = letters().flat_map(|a| letters().flat_map(move |b| [[a, b, '-'], [a, b, '=']]));
        let mut words: Vec<String> = words.map(String::from_iter).collect();
        words.extend((0..400).map(|n| format!("zqxj{n:03}")));
        let keyword =
            |word: &String| Keyword { bytes: Cow::Owned(word.clone().into()), exact: true };
        let filter = Prefilter::new(words.iter().map(keyword).collect());
        assert!(filter.slots.len() > SLOTS_MIN);
        for (index, word) in words.iter().enumerate() {
            let mut hits = Vec::new();
            filter.scan(format!("{word}0").as_bytes(), |at, keyword| hits.push((at, keyword)));
            assert!(hits.contains(&(0, index)), "{word}");
        }
    }

    #[test]
    fn a_three_byte_keyword_needs_a_byte_behind_it() {
        let filter = Prefilter::new(vec![Keyword { bytes: Cow::Borrowed(b"eyJ"), exact: true }]);
        let mut hits = 0;
        filter.scan(b"eyJ", |_, _| hits += 1);
        assert_eq!(hits, 0);
    }
}
