//! The laws of the crate `tollgate-effects`, one module each.

mod corpora;
mod policy;
