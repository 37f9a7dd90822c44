//! Every cap of the agent runtime in one place, with its unit in its name.
//!
//! What a model, a tool, a script or a test run can make grow is bounded here. Over a cap is closed:
//! an error that says so, never a quiet cut (the output of a test run is cut with a count).

/// Calls of one read-only batch that run at the same time; the others wait for a place.
pub const BATCH_CONCURRENT_CALLS_MAX: usize = 16;
/// Largest content that a tool may give back, in bytes of its texts and numbers.
pub const RESULT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest error text that is passed to the model, in bytes.
pub const ERROR_BYTES_MAX: usize = 4096;
/// Time that a decision under way is still waited for once its session has ended, in milliseconds. A
/// hook has long answered by then; a person who is asked may not have.
pub const DECISION_GRACE_MS: u64 = 1_000;
/// Most tools in one registry.
pub const TOOLS_MAX: usize = 1024;

/// Most tool calls in one reply of a model.
pub const REPLY_CALLS_MAX: usize = 128;
/// Largest reply of a model, text and arguments together, in bytes.
pub const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Turns that an agent takes when its settings do not say otherwise.
pub const TURNS_DEFAULT: u32 = 50;
/// Deepest nesting of agents that start agents.
pub const AGENT_DEPTH_MAX: u32 = 8;

/// Largest script file, in bytes.
pub const SCRIPT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most turns of a script.
pub const SCRIPT_TURNS_MAX: usize = 10_000;

/// Longest path within a workspace, in bytes.
pub const PATH_BYTES_MAX: usize = 4096;
/// Deepest path within a workspace, in components.
pub const PATH_DEPTH_MAX: usize = 64;
/// Largest file that is read, edited or written, in bytes.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Most entries that one listing looks at.
pub const LIST_SCAN_MAX: usize = 10_000;
/// Entries that a listing shows when the call does not say otherwise.
pub const LIST_ENTRIES_DEFAULT: u64 = 50;

/// Time that a test run may take when its configuration does not say otherwise, in milliseconds.
pub const TEST_TIMEOUT_MS: u64 = 60_000;
/// Output of a test run that is kept, of each stream, in bytes; more is counted and dropped.
pub const TEST_OUTPUT_BYTES_MAX: usize = 64 * 1024;
