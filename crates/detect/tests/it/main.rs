//! What the detector promises, one module a promise.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, its helpers as well"
)]

mod allocations;
mod contexts;
mod examples;
mod governance;
mod hiding;
mod hostile;
mod json;
mod marked;
mod masks;
mod patterns;
mod phones;
mod streams;
