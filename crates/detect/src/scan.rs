//! One scan: keywords and traces lead to readers, readers answer with hits.
//!
//! A scanner lives for one text (or one window of a stream). `origin` is where the text proper begins;
//! what lies before it is history, which keys and context may stand in and data may not.

mod columns;
mod model;

use std::borrow::Cow;

use crate::ascii::{
    ALNUM, BASE64, ByteSet, at, before, cut, cut_str, floor_char, run_end, run_start,
};
use crate::assign::{self, Assignment};
use crate::calls;
use crate::census::{self, Trace};
use crate::columns::Table;
use crate::cues::Cue;
use crate::decode;
use crate::detector::Detector;
use crate::devices;
use crate::escape;
use crate::fold::Folded;
use crate::hit::{Hit, RANK_BLOCK};
use crate::keys;
use crate::limits::{DECODE_DEPTH_MAX, RUN_BYTES_MIN, UNIT_BYTES_MAX};
use crate::memory::{inside_mask, masks_alone};
use crate::model::NameModelError;
use crate::names;
use crate::pii::{self, Datum};
use crate::rules::{self, Coded};
use crate::secrets::{self, PemEnd};
use crate::unit::{Units, joins_lines};
use crate::value::{Strength, Written, assess, is_passphrase};

/// How far a value may stand behind its key across the ends of units, in bytes.
const REACH_BYTES: usize = 120;
/// A value so long that the keywords in it are not read again, in bytes.
const VALUE_BYTES_LONG: usize = 128;
/// How sure words under the key of a password are.
const PASSPHRASE_SCORE: f32 = 0.55;
/// How near the end of a window a key block must come to be called undecided, in bytes.
const BLOCK_MARGIN_BYTES: usize = 256;
/// Both base64 alphabets without padding.
const ENCODED: ByteSet =
    ByteSet::of("+/-_").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');
/// How much of the text before an escaped run is context for what the run says, in bytes.
const ESCAPED_CONTEXT_BYTES: usize = 64;
/// Shortest run of base64 that is opened when its padding or a word beside it speaks of it, in bytes.
const ENCODED_BYTES_MIN: usize = 16;
/// How far from a word for base64 a run may stand, in bytes.
const ENCODED_REACH_BYTES: usize = 64;

/// What a scan brings.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub(crate) hits: Vec<Hit>,
    /// Where the first key block begins that more text could still change.
    pub(crate) open: Option<usize>,
    pub(crate) fault: Option<NameModelError>,
}

pub(crate) struct Scanner<'a> {
    detector: &'a Detector,
    text: &'a str,
    bytes: &'a [u8],
    key: &'a [u8],
    origin: usize,
    depth: usize,
    /// Whether some line is so long that its units end at forced places, which readers cannot foresee.
    long: bool,
    units: Units<'a>,
    raw: Raw,
    escaped: bool,
    /// Where the last long value ends.
    value_read: usize,
    block_read: usize,
    custom_read: Vec<(usize, usize)>,
    /// Where names stand that may be those of columns.
    heads: Vec<usize>,
}

/// Scans a text from `origin` on.
pub(crate) fn scan(detector: &Detector, text: &str, origin: usize, key: &str, depth: usize) -> Raw {
    scan_on(detector, text, origin, key, depth, &mut Table::default())
}

/// Scans a text from `origin` on, in the table that the text before it may have begun.
pub(crate) fn scan_on(
    detector: &Detector,
    text: &str,
    origin: usize,
    key: &str,
    depth: usize,
    table: &mut Table,
) -> Raw {
    let bytes = text.as_bytes();
    let mut scanner = Scanner {
        detector,
        text,
        bytes,
        key: key.as_bytes(),
        origin,
        depth,
        long: has_long_line(bytes),
        units: Units::new(bytes, origin),
        raw: Raw::default(),
        escaped: false,
        value_read: 0,
        block_read: 0,
        custom_read: Vec::new(),
        heads: Vec::new(),
    };
    detector.prefilter().scan(bytes, |place, keyword| scanner.keyword(place, keyword));
    if detector.wants_census() {
        scanner.census();
        scanner.padded();
    }
    scanner.columns(table);
    scanner.escapes();
    scanner.key_value();
    scanner.customs_without_keyword();
    scanner.model();
    scanner.finish()
}

impl<'a> Scanner<'a> {
    fn push(&mut self, hit: Option<Hit>) {
        self.raw.hits.extend(hit);
    }

    fn up_to(&self, end: usize) -> &'a [u8] {
        self.bytes.get(..end).unwrap_or(self.bytes)
    }

    /// The text that a first look may read: up to the end of the unit where that matters. No datum holds
    /// a place where a unit ends of itself, so only forced ends matter; whatever is found is held to its
    /// unit in the end.
    fn loose(&mut self, place: usize) -> &'a [u8] {
        if self.long {
            let end = self.units.at(place).1;
            return self.up_to(end);
        }
        self.bytes
    }

    fn keyword(&mut self, place: usize, keyword: usize) {
        let Some((cue, len)) = self.detector.cue(keyword) else { return };
        match cue {
            Cue::Token(rule) => self.token(place, rule),
            Cue::Near(rule) => self.near(place, len, rule),
            Cue::Assign(strength) => self.assign(place, len, strength),
            Cue::Block => self.block(place),
            Cue::Custom(index) => {
                let (start, end) = self.units.at(place);
                self.custom(index, start, end);
            }
            Cue::Bearer
            | Cue::Basic
            | Cue::Command
            | Cue::Cookie
            | Cue::Marked
            | Cue::Birth
            | Cue::Address
            | Cue::Encoded
            | Cue::Statement
            | Cue::Device
            | Cue::Pgpass
            | Cue::Digest
            | Cue::Oracle
            | Cue::Call
            | Cue::Piped
            | Cue::Column
            | Cue::NameCued
            | Cue::NameListed
            | Cue::ZhCued
            | Cue::ZhTitle
            | Cue::ZhRight => self.framed(cue, place, len),
        }
    }

    /// Data in a frame that the cue opens, within the cue's own unit.
    fn framed(&mut self, cue: Cue, place: usize, len: usize) {
        let (start, end) = self.units.at(place);
        if place < start {
            return;
        }
        let unit = self.up_to(end);
        let hit = if cue == Cue::Bearer {
            secrets::bearer(unit, place, len)
        } else if cue == Cue::Basic {
            secrets::basic(unit, place, len)
        } else if cue == Cue::Command {
            secrets::command(unit, place, cut(unit, place, place + len))
        } else if cue == Cue::Cookie {
            return secrets::cookies(unit, place + len, |hit| self.raw.hits.push(hit));
        } else if cue == Cue::Marked {
            secrets::marked_line(unit, place, len)
        } else if cue == Cue::Birth {
            pii::birth_date(unit, place + len)
        } else if cue == Cue::Address {
            pii::postal_address(unit, place + len)
        } else if cue == Cue::Device {
            return devices::device(unit, place, len, |hit| self.raw.hits.push(hit));
        } else if cue == Cue::Pgpass {
            devices::pgpass(unit, place)
        } else if cue == Cue::Digest {
            devices::digest(unit, place, len)
        } else if cue == Cue::Oracle {
            devices::oracle(unit, place, len)
        } else if cue == Cue::Call {
            calls::password(unit, place, len)
        } else if cue == Cue::Piped {
            secrets::piped(unit, place)
        } else if cue == Cue::Column {
            let name = assign::name_around(unit, place, len);
            return self.head(unit, name);
        } else if cue == Cue::Statement {
            return self.statement(place);
        } else if cue == Cue::Encoded {
            return self.encoded_beside(place, start, end);
        } else {
            return self.name(cue, place, len, end);
        };
        self.push(hit);
    }

    fn token(&mut self, place: usize, rule: usize) {
        let (Some(entry), Some(pattern)) = (rules::rule(rule), rules::pattern(rule)) else {
            return;
        };
        let text = self.loose(place);
        self.push(secrets::token(text, place, rule, entry, pattern));
    }

    fn name(&mut self, cue: Cue, place: usize, len: usize, end: usize) {
        let text = cut_str(self.text, 0, end);
        let word = cut_str(self.text, place, place + len);
        let hit = if cue == Cue::NameCued {
            names::cued(text, place, word)
        } else if cue == Cue::NameListed {
            names::listed(text, place, word)
        } else if cue == Cue::ZhCued {
            names::chinese_cued(text, place, word)
        } else {
            names::chinese_before(text, place, cue == Cue::ZhRight)
        };
        self.push(hit);
    }

    /// Keeps a hit that lies in the unit of its key, which needs no second look.
    fn keeps(&mut self, place: usize, hit: Option<Hit>) -> bool {
        let (start, end) = self.units.at(place);
        let inside = hit.filter(|hit| start <= place && hit.end < end);
        self.push(inside);
        inside.is_some()
    }

    /// Tries a reader with the text up to the end of each unit in reach, the nearest first.
    fn reaching(&mut self, place: usize, from: usize, read: impl Fn(&[u8]) -> Option<Hit>) {
        let (_, mut end) = self.units.at(place);
        let mut start = 0;
        let mut ahead = self.units.clone();
        loop {
            if let Some(hit) = read(self.up_to(end)) {
                if hit.start >= start {
                    self.raw.hits.push(hit);
                }
                return;
            }
            if end >= self.bytes.len() || end.saturating_sub(from) > REACH_BYTES {
                return;
            }
            start = end;
            end = ahead.at(end).1;
        }
    }

    fn near(&mut self, place: usize, len: usize, rule: usize) {
        let (Some(entry), Some(pattern)) = (rules::rule(rule), rules::pattern(rule)) else {
            return;
        };
        let read = |text: &[u8]| secrets::near(text, place, len, rule, entry, pattern);
        let hit = if self.long { None } else { read(self.bytes) };
        if self.long || hit.is_some() && !self.keeps(place, hit) {
            self.reaching(place, place + len, read);
        }
    }

    fn assign(&mut self, place: usize, len: usize, strength: Strength) {
        let name = assign::name_around(self.loose(place), place, len);
        let Some(strength) =
            keys::speaks(cut(self.bytes, name.0, name.1), place - name.0, len, strength)
        else {
            return;
        };
        if is_part_of_a_path(self.bytes, name.0) {
            return;
        }
        let text = self.loose(place);
        self.head(text, name);
        // A keyword inside a long value that was read already: its own value would be the rest of that one.
        // Near the end of the unit it may still have a value in the next.
        if place < self.value_read && self.units.at(place).1.saturating_sub(name.1) > REACH_BYTES {
            return;
        }
        let judge = |text: &[u8], found: Assignment| {
            let (start, end) = found.value;
            let counts = keys::is_a_count(cut(text, name.0, name.1), cut(text, start, end));
            if counts || found.is_listed(text) {
                return None;
            }
            let score = assess(cut(text, start, end), at(text, end), strength, found.written)?;
            let hit = Hit::secret(start, end, assigned_rule(strength), score, 1);
            Some(hit.as_whole(found.written == Written::Quoted))
        };
        let text = self.loose(place);
        let first = assign::read(text, name);
        if let Some(found) = first
            && found.value.1 - found.value.0 > VALUE_BYTES_LONG
        {
            self.value_read = found.value.1;
        }
        let hit = first.and_then(|found| judge(text, found));
        if self.long || hit.is_some() && !self.keeps(place, hit) {
            self.reaching(place, name.1, |text| judge(text, assign::read(text, name)?));
        }
    }

    fn block(&mut self, place: usize) {
        if place < self.block_read {
            return;
        }
        let Some(block) = secrets::private_key(self.bytes, place) else { return };
        self.block_read = block.end;
        let near_end = block.end + BLOCK_MARGIN_BYTES > self.bytes.len();
        if near_end && block.state != PemEnd::Closed || block.end == self.bytes.len() {
            self.raw.open.get_or_insert(block.start);
        }
        if block.state != PemEnd::Undecided {
            let rule = Coded::PrivateKey.index();
            self.raw.hits.push(Hit::secret(block.start, block.end, rule, 0.99, RANK_BLOCK));
        }
    }

    /// Looks at every run with escapes in it as what it says.
    fn escapes(&mut self) {
        if self.depth >= DECODE_DEPTH_MAX {
            return;
        }
        self.escaped_runs(escape::sites(self.bytes), false);
        self.escaped_runs(escape::printable_sites(self.bytes), true);
    }

    fn escaped_runs(&mut self, sites: impl Iterator<Item = usize>, printable: bool) {
        let mut units = Units::new(self.bytes, self.origin);
        let mut read = self.origin;
        for place in sites {
            if place < read {
                continue;
            }
            let (start, end) = units.at(place);
            let (from, to) = escape::run_around(self.up_to(end), place, start.max(read));
            read = to.max(place + 1);
            self.escaped_run(from, to, printable);
        }
    }

    /// What an escaped run says, as hits of the run's own bytes. The text before it is its context.
    fn escaped_run(&mut self, from: usize, to: usize, printable: bool) {
        self.escaped = true;
        let decoded = escape::decode(cut(self.bytes, from, to), printable);
        let folded = Folded::of_bytes(&decoded.bytes);
        let context = floor_char(self.text, from.saturating_sub(ESCAPED_CONTEXT_BYTES));
        let context = cut_str(self.text, context, from);
        let origin = context.len();
        let text = [context, folded.text()].concat();
        let key = std::str::from_utf8(self.key).unwrap_or("");
        for hit in scan(self.detector, &text, origin, key, self.depth + 1).hits {
            let Some((start, end)) = hit.start.checked_sub(origin).zip(hit.end.checked_sub(origin))
            else {
                continue;
            };
            let span = folded.original(start..end);
            let start = from + decoded.original(span.start, false);
            let end = from + decoded.original(span.end, true);
            self.raw.hits.push(Hit { start, end, ..hit });
        }
    }

    /// Short runs of base64 that their padding gives away.
    fn padded(&mut self) {
        if self.depth >= DECODE_DEPTH_MAX {
            return;
        }
        for place in memchr::memchr_iter(b'=', self.bytes) {
            if !ALNUM.has(before(self.bytes, place)) || place < self.origin {
                continue;
            }
            let end = run_end(self.bytes, place, ByteSet::of("=")).min(place + 2);
            let from = run_start(self.bytes, place, ENCODED, RUN_BYTES_MIN);
            if (end - from).is_multiple_of(4) && !ENCODED.has(at(self.bytes, end)) {
                self.short_run(from, end);
            }
        }
    }

    /// Short runs of base64 beside a word that speaks of the encoding.
    fn encoded_beside(&mut self, place: usize, start: usize, end: usize) {
        let from = start.max(place.saturating_sub(ENCODED_REACH_BYTES));
        let to = end.min(place + ENCODED_REACH_BYTES);
        let mut at_byte = run_start(self.bytes, from, ENCODED, from - start);
        while at_byte < to {
            let run = run_end(self.up_to(end), at_byte, ENCODED);
            self.short_run(at_byte, run);
            at_byte = run.max(at_byte) + 1;
        }
    }

    /// Opens a run that is too short to be opened for itself.
    fn short_run(&mut self, from: usize, to: usize) {
        let len = to.saturating_sub(from);
        if from < self.origin || !(ENCODED_BYTES_MIN..RUN_BYTES_MIN).contains(&len) {
            return;
        }
        let opened = decode::open(cut(self.bytes, from, to));
        if let Some(hit) = opened.and_then(|text| self.strongest(&text)) {
            self.raw.hits.push(Hit { start: from, end: to, whole: true, ..hit });
        }
    }

    /// The surest hit inside a decoded text.
    fn strongest(&self, text: &str) -> Option<Hit> {
        let raw = scan(self.detector, text, 0, "", self.depth + 1);
        raw.hits
            .into_iter()
            .filter(|hit| self.detector.counts(hit))
            .max_by(|a, b| a.rank.cmp(&b.rank).then(a.score.total_cmp(&b.score)))
    }

    fn census(&mut self) {
        let mut units = Units::new(self.bytes, self.origin);
        let mut runs = units.clone();
        let mut colons = units.clone();
        let mut signs = units.clone();
        let mut urls = secrets::UrlCursor::default();
        let (bytes, origin, long) = (self.bytes, self.origin, self.long);
        census::scan(bytes, |trace, from, to| match trace {
            Trace::At => {
                let text = if long { cut(bytes, 0, signs.at(from).1) } else { bytes };
                if from >= origin {
                    self.push(pii::email(text, from));
                    // The whole of it lies in the unit, so that a stream has seen it, too.
                    let found = urls.password(text, from);
                    self.push(found.filter(|url| url.0 >= signs.at(from).0).map(|url| url.1));
                }
            }
            Trace::Digits => self.stretch(from, to, &mut units, pii::number),
            Trace::Colons => self.stretch(from, to, &mut colons, pii::colons),
            Trace::Run => self.runs(from, to, &mut runs),
        });
    }

    fn stretch(
        &mut self,
        from: usize,
        to: usize,
        units: &mut Units<'a>,
        read: fn(&[u8], usize) -> (Option<Datum>, usize),
    ) {
        const LEAD: ByteSet =
            ByteSet::of("+(:").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');
        let mut place = run_start(self.bytes, from, LEAD, 48).max(self.origin.min(from));
        while place < to {
            let text = if self.long { self.up_to(units.at(place).1) } else { self.bytes };
            let (datum, next) = read(text, place);
            if let Some(datum) = datum {
                let unit = self.up_to(units.at(place).1);
                if datum.coded != Coded::PhoneNational
                    || self.detector.admits_national(cut(unit, datum.start, datum.end))
                {
                    self.raw.hits.push(datum.weigh(unit, self.key));
                }
            }
            place = next.max(place + 1);
        }
    }

    fn runs(&mut self, from: usize, to: usize, units: &mut Units<'a>) {
        let mut place = from;
        while place < to {
            if !BASE64.has(at(self.bytes, place)) {
                place += 1;
                continue;
            }
            let (start, end) = if self.long { units.at(place) } else { (0, self.bytes.len()) };
            let text = self.up_to(end);
            let run_from = run_start(text, place, BASE64, place.saturating_sub(start));
            let run_to = run_end(text, place, BASE64);
            if run_from >= self.origin {
                self.push(secrets::shaped(text, run_from, run_to, self.origin));
            }
            if run_to - run_from >= RUN_BYTES_MIN && run_from >= self.origin {
                let unit = self.up_to(units.at(place).1);
                self.run(unit, run_from, run_to);
            }
            place = run_to.max(place + 1);
        }
    }

    fn run(&mut self, unit: &[u8], from: usize, to: usize) {
        let mut place = from;
        while place < to {
            let end = run_end(unit, place, ALNUM).min(to);
            if end - place >= RUN_BYTES_MIN
                && let Some(datum) = pii::run(unit, place, end)
            {
                self.raw.hits.push(datum.weigh(unit, self.key));
            }
            place = end.max(place) + 1;
        }
        if self.depth >= DECODE_DEPTH_MAX {
            return;
        }
        // `name=` before an encoded value belongs to the run's alphabet but not to the value.
        let head = cut(unit, from, to);
        let value = head
            .iter()
            .enumerate()
            .take_while(|(i, _)| *i < head.len() / 2)
            .filter(|(_, b)| **b == b'=')
            .last();
        let start = value.map_or(from, |(offset, _)| from + offset + 1);
        // Base64 that is broken into lines is one run: a datum may lie across a break.
        let (joined, to) = joined_run(unit, start, to);
        let opened = decode::open(&joined);
        if let Some(hit) = opened.and_then(|text| self.strongest(&text)) {
            self.raw.hits.push(Hit { start, end: to, whole: true, ..hit });
        }
    }

    /// A whole text that is the value of a key which names a secret.
    fn key_value(&mut self) {
        if self.key.is_empty() || self.origin > 0 {
            return;
        }
        let Ok(key) = std::str::from_utf8(self.key) else { return };
        let value = self.bytes.trim_ascii();
        if ["cookie", "set-cookie"].iter().any(|name| key.eq_ignore_ascii_case(name)) {
            secrets::cookies(self.bytes, 0, |hit| self.raw.hits.push(hit));
        }
        let lead = self.bytes.len() - self.bytes.trim_ascii_start().len();
        if pii::address_of_key(key, value) {
            let rule = Coded::PostalAddress.index();
            self.raw.hits.push(Hit::datum(lead, lead + value.len(), rule, 0.65).as_whole(true));
        }
        if self.depth < DECODE_DEPTH_MAX
            && pii::may_be_personal(value)
            && pii::is_personal_name(key)
        {
            self.named(key, lead, lead + value.len());
        }
        if let Some(strength) = keys::strength_of(key)
            && !keys::is_a_count(self.key, value)
            && !is_masked_variable(value)
            && let Some(score) = assess(value, b'"', strength, Written::Quoted)
        {
            // The value is whole and certainly no code: words may be a passphrase here.
            let is_words = strength == Strength::Password && is_passphrase(value);
            let score = if is_words { score.max(PASSPHRASE_SCORE) } else { score };
            self.raw.hits.push(
                Hit::secret(lead, lead + value.len(), assigned_rule(strength), score, 1)
                    .as_whole(true),
            );
        }
    }

    fn custom(&mut self, index: usize, start: usize, end: usize) {
        if self.custom_read.contains(&(index, start)) {
            return;
        }
        self.custom_read.retain(|(_, unit)| *unit == start);
        self.custom_read.push((index, start));
        let unit = cut_str(self.text, start, end);
        let hits = self.detector.custom_hits(index, unit);
        self.raw.hits.extend(hits.into_iter().map(|hit| Hit {
            start: hit.start + start,
            end: hit.end + start,
            ..hit
        }));
    }

    fn customs_without_keyword(&mut self) {
        for index in self.detector.customs_without_keyword() {
            self.each_unit(|scanner, start, end| scanner.custom(index, start, end));
        }
    }

    fn each_unit(&mut self, mut each: impl FnMut(&mut Self, usize, usize)) {
        let mut units = Units::new(self.bytes, self.origin);
        let mut place = self.origin;
        while place < self.bytes.len() {
            let (start, end) = units.at(place);
            each(self, start, end);
            place = end.max(place + 1);
        }
    }

    /// Drops what lies in the history or crosses the end of a unit.
    fn finish(mut self) -> Raw {
        let origin = self.origin;
        let (bytes, escaped) = (self.bytes, self.escaped);
        self.raw.hits.retain(|hit| {
            hit.start >= origin
                && hit.start < hit.end
                // Digits of an escape are no digits of a datum.
                && !(escaped && (escape::splits(bytes, hit.start) || escape::splits(bytes, hit.end)))
                && !inside_mask(bytes, hit.start, hit.end)
                && !masks_alone(bytes, hit.start, hit.end)
        });
        self.raw.hits.sort_by_key(|hit| (hit.start, hit.end));
        let mut units = Units::new(self.bytes, origin);
        self.raw.hits.retain(|hit| hit.rank == RANK_BLOCK || hit.end <= units.at(hit.start).1);
        self.raw
    }
}

/// A run and the lines that go on with it in its unit, without the breaks, and where they end.
fn joined_run(unit: &[u8], from: usize, to: usize) -> (Cow<'_, [u8]>, usize) {
    let mut run = Cow::Borrowed(cut(unit, from, to));
    let mut end = to;
    loop {
        let line = end + usize::from(at(unit, end) == b'\r');
        if at(unit, line) != b'\n' || !joins_lines(unit, line) {
            return (run, end);
        }
        end = run_end(unit, line + 1, BASE64);
        run.to_mut().extend_from_slice(cut(unit, line + 1, end));
    }
}

/// `API_TOKEN=[SECRET]`: what was masked already, with the variable's name before it.
fn is_masked_variable(value: &[u8]) -> bool {
    let Some(equals) = value.iter().position(|byte| *byte == b'=') else { return false };
    let name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    equals > 0
        && cut(value, 0, equals).iter().all(name)
        && masks_alone(value, equals + 1, value.len())
}

/// Whether the name at `start` is a part of a longer one: `AWS::ApiGateway::ApiKey`, `arn:aws:secretsmanager:..:secret:x`.
fn is_part_of_a_path(bytes: &[u8], start: usize) -> bool {
    const ARN_BYTES_MAX: usize = 80;
    if before(bytes, start) != b':' {
        return false;
    }
    let head = cut(bytes, start.saturating_sub(ARN_BYTES_MAX), start);
    let word = head.iter().rev().take_while(|byte| byte.is_ascii_graphic()).count();
    let path = cut(head, head.len() - word, head.len());
    path.ends_with(b"::") || memchr::memmem::find(path, b"arn:").is_some()
}

/// Whether a line may be longer than a unit.
fn has_long_line(bytes: &[u8]) -> bool {
    if bytes.len() <= UNIT_BYTES_MAX {
        return false;
    }
    let mut start = 0;
    let breaks = memchr::memchr_iter(b'\n', bytes).filter(|line| !joins_lines(bytes, *line));
    breaks.chain([bytes.len()]).any(|end| {
        let long = end - start >= UNIT_BYTES_MAX;
        start = end + 1;
        long
    })
}

fn assigned_rule(strength: Strength) -> usize {
    match strength {
        Strength::Password => Coded::PasswordAssignment.index(),
        Strength::Secret => Coded::SecretAssignment.index(),
        Strength::Weak => Coded::KeyAssignment.index(),
    }
}
