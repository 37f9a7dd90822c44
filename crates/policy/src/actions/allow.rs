//! `allow`: lets an event pass.
//!
//! It lifts the policy's `default` and nothing else: a deny or ask of another hook stands. With
//! `skip_host_prompt` the host's own question to its user is skipped too, where the host can do that.
//!
//! ```yaml
//! allow: true
//! allow: { skip_host_prompt: true }
//! ```

use super::act::{Act, handler};
use super::read::{kind_of, read, schema_of};
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::{
    Allowance, Handler, HandlerError, Json, KindSet, OnFailure, Opinion, Roles, View, Vote,
    VoteKind,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "allow",
    summary: "lets the event pass, where the default would not",
    kinds: KindSet::BEFORE,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: false,
    compile,
    schema: schema_of::<Schema>,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Skip the host's own prompt as well.
    #[serde(default)]
    skip_host_prompt: bool,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Schema {
    /// `true`
    Plain(bool),
    /// With what it brings.
    Full(Config),
}

struct Allow(Allowance);

fn compile(value: &Json, _: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let allowance = match value {
        Json::Bool(true) => Allowance::default(),
        Json::Object(_) => Allowance { skip_host_prompt: read::<Config>(value)?.skip_host_prompt },
        other @ (Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::String(_)
        | Json::Array(_)) => {
            let message = format!("expected `true` or an object, found {}", kind_of(other));
            return Err(ActionError::at("", message).remedy("`allow: true`"));
        }
    };
    Ok(handler(SPEC.name, value, Allow(allowance)))
}

impl Act for Allow {
    fn act(&self, _: &View<'_>) -> Result<Opinion, HandlerError> {
        Ok(Opinion::vote(Vote::Allow(self.0)))
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Allow]
    }
}
