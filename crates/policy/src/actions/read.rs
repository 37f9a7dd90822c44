//! Strict reading of an action's value into its configuration type.
//!
//! A deserialiser over [`Json`] that knows the path of every mistake, names the nearest known key
//! for an unknown one, and speaks the words of the policy file, not of Rust. [`Raw`] takes a JSON
//! value as it is, so that numbers survive.

use super::ActionError;
use schemars::JsonSchema;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor, value::StrDeserializer,
};
use serde::{Deserialize, forward_to_deserialize_any};
use std::fmt;
use std::marker::PhantomData;
use tollgate_gate::Json;

/// Longest key that is compared with the known ones, in bytes.
const COMPARED_KEY_BYTES_MAX: usize = 64;
/// Most members of any list or object in an action's value.
pub(crate) const ENTRIES_MAX: usize = 10_000;

/// Reads a value into a configuration type.
pub(crate) fn read<T: DeserializeOwned>(value: &Json) -> Result<T, ActionError> {
    T::deserialize(Source(value))
}

/// The JSON Schema of a configuration type.
pub(crate) fn schema_of<T: JsonSchema>() -> serde_json::Value {
    schemars::schema_for!(T).to_value()
}

/// A JSON value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Raw(pub(crate) Json);

const RAW: &str = "tollgate::Raw";

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Raw, D::Error> {
        struct RawVisitor;
        impl<'de> Visitor<'de> for RawVisitor {
            type Value = Raw;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Raw, E> {
                Json::read(text.as_bytes()).map(Raw).map_err(E::custom)
            }
        }
        deserializer.deserialize_newtype_struct(RAW, RawVisitor)
    }
}

impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Any".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one or a list")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let text: StrDeserializer<'_, E> = text.into_deserializer();
                Ok(OneOrMany(vec![T::deserialize(text)?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(OneOrMany(items))
            }
        }
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        let many = generator.subschema_for::<Vec<T>>();
        schemars::json_schema!({ "anyOf": [one, many] })
    }
}

/// The known word that is nearest to this one, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.len() > COMPARED_KEY_BYTES_MAX {
        return None;
    }
    let near = known.iter().map(|other| (distance(word, other), *other)).min()?;
    (near.0 <= 1 + near.1.len() / 4).then_some(near.1)
}

/// The number of characters to insert, delete or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (y, cell) in b.chars().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = replaced.min(*cell + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

impl Error for ActionError {
    fn custom<T: fmt::Display>(message: T) -> ActionError {
        ActionError::at("", message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> ActionError {
        let message = format!("expected {}, found {}", words(expected), found_words(&found));
        ActionError::at("", message)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> ActionError {
        ActionError::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> ActionError {
        unknown("key", field, known)
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> ActionError {
        unknown("word", variant, known)
    }

    fn missing_field(field: &'static str) -> ActionError {
        ActionError::at("", format!("`{field}` is missing"))
    }
}

/// The error of a word that is not among the known ones.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> ActionError {
    let message = match nearest(word, known) {
        Some(near) => format!("unknown {what} `{word}`; the nearest known one is `{near}`"),
        None => format!("unknown {what} `{word}`"),
    };
    ActionError::at("", message).remedy(format!("known: {}", known.join(", ")))
}

/// What serde expects, in the words of the policy file.
fn words(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "u64" | "u32" | "usize" | "u16" | "u8" => "a whole number of 0 or more".to_owned(),
        "i64" | "i32" => "a whole number".to_owned(),
        "a string" => "a text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ if text.starts_with("struct ") => "an object".to_owned(),
        _ if text.starts_with("enum ") || text == "variant identifier" => "a word".to_owned(),
        _ => text,
    }
}

fn found_words(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Unit => "nothing".to_owned(),
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("`{value}`"),
        Unexpected::Signed(value) => format!("`{value}`"),
        Unexpected::Float(value) => format!("`{value}`"),
        Unexpected::Str(text) => format!("the text `{}`", tollgate_gate::text::shown(text, 80)),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other @ (Unexpected::Char(_)
        | Unexpected::Bytes(_)
        | Unexpected::Option
        | Unexpected::NewtypeStruct
        | Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant
        | Unexpected::Other(_)) => other.to_string(),
    }
}

#[derive(Clone, Copy)]
struct Source<'a>(&'a Json);

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = ActionError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ActionError> {
        match self.0 {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.to_f64()),
            },
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(items) => {
                check_len(items.len())?;
                visitor.visit_seq(Items { items, at: 0 })
            }
            Json::Object(object) => {
                check_len(object.len())?;
                visitor.visit_map(Members { members: Box::new(object.iter()), value: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ActionError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ActionError> {
        if name == RAW {
            return visitor.visit_str(&self.0.text());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ActionError> {
        match self.0 {
            Json::String(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            other @ (Json::Null
            | Json::Bool(_)
            | Json::Number(_)
            | Json::Array(_)
            | Json::Object(_)) => {
                Err(ActionError::at("", format!("expected a word, found {}", kind_of(other))))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The type of a value, in words.
pub(crate) fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "nothing",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

fn check_len(len: usize) -> Result<(), ActionError> {
    if len > ENTRIES_MAX {
        return Err(ActionError::at("", format!("more than {ENTRIES_MAX} entries")));
    }
    Ok(())
}

struct Items<'a> {
    items: &'a [Json],
    at: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ActionError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ActionError> {
        let Some(item) = self.items.get(self.at) else { return Ok(None) };
        let at = self.at;
        self.at += 1;
        seed.deserialize(Source(item)).map(Some).map_err(|error| error.under(&at.to_string()))
    }
}

struct Members<'a> {
    members: Box<dyn Iterator<Item = (&'a str, &'a Json)> + 'a>,
    value: Option<(&'a str, &'a Json)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = ActionError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ActionError> {
        self.value = self.members.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        let source: StrDeserializer<'de, ActionError> = key.into_deserializer();
        seed.deserialize(source).map(Some).map_err(|error| error.under(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ActionError> {
        let Some((key, value)) = self.value.take() else {
            return Err(ActionError::at("", "a key without a value"));
        };
        seed.deserialize(Source(value)).map_err(|error| error.under(key))
    }
}

#[cfg(test)]
mod tests {
    use super::{OneOrMany, Raw, nearest, read};
    use serde::Deserialize;
    use tollgate_gate::Json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        reason: String,
        #[serde(default)]
        count: u64,
        #[serde(default)]
        who: OneOrMany<String>,
        inner: Option<Box<Sample>>,
        any: Option<Raw>,
    }

    fn sample(text: &str) -> Result<Sample, super::ActionError> {
        read(&Json::read(text.as_bytes()).unwrap())
    }

    #[test]
    fn an_unknown_key_is_named_with_its_path_and_the_nearest_known_one() {
        let error = sample(r#"{"reason":"a","inner":{"reson":"b"}}"#).unwrap_err();
        assert_eq!(error.path, "inner.reson");
        assert_eq!(error.message, "unknown key `reson`; the nearest known one is `reason`");
        assert_eq!(error.remedy.unwrap(), "known: reason, count, who, inner, any");
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_the_policy_file() {
        let error = sample(r#"{"reason":"a","count":"3"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "count: expected a whole number of 0 or more, found the text `3`"
        );
        assert_eq!(sample(r#"{"count":3}"#).unwrap_err().message, "`reason` is missing");
        let error = sample(r#"{"reason":null}"#).unwrap_err();
        assert_eq!(error.message, "expected a text, found nothing");
        assert_eq!(sample(r#"{"reason":"a","who":["b",1]}"#).unwrap_err().path, "who.1");
    }

    #[test]
    fn numbers_in_a_raw_value_survive() {
        let value =
            sample(r#"{"reason":"a","any":{"n":1.10,"big":123456789012345678901234567890}}"#);
        let any = value.unwrap().any.unwrap().0;
        assert_eq!(any.text(), r#"{"n":1.10,"big":123456789012345678901234567890}"#);
        assert_eq!(sample(r#"{"reason":"a","any":null}"#).unwrap().any.unwrap().0, Json::Null);
    }

    #[test]
    fn one_is_a_list_of_one() {
        assert_eq!(sample(r#"{"reason":"a","who":"b"}"#).unwrap().who.0, ["b"]);
        let many = sample(r#"{"reason":"a","count":2,"who":["b","c"]}"#).unwrap();
        assert_eq!((many.reason.as_str(), many.count), ("a", 2));
        assert_eq!(many.who.0, ["b", "c"]);
        assert!(sample(r#"{"reason":"a","count":1}"#).unwrap().inner.is_none());
        assert_eq!(nearest("colour", &["color", "size"]), Some("color"));
        assert_eq!(nearest("zzzzzzzz", &["color", "size"]), None);
    }
}
