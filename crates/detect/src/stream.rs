//! Redaction of a text that arrives in pieces.
//!
//! What is held back is the unit that is not yet complete (about a line, a sentence, a JSON string; at
//! most [`UNIT_BYTES_MAX`](crate::limits::UNIT_BYTES_MAX)) and a private key block that is still open (at
//! most [`PEM_BYTES_MAX`](crate::limits::PEM_BYTES_MAX) more). Everything else goes out at once. What was
//! held is looked at before the end is released. Splitting the input anywhere gives the same output as
//! [`Redactor::redact_plain`] on the whole; a test tries every split.

use crate::ascii::floor_char;
use crate::columns::Table;
use crate::config::Context;
use crate::finding::Finding;
use crate::fold::Folded;
use crate::hit::RANK_BLOCK;
use crate::limits::{HISTORY_BYTES_MAX, LINE_BYTES_MAX};
use crate::model::NameModelError;
use crate::redact::{Redactor, UNSCANNED};
use crate::scan::{scan, scan_on};
use crate::spot::{Spots, place};
use crate::unit::next_end_from;

/// How a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    /// As plain text: the least delay.
    Text,
    /// Line by line, each opened if it is JSON; a line is held until it ends. A line longer than
    /// [`LINE_BYTES_MAX`](crate::limits::LINE_BYTES_MAX) is withheld whole.
    JsonLines,
}

/// What a stream lets go.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Released {
    /// Text that may go on.
    pub bytes: Vec<u8>,
    /// What was found in it; offsets and lines count from the start of the stream.
    pub findings: Vec<Finding>,
    /// The masks that stand in it.
    pub masks: Vec<String>,
    /// Set when a part was withheld because it could not be looked at wholly.
    pub incomplete: Option<NameModelError>,
    /// How many lines were withheld for their length.
    pub lines_withheld: u64,
}

/// Redacts a stream. Made by [`Redactor::stream`].
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    format: StreamFormat,
    key: Option<String>,
    path: Option<String>,
    tool: Option<String>,
    rollout_by: Option<String>,
    /// Folded text already released, for keys and context.
    history: String,
    /// The table that the released text is in.
    table: Table,
    /// What was not released yet.
    pending: Vec<u8>,
    /// How many folded bytes at the start of the pending unit are known not to end it.
    seen: usize,
    /// Bytes and line breaks released so far.
    offset: usize,
    lines: usize,
    /// Inside a line that is withheld for its length.
    skipping: bool,
}

impl StreamRedactor {
    pub(crate) fn new(redactor: Redactor, format: StreamFormat, ctx: &Context<'_>) -> Self {
        Self {
            redactor,
            format,
            key: ctx.key.map(str::to_owned),
            path: ctx.path.map(str::to_owned),
            tool: ctx.tool.map(str::to_owned),
            rollout_by: ctx.rollout_by.map(str::to_owned),
            history: String::new(),
            table: Table::default(),
            pending: Vec::new(),
            seen: 0,
            offset: 0,
            lines: 0,
            skipping: false,
        }
    }

    /// Takes the next piece; answers what may go on.
    pub fn push(&mut self, piece: &[u8]) -> Released {
        let mut out = Released::default();
        match self.format {
            StreamFormat::Text => {
                self.pending.extend_from_slice(piece);
                self.release_units(&mut out);
            }
            StreamFormat::JsonLines => {
                for line in piece.split_inclusive(|byte| *byte == b'\n') {
                    self.take_line(line, &mut out);
                }
            }
        }
        out
    }

    /// Ends the stream; answers what was held back.
    #[must_use]
    pub fn finish(mut self) -> Released {
        let mut out = Released::default();
        match self.format {
            StreamFormat::Text => {
                let pending = std::mem::take(&mut self.pending);
                let folded = Folded::of_bytes(&pending);
                self.release(&pending, &folded, folded.text().len(), &mut out);
            }
            StreamFormat::JsonLines if !self.pending.is_empty() => self.release_line(&mut out),
            StreamFormat::JsonLines => {}
        }
        out
    }

    /// Lets go what is held back, without an end of the stream: for a writer that waits for an answer.
    /// What was let go stays known as context of what follows; a datum that is cut here is not seen.
    /// Lines of JSON stay held until they end.
    pub fn flush(&mut self) -> Released {
        let mut out = Released::default();
        if self.format == StreamFormat::Text {
            let pending = std::mem::take(&mut self.pending);
            let complete = complete_len(&pending);
            let (now, later) = pending.split_at(complete);
            let folded = Folded::of_bytes(now);
            self.release(now, &folded, folded.text().len(), &mut out);
            self.pending = later.to_vec();
            self.seen = 0;
        }
        out
    }

    /// Whether what is held back ends with a blank, as a question does that waits for its answer.
    #[must_use]
    pub fn held_ends_blank(&self) -> bool {
        self.pending.last().is_some_and(u8::is_ascii_whitespace)
    }

    /// How many bytes are held back.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.pending.len()
    }

    fn with_context<T>(&self, run: impl FnOnce(&Context<'_>) -> T) -> T {
        run(&Context {
            key: self.key.as_deref(),
            path: self.path.as_deref(),
            tool: self.tool.as_deref(),
            rollout_by: self.rollout_by.as_deref(),
        })
    }

    /// Releases the units that are complete.
    fn release_units(&mut self, out: &mut Released) {
        let pending = std::mem::take(&mut self.pending);
        let complete = complete_len(&pending);
        let head = pending.get(..complete).unwrap_or(&[]);
        let folded = Folded::of_bytes(head);
        let text = folded.text().as_bytes();
        let mut ends = Vec::new();
        let mut start = 0;
        let mut seen = self.seen;
        while let Some(end) = next_end_from(text, start, seen) {
            ends.push(end);
            (start, seen) = (end, 0);
        }
        // The last byte may yet turn out to end the unit, when the one behind it is known.
        self.seen = (text.len() - start).saturating_sub(1).max(seen);
        let released = ends.last().map_or(0, |end| {
            let window = folded.text().get(..*end).unwrap_or("");
            self.before_open_block(window, &ends, *end)
        });
        if released > 0 {
            let original = folded.place(released, true);
            let part = Folded::of_bytes(head.get(..original).unwrap_or(head));
            self.release(head.get(..original).unwrap_or(head), &part, released, out);
            self.pending = pending.get(original..).unwrap_or(&[]).to_vec();
            if ends.last() != Some(&released) {
                self.seen = 0;
            }
        } else {
            self.seen = if ends.is_empty() { self.seen } else { 0 };
            self.pending = pending;
        }
    }

    /// The last end of a unit in the window before which no key block can change: none is open there, and
    /// none is cut in two, as when a second one begins on the line on which the first one ends.
    fn before_open_block(&self, window: &str, ends: &[usize], all: usize) -> usize {
        if memchr::memmem::find(window.as_bytes(), b"-- BEGIN").is_none()
            && memchr::memmem::find(window.as_bytes(), b"--BEGIN").is_none()
        {
            return all;
        }
        let text = format!("{}{window}", self.history);
        let origin = self.history.len();
        let raw = scan(self.redactor.detector(), &text, origin, "", 0);
        let Some(open) = raw.open else { return all };
        let mut limit = open.saturating_sub(origin);
        loop {
            let end = ends.iter().copied().take_while(|end| *end <= limit).last().unwrap_or(0);
            let cut = raw.hits.iter().find(|hit| {
                hit.rank == RANK_BLOCK && hit.start < end + origin && end + origin < hit.end
            });
            let Some(block) = cut else { return end };
            limit = block.start.saturating_sub(origin);
        }
    }

    /// Looks at the bytes and lets them go.
    fn release(
        &mut self,
        bytes: &[u8],
        folded: &Folded<'_>,
        folded_len: usize,
        out: &mut Released,
    ) {
        if bytes.is_empty() {
            return;
        }
        let mut text = std::mem::take(&mut self.history);
        let origin = text.len();
        text.push_str(folded.text());
        let detector = self.redactor.detector();
        let mut spots = Spots::default();
        let mut table = std::mem::take(&mut self.table);
        self.with_context(|ctx| {
            if !detector.exempts_place(ctx) {
                let key = if self.offset == 0 { ctx.key.unwrap_or("") } else { "" };
                let raw = scan_on(detector, &text, origin, key, 0, &mut table);
                let history = text.get(..origin).unwrap_or("");
                place(detector, bytes, folded, history, raw, ctx, &mut spots);
            }
        });
        self.table = table;
        self.emit(bytes, spots, out);
        debug_assert_eq!(folded_len, folded.text().len());
        let keep = floor_char(&text, text.len().saturating_sub(HISTORY_BYTES_MAX));
        text.drain(..keep);
        self.history = text;
    }

    fn emit(&mut self, bytes: &[u8], spots: Spots, out: &mut Released) {
        let (edited, mut findings, masks, incomplete) = self.redactor.edit(bytes, spots);
        for finding in &mut findings {
            finding.start += self.offset;
            finding.end += self.offset;
            finding.line += self.lines;
        }
        out.bytes.extend_from_slice(edited.as_deref().unwrap_or(bytes));
        out.findings.append(&mut findings);
        out.masks.extend(masks);
        out.incomplete = out.incomplete.take().or(incomplete);
        self.offset += bytes.len();
        self.lines += memchr::memchr_iter(b'\n', bytes).count();
    }

    fn take_line(&mut self, part: &[u8], out: &mut Released) {
        let ended = part.last() == Some(&b'\n');
        if self.skipping {
            self.offset += part.len();
            if ended {
                self.skipping = false;
                self.lines += 1;
                out.bytes.push(b'\n');
            }
            return;
        }
        self.pending.extend_from_slice(part);
        if self.pending.len() > LINE_BYTES_MAX {
            self.offset += self.pending.len();
            self.pending.clear();
            out.lines_withheld += 1;
            out.bytes.extend_from_slice(format!("\"{UNSCANNED}\"").as_bytes());
            self.skipping = !ended;
            if ended {
                self.lines += 1;
                out.bytes.push(b'\n');
            }
        } else if ended {
            self.release_line(out);
        }
    }

    fn release_line(&mut self, out: &mut Released) {
        let line = std::mem::take(&mut self.pending);
        let detector = self.redactor.detector();
        let spots = self.with_context(|ctx| match std::str::from_utf8(&line) {
            Ok(text) => crate::spot::structured(detector, text, ctx),
            Err(_) => {
                let mut spots = Spots::default();
                if !detector.exempts_place(ctx) {
                    crate::spot::plain_bytes(detector, &line, ctx, &mut spots);
                }
                spots
            }
        });
        self.emit(&line, spots, out);
    }
}

/// The length without a character at the end that is not complete yet.
fn complete_len(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let place = bytes.len() - back;
        let Some(byte) = bytes.get(place) else { break };
        let needed = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => 1,
        };
        return if needed > back { place } else { bytes.len() };
    }
    bytes.len()
}
