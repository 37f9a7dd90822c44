//! Hooks that a stricter one always beats: whatever they say, they never decide.
//!
//! Hook A beats hook B when A refuses every event that B can concern, at every kind of B, without a
//! condition, and B only votes. The comparison is one of written conditions, so it finds less than
//! there is and never finds too much.

use crate::compile::Made;
use crate::compile::plan::MatchPlan;
use crate::diagnostic::{Diagnostic, Report};
use std::collections::HashMap;
use tollgate_gate::glob::Glob;
use tollgate_gate::{Roles, VoteKind};

/// Most refusing hooks of one tool, and most without exact tools, that each hook is compared with.
const BEATERS_MAX: usize = 200;

/// Reports hooks that never decide.
pub(super) fn check(made: &[Made], report: &mut Report) {
    let mut by_tool: HashMap<String, Vec<usize>> = HashMap::new();
    let mut others: Vec<usize> = Vec::new();
    for (at, hook) in made.iter().enumerate().filter(|(_, hook)| always_refuses(hook)) {
        match hook.plan.matching.exact_tools() {
            Some(tools) => {
                for tool in tools {
                    let same_tool = by_tool.entry(tool).or_default();
                    if same_tool.len() < BEATERS_MAX {
                        same_tool.push(at);
                    }
                }
            }
            None if others.len() < BEATERS_MAX => others.push(at),
            None => {}
        }
    }
    for (at, hook) in made.iter().enumerate().filter(|(_, hook)| only_votes(hook)) {
        let exact = hook.plan.matching.exact_tools();
        let tool = exact.as_ref().and_then(|tools| tools.first());
        let same_tool = tool.and_then(|tool| by_tool.get(tool)).into_iter().flatten();
        let beater = same_tool
            .chain(&others)
            .filter(|other| **other != at)
            .find_map(|other| made.get(*other).filter(|a| beats((*other, a), (at, hook))));
        if let Some(beater) = beater {
            let (name, by) = (&hook.plan.name, &beater.plan.name);
            let message = format!("`{name}` never decides: `{by}` refuses everything it concerns");
            let found = Diagnostic::warning("beaten", hook.place, message);
            report.push(found.with_remedy(format!("take it out, or narrow `{by}`")));
        }
    }
}

fn strictness(hook: &Made) -> Option<VoteKind> {
    match hook.plan.action.as_str() {
        "deny" => Some(VoteKind::Deny),
        "abort" => Some(VoteKind::Abort),
        _ => None,
    }
}

fn always_refuses(hook: &Made) -> bool {
    let plan = &hook.plan;
    strictness(hook).is_some()
        && !hook.broken
        && plan.enabled
        && !plan.dry_run
        && plan.rollout.is_none_or(|(percent, _)| percent >= 100)
        && plan.when.is_none()
        && plan.unless.is_none()
        && plan.exceptions.is_empty()
        && !plan.sees_original
}

fn only_votes(hook: &Made) -> bool {
    let spec = crate::actions::find(&hook.plan.action);
    !hook.broken
        && hook.plan.enabled
        && !hook.plan.dry_run
        && !hook.plan.claims
        && hook.plan.votes.as_ref().is_some_and(|votes| !votes.is_empty())
        && spec.is_some_and(|spec| spec.roles == Roles::JUDGE)
}

fn beats((a_at, a): (usize, &Made), (b_at, b): (usize, &Made)) -> bool {
    let Some(strict) = strictness(a) else { return false };
    let first = (a.plan.priority, a_at) < (b.plan.priority, b_at);
    let strictest = b.plan.votes.iter().flatten().max();
    let weaker = strictest.is_some_and(|b| *b < strict || (*b == strict && first));
    weaker
        && b.plan.kinds.iter().all(|kind| a.plan.kinds.contains(kind))
        && a.plan
            .matching
            .conjuncts()
            .iter()
            .all(|a| b.plan.matching.conjuncts().iter().any(|b| implies(b, a)))
}

/// Whether every event that meets `b` meets `a`; a no may be a yes that is not seen.
fn implies(b: &MatchPlan, a: &MatchPlan) -> bool {
    match (b, a) {
        (MatchPlan::Name(field, narrow), MatchPlan::Name(other, wide)) => {
            field == other && narrow.iter().all(|glob| covered(glob, wide))
        }
        (MatchPlan::Value(path, narrow), MatchPlan::Value(other, wide)) => {
            path == other && narrow.iter().all(|glob| covered(glob, wide))
        }
        (MatchPlan::Tags(more), MatchPlan::Tags(fewer))
        | (MatchPlan::Labels(more), MatchPlan::Labels(fewer)) => {
            fewer.iter().all(|tag| more.contains(tag))
        }
        (MatchPlan::AnyTag(fewer), MatchPlan::AnyTag(more)) => {
            fewer.iter().all(|tag| more.contains(tag))
        }
        (b, a) => a == b,
    }
}

fn covered(glob: &String, wide: &[String]) -> bool {
    let literal = Glob::text(glob).ok().and_then(|glob| {
        glob.literals().map(|texts| texts.iter().map(|t| (*t).to_owned()).collect())
    });
    let literal: Option<Vec<String>> = literal;
    wide.iter().any(|w| {
        w == glob
            || w == "*"
            || literal.as_ref().is_some_and(|texts| {
                Glob::text(w).is_ok_and(|w| texts.iter().all(|text| w.matches(text)))
            })
    })
}
