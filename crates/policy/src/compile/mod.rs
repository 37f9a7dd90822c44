//! From the raw form of all files to one ruleset.
//!
//! One way, in steps: variables, settings, tools, hooks, exceptions, lint, ruleset. Every step goes
//! on behind a problem, so that all of them are reported; a policy with an error gives no ruleset.

mod alerts;
pub mod analysed;
pub(crate) mod build;
pub mod effects;
mod exceptions;
mod hook;
mod matching;
pub mod names;
pub mod paths;
pub(crate) mod plan;
mod rooted;
mod settings;
pub(crate) mod vars;

use crate::actions::Redactor;
use crate::compile::build::{BuildContext, Ready};
use crate::compile::effects::{DeclaredEffects, EffectMemo, EffectSource, ToolFacts};
use crate::compile::plan::{HookPlan, MatchPlan, Plan, SettingsPlan};
use crate::compile::vars::Vars;
use crate::detection::Sources;
use crate::diagnostic::{Diagnostic, Place, Report};
use crate::file::{RawHook, RawPolicy};
use crate::layers::LayerKind;
use crate::lint;
use crate::load::EffectsOf;
use crate::when::Groups;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tollgate_gate::{
    DefaultVote, Durability, Hook, HookError, KindSet, Name, Resolution, Roles, Ruleset, Settings,
    Timestamp,
};

/// One file of a load, with what it may do.
pub(crate) struct Unit {
    pub(crate) raw: RawPolicy,
    pub(crate) kind: LayerKind,
    /// Its layer's place among the layers.
    pub(crate) layer: usize,
    /// What an including file grants; `None` for a file of its own right.
    pub(crate) grant: Option<UnitGrant>,
}

/// What an included file may do.
#[derive(Debug, Clone)]
pub(crate) struct UnitGrant {
    pub(crate) roles: Roles,
    pub(crate) scope: MatchPlan,
}

/// What compiling needs beside the files.
pub(crate) struct CompileContext<'c> {
    /// The environment; only declared variables are looked up.
    pub(crate) env: &'c dyn Fn(&str) -> Option<String>,
    pub(crate) now: Timestamp,
    pub(crate) effects: Option<&'c EffectsOf>,
    pub(crate) redactors: &'c Redactors,
    pub(crate) sources: &'c Sources,
}

/// What `redact: { find: .. }` can name beside the built-in redactors.
pub type Redactors = BTreeMap<Name, Arc<dyn Redactor>>;

/// A hook as compiled, with what lint and explanations want to know.
pub(crate) struct Made {
    pub(crate) plan: HookPlan,
    pub(crate) ready: Ready,
    pub(crate) place: Place,
    /// Where its kinds and match stand.
    pub(crate) on: Place,
    pub(crate) matching: Option<Place>,
    pub(crate) unit: usize,
    /// Its place among the hooks of its file.
    pub(crate) written: usize,
    /// The name that it has in its file, where a hook of an earlier layer goes by it.
    pub(crate) beside: Option<Name>,
    /// A part of it could not be read or compiled.
    pub(crate) broken: bool,
}

/// A compiled policy.
pub(crate) struct Compiled {
    pub(crate) plan: Plan,
    pub(crate) ready: Vec<Ready>,
    pub(crate) context: BuildContext,
    pub(crate) vars: Vars,
    pub(crate) ruleset: Ruleset,
}

/// Compiles files in their order. Problems go to the report; with an error there is no policy.
pub(crate) fn compile(
    units: &[Unit],
    context: &CompileContext<'_>,
    report: &mut Report,
) -> Option<Compiled> {
    let vars = settings::vars(units, context, report);
    let settings = settings::merge(units, report);
    let tools = settings::tools(units, report);
    let effects = effects_of(context.effects, &settings.facts);
    let build = BuildContext {
        effects: Arc::new(EffectMemo::new(effects)),
        groups: Arc::new(groups(&settings)),
        redactors: Arc::new(context.redactors.clone()),
        sources: context.sources.clone(),
    };
    let hooks = assemble(units, report);
    let mut made: Vec<Made> = hooks
        .into_iter()
        .filter_map(|Assembled { unit, written, raw, standing }| {
            let compiler = hook::HookCompiler {
                unit: units.get(unit)?,
                at: unit,
                vars: &vars,
                tools: &tools,
                build: &build,
            };
            let made = match standing {
                Standing::Named | Standing::Refused => compiler.compile(raw, written, report)?,
                Standing::Beside => {
                    let mut renamed = raw.clone();
                    renamed.name.value = beside(&raw.name.value, compiler.unit.kind);
                    let mut made = compiler.compile(&renamed, written, report)?;
                    made.beside = Some(Name::clone(&raw.name.value));
                    made
                }
            };
            (standing != Standing::Refused).then_some(made)
        })
        .collect();
    exceptions::attach(units, &mut made, &vars, &tools, context.now, report);
    let made = each_once(made, report);
    lint::lint(units, &made, &settings, &build, report);
    if report.has_errors() {
        return None;
    }
    let places: Vec<Place> = made.iter().map(|made| made.place).collect();
    let made = made.into_iter().map(|made| (Arc::new(made.plan), made.ready));
    let (hooks, ready): (Vec<Arc<HookPlan>>, Vec<Ready>) = made.unzip();
    let plan = Plan { settings, hooks };
    // The digest of the sources takes its place, once what was read is known to be sound.
    match ruleset(&plan, ready.clone(), &build, Name::default()) {
        Ok(ruleset) => Some(Compiled { plan, ready, context: build, vars, ruleset }),
        Err(error) => {
            refused(&error, &plan.hooks, &places, report);
            None
        }
    }
}

/// What knows the effects of calls, under these declarations.
pub(crate) fn effects_of(of: Option<&EffectsOf>, facts: &ToolFacts) -> Arc<dyn EffectSource> {
    match of {
        Some(of) => of(facts),
        None => Arc::new(DeclaredEffects::new(facts.clone())),
    }
}

/// The ruleset of a plan.
pub(crate) fn ruleset(
    plan: &Plan,
    ready: Vec<Ready>,
    context: &BuildContext,
    digest: Name,
) -> Result<Ruleset, RulesetError> {
    let mut ready = ready.into_iter();
    let mut hooks: Vec<Hook> = Vec::with_capacity(plan.hooks.len());
    for hook in &plan.hooks {
        hooks.push(build::build(hook, ready.next().unwrap_or_default(), context)?);
    }
    Ok(Ruleset::of_source(gate_settings(&plan.settings)?, hooks, digest)?)
}

/// Why a plan is no ruleset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RulesetError {
    #[error(transparent)]
    Build(#[from] build::BuildError),
    #[error(transparent)]
    Hook(#[from] HookError),
}

/// The gate refused a hook that the compiler let through; reported at the hook all the same.
fn refused(error: &RulesetError, hooks: &[Arc<HookPlan>], places: &[Place], report: &mut Report) {
    let text = error.to_string();
    let at = hooks.iter().position(|hook| text.contains(&format!("`{}`", hook.name)));
    let place = at.and_then(|at| places.get(at)).copied().unwrap_or_default();
    report.push(Diagnostic::error("hook", place, text));
}

/// The gate's settings of a plan.
pub(crate) fn gate_settings(plan: &SettingsPlan) -> Result<Settings, HookError> {
    let mut settings = Settings::default();
    settings.mode = plan.mode;
    if plan.collect {
        settings.resolution = Resolution::Collect;
    }
    if plan.buffered {
        settings.durability = Durability::Buffered;
    }
    for (kind, deny) in &plan.defaults {
        let vote = if *deny { DefaultVote::Deny } else { DefaultVote::Ask };
        settings.set_default(*kind, vote)?;
    }
    Ok(settings)
}

/// The groups of a plan, as conditions read them.
pub(crate) fn groups(settings: &SettingsPlan) -> Groups {
    let groups = settings.groups.iter();
    Groups::of_members(groups.map(|(name, members)| (&**name, members.iter().map(|m| &**m))))
}

/// A hook in its place.
struct Assembled<'u> {
    unit: usize,
    /// Its place among the hooks of its file.
    written: usize,
    raw: &'u RawHook,
    standing: Standing,
}

/// What becomes of a hook as its name is taken or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is part of the policy, under its name.
    Named,
    /// A hook of an earlier layer has its name. Each layer is written by somebody else, often from the
    /// same preset: that one says the same again, or something else under that name, must not close the
    /// gate for everything. So it holds beside the other, and loosens nothing.
    Beside,
    /// It is only looked at for its mistakes.
    Refused,
}

/// The name of a hook of this layer whose own is taken.
fn beside(name: &Name, layer: LayerKind) -> Name {
    format!("{name}@{layer}").into()
}

/// Leaves out what an earlier layer says to the letter (law 11: the same name with the same handler is
/// registered once), and says under which name a hook goes whose own is taken.
fn each_once(made: Vec<Made>, report: &mut Report) -> Vec<Made> {
    let mut kept: Vec<Made> = Vec::with_capacity(made.len());
    for hook in made {
        let Some(written) = hook.beside.clone() else {
            kept.push(hook);
            continue;
        };
        let earlier = kept.iter().find(|earlier| *earlier.plan.name == *written);
        // An exception to the earlier one is none to this one, so then both hold.
        if earlier.is_some_and(|e| e.plan.exceptions.is_empty() && e.plan.says_the_same(&hook.plan))
        {
            continue;
        }
        let first = earlier.map(|earlier| where_is(report, earlier.place)).unwrap_or_default();
        let name = &hook.plan.name;
        let message = format!("the name `{written}` is taken by the hook at {first}; both hold");
        let or_override = match hook.plan.layer {
            LayerKind::Project => "",
            LayerKind::Managed | LayerKind::User => ", or `override: true` to replace that one",
        };
        let remedy =
            format!("choose another name{or_override}; until then this hook goes by `{name}`");
        let found = Diagnostic::warning("duplicate-name", hook.place, message);
        report.push(found.with_remedy(remedy));
        kept.push(hook);
    }
    kept
}

/// All hooks in their order, each name once (law 11). An overriding hook takes the other's place.
fn assemble<'u>(units: &'u [Unit], report: &mut Report) -> Vec<Assembled<'u>> {
    let mut hooks: Vec<Assembled<'u>> = Vec::new();
    let mut by_name: HashMap<Name, usize> = HashMap::new();
    let locked = settings::Locked::of(units);
    for (at, unit) in units.iter().enumerate() {
        for (written, raw) in unit.raw.hooks.iter().enumerate() {
            let name = &raw.name.value;
            let mut new = Assembled { unit: at, written, raw, standing: Standing::Named };
            let Some(known) = by_name.get(name).copied() else {
                if let Some(span) = raw.overrides {
                    let message = format!("there is no earlier hook `{name}` to override");
                    let found = Diagnostic::error("override", unit.raw.place(span), message);
                    report.push(found.with_remedy("leave `override` out"));
                }
                by_name.insert(Name::clone(name), hooks.len());
                hooks.push(new);
                continue;
            };
            let beside = beside(name, unit.kind);
            let Some(earlier) = hooks.get_mut(known) else { continue };
            match Taken::of(earlier, &new, units, &locked) {
                Taken::Replaced => *earlier = new,
                Taken::HeldBeside if !by_name.contains_key(&beside) => {
                    new.standing = Standing::Beside;
                    by_name.insert(beside, hooks.len());
                    hooks.push(new);
                }
                taken @ (Taken::HeldBeside
                | Taken::BySameFile
                | Taken::ByEarlierFile
                | Taken::ByLocked) => {
                    let first = units.get(earlier.unit);
                    let first = first.map(|unit| unit.raw.place(earlier.raw.name.span));
                    report.push(taken.said(&new, unit, first, report));
                    new.standing = Standing::Refused;
                    hooks.push(new);
                }
            }
        }
    }
    hooks
}

/// What a name means that is taken already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// The later hook takes the place of the earlier one, as it says.
    Replaced,
    /// Both hold.
    HeldBeside,
    BySameFile,
    ByEarlierFile,
    ByLocked,
}

impl Taken {
    fn of(
        earlier: &Assembled<'_>,
        later: &Assembled<'_>,
        units: &[Unit],
        locked: &settings::Locked,
    ) -> Taken {
        let layer = |hook: &Assembled<'_>| units.get(hook.unit).map(|unit| unit.layer);
        let is_own_layer = layer(earlier) == layer(later);
        if earlier.unit == later.unit {
            Taken::BySameFile
        } else if later.raw.overrides.is_none() && !is_own_layer {
            Taken::HeldBeside
        } else if later.raw.overrides.is_none() {
            Taken::ByEarlierFile
        } else if earlier.raw.locked || locked.holds(&later.raw.name.value, earlier.unit, units) {
            Taken::ByLocked
        } else {
            Taken::Replaced
        }
    }

    /// The error about it.
    fn said(
        self,
        later: &Assembled<'_>,
        unit: &Unit,
        first: Option<Place>,
        report: &Report,
    ) -> Diagnostic {
        let name = &later.raw.name.value;
        let message = match self {
            Taken::BySameFile => format!("the name `{name}` is taken by another hook of this file"),
            Taken::ByLocked => format!("the hook `{name}` is locked and cannot be overridden"),
            Taken::ByEarlierFile | Taken::HeldBeside | Taken::Replaced => {
                format!("the name `{name}` is taken by a hook of an earlier file")
            }
        };
        let first = first.map(|place| where_is(report, place)).unwrap_or_default();
        let remedy = if self == Taken::ByEarlierFile && unit.kind != LayerKind::Project {
            format!("choose another name, or `override: true` to replace the one at {first}")
        } else {
            format!("choose another name; the first stands at {first}")
        };
        let place = unit.raw.place(later.raw.name.span);
        Diagnostic::error("duplicate-name", place, message).with_remedy(remedy)
    }
}

pub(crate) fn where_is(report: &Report, place: Place) -> String {
    report.sources.get(place.source).map_or_else(String::new, |source| {
        let at = source.line_column(place.span.start);
        format!("{}:{}", source.name, at.line)
    })
}

/// Tools as matches and lint see them.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub(crate) groups: BTreeMap<String, Vec<String>>,
    /// Other names by tool.
    pub(crate) aliases: BTreeMap<String, Vec<String>>,
}

/// Kinds that carry a tool call.
pub(crate) fn tool_kinds() -> KindSet {
    KindSet::AFTER_TOOL.union(tollgate_gate::EventKind::PreTool.into())
}
