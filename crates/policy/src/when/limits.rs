//! Every cap of a condition in one place, with its unit in its name.
//!
//! A condition is written by whoever writes policy and evaluated over what strangers send. So its
//! text, its tree, its lists and its steps are bounded; over a cap is an error, at load or at run
//! time, and never a slow gate.

/// Longest condition, in bytes.
pub const SOURCE_BYTES_MAX: usize = 4096;
/// Deepest tree of a condition, in nodes from the root to a leaf.
pub const DEPTH_MAX: usize = 32;
/// Most comprehensions (`exists`, `all`, `map` ...) within one another.
pub const COMPREHENSIONS_MAX: usize = 2;
/// Longest list that a comprehension runs over, or that a condition builds, in items.
pub const LIST_ITEMS_MAX: usize = 1_000;
/// Longest text that a condition builds, in bytes.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Most steps of one evaluation: one for each node, and one for each [`STEP_BYTES`] of text looked at.
pub const STEPS_MAX: u32 = 200_000;
/// Bytes of text that count as one step.
pub const STEP_BYTES: usize = 256;
/// Longest regular expression, in bytes.
pub const REGEX_BYTES_MAX: usize = 1024;
/// Largest compiled regular expression, in bytes.
pub const REGEX_COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// How many times as much a byte counts when a regular expression looks at it: so much slower than
/// searching an automaton can be, however hostile the text.
pub const REGEX_WEIGHT: usize = 16;
