//! What stands in a host's settings: our hooks, those of others, and whether all are off.

use super::form::{Closed, Form};
use super::{SettingsError, hooks_of, read};
use crate::facts::Facts;
use jsonc_parser::cst::{CstArray, CstNode, CstObject};

/// A hook as it stands in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// At which event.
    pub event: String,
    /// What it runs; empty for one that is no command.
    pub command: String,
    /// Its time limit, in the host's unit.
    pub timeout: Option<u64>,
    /// Whether its failure refuses the call, as far as the host can be told so.
    pub closed: bool,
    /// Which tools it is for, where it says so.
    pub matcher: Option<String>,
}

/// What stands in a host's settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Our hooks.
    pub ours: Vec<Hook>,
    /// Those of others.
    pub others: Vec<Hook>,
    /// Whether a switch turns all hooks off.
    pub all_off: bool,
}

/// Looks at the settings of a host.
///
/// # Errors
/// [`SettingsError`] when the text is not what the host could read.
pub fn standing(text: &str, form: &Form, facts: &Facts) -> Result<Standing, SettingsError> {
    let (_, root) = read(text)?;
    let mut standing = Standing { all_off: is_off(&root, form.off), ..Standing::default() };
    let Some(hooks) = hooks_of(&root)? else { return Ok(standing) };
    for property in hooks.properties() {
        let event = property.decoded_name().unwrap_or_default();
        let Some(list) = property.array_value() else { continue };
        for (handler, group) in handlers(&list, form.grouped) {
            let hook = hook(&handler, group.as_ref(), &event, form);
            if is_ours(&hook.command, facts.name) {
                standing.ours.push(hook);
            } else {
                standing.others.push(hook);
            }
        }
    }
    Ok(standing)
}

/// Every handler of an event's list, with its group.
pub(super) fn handlers(list: &CstArray, grouped: bool) -> Vec<(CstObject, Option<CstObject>)> {
    let objects = list.elements().into_iter().filter_map(|node| node.as_object());
    if !grouped {
        return objects.map(|handler| (handler, None)).collect();
    }
    let mut found = Vec::new();
    for group in objects {
        let inner = group.array_value("hooks").map(|inner| inner.elements()).unwrap_or_default();
        let inner = inner.into_iter().filter_map(|node| node.as_object());
        found.extend(inner.map(|handler| (handler, Some(group.clone()))));
    }
    found
}

pub(super) fn hook(
    handler: &CstObject,
    group: Option<&CstObject>,
    event: &str,
    form: &Form,
) -> Hook {
    let closed = match form.closed {
        None => false,
        Some(Closed::Word(name, word)) => text(handler, name).as_deref() == Some(word),
        Some(Closed::Flag(name)) => flag(handler, name),
    };
    let command = text(handler, form.command).or_else(|| text(handler, "command"));
    Hook {
        event: event.to_owned(),
        command: command.unwrap_or_default(),
        timeout: handler.get(form.timeout).and_then(|p| p.value()?.to_string().parse().ok()),
        closed,
        matcher: text(group.unwrap_or(handler), "matcher"),
    }
}

/// Whether a command is ours, for this host: it calls the hook of `tollgate`, by whatever path.
pub(super) fn is_ours(command: &str, host: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let calls = |pair: &[&str]| {
        pair == ["hook", host]
            || (pair.first() == Some(&"hook") && {
                let word = pair.get(1).copied().unwrap_or_default();
                word.trim_end_matches(['\'', '"', ';']) == host
            })
    };
    command.contains("tollgate") && words.windows(2).any(calls)
}

fn is_off(root: &CstObject, path: &[&str]) -> bool {
    let Some((last, above)) = path.split_last() else { return false };
    let mut object = root.clone();
    for name in above {
        match object.object_value(name) {
            Some(inner) => object = inner,
            None => return false,
        }
    }
    flag(&object, last)
}

fn value(object: &CstObject, name: &str) -> Option<CstNode> {
    object.get(name)?.value()
}

pub(super) fn text(object: &CstObject, name: &str) -> Option<String> {
    value(object, name)?.as_string_lit()?.decoded_value().ok()
}

fn flag(object: &CstObject, name: &str) -> bool {
    value(object, name).and_then(|node| node.as_boolean_lit()).is_some_and(|lit| lit.value())
}
