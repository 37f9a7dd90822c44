//! Exceptions: where a hook of an earlier layer does not hold.
//!
//! They come only from a later layer that may loosen (so never from a project), never against a
//! locked hook, and one that has ended is left out with a warning.

use super::effects::Quantifier;
use super::matching::MatchContext;
use super::plan::ExceptionPlan;
use super::settings::Locked;
use super::vars::Vars;
use super::{Made, Tools, Unit};
use crate::diagnostic::{Diagnostic, Place, Report};
use crate::file::shape::nearest;
use crate::limits::EXCEPTIONS_MAX;
use std::collections::BTreeMap;
use tollgate_gate::Timestamp;

fn ended(hook: &str, place: Place) -> Diagnostic {
    let message = format!("this exception to `{hook}` has ended");
    Diagnostic::warning("exception", place, message).with_remedy("remove it")
}

/// Where each hook stands, by its name; empty where no file has exceptions.
fn places(units: &[Unit], made: &[Made]) -> BTreeMap<String, usize> {
    if units.iter().all(|unit| unit.raw.exceptions.is_empty()) {
        return BTreeMap::new();
    }
    made.iter().zip(0..).map(|(made, at)| (made.plan.name.clone(), at)).collect()
}

/// Attaches the exceptions of all files to their hooks.
pub(super) fn attach(
    units: &[Unit],
    made: &mut [Made],
    vars: &Vars,
    tools: &Tools,
    now: Timestamp,
    report: &mut Report,
) {
    let locked = Locked::of(units);
    let mut count = 0;
    let by_name = places(units, made);
    for unit in units {
        for exception in &unit.raw.exceptions {
            let place = unit.raw.place(exception.hook.span);
            let name = &exception.hook.value;
            let mut error = |message: String, remedy: String| {
                report.push(Diagnostic::error("exception", place, message).with_remedy(remedy));
            };
            count += 1;
            if count > EXCEPTIONS_MAX {
                error(format!("more than {EXCEPTIONS_MAX} exceptions"), "change the hooks".into());
                return;
            }
            let at = by_name.get(&**name).copied();
            let Some(target) = at.and_then(|at| made.get_mut(at)) else {
                let known = by_name.keys().map(String::as_str);
                let remedy = nearest(name, known)
                    .map_or("see `tollgate hooks list`".to_owned(), |near| {
                        format!("did you mean `{near}`?")
                    });
                error(format!("there is no hook `{name}`"), remedy);
                continue;
            };
            let earlier = units.get(target.unit).is_some_and(|hook| hook.layer < unit.layer);
            if !earlier {
                let remedy = "change the hook itself, with `unless`".to_owned();
                error(format!("the hook `{name}` is not of an earlier layer"), remedy);
                continue;
            }
            if target.plan.locked || locked.holds(name, target.unit, units) {
                let remedy = "whoever locked it can change it".to_owned();
                error(format!("the hook `{name}` is locked and has no exceptions"), remedy);
                continue;
            }
            if exception.until.is_some_and(|until| until <= now) {
                report.push(ended(name, place));
                continue;
            }
            let context = MatchContext {
                source: unit.raw.source,
                tool_groups: &tools.groups,
                aliases: &tools.aliases,
                vars,
            };
            let mut problems = Vec::new();
            let matching = context.compile(&exception.matching, Quantifier::All, &mut problems);
            problems.into_iter().for_each(|problem| report.push(problem));
            if matching.conjuncts().is_empty() {
                let message = format!("an exception for every event switches `{name}` off");
                let found = Diagnostic::error("exception", place, message);
                report.push(found.with_remedy("say in `match` for which events it is"));
                continue;
            }
            target.plan.exceptions.push(ExceptionPlan {
                matching,
                until: exception.until.map(Timestamp::nanos),
                reason: exception.reason.clone(),
            });
        }
    }
}
