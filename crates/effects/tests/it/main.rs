//! The laws of the crate `tollgate-effects`, one module each.

mod bash;
mod brush;
mod calls;
mod corpora;
mod elsewhere;
mod files;
mod laws;
mod linear;
mod place;
mod wrappers;
