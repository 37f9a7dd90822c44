//! A tool: its declaration, and the handler that does the work.
//!
//! A handler is one function from an invocation to content or a failure; it may answer later, or be
//! an ordinary blocking function, which then runs on a thread of its own. It knows nothing of hooks:
//! the arguments that it is given are those that were judged.

use crate::actor::Actor;
use crate::registry::{Declaration, DeclarationError};
use jsonschema::Validator;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tollgate_gate::{Code, Json, Soon, ToolCall};

/// One call of a tool.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The call, as it was judged.
    pub call: ToolCall,
    /// Who acts: for handlers that start agents.
    pub actor: Actor,
}

impl Invocation {
    /// The text under `key`.
    ///
    /// # Errors
    /// When there is none, which the tool's schema should have refused.
    pub fn text(&self, key: &str) -> Result<&str, ToolFailure> {
        self.optional_text(key).ok_or_else(|| {
            ToolFailure::new(format!("`{key}` must be a text")).with_code(Code::InvalidArguments)
        })
    }

    /// The text under `key`, if there is one.
    pub fn optional_text(&self, key: &str) -> Option<&str> {
        self.call.arguments.get(key).and_then(Json::as_str)
    }

    /// The whole number under `key`, if there is one.
    pub fn optional_u64(&self, key: &str) -> Option<u64> {
        self.call.arguments.get(key).and_then(Json::as_u64)
    }
}

/// A tool did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// `tool_error`, unless the handler says otherwise.
    pub code: Code,
    /// For the model.
    pub message: String,
}

impl ToolFailure {
    /// A `tool_error` with this text.
    pub fn new(message: impl fmt::Display) -> ToolFailure {
        ToolFailure { code: Code::ToolError, message: message.to_string() }
    }

    /// Sets the code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> ToolFailure {
        self.code = code;
        self
    }
}

/// Does the work of a tool.
pub trait ToolHandler: Send + Sync {
    /// Does it. Dropping the future stops an async handler; a blocking one that has begun runs on,
    /// unseen.
    ///
    /// # Errors
    /// A [`ToolFailure`] becomes a failed result. So does a panic.
    fn run(&self, invocation: Invocation) -> Soon<'_, Result<Json, ToolFailure>>;
}

/// A handler from an ordinary function. It may block: it runs on a thread for such work.
pub fn blocking<F>(f: F) -> Arc<dyn ToolHandler>
where
    F: Fn(&Invocation) -> Result<Json, ToolFailure> + Send + Sync + 'static,
{
    Arc::new(Blocking(Arc::new(f)))
}

struct Blocking<F>(Arc<F>);

impl<F> ToolHandler for Blocking<F>
where
    F: Fn(&Invocation) -> Result<Json, ToolFailure> + Send + Sync + 'static,
{
    fn run(&self, invocation: Invocation) -> Soon<'_, Result<Json, ToolFailure>> {
        let f = Arc::clone(&self.0);
        Soon::later(async move {
            let mut work = Queued(tokio::task::spawn_blocking(move || f(&invocation)));
            match (&mut work.0).await {
                Ok(result) => result,
                Err(error) => match error.try_into_panic() {
                    // On its way to the one place that catches panics of handlers.
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => Err(ToolFailure::new("the runtime is shutting down")),
                },
            }
        })
    }
}

/// Work for another thread. Dropped before a thread took it up, it never begins.
struct Queued<T>(JoinHandle<T>);

impl<T> Drop for Queued<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a handler gives back later.
pub type ToolFuture = Pin<Box<dyn Future<Output = Result<Json, ToolFailure>> + Send>>;

/// A handler from a function that answers later. It must not block.
pub fn asynchronous<F>(f: F) -> Arc<dyn ToolHandler>
where
    F: Fn(Invocation) -> ToolFuture + Send + Sync + 'static,
{
    Arc::new(Asynchronous(f))
}

struct Asynchronous<F>(F);

impl<F> ToolHandler for Asynchronous<F>
where
    F: Fn(Invocation) -> ToolFuture + Send + Sync,
{
    fn run(&self, invocation: Invocation) -> Soon<'_, Result<Json, ToolFailure>> {
        Soon::Later((self.0)(invocation))
    }
}

/// A declared tool with its handler.
pub struct Tool {
    declaration: Declaration,
    validator: Validator,
    handler: Arc<dyn ToolHandler>,
}

impl Tool {
    /// Compiles the declaration's schema. References to other documents are not followed.
    ///
    /// # Errors
    /// [`DeclarationError::Schema`] when it is no schema.
    pub fn new(
        declaration: Declaration,
        handler: Arc<dyn ToolHandler>,
    ) -> Result<Tool, DeclarationError> {
        let cannot =
            |cause: String| DeclarationError::Schema { tool: Arc::clone(&declaration.name), cause };
        let schema = declaration
            .parameters
            .to::<serde_json::Value>()
            .map_err(|error| cannot(error.to_string()))?;
        let validator =
            jsonschema::validator_for(&schema).map_err(|error| cannot(error.to_string()))?;
        Ok(Tool { declaration, validator, handler })
    }

    /// The declaration.
    pub fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    pub(crate) fn handler(&self) -> &dyn ToolHandler {
        &*self.handler
    }

    /// Checks arguments against the schema.
    pub(crate) fn check(&self, arguments: &Json) -> Result<(), String> {
        if arguments.as_object().is_none() {
            return Err(format!("arguments must be an object, not {}", arguments.type_name()));
        }
        // Also where numbers beyond a float's range and too deep values stop.
        let value = arguments.to::<serde_json::Value>().map_err(|error| error.to_string())?;
        self.validator.validate(&value).map_err(|error| {
            let place = error.instance_path().to_string();
            if place.is_empty() { error.to_string() } else { format!("at `{place}`: {error}") }
        })
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("declaration", &self.declaration).finish_non_exhaustive()
    }
}
