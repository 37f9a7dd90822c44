//! Masks that a session has shown, so that they are noticed when they come back.
//!
//! A model that reads a mask and writes it into a file destroys the datum that stood there. The session
//! remembers the masks it has handed out; what is about to be written is asked for them. Bounded: beyond
//! the cap a label or hash is recognised by its form alone, so forgetting never lets one through.

use std::collections::HashSet;
use std::ops::Range;

use crate::ascii::{at, cut};
use crate::finding::Kind;
use crate::limits::MASKS_REMEMBERED_MAX;
use crate::redact::UNSCANNED;

/// Longest mask in brackets, in bytes.
const BRACKET_BYTES_MAX: usize = 128;
/// How many masks made of stars are remembered one by one.
const STARRED_MAX: usize = 512;

/// The masks of a session.
#[derive(Debug, Clone, Default)]
pub struct MaskMemory {
    bracketed: HashSet<String>,
    starred: Vec<String>,
    full: bool,
}

impl MaskMemory {
    /// Remembers the masks of a redaction ([`Redacted::masks`](crate::Redacted::masks)).
    pub fn remember<'a>(&mut self, masks: impl IntoIterator<Item = &'a String>) {
        for mask in masks {
            let starred = !mask.starts_with('[');
            let room = self.bracketed.len() < MASKS_REMEMBERED_MAX;
            if starred && !self.starred.contains(mask) {
                if self.starred.len() < STARRED_MAX {
                    self.starred.push(mask.clone());
                } else {
                    self.full = true;
                }
            } else if !starred && room {
                self.bracketed.insert(mask.clone());
            } else if !starred {
                self.full = true;
            }
        }
    }

    /// Whether nothing was masked so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bracketed.is_empty() && self.starred.is_empty()
    }

    /// The first mask of this session that stands in the text.
    #[must_use]
    pub fn first_in(&self, text: &str) -> Option<Range<usize>> {
        if self.is_empty() {
            return None;
        }
        let bracketed = masks_in(text).into_iter().find(|range| {
            text.get(range.clone()).is_some_and(|mask| {
                self.full
                    || self.bracketed.contains(mask)
                    || self.starred.iter().any(|known| known == mask)
            })
        });
        let starred = self.starred.iter().filter_map(|mask| {
            let start = memchr::memmem::find(text.as_bytes(), mask.as_bytes())?;
            Some(start..start + mask.len())
        });
        starred.chain(bracketed).min_by_key(|range| range.start)
    }
}

/// Whatever in a text has the form of a mask of this crate: `[EMAIL]`, `[EMAIL:1f3a9c02b7d4e655]`,
/// `138*********`, `z***@x.com`, `**** 1111`, eight stars.
#[must_use]
pub fn masks_in(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut place = 0;
    while let Some(hit) = bytes.get(place..).and_then(|rest| memchr::memchr2(b'[', b'*', rest)) {
        let start = place + hit;
        let span =
            if at(bytes, start) == b'[' { bracketed(bytes, start) } else { starred(bytes, start) };
        match span {
            Some(range) => {
                place = range.end;
                found.push(range);
            }
            None => {
                place = start
                    + cut(bytes, start, bytes.len())
                        .iter()
                        .take_while(|b| **b == b'*')
                        .count()
                        .max(1)
            }
        }
    }
    found
}

/// Whether a span lies inside a mask in brackets: masks are never data.
pub(crate) fn inside_mask(bytes: &[u8], start: usize, end: usize) -> bool {
    let low = start.saturating_sub(BRACKET_BYTES_MAX);
    let open = memchr::memrchr(b'[', cut(bytes, low, start + 1));
    open.and_then(|open| bracketed(bytes, low + open)).is_some_and(|mask| end <= mask.end)
}

/// Whether a span holds masks in brackets and nothing else that could be a datum or part of one: what stands
/// between masks is not masked because of them.
pub(crate) fn masks_alone(bytes: &[u8], start: usize, end: usize) -> bool {
    let mut place = start;
    let mut masks = 0;
    while place < end {
        let mask = if at(bytes, place) == b'[' { bracketed(bytes, place) } else { None };
        match mask.filter(|mask| mask.end <= end) {
            Some(mask) => {
                masks += 1;
                place = mask.end;
            }
            None if at(bytes, place).is_ascii_alphanumeric() || !at(bytes, place).is_ascii() => {
                return false;
            }
            None => place += 1,
        }
    }
    masks > 0
}

fn bracketed(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let window = cut(bytes, start, start + BRACKET_BYTES_MAX);
    let close = memchr::memchr(b']', window)?;
    let inside = cut(window, 1, close);
    let word_len =
        inside.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
    let word = cut(inside, 0, word_len);
    let rest = cut(inside, word_len, inside.len());
    let known = Kind::ALL.iter().any(|kind| kind.label().as_bytes() == word)
        || cut(window, 0, close + 1) == UNSCANNED.as_bytes();
    let plain = rest.is_empty() || rest.first() == Some(&b':') && rest.len() > 1;
    (known && plain).then_some(start..start + close + 1)
}

/// Stars with what is kept before and behind them.
fn starred(bytes: &[u8], star: usize) -> Option<Range<usize>> {
    let stars = cut(bytes, star, bytes.len()).iter().take_while(|byte| **byte == b'*').count();
    let head = cut(bytes, 0, star)
        .iter()
        .rev()
        .take(8)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let end = star + stars;
    if stars == 3 && at(bytes, end) == b'@' {
        let domain = cut(bytes, end + 1, end + 254)
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
            .count();
        return (domain > 2).then_some(star - head.min(4)..end + 1 + domain);
    }
    // `**** 1111`: the last digits of a card.
    if stars == 4 && at(bytes, end) == b' ' {
        let digits = cut(bytes, end + 1, end + 6).iter().take_while(|b| b.is_ascii_digit()).count();
        return (digits == 4).then_some(star..end + 5);
    }
    let phone =
        stars == 9 && head >= 3 && cut(bytes, star - 3, star).iter().all(u8::is_ascii_digit);
    let secret = stars == 8;
    (phone || secret).then_some(star - head..end)
}

#[cfg(test)]
mod tests {
    use super::{MaskMemory, masks_in};

    #[test]
    fn masks_are_known_by_their_form() {
        let text = "a [EMAIL] b [PHONE:00ff00ff00ff00ff] c 138********* d z***@x.com e [NOTE] f [1] g **bold** h sk-a******** i **** 1111";
        let found: Vec<&str> = masks_in(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(
            found,
            [
                "[EMAIL]",
                "[PHONE:00ff00ff00ff00ff]",
                "138*********",
                "z***@x.com",
                "a********",
                "**** 1111"
            ]
        );
    }

    #[test]
    fn a_session_notices_its_own_masks_only() {
        let mut memory = MaskMemory::default();
        assert_eq!(memory.first_in("[EMAIL] z***@x.com"), None);
        memory.remember(&["z***@x.com".to_owned(), "[PHONE]".to_owned()]);
        assert_eq!(memory.first_in("write [EMAIL]"), None);
        assert_eq!(memory.first_in("write [PHONE]"), Some(6..13));
        assert_eq!(memory.first_in("to z***@x.com"), Some(3..13));
    }
}
