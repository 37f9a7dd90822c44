//! The detector of a `redact`: from what the policy says to one detector, and its run over an event.
//!
//! All that `find`, `rules`, `thresholds`, `custom`, `allow` and `ner` say goes into one detector, so
//! that a text is looked at once. What a policy says of names goes from the general to the special: a
//! group, then a kind, then a rule; the most special holds.

use super::config::{By, Config, CustomConfig, Numbers, RuleConfig, Severity, Validator};
use super::masks::{MaskForm, OfSession};
use super::reviewed::Reviewed;
use super::{Found, Seen};
use crate::actions::read::unknown;
use crate::actions::{ActionContext, ActionError, Patterns};
use crate::detection::{MaskKeyError, MaskKeys};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tollgate_detect::{
    AllowWith, BuildError, Category, Context, CustomRule, Detector, DetectorBuilder, HashKey, Kind,
    NumberMask, Redactor, Region, Rule, RuleSetting, Standing, THRESHOLD, rules,
};
use tollgate_gate::{HandlerError, Name, Vault, VaultOwner, View};

/// How sure a custom rule's match is unless it says so.
const CUSTOM_SCORE: f64 = 0.8;
/// What is found when a text could not be looked at wholly.
const UNSCANNED_RULE: &str = "unscanned";
/// Groups of kinds, as a policy names them.
const GROUPS: [(&str, Category); 3] =
    [("secrets", Category::Secrets), ("pii", Category::Pii), ("names", Category::Names)];

/// What a name of the policy stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What<'n> {
    /// All kinds of a group.
    Group(Category),
    /// One kind of datum.
    Kind(Kind),
    /// One rule.
    Rule(&'n str),
}

impl<'n> What<'n> {
    /// The group, kind or rule of this name; `custom` are the ids of the policy's own rules.
    pub(super) fn of(name: &'n str, custom: &[CustomConfig]) -> Option<What<'n>> {
        if let Some((_, group)) = GROUPS.iter().find(|(known, _)| *known == name) {
            return Some(What::Group(*group));
        }
        if let Some(kind) = Kind::from_name(name) {
            return Some(What::Kind(kind));
        }
        is_rule(name, custom).then_some(What::Rule(name))
    }

    /// Whether it speaks of a rule.
    fn holds(self, id: &str, kind: Kind) -> bool {
        match self {
            What::Group(group) => kind.category() == group,
            What::Kind(one) => one == kind,
            What::Rule(rule) => rule == id,
        }
    }

    /// The more special, the higher.
    fn rank(self) -> u8 {
        match self {
            What::Group(_) => 0,
            What::Kind(_) => 1,
            What::Rule(_) => 2,
        }
    }
}

fn is_rule(name: &str, custom: &[CustomConfig]) -> bool {
    rules().any(|rule| rule.id == name) || custom.iter().any(|rule| rule.id == name)
}

/// The error of a name that stands for nothing.
pub(super) fn unknown_name(name: &str, custom: &[CustomConfig], more: &[&str]) -> ActionError {
    let groups = GROUPS.iter().map(|(name, _)| (*name).to_owned());
    let kinds = Kind::ALL.into_iter().map(|kind| kind.name().to_owned());
    let more = more.iter().map(|name| (*name).to_owned());
    let mut names: Vec<String> = more.chain(groups).chain(kinds).collect();
    let remedy = format!("known: {}, and the ids of rules", names.join(", "));
    names.extend(rules().map(|rule| rule.id.to_owned()));
    names.extend(custom.iter().map(|rule| rule.id.clone()));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    unknown("finding", name, &names).remedy(remedy)
}

/// Forms of masks by name.
struct Forms {
    all: MaskForm,
    by_kind: Vec<(Kind, MaskForm)>,
    by_rule: Vec<(String, MaskForm)>,
}

impl Forms {
    fn of(&self, rule: &str, kind: Kind) -> &MaskForm {
        let by_rule = self.by_rule.iter().find(|(known, _)| known == rule).map(|(_, form)| form);
        let by_kind =
            || self.by_kind.iter().find(|(known, _)| *known == kind).map(|(_, form)| form);
        by_rule.or_else(by_kind).unwrap_or(&self.all)
    }

    fn any(&self, is: impl Fn(&MaskForm) -> bool) -> bool {
        let by_kind = self.by_kind.iter().map(|(_, form)| form);
        let by_rule = self.by_rule.iter().map(|(_, form)| form);
        std::iter::once(&self.all).chain(by_kind).chain(by_rule).any(is)
    }

    fn redactor(
        &self,
        detector: &Arc<Detector>,
        key: Option<&HashKey>,
        vault: Option<&Arc<OfSession>>,
    ) -> Redactor {
        let mut redactor = Redactor::new(Arc::clone(detector)).mask(self.all.mask(key, vault));
        for (kind, form) in &self.by_kind {
            redactor = redactor.mask_kind(*kind, form.mask(key, vault));
        }
        for (rule, form) in &self.by_rule {
            redactor = redactor.mask_rule(rule.as_str(), form.mask(key, vault));
        }
        redactor
    }
}

/// Keyed masks: the source of the key, and the redactor of the last tenant.
struct Keyed {
    keys: Arc<dyn MaskKeys>,
    key: OnceLock<Result<[u8; 32], MaskKeyError>>,
    last: Mutex<Option<(Name, Arc<Redactor>)>>,
}

impl Keyed {
    /// The key of a tenant.
    fn key_of(&self, tenant: &str) -> Result<HashKey, MaskKeyError> {
        let key = self.key.get_or_init(|| self.keys.key()).clone()?;
        Ok(HashKey::for_tenant(&key, tenant))
    }
}

/// A detector with its masks.
pub(super) struct Detecting {
    redactor: Arc<Redactor>,
    forms: Forms,
    keyed: Option<Keyed>,
    vault: Option<Arc<dyn Vault>>,
    reviewed: Option<Arc<Reviewed>>,
    rollout_by: By,
}

impl Detecting {
    /// The detector of a configuration; `None` when it asks for none.
    pub(super) fn of(
        config: &Config,
        find: &[What<'_>],
        context: &ActionContext,
    ) -> Result<Option<Detecting>, ActionError> {
        let adds_rule = config.rules.values().any(|rule| rule.enabled == Some(true));
        if find.is_empty() && config.custom.is_empty() && !adds_rule {
            unused(config)?;
            return Ok(None);
        }
        let forms = forms(config)?;
        let mut builder = Detector::builder()
            .find([])
            .threshold(threshold("threshold", config.threshold)?.unwrap_or(THRESHOLD));
        builder = settings(builder, config, find)?;
        builder = customs(builder, config, context)?;
        builder = allowed(builder, config, context)?;
        builder = regions(builder, config)?;
        let reviewed = Reviewed::of(&config.allow, context)?.map(Arc::new);
        if let Some(reviewed) = &reviewed {
            builder = builder.allow_with(Arc::clone(reviewed) as Arc<dyn AllowWith>);
        }
        match &config.ner {
            Some(ner) => builder = builder.name_model(super::ner::model(ner, find, context)?),
            None => super::ner::needs_none(find)?,
        }
        let detector = builder.build().map_err(|error| built(&error, config))?;
        let detector = Arc::new(detector);
        checked_texts(&forms, &detector)?;
        let keyed = if forms.any(|form| *form == MaskForm::Hash) {
            let Some(keys) = &context.sources.keys else {
                let error = ActionError::at("mask", "this program has no key for `hash` masks");
                return Err(error.remedy("another mask, such as `label`"));
            };
            Some(Keyed { keys: Arc::clone(keys), key: OnceLock::new(), last: Mutex::default() })
        } else {
            None
        };
        let mut vault = None;
        if forms.any(|form| *form == MaskForm::Vault) {
            vault.clone_from(&context.sources.vault);
            if vault.is_none() {
                let error = ActionError::at("mask", "this program has no vault for `vault` masks");
                return Err(error.remedy("another mask, such as `label`"));
            }
        }
        let redactor = Arc::new(forms.redactor(&detector, None, None));
        let rollout_by = config.rollout_by;
        Ok(Some(Detecting { redactor, forms, keyed, vault, reviewed, rollout_by }))
    }

    /// The detector alone.
    pub(super) fn detector(&self) -> &Arc<Detector> {
        self.redactor.detector()
    }

    /// The redactor of this event: a keyed mask differs from tenant to tenant, a placeholder from session to
    /// session. With it the session's vault, where one is used.
    pub(super) fn redactor(
        &self,
        view: &View<'_>,
    ) -> Result<(Arc<Redactor>, Option<Arc<OfSession>>), HandlerError> {
        let owner = VaultOwner::of(&view.event.session);
        let Some(vault) = &self.vault else {
            let redactor = self.redactor_of(owner.tenant).map_err(HandlerError::new)?;
            return Ok((redactor, None));
        };
        let of_session = Arc::new(OfSession {
            vault: Arc::clone(vault),
            tenant: owner.tenant.to_owned(),
            session: owner.session.to_owned(),
            failed: AtomicBool::new(false),
        });
        let key = self.key_of(owner.tenant).map_err(HandlerError::new)?;
        let detector = self.redactor.detector();
        let redactor = self.forms.redactor(detector, key.as_ref(), Some(&of_session));
        Ok((Arc::new(redactor), Some(of_session)))
    }

    /// The key of keyed masks for a tenant; none where no mask is keyed.
    fn key_of(&self, tenant: &str) -> Result<Option<HashKey>, MaskKeyError> {
        self.keyed.as_ref().map(|keyed| keyed.key_of(tenant)).transpose()
    }

    /// The redactor of this tenant.
    pub(super) fn redactor_of(&self, tenant: &str) -> Result<Arc<Redactor>, MaskKeyError> {
        let Some(keyed) = &self.keyed else { return Ok(Arc::clone(&self.redactor)) };
        let mut last = keyed.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, redactor)) = last.as_ref().filter(|(known, _)| &**known == tenant) {
            return Ok(Arc::clone(redactor));
        }
        let of_tenant = keyed.key_of(tenant)?;
        let redactor = self.forms.redactor(self.redactor.detector(), Some(&of_tenant), None);
        let redactor = Arc::new(redactor);
        *last = Some((tenant.into(), Arc::clone(&redactor)));
        Ok(redactor)
    }

    /// Whom the rollouts of rules go by, in this event.
    pub(super) fn subject<'v>(&self, view: &'v View<'_>) -> Option<&'v str> {
        let session = &view.event.session;
        match self.rollout_by {
            By::Session => Some(session.root.as_deref().unwrap_or(&session.id)),
            By::Tenant => session.tenant.as_deref(),
            By::User => session.user.as_deref(),
        }
    }

    /// One text, masked; `None` when it stays as it is.
    pub(super) fn run(
        &self,
        redactor: &Redactor,
        text: &str,
        context: &Context<'_>,
        seen: &mut Seen,
    ) -> Option<String> {
        let out = redactor.redact(text, context);
        if out.incomplete.is_some() {
            seen.found(Found::of(UNSCANNED_RULE));
        }
        let masked = out.text.filter(|masked| masked != text);
        for finding in &out.findings {
            let rule = finding.rule.as_str();
            let dry_run = finding.standing == Standing::DryRun;
            // A mask that is found once more is no finding.
            if masked.is_none() && !dry_run {
                continue;
            }
            let severity = Some(finding.severity.name());
            let datum = || text.get(finding.range());
            let print = self.reviewed.as_ref().and_then(|known| known.print(rule, datum()?));
            let prints = print.into_iter().collect();
            seen.found(Found { severity, dry_run, prints, ..Found::of(rule) });
            if !dry_run {
                seen.marked(self.forms.of(rule, finding.kind).mark(finding.kind));
            }
        }
        masked
    }
}

/// What belongs to a detector that is not asked for anything.
fn unused(config: &Config) -> Result<(), ActionError> {
    let said = [
        ("thresholds", !config.thresholds.is_empty()),
        ("threshold", config.threshold.is_some()),
        ("masks", !config.masks.is_empty()),
        ("rules", !config.rules.is_empty()),
        ("phone_regions", !config.phone_regions.0.is_empty()),
        ("ner", config.ner.is_some()),
        ("allow.reviewed", config.allow.reviewed),
    ];
    match said.iter().find(|(_, said)| *said) {
        Some((key, _)) => Err(ActionError::at(*key, "there is nothing that this is said of")
            .remedy("name what to `find`")),
        None => Ok(()),
    }
}

fn forms(config: &Config) -> Result<Forms, ActionError> {
    let read = |path: &str, value: &tollgate_gate::Json| {
        MaskForm::read(value).map_err(|error| error.under(path))
    };
    let all = match &config.mask {
        Some(mask) => read("mask", &mask.0)?,
        None => MaskForm::Plain,
    };
    let mut forms = Forms { all, by_kind: Vec::new(), by_rule: Vec::new() };
    for (at, custom) in config.custom.iter().enumerate() {
        if let Some(mask) = &custom.mask {
            let form = read("mask", &mask.0).map_err(|e| e.under(&format!("custom.{at}")))?;
            forms.by_rule.push((custom.id.clone(), form));
        }
    }
    let mut named = Vec::with_capacity(config.masks.len());
    for (name, mask) in &config.masks {
        let what = What::of(name, &config.custom);
        let what = what.ok_or_else(|| {
            unknown_name(name, &config.custom, &[]).under(&format!("masks.{name}"))
        })?;
        named.push((what, read(&format!("masks.{name}"), &mask.0)?));
    }
    // From the general to the special, so that the special one stands.
    named.sort_by_key(|(what, _)| what.rank());
    for (what, form) in named {
        match what {
            What::Rule(rule) => {
                forms.by_rule.retain(|(known, _)| known != rule);
                forms.by_rule.push((rule.to_owned(), form));
            }
            What::Group(_) | What::Kind(_) => {
                for kind in Kind::ALL.into_iter().filter(|kind| what.holds("", *kind)) {
                    forms.by_kind.retain(|(known, _)| *known != kind);
                    forms.by_kind.push((kind, form.clone()));
                }
            }
        }
    }
    Ok(forms)
}

/// A mask of the policy's own words that would be taken for a datum would never stand still.
fn checked_texts(forms: &Forms, detector: &Detector) -> Result<(), ActionError> {
    let is_found =
        |form: &MaskForm| matches!(form, MaskForm::Text(text) if !detector.scan(text).is_empty());
    if forms.any(is_found) {
        let error = ActionError::at("mask", "a mask would itself be found");
        return Err(error.remedy("another text, such as `[GONE]`"));
    }
    Ok(())
}

pub(super) fn threshold(path: &str, value: Option<f64>) -> Result<Option<f32>, ActionError> {
    let Some(value) = value else { return Ok(None) };
    if !(0.0..=1.0).contains(&value) {
        return Err(ActionError::at(path, format!("`{value}` is not from 0 to 1")));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a score needs no more")]
    Ok(Some(value as f32))
}

/// What holds for each rule: whether it is tried, its threshold, and what `rules` says of it.
fn settings(
    mut builder: DetectorBuilder,
    config: &Config,
    find: &[What<'_>],
) -> Result<DetectorBuilder, ActionError> {
    let mut thresholds: Vec<(What<'_>, Option<f32>)> = Vec::new();
    for (name, value) in &config.thresholds {
        let what = What::of(name, &config.custom);
        let what = what.ok_or_else(|| {
            unknown_name(name, &config.custom, &[]).under(&format!("thresholds.{name}"))
        })?;
        thresholds.push((what, threshold(&format!("thresholds.{name}"), Some(*value))?));
    }
    thresholds.sort_by_key(|(what, _)| what.rank());
    for name in config.rules.keys() {
        if !is_rule(name, &config.custom) {
            return Err(unknown_rule(name, &config.custom));
        }
    }
    let customs = config.custom.iter().map(|rule| (rule.id.as_str(), custom_kind(rule), true));
    let builtin = rules().map(|rule: &Rule| {
        let is_asked = find.iter().any(|what| what.holds(rule.id, rule.kind));
        (rule.id, rule.kind, is_asked)
    });
    for (id, kind, is_asked) in builtin.chain(customs) {
        let least = thresholds.iter().rev().find(|(what, _)| what.holds(id, kind));
        let mut setting =
            RuleSetting { threshold: least.and_then(|(_, least)| *least), ..RuleSetting::ON };
        setting.enabled = is_asked;
        if let Some(said) = config.rules.get(id) {
            setting = said_of(said, setting, id)?;
        }
        // Nothing is found unless it is said; what is as it was needs no word.
        if setting.enabled || is_asked {
            builder = builder.rule(id, setting);
        }
    }
    Ok(builder)
}

fn said_of(said: &RuleConfig, setting: RuleSetting, id: &str) -> Result<RuleSetting, ActionError> {
    let path = |key: &str| format!("rules.{id}.{key}");
    let rollout = said.rollout.unwrap_or(100);
    if rollout > 100 {
        let message = format!("`{rollout}` is no share in percent");
        return Err(ActionError::at(path("rollout"), message));
    }
    Ok(RuleSetting {
        enabled: said.enabled.unwrap_or(setting.enabled),
        dry_run: said.dry_run,
        rollout_percent: rollout,
        threshold: threshold(&path("threshold"), said.threshold)?.or(setting.threshold),
        severity: said.severity.map(severity),
    })
}

fn unknown_rule(name: &str, custom: &[CustomConfig]) -> ActionError {
    let known: Vec<&str> =
        rules().map(|rule| rule.id).chain(custom.iter().map(|rule| rule.id.as_str())).collect();
    unknown("rule", name, &known)
        .remedy("`tollgate scan` names the rule of each finding")
        .under(&format!("rules.{name}"))
}

fn severity(said: Severity) -> tollgate_detect::Severity {
    match said {
        Severity::Low => tollgate_detect::Severity::Low,
        Severity::Medium => tollgate_detect::Severity::Medium,
        Severity::High => tollgate_detect::Severity::High,
        Severity::Critical => tollgate_detect::Severity::Critical,
    }
}

fn custom_kind(custom: &CustomConfig) -> Kind {
    custom.kind.as_deref().and_then(Kind::from_name).unwrap_or(Kind::Custom)
}

fn custom_rule(custom: &CustomConfig) -> Result<CustomRule, ActionError> {
    if custom.id.is_empty() || custom.id.len() > tollgate_gate::limits::NAME_BYTES_MAX {
        return Err(ActionError::at("id", "no id for a rule"));
    }
    if let Some(name) = custom.kind.as_deref().filter(|name| Kind::from_name(name).is_none()) {
        let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
        return Err(unknown("kind", name, &known).under("kind"));
    }
    let entropy = custom.entropy.unwrap_or(0.0);
    if !(0.0..=8.0).contains(&entropy) {
        return Err(ActionError::at("entropy", format!("`{entropy}` is not from 0 to 8 bits")));
    }
    let score = threshold("score", Some(custom.score.unwrap_or(CUSTOM_SCORE)))?;
    #[expect(clippy::cast_possible_truncation, reason = "an entropy needs no more")]
    Ok(CustomRule {
        id: custom.id.clone(),
        kind: custom_kind(custom),
        severity: severity(custom.severity.unwrap_or(Severity::Medium)),
        pattern: custom.pattern.clone(),
        keywords: custom.keywords.0.clone(),
        validator: custom.validator.map(|validator| match validator {
            Validator::Luhn => tollgate_detect::Validator::Luhn,
            Validator::Verhoeff => tollgate_detect::Validator::Verhoeff,
            Validator::Mod97 => tollgate_detect::Validator::Mod97,
        }),
        entropy_min: entropy as f32,
        score: score.unwrap_or_default(),
        setting: RuleSetting::ON,
    })
}

/// The policy's own rules, each held to its examples.
fn customs(
    mut builder: DetectorBuilder,
    config: &Config,
    context: &ActionContext,
) -> Result<DetectorBuilder, ActionError> {
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, custom) in config.custom.iter().enumerate() {
        let here = |error: ActionError| error.under(&format!("custom.{at}"));
        let rule = custom_rule(custom).map_err(here)?;
        if ids.insert(&custom.id, at).is_some() || What::of(&custom.id, &[]).is_some() {
            let error =
                ActionError::at("id", format!("`{}` is the name of something else", custom.id));
            return Err(here(error.remedy("another id")));
        }
        // A policy that was compiled before was held to them then.
        if context.patterns == Patterns::AtLoad {
            check_examples(custom, &rule, config).map_err(here)?;
        }
        builder = builder.custom(rule);
    }
    Ok(builder)
}

fn check_examples(
    custom: &CustomConfig,
    rule: &CustomRule,
    config: &Config,
) -> Result<(), ActionError> {
    let least = config.rules.get(&custom.id).and_then(|said| said.threshold);
    let least = least.or_else(|| config.thresholds.get(&custom.id).copied()).or(config.threshold);
    let alone = Detector::builder().find([]).custom(rule.clone());
    let alone = alone.threshold(threshold("", least)?.unwrap_or(THRESHOLD));
    let alone = alone.build().map_err(|error| match &error {
        BuildError::Pattern { reason, .. } => {
            ActionError::at("pattern", format!("`{}` is no pattern: {reason}", custom.pattern))
        }
        BuildError::ShortKeyword { keyword, .. } => {
            ActionError::at("keywords", format!("`{keyword}` is shorter than three bytes"))
        }
        BuildError::UnknownRule { .. }
        | BuildError::DuplicateRule { .. }
        | BuildError::TooManyRules { .. }
        | BuildError::OutOfRange { .. } => ActionError::at("", error.to_string()),
        _ => ActionError::at("", error.to_string()),
    })?;
    for (at, text) in custom.hits.0.iter().enumerate() {
        if alone.scan(text).is_empty() {
            let message = "the rule finds nothing in this text, and should";
            return Err(ActionError::at(format!("match.{at}"), message)
                .remedy("look at the pattern, the keywords, the entropy and the check digits"));
        }
    }
    for (at, text) in custom.misses.0.iter().enumerate() {
        if !alone.scan(text).is_empty() {
            let message = "the rule finds something in this text, and should not";
            return Err(ActionError::at(format!("no_match.{at}"), message));
        }
    }
    Ok(())
}

fn allowed(
    mut builder: DetectorBuilder,
    config: &Config,
    context: &ActionContext,
) -> Result<DetectorBuilder, ActionError> {
    for (at, value) in config.allow.values.0.iter().enumerate() {
        if value.is_empty() {
            return Err(ActionError::at(format!("allow.values.{at}"), "empty text"));
        }
        builder = builder.allow_value(value.as_str());
    }
    for (at, pattern) in config.allow.patterns.0.iter().enumerate() {
        crate::actions::pattern::Pattern::new(pattern, context.patterns)
            .map_err(|error| error.under(&format!("allow.patterns.{at}")))?;
        builder = builder.allow_pattern(pattern.as_str());
    }
    Ok(builder)
}

fn regions(builder: DetectorBuilder, config: &Config) -> Result<DetectorBuilder, ActionError> {
    if config.phone_regions.0.is_empty() {
        return Ok(builder);
    }
    let mut regions = Vec::with_capacity(config.phone_regions.0.len());
    for (at, code) in config.phone_regions.0.iter().enumerate() {
        let region = Region::from_code(code).ok_or_else(|| {
            let known: Vec<&str> = Region::codes().collect();
            unknown("region", code, &known).under(&format!("phone_regions.{at}"))
        })?;
        regions.push(region);
    }
    Ok(builder.phone_regions(regions))
}

/// An error of the whole, at the place that it is about.
fn built(error: &BuildError, config: &Config) -> ActionError {
    let at = |id: &str, key: &str| {
        let place = config.custom.iter().position(|custom| custom.id == id);
        place.map_or_else(|| key.to_owned(), |place| format!("custom.{place}"))
    };
    let path = match error {
        BuildError::UnknownRule { id } | BuildError::DuplicateRule { id } => at(id, "rules"),
        BuildError::Pattern { id, .. } => at(id, "allow.patterns"),
        BuildError::ShortKeyword { id, .. } => at(id, "custom"),
        BuildError::TooManyRules { .. } => "custom".to_owned(),
        BuildError::OutOfRange { .. } => String::new(),
        _ => String::new(),
    };
    ActionError::at(path, error.to_string())
}

/// What becomes of numbers.
pub(super) fn numbers(said: Numbers) -> NumberMask {
    match said {
        Numbers::Text => NumberMask::AsString,
        Numbers::Zero => NumberMask::Zero,
    }
}
