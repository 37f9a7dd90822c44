//! `limit`: how much may be used, of what, by whom.
//!
//! A limit does not refuse by itself: it claims, and the gate reserves all claims of an event in one
//! step when the event would go through, so that parallel calls cannot slip past. Several limits in
//! one action hold together. `counted: executed` (the default) gives back what did not run;
//! `attempts` counts refused calls too. Tokens and cost are known only afterwards: an `estimate` is
//! held while a call runs.
//!
//! ```yaml
//! limit: { rate: 30/min, per: [session, tool] }
//! limit: { count: 100, counted: attempts, per: user, code: TOO_MANY, reason: "enough for one day" }
//! limit: { concurrency: 4, per: server }
//! limit: { tokens: 200_000/day, per: tenant }
//! limit: { cost: { max: 2.50, window: 1h, estimate: 0.05 }, per: user }
//! ```

use super::act::{Act, handler};
use super::amount::{duration_ms, literal, money, rate, split_window, tokens};
use super::per::{Counting, Per};
use super::read::{OneOrMany, Raw, kind_of, read, schema_of};
use super::refusal::Words;
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::{
    Claim, Counted, Handler, HandlerError, Json, KindSet, Name, OnFailure, Opinion, Quota, Refusal,
    Roles, View,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "limit",
    summary: "limits rate, number, concurrency, tokens or cost",
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
    /// At most so many calls in any window: `30/min`, `100/10s`.
    rate: Option<String>,
    /// At most so many calls in all.
    count: Option<u64>,
    /// Which calls `rate` and `count` count: those that ran, or every one that was asked for.
    #[serde(default)]
    counted: CountedConfig,
    /// At most so many calls at the same time.
    concurrency: Option<u64>,
    /// At most so many tokens: `200_000`, `200_000/day`, or with a window and an estimate.
    #[schemars(with = "Option<BudgetSchema>")]
    tokens: Option<Raw>,
    /// At most so much cost: `2.50`, `2.50/day`, or with a window and an estimate.
    #[schemars(with = "Option<BudgetSchema>")]
    cost: Option<Raw>,
    /// What is counted by itself: one or a list. Left out, all events of the hook count together.
    #[serde(default)]
    per: OneOrMany<Per>,
    /// The code of the refusal; `limit_exceeded` when left out.
    code: Option<String>,
    /// Why, for the model and the person; the limit in words when left out.
    reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    remedy: Option<String>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CountedConfig {
    /// Calls that ran.
    #[default]
    Executed,
    /// Every call that was asked for.
    Attempts,
}

/// An amount with its window and what is held while a call runs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BudgetConfig {
    /// The most that may be used.
    max: Raw,
    /// In which time, such as `1d`; left out: in all.
    window: Option<String>,
    /// What is held for a call while it runs.
    estimate: Option<Raw>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum BudgetSchema {
    Number(f64),
    Text(String),
    Full(BudgetConfig),
}

struct Limit {
    counting: Counting,
    quotas: Vec<(&'static str, Quota)>,
    exceeded: Option<Refusal>,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let Json::Object(_) = value else {
        let message = format!("expected an object, found {}", kind_of(value));
        return Err(ActionError::at("", message).remedy("`limit: { rate: 30/min, per: session }`"));
    };
    let config: Config = read(value)?;
    let quotas = quotas(&config)?;
    if quotas.is_empty() {
        let remedy = "give a `rate`, `count`, `concurrency`, `tokens` or `cost`";
        return Err(ActionError::at("", "nothing is limited").remedy(remedy));
    }
    for (what, quota) in &quotas {
        quota.check().map_err(|error| ActionError::at(*what, error.to_string()))?;
    }
    let words = Words { code: config.code, reason: config.reason, remedy: config.remedy };
    let counting = Counting::new(&context.hook, config.per.0, context.kinds)?;
    Ok(handler(SPEC.name, value, Limit { counting, quotas, exceeded: words.exceeded()? }))
}

fn quotas(config: &Config) -> Result<Vec<(&'static str, Quota)>, ActionError> {
    let counted = match config.counted {
        CountedConfig::Executed => Counted::Executed,
        CountedConfig::Attempts => Counted::Attempts,
    };
    let mut quotas = Vec::new();
    if let Some(text) = &config.rate {
        let (max, window_ms) = rate(text).map_err(|error| error.under("rate"))?;
        quotas.push(("rate", Quota::Rate { max, window_ms, counted }));
    }
    if let Some(max) = config.count {
        quotas.push(("count", Quota::Count { max, counted }));
    }
    if let Some(max) = config.concurrency {
        quotas.push(("concurrency", Quota::Concurrency { max }));
    }
    if let Some(Raw(value)) = &config.tokens {
        let budget = Budget::read(value, tokens).map_err(|error| error.under("tokens"))?;
        let Budget { max, window_ms, estimate } = budget;
        quotas.push(("tokens", Quota::Tokens { max, window_ms, estimate }));
    }
    if let Some(Raw(value)) = &config.cost {
        let budget = Budget::read(value, money).map_err(|error| error.under("cost"))?;
        let Budget { max: micros_max, window_ms, estimate: estimate_micros } = budget;
        quotas.push(("cost", Quota::Cost { micros_max, window_ms, estimate_micros }));
    }
    Ok(quotas)
}

/// A budget in whole units.
struct Budget {
    max: u64,
    window_ms: Option<u64>,
    estimate: u64,
}

type ReadAmount = fn(&Json) -> Result<u64, ActionError>;

impl Budget {
    fn read(value: &Json, amount: ReadAmount) -> Result<Budget, ActionError> {
        if let Json::Object(_) = value {
            let config: BudgetConfig = read(value)?;
            let window = config.window.as_deref().map(duration_ms).transpose();
            let estimate = config.estimate.map(|raw| amount(&raw.0)).transpose();
            return Ok(Budget {
                max: amount(&config.max.0).map_err(|error| error.under("max"))?,
                window_ms: window.map_err(|error| error.under("window"))?,
                estimate: estimate.map_err(|error| error.under("estimate"))?.unwrap_or(0),
            });
        }
        let text = literal(value)?;
        let (max, window_ms) = split_window(&text)?;
        Ok(Budget { max: amount(&Json::from(max))?, window_ms, estimate: 0 })
    }
}

impl Act for Limit {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let claims = self.quotas.iter().map(|(what, quota)| Claim {
            hook: Name::clone(self.counting.hook()),
            key: self.counting.key(what, view),
            quota: quota.clone(),
        });
        Ok(Opinion { claims: claims.collect(), ..Opinion::default() })
    }

    fn claims(&self) -> bool {
        true
    }

    fn exceeded(&self) -> Option<&Refusal> {
        self.exceeded.as_ref()
    }
}
