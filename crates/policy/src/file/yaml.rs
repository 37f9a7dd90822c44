//! From text to the tree: a YAML 1.2 parser's events, with every problem kept instead of the first.
//!
//! The parser stops at a grammar error. To see what stands behind it, the offending value is blanked
//! out and the text is read again, a bounded number of times; so one run reports all of them. Refused
//! here: anchors and aliases (no explosion is possible), tags, several documents, keys that are no
//! text, duplicate keys, and everything over the caps.

use super::node::{Entry, Node, Value};
use super::traps;
use crate::diagnostic::{Diagnostic, Place, SourceId, Span};
use crate::limits::{DEPTH_MAX, GRAMMAR_ERRORS_MAX, NODES_MAX};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};
use std::collections::HashMap;
use tollgate_gate::Number;

/// Reads a text as far as it can be read.
pub(crate) fn read(source: SourceId, text: &str) -> (Option<Node>, Vec<Diagnostic>) {
    let mut masked = Masked { text: text.to_owned(), spans: Vec::new() };
    let mut problems = Vec::new();
    for _ in 0..GRAMMAR_ERRORS_MAX {
        let offsets = Offsets::of(&masked.text);
        let mut builder = Builder::new(source, text, &masked, &offsets);
        match builder.run() {
            Ok(root) => {
                problems.append(&mut builder.problems);
                return (root, problems);
            }
            Err(error) => {
                let at = offsets.byte(error.marker().index()).min(text.len());
                let found = traps::explain(source, text, at, error.info());
                let again = masked.hide(found.hide, found.with);
                problems.push(found.diagnostic);
                if !again {
                    break;
                }
            }
        }
    }
    (None, problems)
}

/// The text with unreadable values blanked out, byte for byte as long as before.
struct Masked {
    text: String,
    spans: Vec<Span>,
}

impl Masked {
    /// Blanks a span out; says whether that changed anything.
    fn hide(&mut self, span: Span, with: char) -> bool {
        if span.start >= span.end || self.spans.contains(&span) {
            return false;
        }
        let Some(hidden) = self.text.get(span.start..span.end) else { return false };
        let blank = |byte| if byte == b'\n' { '\n' } else { with };
        let blank: String = hidden.bytes().map(blank).collect();
        self.text.replace_range(span.start..span.end, &blank);
        self.spans.push(span);
        true
    }
}

/// From the parser's count of characters to bytes.
struct Offsets(Option<Vec<usize>>);

impl Offsets {
    fn of(text: &str) -> Offsets {
        if text.is_ascii() {
            return Offsets(None);
        }
        Offsets(Some(text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()))
    }

    fn byte(&self, index: usize) -> usize {
        match &self.0 {
            None => index,
            Some(table) => table.get(index).or(table.last()).copied().unwrap_or(0),
        }
    }
}

enum Frame {
    List { start: usize, items: Vec<Node> },
    Map { start: usize, entries: Vec<Entry>, key: Option<(String, Span)>, seen: Seen },
}

type Seen = HashMap<String, Span>;

struct Builder<'t> {
    source: SourceId,
    text: &'t str,
    masked: &'t Masked,
    offsets: &'t Offsets,
    frames: Vec<Frame>,
    root: Option<Node>,
    nodes: usize,
    documents: usize,
    problems: Vec<Diagnostic>,
}

impl<'t> Builder<'t> {
    fn new(
        source: SourceId,
        text: &'t str,
        masked: &'t Masked,
        offsets: &'t Offsets,
    ) -> Builder<'t> {
        Builder {
            source,
            text,
            masked,
            offsets,
            frames: Vec::new(),
            root: None,
            nodes: 0,
            documents: 0,
            problems: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<Option<Node>, ScanError> {
        let mut parser = Parser::new_from_str(&self.masked.text);
        while let Some(next) = parser.next_event() {
            let (event, span) = next?;
            let bytes = Span::new(
                self.offsets.byte(span.start.index()),
                self.offsets.byte(span.end.index()),
            );
            if !self.take(event, bytes) {
                return Ok(None);
            }
        }
        Ok(self.root.take())
    }

    fn place(&self, span: Span) -> Place {
        Place { source: self.source, span }
    }

    fn error(&mut self, code: &'static str, span: Span, message: String, remedy: &str) {
        let diagnostic = Diagnostic::error(code, self.place(span), message);
        self.problems.push(diagnostic.with_remedy(remedy));
    }

    /// Takes one event; says whether reading may go on.
    fn take(&mut self, event: Event<'_>, span: Span) -> bool {
        self.nodes += 1;
        if self.nodes > NODES_MAX || self.frames.len() > DEPTH_MAX {
            let message = if self.nodes > NODES_MAX {
                format!("more than {NODES_MAX} keys and values")
            } else {
                format!("nested deeper than {DEPTH_MAX} levels")
            };
            self.error("too-large", span, message, "split the policy into included files");
            return false;
        }
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "a second YAML document in one file".to_owned();
                    self.error("documents", span, message, "one file holds one policy");
                    return false;
                }
            }
            Event::Alias(_) => {
                let message = "aliases are not used in a policy".to_owned();
                let remedy = "put quotes round a glob that starts with `*`; otherwise write it out";
                self.error("alias", span, message, remedy);
                self.put(Node::new(span, Value::Broken));
            }
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(&text, style, span);
                let marked = tag.is_some() || anchor > 0;
                let node = if marked { self.marked(&node) } else { node };
                self.put(node);
            }
            Event::SequenceStart(anchor, tag) => {
                if anchor > 0 || tag.is_some() {
                    self.marked(&Node::new(span, Value::Broken));
                }
                self.frames.push(Frame::List { start: span.start, items: Vec::new() });
            }
            Event::MappingStart(anchor, tag) => {
                if anchor > 0 || tag.is_some() {
                    self.marked(&Node::new(span, Value::Broken));
                }
                let (start, entries, key) = (span.start, Vec::new(), None);
                self.frames.push(Frame::Map { start, entries, key, seen: Seen::new() });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        true
    }

    /// A tag or anchor: an error, and for conditions the trap that it is.
    fn marked(&mut self, node: &Node) -> Node {
        let found = traps::tag_or_anchor(self.source, self.text, node.span);
        self.problems.push(found);
        Node::new(node.span, Value::Broken)
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Node {
        let span = match style {
            ScalarStyle::SingleQuoted => quoted_span(&self.masked.text, span, '\''),
            ScalarStyle::DoubleQuoted => quoted_span(&self.masked.text, span, '"'),
            ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded => span,
        };
        let hidden = |hide: &Span| (hide.start..hide.end.max(hide.start + 1)).contains(&span.start);
        let plain = style == ScalarStyle::Plain;
        let value = if self.masked.spans.iter().any(hidden) {
            Value::Broken
        } else if plain {
            plain_value(text)
        } else {
            Value::Text(text.to_owned())
        };
        Node { span, value, plain }
    }

    fn close(&mut self, span: Span) {
        let node = match self.frames.pop() {
            None => return,
            Some(Frame::List { start, items }) => {
                let end = items.last().map_or(start, |item| item.span.end);
                Node::new(Span::new(start, end.max(flow_end(span))), Value::List(items))
            }
            Some(Frame::Map { start, entries, .. }) => {
                let end = entries.last().map_or(start, |entry| entry.node.span.end);
                Node::new(Span::new(start, end.max(flow_end(span))), Value::Map(entries))
            }
        };
        self.put(node);
    }

    fn put(&mut self, node: Node) {
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, key, seen, .. }) => match key.take() {
                Some((key, key_span)) => entries.push(Entry { key, key_span, node }),
                None => {
                    let span = node.span;
                    let known = node.scalar_text().filter(|_| !node.is_broken());
                    let name = known.clone().unwrap_or_default();
                    let again = known.as_ref().is_some_and(|name| seen.contains_key(name));
                    seen.entry(name.clone()).or_insert(span);
                    *key = Some((name.clone(), span));
                    if known.is_none() && !node.is_broken() {
                        let message = format!("a key must be a text, found {}", node.type_name());
                        self.error("key", span, message, "put quotes round it");
                    } else if again {
                        let message = format!("the key `{name}` is here twice");
                        self.error("duplicate-key", span, message, "keep one of them");
                    }
                }
            },
        }
    }
}

/// The end of a flow list or mapping; block ones end with their last child, not where the parser
/// noticed.
fn flow_end(span: Span) -> usize {
    if span.end > span.start { span.end } else { 0 }
}

/// The span of a quoted scalar: the parser's may reach over the white space behind it.
fn quoted_span(text: &str, span: Span, quote: char) -> Span {
    let Some(inside) = text.get(span.start + 1..) else { return span };
    let mut chars = inside.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '"' {
            chars.next();
        } else if c == quote {
            if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == '\'') {
                chars.next();
                continue;
            }
            return Span::new(span.start, span.start + 1 + at + 1);
        }
    }
    span
}

/// The value of a plain scalar: the core schema of YAML 1.2.2, section 10.3.2. `yes`, `no`, `on` and
/// `off` are texts.
fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return Value::Text(text.to_owned());
    }
    let radix = text.strip_prefix("0x").map(|digits| (digits, 16));
    let radix = radix.or_else(|| text.strip_prefix("0o").map(|digits| (digits, 8)));
    let number = match radix {
        Some((digits, radix)) => u64::from_str_radix(digits, radix)
            .ok()
            .and_then(|value| Number::from_literal(&value.to_string())),
        None => Number::from_literal(text).or_else(|| {
            let digits = text.strip_prefix('+').unwrap_or(text);
            let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let value = all_digits.then(|| digits.parse::<u64>().ok()).flatten()?;
            Number::from_literal(&value.to_string())
        }),
    };
    number.map_or_else(|| Value::Text(text.to_owned()), Value::Number)
}
