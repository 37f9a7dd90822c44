//! Writing an exception into the text of a policy: one insertion, all else stays byte for byte.
//!
//! An exception goes below `exceptions:`; against a hook of the same file, which has no exceptions, it
//! becomes a part of the hook's `unless`. Places are those of the file's tree. A form that cannot be
//! added to without rewriting what a person wrote is refused, and the caller shows what to add.

use super::Exception;
use crate::diagnostic::{Report, SourceId};
use crate::file::{Entry, Node, Value, read_tree};
use tollgate_gate::text::is_deceptive;

/// Why an exception cannot be written into a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmendError {
    /// The text is no policy.
    #[error("the file is no policy that can be added to")]
    NoPolicy,
    /// The hook does not stand in the text.
    #[error("the hook `{0}` does not stand in this file")]
    NoHook(String),
    /// What stands there is written in a form that cannot be added to.
    #[error("`{0}` stands there already, in a form that cannot be added to")]
    Form(String),
}

/// A policy's text with one more exception, first in the list.
///
/// # Errors
/// [`AmendError`] when the text has no place for it.
pub fn with_exception(text: &str, exception: &Exception) -> Result<String, AmendError> {
    let root = tree(text)?;
    if let Some(entry) = root.entry("exceptions") {
        let block = |indent| exception.block(indent);
        return in_list(text, entry, &exception.flow(), &block);
    }
    if is_flow(text, &root) {
        return Err(AmendError::Form("{".to_owned()));
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{text}{end}\nexceptions:\n{}", exception.block(2)))
}

/// A policy's text with one more call that a hook of it does not concern.
///
/// # Errors
/// [`AmendError`] when the hook is not in the text, or has an `unless` of another form.
pub fn with_unless(text: &str, exception: &Exception, note: &str) -> Result<String, AmendError> {
    let root = tree(text)?;
    let hooks = root.get("hooks").map_or(&[] as &[Node], Node::items);
    let is_meant = |hook: &&Node| hook.get("name").and_then(Node::as_str) == Some(&*exception.hook);
    let hook = hooks.iter().find(is_meant);
    let hook = hook.ok_or_else(|| AmendError::NoHook(exception.hook.clone()))?;
    let name = hook.entry("name").ok_or(AmendError::NoPolicy)?;
    let matching = exception.matching();
    let item = |indent: usize| {
        let pad = " ".repeat(indent);
        let plain = |c: char| if c.is_control() || is_deceptive(c) { ' ' } else { c };
        let note: String = note.chars().map(plain).collect();
        format!("{pad}# {note}\n{pad}- {matching}\n")
    };
    if let Some(unless) = hook.entry("unless") {
        let any = unless.node.entries();
        return match any {
            [any] if any.key == "any" => in_list(text, any, &matching, &item),
            _ => Err(AmendError::Form("unless".to_owned())),
        };
    }
    if is_flow(text, hook) {
        let unless = format!(", unless: {{ any: [{matching}] }}");
        return Ok(inserted(text, name.node.span.end, &unless));
    }
    let indent = column(text, name.key_span.start);
    let pad = " ".repeat(indent);
    let unless = format!("{pad}unless:\n{pad}  any:\n{}", item(indent + 4));
    Ok(below_line(text, name.node.span.end, &unless))
}

fn tree(text: &str) -> Result<Node, AmendError> {
    let source: SourceId = Report::default().sources.add("", text);
    let (root, problems) = read_tree(source, text);
    match root {
        Some(root) if problems.is_empty() && matches!(root.value, Value::Map(_)) => Ok(root),
        _ => Err(AmendError::NoPolicy),
    }
}

/// Puts an item first into the list below a key.
fn in_list(
    text: &str,
    entry: &Entry,
    flow: &str,
    block: &dyn Fn(usize) -> String,
) -> Result<String, AmendError> {
    let form = || AmendError::Form(entry.key.clone());
    if !matches!(entry.node.value, Value::List(_)) {
        return Err(form());
    }
    if is_flow(text, &entry.node) {
        let comma = if entry.node.items().is_empty() { "" } else { ", " };
        return Ok(inserted(text, entry.node.span.start + 1, &format!("{flow}{comma}")));
    }
    let first = entry.node.items().first().ok_or_else(form)?;
    let start = line_start(text, first.span.start);
    let line = text.get(start..).unwrap_or_default();
    // The dash of the item may stand on a line of its own.
    let indent = line.find(|c| c != ' ').filter(|at| line.get(*at..).is_some_and(is_dash));
    let indent = indent.ok_or_else(form)?;
    Ok(inserted(text, start, &block(indent)))
}

fn is_dash(text: &str) -> bool {
    text.starts_with("- ")
}

/// Whether a list or mapping is written in brackets.
fn is_flow(text: &str, node: &Node) -> bool {
    text.get(node.span.start..).is_some_and(|text| text.starts_with(['{', '[']))
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// How many characters stand before a byte in its line.
fn column(text: &str, at: usize) -> usize {
    text.get(line_start(text, at)..at).map_or(0, |before| before.chars().count())
}

/// The text with something put in at a byte.
fn inserted(text: &str, at: usize, what: &str) -> String {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    format!("{before}{what}{behind}")
}

/// The text with whole lines put in below the line of a byte.
fn below_line(text: &str, at: usize, lines: &str) -> String {
    let end = text.get(at..).and_then(|behind| behind.find('\n')).map(|newline| at + newline + 1);
    match end {
        Some(end) => inserted(text, end, lines),
        None => format!("{text}\n{lines}"),
    }
}
