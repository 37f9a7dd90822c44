//! Tests of the hosts' wire formats, from outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test whose ground is missing has failed")]

mod facts;
mod golden;
