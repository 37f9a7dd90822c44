//! The language: policy text in, verdicts and problems out.

mod decides;
mod effects;
mod layers;
mod page;
mod problems;
mod replays;
mod rig;
mod schema;
mod snapshots;
