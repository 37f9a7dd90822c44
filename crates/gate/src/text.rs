//! Text from events, made fit for a terminal, a log, a page (law 14).
//!
//! An event's text is written by a model or by whoever talked to it. Control characters move
//! cursors, bidi controls reorder what a person reads, invisible ones hide what they approve. All of
//! them are shown as `\u{..}`; long text is cut and the cut says how much is missing.

use std::fmt::{self, Write as _};

/// Shows text with every control, bidi and invisible character escaped, cut at a number of
/// characters with a count of what is missing.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    text: &'a str,
    chars_max: usize,
    keep_newlines: bool,
}

/// Text for one line: line breaks are escaped too.
pub fn shown(text: &str, chars_max: usize) -> Shown<'_> {
    Shown { text, chars_max, keep_newlines: false }
}

/// Text for a block: line feeds and tabs stay.
pub fn shown_block(text: &str, chars_max: usize) -> Shown<'_> {
    Shown { text, chars_max, keep_newlines: true }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.text.chars();
        for c in rest.by_ref().take(self.chars_max) {
            match c {
                '\n' | '\t' if self.keep_newlines => f.write_char(c)?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                c if is_deceptive(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        match rest.count() {
            0 => Ok(()),
            more => write!(f, "... ({more} more characters)"),
        }
    }
}

/// Whether a character can move, reorder or hide text: the categories Cc and Cf of Unicode, line and
/// paragraph separators, fillers that show nothing, variation selectors and tag characters.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'            // C0, DEL, C1
        | '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Cuts text to at most `bytes_max` bytes on a character's boundary, with a count of the missing
/// bytes behind it; gives it back as it is when it fits.
pub fn cut(text: &str, bytes_max: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= bytes_max {
        return text.into();
    }
    let end = text.floor_char_boundary(bytes_max);
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}... ({} more bytes)", text.len() - end).into()
}

#[cfg(test)]
mod tests {
    use super::{cut, shown, shown_block};

    #[test]
    fn control_bidi_and_invisible_characters_are_escaped() {
        assert_eq!(shown("a\u{1b}[2Jb", 99).to_string(), "a\\u{1b}[2Jb");
        assert_eq!(shown("x\u{202e}y\u{200b}z", 99).to_string(), "x\\u{202e}y\\u{200b}z");
        assert_eq!(shown("a\nb\tc\r", 99).to_string(), "a\\nb\\tc\\r");
        assert_eq!(shown_block("a\nb\r", 99).to_string(), "a\nb\\r");
        assert_eq!(shown("手机 138", 99).to_string(), "手机 138");
    }

    #[test]
    fn a_cut_says_how_much_is_missing() {
        assert_eq!(shown("abcdef", 4).to_string(), "abcd... (2 more characters)");
        assert_eq!(cut("ééé", 3), "é... (4 more bytes)");
        assert_eq!(cut("abc", 3), "abc");
    }
}
