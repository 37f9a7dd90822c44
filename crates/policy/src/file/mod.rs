//! A policy file as written: text to a tree with spans, checked against the shapes of the language,
//! and read into the raw form.
//!
//! Raw is what was typed; nothing outside this folder and `compile` sees it. Reading never stops at
//! the first problem.

mod node;
mod raw;
mod read;
pub(crate) mod shape;
mod shapes;
mod traps;
mod yaml;

pub(crate) use node::{Entry, Node, Value};
pub(crate) use raw::{RawAction, RawAlert, RawHook, RawInclude, RawPolicy, Spanned};
pub(crate) use read::read_policy;
pub(crate) use shapes::{ACTION_DOC, HOOK, MATCH, POLICY};
pub(crate) use yaml::read as read_tree;
