//! `deny`: refuses the event.
//!
//! Before an effect the call does not take place and the model gets code and reason as an ordinary
//! failed result; after it, what came back is withheld. `hide` is for tools that a caller shall not
//! know of: the refusal then is that of an unknown tool.
//!
//! ```yaml
//! deny: "test files are protected"
//! deny: { code: EXTERNAL_HOST, reason: "not on the list", remedy: "ask the platform team" }
//! deny: { hide: true }
//! ```

use super::act::{Act, handler};
use super::read::{kind_of, read, schema_of};
use super::refusal::{Words, check_text};
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::{Arc, LazyLock};
use tollgate_gate::{
    Code, EventKind, Handler, HandlerError, Json, KindSet, OnFailure, Opinion, Refusal, Roles,
    View, Vote, VoteKind,
};

pub(super) const KINDS: KindSet =
    KindSet::ALL.without(EventKind::AgentAbort).without(EventKind::Error);

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "deny",
    summary: "refuses the call; after it, withholds what came back",
    kinds: KINDS,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Schema>,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The code, for programs; `hook_denied` (after the effect: `withheld`) when left out.
    code: Option<String>,
    /// Why, for the model and the person.
    reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    remedy: Option<String>,
    /// Refuse as if there were no such tool. Only at `pre_tool`, and without a code of its own.
    #[serde(default)]
    hide: bool,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Schema {
    /// The reason, for the model and the person.
    Reason(String),
    /// With code, remedy and more.
    Full(Config),
}

struct Deny(Refusal);

/// A refusal as if there were no such tool.
struct Hide {
    remedy: Option<Arc<str>>,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let config: Config = match value {
        Json::String(reason) => {
            check_text("", reason)?;
            Config { code: None, reason: Some(reason.clone()), remedy: None, hide: false }
        }
        Json::Object(_) => read(value)?,
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_)) => {
            let message = format!("expected a reason or an object, found {}", kind_of(other));
            return Err(ActionError::at("", message).remedy("`deny: \"why it is refused\"`"));
        }
    };
    let words = Words { code: config.code, reason: config.reason, remedy: config.remedy };
    let refusal = words.refusal(None, "the policy refuses this")?;
    if !config.hide {
        return Ok(handler(SPEC.name, value, Deny(refusal)));
    }
    if context.kinds != KindSet::from(EventKind::PreTool) {
        return Err(
            ActionError::at("hide", "only a tool call can be hidden").remedy("on: pre_tool")
        );
    }
    if words.code.is_some() || words.reason.is_some() {
        let message = "a hidden tool is refused as an unknown tool, with no words of its own";
        return Err(ActionError::at("hide", message).remedy("leave out code and reason"));
    }
    Ok(handler(SPEC.name, value, Hide { remedy: refusal.remedy }))
}

impl Act for Deny {
    fn act(&self, _: &View<'_>) -> Result<Opinion, HandlerError> {
        Ok(Opinion::vote(Vote::Deny(self.0.clone())))
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Deny]
    }
}

impl Act for Hide {
    fn act(&self, _: &View<'_>) -> Result<Opinion, HandlerError> {
        static UNKNOWN: LazyLock<Arc<str>> = LazyLock::new(|| "unknown tool".into());
        Ok(Opinion::vote(Vote::Deny(Refusal {
            code: Some(Code::UnknownTool),
            reason: Arc::clone(&UNKNOWN),
            remedy: self.remedy.clone(),
        })))
    }

    fn hides(&self) -> bool {
        true
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Deny]
    }
}
