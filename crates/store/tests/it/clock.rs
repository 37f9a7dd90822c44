//! The clock of the machine.

use crate::rig::wait;
use std::time::{Duration, Instant};
use tollgate_gate::Clock;
use tollgate_store::SystemClock;

#[test]
fn the_clock_never_goes_backwards_between_threads() {
    let clock = SystemClock::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut last = clock.now();
                for _ in 0..20_000 {
                    let now = clock.now();
                    assert!(now >= last);
                    last = now;
                }
            });
        }
    });
}

#[test]
fn sleep_ends_after_its_time_without_a_runtime() {
    let start = Instant::now();
    wait(SystemClock::new().sleep(Duration::from_millis(20)));
    assert!(start.elapsed() >= Duration::from_millis(20));
}
