//! Postal addresses: what follows a word for address, when it reads like one.
//!
//! Without the word nothing is found: free-standing addresses cannot be told from other text by rules
//! with a false-alarm rate that one may defend, and this says so rather than try.

use crate::ascii::{ByteSet, at, cut, has_word, run_end};
use crate::hit::Hit;
use crate::rules::Coded;

const ADDRESS_BYTES_MAX: usize = 160;

const STREETS: &[&str] = &[
    "street",
    "st",
    "road",
    "rd",
    "avenue",
    "ave",
    "lane",
    "ln",
    "drive",
    "dr",
    "boulevard",
    "blvd",
    "way",
    "court",
    "ct",
    "place",
    "square",
    "terrace",
    "close",
    "highway",
    "hwy",
    "suite",
    "apt",
    "rue",
    "avenida",
    "calle",
    "plaza",
    "via",
    "piazza",
    "allee",
    "platz",
    "weg",
];
const PARTS: &[&str] = &[
    "straße", "strasse", "路", "街", "巷", "弄", "号", "室", "栋", "丁目", "番地", "동", "로", "길",
];

/// The address behind a word that ends at `from`.
pub(crate) fn postal_address(bytes: &[u8], from: usize) -> Option<Hit> {
    let mut start = run_end(bytes, from, ByteSet::of("\"'\\"));
    start = run_end(bytes, start, ByteSet::of(" \t"));
    let wide = ["：", "是"].iter().any(|sign| cut(bytes, start, start + 3) == sign.as_bytes());
    if !wide && !matches!(at(bytes, start), b':' | b'=') {
        return None;
    }
    start = run_end(bytes, start + if wide { 3 } else { 1 }, ByteSet::of(" \t\\\"'"));
    let rest = cut(bytes, start, (start + ADDRESS_BYTES_MAX).min(bytes.len()));
    let mut len = rest
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\\' | b'<' | b'|' | b';'))
        .unwrap_or(rest.len());
    for stop in ["。", "；"] {
        if let Some(place) = memchr::memmem::find(cut(rest, 0, len), stop.as_bytes()) {
            len = place;
        }
    }
    while len > 0
        && (rest.get(len).is_some_and(|byte| (byte & 0xC0) == 0x80)
            || matches!(at(rest, len - 1), b' ' | b'.' | b','))
    {
        len -= 1;
    }
    let text = cut(rest, 0, len);
    let digit = text.iter().any(u8::is_ascii_digit);
    let street = STREETS.iter().any(|word| has_word(text, word.as_bytes()))
        || PARTS.iter().any(|part| memchr::memmem::find(text, part.as_bytes()).is_some());
    (digit && street && text.len() >= 8)
        .then(|| Hit::datum(start, start + len, Coded::PostalAddress.index(), 0.65))
}
