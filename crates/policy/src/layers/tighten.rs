//! What a project's file and an included file may not do. Each is an error that names the key: a
//! policy that is quietly read otherwise than it was written helps nobody.

use super::LayerKind;
use crate::actions;
use crate::compile::Unit;
use crate::compile::vars::SECRET_ACTIONS;
use crate::diagnostic::{Diagnostic, Place, Report};
use crate::file::RawHook;
use tollgate_gate::{DefaultVote, OnFailure};

/// Top keys of a project's file.
const PROJECT_KEYS: [&str; 9] =
    ["version", "default", "groups", "mcp", "tools", "programs", "locked", "include", "hooks"];
/// Top keys of an included file.
const INCLUDED_KEYS: [&str; 4] = ["version", "groups", "include", "hooks"];
/// What a project may say about tools: names for its own matches, nothing about their effects.
const PROJECT_TOOL_KEYS: [&str; 2] = ["names", "groups"];

/// Checks a file against what it may do.
pub(crate) fn check(unit: &Unit, report: &mut Report) {
    let is_project = unit.kind == LayerKind::Project;
    let (who, keys): (&str, &[&str]) = if unit.grant.is_some() {
        ("an included file", &INCLUDED_KEYS)
    } else if is_project {
        ("a project's policy", &PROJECT_KEYS)
    } else {
        return;
    };
    for key in &unit.raw.keys {
        // Unknown keys were reported already.
        let is_known = crate::file::POLICY.keys.iter().any(|known| known.name == key.value);
        if is_known && !keys.contains(&key.value.as_str()) {
            refuse(report, unit.raw.place(key.span), who, &format!("set `{}`", key.value));
        }
    }
    if !is_project {
        return;
    }
    let tools = &unit.raw.tools;
    let said = [
        ("aliases", !tools.aliases.is_empty()),
        ("read_only", !tools.read_only.is_empty()),
        ("writing", !tools.writing.is_empty()),
        ("arguments", !tools.arguments.is_empty()),
    ];
    for (key, _) in said.iter().filter(|(key, said)| *said && !PROJECT_TOOL_KEYS.contains(key)) {
        let place = unit.raw.key("tools").unwrap_or_default();
        refuse(report, place, who, &format!("set `tools.{key}`"));
    }
    for default in unit.raw.defaults.iter().filter(|d| d.value.1 == DefaultVote::Allow) {
        refuse(report, unit.raw.place(default.span), who, "set a default of `allow`");
    }
    for hook in &unit.raw.hooks {
        hook_of_project(unit, hook, report);
    }
}

fn hook_of_project(unit: &Unit, hook: &RawHook, report: &mut Report) {
    let who = "a project's policy";
    if let Some(span) = hook.overrides {
        refuse(report, unit.raw.place(span), who, "use `override`");
    }
    if let Some(on_failure) = hook.on_failure.as_ref().filter(|f| f.value == OnFailure::Open) {
        refuse(report, unit.raw.place(on_failure.span), who, "use `on_failure: open`");
    }
    for action in &hook.actions {
        let name = action.name.value.as_str();
        let may = actions::find(name).is_some_and(|spec| spec.restricts)
            && !SECRET_ACTIONS.contains(&name);
        if !may {
            let place = unit.raw.place(action.name.span);
            refuse(report, place, who, &format!("use the action `{name}`"));
        }
        action.value.walk(&mut |entry, _| {
            if let Some(entry) = entry.filter(|entry| entry.key == "reveal") {
                refuse(report, unit.raw.place(entry.key_span), who, "use `reveal`");
            }
        });
    }
}

fn refuse(report: &mut Report, place: Place, who: &str, what: &str) {
    let message = format!("{who} may not {what}");
    let remedy = if who.starts_with("a project") {
        "a project may only tighten; this belongs in the user's or the managed policy"
    } else {
        "this belongs in the including file"
    };
    report.push(Diagnostic::error("not-allowed-here", place, message).with_remedy(remedy));
}
