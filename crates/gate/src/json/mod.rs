//! The JSON value that events are made of.
//!
//! `serde_json::Value` cannot hold every JSON number (a 30-digit integer, `1.10`) without a feature
//! that would change it for every other crate of the program, and a gate may not change what it
//! passes through. So this value keeps the text of a number that would not survive, keeps the order
//! of keys, and is read by one strict reader ([`Json::read`]). It refuses duplicate keys everywhere.

mod read;
mod serde_impl;
#[cfg(test)]
mod tests;

pub use read::{ReadError, ReadFault};

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

/// A JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, kept as it was written.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, keys in the order in which they came.
    Object(Object),
}

/// The members of a JSON object, in order, without duplicates.
///
/// A list and not a map: tool arguments have a handful of keys, for which a scan is faster than a
/// hash, and order is kept.
#[derive(Debug, Clone, Default)]
pub struct Object {
    members: Vec<(String, Json)>,
}

/// A JSON number that survives unchanged.
///
/// Equality is that of the written form: `1` and `1.0` differ. Use [`Number::compare`] for values.
#[derive(Debug, Clone, PartialEq)]
pub struct Number(Repr);

#[derive(Debug, Clone, PartialEq)]
enum Repr {
    Int(i64),
    UInt(u64),
    /// A float whose shortest form is the text it came from.
    Float(f64),
    /// Any other: the text itself.
    Text(Box<str>),
}

impl Json {
    /// Reads one JSON text strictly: UTF-8, one value, no duplicate keys, depth and size caps of
    /// [`crate::limits`], numbers kept as written.
    ///
    /// # Errors
    /// [`ReadError`] names the fault and the byte at which it stands.
    pub fn read(text: &[u8]) -> Result<Json, ReadError> {
        read::read(text)
    }

    /// The text of this value in compact form, keys in their order.
    pub fn text(&self) -> String {
        // Writing a tree of strings and numbers to memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The text of this value with keys sorted at every level: equal values, however they were
    /// ordered, give equal texts. Used for digests (after RFC 8785, but numbers stay as written).
    pub fn canonical_text(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Json::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            Json::Object(object) => {
                let mut members: Vec<_> = object.iter().collect();
                members.sort_unstable_by(|a, b| a.0.cmp(b.0));
                out.push('{');
                for (i, (key, value)) in members.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write_canonical(out);
                }
                out.push('}');
            }
            Json::String(text) => write_string(text, out),
            Json::Null | Json::Bool(_) | Json::Number(_) => out.push_str(&self.text()),
        }
    }

    /// The string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Json::Object(object) = self { Some(object) } else { None }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Json::Number(number) = self { Some(number) } else { None }
    }

    /// The number as a signed integer, if it is one in range.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The number as an unsigned integer, if it is one in range.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// The member of an object, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The word for this type of value, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Converts into any type that can be deserialised; for typed tool arguments.
    ///
    /// # Errors
    /// The text of the mismatch, naming the field.
    pub fn to<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.text())
    }

    /// Converts from any type that can be serialised.
    ///
    /// # Errors
    /// When the value has no JSON form (a map with keys that are not strings), or one that the strict
    /// reader refuses.
    pub fn from_serialize<T: serde::Serialize>(value: &T) -> Result<Json, serde_json::Error> {
        let text = serde_json::to_vec(value)?;
        Json::read(&text).map_err(serde::de::Error::custom)
    }
}

fn write_string(text: &str, out: &mut String) {
    // Writing a string to memory cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Object {
    /// An empty object.
    pub fn new() -> Object {
        Object::default()
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.members.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// The value under `key`, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.members.iter_mut().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// Sets `key`, keeping its place if it exists; gives back what stood there.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        let (key, value) = (key.into(), value.into());
        if let Some(place) = self.get_mut(&key) {
            return Some(std::mem::replace(place, value));
        }
        self.members.push((key, value));
        None
    }

    /// Appends a member whose key is known to be new (the reader has checked).
    pub(crate) fn push_new(&mut self, key: String, value: Json) {
        self.members.push((key, value));
    }

    /// Appends the members of `other` whose keys are not here yet. Looks only at what was here
    /// before, for keys of `other` are distinct: many members stay cheap.
    pub(crate) fn extend_missing(&mut self, other: &Object) {
        let before = self.members.len();
        for (key, value) in other.iter() {
            let known = self.members.iter().take(before).any(|(k, _)| k == key);
            if !known {
                self.members.push((key.to_owned(), value.clone()));
            }
        }
    }

    /// Removes `key` and gives back its value.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.members.iter().position(|(k, _)| k == key)?;
        Some(self.members.remove(at).1)
    }

    /// Whether there is a member `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The members, in order, values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Json)> {
        self.members.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;
    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

/// Objects are equal when they hold the same members, in whatever order.
impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        if self.len() != other.len() {
            return false;
        }
        // The usual case, a copy: the same order, one pass.
        if self.members.iter().zip(&other.members).all(|(a, b)| a.0 == b.0) {
            return self.members.iter().zip(&other.members).all(|(a, b)| a.1 == b.1);
        }
        let index: std::collections::HashMap<&str, &Json> = other.iter().collect();
        self.iter().all(|(key, value)| index.get(key).is_some_and(|v| *v == value))
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Object {
        let mut object = Object::new();
        for (key, value) in members {
            object.insert(key, value);
        }
        object
    }
}

impl Number {
    /// The number that this JSON literal writes, or `None` if it is no JSON number.
    pub fn from_literal(literal: &str) -> Option<Number> {
        read::is_number(literal.as_bytes()).then(|| Number::from_checked(literal))
    }

    /// As [`Number::from_literal`], for a literal that the reader has checked.
    fn from_checked(literal: &str) -> Number {
        if !literal.contains(['.', 'e', 'E']) && literal != "-0" {
            if let Ok(value) = literal.parse::<i64>() {
                return Number(Repr::Int(value));
            }
            if let Ok(value) = literal.parse::<u64>() {
                return Number(Repr::UInt(value));
            }
        } else if let Ok(value) = literal.parse::<f64>()
            && value.is_finite()
            && value != 0.0
            && float_text(value) == literal
        {
            return Number(Repr::Float(value));
        }
        Number(Repr::Text(literal.into()))
    }

    /// A finite float, or `None` for NaN and the infinities, which JSON cannot write.
    pub fn from_f64(value: f64) -> Option<Number> {
        // Zero has a sign that floats do not compare by, and texts do.
        if value == 0.0 {
            return Some(Number(Repr::Text(float_text(value).into())));
        }
        value.is_finite().then_some(Number(Repr::Float(value)))
    }

    /// The value as a signed integer, if it is written as an integer in range.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(value) => Some(*value),
            Repr::UInt(value) => i64::try_from(*value).ok(),
            Repr::Float(_) | Repr::Text(_) => None,
        }
    }

    /// The value as an unsigned integer, if it is written as an integer in range.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Int(value) => u64::try_from(*value).ok(),
            Repr::UInt(value) => Some(*value),
            Repr::Float(_) | Repr::Text(_) => None,
        }
    }

    /// The nearest float; infinite when the number is beyond the range of one.
    #[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Int(value) => *value as f64,
            Repr::UInt(value) => *value as f64,
            Repr::Float(value) => *value,
            // The reader has checked that this is a number; Rust's parser takes every JSON number.
            Repr::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Whether it is a whole number of at most six digits.
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.0, Repr::Int(-999_999..=999_999))
    }

    /// The literal, as it was written.
    pub fn literal(&self) -> String {
        match &self.0 {
            Repr::Int(value) => value.to_string(),
            Repr::UInt(value) => value.to_string(),
            Repr::Float(value) => float_text(*value),
            Repr::Text(text) => text.to_string(),
        }
    }

    /// Gives the literal to `f` without allocating for it.
    pub(crate) fn with_literal<T>(&self, f: impl FnOnce(&str) -> T) -> T {
        let mut short = ShortText::default();
        let written = match &self.0 {
            Repr::Text(text) => return f(text),
            Repr::Int(value) => write!(short, "{value}"),
            Repr::UInt(value) => write!(short, "{value}"),
            Repr::Float(value) => write!(short, "{value:?}"),
        };
        match (written, short.text()) {
            (Ok(()), Some(text)) => f(text),
            (Ok(()) | Err(_), _) => f(&self.literal()),
        }
    }

    /// Orders by value: exact between integers, as floats otherwise; `None` only when a float
    /// comparison has no answer, which security-relevant callers must treat as refused.
    pub fn compare(&self, other: &Number) -> Option<Ordering> {
        if let (Some(a), Some(b)) = (self.as_i128(), other.as_i128()) {
            return Some(a.cmp(&b));
        }
        self.to_f64().partial_cmp(&other.to_f64())
    }

    fn as_i128(&self) -> Option<i128> {
        match &self.0 {
            Repr::Int(value) => Some(i128::from(*value)),
            Repr::UInt(value) => Some(i128::from(*value)),
            Repr::Float(_) => None,
            Repr::Text(text) => text.parse().ok(),
        }
    }
}

/// Room for the literal of any integer or float: the longest is `-2.2250738585072014e-308`.
#[derive(Default)]
struct ShortText {
    bytes: [u8; 32],
    len: usize,
}

impl ShortText {
    fn text(&self) -> Option<&str> {
        self.bytes.get(..self.len).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }
}

impl fmt::Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let place = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// The shortest text that reads back as this float, always with a point or an exponent.
fn float_text(value: f64) -> String {
    format!("{value:?}")
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}
impl From<i64> for Json {
    fn from(value: i64) -> Json {
        Json::Number(Number(Repr::Int(value)))
    }
}
impl From<i32> for Json {
    fn from(value: i32) -> Json {
        Json::from(i64::from(value))
    }
}
impl From<u32> for Json {
    fn from(value: u32) -> Json {
        Json::from(i64::from(value))
    }
}
impl From<u64> for Json {
    fn from(value: u64) -> Json {
        Json::Number(Number(i64::try_from(value).map_or(Repr::UInt(value), Repr::Int)))
    }
}
impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::String(value.to_owned())
    }
}
impl From<String> for Json {
    fn from(value: String) -> Json {
        Json::String(value)
    }
}
impl From<Number> for Json {
    fn from(value: Number) -> Json {
        Json::Number(value)
    }
}
impl From<Object> for Json {
    fn from(value: Object) -> Json {
        Json::Object(value)
    }
}
impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Json {
        Json::Array(items.into_iter().map(Into::into).collect())
    }
}
impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(value),
            serde_json::Value::Number(number) => {
                Json::Number(Number::from_checked(&number.to_string()))
            }
            serde_json::Value::String(text) => Json::String(text),
            serde_json::Value::Array(items) => {
                Json::Array(items.into_iter().map(Json::from).collect())
            }
            serde_json::Value::Object(map) => {
                let mut object = Object::new();
                for (key, value) in map {
                    object.push_new(key, Json::from(value));
                }
                Json::Object(object)
            }
        }
    }
}

/// For libraries that take `serde_json::Value` (a schema validator). Numbers beyond its range become
/// the nearest float, or `null` where there is none: use it to look, never to pass on.
impl From<&Json> for serde_json::Value {
    fn from(value: &Json) -> serde_json::Value {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => (*value).into(),
            Json::Number(number) => match &number.0 {
                Repr::Int(value) => (*value).into(),
                Repr::UInt(value) => (*value).into(),
                Repr::Float(_) | Repr::Text(_) => number.to_f64().into(),
            },
            Json::String(text) => text.as_str().into(),
            Json::Array(items) => items.iter().map(serde_json::Value::from).collect(),
            Json::Object(object) => {
                object.iter().map(|(k, v)| (k.to_owned(), serde_json::Value::from(v))).collect()
            }
        }
    }
}
