//! `abort`: ends the session.
//!
//! This and every later event of the session and its children is refused, the agent's loop ends. For
//! runaway cost, loops, hostile behaviour; what only concerns one call is a `deny`.
//!
//! ```yaml
//! abort: "the session left its workspace"
//! abort: { code: COST_LIMIT, reason: "model call count exceeded its limit" }
//! ```

use super::act::{Act, handler};
use super::deny;
use super::read::{kind_of, read, schema_of};
use super::refusal::{Words, check_text};
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use std::sync::Arc;
use tollgate_gate::{
    EventKind, Handler, HandlerError, Json, KindSet, OnFailure, Opinion, Refusal, Roles, View,
    Vote, VoteKind,
};

pub(super) const KINDS: KindSet = deny::KINDS.without(EventKind::AgentEnd);

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "abort",
    summary: "ends the session",
    kinds: KINDS,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Schema>,
};

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Schema {
    /// Why, for the model and the person.
    Reason(String),
    /// With a code.
    Full(Words),
}

struct Abort(Refusal);

fn compile(value: &Json, _: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let words: Words = match value {
        Json::String(reason) => {
            check_text("", reason)?;
            Words { reason: Some(reason.clone()), ..Words::default() }
        }
        Json::Object(_) => read(value)?,
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_)) => {
            let message = format!("expected a reason or an object, found {}", kind_of(other));
            return Err(ActionError::at("", message).remedy("`abort: \"why the session ends\"`"));
        }
    };
    let refusal = words.ending(None, "the policy ends this session")?;
    Ok(handler(SPEC.name, value, Abort(refusal)))
}

impl Act for Abort {
    fn act(&self, _: &View<'_>) -> Result<Opinion, HandlerError> {
        Ok(Opinion::vote(Vote::Abort(self.0.clone())))
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Abort]
    }
}
