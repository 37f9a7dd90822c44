//! `ask`: asks people before the effect.
//!
//! Every distinct `who` of all hooks that ask must agree; with none named, whoever is at the screen.
//! Where nobody can be reached the call is refused, with a reason that says so.
//!
//! ```yaml
//! ask: true
//! ask: "this sends data to a third party"
//! ask: { who: finance, expires: 15m, reason: "a large transfer" }
//! ask: { wait: 30s }
//! ```

use super::act::{Act, handler};
use super::amount::duration_ms;
use super::read::{OneOrMany, kind_of, read, schema_of};
use super::refusal::check_text;
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::limits::NAME_BYTES_MAX;
use tollgate_gate::{
    Handler, HandlerError, Json, KindSet, Name, OnFailure, Opinion, Question, Roles, View, Vote,
    VoteKind,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "ask",
    summary: "asks people to confirm",
    kinds: KindSet::BEFORE,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Schema>,
};

/// Most people or groups that one hook may ask.
const ASKED_MAX: usize = 64;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Who must agree, every one of them: users or groups. Left out: whoever is at the screen.
    #[serde(default)]
    who: OneOrMany<String>,
    /// How long the question stands, such as `15m`.
    expires: Option<String>,
    /// How long the call waits for its answer, such as `30s`; never longer than its host does. Without
    /// it the call is refused, and may be made again once it was answered.
    wait: Option<String>,
    /// Why it is asked.
    reason: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Schema {
    /// `true`
    Plain(bool),
    /// Why it is asked.
    Reason(String),
    /// With whom and for how long.
    Full(Config),
}

struct Ask(Question);

fn compile(value: &Json, _: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let config = match value {
        Json::Bool(true) => Config::default(),
        Json::String(reason) => {
            check_text("", reason)?;
            Config { reason: Some(reason.clone()), ..Config::default() }
        }
        Json::Object(_) => read(value)?,
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_)) => {
            let message = format!("expected a reason or an object, found {}", kind_of(other));
            return Err(ActionError::at("", message).remedy("`ask: true`"));
        }
    };
    let reason = config.reason.unwrap_or_else(|| "the policy wants a person to confirm".to_owned());
    check_text("reason", &reason)?;
    let who = config.who.0;
    if who.len() > ASKED_MAX {
        return Err(ActionError::at("who", format!("more than {ASKED_MAX} to ask")));
    }
    if let Some(at) = who.iter().position(|who| who.is_empty() || who.len() > NAME_BYTES_MAX) {
        return Err(ActionError::at(format!("who.{at}"), "no name of a user or group"));
    }
    let expires_ms = match &config.expires {
        Some(text) => Some(duration_ms(text).map_err(|error| error.under("expires"))?),
        None => None,
    };
    let wait_ms = match &config.wait {
        Some(text) => Some(duration_ms(text).map_err(|error| error.under("wait"))?),
        None => None,
    };
    let who = who.into_iter().map(Name::from).collect();
    let question = Question { who, reason: reason.into(), expires_ms, wait_ms };
    Ok(handler(SPEC.name, value, Ask(question)))
}

impl Act for Ask {
    fn act(&self, _: &View<'_>) -> Result<Opinion, HandlerError> {
        Ok(Opinion::vote(Vote::Ask(self.0.clone())))
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Ask]
    }
}
