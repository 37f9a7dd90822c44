//! The fuzz targets of Tollgate; `cargo xtask fuzz` runs them. See `targets.rs` and `relay.rs`.
//!
//! Every input's time is measured, too: what takes too long for its length has failed. The test in CI
//! does the same with its own bounds, which are tighter.

use std::time::{Duration, Instant};

mod relay;
mod targets;

/// What any input may take under the sanitizer, with tables that are built once.
const PATIENCE: Duration = Duration::from_millis(1000);
/// What each byte of an input may add.
const PATIENCE_PER_BYTE: Duration = Duration::from_micros(100);

/// Runs the target of this name.
///
/// # Panics
/// When a law does not hold for these bytes, when they take too long, or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let mut all = targets::TARGETS.iter().chain(relay::TARGETS);
    let target = all.find(|(known, _)| *known == name);
    let target = target.expect("a target of the table").1;
    let start = Instant::now();
    target(data);
    let (took, len) = (start.elapsed(), data.len());
    let most = PATIENCE + PATIENCE_PER_BYTE * u32::try_from(len).unwrap_or(u32::MAX);
    assert!(took < most, "{name}: {len} bytes took {took:?}, and at most {most:?} is fine");
}
