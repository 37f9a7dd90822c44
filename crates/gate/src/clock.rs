//! Time: the gate's one trait for it, the timestamp, and a clock that tests set by hand.
//!
//! The gate never asks the machine what time it is; a [`Clock`] tells it. So a decision can be
//! replayed and a limit can be tested without waiting.

use crate::soon::Soon;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Nanoseconds since 1970-01-01 00:00:00 UTC. Reaches to the year 2554.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From nanoseconds since the Unix epoch.
    pub const fn from_nanos(nanos: u64) -> Timestamp {
        Timestamp(nanos)
    }

    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: u64) -> Timestamp {
        Timestamp(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Milliseconds since the Unix epoch.
    pub const fn millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The time from `earlier` to this; zero if `earlier` is later.
    pub const fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This moment and `ms` milliseconds.
    pub const fn plus_millis(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_add(ms.saturating_mul(1_000_000)))
    }

    /// Reads a date (`2027-01-15`, its first moment in UTC) or a date-time with offset of RFC 3339
    /// (`2027-01-15T08:30:00Z`, `...T08:30:00.5+01:00`); `None` for anything else.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let (date, time) = match text.split_once(['T', 't', ' ']) {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let day_nanos = days_from_date(date)?.checked_mul(86_400)?.checked_mul(1_000_000_000)?;
        let time_nanos = time.map_or(Some(0), nanos_of_time)?;
        u64::try_from(day_nanos.checked_add(time_nanos)?).ok().map(Timestamp)
    }
}

/// RFC 3339 in UTC with milliseconds: `2027-01-15T08:30:00.000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000_000;
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date_from_days(days);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            second / 3600,
            second / 60 % 60,
            second % 60,
            self.0 / 1_000_000 % 1000
        )
    }
}

/// Days since 1970-01-01 of the proleptic Gregorian calendar (the algorithm of Howard Hinnant,
/// "chrono-compatible low-level date algorithms", `days_from_civil`).
fn days_from_date(date: &str) -> Option<i64> {
    let mut parts = date.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=month_days).contains(&day) {
        return None;
    }
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The inverse: `civil_from_days` of the same source.
fn date_from_days(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * m + 2) / 5 + 1;
    let month = if m < 10 { m + 3 } else { m - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Nanoseconds since midnight UTC of `08:30:00[.fraction](Z|+hh:mm|-hh:mm)`.
fn nanos_of_time(time: &str) -> Option<i64> {
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone_at);
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let (sign, zone) = match zone.strip_prefix('-') {
                Some(zone) => (-1, zone),
                None => (1, zone.strip_prefix('+')?),
            };
            let (hours, minutes) = zone.split_once(':')?;
            let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            sign * (hours * 60 + minutes)
        }
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.splitn(3, ':');
    let hour = digits(parts.next()?, 2)?;
    let minute = digits(parts.next()?, 2)?;
    let second = digits(parts.next()?, 2)?;
    let fraction_fits = (1..=9).contains(&fraction.len());
    if hour > 23 || minute > 59 || second > 60 || !fraction_fits {
        return None;
    }
    let nanos = digits(&format!("{fraction:0<9}"), 9)?;
    Some(((hour * 60 + minute - offset) * 60 + second) * 1_000_000_000 + nanos)
}

fn digits(text: &str, len: usize) -> Option<i64> {
    (text.len() == len && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// What tells the gate the time.
///
/// `now` must never go backwards within a process: limits and durations rest on it. `sleep` gives a
/// future that ends after the given time; it must not need an async runtime of its own to make.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// A future that ends after `time`.
    fn sleep(&self, time: Duration) -> Soon<'static, ()>;
}

/// A clock that stands still until it is told to move; for tests and replays.
///
/// Its `sleep` ends at once and moves the clock, so that timeouts can be tested without waiting.
#[derive(Debug)]
pub struct ManualClock {
    nanos: std::sync::Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> ManualClock {
        ManualClock { nanos: std::sync::Arc::new(AtomicU64::new(start.nanos())) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::AcqRel);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.nanos.load(Ordering::Acquire))
    }

    fn sleep(&self, time: Duration) -> Soon<'static, ()> {
        let nanos = std::sync::Arc::clone(&self.nanos);
        let until = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let end = nanos.load(Ordering::Acquire).saturating_add(until);
        let mut polls = 0u32;
        // Gives the other side of a race one turn before time passes.
        Soon::later(std::future::poll_fn(move |cx| {
            polls += 1;
            if polls > 1 {
                nanos.fetch_max(end, Ordering::AcqRel);
                return std::task::Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn timestamps_are_written_and_read_as_rfc_3339() {
        for text in
            ["1970-01-01T00:00:00.000Z", "2026-11-30T17:41:08.123Z", "2000-02-29T23:59:59.999Z"]
        {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        let zoned = Timestamp::parse("2027-01-15T01:30:00+01:30").unwrap();
        assert_eq!(zoned, Timestamp::parse("2027-01-15").unwrap());
        assert_eq!(Timestamp::parse("2100-03-01").unwrap().millis(), 4_107_542_400_000);
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2027",
            "2027-1-5",
            "2027-13-01",
            "2027-02-29",
            "2027-01-15T",
            "1969-12-31",
            "2027-01-15T25:00:00Z",
            "2027-01-15T08:30:00",
            "tomorrow",
            "2027-01-15T08:30:00+0100",
            "2027-01-15T08:30:00Z01:00",
            "2027-01-15T08:30:00+99:00",
            "2027-01-15T08:30:00.Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
