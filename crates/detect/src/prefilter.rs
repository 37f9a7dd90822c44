//! Where in a text the keyword of any rule stands: the one pass over every byte that secrets cost.
//!
//! Each keyword is represented by its rarest four bytes. The pass hashes the four bytes at every
//! position (ASCII case folded away) into a table of 65,536 bits that fits the first-level cache; only
//! a set bit leads to the exact comparison. Building the table takes some tens of microseconds and no
//! automaton, which is what makes a first scan in a fresh process cheap; an Aho-Corasick DFA over the
//! same words takes milliseconds to build. The cost a byte does not depend on the number of rules, and
//! a text made to hit everywhere costs one comparison a keyword sharing the same four bytes.

use std::borrow::Cow;
use std::ops::Deref;

use crate::ascii::cut;
use crate::cues::{Cue, SECRETS, Word};

const GRAM_BYTES: usize = 4;
const TABLE_WORDS: usize = 1024;
/// Fewest chains; there are at least as many as entries, so that most are of one entry.
const CHAINS_MIN: usize = 4096;
const FOLD: u32 = 0x2020_2020;
const HASH: u32 = 0x9E37_79B1;

/// A keyword, whether its letters' case matters, and what it leads to.
#[derive(Debug, Clone)]
pub(crate) struct Keyword {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) exact: bool,
    pub(crate) cue: Cue,
    /// How much of it is the keyword.
    pub(crate) len: usize,
}

impl Keyword {
    pub(crate) fn of(word: &Word) -> Keyword {
        let Word { text, len, exact, cue, .. } = *word;
        Keyword { bytes: Cow::Borrowed(text.as_bytes()), exact, cue, len }
    }
}

/// The keywords of a table.
#[derive(Debug)]
enum Keywords {
    /// Those of the list that is made when this is compiled.
    BuiltIn(&'static [Word]),
    Own(Vec<Keyword>),
}

impl Keywords {
    fn get(&self, index: usize) -> Option<(&[u8], bool)> {
        match self {
            Keywords::BuiltIn(words) => {
                words.get(index).map(|word| (word.text.as_bytes(), word.exact))
            }
            Keywords::Own(words) => words.get(index).map(|word| (&*word.bytes, word.exact)),
        }
    }
}

/// What is made when this is compiled, or was made for one detector.
#[derive(Debug)]
enum Held<T: ?Sized + 'static> {
    BuiltIn(&'static T),
    Own(Box<T>),
}

impl<T: ?Sized> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Held::BuiltIn(held) => held,
            Held::Own(held) => held,
        }
    }
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
    bits: Held<[u64; TABLE_WORDS]>,
    /// By the hash of a gram: the place of a chain's first entry, counted from one; zero where there is
    /// none. Chains need no order among the entries, and sorting them was half of what building costs.
    chains: Held<[u32]>,
    entries: Held<[Entry]>,
    keywords: Keywords,
}

const fn hash(gram: u32) -> usize {
    (gram.wrapping_mul(HASH) >> 16) as usize
}

#[expect(clippy::indexing_slicing, reason = "the caller has looked that they are there")]
const fn gram_at(bytes: &[u8], from: usize) -> u32 {
    u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]]) | FOLD
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

/// Where a keyword's rarest four bytes begin; it has as many.
#[expect(clippy::indexing_slicing, reason = "counted")]
const fn rarest(bytes: &[u8]) -> usize {
    let (mut best, mut lowest, mut from) = (0, u32::MAX, 0);
    while from + GRAM_BYTES <= bytes.len() {
        let (mut weight, mut at) = (0, from);
        while at < from + GRAM_BYTES {
            weight += COMMONNESS[bytes[at] as usize] as u32;
            at += 1;
        }
        if weight < lowest {
            (best, lowest) = (from, weight);
        }
        from += 1;
    }
    best
}

/// Whether `d` may stand behind a keyword of three bytes that ends with `c`: what a token goes on with, or what may
/// follow a word that stands for itself. (`|` with 0x20 makes `_` 0x7F.)
const fn follows(c: u8, d: u8, exact: bool) -> bool {
    match exact {
        true => d.is_ascii_alphanumeric() || matches!(d, b'-' | 0x7F),
        // A word that ends with a sign is followed by anything.
        false => !c.is_ascii_alphanumeric() || !d.is_ascii_alphabetic(),
    }
}

/// Gives each gram of a keyword to `entries`, from `count` on, as far as there is room; how many there are then. A
/// keyword shorter than three bytes or longer than the offsets can say is the caller's mistake and is never found;
/// rule tests hold the tables to that.
#[expect(clippy::indexing_slicing, reason = "counted")]
const fn enter(
    entries: &mut [Entry],
    mut count: usize,
    bytes: &[u8],
    exact: bool,
    keyword: u16,
) -> usize {
    if let [a, b, c] = *bytes {
        let mut d = 0x20;
        while d < 0x80 {
            if (d < 0x40 || d >= 0x60) && follows(c, d, exact) {
                if count < entries.len() {
                    let gram = u32::from_le_bytes([a, b, c, d]) | FOLD;
                    entries[count] = Entry { gram, next: 0, keyword, offset: 0 };
                }
                count += 1;
            }
            d += 1;
        }
    } else if bytes.len() >= GRAM_BYTES {
        if count < entries.len() {
            let offset = rarest(bytes);
            let gram = gram_at(bytes, offset);
            entries[count] = Entry { gram, next: 0, keyword, offset: offset as u16 };
        }
        count += 1;
    }
    count
}

/// Hangs each entry into the chain of its hash. From the last: each is put before those that are there, so a chain
/// goes by keyword. The number of chains is a power of two.
#[expect(clippy::indexing_slicing, reason = "hashes are cut to the lengths of the tables")]
const fn chain(entries: &mut [Entry], chains: &mut [u32], bits: &mut [u64; TABLE_WORDS]) {
    let mut place = entries.len();
    while place > 0 {
        place -= 1;
        let hashed = hash(entries[place].gram);
        bits[hashed >> 6] |= 1 << (hashed & 63);
        let first = &mut chains[hashed & (chains.len() - 1)];
        entries[place].next = *first;
        *first = place as u32 + 1;
    }
}

/// The tables over the words of secrets, made when this is compiled.
mod of_secrets {
    use super::{CHAINS_MIN, Entry, TABLE_WORDS, chain, enter};
    use crate::cues::SECRETS;

    const NONE: Entry = Entry { gram: 0, next: 0, keyword: 0, offset: 0 };

    #[expect(clippy::indexing_slicing, reason = "checked when this is compiled")]
    const fn entries<const N: usize>() -> ([Entry; N], usize) {
        let (mut entries, mut count, mut at) = ([NONE; N], 0, 0);
        while at < SECRETS.len() {
            let bytes = SECRETS[at].text.as_bytes();
            count = enter(&mut entries, count, bytes, SECRETS[at].exact, at as u16);
            at += 1;
        }
        (entries, count)
    }

    const COUNT: usize = entries::<0>().1;
    const CHAINS: usize = if COUNT > CHAINS_MIN { COUNT.next_power_of_two() } else { CHAINS_MIN };

    struct Made {
        entries: [Entry; COUNT],
        chains: [u32; CHAINS],
        bits: [u64; TABLE_WORDS],
    }

    const MADE: Made = {
        let mut made = Made { entries: entries().0, chains: [0; CHAINS], bits: [0; TABLE_WORDS] };
        chain(&mut made.entries, &mut made.chains, &mut made.bits);
        made
    };

    pub(super) static ENTRIES: [Entry; COUNT] = MADE.entries;
    pub(super) static CHAINS_OF: [u32; CHAINS] = MADE.chains;
    pub(super) static BITS: [u64; TABLE_WORDS] = MADE.bits;
}

impl Prefilter {
    /// The table over the words of secrets.
    pub(crate) fn of_secrets() -> Self {
        Self {
            bits: Held::BuiltIn(&of_secrets::BITS),
            chains: Held::BuiltIn(&of_secrets::CHAINS_OF),
            entries: Held::BuiltIn(&of_secrets::ENTRIES),
            keywords: Keywords::BuiltIn(&SECRETS),
        }
    }

    /// Builds the table over these.
    pub(crate) fn new(keywords: Vec<Keyword>) -> Self {
        let fill = |entries: &mut [Entry]| {
            let numbered = keywords.iter().zip(0..=u16::MAX);
            numbered.fold(0, |count, (keyword, index)| {
                enter(entries, count, &keyword.bytes, keyword.exact, index)
            })
        };
        let none = Entry { gram: 0, next: 0, keyword: 0, offset: 0 };
        let mut entries = vec![none; fill(&mut [])];
        fill(&mut entries);
        let mut bits = Box::new([0u64; TABLE_WORDS]);
        let mut chains = vec![0u32; entries.len().next_power_of_two().max(CHAINS_MIN)];
        chain(&mut entries, &mut chains, &mut bits);
        Self {
            bits: Held::Own(bits),
            chains: Held::Own(chains.into()),
            entries: Held::Own(entries.into()),
            keywords: Keywords::Own(keywords),
        }
    }

    /// What a keyword leads to, and how much of it is the keyword.
    pub(crate) fn cue(&self, keyword: usize) -> Option<(Cue, usize)> {
        match &self.keywords {
            Keywords::BuiltIn(words) => words.get(keyword).map(|word| (word.cue, word.len)),
            Keywords::Own(words) => words.get(keyword).map(|word| (word.cue, word.len)),
        }
    }

    /// Calls `found(position, keyword)` for every keyword in the text, in order of the position of
    /// its rarest four bytes.
    pub(crate) fn scan(&self, bytes: &[u8], mut found: impl FnMut(usize, usize)) {
        let bits = &*self.bits;
        for (position, window) in bytes.windows(GRAM_BYTES).enumerate() {
            let &[a, b, c, d] = window else { continue };
            let gram = u32::from_le_bytes([a, b, c, d]) | FOLD;
            let hashed = hash(gram);
            let word = bits.get(hashed >> 6).copied().unwrap_or(0);
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
            let Some((keyword, exact)) = self.keywords.get(index) else { continue };
            let here = cut(bytes, start, start + keyword.len());
            let same = if exact { here == keyword } else { here.eq_ignore_ascii_case(keyword) };
            if same {
                found(start, index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CHAINS_MIN, Keyword, Prefilter};
    use crate::cues::{Cue, SECRETS};
    use std::borrow::Cow;

    fn keyword(bytes: Cow<'static, [u8]>, exact: bool) -> Keyword {
        Keyword { len: bytes.len(), bytes, exact, cue: Cue::Block }
    }

    #[test]
    fn the_table_of_secrets_is_the_one_that_would_be_built() {
        let (ready, built) =
            (Prefilter::of_secrets(), Prefilter::new(SECRETS.iter().map(Keyword::of).collect()));
        assert_eq!(*ready.bits, *built.bits);
        assert_eq!(*ready.chains, *built.chains);
        assert_eq!(format!("{:?}", &*ready.entries), format!("{:?}", &*built.entries));
        for index in 0..=SECRETS.len() {
            assert_eq!(ready.keywords.get(index), built.keywords.get(index));
            assert_eq!(ready.cue(index), built.cue(index));
        }
    }

    #[test]
    fn every_keyword_is_found_wherever_it_stands() {
        let words = ["ghp_", "SG.", "password", "密码", "sk-ant-"];
        let keywords: Vec<Keyword> = words
            .iter()
            .map(|word| keyword(Cow::Borrowed(word.as_bytes()), word.contains(['_', '.'])))
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
        let own = |word: &String| keyword(Cow::Owned(word.clone().into()), true);
        let filter = Prefilter::new(words.iter().map(own).collect());
        assert!(filter.chains.len() > CHAINS_MIN);
        for (index, word) in words.iter().enumerate() {
            let mut hits = Vec::new();
            filter.scan(format!("{word}0").as_bytes(), |at, keyword| hits.push((at, keyword)));
            assert!(hits.contains(&(0, index)), "{word}");
        }
    }

    #[test]
    fn a_three_byte_keyword_needs_a_byte_behind_it() {
        let filter = Prefilter::new(vec![keyword(Cow::Borrowed(b"eyJ"), true)]);
        let mut hits = 0;
        filter.scan(b"eyJ", |_, _| hits += 1);
        assert_eq!(hits, 0);
    }
}
