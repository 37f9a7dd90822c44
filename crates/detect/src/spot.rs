//! Spots: data found in a text of any structure, at their place in the text as it was given.
//!
//! JSON, JSON lines and JSON inside JSON strings are opened, every string is looked at as what it says
//! together with its key, and numbers likewise. Whatever does not parse is looked at as plain text, so
//! no malformed input goes unscanned.

use std::borrow::Cow;

use crate::config::Context;
use crate::detector::Detector;
use crate::finding::Standing;
use crate::fold::Folded;
use crate::hit::Hit;
use crate::json::{Event, NotJson, Unescaped, escaped, looks_like, walk, whole};
use crate::keys;
use crate::limits::JSON_IN_STRING_DEPTH_MAX;
use crate::model::NameModelError;
use crate::scan::{Raw, scan};

/// How a mask must be written at a spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// As it is.
    Text,
    /// Inside a JSON string, escaped as many times as strings are nested.
    InString { escapes: usize },
    /// In place of a JSON number.
    Number { escapes: usize },
}

/// A datum in the text as it was given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spot {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) hit: Hit,
    pub(crate) standing: Standing,
    /// The datum as it reads, unescaped and unfolded.
    pub(crate) datum: String,
    pub(crate) place: Place,
    /// Whether it stands in a key.
    pub(crate) in_key: bool,
}

/// All spots of a text.
#[derive(Debug, Default)]
pub(crate) struct Spots {
    pub(crate) list: Vec<Spot>,
    pub(crate) fault: Option<NameModelError>,
}

/// Looks at a text of any structure.
pub(crate) fn structured(detector: &Detector, text: &str, ctx: &Context<'_>) -> Spots {
    let mut spots = Spots::default();
    if !detector.exempts_place(ctx) {
        leaf(detector, text, ctx, 0, &mut spots);
    }
    spots
}

/// Looks at plain text.
pub(crate) fn plain(detector: &Detector, text: &str, ctx: &Context<'_>, spots: &mut Spots) {
    let folded = Folded::of(text);
    let raw = scan(detector, folded.text(), 0, ctx.key.unwrap_or(""), 0);
    place(detector, text.as_bytes(), &folded, "", raw, ctx, spots);
}

/// Looks at bytes that may not be UTF-8 as plain text.
pub(crate) fn plain_bytes(detector: &Detector, bytes: &[u8], ctx: &Context<'_>, spots: &mut Spots) {
    let folded = Folded::of_bytes(bytes);
    let raw = scan(detector, folded.text(), 0, ctx.key.unwrap_or(""), 0);
    place(detector, bytes, &folded, "", raw, ctx, spots);
}

/// The hits of a scan of `history` and the folded text as spots of the original.
pub(crate) fn place(
    detector: &Detector,
    bytes: &[u8],
    folded: &Folded<'_>,
    history: &str,
    raw: Raw,
    ctx: &Context<'_>,
    spots: &mut Spots,
) {
    if spots.fault.is_none() {
        spots.fault = raw.fault;
    }
    if raw.hits.is_empty() {
        return;
    }
    let shift = history.len();
    let hits = raw.hits.into_iter().filter_map(|hit| {
        Some(Hit { start: hit.start.checked_sub(shift)?, end: hit.end.checked_sub(shift)?, ..hit })
    });
    for (hit, standing) in detector.judged(folded.text(), hits.collect(), ctx) {
        let mut range = folded.original(hit.start..hit.end);
        let datum = folded.text().get(hit.start..hit.end).unwrap_or("").to_owned();
        let number_end = bare_json_number_end(history, bytes, range.start, range.end);
        range.end = number_end.unwrap_or(range.end);
        let number = number_end.is_some();
        let place = if number { Place::Number { escapes: 0 } } else { Place::Text };
        spots.list.push(Spot {
            start: range.start,
            end: range.end,
            hit,
            standing,
            datum,
            place,
            in_key: false,
        });
    }
}

/// Where a number behind a quoted key ends in text that is nearly JSON: its mask needs quotes, and stands in place
/// of the fraction as well.
fn bare_json_number_end(history: &str, bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    const BLANKS_MAX: usize = 16;
    const FRACTION_MAX: usize = 16;
    let digits = bytes.get(start..end).is_some_and(|datum| datum.iter().all(u8::is_ascii_digit));
    let head =
        bytes.get(..start).unwrap_or(&[]).iter().rev().chain(history.as_bytes().iter().rev());
    let mut signs = head.take(BLANKS_MAX).filter(|byte| !byte.is_ascii_whitespace());
    let behind_key = signs.next() == Some(&b':') && signs.next() == Some(&b'"');
    if !digits || !behind_key {
        return None;
    }
    let tail = bytes.get(end..).unwrap_or(&[]);
    let zeros = tail.iter().skip(1).take(FRACTION_MAX).take_while(|byte| **byte == b'0').count();
    let fraction = if tail.first() == Some(&b'.') && zeros > 0 { 1 + zeros } else { 0 };
    let ends = matches!(tail.get(fraction), Some(b',' | b'}' | b']' | b'\n' | b'\r' | b' '));
    ends.then_some(end + fraction)
}

/// Shortest datum of any built-in rule that needs no key to speak for it, in bytes: `a@b.io`.
const DATUM_BYTES_MIN: usize = 6;
/// Longest name that holds no datum because it is nothing but letters, in bytes.
const NAME_BYTES_PLAIN: usize = 16;

/// Whether a text is too short for a datum, or a plain name: most strings and keys of JSON are.
fn holds_nothing(detector: &Detector, text: &str, key: Option<&str>) -> bool {
    let bytes = text.as_bytes();
    let sign = |byte: &u8| !byte.is_ascii() || *byte == b'\\';
    let short = bytes.len() < DATUM_BYTES_MIN && !bytes.iter().any(sign);
    let name = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let plain = || bytes.len() <= NAME_BYTES_PLAIN && bytes.iter().all(name);
    let spoken_for = || key.is_some_and(|key| keys::strength_of(key).is_some());
    detector.reads_only_data() && (short || plain()) && !spoken_for()
}

fn leaf(detector: &Detector, text: &str, ctx: &Context<'_>, depth: usize, spots: &mut Spots) {
    if depth <= JSON_IN_STRING_DEPTH_MAX && looks_like(text) {
        let mut found = Spots::default();
        if document(detector, text, ctx, depth, &mut found).is_ok() {
            spots.list.append(&mut found.list);
            spots.fault = spots.fault.take().or(found.fault);
            return;
        }
        if depth == 0 && text.contains('\n') {
            lines(detector, text, ctx, spots);
            return;
        }
    }
    plain(detector, text, ctx, spots);
}

/// JSON lines among other lines: documents are opened, what stands between them is text.
fn lines(detector: &Detector, text: &str, ctx: &Context<'_>, spots: &mut Spots) {
    let mut pending = 0;
    let mut place = 0;
    let text_between = |from: usize, to: usize, spots: &mut Spots| {
        let first = spots.list.len();
        plain(detector, text.get(from..to).unwrap_or(""), ctx, spots);
        spots.list.iter_mut().skip(first).for_each(|spot| shift(spot, from));
    };
    for line in text.split_inclusive('\n') {
        let next = place + line.len();
        let mut found = Spots::default();
        if looks_like(line) && document(detector, line, ctx, 0, &mut found).is_ok() {
            text_between(pending, place, spots);
            found.list.iter_mut().for_each(|spot| shift(spot, place));
            spots.list.append(&mut found.list);
            spots.fault = spots.fault.take().or(found.fault);
            pending = next;
        }
        place = next;
    }
    text_between(pending, place, spots);
}

fn shift(spot: &mut Spot, by: usize) {
    spot.start += by;
    spot.end += by;
}

/// What is known about an object or array while the walk is in it.
#[derive(Default)]
struct Frame<'a> {
    object: bool,
    key: Option<Cow<'a, str>>,
    /// The text of a `name` or `key` member, or the last string of an array.
    named: Option<Cow<'a, str>>,
    /// Where a `value` member stood before its name was known.
    unnamed: Option<(usize, usize)>,
}

const NAME_KEYS: &[&str] = &["name", "key", "field", "label", "id", "header"];
const VALUE_KEYS: &[&str] =
    &["value", "val", "content", "data", "default", "secretvalue", "stringvalue"];

/// Whether the member of this key names what stands beside it: `{"name": "password", "value": "x"}`.
#[must_use]
pub fn is_name_key(key: &str) -> bool {
    is_one_of(Some(key), NAME_KEYS)
}

/// Whether the member of this key holds the value that a name beside it speaks of.
#[must_use]
pub fn is_value_key(key: &str) -> bool {
    is_one_of(Some(key), VALUE_KEYS)
}

fn is_one_of(key: Option<&str>, list: &[&str]) -> bool {
    key.is_some_and(|key| list.iter().any(|word| key.eq_ignore_ascii_case(word)))
}

fn document(
    detector: &Detector,
    text: &str,
    ctx: &Context<'_>,
    depth: usize,
    spots: &mut Spots,
) -> Result<(), NotJson> {
    let mut frames: Vec<Frame<'_>> = vec![Frame::default()];
    let mut wrong = Ok(());
    walk(text, |event| {
        if let Err(error) = event_spots(detector, text, ctx, depth, &mut frames, event, spots) {
            wrong = Err(error);
        }
    })?;
    wrong
}

fn event_spots<'a>(
    detector: &Detector,
    text: &'a str,
    ctx: &Context<'_>,
    depth: usize,
    frames: &mut Vec<Frame<'a>>,
    event: Event,
    spots: &mut Spots,
) -> Result<(), NotJson> {
    match event {
        Event::OpenObject | Event::OpenArray => {
            // An array's strings belong to the array's key.
            let key = frames
                .last()
                .and_then(|frame| frame.key.clone())
                .filter(|_| event == Event::OpenArray);
            // `"password": {"value": "x"}`: the name stands outside.
            let named = frames
                .last()
                .filter(|_| event == Event::OpenObject)
                .and_then(|frame| frame.key.clone())
                .filter(|key| keys::strength_of(key).is_some());
            let object = event == Event::OpenObject;
            frames.push(Frame { object, key, named, ..Frame::default() });
        }
        Event::Close => {
            frames.pop();
        }
        Event::Word => {}
        Event::Key(start, end) => {
            let raw = text.get(start..end).ok_or(NotJson)?;
            let first = spots.list.len();
            string(detector, raw, start, &Context { key: None, ..*ctx }, depth, spots)?;
            spots.list.iter_mut().skip(first).for_each(|spot| spot.in_key = true);
            let said =
                Unescaped::read(raw)?.map_or(Cow::Borrowed(raw), |read| Cow::Owned(read.text));
            if let Some(frame) = frames.last_mut() {
                frame.key = Some(said);
            }
        }
        Event::Text(start, end) => {
            let raw = text.get(start..end).ok_or(NotJson)?;
            let Some(frame) = frames.last_mut() else { return Err(NotJson) };
            let key = value_key(frame);
            let ctx = Context { key: key.as_deref().or(ctx.key), ..*ctx };
            string(detector, raw, start, &ctx, depth, spots)?;
            name_or_value(detector, text, &ctx, depth, frame, (start, end), spots)?;
        }
        Event::Number(start, end) => {
            let key = frames.last().and_then(value_key);
            let ctx = Context { key: key.as_deref().or(ctx.key), ..*ctx };
            let first = spots.list.len();
            let number = text.get(start..end).ok_or(NotJson)?;
            if holds_nothing(detector, number, ctx.key) {
                return Ok(());
            }
            plain(detector, whole(number).as_deref().unwrap_or(number), &ctx, spots);
            for spot in spots.list.iter_mut().skip(first) {
                // Part of a number cannot be masked: the number is.
                (spot.start, spot.end) = (start, end);
                spot.place = Place::Number { escapes: 0 };
            }
            spots.list.truncate(first + 1);
        }
    }
    Ok(())
}

/// The name under which a value stands: its key, or the `name` beside a `value`.
fn value_key<'a>(frame: &Frame<'a>) -> Option<Cow<'a, str>> {
    let beside = !frame.object || is_one_of(frame.key.as_deref(), VALUE_KEYS);
    let named = frame.named.clone().filter(|name| beside && keys::strength_of(name).is_some());
    named.or_else(|| frame.key.clone())
}

/// Remembers names, and looks again at a value whose name came after it.
fn name_or_value<'a>(
    detector: &Detector,
    text: &'a str,
    ctx: &Context<'_>,
    depth: usize,
    frame: &mut Frame<'a>,
    (start, end): (usize, usize),
    spots: &mut Spots,
) -> Result<(), NotJson> {
    let raw = text.get(start..end).ok_or(NotJson)?;
    if !frame.object {
        frame.named = Some(Cow::Borrowed(raw));
    } else if is_one_of(frame.key.as_deref(), VALUE_KEYS) && frame.named.is_none() {
        frame.unnamed = Some((start, end));
    } else if is_one_of(frame.key.as_deref(), NAME_KEYS) {
        if let Some((from, to)) = frame.unnamed.take()
            && keys::strength_of(raw).is_some()
            && !spots
                .list
                .iter()
                .rev()
                .take_while(|spot| spot.start >= from)
                .any(|spot| spot.start < to)
        {
            let value = text.get(from..to).ok_or(NotJson)?;
            string(detector, value, from, &ctx.with_key(raw), depth, spots)?;
        }
        let outer = frame.named.as_deref().is_some_and(|name| keys::strength_of(name).is_some());
        if !outer || keys::strength_of(raw).is_some() {
            frame.named = Some(Cow::Borrowed(raw));
        }
    }
    Ok(())
}

/// Looks at the content of a JSON string that stands at `start`.
fn string(
    detector: &Detector,
    raw: &str,
    start: usize,
    ctx: &Context<'_>,
    depth: usize,
    spots: &mut Spots,
) -> Result<(), NotJson> {
    if holds_nothing(detector, raw, ctx.key) {
        return Ok(());
    }
    let first = spots.list.len();
    let read = Unescaped::read(raw)?;
    match &read {
        None => leaf(detector, raw, ctx, depth + 1, spots),
        Some(read) => leaf(detector, &read.text, ctx, depth + 1, spots),
    }
    for spot in spots.list.iter_mut().skip(first) {
        if let Some(read) = &read {
            (spot.start, spot.end) = (read.raw_place(spot.start), read.raw_place(spot.end));
        }
        shift(spot, start);
        spot.place = match spot.place {
            Place::Text => Place::InString { escapes: 1 },
            Place::InString { escapes } => Place::InString { escapes: escapes + 1 },
            Place::Number { escapes } => Place::Number { escapes: escapes + 1 },
        };
    }
    Ok(())
}

impl Place {
    /// A mask written so that the text around stays what it is.
    pub(crate) fn write(self, mask: &str, number: Option<&str>) -> String {
        let (mut text, escapes) = match self {
            Self::Text => return mask.to_owned(),
            Self::InString { escapes } => (mask.to_owned(), escapes),
            Self::Number { escapes } => {
                (number.map_or_else(|| format!("\"{}\"", escaped(mask)), str::to_owned), escapes)
            }
        };
        for _ in 0..escapes {
            text = escaped(&text);
        }
        text
    }
}
