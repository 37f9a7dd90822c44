//! Postal addresses: what follows a word for address, when it reads like one.
//!
//! Without the word nothing is found: free-standing addresses cannot be told from other text by rules
//! with a false-alarm rate that one may defend, and this says so rather than try.

use crate::ascii::{ByteSet, at, before, cut, find_folded, has_word, run_end};
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
    "rua",
    "travessa",
    "viale",
    "corso",
    "paseo",
    "quai",
    "impasse",
    "chaussee",
    "parkway",
    "pkwy",
    "crescent",
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
    "po box",
    "postfach ",
    "〒",
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
/// Signs of an administrative place in Chinese and Japanese. One of them says little (`华东1区`), two are an address.
const DISTRICTS: &[&str] = &["省", "市", "区", "县", "縣", "镇", "乡", "町", "都", "府", "郡"];
/// How far a sign may stand behind the word, with what tells one address from another between:
/// `Adresse de livraison :`, `address (home):`.
const QUALIFIER_BYTES_MAX: usize = 24;
/// Words behind which the address stands without a sign between.
const LEADS: &[&str] = &[":", " at", " to", " in", "住在", "家住"];
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
    let (start, sure) = value_start(bytes, from)?;
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
    let text = cut(rest, 0, len);
    (reads_like_one(text) && (sure || is_named(text)))
        .then(|| Hit::datum(start, start + len, Coded::PostalAddress.index(), 0.65))
}

/// Where the value of a word for address begins: behind a sign, a verb, or at once; and whether that is sure.
/// Behind other words, a hyphen or nothing it is not (`address space: 8 way associative`).
fn value_start(bytes: &[u8], from: usize) -> Option<(usize, bool)> {
    let head = cut(bytes, 0, from);
    let leads = LEADS.iter().any(|lead| head.ends_with(lead.as_bytes()));
    let mut start = run_end(bytes, from, ByteSet::of("\"'\\"));
    start = run_end(bytes, start, ByteSet::of(" \t"));
    let copula = COPULAS
        .iter()
        .find(|sign| cut(bytes, start, start + sign.len()).eq_ignore_ascii_case(sign.as_bytes()));
    let value = |start| run_end(bytes, start, ByteSet::of(" \t\\\"':"));
    let sign = match (at(bytes, start), copula) {
        (b':' | b'=', _) => 1,
        (_, Some(copula)) => copula.len(),
        _ if leads => 0,
        (b'-', _) if at(bytes, start + 1) == b' ' => return Some((value(start + 1), false)),
        (b'0'..=b'9', _) if start > from => return Some((start, false)),
        _ => return Some((value(behind_qualifier(bytes, start)?), false)),
    };
    Some((value(start + sign), true))
}

/// Behind the sign that ends words of a qualifier from `start` on.
fn behind_qualifier(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = cut(bytes, start, (start + QUALIFIER_BYTES_MAX).min(bytes.len()));
    let is_word = |byte: &u8| {
        byte.is_ascii_alphanumeric() || *byte >= 0x80 || matches!(byte, b' ' | b'_' | b'(' | b')')
    };
    let len = rest.iter().take_while(|byte| is_word(byte)).count();
    let wide = "：".as_bytes();
    if let Some(place) = memchr::memmem::find(cut(rest, 0, len), wide) {
        return Some(start + place + wide.len());
    }
    matches!(at(rest, len), b':' | b'=').then_some(start + len + 1)
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
    let street = || {
        STREETS.iter().any(|word| has_word(text, word.as_bytes()))
            || PARTS.iter().any(|part| find_folded(text, part.as_bytes()).is_some())
    };
    let districts = || {
        let stands = |part: &&&str| memchr::memmem::find(text, part.as_bytes()).is_some();
        DISTRICTS.iter().filter(stands).take(2).count() == 2
    };
    // A path, a reference or markup is an address of another kind.
    let other = matches!(at(text, 0), b'/' | b'~' | b'.' | b'{' | b'$' | b'<' | b'@' | b'&')
        || memchr::memmem::find(text, b"://").is_some();
    text.len() >= 8
        && !other
        && has_number(text)
        && (street() || districts() || has_post_code(text))
}

/// Whether a number stands by itself, as that of a house does: not `v2`, not `0x7f`.
fn has_number(text: &[u8]) -> bool {
    let begins = |place: usize| {
        let previous = before(text, place);
        at(text, place).is_ascii_digit() && !previous.is_ascii_alphanumeric() && previous != b'_'
    };
    (0..text.len()).any(begins)
}

/// Whether a text has names as places have: with capitals, or in another script.
fn is_named(text: &[u8]) -> bool {
    text.iter().any(|byte| *byte >= 0x80)
        || text.windows(2).any(|two| {
            two.first().is_some_and(u8::is_ascii_uppercase) && at(two, 1).is_ascii_lowercase()
        })
}

/// A house number, a comma, a post code and a place: `Am Markt 5, 20095 Hamburg`, whatever the street is called.
fn has_post_code(text: &[u8]) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b',');
    let (mut house, mut code, mut comma) = (false, false, false);
    let mut after_code = false;
    for word in text.split_inclusive(blank) {
        let word_end = word.iter().position(blank).unwrap_or(word.len());
        comma |= word.last() == Some(&b',');
        let word = cut(word, 0, word_end);
        if word.is_empty() {
            continue;
        }
        let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
        let joined = word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
        let named = word.first().is_some_and(|first| first.is_ascii_uppercase() || *first >= 0x80);
        if after_code && digits == 0 && named {
            code = true;
        }
        after_code = joined && comma && (4..=8).contains(&digits);
        house |= !after_code && word.len() <= 5 && at(word, 0).is_ascii_digit();
    }
    house && code && comma
}
