//! What can be told of a message that cannot be read.
//!
//! A host that is told nothing about a result shows it to the model as it is, so a result that the strict
//! reader refuses (a lone surrogate, bytes that are no UTF-8, a key that stands twice, too deep, cut off)
//! must be withheld in the shape that it had. This reader tells the shape: names of fields and short
//! words, as far as they can be told. Long or odd texts are empty in it.
//!
//! Refused: deciding by it. Nothing that is read here reaches the gate, a record or the model.

use tollgate_gate::{Json, Object};

/// Deepest nesting that is told; what lies deeper is left out. Replacements look no deeper.
const DEPTH_MAX: usize = 32;
/// Most members of an object or array that are told: looking a key up costs as much as there are keys.
const MEMBERS_MAX: usize = 1024;
/// Longest text that is told; names of events, tools and kinds are shorter.
const TEXT_BYTES_MAX: usize = 4096;

/// The message, as far as it can be told; empty when it is no object.
pub fn salvaged(message: &[u8]) -> Object {
    let mut reader = Reader { rest: message };
    match reader.value(0) {
        Json::Object(object) => object,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Object::new()
        }
    }
}

struct Reader<'m> {
    rest: &'m [u8],
}

impl<'m> Reader<'m> {
    fn peek(&mut self) -> Option<u8> {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF);
        let from = self.rest.iter().position(|byte| !blank(byte)).unwrap_or(self.rest.len());
        self.skip(from);
        self.rest.first().copied()
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Takes this sign, if it comes next.
    fn takes(&mut self, sign: u8) -> bool {
        let is_next = self.peek() == Some(sign);
        if is_next {
            self.skip(1);
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Json {
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEPTH_MAX => {
                self.pass_over();
                Json::Null
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.text().into(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Json {
        let mut object = Object::new();
        self.skip(1);
        while let Some(next) = self.peek() {
            match next {
                b'"' => {
                    let key = self.text();
                    self.takes(b':');
                    let value = self.value(depth + 1);
                    // As every host reads it: of two the later one holds.
                    if object.len() < MEMBERS_MAX || object.contains_key(&key) {
                        object.insert(key, value);
                    }
                }
                b'}' => {
                    self.skip(1);
                    break;
                }
                _ => self.skip(1),
            }
        }
        object.into()
    }

    fn array(&mut self, depth: usize) -> Json {
        let mut items = Vec::new();
        self.skip(1);
        while let Some(next) = self.peek() {
            match next {
                b']' => {
                    self.skip(1);
                    break;
                }
                b',' | b'}' | b':' => self.skip(1),
                _ => {
                    let value = self.value(depth + 1);
                    if items.len() < MEMBERS_MAX {
                        items.push(value);
                    }
                }
            }
        }
        items.into()
    }

    /// A text; empty where it is long, or holds what is none.
    fn text(&mut self) -> String {
        let raw = self.quoted();
        if raw.len() > TEXT_BYTES_MAX {
            return String::new();
        }
        let read = Json::read(raw).ok();
        read.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned()
    }

    /// A text with its quotes, up to the end of the message where the second one is missing.
    fn quoted(&mut self) -> &'m [u8] {
        let all = self.rest;
        let mut is_escaped = false;
        let end = all.iter().skip(1).position(|byte| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        });
        let (quoted, rest) = all.split_at(end.map_or(all.len(), |end| end + 2));
        self.rest = rest;
        quoted
    }

    /// A number, `true`, `false` or `null`; null for anything else.
    fn word(&mut self) -> Json {
        let ends = |byte: &u8| b",:]}\"{[".contains(byte) || byte.is_ascii_whitespace();
        let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        let (word, _) = self.rest.split_at(end);
        // Something is taken always, or the reader would stand still.
        self.skip(end.max(1));
        Json::read(word).unwrap_or_default()
    }

    /// Passes over an object or array, however deep.
    fn pass_over(&mut self) {
        let mut open = 0usize;
        while let Some(next) = self.peek() {
            match next {
                b'"' => drop(self.quoted()),
                b'{' | b'[' => {
                    open += 1;
                    self.skip(1);
                }
                b'}' | b']' => {
                    open = open.saturating_sub(1);
                    self.skip(1);
                    if open == 0 {
                        return;
                    }
                }
                _ => self.skip(1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::salvaged;
    use tollgate_gate::Json;

    #[test]
    fn the_shape_of_a_message_that_cannot_be_read_is_told() {
        let told = |message: &[u8]| Json::from(salvaged(message)).text();
        for (message, shape) in [
            (
                &br#"{"a":"x\ud83d","b":{"type":"text","n":1}}"#[..],
                r#"{"a":"","b":{"type":"text","n":1}}"#,
            ),
            (b"{\"a\":\"\xff\",\"b\":[true,null]}", r#"{"a":"","b":[true,null]}"#),
            (br#"{"a":1,"a":"later"}"#, r#"{"a":"later"}"#),
            (br#"{"a":"cut of"#, r#"{"a":""}"#),
            (br#"{"a":{"b":["#, r#"{"a":{"b":[]}}"#),
            (b"\xef\xbb\xbf{\"a\":\"x\"}", r#"{"a":"x"}"#),
            (br#"{"a":NaN,"b":"\"}"}"#, r#"{"a":null,"b":"\"}"}"#),
            (b"[1]", "{}"),
            (b"", "{}"),
        ] {
            assert_eq!(told(message), shape, "{}", String::from_utf8_lossy(message));
        }
        let deep = format!(r#"{{"a":{}{},"b":"x"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(salvaged(deep.as_bytes()).get("b"), Some(&"x".into()));
    }
}
