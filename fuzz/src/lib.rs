//! The fuzz targets of Tollgate; `cargo xtask fuzz` runs them. See `targets.rs`.

mod targets;

/// Runs the target of this name.
///
/// # Panics
/// When a law does not hold for these bytes, or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = targets::TARGETS.iter().find(|(known, _)| *known == name);
    target.expect("a target of the table").1(data);
}
