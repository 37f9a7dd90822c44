//! What the detector promises, one module a promise.

mod examples;
mod streams;
