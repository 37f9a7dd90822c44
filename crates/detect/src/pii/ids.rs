//! Identity numbers of states, each with its published check.

use crate::ascii::{ALNUM, at, cut, run_end};
use crate::pii::{Datum, dates, ends};
use crate::rules::Coded;

fn value(byte: u8) -> u32 {
    u32::from(byte.wrapping_sub(b'0'))
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |sum, byte| sum * 10 + u64::from(value(*byte)))
}

fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(byte, weight)| value(*byte) * weight).sum()
}

fn last(digits: &[u8]) -> u32 {
    digits.last().map_or(0, |byte| value(*byte))
}

/// Chinese resident id (GB 11643): region, date of birth, ISO 7064 MOD 11-2.
pub(crate) fn resident_cn(bytes: &[u8], start: usize) -> Option<Datum> {
    let end = start + 18;
    let id = cut(bytes, start, end);
    let (body, check) = id.split_at_checked(17)?;
    if !body.iter().all(u8::is_ascii_digit) || !ends(bytes, end) {
        return None;
    }
    let province = number(body.get(..2)?);
    let known = matches!(province, 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83 | 91);
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let rest = weighted(body, &weights) % 11;
    let expected = b"10X98765432".get(rest as usize).copied()?;
    let holds = check.first().is_some_and(|byte| byte.to_ascii_uppercase() == expected);
    (known && holds && dates::is_day(body.get(6..14)?))
        .then(|| Datum::new(start, end, Coded::IdCn, 0.95))
}

/// US social security number: areas, groups and serials that are never issued.
pub(crate) fn ssn(digits: &[u8]) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).map_or(0, number);
    let (area, group, serial) = (part(0, 3), part(3, 5), part(5, 9));
    let advertised =
        matches!((area, group, serial), (78, 5, 1120) | (219, 9, 9999) | (123, 45, 6789));
    digits.len() == 9
        && !matches!(area, 0 | 666 | 900..)
        && group != 0
        && serial != 0
        && !advertised
}

/// UK NHS number: modulus 11.
pub(crate) fn nhs(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]);
    let check = (11 - sum % 11) % 11;
    digits.len() == 10
        && check < 10
        && check == last(digits)
        && digits.iter().any(|b| Some(b) != digits.first())
}

/// French NIR: sex, year, month, and 97 minus the remainder by 97.
pub(crate) fn nir(digits: &[u8]) -> bool {
    let Some((body, key)) = digits.split_at_checked(13) else { return false };
    let month = body.get(3..5).map_or(0, number);
    let sex = body.first().copied().unwrap_or(0);
    digits.len() == 15
        && matches!(sex, b'1' | b'2' | b'3' | b'4' | b'7' | b'8')
        && matches!(month, 1..=12 | 20..=42 | 50..=99)
        && 97 - number(body) % 97 == number(key)
}

/// German tax id: ISO 7064 MOD 11,10, and one digit that occurs twice or thrice.
pub(crate) fn de_tax(digits: &[u8]) -> bool {
    let Some((body, _)) = digits.split_at_checked(10) else { return false };
    let mut product = 10;
    for byte in body {
        let sum = (value(*byte) + product) % 10;
        product = (if sum == 0 { 10 } else { sum }) * 2 % 11;
    }
    let check = (11 - product) % 10;
    let mut counts = [0u8; 10];
    for byte in body {
        if let Some(count) = counts.get_mut(value(*byte) as usize) {
            *count += 1;
        }
    }
    let repeated = counts.iter().filter(|count| **count > 1).count();
    let most = counts.iter().max().copied().unwrap_or(0);
    digits.len() == 11
        && digits.first() != Some(&b'0')
        && repeated == 1
        && most <= 3
        && check == last(digits)
}

/// Brazilian CPF: two check digits modulo 11.
pub(crate) fn cpf(digits: &[u8]) -> bool {
    let check = |n: usize| {
        let weights: Vec<u32> = (2..=n as u32 + 1).rev().collect();
        let rest = weighted(digits.get(..n).unwrap_or(&[]), &weights) * 10 % 11;
        digits.get(n).is_some_and(|byte| value(*byte) == rest % 10)
    };
    let same = digits.iter().all(|byte| Some(byte) == digits.first());
    digits.len() == 11 && !same && check(9) && check(10)
}

/// Brazilian CNPJ: two check digits modulo 11.
pub(crate) fn cnpj(digits: &[u8]) -> bool {
    let weights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    let check = |n: usize| {
        let used = weights.get(weights.len() - n..).unwrap_or(&[]);
        let rest = weighted(digits.get(..n).unwrap_or(&[]), used) % 11;
        let expected = if rest < 2 { 0 } else { 11 - rest };
        digits.get(n).is_some_and(|byte| value(*byte) == expected)
    };
    let same = digits.iter().all(|byte| Some(byte) == digits.first());
    digits.len() == 14 && !same && check(12) && check(13)
}

/// Japanese My Number: modulus 11.
pub(crate) fn my_number(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let rest = sum % 11;
    let check = if rest <= 1 { 0 } else { 11 - rest };
    digits.len() == 12 && check == last(digits)
}

/// Korean resident registration number: surer with the check digit, which numbers issued since October
/// 2020 no longer have; zero when it is none.
pub(crate) fn rrn(digits: &[u8]) -> f32 {
    let part = |from: usize, to: usize| digits.get(from..to).map_or(0, number);
    let (month, day, sex) = (part(2, 4), part(4, 6), part(6, 7));
    if digits.len() != 13
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || !(1..=8).contains(&sex)
    {
        return 0.0;
    }
    let sum = weighted(digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    if (11 - sum % 11) % 10 == last(digits) { 0.9 } else { 0.5 }
}

/// Identity numbers made of letters and digits, as one run `start..end`.
pub(crate) fn alphanumeric(bytes: &[u8], start: usize, end: usize) -> Option<Datum> {
    let id = cut(bytes, start, end);
    let datum = |coded, base| Some(Datum::new(start, end, coded, base));
    let shape = |pattern: &[u8]| {
        id.len() == pattern.len()
            && id.iter().zip(pattern).all(|(byte, class)| match class {
                b'9' => byte.is_ascii_digit(),
                _ => byte.is_ascii_uppercase(),
            })
    };
    if !ends(bytes, end) {
        return spaced(bytes, start, end);
    }
    match id.len() {
        9 if shape(b"AA999999A") && nino(id) => datum(Coded::IdUkNino, 0.7),
        9 if shape(b"99999999A") && dni(id) => datum(Coded::IdEsDni, 0.55),
        9 if shape(b"A9999999A") && nie(id) => datum(Coded::IdEsDni, 0.7),
        9 if shape(b"A9999999A") && nric(id) => datum(Coded::IdSgNric, 0.75),
        10 if shape(b"AAAAA9999A")
            && id.get(3).is_some_and(|holder| b"ABCFGHLJPT".contains(holder)) =>
        {
            datum(Coded::IdInPan, 0.55)
        }
        16 if codice_fiscale(id) => datum(Coded::IdItCodiceFiscale, 0.95),
        18 => resident_cn(bytes, start),
        _ => spaced(bytes, start, end),
    }
}

/// Identity numbers that are more than one run.
fn spaced(bytes: &[u8], start: usize, end: usize) -> Option<Datum> {
    if end - start == 2 {
        return spaced_nino(bytes, start);
    }
    if at(bytes, end) == b'<' || end - start >= 40 { mrz(bytes, start) } else { None }
}

/// UK national insurance number: prefixes that are not used.
fn nino(id: &[u8]) -> bool {
    let (first, second) = (at(id, 0), at(id, 1));
    let prefix = cut(id, 0, 2);
    let unused: [&[u8]; 7] = [b"BG", b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ"];
    !b"DFIQUV".contains(&first)
        && !b"DFIQUVO".contains(&second)
        && !unused.contains(&prefix)
        && matches!(id.last(), Some(b'A'..=b'D'))
}

fn spaced_nino(bytes: &[u8], start: usize) -> Option<Datum> {
    let end = start + 13;
    let letters = cut(bytes, start, start + 2).iter().all(u8::is_ascii_uppercase);
    if !letters || at(bytes, start + 2) != b' ' || at(bytes, start + 5) != b' ' {
        return None;
    }
    let text = cut(bytes, start, end);
    let blanks = [2usize, 5, 8, 11].iter().all(|place| text.get(*place) == Some(&b' '));
    let id: Vec<u8> = text.iter().copied().filter(|byte| *byte != b' ').collect();
    let digits = id.get(2..8)?.iter().all(u8::is_ascii_digit);
    (text.len() == 13 && blanks && digits && nino(&id) && ends(bytes, end))
        .then(|| Datum::new(start, end, Coded::IdUkNino, 0.85))
}

const DNI_LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";

fn dni(id: &[u8]) -> bool {
    let rest = id.get(..8).map_or(0, number) % 23;
    DNI_LETTERS.get(rest as usize) == id.last()
}

fn nie(id: &[u8]) -> bool {
    let lead = match at(id, 0) {
        b'X' => 0,
        b'Y' => 1,
        b'Z' => 2,
        _ => return false,
    };
    let rest = (lead * 10_000_000 + id.get(1..8).map_or(0, number)) % 23;
    DNI_LETTERS.get(rest as usize) == id.last()
}

/// Singapore NRIC and FIN: weights, and a letter by series.
fn nric(id: &[u8]) -> bool {
    let sum = weighted(id.get(1..8).unwrap_or(&[]), &[2, 7, 6, 5, 4, 3, 2]);
    let (letters, offset): (&[u8; 11], u32) = match at(id, 0) {
        b'S' => (b"JZIHGFEDCBA", 0),
        b'T' => (b"JZIHGFEDCBA", 4),
        b'F' => (b"XWUTRQPNMLK", 0),
        b'G' => (b"XWUTRQPNMLK", 4),
        b'M' => (b"XWUTRQPNJLK", 3),
        _ => return false,
    };
    let rest = (sum + offset) % 11;
    letters.get(rest as usize) == id.last()
}

/// Italian codice fiscale: form and control character.
fn codice_fiscale(id: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let letters = [0usize, 1, 2, 3, 4, 5, 8, 11, 15];
    let formed = id.iter().enumerate().all(|(place, byte)| {
        if letters.contains(&place) { byte.is_ascii_uppercase() } else { byte.is_ascii_digit() }
    });
    if !formed || !b"ABCDEHLMPRST".contains(&at(id, 8)) {
        return false;
    }
    let sum: u32 = id
        .iter()
        .take(15)
        .enumerate()
        .map(|(place, byte)| {
            let index = if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' };
            if place % 2 == 0 {
                ODD.get(usize::from(index)).copied().unwrap_or(0)
            } else {
                u32::from(index)
            }
        })
        .sum();
    id.last().is_some_and(|byte| u32::from(byte.wrapping_sub(b'A')) == sum % 26)
}

/// The longest that ISO 13616 allows, in characters.
const IBAN_LEN_MAX: usize = 34;

/// ISO 13616: country, length, and remainder one by 97; grouped at will.
pub(crate) fn iban(bytes: &[u8], start: usize) -> Option<Datum> {
    let mut compact = [0u8; IBAN_LEN_MAX];
    let mut count = 0;
    let mut place = start;
    let mut len = 4;
    while count < len {
        let byte = at(bytes, place).to_ascii_uppercase();
        if byte.is_ascii_alphanumeric() {
            *compact.get_mut(count)? = byte;
            count += 1;
        } else if !matches!(byte, b' ' | b'-' | b'.')
            || count < 2
            || !at(bytes, place + 1).is_ascii_alphanumeric()
        {
            return None;
        }
        place += 1;
        if count == 4 {
            let [a, b, c, d] = compact.get(..4)? else { return None };
            let fits = a.is_ascii_alphabetic() && b.is_ascii_alphabetic();
            (fits && c.is_ascii_digit() && d.is_ascii_digit()).then_some(())?;
            len = iban_len(compact.get(..2)?)?;
        }
    }
    let compact = compact.get(..len)?;
    let moved = compact.iter().skip(4).chain(compact.iter().take(4));
    let rest = moved.fold(0u32, |rest, byte| {
        if byte.is_ascii_digit() {
            (rest * 10 + value(*byte)) % 97
        } else {
            (rest * 100 + u32::from(byte - b'A') + 10) % 97
        }
    });
    // Words in lower case are made of the same letters: there most of it must be digits.
    let digits = compact.iter().filter(|byte| byte.is_ascii_digit()).count();
    let lower = at(bytes, start).is_ascii_lowercase();
    (rest == 1 && ends(bytes, place) && (!lower || digits * 2 > len))
        .then(|| Datum::new(start, place, Coded::Iban, 0.95))
}

fn iban_len(country: &[u8]) -> Option<usize> {
    let len = match country {
        b"NO" => 15,
        b"BE" => 16,
        b"DK" | b"FI" | b"FO" | b"GL" | b"NL" | b"SD" => 18,
        b"MK" | b"SI" => 19,
        b"AT" | b"BA" | b"EE" | b"KZ" | b"LT" | b"LU" | b"XK" => 20,
        b"CH" | b"HR" | b"LI" | b"LV" => 21,
        b"BG" | b"BH" | b"CR" | b"DE" | b"GB" | b"GE" | b"IE" | b"ME" | b"RS" | b"VA" => 22,
        b"AE" | b"GI" | b"IL" | b"IQ" | b"OM" | b"SO" | b"TL" => 23,
        b"AD" | b"CZ" | b"ES" | b"MD" | b"PK" | b"RO" | b"SA" | b"SE" | b"SK" | b"TN" | b"VG" => 24,
        b"LY" | b"PT" | b"ST" => 25,
        b"IS" | b"TR" => 26,
        b"FR" | b"GR" | b"IT" | b"MC" | b"MR" | b"SM" | b"BI" | b"DJ" => 27,
        b"AL" | b"AZ" | b"BY" | b"CY" | b"DO" | b"GT" | b"HU" | b"LB" | b"NI" | b"PL" | b"SV" => 28,
        b"BR" | b"EG" | b"PS" | b"QA" | b"UA" => 29,
        b"JO" | b"KW" | b"MU" => 30,
        b"MT" | b"SC" => 31,
        b"LC" => 32,
        b"RU" => 33,
        _ => return None,
    };
    Some(len)
}

/// Second line of a passport (ICAO Doc 9303, TD3): three check digits and the composite one.
fn mrz(bytes: &[u8], start: usize) -> Option<Datum> {
    let line = cut(bytes, start, start + 44);
    if line.len() != 44
        || !line.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'<')
    {
        return None;
    }
    let check = |ranges: &[(usize, usize)], at_place: usize| {
        let digits = ranges.iter().flat_map(|(from, to)| cut(line, *from, *to));
        let sum: u32 = digits
            .zip([7u32, 3, 1].iter().cycle())
            .map(|(byte, weight)| {
                let value = match byte {
                    b'0'..=b'9' => u32::from(byte - b'0'),
                    b'A'..=b'Z' => u32::from(byte - b'A') + 10,
                    _ => 0,
                };
                value * weight
            })
            .sum();
        let given = at(line, at_place);
        u32::from(given.wrapping_sub(b'0')) == sum % 10 || given == b'<' && sum == 0
    };
    let holds = check(&[(0, 9)], 9)
        && check(&[(13, 19)], 19)
        && check(&[(21, 27)], 27)
        && check(&[(0, 10), (13, 20), (21, 43)], 43);
    let over = run_end(bytes, start + 44, ALNUM) > start + 44;
    (holds && !over).then(|| Datum::new(start, start + 44, Coded::PassportMrz, 0.95))
}
