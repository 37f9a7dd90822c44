//! Timestamps and durations of conditions, in nanoseconds of 64 bits, in UTC.
//!
//! Named time zones are not known here: their rules change, and a gate carries no table of them.

use super::tree::TimePart;
use tollgate_gate::Timestamp;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Reads RFC 3339; `None` for anything else and beyond the year 2262.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    i64::try_from(Timestamp::parse(text)?.nanos()).ok()
}

/// Writes RFC 3339, to the millisecond.
pub(super) fn timestamp_text(nanos: i64) -> Option<String> {
    Some(Timestamp::from_nanos(u64::try_from(nanos).ok()?).to_string())
}

/// Writes a duration in seconds: `5400s`.
pub(super) fn duration_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// Reads a duration as CEL writes it: `1h30m`, `-1.5s`, `250ms`; `None` for anything else.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(end);
        let unit_end = behind.find(|c: char| c.is_ascii_digit() || c == '.');
        let (unit, next) = behind.split_at(unit_end.unwrap_or(behind.len()));
        let nanos: i128 = match unit {
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" | "µs" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty())
            || fraction.len() > 18
            || fraction.contains('.')
        {
            return None;
        }
        let digits = |text: &str| if text.is_empty() { Some(0i128) } else { text.parse().ok() };
        let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        sum = sum.checked_add(digits(whole)?.checked_mul(nanos)?)?;
        sum = sum.checked_add(digits(fraction)?.checked_mul(nanos)? / scale)?;
        rest = next;
    }
    i64::try_from(sum * sign).ok()
}

/// What `getHours()` and the like read from a timestamp.
pub(super) fn part_of_timestamp(nanos: i64, part: TimePart) -> i64 {
    let seconds = nanos.div_euclid(NANOS_PER_SECOND);
    let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    match part {
        TimePart::Hours => second / 3600,
        TimePart::Minutes => second / 60 % 60,
        TimePart::Seconds => second % 60,
        TimePart::Milliseconds => nanos.rem_euclid(NANOS_PER_SECOND) / 1_000_000,
        // 1970-01-01 was a Thursday.
        TimePart::DayOfWeek => (days + 4).rem_euclid(7),
        TimePart::Year => date(days).0,
        TimePart::Month => date(days).1 - 1,
        TimePart::Date => date(days).2,
        TimePart::DayOfMonth => date(days).2 - 1,
        TimePart::DayOfYear => {
            let (year, month, day) = date(days);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            // Days before each month of a year that is no leap year.
            let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
            let index = usize::try_from(month - 1).unwrap_or(0);
            before.get(index).copied().unwrap_or(0) + day - 1 + i64::from(leap && month > 2)
        }
    }
}

/// What `getHours()` and the like read from a duration; `None` for parts of a date.
pub(super) fn part_of_duration(nanos: i64, part: TimePart) -> Option<i64> {
    match part {
        TimePart::Hours => Some(nanos / NANOS_PER_SECOND / 3600),
        TimePart::Minutes => Some(nanos / NANOS_PER_SECOND / 60),
        TimePart::Seconds => Some(nanos / NANOS_PER_SECOND),
        TimePart::Milliseconds => Some(nanos % NANOS_PER_SECOND / 1_000_000),
        TimePart::Year
        | TimePart::Month
        | TimePart::Date
        | TimePart::DayOfMonth
        | TimePart::DayOfYear
        | TimePart::DayOfWeek => None,
    }
}

/// Year, month and day of a number of days since 1970-01-01 (Howard Hinnant, "chrono-compatible
/// low-level date algorithms", `civil_from_days`).
const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

#[cfg(test)]
mod tests {
    use super::{duration, duration_text, part_of_timestamp, timestamp};
    use crate::when::tree::TimePart;

    #[test]
    fn durations_read_as_cel_writes_them() {
        assert_eq!(duration("1h30m"), Some(5_400_000_000_000));
        assert_eq!(duration("-1.5s"), Some(-1_500_000_000));
        assert_eq!(duration("250ms"), Some(250_000_000));
        assert_eq!(duration("0"), Some(0));
        for bad in ["", "5", "s", "1d", "1.2.3s", "-", "1h 2m", ".s", "99999999999h"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
        assert_eq!(duration_text(5_400_000_000_000), "5400s");
        assert_eq!(duration_text(-1_500_000_000), "-1.5s");
    }

    #[test]
    fn the_parts_of_a_timestamp_are_those_of_its_date_in_utc() {
        let at = timestamp("2028-02-29T23:59:58.250Z").unwrap();
        let part = |part| part_of_timestamp(at, part);
        assert_eq!(part(TimePart::Year), 2028);
        assert_eq!(part(TimePart::Month), 1);
        assert_eq!(part(TimePart::Date), 29);
        assert_eq!(part(TimePart::DayOfMonth), 28);
        assert_eq!(part(TimePart::DayOfYear), 59);
        assert_eq!(part(TimePart::DayOfWeek), 2);
        assert_eq!(part(TimePart::Hours), 23);
        assert_eq!(part(TimePart::Minutes), 59);
        assert_eq!(part(TimePart::Seconds), 58);
        assert_eq!(part(TimePart::Milliseconds), 250);
    }
}
