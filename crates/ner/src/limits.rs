//! Every cap of this crate, in one place, each with its unit.

/// Largest file of a model that is read, in bytes.
pub const MODEL_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// Largest file beside the model (vocabulary, labels), in bytes.
pub const SIDE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How many tokens of a text a tagger looks at together, its marks at start and end not counted. Longer texts
/// are looked at in windows: small models know long contexts less well, and the cost of a window grows faster
/// than its length.
pub const WINDOW_TOKENS: usize = 126;

/// How many tokens two neighbouring windows share.
pub const OVERLAP_TOKENS: usize = 32;

/// How many characters LAC looks at together; it reads a text as one chain.
pub const CHAIN_CHARS_MAX: usize = 512;

/// Least probability of a token's tag; below, the token is no part of a name.
pub const TOKEN_SCORE_MIN: f32 = 0.5;
