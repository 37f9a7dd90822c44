//! The veil: finds the data of a vault in a text in all the ways in which a tool may write them back, and puts
//! their placeholders there.
//!
//! Not each datum is encoded in each way; the text is read in each way, so that a single escaped letter hides
//! nothing. Read are: the text as it is, without the escapes of JSON, URLs and HTML (one within another), and
//! without those of mail (quoted-printable). In each reading a datum is looked for forwards and backwards, over
//! line breaks and between the zero bytes of UTF-16, and, as UTF-8 or UTF-16, in hex and in base64 of either
//! alphabet at any offset. Time grows with the text, not with the number of data.
//!
//! Case counts unless a datum holds a digit or `@`: `will` is no person `Will`. Refused: undoing compression,
//! encryption and further encodings; nobody can read those who does not run a program for it.

use crate::event::Name;
use crate::json::{Json, Object};
use crate::vault::Kept;
use std::collections::HashMap;

/// Shortest datum that is looked for, in bytes: shorter ones stand everywhere by chance.
const BYTES_MIN: usize = 4;
/// Shortest datum that is looked for backwards, and in pieces with something between.
const UNLIKELY_BYTES_MIN: usize = 8;
/// How often escapes within escapes are undone.
const LEVELS_MAX: usize = 4;
/// Bits for the first two bytes of what is looked for.
const STARTS_WORDS: usize = 65_536 / 64;

/// The data of an owner, ready to be looked for.
pub(crate) struct Veil {
    /// As they are.
    plain: Needles,
    /// In hex and base64.
    coded: Needles,
}

/// A byte of a reading, and which bytes of the text it was read from.
#[derive(Clone, Copy)]
struct Unit {
    byte: u8,
    from: usize,
    to: usize,
}

/// How a text may be escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// As in JSON, URLs and HTML.
    Usual,
    /// As in mail.
    QuotedPrintable,
}

/// A place in the text where a datum stands.
struct Hit<'v> {
    from: usize,
    to: usize,
    placeholder: &'v Name,
}

impl Veil {
    pub(crate) fn of(kept: &[Kept]) -> Veil {
        let (mut plain, mut coded) = (Needles::default(), Needles::default());
        for one in kept.iter().filter(|one| one.value.0.len() >= BYTES_MIN) {
            let value = &*one.value.0;
            let any_case = value.bytes().any(|byte| byte.is_ascii_digit() || byte == b'@');
            plain.add(value.bytes().filter_map(in_plain), any_case, &one.placeholder);
            if value.len() >= UNLIKELY_BYTES_MIN {
                let backwards: String = value.chars().rev().collect();
                plain.add(backwards.bytes().filter_map(in_plain), any_case, &one.placeholder);
            }
            let wide: Vec<u16> = value.encode_utf16().collect();
            let little = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big = wide.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            for bytes in [value.as_bytes().to_vec(), little, big] {
                coded.add(hex(&bytes), true, &one.placeholder);
                for lead in 0..3 {
                    coded.add(base64_middle(&bytes, lead), false, &one.placeholder);
                }
            }
        }
        Veil { plain, coded }
    }

    /// The text with placeholders; `None`: none of the data stands in it.
    pub(crate) fn text(&self, text: &str) -> Option<String> {
        let mut hits = Vec::new();
        let units = |(at, byte): (usize, u8)| Unit { byte, from: at, to: at + 1 };
        let mut reading: Vec<Unit> = text.bytes().enumerate().map(units).collect();
        if let Some(mail) = unescaped(&reading, Escapes::QuotedPrintable) {
            self.look(&mail, &mut hits);
        }
        self.look(&reading, &mut hits);
        for _ in 0..LEVELS_MAX {
            let Some(next) = unescaped(&reading, Escapes::Usual) else { break };
            reading = next;
            self.look(&reading, &mut hits);
        }
        replaced(text, hits)
    }

    fn look<'v>(&'v self, reading: &[Unit], hits: &mut Vec<Hit<'v>>) {
        self.plain.look(reading, in_plain, hits);
        self.coded.look(reading, in_code, hits);
    }

    /// The value with placeholders in its texts and keys; `None`: it stays as it is.
    pub(crate) fn json(&self, value: &Json) -> Option<Json> {
        match value {
            Json::Null | Json::Bool(_) => None,
            Json::Number(_) => self.text(&value.text()).map(Json::from),
            Json::String(text) => self.text(text).map(Json::from),
            Json::Array(items) => {
                let veiled: Vec<Option<Json>> = items.iter().map(|item| self.json(item)).collect();
                veiled.iter().any(Option::is_some).then(|| {
                    let all = items.iter().zip(veiled);
                    Json::Array(all.map(|(was, is)| is.unwrap_or_else(|| was.clone())).collect())
                })
            }
            Json::Object(object) => {
                let mut changed = false;
                let members = object.iter().map(|(key, value)| {
                    let (new_key, new_value) = (self.text(key), self.json(value));
                    changed |= new_key.is_some() || new_value.is_some();
                    let key = new_key.unwrap_or_else(|| key.to_owned());
                    (key, new_value.unwrap_or_else(|| value.clone()))
                });
                let object: Object = members.collect();
                changed.then(|| object.into())
            }
        }
    }
}

/// What is looked for, found by its first bytes.
struct Needles {
    /// Which two bytes one begins with, in lower case.
    starts: Box<[u64; STARTS_WORDS]>,
    by_start: HashMap<[u8; BYTES_MIN], Vec<Needle>>,
}

struct Needle {
    bytes: Box<[u8]>,
    any_case: bool,
    placeholder: Name,
}

impl Default for Needles {
    fn default() -> Needles {
        Needles { starts: Box::new([0; STARTS_WORDS]), by_start: HashMap::new() }
    }
}

impl Needles {
    fn add(&mut self, bytes: impl IntoIterator<Item = u8>, any_case: bool, placeholder: &Name) {
        let bytes: Box<[u8]> = bytes.into_iter().collect();
        let Some(start) = start_of(&bytes) else { return };
        let (word, bit) = place_of(start);
        if let Some(word) = self.starts.get_mut(word) {
            *word |= bit;
        }
        let placeholder = Name::clone(placeholder);
        self.by_start.entry(start).or_default().push(Needle { bytes, any_case, placeholder });
    }

    /// Looks through a reading, of which `fold` leaves what counts.
    fn look<'v>(&'v self, reading: &[Unit], fold: fn(u8) -> Option<u8>, hits: &mut Vec<Hit<'v>>) {
        let folded = |unit: &Unit| fold(unit.byte).map(|byte| Unit { byte, ..*unit });
        let units: Vec<Unit> = reading.iter().filter_map(folded).collect();
        let bytes: Vec<u8> = units.iter().map(|unit| unit.byte).collect();
        for at in 0..bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(start) = start_of(rest) else { break };
            let (word, bit) = place_of(start);
            if self.starts.get(word).is_none_or(|word| word & bit == 0) {
                continue;
            }
            let here = self.by_start.get(&start).into_iter().flatten();
            let longest = here.filter(|needle| needle.stands_in(rest, units.get(at..)));
            let Some(needle) = longest.max_by_key(|needle| needle.bytes.len()) else { continue };
            let ends = (units.get(at), units.get(at + needle.bytes.len() - 1));
            if let (Some(first), Some(last)) = ends {
                let placeholder = &needle.placeholder;
                hits.push(Hit { from: first.from, to: last.to, placeholder });
            }
        }
    }
}

impl Needle {
    /// Whether it stands at the start of these bytes. A short one stands in one piece only: with a space or a
    /// line break somewhere in it, it is found by chance.
    fn stands_in(&self, bytes: &[u8], units: Option<&[Unit]>) -> bool {
        let Some(here) = bytes.get(..self.bytes.len()) else { return false };
        let is_it = match self.any_case {
            true => here.eq_ignore_ascii_case(&self.bytes),
            false => *here == *self.bytes,
        };
        let in_one_piece = || {
            let units = units.and_then(|units| units.get(..self.bytes.len())).unwrap_or_default();
            // The bytes of one escaped letter were read from the same place.
            units.is_sorted_by(|a, b| a.to == b.from || a.from == b.from)
        };
        is_it && (self.bytes.len() >= UNLIKELY_BYTES_MIN || in_one_piece())
    }
}

fn start_of(bytes: &[u8]) -> Option<[u8; BYTES_MIN]> {
    let mut start = *bytes.first_chunk::<BYTES_MIN>()?;
    start.make_ascii_lowercase();
    Some(start)
}

/// Where the bit of the first two bytes is.
fn place_of(start: [u8; BYTES_MIN]) -> (usize, u64) {
    let [first, second, ..] = start;
    let bit = usize::from(u16::from_be_bytes([first, second]));
    (bit / 64, 1 << (bit % 64))
}

/// What counts of a datum as such: line breaks and zeros do not, and a form writes a space as `+`.
fn in_plain(byte: u8) -> Option<u8> {
    match byte {
        b'\r' | b'\n' | 0 => None,
        b'+' => Some(b' '),
        byte => Some(byte),
    }
}

/// What counts of hex and base64, whose other alphabet is turned into the usual one.
fn in_code(byte: u8) -> Option<u8> {
    match byte {
        b'\r' | b'\n' | b'\t' | b' ' | b':' | 0 => None,
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        byte => Some(byte),
    }
}

/// The text with placeholders at these places, of which the longest holds where some overlap.
fn replaced(text: &str, mut hits: Vec<Hit<'_>>) -> Option<String> {
    if hits.is_empty() {
        return None;
    }
    hits.sort_by_key(|hit| (hit.from, std::cmp::Reverse(hit.to)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut hits = hits.into_iter().peekable();
    while let Some(hit) = hits.next() {
        let mut end = hit.to;
        while let Some(next) = hits.next_if(|next| next.from < end) {
            end = end.max(next.to);
        }
        out.push_str(text.get(done..hit.from).unwrap_or_default());
        out.push_str(hit.placeholder);
        done = end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}

/// The reading without escapes; `None`: it holds none.
fn unescaped(reading: &[Unit], escapes: Escapes) -> Option<Vec<Unit>> {
    let mut out: Vec<Unit> = Vec::new();
    let mut at = 0;
    let mut changed = false;
    while let Some(rest) = reading.get(at..).filter(|rest| !rest.is_empty()) {
        let said = match escapes {
            Escapes::Usual => usual(rest),
            Escapes::QuotedPrintable => quoted_printable(rest),
        };
        let Some((said, count)) = said else {
            out.extend(rest.first());
            at += 1;
            continue;
        };
        if !changed {
            // Room for all, made once there is something.
            out.reserve(reading.len().saturating_sub(out.len()));
            changed = true;
        }
        let from = rest.first().map_or(0, |unit| unit.from);
        let to = rest.get(count - 1).map_or(from, |unit| unit.to);
        let mut buffer = [0; 4];
        let bytes = match said {
            Said::Byte(byte) => &[byte],
            Said::Char(char) => char.encode_utf8(&mut buffer).as_bytes(),
            Said::Nothing => &[],
        };
        out.extend(bytes.iter().map(|byte| Unit { byte: *byte, from, to }));
        at += count;
    }
    changed.then_some(out)
}

/// What an escape says.
enum Said {
    Byte(u8),
    Char(char),
    Nothing,
}

fn byte_at(rest: &[Unit], at: usize) -> Option<u8> {
    rest.get(at).map(|unit| unit.byte)
}

/// The number that so many hex digits from here say.
fn hex_at(rest: &[Unit], at: usize, digits: usize) -> Option<u32> {
    (at..at + digits)
        .try_fold(0, |number, at| Some(number * 16 + char::from(byte_at(rest, at)?).to_digit(16)?))
}

/// An escape of JSON, of an URL or of HTML at the start of the rest, and how long it is.
fn usual(rest: &[Unit]) -> Option<(Said, usize)> {
    let byte = |number: u32| u8::try_from(number).ok().map(Said::Byte);
    match byte_at(rest, 0)? {
        b'%' => Some((byte(hex_at(rest, 1, 2)?)?, 3)),
        b'&' => entity(rest),
        b'\\' => match byte_at(rest, 1)? {
            b'x' => Some((byte(hex_at(rest, 2, 2)?)?, 4)),
            b'u' => utf16_escape(rest),
            b'n' | b'r' => Some((Said::Byte(b'\n'), 2)),
            b't' => Some((Said::Byte(b'\t'), 2)),
            other @ (b'"' | b'\'' | b'\\' | b'/') => Some((Said::Byte(other), 2)),
            _ => None,
        },
        _ => None,
    }
}

/// `\u0040`, and two of them for what needs two.
fn utf16_escape(rest: &[Unit]) -> Option<(Said, usize)> {
    let first = hex_at(rest, 2, 4)?;
    if let Some(char) = char::from_u32(first) {
        return Some((Said::Char(char), 6));
    }
    let is_escape = byte_at(rest, 6)? == b'\\' && byte_at(rest, 7)? == b'u';
    let second = hex_at(rest, 8, 4).filter(|_| is_escape)?;
    let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let char = char::decode_utf16(units).next()?.ok()?;
    Some((Said::Char(char), 12))
}

/// `&amp;`, `&#64;`, `&#x40;`.
fn entity(rest: &[Unit]) -> Option<(Said, usize)> {
    const NAMED: [(&str, char); 7] = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("commat", '@'),
        ("plus", '+'),
    ];
    const BYTES_MAX: usize = 12;
    let bytes: Vec<u8> = rest.iter().take(BYTES_MAX).map(|unit| unit.byte).collect();
    let end = bytes.iter().position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(bytes.get(1..end)?).ok()?;
    let char = match name.strip_prefix('#') {
        None => NAMED.iter().find(|(known, _)| *known == name)?.1,
        Some(number) => {
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)?
        }
    };
    Some((Said::Char(char), end + 1))
}

/// `=40`, and a line that goes on in the next.
fn quoted_printable(rest: &[Unit]) -> Option<(Said, usize)> {
    if byte_at(rest, 0)? != b'=' {
        return None;
    }
    match (byte_at(rest, 1)?, byte_at(rest, 2)) {
        (b'\n', _) => Some((Said::Nothing, 2)),
        (b'\r', Some(b'\n')) => Some((Said::Nothing, 3)),
        _ => u8::try_from(hex_at(rest, 1, 2)?).ok().map(|byte| (Said::Byte(byte), 3)),
    }
}

/// The bytes in hex.
fn hex(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |at: u8| DIGITS.get(usize::from(at)).copied().unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The symbols of base64 that these bytes alone say, when `lead` bytes of a group stand before them.
fn base64_middle(bytes: &[u8], lead: usize) -> Vec<u8> {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let padded: Vec<u8> = std::iter::repeat_n(0, lead).chain(bytes.iter().copied()).collect();
    // Bits of the first symbols belong to what stands before, of the last one to what follows.
    let first = (lead * 8).div_ceil(6);
    let whole = padded.len() * 8 / 6;
    (first..whole)
        .map(|at| {
            let bit = at * 6;
            let byte =
                |offset: usize| u32::from(padded.get(bit / 8 + offset).copied().unwrap_or(0));
            let symbol = (((byte(0) << 8) | byte(1)) >> (10 - bit % 8)) & 63;
            SYMBOLS.get(symbol as usize).copied().unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Veil;
    use crate::json::Json;
    use crate::vault::{Kept, MemoryVault, Vault, VaultOwner};

    const OWNER: VaultOwner<'_> = VaultOwner { tenant: "t", session: "s" };

    fn kept(values: &[&str]) -> Vec<Kept> {
        let vault = MemoryVault::default();
        for value in values {
            vault.keep(OWNER, "X", value).unwrap();
        }
        vault.kept(OWNER).unwrap().to_vec()
    }

    #[track_caller]
    fn hides(value: &str, texts: &[&str]) {
        let kept = kept(&[value]);
        let veil = Veil::of(&kept);
        for text in texts {
            let veiled = veil.text(text).unwrap_or_else(|| panic!("`{value}` stays in `{text}`"));
            assert!(veiled.contains(&*kept[0].placeholder), "{veiled}");
        }
    }

    #[test]
    fn what_comes_back_holds_no_datum_in_any_encoding() {
        let texts = [
            "to jane+x@corp.io now",
            "to Jane+X@CORP.IO now",
            "oi.proc@x+enaj",
            "6a616e652b7840636f72702e696f",
            "6A 61 6E 65 2B 78 40 63 6F 72 70 2E 69 6F",
            "6a:61:6e:65:2b:78:40:63:6f:72:70:2e:69:6f",
            "mail=jane%2Bx%40corp.io&a=1",
            "mail=jane%2bx%40corp.io&a=1",
            "mail=%6Aane%2Bx@corp.io",
            "mail=jane%252Bx%2540corp.io",
            "amFuZSt4QGNvcnAuaW8=",
            "amFuZSt4\r\n QGNvcnAuaW8=",
            r"amFuZSt4\nQGNvcnAuaW8=",
            "eyJtIjoiamFuZSt4QGNvcnAuaW8ifQ==",
            "IGphbmUreEBjb3JwLmlv",
            "ICBqYW5lK3hAY29ycC5pbw",
            r"jane+x\u0040corp.io",
            r"jane\\u002bx\\u0040corp.io",
            r"jane\x2bx\x40corp.io",
            "jane+x&#64;corp.io",
            "jane&#x2B;x&commat;corp&#46;io",
            "jane+x@co\nrp.io",
            "jane+x=40corp.=\r\nio",
            "j\0a\0n\0e\0+\0x\0@\0c\0o\0r\0p\0.\0i\0o\0",
            "agBhAG4AZQArAHgAQABjAG8AcgBwAC4AaQBvAA==",
            "AGoAYQBuAGUAKwB4AEAAYwBvAHIAcAAuAGkAbw==",
        ];
        hides("jane+x@corp.io", &texts);
    }

    #[test]
    fn other_alphabets_and_characters_are_seen_too() {
        // Bytes that make `+` and `/` in base64.
        hides("~~~???>>>", &["fn5-Pz8_Pj4-", "fn5+Pz8/Pj4+"]);
        hides("王小明的电话", &[r"\u738b\u5c0f\u660e\u7684\u7535\u8bdd"]);
        hides("王小明的电话", &["%E7%8E%8B%E5%B0%8F%E6%98%8E%E7%9A%84%E7%94%B5%E8%AF%9D"]);
        hides("a\u{1f600}b@c", &[r"a\ud83d\ude00b@c", "a&#128512;b@c"]);
        hides("two words 1", &["q=two+words+1", "two words 1", "q=two%20words%201"]);
        hides("Tom & \"Ann\"", &["Tom &amp; &quot;Ann&quot;", r#"Tom & \"Ann\""#]);
        // What begins an escape by chance hides nothing.
        hides("4012345678", &["q=4012345678", "%254012345678", "a%4012345678b=4012345678"]);
    }

    #[test]
    fn what_only_looks_like_a_datum_stays() {
        let kept = kept(&["Will", "1234", "12345678"]);
        let veil = Veil::of(&kept);
        for text in ["it will be", "lliW", "12\n34", "12:34 and 5:6", "nothing of it", "", "100%"] {
            assert_eq!(veil.text(text), None, "{text}");
        }
        assert!(veil.text("Will was here").is_some());
    }

    #[test]
    fn a_datum_that_holds_another_goes_first_and_nothing_of_either_stays() {
        let kept = kept(&["corp.io", "jane@corp.io", "io and more"]);
        let veiled = Veil::of(&kept).text("to jane@corp.io and more, corp.io").unwrap();
        let placeholder = |at: usize| &*kept[at].placeholder;
        assert_eq!(veiled, format!("to {}, {}", placeholder(1), placeholder(0)));
    }

    #[test]
    fn keys_and_numbers_are_looked_at_and_json_stays_json() {
        let kept = kept(&["jane+x@corp.io", "13812345678"]);
        let text =
            br#"{"jane+x@corp.io": ["a", {"b": "jane+x@corp.io"}], "n": 1, "p": 13812345678}"#;
        let veiled = Veil::of(&kept).json(&Json::read(text).unwrap()).unwrap().text();
        assert!(!veiled.contains("corp.io") && !veiled.contains("138123"), "{veiled}");
        assert!(veiled.contains("\"n\":1") && Json::read(veiled.as_bytes()).is_ok(), "{veiled}");
    }

    #[test]
    fn many_data_cost_a_long_text_no_more_than_few() {
        let values: Vec<String> = (0..1_000).map(|n| format!("user{n}@example.org")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let kept = kept(&values);
        let veil = Veil::of(&kept);
        let text =
            format!("{} user999%40example.org", "a line of text, as it is;\n".repeat(20_000));
        let veiled = veil.text(&text).unwrap();
        assert!(veiled.ends_with(&*kept[999].placeholder));
    }
}
