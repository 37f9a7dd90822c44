//! Events of a stream (`text/event-stream`), cut out of it however it arrives.
//!
//! The bytes of each event are kept, so that one which no hook changed goes on as it came: its
//! comments, its id, its line ends. Comments between events pass at once, because they are what keeps
//! a connection open. What is left of an event when its stream ends is dropped, as every reader of
//! such streams does; an event over the cap ends the stream.

use crate::mcp::limits::EVENT_BYTES_MAX;

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Nothing to look at: comments, ids, times to wait.
    Quiet(Vec<u8>),
    /// An event that says something.
    Event(Event),
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    raw: Vec<u8>,
    /// What it says: its lines of data.
    pub data: Vec<u8>,
}

/// A stream gave an event that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Cuts a stream into events.
#[derive(Debug, Default)]
pub struct Events {
    /// The bytes of the event that is not complete.
    raw: Vec<u8>,
    /// Where in them the current line starts.
    line: usize,
    data: Option<Vec<u8>>,
    has_fields: bool,
    /// The last byte was a carriage return, which a line feed may still belong to.
    after_return: bool,
    has_begun: bool,
    /// The id of the last event that had one.
    pub last_id: Option<String>,
    /// How long to wait before coming back, in milliseconds.
    pub retry_ms: Option<u64>,
}

impl Events {
    /// Takes what came; gives the pieces that are complete with it.
    ///
    /// # Errors
    /// [`TooLong`] for an event over the cap; the stream is not to be read on.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Piece>, TooLong> {
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while let Some(byte) = rest.first().copied() {
            if self.after_return && byte == b'\n' {
                self.after_return = false;
                self.end_return(&mut pieces);
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            self.after_return = false;
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.raw.extend_from_slice(line);
            if self.raw.len() > EVENT_BYTES_MAX {
                return Err(TooLong);
            }
            let Some(ends) = after.first().copied() else { break };
            pieces.extend(self.end_line(ends));
            self.after_return = ends == b'\r';
            rest = after.get(1..).unwrap_or_default();
        }
        Ok(pieces)
    }

    /// A line feed that belongs to the carriage return before it.
    fn end_return(&mut self, pieces: &mut Vec<Piece>) {
        if !self.raw.is_empty() {
            self.raw.push(b'\n');
            self.line = self.raw.len();
            return;
        }
        // It ends a piece that is complete: it goes on with that, or at once.
        match pieces.last_mut() {
            Some(Piece::Quiet(raw) | Piece::Event(Event { raw, .. })) => raw.push(b'\n'),
            None => pieces.push(Piece::Quiet(b"\n".to_vec())),
        }
    }

    /// A line is complete.
    fn end_line(&mut self, ends: u8) -> Option<Piece> {
        let mut line = self.raw.get(self.line..).unwrap_or_default();
        if !self.has_begun {
            self.has_begun = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        let (is_empty, is_comment) = (line.is_empty(), line.first() == Some(&b':'));
        if !is_empty && !is_comment {
            let (name, value) = field(line);
            let (name, value) = (name.to_vec(), value.to_vec());
            self.note(&name, &value);
        }
        self.raw.push(ends);
        self.line = self.raw.len();
        if !is_empty && (self.has_fields || !is_comment) {
            return None;
        }
        let raw = std::mem::take(&mut self.raw);
        (self.line, self.has_fields) = (0, false);
        match self.data.take() {
            Some(data) if !data.is_empty() => Some(Piece::Event(Event { raw, data })),
            _ => Some(Piece::Quiet(raw)),
        }
    }

    fn note(&mut self, name: &[u8], value: &[u8]) {
        self.has_fields = true;
        let text = || std::str::from_utf8(value).ok();
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"id" if !value.contains(&0) => self.last_id = text().map(ToOwned::to_owned),
            b"retry" => {
                if let Some(ms) = text().and_then(|text| text.parse().ok()) {
                    self.retry_ms = Some(ms);
                }
            }
            _ => {}
        }
    }
}

impl Event {
    /// The event as it came.
    pub fn raw(self) -> Vec<u8> {
        self.raw
    }

    /// The event with this text as its data, everything else as it came.
    #[must_use]
    pub fn with(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.raw.len() + text.len());
        let mut is_written = false;
        for line in Whole(&self.raw) {
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            let content = content.strip_suffix(b"\r").unwrap_or(content);
            if field(content).0 != b"data" {
                out.extend_from_slice(line);
            } else if !is_written {
                is_written = true;
                write_data(&mut out, text);
            }
        }
        out
    }
}

/// An event that says this.
pub(super) fn event(text: &str) -> Vec<u8> {
    let mut out = b"event: message\n".to_vec();
    write_data(&mut out, text);
    out.push(b'\n');
    out
}

fn write_data(out: &mut Vec<u8>, text: &str) {
    for line in text.split(['\n', '\r']) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
}

/// The name and the value of a line.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return (line, b"") };
    let (name, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default();
    (name, value.strip_prefix(b" ").unwrap_or(value))
}

/// Lines with their ends.
struct Whole<'a>(&'a [u8]);

impl<'a> Iterator for Whole<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let mut end = end.map_or(self.0.len(), |at| at + 1);
        if self.0.get(end - 1) == Some(&b'\r') && self.0.get(end) == Some(&b'\n') {
            end += 1;
        }
        let (line, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::{Events, Piece, TooLong};
    use crate::mcp::limits::EVENT_BYTES_MAX;

    fn said(pieces: &[Piece]) -> Vec<String> {
        let data = pieces.iter().filter_map(|piece| match piece {
            Piece::Event(event) => Some(String::from_utf8(event.data.clone()).unwrap()),
            Piece::Quiet(_) => None,
        });
        data.collect()
    }

    fn bytes(pieces: Vec<Piece>) -> Vec<u8> {
        let raw = pieces.into_iter().flat_map(|piece| match piece {
            Piece::Event(event) => event.raw(),
            Piece::Quiet(raw) => raw,
        });
        raw.collect()
    }

    const STREAM: &str = "\u{feff}: hello\n\nid: 1\ndata:\n\nevent: message\r\nid: 2\r\ndata: {\"a\":\r\n: in between\r\ndata: \"\u{2028}\"}\r\n\r\nretry: 500\rdata:x\r\r:ping\n\ndata\n\nodd: field\ndata: y\n\n";

    #[test]
    fn a_stream_passes_byte_for_byte_however_it_is_cut() {
        let expected = ["{\"a\":\n\"\u{2028}\"}", "x", "y"];
        for size in 1..STREAM.len() {
            let mut events = Events::default();
            let mut pieces = Vec::new();
            for chunk in STREAM.as_bytes().chunks(size) {
                pieces.extend(events.take(chunk).unwrap());
            }
            assert_eq!(said(&pieces), expected, "in pieces of {size}");
            assert_eq!(String::from_utf8(bytes(pieces)).unwrap(), STREAM);
            assert_eq!((events.last_id.as_deref(), events.retry_ms), (Some("2"), Some(500)));
        }
    }

    #[test]
    fn a_comment_between_events_passes_at_once() {
        let mut events = Events::default();
        assert_eq!(events.take(b": ping\n").unwrap(), [Piece::Quiet(b": ping\n".to_vec())]);
        // One inside of an event waits for it, so that nothing stands before what it stands in.
        assert_eq!(events.take(b"data: x\n: ping\n").unwrap(), []);
        assert_eq!(said(&events.take(b"\n").unwrap()), ["x"]);
    }

    #[test]
    fn an_event_that_is_not_complete_is_no_event() {
        let mut events = Events::default();
        assert_eq!(events.take(b"data: half").unwrap(), []);
    }

    #[test]
    fn a_changed_event_keeps_all_but_its_data() {
        let mut events = Events::default();
        let text = b"id: 7\r\ndata: {\r\n: c\r\ndata: }\r\nevent: message\r\n\r\n";
        let [Piece::Event(event)] = &events.take(text).unwrap()[..] else { panic!("no event") };
        let expected = "id: 7\r\ndata: {\ndata: \"a\":1}\n: c\r\nevent: message\r\n\r\n";
        assert_eq!(String::from_utf8(event.with("{\n\"a\":1}")).unwrap(), expected);
    }

    #[test]
    fn an_event_over_the_cap_ends_the_stream() {
        let mut events = Events::default();
        let chunk = vec![b'x'; 1 << 20];
        let ends = (0..=EVENT_BYTES_MAX / chunk.len()).find_map(|_| events.take(&chunk).err());
        assert_eq!(ends, Some(TooLong));
    }
}
