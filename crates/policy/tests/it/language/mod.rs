//! The language: policy text in, verdicts and problems out.

mod decides;
mod problems;
mod rig;
