//! The tree of a policy file: each value with the bytes it was written in.
//!
//! Values are those of JSON; anchors, aliases and tags have no place in a policy. What the reader
//! could not make sense of is `Broken`: it was reported where it stands, and nothing behind it
//! reports it again.

use crate::diagnostic::Span;
use tollgate_gate::{Json, Number, Object};

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The bytes it was written in, quotes included.
    pub(crate) span: Span,
    /// The value.
    pub(crate) value: Value,
    /// Written without quotes on one or more lines.
    pub(crate) plain: bool,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Not readable; reported already.
    Broken,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn new(span: Span, value: Value) -> Node {
        Node { span, value, plain: false }
    }

    /// The word for this type of value, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Broken => "something unreadable",
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.value, Value::Broken)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        if let Value::Map(entries) = &self.value { entries } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Node] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    /// One or a list of them, as a list.
    pub(crate) fn one_or_many(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Null | Value::Broken => &[],
            Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                std::slice::from_ref(self)
            }
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = &self.value { Some(*value) } else { None }
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        if let Value::Number(number) = &self.value { number.as_i64() } else { None }
    }

    /// The text of a scalar that may be written as a number or boolean too: what a glob is matched
    /// with.
    pub(crate) fn scalar_text(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) => Some(number.literal()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) | Value::Broken => None,
        }
    }

    /// The value without its places.
    pub(crate) fn to_json(&self) -> Json {
        match &self.value {
            Value::Null | Value::Broken => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Json::Number(number.clone()),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(entries) => {
                let members = entries.iter().map(|e| (e.key.clone(), e.node.to_json()));
                Json::Object(members.collect::<Object>())
            }
        }
    }

    /// The deepest value on the way of a path such as `args.amount[0]`, as far as it leads, and its
    /// key if it has one.
    pub(crate) fn at_path(&self, path: &str) -> (&Node, Option<Span>) {
        let mut node = self;
        let mut key = None;
        for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
            let step = step.trim_matches('"');
            let next = match &node.value {
                Value::Map(_) => node.get(step),
                Value::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Text(_)
                | Value::Broken => None,
            };
            match next {
                Some(next) => {
                    key = node.entry(step).map(|entry| entry.key_span);
                    node = next;
                }
                None => break,
            }
        }
        (node, key)
    }

    /// Makes the scalars of these spans unreadable.
    pub(crate) fn break_at(&mut self, spans: &[Span]) {
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.break_at(spans)),
            Value::Map(entries) => entries.iter_mut().for_each(|e| e.node.break_at(spans)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Broken => {
                if spans.contains(&self.span) {
                    self.value = Value::Broken;
                }
            }
        }
    }

    /// Whether anything in it is unreadable.
    pub(crate) fn has_broken(&self) -> bool {
        let mut broken = false;
        self.walk(&mut |_, node| broken |= node.is_broken());
        broken
    }

    /// Calls `f` with each key and value below, and with this node itself under no key.
    pub(crate) fn walk<'n>(&'n self, f: &mut impl FnMut(Option<&'n Entry>, &'n Node)) {
        f(None, self);
        self.walk_below(f);
    }

    fn walk_below<'n>(&'n self, f: &mut impl FnMut(Option<&'n Entry>, &'n Node)) {
        for entry in self.entries() {
            f(Some(entry), &entry.node);
            entry.node.walk_below(f);
        }
        for item in self.items() {
            f(None, item);
            item.walk_below(f);
        }
    }
}
