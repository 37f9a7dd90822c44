//! Every cap of the gate in one place, with its unit in its name.
//!
//! A gate that reads what strangers send must bound what it reads, keeps and prints. Over a cap is
//! closed: the reader refuses, the registrar refuses, the call is refused. Nothing is silently cut,
//! except text for people, which is cut with a count.

/// Largest JSON text that the strict reader takes, in bytes.
pub const JSON_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Deepest nesting of arrays and objects that the strict reader takes.
pub const JSON_DEPTH_MAX: usize = 128;
/// Longest number literal, in bytes. Numbers are kept as they were written.
pub const JSON_NUMBER_BYTES_MAX: usize = 4096;

/// Longest name (session, tool, user, tag, label, code ...) in bytes.
pub const NAME_BYTES_MAX: usize = 1024;
/// Names that are remembered to hold no secret; with more they are looked at anew.
pub const CLEAN_NAMES_MAX: usize = 256;
/// Most tags of one event.
pub const TAGS_MAX: usize = 64;
/// Most labels of one session.
pub const LABELS_MAX: usize = 256;
/// Longest reason that a vote carries, in bytes; a longer one is cut with a count.
pub const REASON_BYTES_MAX: usize = 4096;

/// Most hooks in one ruleset.
pub const HOOKS_MAX: usize = 100_000;
/// Most nested `all` / `any` / `not` of one matcher.
pub const MATCHER_DEPTH_MAX: usize = 32;
/// Most patterns of one matcher, over all its keys.
pub const MATCHER_PATTERNS_MAX: usize = 4096;
/// Longest glob, in bytes.
pub const GLOB_BYTES_MAX: usize = 4096;
/// Most alternatives that the braces of one glob may expand to.
pub const GLOB_ALTERNATIVES_MAX: usize = 256;

/// Default time a handler may take, in milliseconds.
pub const HANDLER_TIMEOUT_MS: u64 = 3_000;
/// Most claims that one event may reserve.
pub const CLAIMS_MAX: usize = 64;
/// Time after which a reservation that was never settled frees itself, in milliseconds.
pub const CLAIM_LEASE_MS: u64 = 10 * 60 * 1_000;
/// Most events that a rate window remembers; a larger rate is refused when it is built.
pub const RATE_EVENTS_MAX: u64 = 100_000;
/// Most keys (one per limited subject) that the in-memory state keeps for claims.
pub const CLAIM_KEYS_MAX: usize = 1_000_000;
/// Most sessions that the in-memory state keeps.
pub const SESSIONS_MAX: usize = 100_000;
/// Longest chain of parents that is followed from a session.
pub const SESSION_ANCESTORS_MAX: usize = 64;
/// Calls of a session that are remembered to see a loop.
pub const RECENT_CALLS_MAX: usize = 64;

/// Most calls without an outcome record that wait for a ledger that writes again.
pub const ABANDONED_CALLS_MAX: usize = 10_000;
/// Most records that the in-memory ledger keeps; it refuses above.
pub const MEMORY_LEDGER_RECORDS_MAX: usize = 1_000_000;

/// Longest piece of event text that is shown to a person on one line, in characters.
pub const SHOWN_CHARS_MAX: usize = 400;
