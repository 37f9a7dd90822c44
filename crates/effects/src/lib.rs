//! What a tool call or a shell command would do: paths, programs, hosts, and what of it is unknown.
//!
//! Rules speak of what a call *does*, not of what a tool is called. [`effects`] turns a canonical
//! [`Call`] into a set of [`Effect`]s, each with the piece of text it comes from; a policy matches
//! those. The crate is pure: no I/O but through [`FileSystem`], no clock, linear time, capped size and
//! depth ([`limits`]). What cannot be known is an effect with [`Target::Unknown`], never silence.
//!
//! Reading order: `effect`, `call`, `analyse`, `shell`, `program`. Refused: verdicts, and running
//! anything.

mod analyse;
mod call;
mod decode;
mod effect;
mod files;
mod glob;
mod guard;
pub mod limits;
mod mark;
mod net;
mod patch;
mod path;
mod program;
mod run;
mod shell;
mod things;
mod windows;

pub use analyse::{effects, shell_effects};
pub use call::{Call, ShellKind};
pub use effect::{Effect, Effects, Piece, Reason, Row, Target, Verb};
pub use files::{Entry, FileSystem, NoFiles};
pub use glob::PathGlob;
pub use guard::{Protected, Protects, Touch};
pub use path::{Cover, PathTarget, Within};
pub use program::table::{Programs, TableError};
pub use run::Context;
pub use things::things;
