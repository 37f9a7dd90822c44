//! Tests against a simulated disk: what a power cut, a kill and an error do at every point.

mod crash;
mod disk;
mod errors;
mod removal;
mod session_file;
