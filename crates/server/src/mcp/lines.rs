//! Messages of a byte stream: one a line, ended by a line feed and by nothing else.
//!
//! Other line ends of Unicode stand inside of JSON texts and end nothing. A carriage return before
//! the line feed, empty lines and a byte-order mark at the start are what sloppy programs write and
//! honest readers take. A line over the cap is not kept; its two ends are, so that whoever waits for
//! it can be told.

use super::frame::Id;
use super::limits::{KEPT_OF_LONG_BYTES, MESSAGE_BYTES_MAX};
use tollgate::gate::Json;

/// What a stream gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line over the cap, and the id of the message in it as far as one could be found.
    TooLong(Option<Id>),
}

/// Cuts a stream into lines.
#[derive(Debug, Default)]
pub struct Lines {
    held: Vec<u8>,
    /// The end of a line that is over the cap; its start is in `held`.
    tail: Option<Vec<u8>>,
    began: bool,
}

impl Lines {
    /// Takes what came; gives the lines that are complete with it.
    pub fn take(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            self.hold(line);
            lines.extend(self.finish());
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.hold(bytes);
        lines
    }

    /// The stream has ended: a last line needs no end.
    pub fn end(&mut self) -> Option<Line> {
        self.finish()
    }

    fn hold(&mut self, bytes: &[u8]) {
        if let Some(tail) = &mut self.tail {
            tail.extend_from_slice(bytes);
            let over = tail.len().saturating_sub(KEPT_OF_LONG_BYTES);
            tail.drain(..over);
            return;
        }
        self.held.extend_from_slice(bytes);
        // Room for a carriage return.
        if self.held.len() > MESSAGE_BYTES_MAX + 1 {
            let from = self.held.len().saturating_sub(KEPT_OF_LONG_BYTES);
            self.tail = Some(self.held.get(from..).unwrap_or_default().to_vec());
            self.held.truncate(KEPT_OF_LONG_BYTES);
            self.held.shrink_to_fit();
        }
    }

    fn finish(&mut self) -> Option<Line> {
        let mut line = std::mem::take(&mut self.held);
        if let Some(tail) = self.tail.take() {
            self.began = true;
            return Some(Line::TooLong(loose_id(&line).or_else(|| id_at_end(&tail))));
        }
        if !self.began && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        self.began = true;
        Some(Line::Whole(line))
    }
}

/// The id of a message that cannot be read, where it can be found without doubt: a member `id` of the
/// outermost object, looked for from the start and then at the end.
pub(super) fn id_of_unreadable(text: &[u8]) -> Option<Id> {
    // Only where all that was opened is closed is what stands at the end a member of the outermost.
    loose_id(text).or_else(|| id_at_end(text).filter(|_| is_closed(text)))
}

/// Whether every bracket outside of strings is closed, the first by the last.
fn is_closed(text: &[u8]) -> bool {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => match string_end(text, at) {
                Some(end) => {
                    at = end;
                    continue;
                }
                None => return false,
            },
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return false,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 && text.get(at..).is_some_and(|rest| !rest.trim_ascii().is_empty()) && at > 1
        {
            return false;
        }
    }
    depth == 0
}

fn loose_id(text: &[u8]) -> Option<Id> {
    let mut at = text.iter().position(|byte| *byte == b'{')? + 1;
    loop {
        at += space(text.get(at..)?);
        let key = string_end(text, at)?;
        let is_id = text.get(at..key)? == b"\"id\"";
        at = key + space(text.get(key..)?);
        if text.get(at) != Some(&b':') {
            return None;
        }
        at += 1;
        at += space(text.get(at..)?);
        let end = scalar_end(text, at)?;
        if is_id {
            return Id::of(&Json::read(text.get(at..end)?).ok()?);
        }
        at = end + space(text.get(end..)?);
        if text.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
}

/// `..,"id":ID}` at the very end.
fn id_at_end(text: &[u8]) -> Option<Id> {
    let text = text.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let start = text.windows(4).rposition(|four| four == b"\"id\"")?;
    let before = text.get(..start)?.trim_ascii_end();
    if !matches!(before.last(), Some(b',' | b'{')) {
        return None;
    }
    let value = text.get(start + 4..)?.trim_ascii_start().strip_prefix(b":")?;
    Id::of(&Json::read(value.trim_ascii()).ok()?)
}

fn space(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn string_end(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of a value that is no object and no list.
fn scalar_end(text: &[u8], start: usize) -> Option<usize> {
    match text.get(start)? {
        b'"' => string_end(text, start),
        b'{' | b'[' => None,
        _ => {
            let rest = text.get(start..)?;
            let ends = |byte: &u8| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace();
            Some(start + rest.iter().position(ends)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Lines, MESSAGE_BYTES_MAX, id_of_unreadable};

    fn lines(pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::default();
        let mut found: Vec<Line> = pieces.iter().flat_map(|piece| lines.take(piece)).collect();
        found.extend(lines.end());
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        let text = "\u{feff}{\"a\":\"x\u{2028}y\u{85}z\"}\r\n\n \r\n{\"b\":1}\n{\"c\":2}";
        let expected =
            [whole("{\"a\":\"x\u{2028}y\u{85}z\"}"), whole("{\"b\":1}"), whole("{\"c\":2}")];
        assert_eq!(lines(&[text.as_bytes()]), expected);
        // However it is cut.
        for cut in 0..text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            assert_eq!(lines(&[a, b]), expected);
        }
    }

    #[test]
    fn a_line_over_the_cap_is_not_kept_and_its_id_is_found_at_either_end() {
        let filler = "x".repeat(MESSAGE_BYTES_MAX);
        let first = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{filler}\"}}\n{{}}\n");
        let last = format!("{{\"result\":\"{filler}\",\"jsonrpc\":\"2.0\", \"id\" : \"a\" }}\n");
        for (text, id) in [(first, "7"), (last, "\"a\"")] {
            let found = lines(&text.as_bytes().chunks(100_000).collect::<Vec<_>>());
            let Some(Line::TooLong(Some(found))) = found.first() else { panic!("{found:?}") };
            assert_eq!(found.as_json(), id);
        }
    }

    #[test]
    fn an_id_inside_of_something_else_is_no_id_of_the_message() {
        assert_eq!(id_of_unreadable(b"{\"params\":{\"id\":1}, oops"), None);
        assert_eq!(id_of_unreadable(b"{\"a\":[{\"id\":1}"), None);
        assert_eq!(id_of_unreadable(b"{\"a\":[1,],\"id\":1}"), super::Id::of(&1_i64.into()));
        let twice = b"{\"id\":3,\"method\":\"a\",\"method\":\"b\"}";
        assert_eq!(id_of_unreadable(twice).map(|id| id.to_string()).as_deref(), Some("3"));
    }
}
