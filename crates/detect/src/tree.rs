//! Redaction of a `serde_json` tree, leaf by leaf.
//!
//! For callers that hold a tree anyway. A tree of another crate is walked the same way with
//! [`Redactor::redact_str`]: strings with their key in the context, numbers as their text.

use serde_json::Value;

use crate::config::Context;
use crate::redact::{NumberMask, Redactor};

impl Redactor {
    /// Masks in every string, number and key of the tree; answers how many of them changed.
    pub fn redact_value(&self, tree: &mut Value, ctx: &Context<'_>) -> usize {
        match tree {
            Value::Null | Value::Bool(_) => 0,
            Value::String(text) => match self.redact_str(text, ctx) {
                Some(masked) => {
                    *text = masked;
                    1
                }
                None => 0,
            },
            Value::Number(number) => match self.redact_str(&number.to_string(), ctx) {
                Some(masked) => {
                    *tree = match self.number_mask() {
                        NumberMask::AsString => Value::String(masked),
                        NumberMask::Zero => Value::from(0),
                    };
                    1
                }
                None => 0,
            },
            Value::Array(items) => items.iter_mut().map(|item| self.redact_value(item, ctx)).sum(),
            Value::Object(members) => self.redact_members(members, ctx),
        }
    }

    fn redact_members(
        &self,
        members: &mut serde_json::Map<String, Value>,
        ctx: &Context<'_>,
    ) -> usize {
        let named =
            ["name", "key"].iter().find_map(|key| members.get(*key)?.as_str().map(str::to_owned));
        let mut changed = 0;
        for (key, value) in members.iter_mut() {
            // `{"name": "password", "value": "x"}`: the name speaks for the value.
            let speaks = key.eq_ignore_ascii_case("value") && value.is_string();
            let key = named.as_deref().filter(|_| speaks).unwrap_or(key);
            changed += self.redact_value(value, &ctx.with_key(key));
        }
        let bare = Context { key: None, ..*ctx };
        let renamed: Vec<(String, String)> = members
            .keys()
            .filter_map(|key| Some((key.clone(), self.redact_str(key, &bare)?)))
            .collect();
        changed += renamed.len();
        for (key, masked) in renamed {
            let Some(value) = members.remove(&key) else { continue };
            let mut unique = masked.clone();
            let mut number = 2;
            while members.contains_key(&unique) {
                unique = format!("{masked}#{number}");
                number += 1;
            }
            members.insert(unique, value);
        }
        changed
    }
}
