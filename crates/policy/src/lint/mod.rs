//! Lint: hooks that load and do not do what was meant.
//!
//! What can never have an effect is an error, for somebody relies on it. What is merely odd is a
//! warning. Every check here is sure of what it says: no guess about intent is an error.

mod beaten;
mod masks;
mod matches;
mod secrets;

use crate::compile::build::BuildContext;
use crate::compile::effects::Verb;
use crate::compile::plan::{MatchPlan, SettingsPlan};
use crate::compile::{Made, Unit};
use crate::diagnostic::{Diagnostic, Report};
use crate::file::shape::nearest;
use std::collections::BTreeSet;
use tollgate_gate::{EventKind, VoteKind};

/// Looks at a compiled policy and reports what is odd.
pub(crate) fn lint(
    units: &[Unit],
    made: &[Made],
    settings: &SettingsPlan,
    context: &BuildContext,
    report: &mut Report,
) {
    for hook in made.iter().filter(|hook| !hook.broken) {
        runs(units, hook, report);
        matches::check(hook, report);
        if !context.effects.source().reads_shell() {
            shell(hook, report);
        }
    }
    locked(units, report);
    matches::declared(units, made, settings, report);
    beaten::check(made, report);
    secrets::check(units, report);
    masks::check(made, report);
}

/// Names that a `locked:` list locks and no hook has: what was to be locked is not.
fn locked(units: &[Unit], report: &mut Report) {
    let hooks = units.iter().flat_map(|unit| &unit.raw.hooks);
    let names: BTreeSet<&str> = hooks.map(|hook| &*hook.name.value).collect();
    for unit in units {
        for locked in unit.raw.locked.iter().filter(|l| !names.contains(&*l.value)) {
            let message = format!("`locked` names no hook: there is no `{}`", locked.value);
            let found = Diagnostic::warning("locked", unit.raw.place(locked.span), message);
            report.push(found.with_remedy(match nearest(&locked.value, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "take it out, or write the hook".to_owned(),
            }));
        }
    }
}

/// How a hook is run.
fn runs(units: &[Unit], hook: &Made, report: &mut Report) {
    let Some(raw) = units.get(hook.unit).map(|unit| &unit.raw) else { return };
    let Some(written) = raw.hooks.get(hook.written) else { return };
    let name = &hook.plan.name;
    if let Some(dry_run) = written.dry_run.as_ref().filter(|_| hook.plan.dry_run)
        && hook.plan.dry_until.is_none()
    {
        let message = format!("the dry run of `{name}` never ends");
        let found = Diagnostic::warning("dry-run", raw.place(dry_run.span), message);
        report.push(found.with_remedy("dry_run: { until: DATE } ends it by itself"));
    }
    let Some(rollout) = &written.rollout else { return };
    let place = raw.place(rollout.span);
    if rollout.value.basis_points == 0 {
        let message = format!("`{name}` is rolled out to nobody");
        report.push(Diagnostic::warning("rollout", place, message).with_remedy("enabled: false"));
    } else if rollout.value.basis_points < 10_000
        && matches!(hook.plan.action.as_str(), "deny" | "abort")
    {
        let message =
            format!("`{name}` refuses for a part of the {} only", of_what(hook.plan.rollout));
        let found = Diagnostic::warning("rollout", place, message);
        report.push(found.with_remedy("a dry run tries a refusal out without leaving gaps"));
    }
}

fn of_what(rollout: Option<(u8, u8)>) -> &'static str {
    match rollout {
        Some((_, 1)) => "tenants",
        Some((_, 2)) => "users",
        _ => "sessions",
    }
}

/// A restricting hook on effects does not see what a shell command does, while nothing reads
/// commands.
fn shell(hook: &Made, report: &mut Report) {
    let restricts =
        hook.plan.votes.as_ref().is_some_and(|v| v.iter().any(|v| *v > VoteKind::Allow));
    let before = hook.plan.kinds.contains(&EventKind::PreTool);
    if !restricts || !before || hook.plan.matching.exact_tools().is_some() {
        return;
    }
    let mut verbs: Vec<Verb> = Vec::new();
    let mut asks_unknown = false;
    hook.plan.matching.walk(&mut |plan| match plan {
        MatchPlan::Paths(verb, ..) | MatchPlan::Outside(verb, ..) | MatchPlan::Names(verb, ..) => {
            verbs.push(*verb);
        }
        MatchPlan::Unknown(_) | MatchPlan::Hidden(_) => asks_unknown = true,
        MatchPlan::Always
        | MatchPlan::Name(..)
        | MatchPlan::Tags(_)
        | MatchPlan::AnyTag(_)
        | MatchPlan::Labels(_)
        | MatchPlan::Value(..)
        | MatchPlan::All(_)
        | MatchPlan::AnyOf(_)
        | MatchPlan::Not(_) => {}
    });
    let Some(verb) = verbs.first().filter(|_| !asks_unknown) else { return };
    let verb = verb.name();
    let message = format!("`{}` does not see what a shell command {verb}", hook.plan.name);
    let place = hook.matching.unwrap_or(hook.place);
    let remedy =
        format!("a second hook with `match: {{ unknown: [{verb}] }}` catches what cannot be told");
    report.push(Diagnostic::warning("shell-unseen", place, message).with_remedy(remedy));
}
