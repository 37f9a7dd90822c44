//! The language: policy text in, verdicts and problems out.

mod decides;
mod effects;
mod layers;
mod page;
mod problems;
mod replays;
pub(crate) mod rig;
mod schema;
mod snapshots;
