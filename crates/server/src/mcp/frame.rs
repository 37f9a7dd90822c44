//! One message: its text as it came, and what it says.
//!
//! The text is kept, because what goes on is the text and not what was understood of it. Reading is
//! the gate's one strict reader; on top of it stands what JSON-RPC 2.0 and MCP ask of a message: one
//! object, a text or whole number as id, a request or notification or answer and nothing in between.

use super::limits::{ID_BYTES_MAX, MESSAGE_BYTES_MAX};
use std::fmt;
use tollgate::gate::json::{ReadError, ReadFault};
use tollgate::gate::{Json, Name, Object};

/// A message that was read.
#[derive(Debug, Clone)]
pub struct Frame {
    text: String,
    root: Json,
    shape: Shape,
}

/// What kind of message it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Asks for an answer.
    Request {
        /// Under which the answer comes.
        id: Id,
        /// What is asked for.
        method: Name,
    },
    /// Says something.
    Notification {
        /// What.
        method: Name,
    },
    /// Answers a request.
    Answer {
        /// Of which request; an error about a message that could not be read has none.
        id: Option<Id>,
        /// Whether it is a result and no error.
        ok: bool,
    },
}

/// The id of a request. `1` and `"1"` are two ids; `"a"` and `"\u0061"` are one, and so are `0` and `-0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(Box<str>);

/// A message that does not pass, and how to answer it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Malformed {
    /// The id, where one could be read.
    pub id: Option<Id>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is no JSON text that all readers agree about.
    #[error("this message cannot be read: {0}")]
    Unreadable(ReadError),
    /// It is longer than [`MESSAGE_BYTES_MAX`].
    #[error("this message is longer than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
    /// It is a batch, which no revision in force has.
    #[error("batches are not passed on: send one message at a time")]
    Batch,
    /// It is no message of JSON-RPC 2.0.
    #[error("this is no JSON-RPC 2.0 message: {0}")]
    Shape(&'static str),
}

impl Malformed {
    /// The code of JSON-RPC 2.0: -32700 for a text that cannot be read, -32600 for all else.
    pub fn code(&self) -> i64 {
        match &self.fault {
            // Readable, and read differently by different readers: no message.
            Fault::Unreadable(error)
                if matches!(
                    error.fault,
                    ReadFault::DuplicateKey(_) | ReadFault::TooLarge | ReadFault::TooDeep
                ) =>
            {
                -32600
            }
            Fault::Unreadable(_) => -32700,
            Fault::TooLong | Fault::Batch | Fault::Shape(_) => -32600,
        }
    }

    /// A message over the cap, and its id where one was found.
    pub(super) fn too_long(id: Option<Id>) -> Malformed {
        Malformed::of(id, Fault::TooLong)
    }

    fn of(id: Option<Id>, fault: Fault) -> Malformed {
        Malformed { id, fault }
    }
}

impl Frame {
    /// Reads one message.
    ///
    /// # Errors
    /// [`Malformed`] says what is wrong and under which code to answer it.
    pub fn read(text: impl Into<Vec<u8>>) -> Result<Frame, Malformed> {
        Frame::read_or_keep(text.into()).map_err(|(refused, _)| refused)
    }

    /// The same; a text that is no message is given back.
    pub(super) fn read_or_keep(bytes: Vec<u8>) -> Result<Frame, (Malformed, Vec<u8>)> {
        let (root, shape) = match parts(&bytes) {
            Ok(parts) => parts,
            Err(refused) => return Err((refused, bytes)),
        };
        // The reader took it, so it is UTF-8.
        let text = String::from_utf8(bytes).map_err(|error| {
            let refused = Malformed::of(None, Fault::Shape("it is not UTF-8"));
            (refused, error.into_bytes())
        })?;
        Ok(Frame { text, root, shape })
    }

    /// What kind of message it is.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The text as it came.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text as it came, by value.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The message as it was read: an object.
    pub fn root(&self) -> &Json {
        &self.root
    }

    /// A member of the message.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.root.get(key)
    }

    /// `params`.
    pub fn params(&self) -> Option<&Json> {
        self.get("params")
    }

    /// A member of `params`.
    pub fn param(&self, key: &str) -> Option<&Json> {
        self.params()?.get(key)
    }

    /// The message with another member in place of one it has, byte for byte the same elsewhere.
    #[must_use]
    pub fn with(&self, key: &str, value: Json) -> String {
        let mut root = self.root.clone();
        if let Json::Object(object) = &mut root {
            object.insert(key, value);
        }
        super::splice::rewrite(&self.text, &self.root, &root)
    }

    /// Whether the sender speaks the revision 2026-07-28 or later: it says so in the message itself.
    pub fn is_modern(&self) -> bool {
        let meta = self.param("_meta").and_then(Json::as_object);
        meta.is_some_and(|meta| meta.contains_key("io.modelcontextprotocol/protocolVersion"))
    }
}

fn parts(bytes: &[u8]) -> Result<(Json, Shape), Malformed> {
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(Malformed::of(None, Fault::TooLong));
    }
    let root = Json::read(bytes).map_err(|error| Malformed::of(None, Fault::Unreadable(error)))?;
    if root.as_array().is_some() {
        return Err(Malformed::of(None, Fault::Batch));
    }
    let Some(object) = root.as_object() else {
        return Err(Malformed::of(None, Fault::Shape("it is no object")));
    };
    let shape = shape(object)?;
    Ok((root, shape))
}

fn shape(object: &Object) -> Result<Shape, Malformed> {
    let id = id_of(object);
    let wrong = |what| {
        let known = id.clone().ok().flatten();
        Malformed::of(known, Fault::Shape(what))
    };
    if object.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return Err(wrong("`jsonrpc` must be \"2.0\""));
    }
    let has_result = object.contains_key("result");
    let has_error = object.contains_key("error");
    let Some(method) = object.get("method") else {
        if has_result == has_error {
            return Err(wrong("it has neither a method nor exactly one of result and error"));
        }
        // Only an error about what could not be read has no id.
        let id = match object.get("id") {
            Some(Json::Null) if has_error => None,
            _ => Some(id.clone().map_err(&wrong)?.ok_or_else(|| wrong("an answer needs an id"))?),
        };
        return Ok(Shape::Answer { id, ok: has_result });
    };
    let Some(method) = method.as_str() else { return Err(wrong("`method` must be a text")) };
    if has_result || has_error {
        return Err(wrong("a method and a result or error in one message"));
    }
    if !matches!(object.get("params"), None | Some(Json::Object(_))) {
        return Err(wrong("`params` must be an object"));
    }
    let method = Name::from(method);
    Ok(match id.clone().map_err(&wrong)? {
        Some(id) => Shape::Request { id, method },
        None => Shape::Notification { method },
    })
}

/// The id, `None` where there is none.
fn id_of(object: &Object) -> Result<Option<Id>, &'static str> {
    let text = match object.get("id") {
        None => return Ok(None),
        Some(id @ Json::String(_)) => id.text(),
        Some(Json::Number(number)) if is_whole(&number.literal()) => match number.literal() {
            // The one whole number that can be written in two ways; most programs answer by the other.
            zero if zero == "-0" => "0".to_owned(),
            literal => literal,
        },
        Some(Json::Number(_)) => return Err("an id must be a whole number or a text"),
        Some(Json::Null) => return Err("an id must not be null"),
        Some(Json::Bool(_) | Json::Array(_) | Json::Object(_)) => {
            return Err("an id must be a whole number or a text");
        }
    };
    if text.len() > ID_BYTES_MAX {
        return Err("an id must not be longer than 1024 bytes");
    }
    Ok(Some(Id(text.into())))
}

fn is_whole(literal: &str) -> bool {
    literal.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
}

impl Id {
    /// An id of the relay's own.
    pub(super) fn own(text: &str) -> Id {
        Id(Json::from(text).text().into())
    }

    /// The id of a value, where it is one.
    pub(super) fn of(value: &Json) -> Option<Id> {
        let object = Object::from_iter([("id", value.clone())]);
        id_of(&object).ok().flatten()
    }

    /// The id as JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Shape};

    fn code(text: &str) -> i64 {
        Frame::read(text).unwrap_err().code()
    }

    #[test]
    fn what_readers_disagree_about_is_refused() {
        for (text, expected) in [
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"\u0061":2}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#, -32700),
            (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700),
            ("\"text\"", -32600),
            ("", -32700),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
        assert_eq!(
            Frame::read(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").unwrap_err().code(),
            -32700
        );
        let deep = format!(
            r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{}1{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        assert_eq!(code(&deep), -32600);
    }

    #[test]
    fn a_refusal_names_the_id_where_there_is_one() {
        let refused = Frame::read(r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#).unwrap_err();
        assert_eq!(refused.id.unwrap().as_json(), "\"x\"");
    }

    #[test]
    fn ids_are_told_apart_by_kind_and_not_by_spelling() {
        let id = |text: &str| {
            let frame = Frame::read(format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"m"}}"#));
            match frame.unwrap().shape().clone() {
                Shape::Request { id, .. } => id,
                other @ (Shape::Notification { .. } | Shape::Answer { .. }) => panic!("{other:?}"),
            }
        };
        assert_ne!(id("1"), id("\"1\""));
        assert_eq!(id("\"a\""), id("\"\\u0061\""));
        assert_eq!(id("-0"), id("0"));
        assert_ne!(id("-1"), id("1"));
        assert_eq!(
            id("123456789012345678901234567890").as_json(),
            "123456789012345678901234567890"
        );
    }

    #[test]
    fn only_what_is_changed_is_written_anew() {
        let text =
            "{ \"jsonrpc\" : \"2.0\",\"id\":1, \"result\" : { \"n\":1.50, \"s\":\"\\u0061\" } }";
        let frame = Frame::read(text).unwrap();
        let mut result = frame.get("result").unwrap().clone();
        if let tollgate::gate::Json::Object(object) = &mut result {
            object.insert("s", "b");
        }
        let expected =
            "{ \"jsonrpc\" : \"2.0\",\"id\":1, \"result\" : { \"n\":1.50, \"s\":\"b\" } }";
        assert_eq!(frame.with("result", result), expected);
    }
}
