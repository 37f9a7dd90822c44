//! One scan: keywords and traces lead to readers, readers answer with hits.
//!
//! A scanner lives for one text (or one window of a stream). `origin` is where the text proper begins;
//! what lies before it is history, which keys and context may stand in and data may not.

use crate::ascii::{ALNUM, BASE64, ByteSet, at, cut, cut_str, run_end, run_start};
use crate::assign;
use crate::census::{self, Trace};
use crate::decode;
use crate::detector::{Cue, Detector};
use crate::finding::Kind;
use crate::hit::{Hit, RANK_BLOCK};
use crate::keys;
use crate::limits::{DECODE_DEPTH_MAX, RUN_BYTES_MIN};
use crate::memory::inside_mask;
use crate::model::{NameModelError, is_prose};
use crate::names;
use crate::pii::{self, Datum};
use crate::rules::{Catalog, Coded};
use crate::secrets::{self, PemEnd};
use crate::unit::Units;
use crate::value::{Strength, assess};

/// How far a value may stand behind its key across the ends of units, in bytes.
const REACH_BYTES: usize = 120;
/// How near the end of a window a key block must come to be called undecided, in bytes.
const BLOCK_MARGIN_BYTES: usize = 256;
/// Bytes of a percent-encoded stretch.
const PERCENT: ByteSet = ByteSet::of("%-._~+=&?/:@,;!*")
    .with_range(b'0', b'9')
    .with_range(b'a', b'z')
    .with_range(b'A', b'Z');

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
    catalog: &'static Catalog,
    text: &'a str,
    bytes: &'a [u8],
    key: &'a [u8],
    origin: usize,
    depth: usize,
    units: Units<'a>,
    raw: Raw,
    percent_read: usize,
    block_read: usize,
    custom_read: Vec<(usize, usize)>,
}

/// Scans a text from `origin` on.
pub(crate) fn scan(detector: &Detector, text: &str, origin: usize, key: &str, depth: usize) -> Raw {
    let bytes = text.as_bytes();
    let mut scanner = Scanner {
        detector,
        catalog: Catalog::get(),
        text,
        bytes,
        key: key.as_bytes(),
        origin,
        depth,
        units: Units::new(bytes, origin),
        raw: Raw::default(),
        percent_read: 0,
        block_read: 0,
        custom_read: Vec::new(),
    };
    detector.prefilter().scan(bytes, |place, keyword| scanner.keyword(place, keyword));
    if detector.wants_census() {
        scanner.census();
    }
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

    fn keyword(&mut self, place: usize, keyword: usize) {
        let Some((cue, len)) = self.detector.cue(keyword) else { return };
        let (start, end) = self.units.at(place);
        let unit = self.up_to(end);
        let inside = place >= start;
        match cue {
            Cue::Token(rule) if inside => {
                let (Some(entry), Some(pattern)) =
                    (self.catalog.rule(rule), self.catalog.pattern(rule))
                else {
                    return;
                };
                let hit = secrets::token(unit, place, rule, entry, pattern);
                self.push(hit.filter(|hit| hit.start >= start));
            }
            Cue::Near(rule) => self.near(place, len, rule),
            Cue::Assign(strength) => self.assign(place, len, strength),
            Cue::Block => self.block(place),
            Cue::Bearer if inside => self.push(secrets::bearer(unit, place, len)),
            Cue::Basic if inside => self.push(secrets::basic(unit, place, len)),
            Cue::Command if inside => {
                self.push(secrets::command(unit, place, cut(unit, place, place + len)))
            }
            Cue::Marked if inside => self.push(secrets::marked_line(unit, place, len)),
            Cue::Birth if inside => self.push(pii::birth_date(unit, place + len)),
            Cue::Address if inside => self.push(pii::postal_address(unit, place + len)),
            Cue::Percent if inside => self.percent(place, start, end),
            Cue::Custom(index) => self.custom(index, start, end),
            Cue::NameCued | Cue::NameListed | Cue::ZhCued | Cue::ZhTitle | Cue::ZhRight
                if inside =>
            {
                self.name(cue, place, len, end);
            }
            Cue::Token(_)
            | Cue::Bearer
            | Cue::Basic
            | Cue::Command
            | Cue::Marked
            | Cue::Birth
            | Cue::Address
            | Cue::Percent
            | Cue::NameCued
            | Cue::NameListed
            | Cue::ZhCued
            | Cue::ZhTitle
            | Cue::ZhRight => {}
        }
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
        let (Some(entry), Some(pattern)) = (self.catalog.rule(rule), self.catalog.pattern(rule))
        else {
            return;
        };
        self.reaching(place, place + len, |unit| {
            secrets::near(unit, place, len, rule, entry, pattern)
        });
    }

    fn assign(&mut self, place: usize, len: usize, strength: Strength) {
        let (_, end) = self.units.at(place);
        let name = assign::name_around(self.up_to(end), place, len);
        let Some(strength) =
            keys::speaks(cut(self.bytes, name.0, name.1), place - name.0, len, strength)
        else {
            return;
        };
        self.reaching(place, name.1, |unit| {
            let found = assign::read(unit, name)?;
            let (start, end) = found.value;
            let score = assess(cut(unit, start, end), at(unit, end), strength, found.written)?;
            Some(Hit::secret(start, end, assigned_rule(strength), score, 1))
        });
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

    fn percent(&mut self, place: usize, start: usize, end: usize) {
        if place < self.percent_read || self.depth >= DECODE_DEPTH_MAX {
            return;
        }
        let unit = self.up_to(end);
        let from = run_start(unit, place, PERCENT, place - start);
        let to = run_end(unit, place, PERCENT);
        self.percent_read = to;
        let Some(decoded) = decode::percent(cut(unit, from, to)) else { return };
        let Some(text) = decode::readable(&decoded) else { return };
        // A parameter at a time, so that a finding masks no more than its own parameter.
        let inner = self.strongest(text);
        if inner.is_none() {
            return;
        }
        let mut part = from;
        for piece in cut(unit, from, to).split_inclusive(|byte| matches!(byte, b'&' | b'?' | b';'))
        {
            let piece_end = part + piece.len();
            if let Some(decoded) = decode::percent(piece.trim_ascii_end())
                && let Some(hit) = decode::readable(&decoded).and_then(|text| self.strongest(text))
            {
                let stop = piece_end
                    - usize::from(
                        piece.ends_with(b"&") || piece.ends_with(b"?") || piece.ends_with(b";"),
                    );
                let value = cut(unit, part, stop)
                    .iter()
                    .position(|byte| *byte == b'=')
                    .map_or(part, |eq| part + eq + 1);
                self.raw.hits.push(Hit { start: value, end: stop, ..hit });
            }
            part = piece_end;
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
        let mut runs = Units::new(self.bytes, self.origin);
        let mut colons = Units::new(self.bytes, self.origin);
        let mut signs = Units::new(self.bytes, self.origin);
        let (bytes, origin) = (self.bytes, self.origin);
        census::scan(bytes, |trace, from, to| match trace {
            Trace::At => {
                let (start, end) = signs.at(from);
                if from >= origin {
                    let unit = cut(bytes, 0, end);
                    self.push(pii::email(unit, from).filter(|hit| hit.start >= start));
                    self.push(secrets::url_password(unit, from));
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
            let (_, end) = units.at(place);
            let unit = self.up_to(end);
            let (datum, next) = read(unit, place);
            if let Some(datum) = datum {
                let hit = datum.weigh(unit, self.key);
                self.raw.hits.push(hit);
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
            let (start, end) = units.at(place);
            let unit = self.up_to(end);
            let run_from = run_start(unit, place, BASE64, place.saturating_sub(start));
            let run_to = run_end(unit, place, BASE64);
            if run_to - run_from >= RUN_BYTES_MIN && run_from >= self.origin {
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
        let opened = decode::open(cut(unit, start, to));
        if let Some(hit) = opened.and_then(|text| self.strongest(&text)) {
            self.raw.hits.push(Hit { start, end: to, ..hit });
        }
    }

    /// A whole text that is the value of a key which names a secret.
    fn key_value(&mut self) {
        if self.key.is_empty() || self.origin > 0 {
            return;
        }
        let Ok(key) = std::str::from_utf8(self.key) else { return };
        let value = self.bytes.trim_ascii();
        let lead = self.bytes.len() - self.bytes.trim_ascii_start().len();
        if let Some(strength) = keys::strength_of(key)
            && let Some(score) = assess(value, b'"', strength, crate::value::Written::Quoted)
        {
            self.raw.hits.push(Hit::secret(
                lead,
                lead + value.len(),
                assigned_rule(strength),
                score,
                1,
            ));
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

    fn model(&mut self) {
        let Some(model) = self.detector.name_model() else { return };
        self.each_unit(|scanner, start, end| {
            let unit = cut_str(scanner.text, start, end);
            if scanner.raw.fault.is_some() || !is_prose(unit) {
                return;
            }
            match model.names(unit) {
                Ok(spans) => {
                    for span in spans {
                        let coded = match span.kind {
                            Kind::Person => Coded::PersonModel,
                            Kind::Organization => Coded::OrganizationModel,
                            Kind::Place => Coded::PlaceModel,
                            Kind::Secret
                            | Kind::PrivateKey
                            | Kind::Password
                            | Kind::Email
                            | Kind::Phone
                            | Kind::Card
                            | Kind::Iban
                            | Kind::NationalId
                            | Kind::Passport
                            | Kind::IpAddress
                            | Kind::MacAddress
                            | Kind::CryptoAddress
                            | Kind::BirthDate
                            | Kind::Address
                            | Kind::Custom => continue,
                        };
                        if unit.get(span.range.clone()).is_some() {
                            let hit = Hit::datum(
                                start + span.range.start,
                                start + span.range.end,
                                coded.index(),
                                span.score,
                            );
                            scanner.raw.hits.push(hit);
                        }
                    }
                }
                Err(error) => scanner.raw.fault = Some(error),
            }
        });
    }

    /// Drops what lies in the history or crosses the end of a unit.
    fn finish(mut self) -> Raw {
        let origin = self.origin;
        let bytes = self.bytes;
        self.raw.hits.retain(|hit| {
            hit.start >= origin && hit.start < hit.end && !inside_mask(bytes, hit.start, hit.end)
        });
        self.raw.hits.sort_by_key(|hit| (hit.start, hit.end));
        let mut units = Units::new(self.bytes, origin);
        self.raw.hits.retain(|hit| hit.rank == RANK_BLOCK || hit.end <= units.at(hit.start).1);
        self.raw
    }
}

fn assigned_rule(strength: Strength) -> usize {
    match strength {
        Strength::Password => Coded::PasswordAssignment.index(),
        Strength::Secret => Coded::SecretAssignment.index(),
        Strength::Weak => Coded::KeyAssignment.index(),
    }
}
