//! Shell text: from characters to a tree, and from the tree to effects.
//!
//! In the order of reading: `syntax` (the tree), `parse` and `word` (text to tree), `scope` (what is
//! known at a point), `expand` (words to fields), `walk` (the tree), `simple` and `builtins`. Refused:
//! running anything.

pub(crate) mod builtins;
pub(crate) mod compound;
pub(crate) mod environment;
pub(crate) mod expand;
pub(crate) mod loading;
pub(crate) mod parse;
pub(crate) mod scope;
pub(crate) mod simple;
pub(crate) mod syntax;
pub(crate) mod text;
pub(crate) mod walk;
pub(crate) mod word;
