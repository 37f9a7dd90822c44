//! Models: what is said to them, how they answer, and the gateway that every model call passes.

mod client;
mod gateway;
mod message;
mod script;

pub use client::{Delta, ModelClient, ModelError, ModelStream};
pub use gateway::{ModelAnswer, ModelGateway};
pub use message::{Message, ModelRequest, Reply, RequestedCall, Role, ShapeError};
pub use script::{ScriptError, ScriptedClient};
