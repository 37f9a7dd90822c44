//! What a policy says about detection: kinds, thresholds, rules, custom rules, allow-lists.
//!
//! These are the forms as written; [`DetectorBuilder::build`](crate::DetectorBuilder::build) turns them
//! into a detector once and refuses what does not make sense.

use crate::finding::{Kind, Severity};
use crate::validator::Validator;

/// What a policy says about one rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleSetting {
    /// Whether the rule is tried at all.
    pub enabled: bool,
    /// Findings are counted, nothing is masked.
    pub dry_run: bool,
    /// For how many in a hundred the rule takes effect, by [`Context::rollout_by`]; the rest see it as a
    /// dry run.
    pub rollout_percent: u8,
    /// Least score, instead of the detector's.
    pub threshold: Option<f32>,
    /// How bad its findings are, instead of what the rule says.
    pub severity: Option<Severity>,
}

impl RuleSetting {
    /// Enabled, for all, at the detector's threshold.
    pub const ON: Self = Self {
        enabled: true,
        dry_run: false,
        rollout_percent: 100,
        threshold: None,
        severity: None,
    };
    /// Never tried.
    pub const OFF: Self = Self { enabled: false, ..Self::ON };
}

/// A rule of the policy.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomRule {
    /// Its id; must differ from every other rule's.
    pub id: String,
    /// What sort of datum it finds.
    pub kind: Kind,
    /// How bad such a finding is.
    pub severity: Severity,
    /// A regular expression of the `regex` crate (linear time). With a capture group, the first group is
    /// the datum, otherwise the whole match. It sees one unit (about a line) at a time.
    pub pattern: String,
    /// Words one of which must stand in the unit; ASCII case is ignored. Without any the pattern runs on
    /// all text, which [`Detector::warnings`](crate::Detector::warnings) says.
    pub keywords: Vec<String>,
    /// Check digits that the datum must have.
    pub validator: Option<Validator>,
    /// Least Shannon entropy of the datum, in bits a character.
    pub entropy_min: f32,
    /// How sure a match is, from 0 to 1.
    pub score: f32,
    /// What it does at first.
    pub setting: RuleSetting,
}

/// Where a text comes from, as far as the caller knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Context<'a> {
    /// Name of the key that holds the text (the last one of a JSON path).
    pub key: Option<&'a str>,
    /// Path of the file or place, for the allow-list of paths.
    pub path: Option<&'a str>,
    /// Name of the tool, for the allow-list of tools.
    pub tool: Option<&'a str>,
    /// Whom a rollout counts by: tenant, user or session.
    pub rollout_by: Option<&'a str>,
}

impl<'a> Context<'a> {
    /// The same with the key's name.
    #[must_use]
    pub fn with_key(self, key: &'a str) -> Self {
        Self { key: Some(key), ..self }
    }
}

/// Why a detector could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting names a rule that does not exist.
    #[error("there is no rule `{id}`")]
    UnknownRule {
        /// The id that was given.
        id: String,
    },
    /// Two rules have one id.
    #[error("rule `{id}` exists already")]
    DuplicateRule {
        /// The id that was given.
        id: String,
    },
    /// A pattern does not compile, or is too large.
    #[error("pattern of `{id}`: {reason}")]
    Pattern {
        /// Id of the rule, or `allow` for an allow-list.
        id: String,
        /// What the regex crate says.
        reason: String,
    },
    /// A keyword too short to be searched for.
    #[error("keyword `{keyword}` of rule `{id}` is shorter than three bytes")]
    ShortKeyword {
        /// Id of the rule.
        id: String,
        /// The keyword.
        keyword: String,
    },
    /// More custom rules than the cap.
    #[error("more than {max} custom rules")]
    TooManyRules {
        /// The cap.
        max: usize,
    },
    /// A threshold or score outside 0 to 1, or a rollout above 100.
    #[error("`{what}` is out of range")]
    OutOfRange {
        /// Which value.
        what: String,
    },
}
