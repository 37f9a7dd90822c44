//! The strict reader of JSON (RFC 8259) for everything that comes from outside.
//!
//! Two readers that disagree about a message are a way round a gate: it judges one reading, the tool
//! runs another. So this reader refuses whatever readers disagree about: duplicate keys, lone
//! surrogates, anything but UTF-8, a byte-order mark, trailing text, NaN. It is written by hand
//! because numbers must survive as written and keys must be seen before a map merges them.

use super::{Json, Number, Object};
use crate::limits::{JSON_BYTES_MAX, JSON_DEPTH_MAX, JSON_NUMBER_BYTES_MAX};
use std::collections::HashSet;

/// From this many members on, duplicate keys are looked up in a set, so that reading stays linear.
const KEYS_SCANNED_MAX: usize = 16;

/// Why a text was refused, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {at}")]
pub struct ReadError {
    /// What is wrong.
    pub fault: ReadFault,
    /// Offset of the fault from the start of the text, in bytes.
    pub at: usize,
}

/// What the strict reader refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadFault {
    /// The text is larger than [`JSON_BYTES_MAX`].
    #[error("JSON text larger than {JSON_BYTES_MAX} bytes")]
    TooLarge,
    /// Arrays and objects are nested deeper than [`JSON_DEPTH_MAX`].
    #[error("JSON nested deeper than {JSON_DEPTH_MAX} levels")]
    TooDeep,
    /// A number literal is longer than [`JSON_NUMBER_BYTES_MAX`].
    #[error("number longer than {JSON_NUMBER_BYTES_MAX} bytes")]
    NumberTooLong,
    /// The text is not UTF-8.
    #[error("text that is not UTF-8")]
    NotUtf8,
    /// The text starts with a byte-order mark.
    #[error("byte-order mark before the JSON text")]
    ByteOrderMark,
    /// A key stands twice in one object.
    #[error("duplicate key `{0}`")]
    DuplicateKey(String),
    /// The text ends inside a value.
    #[error("text ends inside a JSON value")]
    Truncated,
    /// Something else stands where the named thing must be.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A string holds a bad escape.
    #[error("bad escape in a string")]
    BadEscape,
    /// A string holds half of a surrogate pair.
    #[error("lone surrogate in a string")]
    LoneSurrogate,
    /// A string holds a raw control character.
    #[error("raw control character in a string")]
    ControlCharacter,
    /// Something stands behind the value.
    #[error("text behind the JSON value")]
    Trailing,
}

pub(super) fn read(text: &[u8]) -> Result<Json, ReadError> {
    if text.len() > JSON_BYTES_MAX {
        return Err(ReadError { fault: ReadFault::TooLarge, at: JSON_BYTES_MAX });
    }
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            return Err(ReadError { fault: ReadFault::NotUtf8, at: error.valid_up_to() });
        }
    };
    if text.starts_with('\u{feff}') {
        return Err(ReadError { fault: ReadFault::ByteOrderMark, at: 0 });
    }
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() { Err(reader.fault(ReadFault::Trailing)) } else { Ok(value) }
}

/// Whether these bytes are exactly one JSON number.
pub(super) fn is_number(literal: &[u8]) -> bool {
    number_end(literal, 0) == Some(literal.len()) && literal.len() <= JSON_NUMBER_BYTES_MAX
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, fault: ReadFault) -> ReadError {
        ReadError { fault, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes `byte` or says what was expected.
    fn take(&mut self, byte: u8, what: &'static str) -> Result<(), ReadError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.fault(ReadFault::Expected(what))),
            None => Err(self.fault(ReadFault::Truncated)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.skip_space();
        match self.peek() {
            None => Err(self.fault(ReadFault::Truncated)),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.fault(ReadFault::Expected("a JSON value"))),
        }
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, ReadError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        if word.as_bytes().starts_with(rest) {
            return Err(ReadError { fault: ReadFault::Truncated, at: self.text.len() });
        }
        Err(self.fault(ReadFault::Expected("a JSON value")))
    }

    fn number(&mut self) -> Result<Json, ReadError> {
        let Some(end) = number_end(self.text.as_bytes(), self.at) else {
            return Err(self.fault(ReadFault::Expected("a JSON number")));
        };
        if end - self.at > JSON_NUMBER_BYTES_MAX {
            return Err(self.fault(ReadFault::NumberTooLong));
        }
        let literal = self.text.get(self.at..end).unwrap_or_default();
        self.at = end;
        Ok(Json::Number(Number::from_checked(literal)))
    }

    fn array(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.enter(depth)?;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.peek() == Some(b',') {
                self.at += 1;
                continue;
            }
            self.take(b']', "`,` or `]`")?;
            return Ok(Json::Array(items));
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.enter(depth)?;
        let mut object = Object::new();
        let mut seen: HashSet<String> = HashSet::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(object));
        }
        loop {
            self.skip_space();
            let key_at = self.at;
            if self.peek().is_some_and(|byte| byte != b'"') {
                return Err(self.fault(ReadFault::Expected("a key in quotes")));
            }
            let key = self.string()?;
            if is_duplicate(&object, &mut seen, &key) {
                return Err(ReadError { fault: ReadFault::DuplicateKey(key), at: key_at });
            }
            self.skip_space();
            self.take(b':', "`:`")?;
            let value = self.value(depth + 1)?;
            object.push_new(key, value);
            self.skip_space();
            if self.peek() == Some(b',') {
                self.at += 1;
                continue;
            }
            self.take(b'}', "`,` or `}`")?;
            return Ok(Json::Object(object));
        }
    }

    /// Steps over the opening bracket, if the nesting allows it.
    fn enter(&mut self, depth: usize) -> Result<(), ReadError> {
        if depth >= JSON_DEPTH_MAX {
            return Err(self.fault(ReadFault::TooDeep));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<String, ReadError> {
        self.take(b'"', "a string")?;
        let mut out = String::new();
        loop {
            let start = self.at;
            let rest = self.text.as_bytes().get(start..).unwrap_or_default();
            let Some(plain) = plain_len(rest) else {
                return Err(ReadError { fault: ReadFault::Truncated, at: self.text.len() });
            };
            self.at += plain;
            // The stop bytes are ASCII, so the cut is on a character's boundary.
            let piece = self.text.get(start..self.at).unwrap_or_default();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    if out.is_empty() {
                        return Ok(piece.to_owned());
                    }
                    out.push_str(piece);
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(piece);
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(_) | None => return Err(self.fault(ReadFault::ControlCharacter)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ReadError> {
        let Some(byte) = self.peek() else {
            return Err(self.fault(ReadFault::Truncated));
        };
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => {
                self.at -= 1;
                return Err(self.fault(ReadFault::BadEscape));
            }
        })
    }

    fn unicode_escape(&mut self) -> Result<char, ReadError> {
        let at = self.at;
        let lone = ReadError { fault: ReadFault::LoneSurrogate, at };
        let first = self.hex4()?;
        let code = match first {
            0xD800..=0xDBFF => {
                let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
                if !rest.starts_with(b"\\u") {
                    return Err(lone);
                }
                self.at += 2;
                let second = self.hex4()?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(lone);
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            _ => first,
        };
        char::from_u32(code).ok_or(lone)
    }

    fn hex4(&mut self) -> Result<u32, ReadError> {
        let Some(digits) = self.text.as_bytes().get(self.at..self.at + 4) else {
            return Err(self.fault(ReadFault::Truncated));
        };
        let mut code = 0;
        for digit in digits {
            let Some(value) = char::from(*digit).to_digit(16) else {
                return Err(self.fault(ReadFault::BadEscape));
            };
            code = code * 16 + value;
        }
        self.at += 4;
        Ok(code)
    }
}

fn is_duplicate(object: &Object, seen: &mut HashSet<String>, key: &str) -> bool {
    if object.len() < KEYS_SCANNED_MAX {
        return object.contains_key(key);
    }
    if seen.is_empty() {
        seen.extend(object.iter().map(|(key, _)| key.to_owned()));
    }
    !seen.insert(key.to_owned())
}

/// Where the number that starts at `at` ends, or `None` if none starts there (RFC 8259 section 6).
fn number_end(text: &[u8], mut at: usize) -> Option<usize> {
    let byte = |at: usize| text.get(at).copied();
    let digits = |mut at: usize| {
        let start = at;
        while byte(at).is_some_and(|b| b.is_ascii_digit()) {
            at += 1;
        }
        (at > start).then_some(at)
    };
    if byte(at) == Some(b'-') {
        at += 1;
    }
    at = if byte(at) == Some(b'0') { at + 1 } else { digits(at)? };
    if byte(at).is_some_and(|b| b.is_ascii_digit()) {
        return None;
    }
    if byte(at) == Some(b'.') {
        at = digits(at + 1)?;
    }
    if matches!(byte(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(byte(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits(at)?;
    }
    Some(at)
}

/// How long a piece of a string goes on as it is; `None` where it never ends. Looked at in pieces, each
/// as a whole: most have no end in them.
fn plain_len(bytes: &[u8]) -> Option<usize> {
    const PIECE: usize = 32;
    let ends = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    for (at, piece) in bytes.chunks(PIECE).enumerate() {
        if piece.iter().fold(false, |any, byte| any | ends(*byte)) {
            return piece.iter().position(|byte| ends(*byte)).map(|found| at * PIECE + found);
        }
    }
    None
}
