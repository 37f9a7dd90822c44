//! The model client: what a provider must be able to do.
//!
//! An answer is a sequence of deltas, because that is how providers answer; a client that has the
//! whole reply at once gives it in one. Deltas are not shown to anybody before the reply is whole and
//! judged: `post_model` hooks see a reply, not pieces of one.
//!
//! How long an answer may take is the client's to bound: it knows its provider.

use crate::model::ModelRequest;
use tollgate_gate::{Code, Soon, Usage};

/// Reaches a model.
pub trait ModelClient: Send + Sync {
    /// Who serves the model.
    fn provider(&self) -> &str;

    /// Asks. The request is the one that was judged.
    ///
    /// # Errors
    /// [`ModelError`] when no answer begins.
    fn start(&self, request: ModelRequest) -> Soon<'_, Result<Box<dyn ModelStream>, ModelError>>;
}

/// An answer under way. Dropping it ends the call.
pub trait ModelStream: Send {
    /// The next piece; `None` when the answer is whole.
    ///
    /// # Errors
    /// [`ModelError`] when the answer breaks off. What came before counts as nothing, except for
    /// what it used.
    fn next(&mut self) -> Soon<'_, Option<Result<Delta, ModelError>>>;
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of the tool call at this place of the reply. Pieces of one call are joined.
    Call {
        /// Which call of the reply.
        index: usize,
        /// Its id, once. A client whose provider gives none makes one.
        id: Option<String>,
        /// The tool, once.
        tool: Option<String>,
        /// More of the JSON text of its arguments.
        arguments: String,
    },
    /// What the call has used so far, in all; the last one holds.
    Usage(Usage),
}

/// A model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It could not be reached.
    #[error("the model cannot be reached: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("the model did not answer in {0} ms")]
    TimedOut(u64),
    /// There were too many calls.
    #[error("the model's provider takes no more calls for now")]
    RateLimited {
        /// When it will, as far as it said so, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The provider does not know us.
    #[error("the model's provider refuses the credentials")]
    Unauthorized,
    /// The provider does not take the request.
    #[error("the model's provider refuses the request: {0}")]
    Rejected(String),
    /// The answer is not one.
    #[error("the model's answer cannot be read: {0}")]
    Malformed(String),
    /// The answer broke off.
    #[error("the model's answer broke off: {0}")]
    Interrupted(String),
    /// The answer reached the provider's limit of tokens before its end.
    #[error("the model's answer was cut at the limit of tokens")]
    CutOff,
    /// The provider itself holds the answer back.
    #[error("the model's provider holds its answer back: {0}")]
    Filtered(String),
    /// The client itself failed.
    #[error("the model's client panicked: {0}")]
    Panicked(String),
    /// A script has no more turns.
    #[error("the script has {turns} turns, and all have been used")]
    ScriptEnded {
        /// How many it has.
        turns: usize,
    },
}

impl ModelError {
    /// The code by which a program can tell the errors apart.
    pub fn code(&self) -> Code {
        Code::from(match self {
            ModelError::Unreachable(_) => "model_unreachable",
            ModelError::TimedOut(_) => "model_timeout",
            ModelError::RateLimited { .. } => "model_rate_limited",
            ModelError::Unauthorized => "model_unauthorized",
            ModelError::Rejected(_) => "model_rejected",
            ModelError::Malformed(_) => "model_malformed",
            ModelError::Interrupted(_) => "model_interrupted",
            ModelError::CutOff => "model_cut_off",
            ModelError::Filtered(_) => "model_filtered",
            ModelError::Panicked(_) => "model_client_panicked",
            ModelError::ScriptEnded { .. } => "model_script_ended",
        })
    }
}
