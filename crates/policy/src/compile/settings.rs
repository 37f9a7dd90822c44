//! What holds beside the hooks, joined over all files.
//!
//! Layers add up, and none may loosen what an earlier one set: the stricter mode, default and
//! durability hold. Names (groups, tools) are defined once.

use super::alerts;
use super::effects::{ToolFacts, Verb};
use super::plan::SettingsPlan;
use super::vars::{Vars, is_name};
use super::{CompileContext, Tools, Unit};
use crate::diagnostic::{Diagnostic, Place, Report};
use crate::file::RawPolicy;
use crate::layers::LayerKind;
use crate::limits::{ENV_MAX, ENV_VALUE_BYTES_MAX};
use crate::load::Pinning;
use std::collections::BTreeMap;
use std::time::Duration;
use tollgate_effects::{Programs, TableError};
use tollgate_gate::glob::Glob;
use tollgate_gate::{DefaultVote, Durability, Mode, Resolution};

/// Files of their own right: managed and user.
fn own(units: &[Unit]) -> impl Iterator<Item = &Unit> {
    units.iter().filter(|unit| unit.grant.is_none() && unit.kind != LayerKind::Project)
}

/// The declared variables.
pub(super) fn vars(units: &[Unit], context: &CompileContext<'_>, report: &mut Report) -> Vars {
    let mut vars = Vars::default();
    for unit in own(units) {
        for env in &unit.raw.env {
            let name = &env.name.value;
            let place = unit.raw.place(env.name.span);
            let mut error = |message: String, remedy: &str| {
                report.push(Diagnostic::error("env", place, message).with_remedy(remedy));
            };
            if !is_name(name) {
                let message = format!("`{name}` is no name of a variable");
                error(message, "capitals, digits and `_`: TEAM_DOMAIN");
                continue;
            }
            if vars.is_declared(name) {
                error(format!("`{name}` is declared twice"), "keep one of them");
                continue;
            }
            if vars.len() >= ENV_MAX {
                error(format!("more than {ENV_MAX} variables"), "declare fewer");
                break;
            }
            let value = (context.env)(name).or_else(|| env.default.clone());
            match &value {
                None => error(
                    format!("the variable `{name}` is not set and has no default"),
                    "set it, or give it a `default`",
                ),
                Some(value) if value.len() > ENV_VALUE_BYTES_MAX => {
                    let message =
                        format!("the value of `{name}` is longer than {ENV_VALUE_BYTES_MAX} bytes");
                    error(message, "shorten it");
                }
                Some(_) => {}
            }
            vars.declare(name, value, env.secret);
        }
    }
    vars
}

/// The settings of all files.
pub(super) fn merge(units: &[Unit], report: &mut Report) -> SettingsPlan {
    let mut plan = SettingsPlan::default();
    let mut mode: Option<Mode> = None;
    let mut resolution: Option<Resolution> = None;
    let mut durability: Option<Durability> = None;
    let mut open_on_error: Option<bool> = None;
    for unit in own(units) {
        let raw = &unit.raw;
        if let Some(wanted) = raw.mode {
            let kept = mode.filter(|earlier| looseness(*earlier) < looseness(wanted));
            if let Some(kept) = kept {
                overruled(raw, "mode", kept.name(), report);
            }
            mode = Some(kept.unwrap_or(wanted));
        }
        if let Some(wanted) = raw.resolution {
            if resolution.is_some_and(|earlier| earlier != wanted) {
                overruled(raw, "resolution", "that of an earlier layer", report);
            }
            resolution = resolution.or(Some(wanted));
        }
        if let Some(wanted) = raw.durability {
            if durability == Some(Durability::BeforeEffect) && wanted == Durability::Buffered {
                overruled(raw, "audit", "durability: before_effect", report);
            }
            let strict = durability == Some(Durability::BeforeEffect);
            durability = Some(if strict { Durability::BeforeEffect } else { wanted });
        }
        if let Some(open) = raw.open_on_error {
            if open && open_on_error == Some(false) {
                overruled(raw, "on_internal_error", "closed", report);
            }
            open_on_error = Some(open && open_on_error != Some(false));
        }
        first(&mut plan.audit_store, raw.audit_store.clone());
        first(&mut plan.session_store, raw.session_store.clone());
        first(&mut plan.session_idle_ms, raw.session_idle.map(millis));
        first(&mut plan.session_lease_ms, raw.session_lease.map(millis));
    }
    plan.mode = mode.unwrap_or_default();
    plan.collect = resolution == Some(Resolution::Collect);
    plan.open_on_error = open_on_error == Some(true);
    plan.buffered = durability == Some(Durability::Buffered);
    plan.defaults = defaults(units, report);
    plan.groups = groups(units, report);
    let own_groups = own(units).flat_map(|unit| &unit.raw.groups).map(|(name, _)| &*name.value);
    plan.own_groups = own_groups
        .filter_map(|name| plan.groups.get_key_value(name))
        .map(|(name, members)| (name.clone(), members.clone()))
        .collect();
    plan.approvers = approvers(units, report);
    plan.facts = facts(units, report);
    programs(units, &mut plan.facts, report);
    plan.locked =
        units.iter().flat_map(|unit| &unit.raw.locked).map(|l| l.value.to_string()).collect();
    plan.pinning = pinning(units, report);
    plan.alerts = alerts::plans(own(units), report);
    stores(units, report);
    plan
}

/// What is done about changed definitions of tools. A later file may be stricter than what holds
/// without it, also where no earlier one says anything, and the first file of one's own may say what
/// it likes.
fn pinning(units: &[Unit], report: &mut Report) -> Pinning {
    let mut said = None;
    for unit in units.iter().filter(|unit| unit.grant.is_none()) {
        let Some(wanted) = unit.raw.pinning else { continue };
        let is_project = unit.kind == LayerKind::Project;
        let holds = said.or_else(|| is_project.then(Pinning::default));
        if holds.is_some_and(|holds| wanted < holds) {
            overruled(&unit.raw, "mcp", "the stricter `pin`", report);
        }
        said = Some(holds.map_or(wanted, |holds| holds.max(wanted)));
    }
    said.unwrap_or_default()
}

fn first<T>(place: &mut Option<T>, value: Option<T>) {
    if place.is_none() {
        *place = value;
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn looseness(mode: Mode) -> u8 {
    match mode {
        Mode::Enforce => 0,
        Mode::DryRun => 1,
        Mode::Off => 2,
    }
}

fn overruled(raw: &RawPolicy, key: &str, kept: &str, report: &mut Report) {
    let place = raw.key(key).unwrap_or_default();
    let message = format!("`{key}` would loosen what an earlier layer set; `{kept}` holds");
    let found = Diagnostic::warning("overruled", place, message);
    report.push(found.with_remedy("leave it out here, or change the earlier layer"));
}

fn stores(units: &[Unit], report: &mut Report) {
    for unit in own(units) {
        let stores = [("audit", &unit.raw.audit_store), ("sessions", &unit.raw.session_store)];
        for (key, store) in stores {
            let Some(store) = store else { continue };
            let folder = store.strip_prefix("file:");
            if store != "memory" && folder.is_none_or(str::is_empty) {
                let place = unit.raw.key(key).unwrap_or_default();
                let message = format!("`{store}` is no store");
                let found = Diagnostic::error("store", place, message);
                report.push(found.with_remedy("`memory`, `file:default` or `file:` and a folder"));
            }
        }
    }
}

/// The strictest default of all files, by kind.
fn defaults(units: &[Unit], report: &mut Report) -> Vec<(tollgate_gate::EventKind, bool)> {
    let mut strictest: BTreeMap<tollgate_gate::EventKind, DefaultVote> = BTreeMap::new();
    for unit in units.iter().filter(|unit| unit.grant.is_none()) {
        for spanned in &unit.raw.defaults {
            let (kinds, vote) = spanned.value;
            for kind in kinds.iter() {
                let earlier = strictest.get(&kind).copied();
                if earlier.is_some_and(|earlier| rank(vote) < rank(earlier)) {
                    let message =
                        format!("the default of `{kind}` would loosen what an earlier layer set");
                    let found =
                        Diagnostic::warning("overruled", unit.raw.place(spanned.span), message);
                    report
                        .push(found.with_remedy("leave it out here, or change the earlier layer"));
                } else {
                    strictest.insert(kind, vote);
                }
            }
        }
    }
    strictest
        .into_iter()
        .filter(|(_, vote)| *vote != DefaultVote::Allow)
        .map(|(kind, vote)| (kind, vote == DefaultVote::Deny))
        .collect()
}

fn rank(vote: DefaultVote) -> u8 {
    match vote {
        DefaultVote::Allow => 0,
        DefaultVote::Ask => 1,
        DefaultVote::Deny => 2,
    }
}

fn groups(units: &[Unit], report: &mut Report) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for unit in units {
        for (name, members) in &unit.raw.groups {
            if groups.contains_key(&*name.value) {
                let place = unit.raw.place(name.span);
                defined_twice(report, place, "group", &name.value);
                continue;
            }
            let members = members.iter().map(ToString::to_string).collect();
            groups.insert(name.value.to_string(), members);
        }
    }
    groups
}

/// The keys of those who sign their answers; a project's or an included file cannot name any.
fn approvers(units: &[Unit], report: &mut Report) -> BTreeMap<String, String> {
    let mut approvers = BTreeMap::new();
    for unit in own(units) {
        for (name, key) in &unit.raw.approvers {
            let place = unit.raw.place(name.span);
            let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            let key = key.strip_prefix("ed25519:");
            let Some(key) = key.filter(|key| key.len() == 64 && key.bytes().all(is_hex)) else {
                let message = format!("`{}` has no public key here", name.value);
                let remedy =
                    "`ed25519:` and 64 hexadecimal digits, as `tollgate keys approver new` prints";
                report.push(Diagnostic::error("approvers", place, message).with_remedy(remedy));
                continue;
            };
            if approvers.insert(name.value.to_string(), key.to_owned()).is_some() {
                defined_twice(report, place, "approver", &name.value);
            }
        }
    }
    approvers
}

fn defined_twice(report: &mut Report, place: Place, what: &str, name: &str) {
    let message = format!("the {what} `{name}` is defined in an earlier file");
    let found = Diagnostic::error("duplicate-name", place, message);
    report.push(found.with_remedy("choose another name, or change it there"));
}

/// What the policy says about tools. A project's or an included file's word does not count: it would
/// change what the hooks of others see.
fn facts(units: &[Unit], report: &mut Report) -> ToolFacts {
    let mut facts = ToolFacts::default();
    for unit in own(units) {
        let tools = &unit.raw.tools;
        for (list, out) in
            [(&tools.read_only, &mut facts.read_only), (&tools.writing, &mut facts.writing)]
        {
            for glob in list {
                match Glob::text(&glob.value) {
                    Ok(_) => out.push(glob.value.clone()),
                    Err(error) => {
                        let place = unit.raw.place(glob.span);
                        report.push(Diagnostic::error("glob", place, error.to_string()));
                    }
                }
            }
        }
        for (tool, others) in &tools.aliases {
            for other in others {
                let earlier = facts.aliases.insert(other.clone(), tool.value.clone());
                if earlier.is_some_and(|earlier| earlier != tool.value) {
                    let place = unit.raw.place(tool.span);
                    let message = format!("`{other}` is an alias of two tools");
                    let found = Diagnostic::error("duplicate-name", place, message);
                    report.push(found.with_remedy("a name stands for one tool"));
                }
            }
        }
        for (tool, arguments) in &tools.arguments {
            let list = facts.arguments.entry(tool.clone()).or_default();
            for (verb, argument) in arguments {
                if let Some(verb) = Verb::from_name(verb) {
                    list.push((verb, argument.clone()));
                }
            }
        }
    }
    facts
}

/// Further lines of the program table. Those of a project are kept apart: they can only add.
fn programs(units: &[Unit], facts: &mut ToolFacts, report: &mut Report) {
    for unit in units.iter().filter(|unit| unit.grant.is_none()) {
        let lines = match unit.kind {
            LayerKind::Project => &mut facts.project_programs,
            LayerKind::Managed | LayerKind::User => &mut facts.programs,
        };
        for line in &unit.raw.programs {
            let message = match Programs::check(&line.value) {
                Ok(1) => {
                    lines.push(line.value.clone());
                    continue;
                }
                Ok(_) => "one entry is one line: `deploy prod = !destroys=cluster`".to_owned(),
                Err(TableError::NoEquals { .. }) => {
                    "no ` = ` between the program and what it does".to_owned()
                }
                Err(TableError::Token { token, .. }) => format!("`{token}` is not known"),
                Err(error) => error.to_string(),
            };
            let place = unit.raw.place(line.span);
            let found = Diagnostic::error("program", place, message);
            let remedy = "docs/effects.md has the words: `deploy prod = !destroys=cluster`";
            report.push(found.with_remedy(remedy));
        }
    }
}

/// Tools as matches see them.
pub(super) fn tools(units: &[Unit], report: &mut Report) -> Tools {
    let mut tools = Tools::default();
    for unit in units {
        for (name, members) in &unit.raw.tools.groups {
            if tools.groups.insert(name.value.clone(), members.clone()).is_some() {
                defined_twice(report, unit.raw.place(name.span), "group of tools", &name.value);
            }
        }
        if unit.grant.is_none() && unit.kind != LayerKind::Project {
            for (name, others) in &unit.raw.tools.aliases {
                tools.aliases.entry(name.value.clone()).or_default().extend(others.iter().cloned());
            }
        }
    }
    tools
}

/// The names that a `locked:` list locks.
pub(super) struct Locked(Vec<(usize, String)>);

impl Locked {
    pub(super) fn of(units: &[Unit]) -> Locked {
        let all = units.iter().enumerate();
        Locked(
            all.flat_map(|(at, u)| u.raw.locked.iter().map(move |l| (at, l.value.to_string())))
                .collect(),
        )
    }

    /// Whether a hook of this file is locked: by a list of its own layer or an earlier one.
    pub(super) fn holds(&self, name: &str, unit: usize, units: &[Unit]) -> bool {
        let layer = |at: usize| units.get(at).map_or(usize::MAX, |unit| unit.layer);
        self.0.iter().any(|(at, locked)| locked == name && layer(*at) <= layer(unit))
    }
}
