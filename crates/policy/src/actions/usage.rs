//! `usage`: what was used, by model, and what it cost.
//!
//! The gate itself counts tokens and cost of every session from what comes back of a call. This
//! action adds what the gate cannot know: a table of prices, totals by model ([`Meter`]) that a
//! program reads or exports, and a label once a family of sessions has used much. It watches and
//! changes nothing.
//!
//! Prices are per million tokens. A result that tells its own cost keeps it; one that only tells
//! tokens is priced by the table. So that the gate's counters, limits and budgets see that price too,
//! whoever reports a call fills it in beforehand: [`Prices::fill`].
//!
//! ```yaml
//! usage:
//!   prices: { gpt-4o-mini: { input: 0.15, output: 0.60 }, "gpt-4o*": { input: 2.50, output: 10 } }
//!   label: { name: expensive, cost: 5.00 }
//! ```

use super::act::{Act, handler};
use super::amount::{money, tokens};
use super::label::check_label;
use super::read::{Raw, kind_of, read, schema_of};
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tollgate_gate::limits::SHOWN_CHARS_MAX;
use tollgate_gate::text::shown;
use tollgate_gate::{
    Glob, Handler, HandlerError, Json, KindSet, Name, OnFailure, Opinion, Payload, Roles, Usage,
    View,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "usage",
    summary: "counts tokens and cost by model, and labels what has used much",
    kinds: KindSet::AFTER,
    roles: Roles::WATCH,
    on_failure: OnFailure::Open,
    // It can label, and a label may be what an `allow` of another layer waits for.
    restricts: false,
    compile,
    schema: schema_of::<Config>,
};

/// Most models (and tools that use tokens) that a meter tells apart; all above count as `other`.
const METERED_MAX: usize = 1_000;
/// Most prices in one table.
const PRICES_MAX: usize = 10_000;
/// Tokens that a price is for.
const PRICED_TOKENS: u128 = 1_000_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Prices by model, by name or glob; an exact name comes first, then the globs as they stand.
    #[schemars(with = "Option<BTreeMap<String, PriceConfig>>")]
    prices: Option<Raw>,
    /// A label for what has used much.
    label: Option<LabelConfig>,
}

/// The price of a million tokens.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PriceConfig {
    /// Of tokens that the model reads.
    input: Raw,
    /// Of tokens that it writes.
    output: Raw,
}

/// A label for a session once it and its sub-agents have used more.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LabelConfig {
    /// The label.
    name: String,
    /// More tokens than these.
    tokens: Option<Raw>,
    /// More cost than this, as the gate counted it.
    cost: Option<Raw>,
}

/// What models cost.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    exact: BTreeMap<String, Price>,
    globs: Vec<(Glob, Price)>,
}

/// Millionths of the currency for a million tokens.
#[derive(Debug, Clone, Copy)]
struct Price {
    input: u64,
    output: u64,
}

impl Prices {
    /// The prices in the value of a `usage` action.
    ///
    /// # Errors
    /// [`ActionError`] says what is wrong with the value.
    pub fn of_action(value: &Json) -> Result<Prices, ActionError> {
        Prices::of(read::<Config>(value)?.prices)
    }

    fn of(raw: Option<Raw>) -> Result<Prices, ActionError> {
        let Some(Raw(value)) = raw else { return Ok(Prices::default()) };
        let Json::Object(object) = &value else {
            let message = format!("expected prices by model, found {}", kind_of(&value));
            return Err(ActionError::at("prices", message));
        };
        if object.len() > PRICES_MAX {
            return Err(ActionError::at("prices", format!("more than {PRICES_MAX} prices")));
        }
        let mut prices = Prices::default();
        for (model, value) in object.iter() {
            prices.add(model, value).map_err(|error| error.under(model).under("prices"))?;
        }
        Ok(prices)
    }

    fn add(&mut self, model: &str, value: &Json) -> Result<(), ActionError> {
        let config: PriceConfig = read(value)?;
        let price = Price {
            input: money(&config.input.0).map_err(|error| error.under("input"))?,
            output: money(&config.output.0).map_err(|error| error.under("output"))?,
        };
        let glob = Glob::text(model).map_err(|error| ActionError::at("", error.to_string()))?;
        match glob.literals() {
            Some(names) => {
                self.exact.extend(names.into_iter().map(|name| (name.to_owned(), price)));
            }
            None => self.globs.push((glob, price)),
        }
        Ok(())
    }

    /// What this many tokens of a model cost, in millionths of the currency, rounded up; `None` when
    /// the table does not know the model.
    pub fn cost_micros(&self, model: &str, usage: &Usage) -> Option<u64> {
        let by_glob = || self.globs.iter().find(|(glob, _)| glob.matches(model));
        let price = self.exact.get(model).or_else(|| by_glob().map(|(_, price)| price))?;
        let input = u128::from(usage.tokens_in) * u128::from(price.input);
        let output = u128::from(usage.tokens_out) * u128::from(price.output);
        let micros = input.saturating_add(output).div_ceil(PRICED_TOKENS);
        Some(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// The usage with its cost, where it does not tell one and the table knows the model.
    #[must_use]
    pub fn fill(&self, model: &str, mut usage: Usage) -> Usage {
        if usage.cost_micros == 0 {
            usage.cost_micros = self.cost_micros(model, &usage).unwrap_or(0);
        }
        usage
    }
}

/// Totals by model, for a program to read or export. Tools that use tokens of their own count under
/// their names.
#[derive(Debug, Default)]
pub struct Meter {
    totals: Mutex<BTreeMap<Name, Totals>>,
}

/// What one model was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Calls that ran.
    pub calls: u64,
    /// Tokens read and written, and the cost.
    pub usage: Usage,
    /// Calls with tokens but without a known cost.
    pub unpriced: u64,
}

impl Meter {
    /// What was counted, by model.
    pub fn totals(&self) -> BTreeMap<Name, Totals> {
        self.lock().clone()
    }

    /// The totals as text, in the Prometheus exposition format (version 0.0.4).
    pub fn text(&self) -> String {
        let totals = self.totals();
        let mut out = String::new();
        type Read = fn(&Totals) -> u64;
        let counters: [(&str, &str, Read); 5] = [
            ("calls", "Calls that ran", |totals| totals.calls),
            ("tokens_in", "Tokens read", |totals| totals.usage.tokens_in),
            ("tokens_out", "Tokens written", |totals| totals.usage.tokens_out),
            ("cost_micros", "Cost in millionths", |totals| totals.usage.cost_micros),
            ("unpriced", "Calls without a known cost", |totals| totals.unpriced),
        ];
        // Writing to a string cannot fail.
        for (name, help, read) in counters {
            let name = format!("tollgate_usage_{name}_total");
            let _ = write!(out, "# HELP {name} {help}.\n# TYPE {name} counter\n");
            for (model, totals) in &totals {
                let model = shown(model, SHOWN_CHARS_MAX).to_string();
                let model = model.replace('\\', "\\\\").replace('"', "\\\"");
                let _ = writeln!(out, "{name}{{model=\"{model}\"}} {}", read(totals));
            }
        }
        out
    }

    fn add(&self, model: &str, usage: &Usage, priced: bool) {
        let mut totals = self.lock();
        let is_new = !totals.contains_key(model);
        let model = if is_new && totals.len() >= METERED_MAX { "other" } else { model };
        let totals = match totals.get_mut(model) {
            Some(totals) => totals,
            None => totals.entry(model.into()).or_default(),
        };
        totals.calls = totals.calls.saturating_add(1);
        let sum = &mut totals.usage;
        sum.tokens_in = sum.tokens_in.saturating_add(usage.tokens_in);
        sum.tokens_out = sum.tokens_out.saturating_add(usage.tokens_out);
        sum.cost_micros = sum.cost_micros.saturating_add(usage.cost_micros);
        totals.unpriced = totals.unpriced.saturating_add(u64::from(!priced));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Totals>> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watch {
    prices: Prices,
    label: Option<Label>,
    meter: Arc<Meter>,
}

struct Label {
    name: Name,
    tokens: Option<u64>,
    cost_micros: Option<u64>,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let config: Config = read(value)?;
    let prices = Prices::of(config.prices)?;
    let label = config.label.map(Label::of).transpose().map_err(|error| error.under("label"))?;
    Ok(handler(SPEC.name, value, Watch { prices, label, meter: Arc::clone(&context.meter) }))
}

impl Label {
    fn of(config: LabelConfig) -> Result<Label, ActionError> {
        check_label(&config.name).map_err(|error| error.under("name"))?;
        let tokens = config.tokens.map(|raw| tokens(&raw.0)).transpose();
        let cost = config.cost.map(|raw| money(&raw.0)).transpose();
        let label = Label {
            name: config.name.into(),
            tokens: tokens.map_err(|error| error.under("tokens"))?,
            cost_micros: cost.map_err(|error| error.under("cost"))?,
        };
        if label.tokens.is_none() && label.cost_micros.is_none() {
            return Err(ActionError::at("", "above which `tokens` or `cost`?"));
        }
        Ok(label)
    }

    fn is_due(&self, view: &View<'_>) -> bool {
        let tree = &view.session.tree;
        let tokens = tree.tokens_in.saturating_add(tree.tokens_out);
        (self.tokens.is_some_and(|max| tokens > max)
            || self.cost_micros.is_some_and(|max| tree.cost_micros > max))
            && !view.session.has_label(&self.name)
    }
}

impl Act for Watch {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        if let Some((model, usage)) = used(view.original) {
            let usage = self.prices.fill(model, usage);
            let is_priced = usage.cost_micros > 0
                || usage.tokens() == 0
                || self.prices.cost_micros(model, &usage).is_some();
            self.meter.add(model, &usage, is_priced);
        }
        Ok(match self.label.as_ref().filter(|label| label.is_due(view)) {
            Some(label) => Opinion::labels([Name::clone(&label.name)]),
            None => Opinion::none(),
        })
    }
}

/// The model (or the tool) and what it used, of a call that ran and used something.
fn used(payload: &Payload) -> Option<(&str, Usage)> {
    if let Payload::PostModel(outcome) = payload {
        let model = outcome.call.model().unwrap_or("unknown");
        return outcome.executed.then_some((model, outcome.usage));
    }
    let usage = payload.tool_result().filter(|result| result.executed)?.usage;
    let tool = &payload.tool_call()?.tool;
    (!usage.is_zero()).then_some((tool, usage))
}

#[cfg(test)]
mod tests {
    use super::{METERED_MAX, Meter, Prices, Usage};
    use tollgate_gate::Json;

    fn usage(tokens_in: u64, tokens_out: u64) -> Usage {
        Usage { tokens_in, tokens_out, cost_micros: 0 }
    }

    fn prices(value: &str) -> Result<Prices, super::ActionError> {
        Prices::of_action(&Json::read(value.as_bytes()).unwrap())
    }

    #[test]
    fn tokens_are_priced_exactly_and_rounded_up() {
        let prices = prices(
            r#"{"prices":{"mini":{"input":0.15,"output":0.60},"gpt*":{"input":2.5,"output":10}}}"#,
        );
        let prices = prices.unwrap();
        assert_eq!(prices.cost_micros("mini", &usage(1_000_000, 1_000_000)), Some(750_000));
        assert_eq!(prices.cost_micros("mini", &usage(1, 0)), Some(1));
        assert_eq!(prices.cost_micros("gpt-x", &usage(1_000, 500)), Some(7_500));
        assert_eq!(prices.cost_micros("gpt-x", &usage(u64::MAX, u64::MAX)), Some(u64::MAX));
        assert_eq!(prices.cost_micros("other", &usage(1, 1)), None);
        let told = Usage { cost_micros: 5, ..usage(1_000, 0) };
        assert_eq!(prices.fill("gpt-x", told).cost_micros, 5, "a cost that was told stays");
        assert_eq!(prices.fill("gpt-x", usage(1_000, 0)).cost_micros, 2_500);
    }

    #[test]
    fn a_meter_is_bounded_and_escapes_what_it_shows() {
        let meter = Meter::default();
        for model in 0..METERED_MAX + 10 {
            meter.add(&format!("m{model}"), &usage(1, 2), false);
        }
        let totals = meter.totals();
        assert_eq!(totals.len(), METERED_MAX + 1);
        assert_eq!((totals["other"].calls, totals["other"].unpriced), (10, 10));
        let meter = Meter::default();
        meter.add("a\"\n\u{202e}b", &usage(7, 0), true);
        let text = meter.text();
        assert!(
            text.contains(r#"tollgate_usage_tokens_in_total{model="a\"\\n\\u{202e}b"} 7"#),
            "{text}"
        );
    }

    #[test]
    fn mistakes_are_told_with_their_path() {
        let error = |value: &str| prices(value).err().map(|error| error.to_string());
        assert_eq!(
            error(r#"{"prices":{"m":{"input":-1,"output":1}}}"#).unwrap(),
            "prices.m.input: `-1` is no amount of money"
        );
        assert_eq!(
            error(r#"{"price":{}}"#).unwrap(),
            "price: unknown key `price`; the nearest known one is `prices`"
        );
        assert_eq!(
            error(r#"{"prices":{"m":{"input":1}}}"#).unwrap(),
            "prices.m: `output` is missing"
        );
    }
}
