//! Personal data: which reader looks at which stretch.
//!
//! Every reader checks what can be checked (check digits, ranges, dates) before context has a say, and
//! none is tried where the text around shows that the number is part of something longer.

mod crypto;
mod dates;
mod ids;
mod letters;
mod mail;
mod network;
mod numbers;
pub(crate) mod phone;

pub(crate) use dates::birth_date;
pub(crate) use letters::{address_of_key, postal_address};
pub(crate) use mail::email;
pub(crate) use phone::{cn_mobile, nanp};

use crate::ascii::{ALNUM, ByteSet, at, before, cut, find_folded, run_end, run_start};
use crate::context;
use crate::hit::Hit;
use crate::rules::Coded;

/// Words in the name of a column or key that say whose data its values are: data that are found only where a
/// word speaks of them.
pub(crate) const PERSONAL: &[&str] = &[
    "phone",
    "mobile",
    "fax",
    "手机",
    "电话",
    "座机",
    "联系方式",
    "ssn",
    "social security",
    "birth",
    "dob",
    "出生",
    "生日",
    "nhs",
    "aadhaar",
    "steuer",
];
/// Longest value under such a name, in bytes.
const PERSONAL_BYTES_MAX: usize = 32;

/// Whether a column or key of this name holds personal data that its name must speak for.
pub(crate) fn is_personal_name(name: &str) -> bool {
    let words = PERSONAL.iter().filter(|word| word.len() <= name.len());
    words.into_iter().any(|word| find_folded(name.as_bytes(), word.as_bytes()).is_some())
}

/// Whether a value under such a name may be such a datum.
pub(crate) fn may_be_personal(value: &[u8]) -> bool {
    (6..=PERSONAL_BYTES_MAX).contains(&value.len())
        && value.iter().filter(|byte| byte.is_ascii_digit()).take(4).count() == 4
}

/// A datum before its context is weighed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Datum {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) coded: Coded,
    pub(crate) base: f32,
}

impl Datum {
    pub(crate) fn new(start: usize, end: usize, coded: Coded, base: f32) -> Self {
        Self { start, end, coded, base }
    }

    /// The hit, with the context of the unit weighed in.
    pub(crate) fn weigh(self, bytes: &[u8], key: &[u8]) -> Hit {
        let score = context::score(bytes, self.start, self.end, self.coded, self.base, key);
        Hit::datum(self.start, self.end, self.coded.index(), score)
    }
}

/// Reads a stretch with many digits. `bytes` ends with the unit; answers where to go on.
pub(crate) fn number(bytes: &[u8], place: usize) -> (Option<Datum>, usize) {
    let here = at(bytes, place);
    if here == b'+' && at(bytes, place + 1).is_ascii_digit() {
        let datum = phone::international(bytes, place);
        let next = datum.map_or(place + 1, |datum| datum.end);
        return (datum, next);
    }
    if here == b'(' {
        let datum = phone::bracketed(bytes, place);
        let next = datum.map_or(place + 1, |datum| datum.end);
        return (datum, next);
    }
    if !here.is_ascii_alphanumeric() {
        return (None, next_start(bytes, place + 1));
    }
    if here == b'0'
        && at(bytes, place + 1) == b'0'
        && let Some(datum) = phone::exit_code(bytes, place).filter(|_| begins(bytes, place))
    {
        return (Some(datum), datum.end);
    }
    let run = cut(bytes, place, bytes.len());
    let mut digits = 0;
    let len = run
        .iter()
        .take_while(|byte| {
            digits += usize::from(byte.is_ascii_digit());
            byte.is_ascii_alphanumeric()
        })
        .count();
    let end = place + len;
    if !promises(bytes, place, end, digits) || !begins(bytes, place) {
        return (None, end);
    }
    // `2026-11-30`: the commonest number in logs is a date, and no datum begins with one.
    if digits == 4 && len == 4 && is_date(cut(bytes, place, place + 10)) {
        return (None, place + 10);
    }
    let datum = if here.is_ascii_digit() {
        network::ipv4(bytes, place)
            .or_else(|| network::mac(bytes, place))
            .or_else(|| numbers::read(bytes, place))
            .or_else(|| ids::alphanumeric(bytes, place, end))
    } else {
        ids::alphanumeric(bytes, place, end)
            .or_else(|| ids::iban(bytes, place))
            .or_else(|| network::mac(bytes, place))
    };
    (datum, datum.map_or(end, |datum| datum.end.max(end)))
}

/// `dddd-dd-dd` with a month and a day.
fn is_date(text: &[u8]) -> bool {
    matches!(text, [_, _, _, _, b'-', b'0' | b'1', b'0'..=b'9', b'-', b'0'..=b'3', b'0'..=b'9'])
}

/// Whether a run of letters and digits can be or begin a datum: no reader takes what this turns away. Most words
/// and numbers end here, and with them most of the cost of a log.
fn promises(bytes: &[u8], place: usize, end: usize, digits: usize) -> bool {
    let (len, next) = (end - place, at(bytes, end));
    if digits == 0 {
        // `AB 12 34 56 C`, `ab-cd-...`, `ab:cd:...`
        let spaced = matches!(next, b' ' | b'-' | b'.') && at(bytes, end + 1).is_ascii_digit();
        return len == 2 && (spaced || pairs_go_on(bytes, end));
    }
    // Machine-readable lines of passports go on so, or are one run.
    if len == 2 && pairs_go_on(bytes, end) || next == b'<' || len >= MRZ_RUN_BYTES {
        return true;
    }
    if digits == len {
        return len >= ALONE_DIGITS_MIN || digits_go_on(bytes, end, len);
    }
    // `GB82 WEST`, `GB82WEST12..`
    let head = cut(bytes, place, place + 4);
    if let [a, b, c, d] = head
        && a.is_ascii_alphabetic()
        && b.is_ascii_alphabetic()
        && c.is_ascii_digit()
        && d.is_ascii_digit()
    {
        return true;
    }
    digits >= 4 && matches!(len, 9 | 10 | 16 | 18)
}

/// A run so long may be a machine-readable line, in bytes.
const MRZ_RUN_BYTES: usize = 40;
/// Fewest digits of a number without groups.
const ALONE_DIGITS_MIN: usize = 7;

/// Whether pairs of hex digits go on behind the one that ends at `end`: `12:34:` and a third, as in no time of day.
fn pairs_go_on(bytes: &[u8], end: usize) -> bool {
    let sign = at(bytes, end);
    matches!(sign, b':' | b'-') && at(bytes, end + 3) == sign && at(bytes, end + 6) == sign
}

/// Whether digits go on in another group behind the one of `len` that ends at `end`.
fn digits_go_on(bytes: &[u8], end: usize, len: usize) -> bool {
    let sign = |place: usize| matches!(at(bytes, place), b' ' | b'-' | b'.' | b'/');
    let digit = |place: usize| at(bytes, place).is_ascii_digit();
    // Cards may be written with two signs between; their groups are longer.
    sign(end) && (digit(end + 1) || len > 3 && sign(end + 1) && digit(end + 2))
}

/// The next place where a number may begin.
fn next_start(bytes: &[u8], from: usize) -> usize {
    let rest = cut(bytes, from, bytes.len());
    let starts = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'(');
    from + rest.iter().position(starts).unwrap_or(rest.len())
}

/// Reads a stretch with many colons.
pub(crate) fn colons(bytes: &[u8], place: usize) -> (Option<Datum>, usize) {
    let here = at(bytes, place);
    if !here.is_ascii_alphanumeric() && here != b':' {
        return (None, place + 1);
    }
    let run = run_end(bytes, place, ALNUM);
    let grouped = here == b':' || run - place <= 4 && at(bytes, run) == b':';
    if !grouped || !(here.is_ascii_hexdigit() || here == b':') || !begins(bytes, place) {
        return (None, run.max(place + 1));
    }
    let datum = network::mac(bytes, place).or_else(|| network::ipv6(bytes, place));
    let next = datum.map_or(run.max(place + 1), |datum| datum.end);
    (datum, next)
}

/// Reads an unbroken run for the addresses that are one.
pub(crate) fn run(bytes: &[u8], start: usize, end: usize) -> Option<Datum> {
    crypto::address(bytes, start, end)
}

/// Whether a number may begin here: not inside a word, a decimal, or a chain of groups.
fn begins(bytes: &[u8], place: usize) -> bool {
    let previous = before(bytes, place);
    let second = place.checked_sub(2).map_or(0, |i| at(bytes, i));
    match previous {
        b'_' => false,
        b'.' => !second.is_ascii_digit(),
        b'-' => !second.is_ascii_alphanumeric(),
        b':' => !goes_on(bytes, place, second),
        _ => crate::ascii::opens_token(bytes, place),
    }
}

/// Whether the group at `place`, behind a colon, belongs to a chain of them (a MAC, an IPv6 address, a time of
/// day): groups are short, and the one before begins no word.
fn goes_on(bytes: &[u8], place: usize, second: u8) -> bool {
    const GROUP_MAX: usize = 4;
    if !second.is_ascii_hexdigit() || !at(bytes, place).is_ascii_hexdigit() {
        return second == b':' && at(bytes, place).is_ascii_hexdigit();
    }
    let hex = ByteSet::EMPTY.with_range(b'0', b'9').with_range(b'a', b'f').with_range(b'A', b'F');
    let start = run_start(bytes, place - 1, hex, GROUP_MAX + 1);
    let short = place - 1 - start <= GROUP_MAX && run_end(bytes, place, hex) - place <= GROUP_MAX;
    short && !before(bytes, start).is_ascii_alphanumeric()
}

/// Whether a number may end here.
pub(crate) fn ends(bytes: &[u8], place: usize) -> bool {
    let next = at(bytes, place);
    let second = at(bytes, place + 1);
    match next {
        b'_' | b'@' => false,
        // `4111111111111111.0`: a number that went through a spreadsheet.
        b'.' if second == b'0' => {
            let zeros = run_end(bytes, place + 1, ByteSet::of("0"));
            !matches!(at(bytes, zeros), b'.' | b'-') && !at(bytes, zeros).is_ascii_alphanumeric()
        }
        b'.' | b',' => !second.is_ascii_digit() || next == b',',
        b'-' => !second.is_ascii_alphanumeric(),
        // `13340783196*x**35`
        b'*' => !second.is_ascii_alphanumeric() && second != b'*',
        _ => !next.is_ascii_alphanumeric(),
    }
}
