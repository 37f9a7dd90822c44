//! Folding: the copy of a text on which detection runs, and the way back to the bytes that were given.
//!
//! Compatibility forms (full-width digits, mathematical letters), digits of other scripts, blanks and
//! hyphens of all kinds become ASCII; zero-width, bidirectional and other ignorable characters vanish;
//! bytes that are no UTF-8 become one replacement character each. Every character is folded by itself,
//! so a part of a text folds as it does within the whole. Text without any of these is not copied.
//! Chinese punctuation is left alone: it is everywhere, and readers know it.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

/// A stretch that folding changed.
#[derive(Debug, Clone, Copy)]
struct Change {
    folded: (usize, usize),
    original: (usize, usize),
}

/// A folded text.
#[derive(Debug)]
pub(crate) struct Folded<'a> {
    text: Cow<'a, str>,
    changes: Vec<Change>,
}

impl<'a> Folded<'a> {
    /// Folds a text.
    pub(crate) fn of(text: &'a str) -> Self {
        if text.is_ascii() || !any_changes(text) {
            return Self { text: Cow::Borrowed(text), changes: Vec::new() };
        }
        Self::copy(text.as_bytes())
    }

    /// Folds bytes that may not be UTF-8.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::of(text),
            Err(_) => Self::copy(bytes),
        }
    }

    fn copy(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len());
        let mut changes = Vec::new();
        let mut original = 0;
        for chunk in bytes.utf8_chunks() {
            for char in chunk.valid().chars() {
                let start = text.len();
                let next = original + char.len_utf8();
                if push_folded(&mut text, char) {
                    changes
                        .push(Change { folded: (start, text.len()), original: (original, next) });
                }
                original = next;
            }
            if !chunk.invalid().is_empty() {
                let start = text.len();
                let next = original + chunk.invalid().len();
                text.push(char::REPLACEMENT_CHARACTER);
                changes.push(Change { folded: (start, text.len()), original: (original, next) });
                original = next;
            }
        }
        Self { text: Cow::Owned(text), changes }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the original that a span of the folded text stands for.
    pub(crate) fn original(&self, span: Range<usize>) -> Range<usize> {
        self.place(span.start, false)..self.place(span.end, true)
    }

    /// A boundary in the original for one in the folded text: `end` takes the near side of what
    /// vanished there, a start the far side.
    pub(crate) fn place(&self, place: usize, end: bool) -> usize {
        let index = if end {
            self.changes.partition_point(|change| change.folded.0 < place)
        } else {
            self.changes.partition_point(|change| {
                change.folded.0 < place || change.folded.0 == place && change.folded.1 == place
            })
        };
        let Some(change) = index.checked_sub(1).and_then(|last| self.changes.get(last)) else {
            return place;
        };
        if place < change.folded.1 {
            return if end { change.original.1 } else { change.original.0 };
        }
        change.original.1 + (place - change.folded.1)
    }
}

/// Whether folding changes any character: ASCII and the ideographs of ordinary Chinese are passed over
/// without being decoded.
fn any_changes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        match byte {
            0..=0x7F => {
                let rest = bytes.get(place..).unwrap_or(&[]);
                let blocks = rest.chunks_exact(16).take_while(|block| block.is_ascii()).count();
                place += (blocks * 16).max(1);
            }
            0xE4..=0xE9 => place += 3,
            _ => {
                let Some(char) = text.get(place..).and_then(|rest| rest.chars().next()) else {
                    break;
                };
                if changes(char) {
                    return true;
                }
                place += char.len_utf8();
            }
        }
    }
    false
}

/// Whether folding changes the character.
fn changes(char: char) -> bool {
    !char.is_ascii() && (is_ignorable(char) || is_compatible(char))
}

/// Default-ignorable and format characters, of which a reader sees nothing.
fn is_ignorable(char: char) -> bool {
    matches!(
        char,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Characters that stand for ASCII ones.
fn is_compatible(char: char) -> bool {
    match char {
        '\u{00A0}'
        | '\u{2000}'..='\u{200A}'
        | '\u{2010}'..='\u{2015}'
        | '\u{2024}'
        | '\u{202F}'
        | '\u{205F}'
        | '\u{2212}'
        | '\u{3000}'
        | '\u{FE63}'
        | '\u{FE6B}'
        | '\u{FE52}'
        | '\u{FE55}' => true,
        // Full-width forms, but not the commas, brackets and marks of Chinese text, nor its colon.
        '\u{FF0B}'
        | '\u{FF0D}'..='\u{FF19}'
        | '\u{FF1D}'
        | '\u{FF20}'..='\u{FF3A}'
        | '\u{FF3F}'
        | '\u{FF41}'..='\u{FF5A}' => true,
        '\u{00B2}'
        | '\u{00B3}'
        | '\u{00B9}'
        | '\u{2070}'..='\u{208E}'
        | '\u{2460}'..='\u{249B}'
        | '\u{24B6}'..='\u{24EA}'
        | '\u{1D400}'..='\u{1D7FF}'
        | '\u{1F100}'..='\u{1F10A}'
        | '\u{FB00}'..='\u{FB06}'
        | '\u{2100}'..='\u{214F}' => true,
        _ => digit(char).is_some(),
    }
}

/// Decimal digits of other scripts, by the first of their ten.
fn digit(char: char) -> Option<char> {
    const ZEROS: [u32; 22] = [
        0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50,
        0xED0, 0xF20, 0x1040, 0x17E0, 0x1810, 0x1946, 0x19D0, 0xA620, 0xA8D0,
    ];
    let code = char as u32;
    if code < 0x660 || (0xB000..=0xFFFF).contains(&code) || (0x2000..=0xA61F).contains(&code) {
        return None;
    }
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    char::from_digit(code - zero, 10)
}

/// Appends the folded form; whether it differs.
fn push_folded(text: &mut String, char: char) -> bool {
    if char.is_ascii() || !changes(char) {
        text.push(char);
        return false;
    }
    if is_ignorable(char) {
        return true;
    }
    if let Some(digit) = digit(char) {
        text.push(digit);
        return true;
    }
    match char {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => text.push('-'),
        _ => text.extend(std::iter::once(char).nfkc()),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::Folded;

    #[test]
    fn what_hides_a_datum_is_folded_away_and_the_way_back_is_known() {
        let text = "a\u{200B}b１３\u{FF0D}8 ٣";
        let folded = Folded::of(text);
        assert_eq!(folded.text(), "ab13-8 3");
        assert_eq!(&text[folded.original(0..2)], "a\u{200B}b");
        assert_eq!(&text[folded.original(2..6)], "１３\u{FF0D}8");
        assert_eq!(&text[folded.original(7..8)], "٣");
        assert_eq!(&text[folded.original(1..2)], "b");
        assert_eq!(&text[folded.original(0..1)], "a");
    }

    #[test]
    fn bytes_that_are_no_text_keep_their_places() {
        let bytes = b"ab\xffcd";
        let folded = Folded::of_bytes(bytes);
        assert_eq!(folded.text(), "ab\u{FFFD}cd");
        assert_eq!(folded.original(5..7), 3..5);
        assert_eq!(folded.original(0..2), 0..2);
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        for text in ["plain", "中文，标点。还有：冒号"] {
            assert!(matches!(Folded::of(text).text, std::borrow::Cow::Borrowed(_)));
        }
    }
}
