//! What stands between programs and listens: the MCP relay.
//!
//! A server here is an adapter: it turns messages of a protocol into events of the gate and does what
//! the gate says. It has no rule of its own; where it must take a side (a message that cannot be read,
//! a peer that is gone) it refuses.

pub mod mcp;
