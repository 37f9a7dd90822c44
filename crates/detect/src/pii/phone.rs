//! Telephone numbers: Chinese mobiles always, E.164 numbers by country code and length, national forms
//! by grouping or context.
//!
//! The numbering plan is a short table of our own from ITU-T E.164 and the national plans' lengths. The
//! `phonenumber` crate knows more, but takes 70 ms to load its metadata at the first number, which a
//! hook process cannot pay; what it would add is refusing unassigned ranges within a country.

use crate::ascii::{DIGITS, at, before, cut, has_any_word, run_end};
use crate::pii::numbers::Groups;
use crate::pii::{Datum, ends};
use crate::rules::Coded;

/// A Chinese mobile: the prefixes that operators hold.
pub(crate) fn cn_mobile(digits: &[u8]) -> bool {
    let prefix =
        digits.iter().take(3).fold(0u32, |sum, b| sum * 10 + u32::from(b.wrapping_sub(b'0')));
    let held = matches!(prefix, 130..=139 | 144..=149 | 150..=153 | 155..=159 | 162 | 165..=167 | 170..=178 | 180..=193 | 195..=199);
    // Two to the power of 34 stands in more programs than anyone's telephone book.
    digits.len() == 11 && held && !matches!(digits, b"17179869183" | b"17179869184")
}

/// The same with 86 before it and nothing between.
pub(crate) fn cn_mobile_with_code(digits: &[u8]) -> bool {
    digits.starts_with(b"86") && cn_mobile(digits.get(2..).unwrap_or(&[]))
}

/// A North American number: area and exchange begin with two to nine, and are no service code.
pub(crate) fn nanp(digits: &[u8]) -> bool {
    let lead = |place: usize| matches!(at(digits, place), b'2'..=b'9');
    let service = |place: usize| cut(digits, place, place + 2) == b"11";
    digits.len() == 10 && lead(0) && lead(3) && !service(1) && !service(4)
}

/// `+` and up to fifteen digits, grouped at will.
pub(crate) fn international(bytes: &[u8], start: usize) -> Option<Datum> {
    let previous = before(bytes, start);
    if previous.is_ascii_alphanumeric() || matches!(previous, b'+' | b'_' | b'/') {
        return None;
    }
    let (digits, end) = with_code(bytes, start + 1);
    let national = national_len(&digits)?;
    if let Some(rest) = digits.strip_prefix(b"86")
        && cn_mobile(rest)
    {
        return ends(bytes, end).then(|| Datum::new(start, end, Coded::PhoneCn, 0.9));
    }
    (national && digits.len() <= 15 && ends(bytes, end))
        .then(|| Datum::new(start, end, Coded::PhoneInternational, 0.85))
}

/// `00` and a country code: what is dialled instead of the `+`. But for Chinese mobiles it takes a word for
/// telephone, for zeros stand before many numbers.
pub(crate) fn exit_code(bytes: &[u8], start: usize) -> Option<Datum> {
    let lead = start + 2 + usize::from(matches!(at(bytes, start + 2), b' ' | b'-'));
    if !matches!(at(bytes, lead), b'1'..=b'9') {
        return None;
    }
    let (digits, end) = with_code(bytes, lead);
    if digits.strip_prefix(b"86").is_some_and(cn_mobile) {
        return ends(bytes, end).then(|| Datum::new(start, end, Coded::PhoneCn, 0.85));
    }
    (digits.len() <= 15 && national_len(&digits)? && ends(bytes, end))
        .then(|| Datum::new(start, end, Coded::PhoneNational, 0.35))
}

/// The digits of a number that begins with its country code, and where it ends.
fn with_code(bytes: &[u8], start: usize) -> (Vec<u8>, usize) {
    let mut digits = Vec::with_capacity(16);
    let mut place = start;
    let mut end = place;
    while digits.len() < 16 {
        let byte = at(bytes, place);
        if byte.is_ascii_digit() {
            digits.push(byte);
            end = place + 1;
        } else if cut(bytes, place, place + 3) == b"(0)" {
            place += 2;
        } else if !matches!(byte, b' ' | b'-' | b'.' | b'(' | b')') || place - end > 1 {
            break;
        }
        place += 1;
    }
    (digits, end)
}

/// Whether the digits behind a known country code have a length of that country.
fn national_len(digits: &[u8]) -> Option<bool> {
    let code = |n: usize| {
        digits.get(..n).map(|head| head.iter().fold(0u32, |sum, b| sum * 10 + u32::from(b - b'0')))
    };
    let (one, two, three) = (code(1)?, code(2)?, code(3)?);
    let (len, low, high) = match (one, two, three) {
        (1, _, _) => return Some(nanp(digits.get(1..)?)),
        (7, _, _) => (1, 10, 10),
        (_, 20 | 27 | 30..=34 | 36 | 39..=41 | 43..=49, _) => (2, 6, 13),
        (_, 51..=58 | 60..=66, _) => (2, 7, 11),
        (_, 81 | 82 | 84, _) => (2, 8, 11),
        (_, 86, _) => (2, 9, 11),
        (_, 95, _) => (2, 7, 11),
        (_, 90..=94 | 98, _) => (2, 8, 12),
        // Islands with few telephones, and satellites.
        (_, _, 290 | 683 | 690) => (3, 4, 7),
        (_, _, 870 | 878 | 881..=883) => (3, 7, 12),
        (
            _,
            _,
            211..=299
            | 350..=389
            | 420..=423
            | 500..=509
            | 590..=599
            | 670..=692
            | 850..=856
            | 880
            | 886,
        ) => (3, 5, 12),
        (_, _, 960..=968 | 970..=977 | 992..=998) => (3, 7, 11),
        _ => return None,
    };
    Some((low..=high).contains(&(digits.len() - len)))
}

/// `(415) 555-2671`, `(010)62345678`, `(138)1234-5678`; other area codes behind a word for telephone.
pub(crate) fn bracketed(bytes: &[u8], start: usize) -> Option<Datum> {
    let close = run_end(bytes, start + 1, DIGITS);
    let area = cut(bytes, start + 1, close);
    if at(bytes, close) != b')' || !(2..=5).contains(&area.len()) {
        return None;
    }
    let from = close + 1 + usize::from(matches!(at(bytes, close + 1), b' ' | b'-'));
    let rest = Groups::read(bytes, from);
    let one_sign =
        |lens: &[usize]| [b"-", b" ", b"."].iter().any(|sign| rest.shape(bytes, lens, *sign));
    let whole = |n: usize| [area, rest.digits(n)].concat();
    let datum = |n: usize, coded, base| Some(Datum::new(start, rest.end(n), coded, base));
    if one_sign(&[3, 4]) && nanp(&whole(2)) {
        return datum(2, Coded::PhoneNational, 0.8);
    }
    for (n, lens) in [(1, [8].as_slice()), (2, &[4, 4])] {
        if area.len() == 3 && one_sign(lens) && cn_mobile(&whole(n)) {
            return datum(n, Coded::PhoneCn, 0.85);
        }
    }
    let landline = area.starts_with(b"0") && matches!(area.len(), 3 | 4);
    if landline && (one_sign(&[8]) || one_sign(&[7]) || one_sign(&[4, 4])) {
        let n = if one_sign(&[4, 4]) { 2 } else { 1 };
        return datum(n, Coded::PhoneNational, 0.55);
    }
    let n = (1..=4).rev().find(|n| {
        rest.end(*n) > rest.end(n - 1)
            && (7..=13).contains(&whole(*n).len())
            && ends(bytes, rest.end(*n))
    })?;
    is_spoken_of(bytes, start).then(|| Datum::new(start, rest.end(n), Coded::PhoneNational, 0.35))
}

/// Numbers whose grouping alone says what they are.
pub(crate) fn grouped(bytes: &[u8], groups: &Groups) -> Option<Datum> {
    if groups.end(2) == groups.end(1) || groups.end(2) == groups.end(0) {
        return None;
    }
    let start = groups.end(0);
    let datum = |n: usize, coded, base| Some(Datum::new(start, groups.end(n), coded, base));
    let any =
        |lens: &[usize]| [b"-", b" ", b"."].iter().any(|sign| groups.shape(bytes, lens, *sign));
    let landline = |lens: &[usize]| {
        groups.shape(bytes, lens, b"-")
            && groups.digits(1).first() == Some(&b'0')
            && groups.digits(2).get(3) >= Some(&b'1')
    };
    match groups.first() {
        1 if groups.shape(bytes, &[1, 3, 3, 4], b"-") && nanp(groups.digits(4).get(1..)?) => {
            datum(4, Coded::PhoneNational, 0.65)
        }
        2 if any(&[2, 3, 4, 4]) && cn_mobile_with_code(groups.digits(4)) => {
            datum(4, Coded::PhoneCn, 0.9)
        }
        2 if any(&[2, 11]) && cn_mobile_with_code(groups.digits(2)) => {
            datum(2, Coded::PhoneCn, 0.9)
        }
        3 if any(&[3, 4, 4]) && cn_mobile(groups.digits(3)) => datum(3, Coded::PhoneCn, 0.9),
        3 if (groups.shape(bytes, &[3, 3, 4], b"-") || groups.shape(bytes, &[3, 3, 4], b"."))
            && nanp(groups.digits(3)) =>
        {
            datum(3, Coded::PhoneNational, 0.65)
        }
        3 if landline(&[3, 8]) => datum(2, Coded::PhoneNational, 0.55),
        4 if landline(&[4, 7]) || landline(&[4, 8]) => datum(2, Coded::PhoneNational, 0.55),
        _ => None,
    }
}

/// Words for telephone. The ones that context knows ([`crate::context`]) raise the score as well.
pub(crate) const CUES: &[&str] = &[
    "phone",
    "mobile",
    "tel",
    "telephone",
    "cell",
    "fax",
    "whatsapp",
    "电话",
    "手机",
    "座机",
    "telefon",
    "telefone",
    "telefono",
    "teléfono",
    "telefoon",
    "telemóvel",
    "telf",
    "téléphone",
    "tél",
    "portable",
    "rufnummer",
    "handy",
    "mobil",
    "móvil",
    "celular",
    "cellulare",
    "cellphone",
    "msisdn",
    "wechat",
    "тел",
    "телефон",
    "電話",
    "携帯",
    "手提",
    "联系方式",
    "聯絡",
    "전화",
    "휴대폰",
    "연락처",
];

/// Seven to thirteen digits right behind a word for telephone.
pub(crate) fn in_context(bytes: &[u8], groups: &Groups) -> Option<Datum> {
    let start = groups.end(0);
    // As many groups as still make a number of a possible length.
    let n = (1..=5).rev().find(|n| {
        let digits = groups.digits(*n).len();
        (7..=13).contains(&digits)
            && groups.end(*n) > groups.end(n - 1)
            && ends(bytes, groups.end(*n))
    })?;
    let digits = groups.digits(n);
    let varied = digits.iter().any(|byte| Some(byte) != digits.first());
    (varied && is_spoken_of(bytes, start))
        .then(|| Datum::new(start, groups.end(n), Coded::PhoneNational, 0.35))
}

/// Whether a word for telephone stands right before.
fn is_spoken_of(bytes: &[u8], start: usize) -> bool {
    let left = cut(bytes, start.saturating_sub(24), start);
    let left = memchr::memrchr(b'\n', left).map_or(left, |line| cut(left, line + 1, left.len()));
    has_any_word(left, CUES)
}
