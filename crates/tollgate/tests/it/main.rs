//! The facade as a program uses it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose ground is missing has failed"
)]

mod asking;
mod channels;
mod masks;
#[cfg(feature = "ner")]
mod names;
