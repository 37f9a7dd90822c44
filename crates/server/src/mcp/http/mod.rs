//! The relay over HTTP: a listener on this machine, and a server behind a URL.
//!
//! Both revisions of the protocol are told apart by each message and never converted: one with
//! sessions, a stream that the client opens, and streams that are taken up again; and one without any
//! of that, whose headers repeat what the message says. An answer is passed on as it comes, whole or
//! as events, and nothing of a stream is held but the event that is not complete.
//!
//! What stands in the way of strangers is looked at before anything is read: the connection is of this
//! machine, the name it was called by is this machine's, no web page of elsewhere sent it, and it
//! carries the client's token where there is one. Credentials of a client are never passed on.

pub mod sse;

mod address;
mod back;
mod body;
mod bridge;
mod guard;
mod hearing;
mod listen;
mod programs;
mod rules;
mod running;
mod secret;
mod upstream;
mod urls;

pub use address::{AddressError, listen_address};
pub use bridge::bridge;
pub use listen::{Behind, Listening, serve};
pub use secret::{CLIENT_TOKEN, Token, TokenError, UPSTREAM_TOKEN};
pub use upstream::{Upstream, UpstreamError};
