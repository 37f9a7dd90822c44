//! JSON as text: a strict walk over its strings and numbers that changes nothing, and the way between an
//! escaped string and what it says.
//!
//! Redaction edits the text of single values in place, so that whatever is not masked stays byte for
//! byte, and a valid document stays valid. No tree is built and nothing recurses. What is not valid JSON
//! is refused as a whole, and its caller reads it as plain text instead.

use crate::ascii::at;
use crate::limits::JSON_DEPTH_MAX;

/// Why a text is not read as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotJson;

/// What the walk meets. Ranges of strings exclude the quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Key(usize, usize),
    Text(usize, usize),
    Number(usize, usize),
    /// `true`, `false`, `null`.
    Word,
    OpenObject,
    OpenArray,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// Whether a text might be a JSON object or array: its first and last characters.
pub(crate) fn looks_like(text: &str) -> bool {
    let trimmed = text.trim_ascii();
    let ends = (trimmed.as_bytes().first(), trimmed.as_bytes().last());
    matches!(ends, (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}

/// Walks over the document.
pub(crate) fn walk(text: &str, mut visit: impl FnMut(Event)) -> Result<(), NotJson> {
    let bytes = text.as_bytes();
    let mut stack: Vec<bool> = Vec::with_capacity(16);
    let mut expect = Expect::Value;
    let mut place = 0;
    loop {
        while matches!(at(bytes, place), b' ' | b'\t' | b'\n' | b'\r') {
            place += 1;
        }
        let Some(byte) = bytes.get(place).copied() else { break };
        let in_object = stack.last().copied();
        match (expect, byte) {
            (Expect::Value | Expect::ValueOrEnd, b'{' | b'[') => {
                if stack.len() >= JSON_DEPTH_MAX {
                    return Err(NotJson);
                }
                let object = byte == b'{';
                stack.push(object);
                visit(if object { Event::OpenObject } else { Event::OpenArray });
                expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                place += 1;
            }
            (Expect::CommaOrEnd | Expect::KeyOrEnd, b'}') if in_object == Some(true) => {
                stack.pop();
                visit(Event::Close);
                expect = behind(&stack);
                place += 1;
            }
            (Expect::CommaOrEnd | Expect::ValueOrEnd, b']') if in_object == Some(false) => {
                stack.pop();
                visit(Event::Close);
                expect = behind(&stack);
                place += 1;
            }
            (Expect::Value | Expect::ValueOrEnd, _) => {
                let (event, next) = scalar(bytes, place, byte)?;
                visit(event);
                expect = behind(&stack);
                place = next;
            }
            (Expect::Key | Expect::KeyOrEnd, b'"') => {
                let end = string_end(bytes, place + 1)?;
                visit(Event::Key(place + 1, end));
                expect = Expect::Colon;
                place = end + 1;
            }
            (Expect::Colon, b':') => {
                expect = Expect::Value;
                place += 1;
            }
            (Expect::CommaOrEnd, b',') => {
                expect = if in_object == Some(true) { Expect::Key } else { Expect::Value };
                place += 1;
            }
            _ => return Err(NotJson),
        }
    }
    if expect == Expect::Nothing { Ok(()) } else { Err(NotJson) }
}

/// What may stand behind a value.
fn behind(stack: &[bool]) -> Expect {
    if stack.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd }
}

/// A string, number or word, and where it ends.
fn scalar(bytes: &[u8], place: usize, first: u8) -> Result<(Event, usize), NotJson> {
    match first {
        b'"' => {
            let end = string_end(bytes, place + 1)?;
            Ok((Event::Text(place + 1, end), end + 1))
        }
        b'-' | b'0'..=b'9' => {
            let end = number_end(bytes, place)?;
            Ok((Event::Number(place, end), end))
        }
        _ => {
            let rest = bytes.get(place..).unwrap_or(&[]);
            let words = [b"true".as_slice(), b"false", b"null"];
            let word = words.into_iter().find(|word| rest.starts_with(word)).ok_or(NotJson)?;
            Ok((Event::Word, place + word.len()))
        }
    }
}

fn string_end(bytes: &[u8], from: usize) -> Result<usize, NotJson> {
    let mut place = from;
    loop {
        let rest = bytes.get(place..).ok_or(NotJson)?;
        let hit = memchr::memchr2(b'"', b'\\', rest).ok_or(NotJson)?;
        if rest.get(..hit).ok_or(NotJson)?.iter().any(|byte| *byte < 0x20) {
            return Err(NotJson);
        }
        if at(rest, hit) == b'"' {
            return Ok(place + hit);
        }
        if !matches!(
            at(rest, hit + 1),
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u'
        ) {
            return Err(NotJson);
        }
        place += hit + 2;
    }
}

fn number_end(bytes: &[u8], from: usize) -> Result<usize, NotJson> {
    let digits = |mut place: usize| {
        let start = place;
        while at(bytes, place).is_ascii_digit() {
            place += 1;
        }
        if place > start { Ok(place) } else { Err(NotJson) }
    };
    let start = from + usize::from(at(bytes, from) == b'-');
    let mut place = digits(start)?;
    if at(bytes, start) == b'0' && place > start + 1 {
        return Err(NotJson);
    }
    if at(bytes, place) == b'.' {
        place = digits(place + 1)?;
    }
    if matches!(at(bytes, place), b'e' | b'E') {
        let sign = matches!(at(bytes, place + 1), b'+' | b'-');
        place = digits(place + 1 + usize::from(sign))?;
    }
    Ok(place)
}

/// The digits of a whole number that is written with an exponent: `4.1e3` is 4100. `None`: it has none, is not
/// whole, or is longer than any number that is looked for.
pub(crate) fn whole(number: &str) -> Option<String> {
    const DIGITS_MAX: usize = 24;
    let (mantissa, exponent) = number.split_once(['e', 'E'])?;
    let exponent: usize = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let zeros = exponent.checked_sub(fraction.len())?;
    let sound = zeros <= DIGITS_MAX && integer.len() + fraction.len() <= DIGITS_MAX;
    sound.then(|| format!("{integer}{fraction}{}", "0".repeat(zeros)))
}

/// What an escaped string says, and where each of its characters stands in the escaped form.
#[derive(Debug)]
pub(crate) struct Unescaped {
    pub(crate) text: String,
    /// Behind each escape: place in the text and in the escaped form.
    marks: Vec<(usize, usize)>,
    /// Before each escape, likewise.
    starts: Vec<(usize, usize)>,
}

impl Unescaped {
    /// Reads the content of a JSON string; `None`: it holds no escape and says itself.
    pub(crate) fn read(raw: &str) -> Result<Option<Self>, NotJson> {
        if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
            return Ok(None);
        }
        let mut out =
            Self { text: String::with_capacity(raw.len()), marks: Vec::new(), starts: Vec::new() };
        let mut place = 0;
        while let Some(hit) =
            raw.get(place..).and_then(|rest| memchr::memchr(b'\\', rest.as_bytes()))
        {
            out.text.push_str(raw.get(place..place + hit).ok_or(NotJson)?);
            place += hit;
            out.starts.push((out.text.len(), place));
            let (char, len) = escape(raw.as_bytes(), place)?;
            out.text.push(char);
            place += len;
            out.marks.push((out.text.len(), place));
        }
        out.text.push_str(raw.get(place..).ok_or(NotJson)?);
        Ok(Some(out))
    }

    /// The place in the escaped form of a place in the text.
    pub(crate) fn raw_place(&self, place: usize) -> usize {
        if let Ok(index) = self.starts.binary_search_by_key(&place, |(text, _)| *text)
            && let Some((_, raw)) = self.starts.get(index)
        {
            return *raw;
        }
        let index = self.marks.partition_point(|(text, _)| *text <= place);
        match index.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some((text, raw)) => raw + (place - text),
            None => place,
        }
    }
}

/// The character of the escape at `place`, and the escape's length.
fn escape(raw: &[u8], place: usize) -> Result<(char, usize), NotJson> {
    let simple = match at(raw, place + 1) {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let high = unit(raw, place + 2)?;
            if !(0xD800..0xE000).contains(&high) {
                return Ok((char::from_u32(high).ok_or(NotJson)?, 6));
            }
            let paired = high < 0xDC00 && at(raw, place + 6) == b'\\' && at(raw, place + 7) == b'u';
            let low = if paired { unit(raw, place + 8)? } else { 0 };
            if (0xDC00..0xE000).contains(&low) {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return Ok((char::from_u32(code).ok_or(NotJson)?, 12));
            }
            // A lone surrogate is legal in JSON text; it says nothing that could be a datum.
            return Ok((char::REPLACEMENT_CHARACTER, 6));
        }
        other => char::from(other),
    };
    Ok((simple, 2))
}

fn unit(raw: &[u8], from: usize) -> Result<u32, NotJson> {
    let hex =
        raw.get(from..from + 4).and_then(|hex| std::str::from_utf8(hex).ok()).ok_or(NotJson)?;
    if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(NotJson);
    }
    u32::from_str_radix(hex, 16).map_err(|_| NotJson)
}

/// Escapes a text for the inside of a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                out.push_str(&format!("\\u{:04x}", control as u32))
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Event, NotJson, Unescaped, escaped, walk};
    use proptest::prelude::{ProptestConfig, any, proptest};

    fn valid(text: &str) -> bool {
        walk(text, |_| {}).is_ok()
    }

    #[test]
    fn the_walk_is_as_strict_as_json() {
        for text in [
            "{}",
            "[]",
            r#"{"a":[1,-2.5e3,true,null,"x\n"]}"#,
            "1",
            " \"a\" ",
            r#"["\ud83d\ude00"]"#,
        ] {
            assert!(valid(text), "{text}");
        }
        for text in [
            "",
            "{",
            "{}}",
            "[1,]",
            "{\"a\"}",
            "{a:1}",
            "01",
            "\"a\nb\"",
            "[1 2]",
            "{\"a\":1,}",
            "tru",
            "\"\\x\"",
        ] {
            assert!(!valid(text), "{text}");
        }
        assert_eq!(walk(&"[".repeat(200), |_| {}), Err(NotJson));
    }

    #[test]
    fn the_walk_names_keys_and_values() {
        let mut events = Vec::new();
        walk(r#"{"k":"v","n":7}"#, |event| events.push(event)).unwrap();
        assert_eq!(
            events,
            vec![
                Event::OpenObject,
                Event::Key(2, 3),
                Event::Text(6, 7),
                Event::Key(10, 11),
                Event::Number(13, 14),
                Event::Close
            ]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn an_escaped_text_says_itself(text in any::<String>()) {
            let raw = escaped(&text);
            let read = Unescaped::read(&raw).unwrap();
            let said = read.as_ref().map_or(raw.as_str(), |read| read.text.as_str());
            assert_eq!(said, text);
            if let Some(read) = &read {
                for (place, _) in read.text.char_indices() {
                    let tail = Unescaped::read(&raw[read.raw_place(place)..]).unwrap();
                    let tail = tail.map_or_else(|| raw[read.raw_place(place)..].to_owned(), |tail| tail.text);
                    assert_eq!(tail, read.text[place..]);
                }
            }
        }

        #[test]
        fn the_walk_agrees_with_serde(text in r#"[\[\]{}",:0-9a-z \\.eE+-]{0,24}"#) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!(valid(&text), theirs, "{text}");
        }
    }
}
