//! The JSON Schema of policy files, for editors: made from the same tables that check a file.

use crate::actions;
use crate::file::shape::{More, Shape, Want};
use crate::file::{ACTION_DOC, HOOK, MATCH, POLICY};
use serde_json::{Map, Value, json};

/// The schema of a policy file, version 1 (JSON Schema 2020-12).
pub fn policy_schema() -> Value {
    let mut defs = Map::new();
    defs.insert("hook".to_owned(), object(&HOOK));
    defs.insert("match".to_owned(), object(&MATCH));
    let mut root = object(&POLICY);
    if let Some(root) = root.as_object_mut() {
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("$id".to_owned(), json!("https://tollgate.dev/schema/policy.v1.json"));
        root.insert("title".to_owned(), json!("Tollgate policy"));
        root.insert("$defs".to_owned(), Value::Object(defs));
    }
    root
}

fn object(shape: &'static Shape) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in shape.keys {
        let mut schema = want(&key.want);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), json!(key.doc));
        }
        properties.insert(key.name.to_owned(), schema);
        if key.required {
            required.push(key.name);
        }
    }
    let mut out = json!({ "type": "object", "additionalProperties": false });
    if shape.more == More::Paths {
        let globs = want(&Want::Globs);
        put(&mut out, "patternProperties", json!({ "^(args|payload)\\.": globs }));
    }
    if shape.more == More::Actions {
        for action in actions::table() {
            let mut schema = (action.schema)();
            put(&mut schema, "description", json!(action.summary));
            properties.insert(action.name.to_owned(), schema);
        }
        let one = actions::table().iter().map(|action| json!({ "required": [action.name] }));
        put(&mut out, "oneOf", Value::Array(one.collect()));
        put(&mut out, "description", json!(ACTION_DOC));
    }
    put(&mut out, "properties", Value::Object(properties));
    if !required.is_empty() {
        put(&mut out, "required", json!(required));
    }
    out
}

fn put(schema: &mut Value, key: &str, value: Value) {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(key.to_owned(), value);
    }
}

fn want(want: &'static Want) -> Value {
    let one_or_many = |one: Value| json!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 1 }] });
    match want {
        Want::Text => json!({ "type": "string" }),
        Want::Flag => json!({ "type": "boolean" }),
        Want::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Want::Duration => json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$" }),
        Want::Date => json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}" }),
        Want::Word(words) => json!({ "enum": words }),
        Want::Names => one_or_many(json!({ "type": "string", "minLength": 1 })),
        Want::Globs => one_or_many(json!({ "type": ["string", "number", "boolean"] })),
        Want::ListOf(of) => json!({ "type": "array", "items": self::want(of) }),
        Want::MapOf(of) => json!({ "type": "object", "additionalProperties": self::want(of) }),
        Want::Object(shape) if std::ptr::eq(*shape, &HOOK) => json!({ "$ref": "#/$defs/hook" }),
        Want::Object(shape) if std::ptr::eq(*shape, &MATCH) => json!({ "$ref": "#/$defs/match" }),
        Want::Object(shape) => object(shape),
        Want::Anything => json!({}),
        Want::Either(wants) => {
            json!({ "anyOf": wants.iter().map(self::want).collect::<Vec<_>>() })
        }
    }
}
