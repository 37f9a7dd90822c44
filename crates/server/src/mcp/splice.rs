//! Writing a changed value into the text it came from.
//!
//! A hook changes a string deep inside of a result; everything around it (blanks, the order of keys,
//! how a number or an escape was written) goes on as it came. The text was read by the strict reader
//! before, so finding where a member begins and ends needs no second parser, only a walk over
//! brackets and strings.

use std::ops::Range;
use tollgate::gate::{Json, Object};

/// `text`, which reads as `old`, with what `new` has different. Members that only `new` has are put
/// behind the others; where members are gone or stand in another order, or a list has another
/// length, that value is written anew as a whole.
pub fn rewrite(text: &str, old: &Json, new: &Json) -> String {
    let mut out = String::with_capacity(text.len());
    let mut walk = Walk { text, at: 0 };
    walk.skip_space();
    out.push_str(text.get(..walk.at).unwrap_or_default());
    let value = walk.value();
    write(&mut out, text.get(value.clone()).unwrap_or_default(), old, new);
    out.push_str(text.get(value.end..).unwrap_or_default());
    out
}

fn write(out: &mut String, text: &str, old: &Json, new: &Json) {
    if old == new {
        out.push_str(text);
        return;
    }
    match (old, new) {
        (Json::Object(old), Json::Object(new)) if extends(old, new) => {
            write_object(out, text, old, new);
        }
        (Json::Array(old), Json::Array(new)) if old.len() == new.len() => {
            write_array(out, text, old, new);
        }
        _ => out.push_str(&new.text()),
    }
}

/// Whether `new` has the keys of `old` in their order, and perhaps more behind them.
fn extends(old: &Object, new: &Object) -> bool {
    new.len() >= old.len() && old.iter().zip(new.iter()).all(|((a, _), (b, _))| a == b)
}

fn write_object(out: &mut String, text: &str, old: &Object, new: &Object) {
    let mut walk = Walk { text, at: 1 };
    let mut written = 0;
    for ((_, old), (_, new)) in old.iter().zip(new.iter()) {
        walk.skip_space();
        walk.value();
        walk.skip_space();
        walk.at += 1;
        walk.skip_space();
        let value = walk.value();
        out.push_str(text.get(written..value.start).unwrap_or_default());
        write(out, text.get(value.clone()).unwrap_or_default(), old, new);
        written = value.end;
        walk.skip_space();
        walk.at += 1;
    }
    if old.is_empty() {
        out.push('{');
        written = 1;
    }
    for (at, (key, value)) in new.iter().enumerate().skip(old.len()) {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&Json::from(key).text());
        out.push(':');
        out.push_str(&value.text());
    }
    out.push_str(text.get(written..).unwrap_or_default());
}

fn write_array(out: &mut String, text: &str, old: &[Json], new: &[Json]) {
    let mut walk = Walk { text, at: 1 };
    let mut written = 0;
    for (old, new) in old.iter().zip(new) {
        walk.skip_space();
        let value = walk.value();
        out.push_str(text.get(written..value.start).unwrap_or_default());
        write(out, text.get(value.clone()).unwrap_or_default(), old, new);
        written = value.end;
        walk.skip_space();
        walk.at += 1;
    }
    out.push_str(text.get(written..).unwrap_or_default());
}

/// A walk over a text that is known to be JSON.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl Walk<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Steps over the value that starts here.
    fn value(&mut self) -> Range<usize> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{' | b'[') => self.brackets(),
            _ => {
                let ends =
                    |byte: u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
                while self.peek().is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
            }
        }
        start..self.at
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }

    fn brackets(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rewrite;
    use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
    use tollgate::gate::{Json, Object};

    fn json(text: &str) -> Json {
        Json::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_stays_keeps_its_bytes() {
        for (text, new, expected) in [
            ("{ }", r#"{"a":1}"#, r#"{"a":1 }"#),
            (r#"{"a" : 1e2 , "b": "x"}"#, r#"{"a":1e2,"b":"y"}"#, r#"{"a" : 1e2 , "b": "y"}"#),
            (r#"{"a":1}"#, r#"{"a":1,"b":[2]}"#, r#"{"a":1,"b":[2]}"#),
            (r#"{"a":1,"b":2}"#, r#"{"b":2}"#, r#"{"b":2}"#),
            (r#"[ "}", {"k":"]"} ]"#, r#"["}",{"k":"z"}]"#, r#"[ "}", {"k":"z"} ]"#),
            (r#"[1,2]"#, "[1]", "[1]"),
            (r#"  "a\"" "#, r#""b""#, r#"  "b" "#),
        ] {
            assert_eq!(rewrite(text, &json(text), &json(new)), expected, "{text}");
        }
    }

    fn value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "[a-z\"\\\\{}\\[\\],: \u{2028}é]{0,8}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
                prop::collection::btree_map("[a-c\"]{1,2}", inner, 0..4)
                    .prop_map(|map| { Json::from(map.into_iter().collect::<Object>()) }),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_text_reads_as_the_new_value(old in value(), new in value()) {
            let text = old.text();
            let written = rewrite(&text, &old, &new);
            assert_eq!(json(&written), new);
            assert_eq!(rewrite(&text, &old, &old), text);
        }
    }
}
