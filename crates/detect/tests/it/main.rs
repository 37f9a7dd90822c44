//! What the detector promises, one module a promise.

mod contexts;
mod examples;
mod governance;
mod hiding;
mod json;
mod masks;
mod streams;
