//! Every cap of this crate, with its unit.
//!
//! A cap that is hit never shortens the answer silently: it becomes an `unknown` effect, which a
//! policy may ask about or refuse. What is refused here: a limit without a name.

/// Longest command text that is analysed. A longer one is one `unknown`.
pub const COMMAND_BYTES_MAX: usize = 256 * 1024;
/// Deepest nesting of groups, substitutions and expansions in one text.
pub const NESTING_MAX: u32 = 48;
/// Deepest chain of programs that run programs, texts that run texts, scripts that run scripts.
pub const RUN_DEPTH_MAX: u32 = 24;
/// Most steps of one call, counting each repetition with another value: a plain command takes four.
pub const STEPS_MAX: u32 = 20_000;
/// Most bytes parsed for one call, counting nested texts, functions and scripts.
pub const PARSED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most bytes that words may expand to in one call.
pub const EXPANDED_BYTES_MAX: usize = 1024 * 1024;
/// Most effects kept; further ones are counted in one `unknown`.
pub const EFFECTS_MAX: usize = 4_096;
/// Most values that one variable may have at the same time.
pub const VALUES_MAX: usize = 32;
/// Most combinations of values that one command is analysed with.
pub const CHOICES_MAX: usize = 64;
/// Most words that a brace expansion may yield.
pub const BRACE_WORDS_MAX: usize = 256;
/// Most braces in one word.
pub const BRACES_MAX: usize = 32;
/// Most words of one command.
pub const WORDS_MAX: usize = 8_192;
/// Longest known text that flows from one command to the next.
pub const FLOW_BYTES_MAX: usize = 128 * 1024;
/// Longest path that is looked at.
pub const PATH_BYTES_MAX: usize = 4_096;
/// Most symbolic links followed in one path.
pub const LINKS_MAX: u32 = 40;
/// Most questions to the file system for one call.
pub const LOOKUPS_MAX: u32 = 4_096;
/// Longest script that is read.
pub const SCRIPT_BYTES_MAX: usize = 128 * 1024;
/// Most scripts read for one call.
pub const SCRIPTS_MAX: u32 = 32;
/// Most names of files that are listed for one pattern.
pub const LISTED_MAX: usize = 256;
/// Most scripts that one pattern stands for.
pub const SCRIPTS_MATCHED_MAX: usize = 16;
/// Longest name of the folder that a text goes to step by step; a longer one is not known.
pub const FOLDER_BYTES_MAX: usize = 1_024;
/// Most wildcards in that name; with more it is somewhere below what is known of it.
pub const FOLDER_MARKS_MAX: usize = 8;
/// Longest piece of text kept beside an effect; the rest is cut.
pub const PIECE_BYTES_MAX: usize = 240;
/// Longest patch that is read.
pub const PATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
