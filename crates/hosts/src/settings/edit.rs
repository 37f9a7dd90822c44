//! Putting our hooks into a host's settings, and taking them out.

use super::form::{Closed, Form};
use super::look::{handlers, hook, is_ours, no_list, text};
use super::{SettingsError, hooks_of, read};
use crate::facts::{EventFacts, Facts};
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject};

/// The settings with our hook at every event that concerns us, and nothing else changed. What stands
/// there already as it should stays where it is.
///
/// # Errors
/// [`SettingsError`] when the text is not what the host could read.
pub fn with_hooks(
    settings: &str,
    form: &Form,
    facts: &Facts,
    command: &dyn Fn(&EventFacts) -> String,
) -> Result<String, SettingsError> {
    let (root, object) = read(settings)?;
    let is_new = settings.trim().is_empty();
    if form.version && object.get("version").is_none() {
        object.insert(0, "version", 1_u32.into());
    }
    let hooks = match hooks_of(&object)? {
        Some(hooks) => hooks,
        None => object.object_value_or_set("hooks"),
    };
    let wanted = || facts.events.iter().filter(|event| event.is_wanted());
    for property in hooks.properties() {
        let event = property.decoded_name().unwrap_or_default();
        if !wanted().any(|wanted| wanted.name == event)
            && let Some(list) = property.array_value()
            && take_out(&list, form, facts.name)
            && list.elements().is_empty()
        {
            property.remove();
        }
    }
    for event in wanted() {
        let list = match hooks.get(event.name) {
            None => hooks.array_value_or_set(event.name),
            Some(property) => property.array_value().ok_or_else(|| no_list(event.name))?,
        };
        let limit = form.timeout_at(facts, event.name);
        put_in(&list, form, facts, event.name, &command(event), limit);
    }
    Ok(finished(root.to_string(), is_new))
}

/// The settings without our hooks; lists and objects that are empty without them go too.
///
/// # Errors
/// [`SettingsError`] when the text is not what the host could read.
pub fn without_hooks(settings: &str, form: &Form, facts: &Facts) -> Result<String, SettingsError> {
    let (root, object) = read(settings)?;
    let Some(hooks) = hooks_of(&object)? else { return Ok(settings.to_owned()) };
    let mut taken = false;
    for property in hooks.properties() {
        let Some(list) = property.array_value() else { continue };
        if take_out(&list, form, facts.name) {
            taken = true;
            if list.elements().is_empty() {
                property.remove();
            }
        }
    }
    if !taken {
        return Ok(settings.to_owned());
    }
    if hooks.properties().is_empty()
        && let Some(property) = object.get("hooks")
    {
        property.remove();
    }
    Ok(root.to_string())
}

/// Puts our hook into an event's list, unless it stands there just so.
fn put_in(list: &CstArray, form: &Form, facts: &Facts, event: &str, command: &str, limit: u64) {
    let ours: Vec<_> = handlers(list, form.grouped)
        .into_iter()
        .map(|(handler, group)| hook(&handler, group.as_ref(), event, form, facts))
        .filter(|hook| is_ours(&hook.command, facts.name))
        .collect();
    if let [found] = ours.as_slice()
        && found.command == command
        && found.timeout == Some(limit)
        && found.faults.is_empty()
    {
        return;
    }
    take_out(list, form, facts.name);
    let handler = handler(form, command, limit);
    list.append(if form.grouped {
        CstInputValue::Object(vec![("hooks".to_owned(), CstInputValue::Array(vec![handler]))])
    } else {
        handler
    });
}

fn handler(form: &Form, command: &str, limit: u64) -> CstInputValue {
    let mut fields = Vec::new();
    let mut field = |name: &str, value: CstInputValue| fields.push((name.to_owned(), value));
    field("type", "command".into());
    field(form.command, command.into());
    field(form.timeout, limit.into());
    match form.closed {
        None => {}
        Some(Closed::Word(name, word)) => field(name, word.into()),
        Some(Closed::Flag(name)) => field(name, true.into()),
    }
    CstInputValue::Object(fields)
}

/// Takes our hooks out of an event's list, with groups that hold nothing else. Whether there were any.
fn take_out(list: &CstArray, form: &Form, host: &str) -> bool {
    let mut taken = false;
    for (handler, group) in handlers(list, form.grouped) {
        let command = text(&handler, form.command).or_else(|| text(&handler, "command"));
        if !is_ours(&command.unwrap_or_default(), host) {
            continue;
        }
        taken = true;
        let alone = |group: &CstObject| {
            group.array_value("hooks").is_some_and(|inner| inner.elements().len() == 1)
        };
        match group.filter(alone) {
            Some(group) => group.remove(),
            None => handler.remove(),
        }
    }
    taken
}

/// A file that was not there ends with a line end.
fn finished(mut text: String, is_new: bool) -> String {
    if is_new && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
