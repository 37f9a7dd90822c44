//! The detector: rules, settings and the tables made of them, once; then any number of scans.
//!
//! A detector is immutable and cheap to share. Scanning allocates nothing when nothing is found. It
//! does no I/O, reads no clock and keeps no state between texts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::allow::{Allow, AllowWith, AllowWritten};
use crate::ascii::floor_char;
use crate::config::{BuildError, Context, CustomRule, RuleSetting};
use crate::cues::{self, Cue};
use crate::digest::hmac_sha256;
use crate::finding::{Category, Finding, Kind, RuleId, Severity, Standing};
use crate::hit::{Hit, resolve};
use crate::limits::{CUSTOM_PATTERN_BYTES_MAX, CUSTOM_PROGRAM_BYTES_MAX, CUSTOM_RULES_MAX};
use crate::mask::preview;
use crate::model::{NameModel, NameModelError};
use crate::prefilter::{Keyword, Prefilter};
use crate::region::Region;
use crate::rules;
use crate::spot::{Spot, Spots, plain_bytes, structured};
use crate::validator::Validator;
use crate::value::entropy;

/// Least score of a finding unless the policy says otherwise.
pub const THRESHOLD: f32 = 0.5;

/// What holds for one rule, built in or custom.
#[derive(Debug, Clone)]
struct RuleState {
    id: RuleId,
    kind: Kind,
    severity: Severity,
    setting: RuleSetting,
}

#[derive(Debug)]
struct Custom {
    regex: regex::Regex,
    keywords: bool,
    validator: Option<Validator>,
    entropy_min: f32,
    score: f32,
    rule: usize,
}

/// Finds secrets and personal data. Made by [`Detector::builder`].
pub struct Detector {
    prefilter: Prefilter,
    rules: Vec<RuleState>,
    customs: Vec<Custom>,
    allow: Allow,
    model: Option<Arc<dyn NameModel>>,
    /// Regions whose national telephone numbers count; `None`: all.
    regions: Option<Vec<Region>>,
    threshold: f32,
    census: bool,
    only_data: bool,
}

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detector")
            .field("rules", &self.rules.len())
            .field("threshold", &self.threshold)
            .finish_non_exhaustive()
    }
}

/// What a scan with its context brings.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// What was found, by position; findings do not overlap, but those of dry-run rules may overlap
    /// active ones.
    pub findings: Vec<Finding>,
    /// Set when a name model gave no answer: the text was not wholly looked at.
    pub incomplete: Option<NameModelError>,
}

/// Collects settings; see [`Detector::builder`].
#[derive(Default)]
pub struct DetectorBuilder {
    kinds: Option<Vec<Kind>>,
    threshold: Option<f32>,
    settings: HashMap<String, RuleSetting>,
    customs: Vec<CustomRule>,
    allow: AllowWritten,
    regions: Option<Vec<Region>>,
    model: Option<Arc<dyn NameModel>>,
}

impl std::fmt::Debug for DetectorBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DetectorBuilder").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl DetectorBuilder {
    /// Finds these kinds only. Unless called: secrets and personal data, and custom rules; no names.
    #[must_use]
    pub fn find(mut self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        self.kinds.get_or_insert_default().extend(kinds);
        self
    }

    /// Finds the kinds of these groups; adds up with [`DetectorBuilder::find`].
    #[must_use]
    pub fn find_categories(self, categories: impl IntoIterator<Item = Category>) -> Self {
        let categories: Vec<Category> = categories.into_iter().collect();
        self.find(Kind::ALL.into_iter().filter(move |kind| categories.contains(&kind.category())))
    }

    /// Least score of a finding, from 0 to 1; [`THRESHOLD`] unless called.
    #[must_use]
    pub fn threshold(mut self, threshold: f32) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// What holds for one rule.
    #[must_use]
    pub fn rule(mut self, id: impl Into<String>, setting: RuleSetting) -> Self {
        self.settings.insert(id.into(), setting);
        self
    }

    /// Adds a rule of the policy.
    #[must_use]
    pub fn custom(mut self, rule: CustomRule) -> Self {
        self.customs.push(rule);
        self
    }

    /// Exempts a datum with exactly this value.
    #[must_use]
    pub fn allow_value(mut self, value: impl Into<String>) -> Self {
        self.allow.values.insert(value.into());
        self
    }

    /// Exempts data that match this regular expression as a whole.
    #[must_use]
    pub fn allow_pattern(mut self, pattern: impl Into<String>) -> Self {
        self.allow.patterns.push(pattern.into());
        self
    }

    /// Exempts data that this says of, one by one.
    #[must_use]
    pub fn allow_with(mut self, with: Arc<dyn AllowWith>) -> Self {
        self.allow.with = Some(with);
        self
    }

    /// Exempts texts from paths that match this glob (`*`, `**`, `?`).
    #[must_use]
    pub fn allow_path(mut self, glob: impl Into<String>) -> Self {
        self.allow.paths.push(glob.into());
        self
    }

    /// Exempts texts of tools whose name matches this glob.
    #[must_use]
    pub fn allow_tool(mut self, glob: impl Into<String>) -> Self {
        self.allow.tools.push(glob.into());
        self
    }

    /// Takes national telephone numbers of these regions only; adds up. Unless called: of all. Numbers
    /// with a country code and Chinese mobiles always count.
    #[must_use]
    pub fn phone_regions(mut self, regions: impl IntoIterator<Item = Region>) -> Self {
        self.regions.get_or_insert_default().extend(regions);
        self
    }

    /// Asks this model about names as well.
    #[must_use]
    pub fn name_model(mut self, model: Arc<dyn NameModel>) -> Self {
        self.model = Some(model);
        self
    }

    /// The detector.
    ///
    /// # Errors
    /// When a setting names no rule, an id is taken, a pattern does not compile or a number is out of
    /// range.
    pub fn build(mut self) -> Result<Detector, BuildError> {
        let threshold = self.threshold.unwrap_or(THRESHOLD);
        if !(0.0..=1.0).contains(&threshold) {
            return Err(BuildError::OutOfRange { what: "threshold".to_owned() });
        }
        let mut rules = self.states()?;
        let customs = self.compile_customs(&mut rules)?;
        for (id, setting) in &self.settings {
            let fits = setting.rollout_percent <= 100
                && setting.threshold.is_none_or(|threshold| (0.0..=1.0).contains(&threshold));
            if !fits {
                return Err(BuildError::OutOfRange { what: id.clone() });
            }
            let state = rules.iter_mut().find(|state| state.id.as_str() == id);
            let state = state.ok_or_else(|| BuildError::UnknownRule { id: id.clone() })?;
            state.setting = *setting;
            state.severity = setting.severity.unwrap_or(state.severity);
        }
        let prefilter = prefilter(&rules, &self.customs, &customs);
        let census = rules.iter().any(|state| {
            state.setting.enabled
                && (state.kind.category() == Category::Pii
                    || state.kind.category() == Category::Secrets)
        });
        let names = rules
            .iter()
            .any(|state| state.setting.enabled && state.kind.category() == Category::Names);
        let only_data = customs.is_empty() && self.model.is_none() && !names;
        Ok(Detector {
            prefilter,
            rules,
            customs,
            allow: std::mem::take(&mut self.allow).compile()?,
            model: self.model.take(),
            regions: self.regions.take(),
            threshold,
            census,
            only_data,
        })
    }

    fn states(&self) -> Result<Vec<RuleState>, BuildError> {
        let wanted = |kind: Kind| match &self.kinds {
            Some(kinds) => kinds.contains(&kind),
            None => kind.category() != Category::Names,
        };
        let mut states = Vec::with_capacity(rules::COUNT + self.customs.len());
        for rule in rules::all() {
            let setting = if wanted(rule.kind) { RuleSetting::ON } else { RuleSetting::OFF };
            states.push(RuleState {
                id: RuleId::fixed(rule.id),
                kind: rule.kind,
                severity: rule.severity,
                setting,
            });
        }
        if self.customs.len() > CUSTOM_RULES_MAX {
            return Err(BuildError::TooManyRules { max: CUSTOM_RULES_MAX });
        }
        for custom in &self.customs {
            if states.iter().any(|state| state.id.as_str() == custom.id) {
                return Err(BuildError::DuplicateRule { id: custom.id.clone() });
            }
            states.push(RuleState {
                id: RuleId::named(&custom.id),
                kind: custom.kind,
                severity: custom.setting.severity.unwrap_or(custom.severity),
                setting: custom.setting,
            });
        }
        Ok(states)
    }

    fn compile_customs(&self, rules: &mut [RuleState]) -> Result<Vec<Custom>, BuildError> {
        let first = rules.len() - self.customs.len();
        self.customs
            .iter()
            .enumerate()
            .map(|(place, custom)| compile_custom(custom, first + place))
            .collect()
    }
}

fn compile_custom(custom: &CustomRule, rule: usize) -> Result<Custom, BuildError> {
    let wrong = |reason: String| BuildError::Pattern { id: custom.id.clone(), reason };
    if custom.pattern.len() > CUSTOM_PATTERN_BYTES_MAX {
        return Err(wrong(format!("longer than {CUSTOM_PATTERN_BYTES_MAX} bytes")));
    }
    if !(0.0..=1.0).contains(&custom.score) || custom.setting.rollout_percent > 100 {
        return Err(BuildError::OutOfRange { what: custom.id.clone() });
    }
    if let Some(short) = custom.keywords.iter().find(|keyword| keyword.len() < 3) {
        return Err(BuildError::ShortKeyword { id: custom.id.clone(), keyword: short.clone() });
    }
    let regex = regex::RegexBuilder::new(&custom.pattern)
        .size_limit(CUSTOM_PROGRAM_BYTES_MAX)
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    Ok(Custom {
        regex,
        keywords: !custom.keywords.is_empty(),
        validator: custom.validator,
        entropy_min: custom.entropy_min,
        score: custom.score,
        rule,
    })
}

/// The table over the keywords of all enabled rules.
fn prefilter(states: &[RuleState], written: &[CustomRule], customs: &[Custom]) -> Prefilter {
    let on = |index: usize| states.get(index).is_some_and(|state| state.setting.enabled);
    let secrets_only = rules::all()
        .zip(states)
        .all(|(rule, state)| (rule.kind.category() == Category::Secrets) == state.setting.enabled);
    if secrets_only && customs.is_empty() {
        return Prefilter::of_secrets();
    }
    let built_in = cues::ALL.iter().filter(|word| word.gate.is_open(on)).map(Keyword::of);
    let customs = written.iter().zip(customs).filter(|(_, compiled)| on(compiled.rule));
    let customs = customs.flat_map(|(custom, compiled)| custom_cues(custom, compiled));
    Prefilter::new(built_in.chain(customs).collect())
}

/// The keywords of a rule of the policy; those stand behind the built-in ones.
fn custom_cues(custom: &CustomRule, compiled: &Custom) -> impl Iterator<Item = Keyword> {
    let cue = Cue::Custom(compiled.rule - rules::COUNT);
    custom.keywords.iter().map(move |word| {
        let bytes = Cow::Owned(word.as_bytes().to_vec());
        Keyword { len: word.len(), bytes, exact: false, cue }
    })
}

impl Detector {
    /// A builder with the defaults.
    #[must_use]
    pub fn builder() -> DetectorBuilder {
        DetectorBuilder::default()
    }

    /// Everything found in a text.
    #[must_use]
    pub fn scan(&self, text: &str) -> Vec<Finding> {
        self.inspect(text, &Context::default()).findings
    }

    /// Everything found in a text of that origin, and whether all of it was looked at. JSON is opened.
    #[must_use]
    pub fn inspect(&self, text: &str, ctx: &Context<'_>) -> Inspection {
        let mut spots = structured(self, text, ctx);
        spots.list.sort_by_key(|spot| (spot.start, spot.end));
        Inspection {
            findings: self.findings_of(text.as_bytes(), &spots.list),
            incomplete: spots.fault,
        }
    }

    /// The same for bytes that may not be UTF-8; those that are not are looked at as plain text.
    #[must_use]
    pub fn inspect_bytes(&self, bytes: &[u8], ctx: &Context<'_>) -> Inspection {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.inspect(text, ctx);
        }
        let mut spots = Spots::default();
        if !self.exempts_place(ctx) {
            plain_bytes(self, bytes, ctx, &mut spots);
        }
        Inspection { findings: self.findings_of(bytes, &spots.list), incomplete: spots.fault }
    }

    /// What the caller should know about the settings: custom rules without keywords cost time on all text.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let slow = self.customs.iter().filter(|custom| !custom.keywords);
        slow.filter_map(|custom| self.rules.get(custom.rule))
            .map(|state| format!("rule `{}` has no keywords and runs on all text", state.id))
            .collect()
    }

    /// The findings of spots that are sorted by position.
    pub(crate) fn findings_of(&self, bytes: &[u8], spots: &[Spot]) -> Vec<Finding> {
        let mut line = 1;
        let mut counted = 0;
        spots
            .iter()
            .filter_map(|spot| {
                let state = self.rules.get(spot.hit.rule)?;
                let passed = bytes.get(counted..spot.start).unwrap_or(&[]);
                line += memchr::memchr_iter(b'\n', passed).count();
                counted = counted.max(spot.start);
                Some(Finding {
                    start: spot.start,
                    end: spot.end,
                    line,
                    rule: state.id.clone(),
                    kind: state.kind,
                    severity: state.severity,
                    score: spot.hit.score,
                    standing: spot.standing,
                    masked: preview(state.kind, &spot.datum),
                })
            })
            .collect()
    }

    /// The hits that count, without overlaps among the active ones, by position.
    pub(crate) fn judged(
        &self,
        text: &str,
        hits: Vec<Hit>,
        ctx: &Context<'_>,
    ) -> Vec<(Hit, Standing)> {
        let mut active = Vec::new();
        let mut dry = Vec::new();
        for mut hit in hits {
            let Some(state) = self.rules.get(hit.rule) else { continue };
            // Only what counts is asked about: who is asked may have to compute.
            let exempt = || {
                let value = text.get(hit.start..hit.end);
                value.is_some_and(|value| self.allow.exempts_value(state.id.as_str(), value))
            };
            if !self.counts(&hit) || (!self.allow.is_idle() && exempt()) {
                continue;
            }
            (hit.start, hit.end) = (floor_char(text, hit.start), hit.end);
            if state.setting.dry_run || !rolled_out(state, ctx) {
                dry.push(hit)
            } else {
                active.push(hit)
            }
        }
        let mut all: Vec<(Hit, Standing)> =
            resolve(active).into_iter().map(|hit| (hit, Standing::Active)).collect();
        all.extend(resolve(dry).into_iter().map(|hit| (hit, Standing::DryRun)));
        all.sort_by_key(|(hit, _)| (hit.start, hit.end));
        all
    }

    /// Whether the hit's rule is on and its score reaches the threshold.
    pub(crate) fn counts(&self, hit: &Hit) -> bool {
        self.rules.get(hit.rule).is_some_and(|state| {
            state.setting.enabled && hit.score >= state.setting.threshold.unwrap_or(self.threshold)
        })
    }

    pub(crate) fn exempts_place(&self, ctx: &Context<'_>) -> bool {
        self.allow.exempts_place(ctx)
    }

    pub(crate) fn kind_of(&self, hit: &Hit) -> Option<Kind> {
        self.rules.get(hit.rule).map(|state| state.kind)
    }

    pub(crate) fn rule_of(&self, hit: &Hit) -> Option<&RuleId> {
        self.rules.get(hit.rule).map(|state| &state.id)
    }

    /// Whether a telephone number in national form is of a region that counts.
    pub(crate) fn admits_national(&self, number: &[u8]) -> bool {
        let Some(regions) = &self.regions else { return true };
        let digits: Vec<u8> = number.iter().copied().filter(u8::is_ascii_digit).collect();
        regions.iter().any(|region| region.admits(&digits))
    }

    pub(crate) fn prefilter(&self) -> &Prefilter {
        &self.prefilter
    }

    pub(crate) fn cue(&self, keyword: usize) -> Option<(Cue, usize)> {
        self.prefilter.cue(keyword)
    }

    /// Whether neither names nor rules of the policy are looked for, which may be of any length.
    pub(crate) fn reads_only_data(&self) -> bool {
        self.only_data
    }

    pub(crate) fn wants_census(&self) -> bool {
        self.census
    }

    pub(crate) fn name_model(&self) -> Option<&dyn NameModel> {
        self.model.as_deref()
    }

    pub(crate) fn customs_without_keyword(&self) -> impl Iterator<Item = usize> + use<> {
        let list: Vec<usize> = self
            .customs
            .iter()
            .enumerate()
            .filter(|(_, custom)| !custom.keywords)
            .map(|(index, _)| index)
            .collect();
        list.into_iter()
    }

    pub(crate) fn custom_hits(&self, index: usize, unit: &str) -> Vec<Hit> {
        let Some(custom) = self.customs.get(index) else { return Vec::new() };
        custom
            .regex
            .captures_iter(unit)
            .filter_map(|found| {
                let datum = found.get(1).or_else(|| found.get(0))?;
                let sound = !datum.is_empty()
                    && entropy(datum.as_str().as_bytes()) >= custom.entropy_min
                    && custom.validator.is_none_or(|check| check.accepts(datum.as_str()));
                sound.then(|| Hit::secret(datum.start(), datum.end(), custom.rule, custom.score, 3))
            })
            .collect()
    }
}

/// Whether the rule takes effect for this subject. The same subject always gets the same answer, and
/// different rules roll out to different subjects.
fn rolled_out(state: &RuleState, ctx: &Context<'_>) -> bool {
    let percent = state.setting.rollout_percent;
    if percent >= 100 {
        return true;
    }
    // Whom nobody knows is not left out: in doubt the rule takes effect.
    let Some(subject) = ctx.rollout_by.filter(|subject| !subject.is_empty()) else { return true };
    let digest = hmac_sha256(b"rollout", &[state.id.as_str().as_bytes(), subject.as_bytes()]);
    let number = digest.iter().take(4).fold(0u32, |sum, byte| (sum << 8) | u32::from(*byte));
    number % 100 < u32::from(percent)
}
