//! `respond`: answers in the place of the effect.
//!
//! The tool does not run, or the model is not called, and the caller is given this answer as an
//! ordinary success. An object whose only key is `content` stands for what is in it; any other value
//! is the answer itself. For a model the answer is an object with `reply` and `tool_calls`, or
//! anything else, which then is the reply.
//!
//! ```yaml
//! respond: "the weather service is closed on Sundays"
//! respond: { content: { items: [] } }
//! respond: { reply: "I can not help with that", tool_calls: [] }      # on: pre_model
//! ```

use super::act::{Act, handler};
use super::read::{Raw, schema_of};
use super::{ActionContext, ActionError, ActionSpec};
use std::sync::Arc;
use tollgate_gate::{
    Answer, EventKind, Handler, HandlerError, Json, KindSet, OnFailure, Opinion, Roles, View, Vote,
    VoteKind,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "respond",
    summary: "answers in the place of the tool or model",
    kinds: KindSet::BEFORE,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Raw>,
};

struct Respond(Answer);

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let content = match value {
        Json::Null => return Err(ActionError::at("", "there is no answer")),
        Json::Object(object) if object.len() == 1 => object.get("content").unwrap_or(value),
        other @ (Json::Bool(_)
        | Json::Number(_)
        | Json::String(_)
        | Json::Array(_)
        | Json::Object(_)) => other,
    };
    if context.kinds.contains(EventKind::PreModel) {
        check_reply(content)?;
    }
    Ok(handler(SPEC.name, value, Respond(Answer { content: Arc::new(content.clone()) })))
}

/// An answer that looks like a model's must be one: a misspelt key would be lost.
fn check_reply(content: &Json) -> Result<(), ActionError> {
    let Some(object) = content.as_object() else { return Ok(()) };
    let known = ["reply", "tool_calls"];
    if !known.iter().any(|key| object.contains_key(key)) {
        return Ok(());
    }
    if let Some((key, _)) = object.iter().find(|(key, _)| !known.contains(key)) {
        return Err(super::read::unknown("key", key, &known).under(key));
    }
    if !object.contains_key("reply") {
        return Err(ActionError::at("", "`reply` is missing"));
    }
    if object.get("tool_calls").is_some_and(|calls| calls.as_array().is_none()) {
        return Err(ActionError::at("tool_calls", "expected a list"));
    }
    Ok(())
}

impl Act for Respond {
    fn act(&self, _: &View<'_>) -> Result<Opinion, HandlerError> {
        Ok(Opinion::vote(Vote::Respond(self.0.clone())))
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Respond]
    }
}
