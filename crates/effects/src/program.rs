//! Programs: what running one with these arguments does.
//!
//! `table` is the data, `arguments` reads an argument list by it, `invoke` turns roles into effects,
//! and the other modules hold the few programs whose meaning needs code. Refused: a program's facts
//! outside of the table.

pub(crate) mod arguments;
pub(crate) mod build;
pub(crate) mod code;
pub(crate) mod files;
pub(crate) mod find;
pub(crate) mod foreign;
pub(crate) mod git;
pub(crate) mod invoke;
mod made;
mod matching;
pub(crate) mod network;
pub(crate) mod roles;
pub(crate) mod source;
pub(crate) mod sql;
pub(crate) mod table;
pub(crate) mod tar;
mod tasks;
pub(crate) mod words;
pub(crate) mod wrap;
