//! Secrets that stand in the policy file: it is read by more people than the secret is meant for.

use crate::compile::Unit;
use crate::diagnostic::{Diagnostic, Report};
use crate::file::{Entry, Node};
use tollgate_gate::{BasicScrub, Scrub};

/// Reports secrets in the texts of hooks, and defaults of secret variables.
pub(super) fn check(units: &[Unit], report: &mut Report) {
    let scrub = BasicScrub::new();
    for unit in units {
        for env in unit.raw.env.iter().filter(|env| env.secret && env.default.is_some()) {
            let message = format!("the secret `{}` has its value in the policy", env.name.value);
            let found = Diagnostic::warning("secret", unit.raw.place(env.name.span), message);
            report.push(found.with_remedy("leave `default` out, and set the variable"));
        }
        for hook in &unit.raw.hooks {
            let mut look = |entry: Option<&Entry>, node: &Node, keys_tell: bool| {
                let Some(text) = node.as_str() else { return };
                let key = entry.map(|entry| entry.key.as_str()).filter(|_| keys_tell);
                if !holds_secret(&scrub, key, text) {
                    return;
                }
                let message = format!("the hook `{}` holds a secret", hook.name.value);
                let found = Diagnostic::warning("secret", unit.raw.place(node.span), message);
                let remedy = "declare a variable: env: { NAME: { secret: true } }, then `${NAME}`";
                report.push(found.with_remedy(remedy));
            };
            for action in &hook.actions {
                action.value.walk(&mut |entry, node| look(entry, node, true));
            }
            if let Some(matching) = &hook.matching {
                matching.walk(&mut |entry, node| look(entry, node, false));
            }
        }
    }
}

fn holds_secret(scrub: &BasicScrub, key: Option<&str>, text: &str) -> bool {
    if text.is_empty() || text.contains("${") {
        return false;
    }
    // The scrubber also takes whole lines that say so themselves; here that is only a word.
    let by_itself = !text.contains("SECRET") && scrub.scrub(None, text).is_some();
    let by_key = key.is_some_and(|key| {
        scrub.scrub(Some(key), text).is_some() && scrub.scrub(None, text).is_none()
    });
    // A value that was put in the secret's place is no secret.
    let is_mask = text.starts_with(['[', '<', '*']) || text.chars().all(|c| c == 'x' || c == 'X');
    by_itself || (by_key && !is_mask)
}
