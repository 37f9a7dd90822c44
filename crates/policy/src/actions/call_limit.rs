//! `call_limit`: ends what has made too many calls.
//!
//! It reads the gate's own counters, which include the event in hand: with `model_calls: 10` ten
//! calls pass and the eleventh ends the session. Tokens and cost are known after a call, so they stop
//! the next one. Counted is the whole family of a session and its sub-agents; unlike a `limit` it
//! reserves nothing, so calls made at the same moment may all be past it.
//!
//! ```yaml
//! call_limit: { model_calls: 10, reason: "model call count exceeded its limit" }
//! call_limit: { tool_calls_refused: 20, then: deny, code: TOO_MANY_REFUSALS }
//! call_limit: { cost: 5.00, tokens: 2_000_000 }
//! ```

use super::act::{Act, handler};
use super::amount::{literal, money, tokens};
use super::read::{Raw, kind_of, read, schema_of};
use super::refusal::Words;
use super::{ActionContext, ActionError, ActionSpec, abort};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::{
    Counters, Handler, HandlerError, Json, OnFailure, Opinion, Roles, View, Vote, VoteKind,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "call_limit",
    summary: "ends the session, or refuses, after so many calls, tokens or cost",
    kinds: abort::KINDS,
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Config>,
};

/// The code when none is given.
const CODE: &str = "COST_LIMIT";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// So many model calls may be made.
    model_calls: Option<u64>,
    /// So many tool calls may be asked for.
    tool_calls_attempted: Option<u64>,
    /// So many tool calls may run.
    tool_calls_executed: Option<u64>,
    /// So many tool calls may be refused.
    tool_calls_refused: Option<u64>,
    /// So many tokens may be used, read and written together.
    tokens: Option<Raw>,
    /// So much cost may be caused.
    cost: Option<Raw>,
    /// What is counted.
    #[serde(default)]
    of: Of,
    /// What happens above the limit.
    #[serde(default)]
    then: Then,
    /// The code of the refusal; `COST_LIMIT` when left out.
    code: Option<String>,
    /// Why, for the model and the person; the limit in words when left out.
    reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    remedy: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Of {
    /// The session that started it all, with every sub-agent.
    #[default]
    Tree,
    /// The session and the sub-agents that it started.
    Session,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Then {
    /// The session ends.
    #[default]
    Abort,
    /// This is refused.
    Deny,
}

impl Then {
    /// The vote with these words.
    pub(super) fn vote(self, words: &Words, code: &str, reason: &str) -> Result<Vote, ActionError> {
        Ok(match self {
            Then::Abort => Vote::Abort(words.ending(Some(code), reason)?),
            Then::Deny => Vote::Deny(words.refusal(Some(code), reason)?),
        })
    }
}

/// What is counted, how much of it passes, and the vote above that.
struct Limit {
    count: fn(&Counters) -> u64,
    max: u64,
    vote: Vote,
}

struct CallLimit {
    of: Of,
    limits: Vec<Limit>,
    kinds: [VoteKind; 1],
}

fn compile(value: &Json, _: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let Json::Object(_) = value else {
        let message = format!("expected an object, found {}", kind_of(value));
        return Err(ActionError::at("", message).remedy("`call_limit: { model_calls: 10 }`"));
    };
    let config: Config = read(value)?;
    let words = Words {
        code: config.code.clone(),
        reason: config.reason.clone(),
        remedy: config.remedy.clone(),
    };
    let mut limits = Vec::new();
    for (count, max, reason) in counts(&config)? {
        limits.push(Limit { count, max, vote: config.then.vote(&words, CODE, &reason)? });
    }
    let Some(Limit { vote, .. }) = limits.first() else {
        let remedy = "give `model_calls`, `tool_calls_attempted`, `tokens` or `cost`";
        return Err(ActionError::at("", "nothing is limited").remedy(remedy));
    };
    let kinds = [vote.kind()];
    Ok(handler(SPEC.name, value, CallLimit { of: config.of, limits, kinds }))
}

type Count = (fn(&Counters) -> u64, u64, String);

fn counts(config: &Config) -> Result<Vec<Count>, ActionError> {
    let mut counts: Vec<Count> = Vec::new();
    let mut add = |count: fn(&Counters) -> u64, max: Option<u64>, unit: &str| {
        counts.extend(max.map(|max| (count, max, format!("more than {max} {unit}"))));
    };
    add(|c| c.model_calls, config.model_calls, "model calls");
    add(|c| c.tool_calls_attempted, config.tool_calls_attempted, "tool calls");
    add(|c| c.tool_calls_executed, config.tool_calls_executed, "tool calls that ran");
    add(|c| c.tool_calls_refused, config.tool_calls_refused, "refused tool calls");
    let tokens = config.tokens.as_ref().map(|raw| tokens(&raw.0)).transpose();
    add(
        |c| c.tokens_in.saturating_add(c.tokens_out),
        tokens.map_err(|error| error.under("tokens"))?,
        "tokens",
    );
    if let Some(Raw(value)) = &config.cost {
        let max = money(value).map_err(|error| error.under("cost"))?;
        let reason = format!("more than {} of cost", literal(value)?);
        counts.push((|c| c.cost_micros, max, reason));
    }
    Ok(counts)
}

impl Act for CallLimit {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let counters = match self.of {
            Of::Tree => &view.session.tree,
            Of::Session => &view.session.counters,
        };
        let exceeded = self.limits.iter().find(|limit| (limit.count)(counters) > limit.max);
        Ok(exceeded.map_or_else(Opinion::none, |limit| Opinion::vote(limit.vote.clone())))
    }

    fn votes(&self) -> &[VoteKind] {
        &self.kinds
    }
}

#[cfg(test)]
mod tests {
    use super::{ActionContext, compile};
    use tollgate_gate::{EventKind, Json};

    #[test]
    fn mistakes_are_told_with_their_path() {
        for (value, path, message) in [
            ("{}", "", "nothing is limited"),
            ("10", "", "expected an object, found a number"),
            (r#"{"tokens":"many"}"#, "tokens", "`many` is no number of tokens"),
            (r#"{"cost":-1}"#, "cost", "`-1` is no amount of money"),
            (
                r#"{"model_call":1}"#,
                "model_call",
                "unknown key `model_call`; the nearest known one is `model_calls`",
            ),
            (r#"{"model_calls":1,"then":"stop"}"#, "then", "unknown word `stop`"),
            (
                r#"{"model_calls":1,"code":"session_aborted"}"#,
                "code",
                "`session_aborted` is what later calls of an ended session are told",
            ),
        ] {
            let value = Json::read(value.as_bytes()).unwrap();
            let context = ActionContext::new("h", EventKind::PreModel);
            let error = compile(&value, &context).err().unwrap();
            assert_eq!((error.path.as_str(), error.message.as_str()), (path, message));
        }
    }
}
