//! Dates of birth: a date right behind a word that says so.

use crate::ascii::{at, cut, find_folded};
use crate::hit::Hit;
use crate::pii::ends;
use crate::rules::Coded;

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mär",
    "mai", "okt", "dez", "fév", "avr", "juin", "juil", "aoû", "déc", "ene", "abr", "ago", "dic",
];
/// How far behind the word a date may stand, in bytes.
const GAP_BYTES: usize = 24;

/// Whether eight digits are a day that a living person may have been born on.
pub(crate) fn is_day(digits: &[u8]) -> bool {
    let part = |from: usize, to: usize| {
        cut(digits, from, to).iter().fold(0u32, |sum, b| sum * 10 + u32::from(b.wrapping_sub(b'0')))
    };
    digits.len() == 8 && is_date(part(0, 4), part(4, 6), part(6, 8))
}

fn is_date(year: u32, month: u32, day: u32) -> bool {
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 29,
        _ => 0,
    };
    (1900..=2035).contains(&year) && (1..=days).contains(&day)
}

/// The date behind a birth word that ends at `from`.
pub(crate) fn birth_date(bytes: &[u8], from: usize) -> Option<Hit> {
    let window = cut(bytes, from, (from + GAP_BYTES).min(bytes.len()));
    let offset = window.iter().enumerate().position(|(place, byte)| {
        byte.is_ascii_digit()
            || month_at(bytes, from + place).is_some()
                && !at(bytes, (from + place).saturating_sub(1)).is_ascii_alphabetic()
    })?;
    if window.get(..offset)?.contains(&b'\n') {
        return None;
    }
    let start = from + offset;
    let end = date_end(bytes, start)?;
    Some(Hit::datum(start, end, Coded::BirthDate.index(), 0.8))
}

fn month_at(bytes: &[u8], place: usize) -> Option<usize> {
    let head = cut(bytes, place, place + 5);
    MONTHS.iter().find(|month| find_folded(head, month.as_bytes()) == Some(0))?;
    let letters = cut(bytes, place, place + 12)
        .iter()
        .take_while(|b| b.is_ascii_alphabetic() || **b >= 0x80)
        .count();
    (letters <= 10).then_some(place + letters)
}

fn digits_at(bytes: &[u8], place: usize, most: usize) -> (u32, usize) {
    let run = cut(bytes, place, place + most).iter().take_while(|b| b.is_ascii_digit());
    let (value, len) =
        run.fold((0, 0), |(value, len), b| (value * 10 + u32::from(b - b'0'), len + 1));
    (value, place + len)
}

/// Where the date that begins at `start` ends, in any of the usual orders.
fn date_end(bytes: &[u8], start: usize) -> Option<usize> {
    if let Some(after_month) = month_at(bytes, start) {
        let (day, after_day) = digits_at(bytes, skip(bytes, after_month, b". "), 2);
        let (year, end) = digits_at(bytes, skip(bytes, after_day, b"sthndr, "), 4);
        return (is_date(year, 1, day) && ends(bytes, end)).then_some(end);
    }
    let (first, after) = digits_at(bytes, start, 8);
    let len = after - start;
    if len == 8 {
        return (is_day(cut(bytes, start, after)) && ends(bytes, after)).then_some(after);
    }
    if let Some(after_month) =
        month_at(bytes, skip(bytes, after, b"sthndr. -/")).filter(|_| len <= 2)
    {
        let (year, end) = digits_at(bytes, skip(bytes, after_month, b"., -/"), 4);
        return (is_date(year, 1, first) && ends(bytes, end)).then_some(end);
    }
    let (second, after_second) = digits_at(bytes, joint(bytes, after)?, 2);
    let (third, end) = digits_at(bytes, joint(bytes, after_second)?, 4);
    let short = |year: u32| if year < 100 { 1900 + year } else { year };
    let sound = if len == 4 {
        is_date(first, second, third)
    } else {
        is_date(short(third), second, first) || is_date(short(third), first, second)
    };
    let end = if cut(bytes, end, end + 3) == "日".as_bytes() { end + 3 } else { end };
    (sound && !at(bytes, end).is_ascii_digit()).then_some(end)
}

fn skip(bytes: &[u8], mut place: usize, set: &[u8]) -> usize {
    let from = place;
    while place - from < 4 && set.contains(&at(bytes, place)) {
        place += 1;
    }
    place
}

/// Behind one separator of a date.
fn joint(bytes: &[u8], place: usize) -> Option<usize> {
    if matches!(at(bytes, place), b'-' | b'/' | b'.') {
        return Some(place + 1);
    }
    let sign = cut(bytes, place, place + 3);
    (sign == "年".as_bytes() || sign == "月".as_bytes()).then_some(place + 3)
}
