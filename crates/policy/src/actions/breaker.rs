//! `breaker`: pauses calls that keep failing.
//!
//! After `failures` failed calls within `window` the circuit opens: calls are refused with
//! `circuit_open` for `open_for`. Then one call may try; if it ends well the circuit closes, if not
//! it opens again. Only calls that ran count, refusals do not.
//!
//! ```yaml
//! breaker: { failures: 5, window: 1m, open_for: 30s, per: tool }
//! ```

use super::act::{Act, handler};
use super::amount::duration_ms;
use super::per::{Counting, Per};
use super::read::{OneOrMany, kind_of, read, schema_of};
use super::refusal::Words;
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::{
    Claim, Handler, HandlerError, Json, KindSet, Name, OnFailure, Opinion, Quota, Refusal, Roles,
    View,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "breaker",
    summary: "pauses calls that keep failing",
    kinds: KindSet::BEFORE,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Config>,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// So many failures open the circuit.
    failures: u32,
    /// Within this time, such as `1m`.
    window: String,
    /// For so long it stays open, such as `30s`; then one call may try.
    open_for: String,
    /// What has a circuit by itself: one or a list. Left out, all events of the hook share one.
    #[serde(default)]
    per: OneOrMany<Per>,
    /// The code of the refusal; `circuit_open` when left out.
    code: Option<String>,
    /// Why, for the model and the person.
    reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    remedy: Option<String>,
}

struct Breaker {
    counting: Counting,
    quota: Quota,
    exceeded: Option<Refusal>,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let Json::Object(_) = value else {
        let message = format!("expected an object, found {}", kind_of(value));
        let remedy = "`breaker: { failures: 5, window: 1m, open_for: 30s }`";
        return Err(ActionError::at("", message).remedy(remedy));
    };
    let config: Config = read(value)?;
    let quota = Quota::Breaker {
        failures: config.failures,
        window_ms: duration_ms(&config.window).map_err(|error| error.under("window"))?,
        open_ms: duration_ms(&config.open_for).map_err(|error| error.under("open_for"))?,
    };
    quota.check().map_err(|error| ActionError::at("failures", error.to_string()))?;
    let words = Words { code: config.code, reason: config.reason, remedy: config.remedy };
    let counting = Counting::new(&context.hook, config.per.0, context.kinds)?;
    Ok(handler(SPEC.name, value, Breaker { counting, quota, exceeded: words.exceeded()? }))
}

impl Act for Breaker {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        Ok(Opinion::claim(Claim {
            hook: Name::clone(self.counting.hook()),
            key: self.counting.key("breaker", view),
            quota: self.quota.clone(),
        }))
    }

    fn claims(&self) -> bool {
        true
    }

    fn exceeded(&self) -> Option<&Refusal> {
        self.exceeded.as_ref()
    }
}
