//! What stands in a host's settings: our hooks, those of others, and whether all are off.
//!
//! A hook of ours is measured against what an install writes: whatever else stands at it and could keep it
//! from being run, from being waited for or from being heard is a fault of it, named in words.

use super::form::{Closed, Form, Off, needed_ms};
use super::{SettingsError, hooks_of, portable, read};
use crate::facts::{Facts, TimeUnit};
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
    /// What of it is other than an install writes it and keeps it from doing its work.
    pub faults: Vec<String>,
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
    /// Whether a switch leaves the hooks of the machine's settings only.
    pub only_managed: bool,
}

/// Looks at the settings of a host.
///
/// # Errors
/// [`SettingsError`] when the text is not what the host could read.
pub fn standing(text: &str, form: &Form, facts: &Facts) -> Result<Standing, SettingsError> {
    let (_, root) = read(text)?;
    let mut standing = Standing {
        all_off: form.off.iter().any(|off| is_off(&root, *off)),
        only_managed: form.only_managed.is_some_and(|name| flag(&root, name)),
        ..Standing::default()
    };
    let Some(hooks) = hooks_of(&root)? else { return Ok(standing) };
    check_strictly(&root, &hooks, form, facts)?;
    for property in hooks.properties() {
        let event = property.decoded_name().unwrap_or_default();
        let Some(list) = property.array_value() else {
            if facts.event(&event).is_some() {
                return Err(no_list(&event));
            }
            continue;
        };
        for (handler, group) in handlers(&list, form.grouped) {
            let mut hook = hook(&handler, group.as_ref(), &event, form, facts);
            if !is_ours(&hook.command, facts.name) {
                standing.others.push(hook);
                continue;
            }
            if form.off.iter().any(|off| is_listed(&root, *off, &handler, &hook.command)) {
                hook.faults.push("it is in the list of those that are off".to_owned());
            }
            standing.ours.push(hook);
        }
    }
    Ok(standing)
}

pub(super) fn no_list(event: &str) -> SettingsError {
    let place = format!("hooks.{event}");
    SettingsError::Shape { place, found: "something else", wanted: "a list" }
}

/// What makes a strict host pass over the whole file.
fn check_strictly(
    root: &CstObject,
    hooks: &CstObject,
    form: &Form,
    facts: &Facts,
) -> Result<(), SettingsError> {
    if !form.strict {
        return Ok(());
    }
    let wrong = |place: String, found, wanted| Err(SettingsError::Shape { place, found, wanted });
    if root.get("version").is_none() {
        return wrong(
            "version".to_owned(),
            "not there",
            "a number, without which the file is passed over",
        );
    }
    let mut names = hooks.properties().into_iter().filter_map(|property| property.decoded_name());
    match names.find(|name| facts.event(name).is_none()) {
        Some(name) => wrong(
            format!("hooks.{name}"),
            "no event that is known",
            "one, or nothing: the host may pass over the file",
        ),
        None => Ok(()),
    }
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
    facts: &Facts,
) -> Hook {
    let closed = match form.closed {
        None => false,
        Some(Closed::Word(name, word)) => text(handler, name).as_deref() == Some(word),
        Some(Closed::Flag(name)) => flag(handler, name),
    };
    let command = text(handler, form.command).or_else(|| text(handler, "command"));
    let timeout = handler.get(form.timeout).and_then(|p| p.value());
    let mut hook = Hook {
        event: event.to_owned(),
        command: command.unwrap_or_default(),
        timeout: timeout.as_ref().and_then(|limit| limit.to_string().parse().ok()),
        closed,
        matcher: text(group.unwrap_or(handler), "matcher"),
        faults: Vec::new(),
    };
    hook.faults = faults(&hook, handler, form, facts);
    let at = group.unwrap_or(handler);
    if hook.matcher.is_none() && at.get("matcher").is_some() {
        hook.faults.push("its `matcher` is no text".to_owned());
    }
    if timeout.is_some() && hook.timeout.is_none() {
        hook.faults.push(format!("its `{}` is no whole number", form.timeout));
    }
    if let Some(group) = group {
        hook.faults.extend(additions(group, &["hooks", "matcher", "sequential"]));
    }
    hook
}

/// Names at a hook that change nothing of what it does.
const HARMLESS: &[&str] = &[
    "statusMessage",
    "description",
    "name",
    "powershell",
    "commandWindows",
    "additionalContextLimit",
];

/// Longest time limit of a hook that makes sense, in milliseconds.
const LONGEST_MS: u64 = 3_600_000;
/// Switches at a hook that do nothing while they are false.
const OFF_BY_FALSE: &[&str] = &["async", "asyncRewake", "once", "disabled", "if"];

/// What keeps a hook from doing its work.
fn faults(hook: &Hook, handler: &CstObject, form: &Form, facts: &Facts) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(kind) = text(handler, "type").filter(|kind| kind != "command") {
        faults.push(format!("its type is `{kind}`, not `command`"));
    }
    let millis = match facts.timeout_unit {
        TimeUnit::Seconds => 1_000,
        TimeUnit::Milliseconds => 1,
    };
    let needed = needed_ms(facts, &hook.event);
    let given = |limit: &u64| limit.saturating_mul(millis);
    if hook.timeout.as_ref().is_some_and(|limit| given(limit) > LONGEST_MS) {
        faults
            .push(format!("its `{}` is over an hour: is it meant in another unit?", form.timeout));
    }
    if let Some(limit) = hook.timeout.filter(|limit| given(limit) <= needed) {
        let unit = if millis == 1 { "ms" } else { "s" };
        faults.push(format!(
            "its `{}` is {limit} {unit}, and the host gives up before it has answered",
            form.timeout
        ));
    }
    match form.closed {
        Some(Closed::Word(name, word)) if !hook.closed => {
            faults.push(format!("its `{name}` is not `{word}`, so its failure lets the call run"));
        }
        Some(Closed::Flag(name)) if !hook.closed => {
            faults.push(format!("its `{name}` is not true, so its failure lets the call run"));
        }
        Some(_) | None => {}
    }
    if let Some(matcher) = hook.matcher.as_deref().filter(|m| !m.is_empty() && *m != "*") {
        faults.push(format!("its `matcher` is `{matcher}`, so it is for some tools only"));
    }
    let event = facts.event(&hook.event);
    let is_portable = event.is_some_and(|event| hook.command == portable(form, event));
    if !is_portable && !is_one_command(&hook.command) {
        faults.push("its command is more, or other, than a call of Tollgate's hook".to_owned());
    }
    let mut known = vec!["type", form.command, "command", form.timeout, "matcher"];
    known.extend(form.closed.map(|closed| match closed {
        Closed::Word(name, _) | Closed::Flag(name) => name,
    }));
    known.extend(HARMLESS);
    faults.extend(additions(handler, &known));
    faults
}

/// Names that an install does not write and that are not known to be harmless.
fn additions(object: &CstObject, known: &[&str]) -> Vec<String> {
    let unknown = |property: &jsonc_parser::cst::CstObjectProp| {
        let name = property.decoded_name()?;
        // A switch that is off is as good as not there.
        let is_off = OFF_BY_FALSE.contains(&&*name)
            && property
                .value()
                .is_none_or(|value| ["null", "false"].contains(&&*value.to_string()));
        let is_known = known.contains(&&*name) || HARMLESS.contains(&&*name);
        (!is_off && !is_known).then(|| format!("`{name}` stands at it"))
    };
    object.properties().iter().filter_map(unknown).collect()
}

/// Whether a shell would run one plain command: nothing behind it, in it or around it.
fn is_one_command(command: &str) -> bool {
    let (mut quote, mut escaped) = (None, false);
    for c in command.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`') => return false,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (
                None,
                '|' | '&' | ';' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '#' | '!' | '\n',
            ) => {
                return false;
            }
            (None, _) => {}
        }
    }
    // The program first, by its path; its name ends the word, within the quotes of a path with blanks.
    let Some((program, rest)) = command.split_once(" hook ") else { return false };
    let name = program.strip_suffix('\'').unwrap_or(program);
    let is_quoted = program.starts_with('\'') && name.len() < program.len();
    let calls = name.ends_with("tollgate") && (is_quoted || !program.contains([' ', '\'']));
    let mut words = rest.split(' ').skip(1);
    while let Some(word) = words.next() {
        match word {
            "--wrap" => {}
            "--policy" | "--state" | "--event" => {
                // A path with blanks stands in quotes.
                let Some(value) = words.next() else { return false };
                let mut open = value.matches('\'').count() % 2 == 1;
                while open {
                    let Some(more) = words.next() else { return false };
                    open = more.matches('\'').count() % 2 == 0;
                }
            }
            _ => return false,
        }
    }
    quote.is_none() && calls
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

fn is_off(root: &CstObject, off: Off) -> bool {
    let said = |path| at(root, path).and_then(|node| node.as_boolean_lit()).map(|lit| lit.value());
    match off {
        Off::When(path) => said(path) == Some(true),
        Off::Unless(path) => said(path) == Some(false),
        Off::Listed(_) => false,
    }
}

/// Whether a list of hooks that are off has this one, by its name or its command.
fn is_listed(root: &CstObject, off: Off, handler: &CstObject, command: &str) -> bool {
    let Off::Listed(path) = off else { return false };
    let Some(list) = at(root, path).and_then(|node| node.as_array()) else { return false };
    let name = text(handler, "name");
    let listed = |node: CstNode| node.as_string_lit().and_then(|lit| lit.decoded_value().ok());
    let mut listed = list.elements().into_iter().filter_map(listed);
    listed.any(|listed| listed == command || Some(&listed) == name.as_ref())
}

fn at(root: &CstObject, path: &[&str]) -> Option<CstNode> {
    let (last, above) = path.split_last()?;
    let mut object = root.clone();
    for name in above {
        object = object.object_value(name)?;
    }
    value(&object, last)
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
