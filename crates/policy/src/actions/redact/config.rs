//! The value of `redact` as it is written.

use crate::actions::read::{OneOrMany, Raw};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// What to find: `secrets`, `pii`, `names`, a kind of datum (`email`, `phone`), a rule (`github-pat`),
    /// `mobile`, and what the program brings.
    #[serde(default)]
    pub(super) find: OneOrMany<String>,
    /// Lines that hold one of these markers are masked whole.
    #[serde(default)]
    pub(super) lines: OneOrMany<String>,
    /// What a regular expression finds, with a mask that may use its groups.
    #[serde(default)]
    pub(super) patterns: Vec<PatternConfig>,
    /// What stands in place of what is found; `plain` when left out.
    #[schemars(with = "Option<MaskSchema>")]
    pub(super) mask: Option<Raw>,
    /// Masks of groups, kinds or rules; the nearest name holds.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, MaskSchema>")]
    pub(super) masks: BTreeMap<String, Raw>,
    /// What becomes of a number that is masked.
    #[serde(default)]
    pub(super) numbers: Numbers,
    /// Least score of a finding, from 0 to 1; 0.5 when left out.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(super) threshold: Option<f64>,
    /// Thresholds of groups, kinds or rules; the nearest name holds.
    #[serde(default)]
    pub(super) thresholds: BTreeMap<String, f64>,
    /// Regions whose national telephone numbers count, by ISO code; all when left out.
    #[serde(default)]
    pub(super) phone_regions: OneOrMany<String>,
    /// What holds for single rules.
    #[serde(default)]
    pub(super) rules: BTreeMap<String, RuleConfig>,
    /// Whom the rollouts of rules go by.
    #[serde(default)]
    pub(super) rollout_by: By,
    /// Rules of the policy's own.
    #[serde(default)]
    pub(super) custom: Vec<CustomConfig>,
    /// What is left alone.
    #[serde(default)]
    pub(super) allow: AllowConfig,
    /// A model that finds names.
    pub(super) ner: Option<NerConfig>,
}

/// What a regular expression finds, and what stands in its place.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternConfig {
    /// What the finding is called in the record.
    pub(super) name: Option<String>,
    /// A regular expression, in the syntax of Rust's `regex` (no look-around, linear time).
    pub(super) pattern: String,
    /// What stands in its place; `$1` or `${name}` is a group of the pattern.
    pub(super) mask: Option<String>,
}

/// What becomes of a number that is masked.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Numbers {
    /// It becomes a text that holds the mask.
    #[default]
    Text,
    /// It becomes `0`, for places whose schema wants a number.
    Zero,
}

/// Whom the rollouts of rules go by.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// The session.
    #[default]
    Session,
    /// The tenant.
    Tenant,
    /// The user.
    User,
}

/// What holds for one rule.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleConfig {
    /// Whether it is tried; `true` adds a rule that `find` does not name.
    pub(super) enabled: Option<bool>,
    /// What it finds is counted and not masked.
    #[serde(default)]
    pub(super) dry_run: bool,
    /// For how many in a hundred it takes effect; the others see it as a dry run.
    #[schemars(range(min = 0, max = 100))]
    pub(super) rollout: Option<u8>,
    /// Least score of its findings, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(super) threshold: Option<f64>,
    /// How bad its findings are, in the record.
    pub(super) severity: Option<Severity>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    /// Hardly harmful alone.
    Low,
    /// Harmful to one person or account.
    Medium,
    /// Opens an account or service.
    High,
    /// Opens money, an organisation or an infrastructure.
    Critical,
}

/// A rule of the policy's own.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CustomConfig {
    /// Its id, which stands in records and under which `rules` and `masks` name it.
    pub(super) id: String,
    /// A regular expression; its first group is the datum, or the whole match when it has none.
    pub(super) pattern: String,
    /// Words one of which must stand in the text for the pattern to be tried; without any it runs on all text.
    #[serde(default)]
    pub(super) keywords: OneOrMany<String>,
    /// What sort of datum it finds; `custom` when left out.
    pub(super) kind: Option<String>,
    /// Check digits that the datum must have.
    pub(super) validator: Option<Validator>,
    /// Least Shannon entropy of the datum, in bits a character.
    pub(super) entropy: Option<f64>,
    /// How sure a match is, from 0 to 1; 0.8 when left out.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(super) score: Option<f64>,
    /// How bad its findings are; `medium` when left out.
    pub(super) severity: Option<Severity>,
    /// What stands in place of what it finds.
    #[schemars(with = "Option<MaskSchema>")]
    pub(super) mask: Option<Raw>,
    /// Texts in which it must find something; looked at when the policy is loaded.
    #[serde(default, rename = "match")]
    pub(super) hits: OneOrMany<String>,
    /// Texts in which it must find nothing; looked at when the policy is loaded.
    #[serde(default, rename = "no_match")]
    pub(super) misses: OneOrMany<String>,
}

impl CustomConfig {
    /// A rule whose every match counts.
    pub(super) fn sure(id: String, pattern: String) -> CustomConfig {
        CustomConfig {
            id,
            pattern,
            keywords: OneOrMany::default(),
            kind: None,
            validator: None,
            entropy: None,
            score: Some(1.0),
            severity: None,
            mask: None,
            hits: OneOrMany::default(),
            misses: OneOrMany::default(),
        }
    }
}

/// Check digits.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Validator {
    /// Cards and many customer numbers.
    Luhn,
    /// Aadhaar and others.
    Verhoeff,
    /// IBAN and its kin.
    Mod97,
}

/// What is left alone.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AllowConfig {
    /// Data with exactly this value.
    #[serde(default)]
    pub(super) values: OneOrMany<String>,
    /// Data that match this regular expression as a whole.
    #[serde(default)]
    pub(super) patterns: OneOrMany<String>,
    /// What comes of calls that are known to read these paths and nothing else.
    #[serde(default)]
    pub(super) paths: OneOrMany<String>,
    /// What comes of these tools.
    #[serde(default)]
    pub(super) tools: OneOrMany<String>,
    /// Data of which a person said with `tollgate review false` that this hook was wrong to find them. The
    /// record then holds a keyed fingerprint of each datum. Not in a project's policy.
    #[serde(default)]
    pub(super) reviewed: bool,
}

/// A model that finds names.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NerConfig {
    /// The model's folder, as an absolute path.
    pub(super) model: String,
    /// Most text of one event that the model reads, in bytes; 16384 when left out.
    pub(super) bytes: Option<u64>,
    /// Most time that the model takes for one event, such as `500ms`; `2s` when left out.
    pub(super) time: Option<String>,
}

/// A mask as it is written.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum MaskSchema {
    /// `label`, `plain`, `stars`, `shape`, `hash`, or a text that stands there itself.
    Word(String),
    /// Stars that keep some of the datum.
    Stars(StarsForm),
    /// A text that stands there itself, whatever it says.
    Text(TextForm),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StarsForm {
    /// Stars that keep some of the datum.
    pub(super) stars: StarsConfig,
}

/// How much stars keep. Of a secret at most a quarter in all, and nothing of one under 16 characters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StarsConfig {
    /// Characters kept at the start.
    #[serde(default)]
    pub(super) first: u16,
    /// Characters kept at the end.
    #[serde(default)]
    pub(super) last: u16,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TextForm {
    /// What stands there.
    pub(super) text: String,
}
