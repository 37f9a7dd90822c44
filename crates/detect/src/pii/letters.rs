//! Postal addresses: what follows a word for address, when it reads like one.
//!
//! Without the word nothing is found: free-standing addresses cannot be told from other text by rules
//! with a false-alarm rate that one may defend, and this says so rather than try.

use crate::ascii::{ByteSet, at, cut, find_folded, has_word, run_end};
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
    "straße",
    "strasse",
    "str.",
    "gasse",
    "allee",
    "platz",
    "weg ",
    "damm ",
    "ufer ",
    "straat",
    "gatan",
    "vägen",
    "ulica",
    "ul. ",
    "ул.",
    "улица",
    "проспект",
    "p.o. box",
    "路",
    "街",
    "巷",
    "弄",
    "号",
    "室",
    "栋",
    "村",
    "丁目",
    "番地",
    "동",
    "로 ",
    "길 ",
];
/// Words behind which the address stands without a sign between.
const LEADS: &[&str] = &[" at", " to", " in", "住在", "家住"];
const COPULAS: &[&str] = &["：", "是", "为", "is ", "ist ", "est ", "es ", "é ", "è "];

/// Names of keys whose value is an address when it reads like one.
const KEYS: &[&str] = &[
    "address",
    "addr",
    "street",
    "streetaddress",
    "addressline",
    "address1",
    "address2",
    "line1",
    "homeaddress",
    "shippingaddress",
    "billingaddress",
    "deliveryaddress",
    "mailingaddress",
    "adresse",
    "anschrift",
    "direccion",
    "endereco",
    "indirizzo",
    "adres",
    "地址",
    "住址",
    "收货地址",
    "住所",
    "주소",
];

/// The address behind a word that ends at `from`.
pub(crate) fn postal_address(bytes: &[u8], from: usize) -> Option<Hit> {
    let start = value_start(bytes, from)?;
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
    // A sentence that goes on is none of it: `..., Springfield. He said`.
    let ends_a_sentence = |place: &usize| {
        let word = *place > 4 && cut(rest, place - 3, *place).iter().all(u8::is_ascii_lowercase);
        word && !at(rest, place + 2).is_ascii_digit()
    };
    len = memchr::memmem::find_iter(cut(rest, 0, len), b". ").find(ends_a_sentence).unwrap_or(len);
    while len > 0
        && (rest.get(len).is_some_and(|byte| (byte & 0xC0) == 0x80)
            || matches!(at(rest, len - 1), b' ' | b'.' | b','))
    {
        len -= 1;
    }
    reads_like_one(cut(rest, 0, len))
        .then(|| Hit::datum(start, start + len, Coded::PostalAddress.index(), 0.65))
}

/// Where the value of a word for address begins: behind a sign, a verb, or at once.
fn value_start(bytes: &[u8], from: usize) -> Option<usize> {
    let head = cut(bytes, 0, from);
    let leads = LEADS.iter().any(|lead| head.ends_with(lead.as_bytes()));
    let mut start = run_end(bytes, from, ByteSet::of("\"'\\"));
    start = run_end(bytes, start, ByteSet::of(" \t"));
    let copula = COPULAS
        .iter()
        .find(|sign| cut(bytes, start, start + sign.len()).eq_ignore_ascii_case(sign.as_bytes()));
    let sign = match (at(bytes, start), copula) {
        (b':' | b'=', _) => 1,
        (_, Some(copula)) => copula.len(),
        _ if leads => 0,
        _ => return None,
    };
    Some(run_end(bytes, start + sign, ByteSet::of(" \t\\\"':")))
}

/// Whether the value of a key is an address, by the key's name and by how it reads.
pub(crate) fn address_of_key(key: &str, value: &[u8]) -> bool {
    let plain = |char: &char| !matches!(char, '_' | '-' | ' ');
    let named = |name: &&str| {
        let key = key.chars().filter(plain).flat_map(char::to_lowercase);
        key.filter(|char| !char.is_ascii_digit() || name.ends_with(*char)).eq(name.chars())
    };
    // Most values of most keys end here.
    let words = value.iter().any(|byte| *byte == b' ' || *byte >= 0x80);
    (8..=ADDRESS_BYTES_MAX).contains(&value.len())
        && words
        && value.iter().any(u8::is_ascii_digit)
        && KEYS.iter().any(named)
        && reads_like_one(value)
}

fn reads_like_one(text: &[u8]) -> bool {
    let digit = text.iter().any(|byte| byte.is_ascii_digit());
    let street = || {
        STREETS.iter().any(|word| has_word(text, word.as_bytes()))
            || PARTS.iter().any(|part| find_folded(text, part.as_bytes()).is_some())
    };
    text.len() >= 8 && digit && memchr::memmem::find(text, b"://").is_none() && street()
}
