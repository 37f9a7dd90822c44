//! The line: one record as it stands in the file, with its place in the book.
//!
//! A line is the record's JSON object with members put before its own: `seq`, its number in the book
//! from 1 on; `prev`, the hash of the line before it; and, where it says something new, `synced`: all
//! records up to that number were on disk before this line was written. `synced` tells damage from a
//! torn end: what a later line vouches for cannot be missing because of a crash.
//!
//! A line that was erased is as long as the one that it stands for, and holds that one's hash behind
//! `prev`: chain and tree go on with it ([`mod@crate::erase`]).

use crate::hash::HashValue;
use std::io::Write as _;
use tollgate_gate::Json;
use tollgate_gate::json::ReadError;

/// A line that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its number in the book, from 1 on.
    pub seq: u64,
    /// The hash of the line before it.
    pub prev: HashValue,
    /// All records up to this number were on disk before this line was written.
    pub synced: Option<u64>,
    /// The line that stood here, if it was erased.
    pub erased: Option<Erased>,
    /// The whole object, these members included.
    pub json: Json,
}

/// What stands in the place of a line that was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// The hash of the line that stood here.
    pub hash: HashValue,
    /// The number of the erasure.
    pub erasure: u64,
}

/// Why a line is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// It is no JSON that the strict reader takes.
    #[error(transparent)]
    Json(#[from] ReadError),
    /// A member that every line has is missing or of the wrong type.
    #[error("`{0}` is missing or of the wrong type")]
    Member(&'static str),
}

impl Line {
    /// Reads a line, given without its newline.
    ///
    /// # Errors
    /// [`LineFault`] when it is no JSON object with `seq` and `prev`.
    pub fn read(text: &[u8]) -> Result<Line, LineFault> {
        let json = Json::read(text)?;
        let seq = json.get("seq").and_then(Json::as_u64).ok_or(LineFault::Member("seq"))?;
        let prev = json.get("prev").and_then(Json::as_str).and_then(HashValue::parse);
        let prev = prev.ok_or(LineFault::Member("prev"))?;
        let synced = match json.get("synced") {
            None => None,
            Some(value) => Some(value.as_u64().ok_or(LineFault::Member("synced"))?),
        };
        let erased = match json.get("erased") {
            None => None,
            Some(hash) => {
                let hash = hash.as_str().and_then(HashValue::parse);
                let hash = hash.ok_or(LineFault::Member("erased"))?;
                let erasure = json.get("erasure").and_then(Json::as_u64);
                let erasure = erasure.ok_or(LineFault::Member("erasure"))?;
                // What is hashed and what is read must be about the same line.
                if erased_hash(text) != Some(hash) {
                    return Err(LineFault::Member("erased"));
                }
                Some(Erased { hash, erasure })
            }
        };
        Ok(Line { seq, prev, synced, erased, json })
    }
}

/// The hash by which a line stands in chain and tree, given without its newline: its own, or that of
/// the line that stood in its place before it was erased.
pub(crate) fn leaf_of(text: &[u8]) -> HashValue {
    erased_hash(text).unwrap_or_else(|| HashValue::of_line(text))
}

/// The hash that stands behind `prev` in a line that was erased. No record has such a member, and none
/// could stand there.
fn erased_hash(text: &[u8]) -> Option<HashValue> {
    let rest = text.strip_prefix(b"{\"seq\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = rest.get(digits..)?.strip_prefix(b",\"prev\":\"")?;
    let rest = rest.get(64..)?.strip_prefix(b"\",\"erased\":\"")?;
    HashValue::parse(std::str::from_utf8(rest.get(..64)?).ok()?)
}

/// Appends a line without its newline. `body` is the record's JSON object.
pub(crate) fn write_line(
    out: &mut Vec<u8>,
    seq: u64,
    prev: &HashValue,
    synced: Option<u64>,
    body: &[u8],
) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{{\"seq\":{seq},\"prev\":\"");
    prev.write_to(out);
    out.push(b'"');
    if let Some(synced) = synced {
        let _ = write!(out, ",\"synced\":{synced}");
    }
    match body.get(1..) {
        Some(rest) if rest != b"}" => {
            out.push(b',');
            out.extend_from_slice(rest);
        }
        Some(_) | None => out.push(b'}'),
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, LineFault, write_line};
    use crate::hash::HashValue;

    #[test]
    fn what_is_written_is_read_back() {
        let prev = HashValue::of(b"x");
        let mut text = Vec::new();
        write_line(&mut text, 7, &prev, Some(6), br#"{"kind":"outcome"}"#);
        let line = Line::read(&text).unwrap();
        assert_eq!((line.seq, line.prev, line.synced), (7, prev, Some(6)));
        assert_eq!(line.json.get("kind").unwrap().as_str(), Some("outcome"));
        text.clear();
        write_line(&mut text, 1, &HashValue::ZERO, None, b"{}");
        assert_eq!(Line::read(&text).unwrap().synced, None);
    }

    #[test]
    fn no_part_of_a_line_is_a_line() {
        let mut text = Vec::new();
        write_line(&mut text, 7, &HashValue::ZERO, None, br#"{"a":{"b":"c"},"d":[{}]}"#);
        for len in 0..text.len() {
            assert!(Line::read(&text[..len]).is_err(), "{len}");
        }
        assert_eq!(Line::read(br#"{"seq":1}"#), Err(LineFault::Member("prev")));
        assert_eq!(Line::read(br#"{"prev":"x"}"#), Err(LineFault::Member("seq")));
    }
}
