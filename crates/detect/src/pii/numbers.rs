//! Numbers by their grouping: which check each grouping of digits calls for.

use crate::ascii::{ByteSet, DIGITS, at, before, cut, run_start};
use crate::digest::{luhn, verhoeff};
use crate::pii::{Datum, ends, ids, phone};
use crate::rules::Coded;

const GROUPS_MAX: usize = 8;
const DIGITS_MAX: usize = 24;
/// No number that is looked for goes on behind this many digits.
const DIGITS_ENOUGH: usize = 19;

/// Digits in groups, joined by single separators.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Groups {
    start: usize,
    count: usize,
    lens: [usize; GROUPS_MAX],
    ends: [usize; GROUPS_MAX],
    seps: [u8; GROUPS_MAX],
    digits: [u8; DIGITS_MAX],
}

impl Groups {
    /// Reads the groups from a digit on.
    pub(crate) fn read(bytes: &[u8], start: usize) -> Self {
        let mut groups = Self {
            start,
            count: 0,
            lens: [0; GROUPS_MAX],
            ends: [0; GROUPS_MAX],
            seps: [0; GROUPS_MAX],
            digits: [0; DIGITS_MAX],
        };
        let mut place = start;
        let mut total = 0;
        for ((len, end), sep) in groups.lens.iter_mut().zip(&mut groups.ends).zip(&mut groups.seps)
        {
            let from = place;
            while at(bytes, place).is_ascii_digit() {
                if let Some(digit) = groups.digits.get_mut(total) {
                    *digit = at(bytes, place);
                }
                total += 1;
                place += 1;
            }
            (*len, *end) = (place - from, place);
            groups.count += 1;
            let next = at(bytes, place);
            if total >= DIGITS_ENOUGH {
                break;
            }
            if !matches!(next, b' ' | b'-' | b'.' | b'/') || !at(bytes, place + 1).is_ascii_digit()
            {
                break;
            }
            *sep = next;
            place += 1;
        }
        groups
    }

    /// How many digits all groups have.
    fn total(&self) -> usize {
        self.lens.iter().sum()
    }

    /// Length of the first group.
    pub(crate) fn first(&self) -> usize {
        self.lens.first().copied().unwrap_or(0)
    }

    /// Where the first `n` groups end.
    pub(crate) fn end(&self, n: usize) -> usize {
        n.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(self.start)
    }

    /// The digits of the first `n` groups.
    pub(crate) fn digits(&self, n: usize) -> &[u8] {
        let total: usize = self.lens.iter().take(n).sum();
        self.digits.get(..total).unwrap_or(&[])
    }

    /// Whether the groups have these lengths and separators; a chain that goes on with the same
    /// separator (but a blank) is something longer.
    pub(crate) fn shape(&self, bytes: &[u8], lens: &[usize], seps: &[u8]) -> bool {
        let n = lens.len();
        if self.count < n || self.lens.get(..n) != Some(lens) || !ends_group(bytes, self.end(n)) {
            return false;
        }
        let used = self.seps.get(..n - 1).unwrap_or(&[]);
        let fits =
            if seps.len() == 1 { used.iter().all(|sep| seps.contains(sep)) } else { used == seps };
        let next = n.checked_sub(1).and_then(|i| self.seps.get(i)).copied().unwrap_or(0);
        let goes_on = next != 0 && next != b' ' && used.last() == Some(&next);
        fits && !goes_on
    }

    fn shape_any(&self, bytes: &[u8], lens: &[usize]) -> bool {
        [b" ", b"-", b"."].iter().any(|sign| self.shape(bytes, lens, *sign))
    }
}

/// A group may be followed by another number behind a blank or stop.
fn ends_group(bytes: &[u8], place: usize) -> bool {
    ends(bytes, place)
        || matches!(at(bytes, place), b'-') && !at(bytes, place + 1).is_ascii_alphanumeric()
}

/// A datum that is less sure than this needs a word to speak for it.
const DOUBTFUL: f32 = 0.5;

/// The datum that begins with the digit at `start`.
pub(crate) fn read(bytes: &[u8], start: usize) -> Option<Datum> {
    let groups = Groups::read(bytes, start);
    if groups.total() < 7 {
        // Groups that two signs part.
        return spaced_card(bytes, start);
    }
    let datum = |n: usize, coded, base| Some(Datum::new(start, groups.end(n), coded, base));
    let found = card(bytes, &groups)
        .or_else(|| grouped_id(bytes, &groups))
        .or_else(|| phone::grouped(bytes, &groups))
        .or_else(|| {
            if !ends(bytes, groups.end(1)) && !is_check_x(bytes, groups.end(1)) {
                return None;
            }
            let digits = groups.digits(1);
            match groups.first() {
                9 if ids::ssn(digits) => datum(1, Coded::IdUsSsn, 0.2),
                10 if ids::nhs(digits) => datum(1, Coded::IdUkNhs, 0.3),
                11 if ids::cpf(digits) => datum(1, Coded::IdBrCpf, 0.45),
                11 if phone::cn_mobile(digits) => datum(1, Coded::PhoneCn, 0.8),
                11 if ids::de_tax(digits) => datum(1, Coded::IdDeTax, 0.35),
                12 if ids::my_number(digits) => datum(1, Coded::IdJpMyNumber, 0.3),
                12 if digits.first() > Some(&b'1') && verhoeff(digits) => {
                    datum(1, Coded::IdInAadhaar, 0.3)
                }
                13 if phone::cn_mobile_with_code(digits) => datum(1, Coded::PhoneCn, 0.8),
                13 if ids::rrn(digits) > 0.8 => datum(1, Coded::IdKrRrn, 0.4),
                14 if ids::cnpj(digits) => datum(1, Coded::IdBrCnpj, 0.45),
                15 if ids::nir(digits) => {
                    let base = if follows_another(bytes, start, ids::nir) { 0.3 } else { 0.6 };
                    datum(1, Coded::IdFrNir, base)
                }
                17 => ids::resident_cn(bytes, start),
                18 => ids::resident_cn(bytes, start),
                _ => None,
            }
        });
    // A check digit that one number in eleven has is no reason against a word for telephone.
    match found {
        Some(datum) if datum.base >= DOUBTFUL => Some(datum),
        doubtful => phone::in_context(bytes, &groups).or(doubtful),
    }
    .or_else(|| spaced_card(bytes, start))
}

fn is_check_x(bytes: &[u8], place: usize) -> bool {
    matches!(at(bytes, place), b'X' | b'x') && ends(bytes, place + 1)
}

fn card(bytes: &[u8], groups: &Groups) -> Option<Datum> {
    const FORMS: [&[usize]; 5] =
        [&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 3], &[4, 4, 4, 4, 2]];
    let grouped = groups.first() == 4 && groups.count > 2;
    // The longest grouping first: nineteen digits are not sixteen and three.
    for form in FORMS.iter().rev() {
        if grouped && groups.shape_any(bytes, form) && is_card(groups.digits(form.len())) {
            return Some(Datum::new(groups.start, groups.end(form.len()), Coded::Card, 0.9));
        }
    }
    let bare = (13..=19).contains(&groups.first()) && ends(bytes, groups.end(1));
    if !bare || !is_card(groups.digits(1)) {
        return None;
    }
    let base = if follows_another(bytes, groups.start, is_card) { 0.3 } else { 0.65 };
    Some(Datum::new(groups.start, groups.end(1), Coded::Card, base))
}

/// Whether the number at `start` is the next of a table of numbers: each has its line, and the one before is as long
/// but no datum.
fn follows_another(bytes: &[u8], start: usize, is_datum: fn(&[u8]) -> bool) -> bool {
    const BETWEEN: ByteSet = ByteSet::of(" \t\r\n,");
    const BETWEEN_BYTES_MAX: usize = 64;
    const DIGITS_MAX: usize = 24;
    let end = run_start(bytes, start, BETWEEN, BETWEEN_BYTES_MAX);
    let from = run_start(bytes, end, DIGITS, DIGITS_MAX);
    let number = cut(bytes, from, end);
    let line = run_start(bytes, from, ByteSet::of(" \t"), BETWEEN_BYTES_MAX);
    let alone = matches!(before(bytes, line), 0 | b'\n' | b'[');
    alone && cut(bytes, end, start).contains(&b'\n') && number.len() >= 12 && !is_datum(number)
}

/// A card in groups of any length with up to two signs between, which only a word for cards makes one.
fn spaced_card(bytes: &[u8], start: usize) -> Option<Datum> {
    const CARD_DIGITS_MAX: usize = 19;
    let mut digits = [0u8; CARD_DIGITS_MAX];
    let mut count = 0;
    let (mut place, mut end) = (start, start);
    let mut best = None;
    loop {
        let byte = at(bytes, place);
        if byte.is_ascii_digit() {
            let Some(digit) = digits.get_mut(count) else { break };
            *digit = byte;
            count += 1;
            end = place + 1;
            if count >= 13 && ends(bytes, end) && is_card(cut(&digits, 0, count)) {
                best = Some(end);
            }
        } else if !matches!(byte, b' ' | b'-' | b'.' | b'/') || place - end > 1 {
            break;
        }
        place += 1;
    }
    best.map(|end| Datum::new(start, end, Coded::Card, 0.3))
}

/// Luhn, issuer range and length together: Luhn alone takes one number in ten.
fn is_card(digits: &[u8]) -> bool {
    let prefix = |n: usize| {
        digits.iter().take(n).fold(0u32, |sum, byte| sum * 10 + u32::from(byte.wrapping_sub(b'0')))
    };
    let (two, three, four) = (prefix(2), prefix(3), prefix(4));
    let len = digits.len();
    let issued = match (two, three, four) {
        (40..=49, _, _) => matches!(len, 13 | 16 | 19),
        (51..=55, _, _) | (_, _, 2221..=2720) => len == 16,
        (34 | 37, _, _) => len == 15,
        (_, _, 2200..=2204) => matches!(len, 16..=19),
        (_, _, 3528..=3589) => matches!(len, 16..=19),
        (36 | 38 | 39, _, _) | (_, 300..=305, _) => matches!(len, 14..=19),
        (62 | 65, _, _) | (_, 644..=649, _) | (_, _, 6011) => matches!(len, 16..=19),
        (_, _, 5018 | 5020 | 5038 | 6304 | 6759 | 6761..=6763) => matches!(len, 16..=19),
        _ => false,
    };
    issued && luhn(digits)
}

fn grouped_id(bytes: &[u8], groups: &Groups) -> Option<Datum> {
    if groups.count < 2 {
        return None;
    }
    let datum = |n: usize, coded, base| Some(Datum::new(groups.start, groups.end(n), coded, base));
    match groups.first() {
        1 => {
            let nir =
                groups.shape(bytes, &[1, 2, 2, 2, 3, 3, 2], b" ") && ids::nir(groups.digits(7));
            nir.then(|| Datum::new(groups.start, groups.end(7), Coded::IdFrNir, 0.9))
        }
        2 => {
            if groups.shape(bytes, &[2, 3, 3, 4, 2], b"../-") && ids::cnpj(groups.digits(5)) {
                return datum(5, Coded::IdBrCnpj, 0.9);
            }
            let de = groups.shape(bytes, &[2, 3, 3, 3], b" ") && ids::de_tax(groups.digits(4));
            de.then(|| Datum::new(groups.start, groups.end(4), Coded::IdDeTax, 0.45))
        }
        3 => grouped_by_three(bytes, groups),
        4 if groups.shape_any(bytes, &[4, 4, 4]) => {
            let digits = groups.digits(3);
            if digits.first() > Some(&b'1') && verhoeff(digits) {
                return datum(3, Coded::IdInAadhaar, 0.45);
            }
            ids::my_number(digits)
                .then(|| Datum::new(groups.start, groups.end(3), Coded::IdJpMyNumber, 0.4))
        }
        6 if groups.shape(bytes, &[6, 7], b"-") => {
            let score = ids::rrn(groups.digits(2));
            (score > 0.0).then(|| Datum::new(groups.start, groups.end(2), Coded::IdKrRrn, score))
        }
        _ => None,
    }
}

fn grouped_by_three(bytes: &[u8], groups: &Groups) -> Option<Datum> {
    let datum = |n: usize, coded, base| Some(Datum::new(groups.start, groups.end(n), coded, base));
    if groups.shape(bytes, &[3, 2, 4], b"-") && ids::ssn(groups.digits(3)) {
        return datum(3, Coded::IdUsSsn, 0.7);
    }
    if groups.shape(bytes, &[3, 2, 4], b" ") && ids::ssn(groups.digits(3)) {
        return datum(3, Coded::IdUsSsn, 0.3);
    }
    if groups.shape(bytes, &[3, 3, 3, 2], b"..-") && ids::cpf(groups.digits(4)) {
        return datum(4, Coded::IdBrCpf, 0.9);
    }
    let spaced = groups.shape(bytes, &[3, 3, 4], b" ");
    let dashed = groups.shape(bytes, &[3, 3, 4], b"-") && !phone::nanp(groups.digits(3));
    ((spaced || dashed) && ids::nhs(groups.digits(3)))
        .then(|| Datum::new(groups.start, groups.end(3), Coded::IdUkNhs, 0.35))
}
