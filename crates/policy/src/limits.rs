//! Every cap of the policy language in one place, with its unit in its name.
//!
//! A policy file can come from a stranger's repository. Over a cap is an error that names the cap;
//! nothing is silently cut, except excerpts for people.

/// Largest policy file, in bytes.
pub const POLICY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most nodes (keys and values) of one policy file.
pub const NODES_MAX: usize = 500_000;
/// Deepest nesting of lists and mappings in a policy file.
pub const DEPTH_MAX: usize = 48;
/// Most errors of the YAML grammar that are reported for one file before reading stops.
pub const GRAMMAR_ERRORS_MAX: usize = 20;
/// Most problems that are kept for one load.
pub const DIAGNOSTICS_MAX: usize = 1_000;
/// Longest piece of a line that an excerpt shows, in characters.
pub const EXCERPT_CHARS_MAX: usize = 120;

/// Most files that one policy may include, itself not counted.
pub const INCLUDES_MAX: usize = 64;
/// Deepest chain of includes.
pub const INCLUDE_DEPTH_MAX: usize = 8;
/// Most variables that one policy may declare.
pub const ENV_MAX: usize = 64;
/// Longest value of a declared environment variable, in bytes.
pub const ENV_VALUE_BYTES_MAX: usize = 64 * 1024;
/// Most exceptions of one policy.
pub const EXCEPTIONS_MAX: usize = 1_000;

/// Largest snapshot, in bytes.
pub const SNAPSHOT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Largest trust store, in bytes.
pub const TRUST_BYTES_MAX: usize = 1024 * 1024;
/// Most calls whose effects are remembered between the hooks of one decision.
pub const EFFECTS_KEPT_MAX: usize = 8;
/// Longest line that a redactor of lines is given whole while a command runs, in bytes; a longer one is
/// given in pieces.
pub const STREAM_LINE_BYTES_MAX: usize = 64 * 1024;
/// Most examples that a backtest keeps for each hook and kind of change.
pub const EXAMPLES_MAX: usize = 3;
/// Most places of a payload that an example of a backtest names.
pub const EXAMPLE_CHANGES_MAX: usize = 5;
/// Alerts of one policy.
pub const ALERTS_MAX: usize = 32;
