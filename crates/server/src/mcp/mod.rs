//! The relay between any client and any server of the Model Context Protocol.
//!
//! It governs every call and changes nothing else: a message is read strictly, shown to the gate, and
//! passed on byte for byte unless a hook changed a part of it, in which case only that part is written
//! anew. There is no typed round trip, because a relay that understands less than its peers would
//! drop what it does not know.
//!
//! It refuses what two readers could read differently (batches, duplicate keys, text that is not
//! UTF-8, NaN), what is too large or too deep, and an answer that nobody asked for.

pub mod definitions;
pub mod frame;
pub mod http;
pub mod limits;
pub mod lines;
pub mod splice;
pub mod standard;
pub mod stdio;

mod answer;
mod child;
mod lane;
mod pins;
mod pipe;
mod relay;

pub use child::{Command, Ended};
pub use definitions::Definitions;
pub use frame::{Frame, Id, Malformed, Shape};
pub use pins::{Pin, PinFile, Pinned, PinsError};
pub use relay::{Asking, Conversation, Fate, Outlet, Relay, RelayOptions};
