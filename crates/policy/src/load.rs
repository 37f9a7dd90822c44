//! Loading: from layers to one policy in force, or to all that is wrong with them.

use crate::compile::build::Ready;
use crate::compile::effects::{EffectMemo, EffectSource, ToolFacts};
use crate::compile::plan::{AlertPlan, HookPlan, Plan};
use crate::compile::{self, CompileContext, Compiled, Redactors, Unit};
use crate::detection::Sources;
use crate::diagnostic::{Diagnostic, Place, Report, Severity};
use crate::layers::{
    self, Expanded, FileError, Layer, LayerKind, LayerState, LayerStatus, Opened, Origin, Trust,
    TrustStore,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tollgate_gate::{EventKind, Mode, Name, Ruleset, Timestamp};

/// The version of the compiled form: part of every digest and snapshot.
pub(crate) const PLAN_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");

/// Makes what knows the effects of calls, from what a policy declares about tools.
pub type EffectsOf = dyn Fn(&ToolFacts) -> Arc<dyn EffectSource>;

/// What loading needs beside the files.
#[derive(Clone, Copy)]
pub struct LoadOptions<'o> {
    /// The present moment.
    pub now: Timestamp,
    /// The environment; only what a policy declares is looked up.
    pub env: &'o dyn Fn(&str) -> Option<String>,
    /// Makes what knows the effects of calls, from what the policy declares about tools; `None`: the
    /// declarations alone.
    pub effects: Option<&'o EffectsOf>,
    /// What `redact: { find: .. }` can name beside the built-in redactors.
    pub redactors: &'o Redactors,
    /// What detection needs from outside: models of names, the key of keyed masks.
    pub sources: &'o Sources,
    /// What a person has trusted; `None`: nothing.
    pub trust: Option<&'o TrustStore>,
}

impl<'o> LoadOptions<'o> {
    /// With an empty environment, declared effects, and nothing trusted.
    pub fn new(now: Timestamp) -> LoadOptions<'o> {
        static NONE: Redactors = Redactors::new();
        let sources = &Sources::NONE;
        LoadOptions { now, env: &|_| None, effects: None, redactors: &NONE, sources, trust: None }
    }
}

/// A policy that is fit to be in force.
pub struct Loaded {
    /// The compiled hooks; its digest is that of the policy.
    pub ruleset: Ruleset,
    /// What holds beside the hooks.
    pub settings: PolicySettings,
    /// Warnings and notes, with the texts they are about. Empty when it came from a snapshot.
    pub report: Report,
    /// What became of each layer.
    pub layers: Vec<LayerStatus>,
    /// The digest of all sources in force, the values of declared variables that are no secrets, and
    /// the version: `sha256:` and 64 hex digits.
    pub digest: Name,
    pub(crate) plan: Plan,
    pub(crate) ready: Vec<Ready>,
    pub(crate) context: compile::build::BuildContext,
    /// What the snapshot must find unchanged.
    pub(crate) inputs: Inputs,
}

/// What a policy was made from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// Every file, with the SHA-256 of its text.
    pub(crate) files: Vec<(PathBuf, [u8; 32])>,
    /// Every declared variable that is no secret, with its value where it is set.
    pub(crate) env: Vec<(String, Option<String>)>,
}

/// What is done about a tool of a server whose definition changed since it was first seen; later ones
/// are stricter.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum Pinning {
    /// Nothing is remembered.
    Off,
    /// It passes; the person is told.
    #[default]
    Warn,
    /// The tool is not listed, and not called, until a person accepts it.
    Deny,
}

/// What a policy sets beside its hooks.
#[derive(Debug, Clone, Default)]
pub struct PolicySettings {
    /// Whether the gate enforces.
    pub mode: Mode,
    /// Whether a hook process of a host lets it go on when something goes wrong inside.
    pub open_on_error: bool,
    /// `memory`, `file:default` or `file:` and a folder; `None`: not said.
    pub audit_store: Option<String>,
    /// Who is told of what.
    pub alerts: Vec<AlertInfo>,
    /// What is done about changed definitions of tools.
    pub pinning: Pinning,
    /// Where sessions are kept, in the same words.
    pub session_store: Option<String>,
    /// A session that was idle this long is forgotten.
    pub session_idle: Option<Duration>,
    /// A reservation that was never settled frees itself after this time.
    pub session_lease: Option<Duration>,
    /// Groups of users.
    pub groups: BTreeMap<String, Vec<String>>,
    /// Groups of users that managed and user policies define: whose word counts for an answer.
    pub own_groups: BTreeMap<String, Vec<String>>,
    /// The public keys of those who sign their answers, as hexadecimal digits, by user.
    pub approvers: BTreeMap<String, String>,
    /// What the policy declares about tools.
    pub tools: ToolFacts,
    /// Names of hooks that later layers leave alone.
    pub locked: Vec<String>,
}

/// A hook as people look at it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HookInfo {
    /// Its name.
    pub name: String,
    /// Its kinds.
    pub on: Vec<EventKind>,
    /// Its action.
    pub action: String,
    /// Whose it is.
    pub layer: LayerKind,
    /// File and line.
    pub at: String,
    /// Its priority.
    pub priority: i32,
    /// Whether it runs.
    pub enabled: bool,
    /// Whether it is dry, now or until some moment.
    pub dry_run: bool,
    /// Whether it cannot be overridden, excepted or disabled.
    pub locked: bool,
    /// How grave what it finds is.
    pub severity: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// How many exceptions it has.
    pub exceptions: usize,
}

/// Who is told of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertInfo {
    /// Its name.
    pub name: String,
    /// The URL of the webhook.
    pub to: String,
    /// A file with one header that is sent with it.
    pub header_file: Option<PathBuf>,
    /// A file with the certificates to trust in place of the machine's.
    pub ca_file: Option<PathBuf>,
    /// Alert at a decision of this severity or above: `low`, `medium`, `high` or `critical`.
    pub severity: Option<String>,
    /// Alert when as much is refused within a minute.
    pub refusals_per_minute: Option<u32>,
}

/// A policy that does not load: what is wrong, and what became of each layer.
#[derive(Debug)]
pub struct LoadFailure {
    /// All problems.
    pub report: Report,
    /// What became of each layer.
    pub layers: Vec<LayerStatus>,
}

impl std::fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.report.text())
    }
}

impl std::error::Error for LoadFailure {}

/// Loads layers in the order managed, user, project; several of one kind in the order given.
///
/// # Errors
/// [`LoadFailure`] with every problem of every file. Nothing of a policy with an error is in force.
pub fn load(layers: &[Layer], options: &LoadOptions<'_>) -> Result<Loaded, LoadFailure> {
    let mut loader = Loader::new();
    for (at, layer) in in_order(layers).into_iter().enumerate() {
        loader.layer(at, layer, options);
    }
    if loader.units.is_empty() && !loader.report.has_errors() {
        let none = Diagnostic::error("no-policy", Place::default(), "there is no policy in force");
        let none = none.without_place().with_remedy("`tollgate init` writes one to start from");
        loader.report.push(none);
    }
    loader.finish(options)
}

/// Layers in the order managed, user, project.
pub(crate) fn in_order(layers: &[Layer]) -> Vec<&Layer> {
    let mut layers: Vec<&Layer> = layers.iter().collect();
    layers.sort_by_key(|layer| layer.kind);
    layers
}

/// Loads one text as a file of its own right; it cannot include others.
///
/// # Errors
/// [`LoadFailure`] with every problem.
pub fn load_text(name: &str, text: &str, options: &LoadOptions<'_>) -> Result<Loaded, LoadFailure> {
    let mut loader = Loader::new();
    let opened = Opened { text: text.to_owned(), path: None };
    let expanded = layers::expand(opened, name, LayerKind::User, 0, &mut loader.report);
    let layer = Layer::named(LayerKind::User, name);
    loader.take(&layer, expanded, LayerState::InForce);
    loader.finish(options)
}

/// All that is wrong with a policy text, and all that is odd about it.
pub fn diagnose(name: &str, text: &str, options: &LoadOptions<'_>) -> Report {
    match load_text(name, text, options) {
        Ok(loaded) => loaded.report,
        Err(failure) => failure.report,
    }
}

struct Loader {
    report: Report,
    units: Vec<Unit>,
    statuses: Vec<LayerStatus>,
    inputs: Inputs,
}

impl Loader {
    fn new() -> Loader {
        Loader {
            report: Report::default(),
            units: Vec::new(),
            statuses: Vec::new(),
            inputs: Inputs::default(),
        }
    }

    fn layer(&mut self, at: usize, layer: &Layer, options: &LoadOptions<'_>) {
        let opened = match Opened::read_layer(layer) {
            Ok(opened) => opened,
            Err(error) => {
                self.unreadable(layer, &error);
                return;
            }
        };
        let name = layer.path.display().to_string();
        if layer.origin == Origin::Named {
            let expanded = layers::expand(opened, &name, layer.kind, at, &mut self.report);
            self.take(layer, expanded, LayerState::InForce);
            return;
        }
        // A file that nobody has trusted yet says nothing, not even what is wrong with it.
        let mut apart = Report { sources: self.report.sources.clone(), ..Report::default() };
        let expanded = layers::expand(opened, &name, layer.kind, at, &mut apart);
        let trust = options.trust.map_or(Trust::Unknown, |t| t.look(&layer.path, &expanded.digest));
        let state = match trust {
            Trust::Trusted => {
                self.report.sources = apart.sources;
                apart.diagnostics.into_iter().for_each(|found| self.report.push(found));
                LayerState::InForce
            }
            _ if !expanded.is_policy => LayerState::Broken,
            Trust::Changed => LayerState::Changed,
            Trust::Unknown => LayerState::Untrusted,
        };
        self.take(layer, expanded, state);
    }

    fn unreadable(&mut self, layer: &Layer, error: &FileError) {
        let mut found = Diagnostic::error("file", Place::default(), error.to_string());
        found = found.without_place();
        if layer.origin == Origin::Found {
            found.severity = Severity::Warning;
            found = found.with_remedy("the project's policy is ignored: it must be a regular file");
        } else {
            found = found.with_remedy("name a readable policy file");
        }
        self.report.push(found);
        self.statuses.push(LayerStatus {
            kind: layer.kind,
            origin: layer.origin,
            path: layer.path.clone(),
            digest: String::new(),
            state: LayerState::NoFile,
            includes: Vec::new(),
        });
    }

    fn take(&mut self, layer: &Layer, expanded: Expanded, state: LayerState) {
        self.inputs.files.extend(expanded.files);
        if state == LayerState::InForce {
            for unit in &expanded.units {
                layers::check(unit, &mut self.report);
            }
            self.units.extend(expanded.units);
        } else {
            let path = layer.path.display();
            let why = match state {
                LayerState::Changed => "changed since it was trusted",
                LayerState::Broken => "is no policy",
                LayerState::Untrusted | LayerState::NoFile | LayerState::InForce => {
                    "has not been trusted"
                }
            };
            let message = format!("the project's policy `{path}` {why}: it is ignored");
            let found = Diagnostic::warning("untrusted", Place::default(), message);
            let remedy = format!("look at it, then: tollgate trust {path}");
            self.report.push(found.without_place().with_remedy(remedy));
        }
        self.statuses.push(LayerStatus {
            kind: layer.kind,
            origin: layer.origin,
            path: layer.path.clone(),
            digest: expanded.digest,
            state,
            includes: expanded.includes,
        });
    }

    fn finish(mut self, options: &LoadOptions<'_>) -> Result<Loaded, LoadFailure> {
        let context = CompileContext {
            env: options.env,
            now: options.now,
            effects: options.effects,
            redactors: options.redactors,
            sources: options.sources,
        };
        let compiled = compile::compile(&self.units, &context, &mut self.report);
        self.report.sort();
        let Some(compiled) = compiled else {
            return Err(LoadFailure { report: self.report, layers: self.statuses });
        };
        let names = compiled.vars.open().map(|(name, _)| name);
        self.inputs.env = names.map(|name| (name.to_owned(), (options.env)(name))).collect();
        let digest = digest(&self.statuses, compiled.vars.open());
        let Compiled { plan, ready, context, ruleset, .. } = compiled;
        Ok(Loaded {
            ruleset: ruleset.with_digest(Name::clone(&digest)),
            settings: settings(&plan),
            report: self.report,
            layers: self.statuses,
            digest,
            plan,
            ready,
            context,
            inputs: self.inputs,
        })
    }
}

/// The digest of a policy.
fn digest<'v>(layers: &[LayerStatus], env: impl Iterator<Item = (&'v str, &'v str)>) -> Name {
    let mut hasher = Sha256::new();
    let mut field = |text: &str| {
        hasher.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(text.as_bytes());
    };
    field(PLAN_VERSION);
    for layer in layers.iter().filter(|layer| layer.state == LayerState::InForce) {
        field(&layer.kind.to_string());
        field(&layer.digest);
    }
    for (name, value) in env {
        field(name);
        field(value);
    }
    let mut text = String::from("sha256:");
    for byte in hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.into()
}

pub(crate) fn settings(plan: &Plan) -> PolicySettings {
    let settings = &plan.settings;
    PolicySettings {
        mode: settings.mode,
        open_on_error: settings.open_on_error,
        audit_store: settings.audit_store.clone(),
        alerts: settings.alerts.iter().map(alert).collect(),
        pinning: settings.pinning,
        session_store: settings.session_store.clone(),
        session_idle: settings.session_idle_ms.map(Duration::from_millis),
        session_lease: settings.session_lease_ms.map(Duration::from_millis),
        groups: settings.groups.clone(),
        own_groups: settings.own_groups.clone(),
        approvers: settings.approvers.clone(),
        tools: settings.facts.clone(),
        locked: settings.locked.clone(),
    }
}

fn alert(plan: &AlertPlan) -> AlertInfo {
    AlertInfo {
        name: plan.name.clone(),
        to: plan.to.clone(),
        header_file: plan.header_file.as_ref().map(PathBuf::from),
        ca_file: plan.ca_file.as_ref().map(PathBuf::from),
        severity: plan.severity.clone(),
        refusals_per_minute: plan.refusals_per_minute,
    }
}

impl Loaded {
    /// Puts a policy together from a plan that was checked before.
    pub(crate) fn of_plan(
        plan: Plan,
        layers: Vec<LayerStatus>,
        digest: Name,
        inputs: Inputs,
        options: &LoadOptions<'_>,
    ) -> Result<Loaded, compile::RulesetError> {
        let effects = compile::effects_of(options.effects, &plan.settings.facts);
        let context = compile::build::BuildContext {
            effects: Arc::new(EffectMemo::new(effects)),
            groups: Arc::new(compile::groups(&plan.settings)),
            redactors: Arc::new(options.redactors.clone()),
            sources: options.sources.clone(),
        };
        let ruleset = compile::ruleset(&plan, Vec::new(), &context, Name::clone(&digest))?;
        Ok(Loaded {
            ruleset,
            settings: settings(&plan),
            report: Report::default(),
            layers,
            digest,
            plan,
            ready: Vec::new(),
            context,
            inputs,
        })
    }

    /// The hooks, in the order in which they were written.
    pub fn hooks(&self) -> impl Iterator<Item = HookInfo> {
        self.plan.hooks.iter().map(|hook| info(hook, &self.settings.locked))
    }

    /// Another ruleset of the same policy, with state of its own in its handlers.
    ///
    /// # Errors
    /// The words of whatever cannot be built, which a load would have reported.
    pub fn another_ruleset(&self) -> Result<Ruleset, String> {
        let digest = Name::clone(&self.digest);
        let ruleset = compile::ruleset(&self.plan, self.ready.clone(), &self.context, digest);
        ruleset.map_err(|error| error.to_string())
    }
}

fn info(hook: &HookPlan, locked: &[String]) -> HookInfo {
    HookInfo {
        name: hook.name.clone(),
        on: hook.kinds.clone(),
        action: hook.action.clone(),
        layer: hook.layer,
        at: hook.at.clone(),
        priority: hook.priority,
        enabled: hook.enabled,
        dry_run: hook.dry_run,
        locked: hook.locked || locked.contains(&hook.name),
        severity: hook.severity.clone(),
        description: hook.description.clone(),
        exceptions: hook.exceptions.len(),
    }
}
