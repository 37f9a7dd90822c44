//! The values that a condition works with: views into the event wherever possible.
//!
//! JSON integers are CEL's `int` (or `uint` above its range), other numbers `double`. Numbers of all
//! three types compare by value, exactly. What a JSON number writes beyond the range of a float
//! compares as infinite, so that it is above every bound.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;
use tollgate_gate::{Json, Name};

/// A type, as far as it is known when the policy is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Any,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    List,
    /// A list of texts.
    Texts,
    Map,
    Timestamp,
    Duration,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Any => "any value",
            Type::Null => "null",
            Type::Bool => "a boolean",
            Type::Int => "an integer",
            Type::UInt => "an unsigned integer",
            Type::Double => "a decimal number",
            Type::Text => "a text",
            Type::List => "a list",
            Type::Texts => "a list of texts",
            Type::Map => "a map",
            Type::Timestamp => "a timestamp",
            Type::Duration => "a duration",
        })
    }
}

/// A value while a condition runs.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(&'a str),
    /// A text that the condition has made.
    Made(Rc<str>),
    /// A JSON array.
    Array(&'a [Json]),
    /// A JSON object.
    Object(&'a tollgate_gate::Object),
    Names(&'a [Name]),
    Labels(&'a BTreeSet<Name>),
    /// A list that the condition has made.
    List(Rc<[Value<'a>]>),
    /// A map that the condition has made; its keys are distinct.
    Map(Rc<[(Value<'a>, Value<'a>)]>),
    /// Nanoseconds since 1970-01-01 in UTC.
    Timestamp(i64),
    /// Nanoseconds.
    Duration(i64),
}

impl<'a> From<&'a Json> for Value<'a> {
    fn from(json: &'a Json) -> Value<'a> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Value::Int(value),
                None => match number.as_u64() {
                    Some(value) => Value::UInt(value),
                    None => Value::Double(number.to_f64()),
                },
            },
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::Array(items),
            Json::Object(object) => Value::Object(object),
        }
    }
}

impl<'a> Value<'a> {
    /// The text, if this is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Made(text) => Some(text),
            _ => None,
        }
    }

    /// Its type.
    pub(super) const fn kind(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::UInt(_) => Type::UInt,
            Value::Double(_) => Type::Double,
            Value::Text(_) | Value::Made(_) => Type::Text,
            Value::Array(_) | Value::List(_) => Type::List,
            Value::Names(_) | Value::Labels(_) => Type::Texts,
            Value::Object(_) | Value::Map(_) => Type::Map,
            Value::Timestamp(_) => Type::Timestamp,
            Value::Duration(_) => Type::Duration,
        }
    }

    /// How many items or entries it has, if it is a list or map.
    pub(super) fn len(&self) -> Option<usize> {
        Some(match self {
            Value::Array(items) => items.len(),
            Value::Names(names) => names.len(),
            Value::Labels(labels) => labels.len(),
            Value::List(items) => items.len(),
            Value::Object(object) => object.len(),
            Value::Map(entries) => entries.len(),
            _ => return None,
        })
    }

    /// The item at this place of a list; `None` beyond its end or when this is no list.
    pub(super) fn item(&self, at: usize) -> Option<Value<'a>> {
        match self {
            Value::Array(items) => items.get(at).map(Value::from),
            Value::Names(names) => names.get(at).map(|name| Value::Text(name)),
            Value::Labels(labels) => labels.iter().nth(at).map(|name| Value::Text(name)),
            Value::List(items) => items.get(at).cloned(),
            _ => None,
        }
    }

    /// The value under a key of a map; `None` when it has none or this is no map.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        match self {
            Value::Object(object) => object.get(key).map(Value::from),
            Value::Map(entries) => {
                let found = entries.iter().find(|(k, _)| k.text() == Some(key));
                found.map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// The keys of a map, in order; `None` when this is no map.
    pub(super) fn keys(&self) -> Option<Vec<Value<'a>>> {
        match self {
            Value::Object(object) => {
                // The object's own iterator lends its keys for as long as the event lives.
                let object: &'a tollgate_gate::Object = object;
                Some(object.iter().map(|(key, _)| Value::Text(key)).collect())
            }
            Value::Map(entries) => Some(entries.iter().map(|(key, _)| key.clone()).collect()),
            _ => None,
        }
    }
}

/// Orders two numbers by value; `None` when either is none, or is not a number at all (NaN).
pub(super) fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Double(a), _) => compare_exact(integer(right)?, *a).map(Ordering::reverse),
        (_, Value::Double(b)) => compare_exact(integer(left)?, *b),
        _ => Some(integer(left)?.cmp(&integer(right)?)),
    }
}

const fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(value) => Some(*value as i128),
        Value::UInt(value) => Some(*value as i128),
        _ => None,
    }
}

/// Orders an integer of 64 bits and a float exactly, which a conversion to float would not.
#[expect(clippy::cast_possible_truncation, reason = "the float is within the range of i128")]
fn compare_exact(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float >= 1e30 {
        return Some(Ordering::Less);
    }
    if float <= -1e30 {
        return Some(Ordering::Greater);
    }
    let floor = float.floor();
    let fraction = if float > floor { Ordering::Less } else { Ordering::Equal };
    Some(int.cmp(&(floor as i128)).then(fraction))
}
