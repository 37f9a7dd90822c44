//! The wire formats of coding agents: what their hooks say and hear.
//!
//! One file a host: its JSON to an event, a decision to its JSON, and what it can and cannot do
//! ([`Facts`]). Everything here is pure; who reads standard input and answers is the binary. A host is
//! added by its file and one line in [`HOSTS`].
//!
//! Refused: rules. Whether a call may run is the gate's business; this crate only translates, and what a
//! host cannot express becomes the stricter thing that it can.

pub mod canned;
pub mod facts;
pub mod settings;
pub mod wrap;

mod answer;
mod call;
mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod heard;
mod host;
mod salvage;
mod shape;

pub use answer::{Answer, Wanted, wanted};
pub use facts::{Ability, Crash, EventFacts, EventUse, Evidence, Facts, TimeUnit};
pub use heard::{Heard, Unreadable, Who};
pub use host::{HOSTS, Host, host, speaker};
pub use salvage::salvaged;
