//! The relay as its peers see it: what each side is given of what the other one says.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose ground is missing has failed"
)]

mod asking;
mod calls;
mod corpus;
mod fuzz;
mod life;
mod lists;
mod over_http;
mod over_programs;
mod passing;
mod rig;
mod served_inputs;
mod texts;
mod web;
