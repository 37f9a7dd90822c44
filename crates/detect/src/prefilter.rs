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
/// Fewest chains; there are at least as many as entries, so that most are of one entry.
const CHAINS_MIN: usize = 4096;
const FOLD: u32 = 0x2020_2020;
const HASH: u32 = 0x9E37_79B1;

/// A keyword and whether its letters' case matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keyword {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) exact: bool,
}

/// Four bytes, a keyword that is found by them and where in it they stand.
#[derive(Debug, Clone, Copy)]
struct Entry {
    gram: u32,
    /// The place of the next entry of the chain, counted from one; zero at its end.
    next: u32,
    keyword: u16,
    offset: u16,
}

/// The table over all keywords of a detector.
#[derive(Debug)]
pub(crate) struct Prefilter {
    bits: Box<[u64; TABLE_WORDS]>,
    /// By the hash of a gram: the place of a chain's first entry, counted from one; zero where there is
    /// none. Chains need no order among the entries, and sorting them was half of what building costs.
    chains: Vec<u32>,
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
        let mut entries: Vec<Entry> = Vec::with_capacity(2048);
        let mut add =
            |gram, keyword, offset| entries.push(Entry { gram, next: 0, keyword, offset });
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
                fourths.for_each(|d| add(u32::from_le_bytes([a, b, c, d]) | FOLD, index, 0));
                continue;
            }
            let Some(offset) = rarest(bytes) else { continue };
            add(gram_at(bytes, offset), index, offset as u16);
        }
        Self::chained(entries, keywords)
    }

    fn chained(mut entries: Vec<Entry>, keywords: Vec<Keyword>) -> Self {
        let mut bits = Box::new([0u64; TABLE_WORDS]);
        let mut chains = vec![0u32; entries.len().next_power_of_two().max(CHAINS_MIN)];
        let mask = chains.len() - 1;
        // From the last: each is put before those that are there, so a chain goes by keyword.
        for (place, entry) in entries.iter_mut().enumerate().rev() {
            let hashed = hash(entry.gram);
            if let Some(word) = bits.get_mut(hashed >> 6) {
                *word |= 1 << (hashed & 63);
            }
            if let Some(first) = chains.get_mut(hashed & mask) {
                entry.next = std::mem::replace(first, place as u32 + 1);
            }
        }
        Self { bits, chains, entries, keywords }
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
        let mut next = self.chains.get(hashed & (self.chains.len() - 1)).copied().unwrap_or(0);
        while let Some(entry) = next.checked_sub(1).and_then(|at| self.entries.get(at as usize)) {
            next = entry.next;
            if entry.gram != gram {
                continue;
            }
            let index = usize::from(entry.keyword);
            let Some(start) = position.checked_sub(usize::from(entry.offset)) else { continue };
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
    }
}

#[cfg(test)]
mod tests {
    use super::{CHAINS_MIN, Keyword, Prefilter};
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
        // Each short word stands for many grams: more than the fewest chains.
        let letters = || (b'a'..=b'z').map(char::from);
        let words = letters().flat_map(|a| letters().flat_map(move |b| [[a, b, '-'], [a, b, '=']]));
        let mut words: Vec<String> = words.map(String::from_iter).collect();
        words.extend((0..400).map(|n| format!("zqxj{n:03}")));
        let keyword =
            |word: &String| Keyword { bytes: Cow::Owned(word.clone().into()), exact: true };
        let filter = Prefilter::new(words.iter().map(keyword).collect());
        assert!(filter.chains.len() > CHAINS_MIN);
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
