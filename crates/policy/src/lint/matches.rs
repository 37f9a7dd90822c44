//! Matches that no event can meet, and globs of tools that there are not.

use crate::compile::plan::{Field, MatchPlan, SettingsPlan};
use crate::compile::{Made, Unit, tool_kinds};
use crate::diagnostic::{Diagnostic, Report};
use crate::file::shape::nearest;
use std::collections::BTreeSet;
use tollgate_gate::glob::Glob;
use tollgate_gate::{EventKind, KindSet};

/// Whether any event can meet a hook's match.
pub(super) fn check(hook: &Made, report: &mut Report) {
    let name = &hook.plan.name;
    let place = hook.matching.unwrap_or(hook.on);
    let kinds = KindSet::of(hook.plan.kinds.iter().copied());
    if kinds.is_empty() {
        // An empty list, or only unknown kinds, which were reported.
        return;
    }
    let possible = possible_kinds(&hook.plan.matching);
    let never: Vec<&str> =
        kinds.iter().filter(|kind| !possible.contains(kind)).map(EventKind::name).collect();
    if never.len() == kinds.iter().count() {
        let message = format!(
            "`{name}` can never match: no event of `{}` has what it asks for",
            never.join("`, `")
        );
        let found = Diagnostic::error("never-matches", place, message);
        report.push(found.with_remedy(match possible.is_empty() {
            true => "no kind of event has all of this at once: make several hooks".to_owned(),
            false => format!("on: {}", suggestion(&possible)),
        }));
    } else if !never.is_empty() {
        let message = format!("`{name}` can never match at `{}`", never.join("`, `"));
        let found = Diagnostic::warning("never-matches", hook.on, message);
        report.push(found.with_remedy("leave that kind out, or make a second hook for it"));
    }
    if let Some(why) = contradiction(&hook.plan.matching) {
        let message = format!("`{name}` can never match: {why}");
        let found = Diagnostic::error("never-matches", place, message);
        report.push(
            found.with_remedy("all keys of a match must hold at once; `any` takes alternatives"),
        );
    }
}

fn suggestion(possible: &BTreeSet<EventKind>) -> &'static str {
    if possible.contains(&EventKind::PreTool) { "pre_tool" } else { "pre_model" }
}

/// The kinds at which a match can hold.
fn possible_kinds(plan: &MatchPlan) -> BTreeSet<EventKind> {
    let all = || EventKind::ALL.into_iter().collect::<BTreeSet<_>>();
    let tools = || tool_kinds().iter().collect::<BTreeSet<_>>();
    match plan {
        MatchPlan::Name(Field::Tool | Field::Server, _)
        | MatchPlan::Paths(..)
        | MatchPlan::Outside(..)
        | MatchPlan::Names(..)
        | MatchPlan::Unknown(_)
        | MatchPlan::Hidden(_) => tools(),
        MatchPlan::Value(path, _) if path.starts_with("args.") => tools(),
        MatchPlan::Name(Field::Model, _) => {
            BTreeSet::from([EventKind::PreModel, EventKind::PostModel])
        }
        MatchPlan::All(inner) => inner.iter().fold(all(), |kinds, plan| {
            kinds.intersection(&possible_kinds(plan)).copied().collect()
        }),
        MatchPlan::AnyOf(inner) => inner.iter().flat_map(possible_kinds).collect(),
        MatchPlan::Always
        | MatchPlan::Name(Field::Tenant | Field::User | Field::Agent | Field::Host, _)
        | MatchPlan::Tags(_)
        | MatchPlan::AnyTag(_)
        | MatchPlan::Labels(_)
        | MatchPlan::Value(..)
        | MatchPlan::Not(_) => all(),
    }
}

/// Why two conditions on the same field exclude each other, if they do.
fn contradiction(plan: &MatchPlan) -> Option<String> {
    let names: Vec<(Field, &[String], bool)> = plan
        .conjuncts()
        .iter()
        .filter_map(|plan| {
            let negated = if let MatchPlan::Not(inner) = plan { Some(&**inner) } else { None };
            let (plan, positive) = (negated.unwrap_or(plan), negated.is_none());
            if let MatchPlan::Name(field, globs) = plan {
                return Some((*field, globs.as_slice(), positive));
            }
            None
        })
        .collect();
    for (field, globs, _) in names.iter().filter(|(.., positive)| *positive) {
        let exact: Option<Vec<String>> = globs.iter().map(|glob| exact_text(glob)).collect();
        let Some(exact) = exact else { continue };
        for (other, other_globs, positive) in names.iter().filter(|(other, ..)| other == field) {
            let holds = |text: &String| {
                let found = other_globs.iter().filter_map(|glob| Glob::text(glob).ok());
                found.into_iter().any(|glob| glob.matches(text)) == *positive
            };
            if !exact.iter().any(holds) {
                let key = other.key();
                let not = if *positive { "" } else { "not " };
                return Some(format!(
                    "`{key}` cannot be `{}` and {not}`{}`",
                    exact.join("` or `"),
                    other_globs.join("` or `")
                ));
            }
        }
    }
    None
}

/// The text of a glob without wildcards.
fn exact_text(glob: &str) -> Option<String> {
    let compiled = Glob::text(glob).ok()?;
    match compiled.literals()?.as_slice() {
        [one] => Some((*one).to_owned()),
        _ => None,
    }
}

/// Globs of tools that match no tool that the policy knows.
pub(super) fn declared(
    units: &[Unit],
    made: &[Made],
    settings: &SettingsPlan,
    report: &mut Report,
) {
    let names: BTreeSet<&str> =
        units.iter().flat_map(|unit| &unit.raw.tools.names).map(String::as_str).collect();
    let mut known = names.clone();
    known.extend(settings.facts.aliases.iter().flat_map(|(a, b)| [a.as_str(), b.as_str()]));
    known.extend(settings.facts.arguments.keys().map(String::as_str));
    for hook in made {
        let mut globs: Vec<&String> = Vec::new();
        hook.plan.matching.walk(&mut |plan| {
            if let MatchPlan::Name(Field::Tool, tools) = plan {
                globs.extend(tools);
            }
        });
        for glob in globs {
            // The usual case costs one look-up, however many names there are.
            if known.contains(glob.as_str()) {
                continue;
            }
            let Ok(compiled) = Glob::text(glob) else { continue };
            if known.iter().any(|name| compiled.matches(name)) {
                continue;
            }
            let near = nearest(glob, known.iter().copied());
            // Without a full list of names, only what looks like a slip is worth a word.
            if names.is_empty() && near.is_none() {
                continue;
            }
            let message =
                format!("`{glob}` in `{}` matches no tool that is declared", hook.plan.name);
            let place = hook.matching.unwrap_or(hook.place);
            let remedy = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "add it to `tools.names`, or take it out".to_owned(),
            };
            report.push(Diagnostic::warning("unknown-tool", place, message).with_remedy(remedy));
        }
    }
}
