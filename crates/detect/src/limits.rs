//! Every cap of the detector, in one place, each with its unit. All of them bound work or memory;
//! none of them can be lifted by a text.

/// How far left of a datum its key or context may stand, in bytes.
pub const LOOKBACK_BYTES_MAX: usize = 256;

/// How much released text a stream keeps for context, in bytes: the look-back of a datum, the key's
/// own look-back, and slack for a word that the edge cuts.
pub const HISTORY_BYTES_MAX: usize = 1024;

/// Longest stretch of text in which a datum may lie, in bytes: what a stream may hold back. A key
/// file (PEM) may be longer, see [`PEM_BYTES_MAX`].
pub const UNIT_BYTES_MAX: usize = 16 * 1024;

/// Longest private key block, in bytes. What is still open then is masked up to there.
pub const PEM_BYTES_MAX: usize = 64 * 1024;

/// Longest assigned value, in bytes.
pub const VALUE_BYTES_MAX: usize = 2048;

/// Longest key name, in bytes.
pub const NAME_BYTES_MAX: usize = 80;

/// How many encodings (base64, hex, escapes) are opened one inside the other. An encoded run is no
/// longer than its unit, so the work is at most this many times the text.
pub const DECODE_DEPTH_MAX: usize = 3;

/// Deepest nesting of JSON that is read as JSON; deeper text is read as text.
pub const JSON_DEPTH_MAX: usize = 128;

/// Shortest unbroken run that is opened or read as an address, in bytes: long enough to cover a block
/// of the census wherever it stands.
pub const RUN_BYTES_MIN: usize = 31;

/// How many times JSON inside a JSON string is opened.
pub const JSON_IN_STRING_DEPTH_MAX: usize = 4;

/// Longest source of a custom pattern, in bytes.
pub const CUSTOM_PATTERN_BYTES_MAX: usize = 4096;

/// Largest compiled custom pattern, in bytes.
pub const CUSTOM_PROGRAM_BYTES_MAX: usize = 1024 * 1024;

/// How many custom rules a detector takes.
pub const CUSTOM_RULES_MAX: usize = 1000;

/// How many masks a session remembers for write-back.
pub const MASKS_REMEMBERED_MAX: usize = 10_000;

/// Longest line of a JSON-lines stream, in bytes. A longer one is withheld.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
