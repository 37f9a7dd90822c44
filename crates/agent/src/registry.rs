//! The registry: the tools of an agent, declared and performed.
//!
//! A tool is a declaration and a handler. Arguments are checked against the declared JSON Schema when
//! a call comes in, so that hooks see well-formed arguments, and again right before the handler runs,
//! because hooks may have rewritten them. Handlers can only be reached with a [`Permit`], by value:
//! the registry has no other way in. Whatever goes wrong, an unknown tool, wrong arguments, an error
//! or a panic of the handler, becomes one shape: `{code, message, tool}`.

use crate::actor::Actor;
use crate::limits::{ERROR_BYTES_MAX, RESULT_BYTES_MAX, TOOLS_MAX};
use crate::panics::caught;
use crate::tool::{Invocation, Tool, ToolFailure};
use std::collections::HashMap;
use std::sync::Arc;
use tollgate_gate::text::cut;
use tollgate_gate::{
    Code, Failure, Json, Name, Object, Payload, Permit, Soon, Ticket, ToolCall, ToolResult,
};

/// What the model and the registry know of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The name by which it is called.
    pub name: Name,
    /// What it does, for the model.
    pub description: Arc<str>,
    /// The JSON Schema (draft 2020-12 unless it names another) of its arguments.
    pub parameters: Arc<Json>,
    /// Whether it changes nothing, so that calls of it may run at the same time.
    pub read_only: bool,
    /// Tags of every event about it, for matchers.
    pub tags: Vec<Name>,
}

impl Declaration {
    /// A tool that may change things, with no tags.
    ///
    /// # Errors
    /// [`DeclarationError::Schema`] when `parameters` is no JSON text.
    pub fn new(
        name: impl Into<Name>,
        description: &str,
        parameters: &str,
    ) -> Result<Declaration, DeclarationError> {
        let name = name.into();
        let parameters = Json::read(parameters.as_bytes()).map_err(|error| {
            DeclarationError::Schema { tool: Name::clone(&name), cause: error.to_string() }
        })?;
        let parameters = Arc::new(parameters);
        let description = description.into();
        Ok(Declaration { name, description, parameters, read_only: false, tags: Vec::new() })
    }

    /// Declares that it only reads.
    #[must_use]
    pub fn reads_only(mut self) -> Declaration {
        self.read_only = true;
        self
    }

    /// Sets the tags.
    #[must_use]
    pub fn with_tags<T: Into<Name>>(mut self, tags: impl IntoIterator<Item = T>) -> Declaration {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// As a model request lists it: `name`, `description`, `parameters`.
    pub fn to_json(&self) -> Json {
        let mut out = Object::new();
        out.insert("name", &*self.name);
        out.insert("description", &*self.description);
        out.insert("parameters", Json::clone(&self.parameters));
        out.into()
    }
}

/// Why a tool cannot be declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationError {
    /// The schema of its arguments cannot be used.
    #[error("the schema of tool `{tool}` cannot be used: {cause}")]
    Schema {
        /// The tool.
        tool: Name,
        /// Why.
        cause: String,
    },
    /// Another tool has the name.
    #[error("there is a tool `{0}` already")]
    Taken(Name),
    /// There are too many.
    #[error("a registry holds at most {TOOLS_MAX} tools")]
    TooMany,
}

/// Tools that can be performed with a permit. Wrappers implement it around another one.
pub trait Tools: Send + Sync {
    /// The tools that there are, in order.
    fn declarations(&self) -> Vec<&Declaration>;

    /// The declaration of one tool.
    fn declaration(&self, tool: &str) -> Option<&Declaration>;

    /// Checks a call before anything is decided about it.
    ///
    /// # Errors
    /// The [`Failure`] that the model is given: `unknown_tool` or `invalid_arguments`.
    fn check(&self, call: &ToolCall) -> Result<(), Failure>;

    /// Performs the call that the permit lets happen, for `actor`. The ticket is for settling.
    fn perform<'a>(&'a self, permit: Permit, actor: &'a Actor) -> Soon<'a, (Ticket, ToolResult)>;
}

macro_rules! tools_behind {
    ($pointer:ident) => {
        impl<T: Tools + ?Sized> Tools for $pointer<T> {
            fn declarations(&self) -> Vec<&Declaration> {
                (**self).declarations()
            }

            fn declaration(&self, tool: &str) -> Option<&Declaration> {
                (**self).declaration(tool)
            }

            fn check(&self, call: &ToolCall) -> Result<(), Failure> {
                (**self).check(call)
            }

            fn perform<'a>(
                &'a self,
                permit: Permit,
                actor: &'a Actor,
            ) -> Soon<'a, (Ticket, ToolResult)> {
                (**self).perform(permit, actor)
            }
        }
    };
}
tools_behind!(Arc);
tools_behind!(Box);

/// The tools of an agent.
#[derive(Debug, Default)]
pub struct ToolRegistry {
    tools: Vec<Tool>,
    places: HashMap<Name, usize>,
}

impl ToolRegistry {
    /// Without any tool.
    pub fn new() -> ToolRegistry {
        ToolRegistry::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// [`DeclarationError`] when the name is taken or there are too many.
    pub fn add(&mut self, tool: Tool) -> Result<(), DeclarationError> {
        let name = Name::clone(&tool.declaration().name);
        if self.places.contains_key(&name) {
            return Err(DeclarationError::Taken(name));
        }
        if self.tools.len() >= TOOLS_MAX {
            return Err(DeclarationError::TooMany);
        }
        self.places.insert(name, self.tools.len());
        self.tools.push(tool);
        Ok(())
    }

    fn find(&self, call: &ToolCall) -> Result<&Tool, Failure> {
        let tool = self.places.get(&call.tool).and_then(|place| self.tools.get(*place));
        tool.ok_or_else(|| {
            let known: Vec<&str> =
                self.tools.iter().map(|tool| &*tool.declaration().name).collect();
            let message =
                format!("there is no tool `{}`; there are: {}", call.tool, known.join(", "));
            failure(&call.tool, Code::UnknownTool, &message)
        })
    }

    async fn run(&self, call: &ToolCall, actor: &Actor) -> ToolResult {
        let tool = match self.find(call) {
            Ok(tool) => tool,
            Err(failure) => return ToolResult::failure(failure, false),
        };
        if let Err(failure) = check_arguments(tool, call) {
            return ToolResult::failure(failure, false);
        }
        let invocation = Invocation { call: call.clone(), actor: actor.clone() };
        let failed = match caught(|| tool.handler().run(invocation)).await {
            Ok(Ok(content)) if bytes_in(&content) <= RESULT_BYTES_MAX => {
                return ToolResult::success(content);
            }
            Ok(Ok(_)) => {
                ToolFailure::new(format!("the result is larger than {RESULT_BYTES_MAX} bytes"))
            }
            Ok(Err(failed)) => failed,
            Err(panic) => ToolFailure::new(format!("the tool panicked: {panic}")),
        };
        ToolResult::failure(failure(&call.tool, failed.code, &failed.message), true)
    }
}

impl Tools for ToolRegistry {
    fn declarations(&self) -> Vec<&Declaration> {
        self.tools.iter().map(Tool::declaration).collect()
    }

    fn declaration(&self, tool: &str) -> Option<&Declaration> {
        let place = self.places.get(tool)?;
        self.tools.get(*place).map(Tool::declaration)
    }

    fn check(&self, call: &ToolCall) -> Result<(), Failure> {
        check_arguments(self.find(call)?, call)
    }

    fn perform<'a>(&'a self, permit: Permit, actor: &'a Actor) -> Soon<'a, (Ticket, ToolResult)> {
        let (payload, ticket) = permit.redeem();
        Soon::later(async move {
            let result = match payload {
                Payload::PreTool(call) => self.run(&call, actor).await,
                other @ (Payload::AgentStart(_)
                | Payload::PromptBuild(_)
                | Payload::MemoryLoad(_)
                | Payload::PreModel(_)
                | Payload::PostModel(_)
                | Payload::PostTool(_)
                | Payload::ToolError(_)
                | Payload::AgentEnd(_)
                | Payload::AgentAbort(_)
                | Payload::Error(_)) => {
                    let message = format!("a permit for `{}` performs no tool", other.kind());
                    ToolResult::failure(failure(&"".into(), Code::ToolError, &message), false)
                }
            };
            (ticket, result)
        })
    }
}

fn check_arguments(tool: &Tool, call: &ToolCall) -> Result<(), Failure> {
    tool.check(&call.arguments).map_err(|cause| failure(&call.tool, Code::InvalidArguments, &cause))
}

/// The one shape of everything that goes wrong, with a text that is not too long.
pub(crate) fn failure(tool: &Name, code: Code, message: &str) -> Failure {
    Failure { code, message: cut(message, ERROR_BYTES_MAX).into(), tool: Name::clone(tool) }
}

/// Bytes of the texts and keys in a value, and eight for anything else.
fn bytes_in(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(bytes_in).sum::<usize>() + 8,
        Json::Object(object) => {
            object.iter().map(|(key, value)| key.len() + bytes_in(value)).sum::<usize>() + 8
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => 8,
    }
}
