//! Redaction that lets through what it should not, and masks that nobody would notice coming back.

use crate::compile::Made;
use crate::diagnostic::{Diagnostic, Report};
use regex::Regex;
use tollgate_gate::Json;

/// Data that have nothing in common: a pattern that takes them all takes everything.
const STRANGERS: [&str; 4] =
    ["zhangsan@x.com", "+44 20 7946 0958", "A-1_b/2=", "\u{738b}\u{5c0f}\u{660e} 1990-03-04"];

/// Reports what is odd about the hooks that redact.
pub(super) fn check(made: &[Made], report: &mut Report) {
    let value = |hook: &Made| Json::read(hook.plan.value.as_bytes()).unwrap_or_default();
    let protects = made.iter().any(|hook| hook.plan.action == "protect_masks");
    for hook in made.iter().filter(|hook| hook.plan.action == "redact" && !hook.broken) {
        let value = value(hook);
        allows(hook, &value, report);
        slow(hook, &value, report);
        if protects {
            unseen(hook, &value, report);
        }
    }
}

fn texts(value: Option<&Json>) -> Vec<&str> {
    match value {
        Some(Json::String(text)) => vec![text],
        Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
        None | Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) => Vec::new(),
    }
}

/// An exception for everything.
fn allows(hook: &Made, value: &Json, report: &mut Report) {
    let Some(allow) = value.get("allow") else { return };
    let takes_all = |pattern: &&str| {
        let whole = Regex::new(&format!(r"\A(?:{pattern})\z"));
        whole.is_ok_and(|whole| STRANGERS.iter().all(|text| whole.is_match(text)))
    };
    let is_all = |glob: &&str| matches!(*glob, "*" | "**" | "**/*" | "/**");
    let found = [
        ("patterns", texts(allow.get("patterns")).into_iter().find(takes_all)),
        ("tools", texts(allow.get("tools")).into_iter().find(is_all)),
        ("paths", texts(allow.get("paths")).into_iter().find(is_all)),
    ];
    for (key, all) in found {
        let Some(all) = all else { continue };
        let name = &hook.plan.name;
        let message = format!("`{name}` masks nothing: `{all}` in `allow.{key}` takes everything");
        let found = Diagnostic::warning("allows-all", hook.place, message);
        report.push(found.with_remedy("name what is to be left alone, or take the hook out"));
    }
}

/// A pattern that is tried on all text.
fn slow(hook: &Made, value: &Json, report: &mut Report) {
    let Some(Json::Array(custom)) = value.get("custom") else { return };
    for rule in custom.iter().filter(|rule| texts(rule.get("keywords")).is_empty()) {
        let id = rule.get("id").and_then(Json::as_str).unwrap_or_default();
        let message = format!("the rule `{id}` has no `keywords`: its pattern runs on all text");
        let found = Diagnostic::warning("slow-rule", hook.place, message);
        report.push(found.with_remedy("name a word that stands near the datum"));
    }
}

/// Masks that `protect_masks` cannot tell from other text: shapes, and stars of anything but secrets.
fn unseen(hook: &Made, value: &Json, report: &mut Report) {
    let all = value.get("mask").map(|mask| ("", mask));
    let by_name = value.get("masks").and_then(Json::as_object);
    let by_name = by_name.into_iter().flat_map(|masks| masks.iter());
    let is_unseen = |name: &str, mask: &Json| {
        let is_stars = mask.as_str() == Some("stars") || mask.get("stars").is_some();
        let of_secrets = matches!(name, "secrets" | "secret" | "password" | "custom");
        mask.as_str() == Some("shape") || (is_stars && !of_secrets)
    };
    let form = all.into_iter().chain(by_name).find(|(name, mask)| is_unseen(name, mask));
    let Some((_, form)) = form else { return };
    let form = if form.as_str() == Some("shape") { "shape" } else { "stars" };
    let name = &hook.plan.name;
    let message = format!("`protect_masks` does not notice all `{form}` masks of `{name}`");
    let found = Diagnostic::warning("masks-unseen", hook.place, message);
    report.push(found.with_remedy("`label` masks are noticed when they are written back"));
}
