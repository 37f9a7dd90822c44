//! Shapes: what may stand where in a policy file, as tables.
//!
//! One table serves three readers: the check that reports what does not fit, the JSON Schema that
//! editors use (`schema.rs`), and the person who reads this source. So the three cannot disagree.

use super::node::{Node, Value};
use crate::diagnostic::{Diagnostic, Place, SourceId, Span};
use crate::limits::DIAGNOSTICS_MAX;
use std::time::Duration;
use tollgate_gate::Timestamp;

/// What may stand at a place.
#[derive(Debug)]
pub(crate) enum Want {
    Text,
    Flag,
    /// A whole number in this range, both ends included.
    Whole(i64, i64),
    /// `500ms`, `30s`, `15m`, `12h`, `7d`.
    Duration,
    /// A date or date-time of RFC 3339.
    Date,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One text or a list of texts.
    Names,
    /// One scalar or a list of scalars: globs.
    Globs,
    ListOf(&'static Want),
    MapOf(&'static Want),
    Object(&'static Shape),
    /// The first of these whose form fits.
    Either(&'static [Want]),
    Anything,
}

/// A mapping with known keys.
#[derive(Debug)]
pub(crate) struct Shape {
    /// In words: `a hook`.
    pub(crate) what: &'static str,
    pub(crate) keys: &'static [Key],
    pub(crate) more: More,
}

/// What keys a shape knows beside its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    Nothing,
    /// `args.<path>` and `payload.<path>`, with globs.
    Paths,
    /// The names of the actions.
    Actions,
}

/// A key of a shape.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) want: Want,
    pub(crate) required: bool,
    pub(crate) doc: &'static str,
}

impl Key {
    pub(crate) const fn new(name: &'static str, want: Want, doc: &'static str) -> Key {
        Key { name, want, required: false, doc }
    }

    pub(crate) const fn required(mut self) -> Key {
        self.required = true;
        self
    }
}

/// Checks trees against shapes and keeps what does not fit.
pub(crate) struct Checker<'p> {
    pub(crate) source: SourceId,
    pub(crate) problems: &'p mut Vec<Diagnostic>,
}

impl Checker<'_> {
    fn error(&mut self, code: &'static str, span: Span, message: String, remedy: String) {
        if self.problems.len() >= DIAGNOSTICS_MAX {
            return;
        }
        let place = Place { source: self.source, span };
        self.problems.push(Diagnostic::error(code, place, message).with_remedy(remedy));
    }

    /// Checks a mapping; `node` is any value.
    pub(crate) fn object(&mut self, node: &Node, shape: &Shape, name: &str) {
        if node.is_broken() {
            return;
        }
        if !matches!(node.value, Value::Map(_)) {
            let keys: Vec<&str> = shape.keys.iter().map(|key| key.name).take(6).collect();
            let message = format!("`{name}` must be a mapping, found {}", node.type_name());
            let remedy = match (node.scalar_text(), keys.first()) {
                (Some(text), Some(key)) if text.len() <= 40 => {
                    format!("write `{name}: {{ {key}: {text} }}`; keys: {}", keys.join(", "))
                }
                _ => format!("keys: {}", keys.join(", ")),
            };
            self.error("type", node.span, message, remedy);
            return;
        }
        for entry in node.entries() {
            match shape.keys.iter().find(|key| key.name == entry.key) {
                Some(key) => self.value(&entry.node, &key.want, &entry.key),
                None if is_more(shape.more, &entry.key) => {
                    if shape.more == More::Paths {
                        self.value(&entry.node, &Want::Globs, &entry.key);
                    }
                }
                None => self.unknown_key(&entry.key, entry.key_span, shape),
            }
        }
        for key in shape.keys.iter().filter(|key| key.required) {
            if node.entry(key.name).is_none() {
                let message = format!("{} needs the key `{}`", shape.what, key.name);
                let span = Span::new(node.span.start, node.span.start + 1);
                self.error("missing-key", span, message, format!("{}: {}", key.name, key.doc));
            }
        }
    }

    fn unknown_key(&mut self, key: &str, span: Span, shape: &Shape) {
        let mut known: Vec<&str> = shape.keys.iter().map(|key| key.name).collect();
        if shape.more == More::Actions {
            known.extend(crate::actions::table().iter().map(|action| action.name));
        }
        let remedy = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if shape.more == More::Paths => {
                format!("keys: {}, args.<path>, payload.<path>", known.join(", "))
            }
            None => format!("keys: {}", known.join(", ")),
        };
        self.error("unknown-key", span, format!("unknown key `{key}` in {}", shape.what), remedy);
    }

    /// Checks a value; `name` is the key that it stands under.
    pub(crate) fn value(&mut self, node: &Node, want: &Want, name: &str) {
        if node.is_broken() {
            return;
        }
        match (want, &node.value) {
            (Want::Anything, _) | (Want::Text, Value::Text(_)) | (Want::Flag, Value::Bool(_)) => {}
            (Want::Object(shape), _) => self.object(node, shape, name),
            (Want::Names, Value::Text(text)) if !text.is_empty() => {}
            (Want::Globs, Value::Text(text)) if !text.is_empty() => {}
            (Want::Globs, Value::Number(_) | Value::Bool(_)) => {}
            (Want::Names | Want::Globs, Value::List(items)) if !items.is_empty() => {
                for item in items {
                    if item.items().is_empty() {
                        self.value(item, want, name);
                    } else {
                        self.mismatch(item, want, name);
                    }
                }
            }
            (Want::ListOf(of @ Want::Word(_)), Value::List(items)) if items.is_empty() => {
                let message = format!("`{name}` is an empty list");
                self.error("type", node.span, message, format!("write {}", in_words(of)));
            }
            (Want::ListOf(of), Value::List(items)) => {
                for item in items {
                    self.value(item, of, name);
                }
            }
            (Want::MapOf(of), Value::Map(entries)) => {
                for entry in entries {
                    self.value(&entry.node, of, &entry.key);
                }
            }
            (Want::Either(wants), _) => match wants.iter().find(|want| is_form(want, node)) {
                Some(want) => self.value(node, want, name),
                None => self.mismatch(node, want, name),
            },
            (Want::Whole(min, max), Value::Number(number))
                if number.as_i64().is_some_and(|value| (*min..=*max).contains(&value)) => {}
            (Want::Duration, Value::Text(text)) if parse_duration(text).is_some() => {}
            (Want::Date, Value::Text(text)) if Timestamp::parse(text).is_some() => {}
            (Want::Word(words), Value::Text(text)) if words.contains(&text.as_str()) => {}
            _ => self.mismatch(node, want, name),
        }
    }

    fn mismatch(&mut self, node: &Node, want: &Want, name: &str) {
        let found = match &node.value {
            Value::Text(text) if text.is_empty() => "an empty text".to_owned(),
            Value::List(items) if items.is_empty() => "an empty list".to_owned(),
            Value::Text(text) if text.chars().count() <= 40 => format!("`{text}`"),
            Value::Text(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Broken => node.type_name().to_owned(),
        };
        let message = format!("`{name}` must be {}, found {found}", in_words(want));
        let remedy = remedy(node, want, name);
        self.error("type", node.span, message, remedy);
    }
}

pub(crate) fn is_more(more: More, key: &str) -> bool {
    match more {
        More::Nothing => false,
        More::Paths => key.starts_with("args.") || key.starts_with("payload."),
        More::Actions => crate::actions::find(key).is_some(),
    }
}

/// Whether a value has the outer form of what is wanted.
fn is_form(want: &Want, node: &Node) -> bool {
    match want {
        Want::Anything => true,
        Want::Text | Want::Duration | Want::Date | Want::Word(_) => {
            matches!(node.value, Value::Text(_))
        }
        Want::Flag => matches!(node.value, Value::Bool(_)),
        Want::Whole(..) => matches!(node.value, Value::Number(_)),
        Want::Names => matches!(node.value, Value::Text(_) | Value::List(_)),
        Want::Globs => !matches!(node.value, Value::Map(_) | Value::Null),
        Want::ListOf(_) => matches!(node.value, Value::List(_)),
        Want::MapOf(_) | Want::Object(_) => matches!(node.value, Value::Map(_)),
        Want::Either(wants) => wants.iter().any(|want| is_form(want, node)),
    }
}

fn in_words(want: &Want) -> String {
    match want {
        Want::Text => "a text".to_owned(),
        Want::Flag => "`true` or `false`".to_owned(),
        Want::Whole(min, max) if min == max => format!("`{min}`"),
        Want::Whole(min, max) => format!("a whole number from {min} to {max}"),
        Want::Duration => "a duration such as `30s`, `15m` or `7d`".to_owned(),
        Want::Date => "a date such as `2027-01-15`".to_owned(),
        Want::Word(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("one of {}", quoted.join(", "))
        }
        Want::Names => "a text or a list of texts".to_owned(),
        Want::Globs => "a glob or a list of globs".to_owned(),
        Want::ListOf(_) => "a list".to_owned(),
        Want::MapOf(_) => "a mapping".to_owned(),
        Want::Object(shape) => format!("a mapping ({})", shape.what),
        Want::Either(wants) => {
            let words: Vec<String> = wants.iter().map(in_words).collect();
            words.join(", or ")
        }
        Want::Anything => "any value".to_owned(),
    }
}

fn remedy(node: &Node, want: &Want, name: &str) -> String {
    let wants_flag = matches!(want, Want::Flag)
        || matches!(want, Want::Either(wants) if wants.iter().any(|w| matches!(w, Want::Flag)));
    match &node.value {
        Value::Text(text) if wants_flag => match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "y" => {
                format!("write `{name}: true`; YAML 1.2 reads `{text}` as a text")
            }
            "no" | "off" | "n" => {
                format!("write `{name}: false`; YAML 1.2 reads `{text}` as a text")
            }
            _ => format!("write `{name}: true` or `{name}: false`"),
        },
        Value::Text(text) => {
            let near = words_of(want).and_then(|words| nearest(text, words.iter().copied()));
            match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write {}", in_words(want)),
            }
        }
        Value::Bool(false) if matches!(want, Want::Word(words) if words.contains(&"off")) => {
            format!("write `{name}: off`")
        }
        Value::Bool(value) => format!("put quotes round it: \"{value}\""),
        Value::Number(number) if matches!(want, Want::Duration) => {
            format!("write a unit: `{name}: {}s`", number.literal())
        }
        Value::Number(number) if !matches!(want, Want::Whole(..)) => {
            format!("put quotes round it: \"{}\"", number.literal())
        }
        Value::Null => format!("write {}, or leave the key out", in_words(want)),
        Value::Number(_) | Value::List(_) | Value::Map(_) | Value::Broken => {
            format!("write {}", in_words(want))
        }
    }
}

/// The words that are wanted, where it is words.
fn words_of(want: &Want) -> Option<&'static [&'static str]> {
    if let Want::Either(wants) = want {
        return wants.iter().find_map(words_of);
    }
    if let Want::Word(words) = want { Some(words) } else { None }
}

/// The nearest of some words, if it is near enough to be meant.
pub(crate) fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let allowed = if word.len() <= 4 { 1 } else { 2 };
    known
        .map(|other| (distance(word, other), other))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// The edit distance of two words, a swap of neighbours counting as one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut cost =
                (at(&last, j + 1) + 1).min(at(&row, j) + 1).min(at(&last, j) + usize::from(x != y));
            let swapped = i > 0
                && j > 0
                && a.get(i - 1) == Some(y)
                && b.get(j - 1) == Some(x)
                && !before.is_empty();
            if swapped {
                cost = cost.min(at(&before, j - 1) + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(a.len())
}

/// Reads `500ms`, `30s`, `15m`, `12h` or `7d`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        _ => return None,
    };
    number.checked_mul(millis).filter(|millis| *millis > 0).map(Duration::from_millis)
}
