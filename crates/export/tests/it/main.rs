//! The laws of exports and alerts, one module a subject.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]
#![expect(clippy::indexing_slicing, reason = "a test ends where something is not as it must be")]
#![expect(clippy::unreachable, reason = "a test ends where something is not as it must be")]

mod alerts;
mod formats;
mod rig;
mod runs;
mod servers;
mod sinks;
