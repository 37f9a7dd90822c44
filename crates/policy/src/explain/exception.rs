//! The narrowest exception that would have let a call through.
//!
//! It pins everything that the call has: who, which tool, every argument's value. A person looks at
//! it, may widen it, and puts it in a later layer; nothing is written here.

use crate::load::Loaded;
use std::fmt::{self, Write as _};
use tollgate_gate::text::is_deceptive;
use tollgate_gate::{Decision, Event, Json, Timestamp, Verdict};

/// Most arguments that an exception pins.
const PINS_MAX: usize = 64;

/// Why there is no exception for a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoException {
    /// It goes through already.
    #[error("the call goes through")]
    GoesThrough,
    /// No hook of the policy refused it: a default, a limit of the gate, an ended session.
    #[error("no hook of the policy refused it")]
    NoHook,
    /// The hook that refused it is locked.
    #[error("the hook `{0}` is locked and has no exceptions")]
    Locked(String),
    /// The event is no tool call, so an exception would hold for too much.
    #[error("only a tool call can be pinned")]
    NoCall,
    /// It has too many arguments to pin.
    #[error("more than {PINS_MAX} arguments")]
    TooLarge,
}

/// An exception that holds for one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The hook that it is against.
    pub hook: String,
    /// What the call must have, by match key: values as they are, not yet globs.
    pub pins: Vec<(String, String)>,
    /// Why.
    pub reason: String,
    /// When it ends.
    pub until: Option<Timestamp>,
}

/// Makes the narrowest exception for what a decision refused. Its text is one list item below
/// `exceptions:`.
///
/// # Errors
/// [`NoException`] says why there is none.
pub fn exception_for(
    loaded: &Loaded,
    event: &Event,
    decision: &Decision,
    reason: &str,
    until: Option<Timestamp>,
) -> Result<Exception, NoException> {
    if decision.verdict == Verdict::Allow {
        return Err(NoException::GoesThrough);
    }
    let name = decision.hook.as_deref().ok_or(NoException::NoHook)?;
    let hook = loaded.hooks().find(|hook| hook.name == name).ok_or(NoException::NoHook)?;
    if hook.locked {
        return Err(NoException::Locked(hook.name));
    }
    let call = decision.payload.tool_call().ok_or(NoException::NoCall)?;
    let mut pins = vec![("tool".to_owned(), call.tool.to_string())];
    let session = &event.session;
    for (key, value) in [
        ("server", call.server.as_deref()),
        ("tenant", session.tenant.as_deref()),
        ("user", session.user.as_deref()),
        ("agent", session.agent.as_deref()),
        ("host", session.host.as_deref()),
    ] {
        pins.extend(value.map(|value| (key.to_owned(), value.to_owned())));
    }
    pin("args", &call.arguments, &mut pins)?;
    let (hook, reason) = (name.to_owned(), reason.to_owned());
    Ok(Exception { hook, pins, reason, until })
}

impl Exception {
    /// The item with its lines this far to the right.
    pub fn block(&self, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let mut out = format!("{pad}- hook: {}\n{pad}  match:\n", quoted(&self.hook));
        for (key, value) in &self.pins {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(out, "{pad}    {}: {}", quoted(key), quoted(&literal(value)));
        }
        let _ = writeln!(out, "{pad}  reason: {}", quoted(&self.reason));
        if let Some(until) = self.until {
            let _ = writeln!(out, "{pad}  until: {}", quoted(&until.to_string()));
        }
        out
    }

    /// The item on one line, in braces.
    pub fn flow(&self) -> String {
        let (hook, reason) = (quoted(&self.hook), quoted(&self.reason));
        let mut out = format!("{{ hook: {hook}, match: {}, reason: {reason}", self.matching());
        if let Some(until) = self.until {
            let _ = write!(out, ", until: {}", quoted(&until.to_string()));
        }
        out.push_str(" }");
        out
    }

    /// What the call must have, as a match on one line.
    pub fn matching(&self) -> String {
        let pin = |(key, value): &(String, String)| {
            format!("{}: {}", quoted(key), quoted(&literal(value)))
        };
        let pins: Vec<String> = self.pins.iter().map(pin).collect();
        format!("{{ {} }}", pins.join(", "))
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.block(2))
    }
}

/// Pins every value below `path`.
fn pin(path: &str, value: &Json, pins: &mut Vec<(String, String)>) -> Result<(), NoException> {
    if pins.len() > PINS_MAX {
        return Err(NoException::TooLarge);
    }
    match value {
        Json::Object(object) => {
            for (key, value) in object.iter() {
                let is_plain = !key.is_empty() && !key.contains(['.', '[', '"', '*']);
                let step = if is_plain { key.to_owned() } else { format!("\"{key}\"") };
                pin(&format!("{path}.{step}"), value, pins)?;
            }
        }
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                pin(&format!("{path}[{at}]"), item, pins)?;
            }
        }
        Json::String(text) if !text.is_empty() => pins.push((path.to_owned(), text.clone())),
        Json::Bool(_) | Json::Number(_) => pins.push((path.to_owned(), value.text())),
        // There is no glob of nothing.
        Json::Null | Json::String(_) => {}
    }
    Ok(())
}

/// The glob that only this text matches; escaped, its `${NAME}` names no variable either.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A text in double quotes, as JSON writes it, which YAML reads alike. What would deceive whoever reads
/// the policy is escaped too.
fn quoted(text: &str) -> String {
    let json = Json::from(text).text();
    if !json.chars().any(is_deceptive) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        let _ = match u32::from(c) {
            code if is_deceptive(c) && code <= 0xffff => write!(out, "\\u{code:04x}"),
            code if is_deceptive(c) => write!(out, "\\U{code:08x}"),
            _ => write!(out, "{c}"),
        };
    }
    out
}
