//! The traps of YAML, each with a remedy that shows the line as it should be.
//!
//! Conditions and globs are full of characters that YAML takes for itself: `!` starts a tag, `*` an
//! alias, ` #` a comment, a quote ends where the author's text does not. The parser's own words for
//! these are no help, so they are told apart here from the text around the error.

use super::node::{Node, Value};
use crate::diagnostic::{Diagnostic, Place, SourceId, Span};

/// What stands at a grammar error, and what to blank out so that reading can go on.
pub(super) struct Found {
    pub(super) diagnostic: Diagnostic,
    pub(super) hide: Span,
    /// What it is blanked out with.
    pub(super) with: char,
}

/// What a value is blanked out with.
const VALUE: char = 'x';

/// Explains a grammar error at a byte of the text.
pub(super) fn explain(source: SourceId, text: &str, at: usize, words: &str) -> Found {
    let place = |span| Place { source, span };
    if words.contains("tabs disallowed") {
        let diagnostic = Diagnostic::error(
            "yaml-tab",
            place(Span::new(at.saturating_sub(1), at)),
            "a tab in the indentation",
        );
        let start = Line::at(text, at).start;
        let indent = text.get(start..).unwrap_or_default();
        let len = indent.len() - indent.trim_start_matches([' ', '\t']).len();
        let diagnostic = diagnostic.with_remedy("indent with spaces");
        return Found { diagnostic, hide: Span::new(start, start + len), with: ' ' };
    }
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with('*') {
        return star(source, text, at);
    }
    // The value that the parser stumbled over starts on this line, or on one shortly before.
    let mut line = Line::at(text, at);
    for _ in 0..3 {
        if let Some(value) = line.value(text)
            && let Some(why) = trap(value.key, value.text)
        {
            let span = Span::new(value.start, value.start + value.text.len());
            let message = format!("the value of `{}` {why}", value.key);
            let diagnostic = Diagnostic::error("yaml-quotes", place(span), message)
                .with_remedy(quoted_line(value.key, value.text));
            return Found { diagnostic, hide: span, with: VALUE };
        }
        match line.before(text) {
            Some(before) => line = before,
            None => break,
        }
    }
    let line = Line::at(text, at);
    let end = text
        .get(at..line.end)
        .map_or(at, |rest| at + rest.chars().next().map_or(0, char::len_utf8));
    let message = format!("this is no YAML: {words}");
    let diagnostic = Diagnostic::error("yaml", place(Span::new(at, end)), message)
        .with_remedy("check indentation, quotes and brackets here and on the line above");
    let hide = match line.value(text) {
        Some(value) => Span::new(value.start, value.start + value.text.len()),
        None => line.whole(),
    };
    Found { diagnostic, hide, with: VALUE }
}

/// A glob without quotes.
fn star(source: SourceId, text: &str, at: usize) -> Found {
    let rest = text.get(at..).unwrap_or_default();
    let in_flow = is_in_flow(text, at);
    let len = rest
        .find(|c: char| c.is_whitespace() || (in_flow && matches!(c, ',' | '}' | ']')))
        .unwrap_or(rest.len());
    let span = Span::new(at, at + len);
    let glob = rest.get(..len).unwrap_or_default();
    let message = format!("`{glob}` without quotes is an alias of YAML, not a glob");
    let diagnostic = Diagnostic::error("yaml-quotes", Place { source, span }, message)
        .with_remedy(format!("write \"{glob}\""));
    Found { diagnostic, hide: span, with: VALUE }
}

fn is_in_flow(text: &str, at: usize) -> bool {
    let line = Line::at(text, at);
    let before = text.get(line.start..at).unwrap_or_default();
    before.matches(['{', '[']).count() > before.matches(['}', ']']).count()
}

/// A tag or an anchor at a value.
pub(super) fn tag_or_anchor(source: SourceId, text: &str, span: Span) -> Diagnostic {
    let place = Place { source, span };
    let line = Line::at(text, span.start);
    if let Some(value) = line.value(text)
        && is_condition(value.key)
    {
        let message = format!("the value of `{}` starts with a mark of YAML", value.key);
        let span = Span::new(value.start, value.start + value.text.len());
        return Diagnostic::error("yaml-quotes", Place { source, span }, message)
            .with_remedy(quoted_line(value.key, value.text));
    }
    Diagnostic::error("tag", place, "tags and anchors of YAML are not used in a policy")
        .with_remedy("put quotes round a text that starts with `!` or `&`")
}

/// Finds what YAML cut off without a word: a comment right behind a condition without quotes.
pub(super) fn silent(source: SourceId, text: &str, root: &mut Node) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut cut = Vec::new();
    root.walk(&mut |entry, node| {
        let Some(entry) = entry.filter(|entry| is_condition(&entry.key)) else { return };
        let is_empty = node.value == Value::Null;
        if !(node.plain && (is_empty || node.as_str().is_some())) {
            return;
        }
        let start = if is_empty { entry.key_span.end } else { node.span.start };
        let line = Line::at(text, if is_empty { start } else { node.span.end });
        let from = if is_empty { start } else { node.span.end };
        let behind = text.get(from..line.end).unwrap_or_default();
        let behind = behind.strip_prefix(':').filter(|_| is_empty).unwrap_or(behind);
        if behind.trim_start().starts_with('#') {
            let written = text.get(start..line.end).unwrap_or_default();
            let written = written.strip_prefix(':').unwrap_or(written).trim();
            let at = line.end - behind.trim_start().len();
            let place = Place { source, span: Span::new(at, at + behind.trim().len()) };
            let message =
                format!("from here on YAML reads a comment, not the condition of `{}`", entry.key);
            let remedy = format!(
                "if it is part of the condition: {}\nif it is a comment, put it on a line of its own",
                quoted_line(&entry.key, written)
            );
            found.push(Diagnostic::error("yaml-comment", place, message).with_remedy(remedy));
            cut.push(node.span);
        }
    });
    // What was cut off is not looked at any further.
    root.break_at(&cut);
    found
}

fn is_condition(key: &str) -> bool {
    matches!(key, "when" | "unless")
}

/// Why a value needs quotes.
fn trap(key: &str, value: &str) -> Option<&'static str> {
    let first = value.chars().next()?;
    if matches!(first, '\'' | '"') {
        return ends_early(value, first)
            .then_some("starts with a quote that ends before the value does");
    }
    let marks = if is_condition(key) { "!?*&%@`[{#" } else { "!*&%@`" };
    if marks.contains(first) {
        return Some("starts with a mark of YAML");
    }
    if value.contains(": ") || value.ends_with(':') {
        return Some("has a `:` that YAML takes for a key");
    }
    None
}

/// Whether something other than a comment stands behind the quote that closes the first one.
fn ends_early(value: &str, quote: char) -> bool {
    let mut chars = value.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '"' {
            chars.next();
        } else if c == quote {
            if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
                continue;
            }
            let behind = value.get(at + 1..).unwrap_or_default().trim_start();
            return !behind.is_empty() && !behind.starts_with('#');
        }
    }
    false
}

/// The line with its value in double quotes.
fn quoted_line(key: &str, value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("write {key}: \"{escaped}\"")
}

/// A line of a text, without its end.
struct Line {
    start: usize,
    end: usize,
}

struct KeyValue<'t> {
    key: &'t str,
    text: &'t str,
    start: usize,
}

impl Line {
    fn at(text: &str, at: usize) -> Line {
        let at = at.min(text.len());
        let start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |nl| nl + 1);
        let end = text.get(at..).and_then(|t| t.find('\n')).map_or(text.len(), |nl| at + nl);
        let end =
            if text.get(start..end).is_some_and(|t| t.ends_with('\r')) { end - 1 } else { end };
        Line { start, end: end.max(start) }
    }

    fn before(&self, text: &str) -> Option<Line> {
        Some(Line::at(text, self.start.checked_sub(1)?))
    }

    fn whole(&self) -> Span {
        Span::new(self.start, self.end)
    }

    /// The first key of the line and all that stands behind it.
    fn value<'t>(&self, text: &'t str) -> Option<KeyValue<'t>> {
        let line = text.get(self.start..self.end)?;
        let body = line.trim_start_matches([' ', '-', '\t']);
        let (key, value) = body.split_once(": ")?;
        let key = key.trim_matches(['"', '\'']);
        if key.is_empty() || key.contains(['{', '#', ' ']) {
            return None;
        }
        let value = value.trim_start();
        let start = self.end - value.len();
        Some(KeyValue { key, text: value.trim_end(), start })
    }
}
