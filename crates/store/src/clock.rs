//! The clock of the machine.
//!
//! One reading of the monotonic clock a call; the wall clock is asked only every few seconds, to
//! follow it where it is set or drifts. Set back, the clock here stands still until the wall clock
//! has caught up: it never goes backwards within a process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tollgate_gate::{Clock, Soon, Timestamp};

/// How often the wall clock is asked, in nanoseconds.
const ANCHOR_NS: u64 = 2_000_000_000;

/// The time of the machine, as the gate needs it.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    /// What is to be added to the time since `start`; the wall clock, when it was last asked.
    offset_ns: AtomicU64,
    /// Time since `start` from which on the wall clock is to be asked again.
    anchor_due_ns: AtomicU64,
    /// The latest moment that was ever given out.
    latest_ns: AtomicU64,
}

impl SystemClock {
    /// A clock that shows the time.
    pub fn new() -> SystemClock {
        SystemClock {
            start: Instant::now(),
            offset_ns: AtomicU64::new(wall_ns()),
            anchor_due_ns: AtomicU64::new(ANCHOR_NS),
            latest_ns: AtomicU64::new(0),
        }
    }

    /// The moment that the given readings make, never before one that was given out earlier.
    fn at(&self, elapsed_ns: u64, wall: impl FnOnce() -> u64) -> Timestamp {
        let due = self.anchor_due_ns.load(Ordering::Acquire);
        if elapsed_ns >= due {
            let next = elapsed_ns.saturating_add(ANCHOR_NS);
            let order = Ordering::AcqRel;
            // One caller asks; the others go on with what is known.
            if self.anchor_due_ns.compare_exchange(due, next, order, Ordering::Relaxed).is_ok() {
                self.offset_ns.store(wall().saturating_sub(elapsed_ns), Ordering::Release);
            }
        }
        let now = self.offset_ns.load(Ordering::Acquire).saturating_add(elapsed_ns);
        Timestamp::from_nanos(self.latest_ns.fetch_max(now, Ordering::AcqRel).max(now))
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.at(elapsed, wall_ns)
    }

    fn sleep(&self, time: Duration) -> Soon<'static, ()> {
        Soon::later(futures_timer::Delay::new(time))
    }
}

/// A wall clock before 1970 counts as 1970.
fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ANCHOR_NS, SystemClock, wall_ns};
    use std::sync::atomic::Ordering;

    fn clock_at(offset: u64) -> SystemClock {
        let clock = SystemClock::new();
        clock.offset_ns.store(offset, Ordering::Release);
        clock
    }

    #[test]
    fn a_clock_set_forward_is_followed_and_one_set_back_is_waited_for() {
        const YEAR: u64 = 31_536_000_000_000_000;
        let clock = clock_at(YEAR);
        assert_eq!(clock.at(5, || panic!("not due")).nanos(), YEAR + 5);
        let forward = clock.at(ANCHOR_NS, || 2 * YEAR).nanos();
        assert_eq!(forward, 2 * YEAR);
        let back = clock.at(2 * ANCHOR_NS, || YEAR).nanos();
        assert_eq!(back, forward);
        assert_eq!(clock.at(2 * ANCHOR_NS + 1, || panic!("not due")).nanos(), forward);
        let caught_up = clock.at(3 * ANCHOR_NS, || forward + 7).nanos();
        assert_eq!(caught_up, forward + 7);
    }

    #[test]
    fn the_clock_agrees_with_the_wall() {
        use tollgate_gate::Clock;
        let clock = SystemClock::new();
        let (before, now) = (wall_ns(), clock.now().nanos());
        assert!(now.abs_diff(before) < 1_000_000_000, "{now} {before}");
    }
}
