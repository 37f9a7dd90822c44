//! A structured result that a hook changed, made valid for its tool's schema again.
//!
//! A client checks `structuredContent` against the schema that the tool was listed with, and drops a
//! result that does not hold. A mask is a text, and where the schema wants a number, a date or one of a
//! few words it does not. So in the place of such a mask stands the first of a few values that holds: none
//! of them is made of more than the kind and the shape of what was masked. Where none holds, a member that
//! need not be there is left out; and where that does not help either, the result is a failed one, which
//! no client checks, and says which member it was.
//!
//! Without a schema nothing can be checked; then each value keeps its kind.

use jsonschema::Validator;
use serde_json::Value;
use std::collections::HashSet;
use tollgate::gate::{Json, Object};

/// Steps into a value.
type Path = Vec<Step>;

#[derive(Clone, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// What a hook changed.
struct Change {
    path: Path,
    /// What can stand there, the mask first.
    values: Vec<Json>,
    /// Which of them does.
    at: usize,
}

/// Most places that are looked at one by one; with more the result fails.
const CHANGES_MAX: usize = 10_000;
/// Most schemas that say something about one place.
const SCHEMAS_MAX: usize = 64;

/// `masked`, made of `original` by hooks, so that it holds for the schema; otherwise the places, as
/// pointers, for which nothing holds.
pub(super) fn fit(original: &Json, masked: &Json, schema: Option<&Json>) -> Result<Json, String> {
    let schema = schema.map(Value::from);
    let validator = schema.as_ref().and_then(|schema| jsonschema::validator_for(schema).ok());
    let schema = schema.unwrap_or_default();
    let mut changes = Vec::new();
    collect(original, masked, &mut Vec::new(), &mut changes);
    let mut changes: Vec<Change> = changes
        .into_iter()
        .map(|(path, old, new)| {
            let values = values(old, new, &schemas(&schema, &path), validator.is_some());
            Change { path, values, at: 0 }
        })
        .collect();
    let mut fitted = masked.clone();
    let Some(validator) = validator else {
        put_all(&mut fitted, &mut changes);
        return Ok(fitted);
    };
    let mut errors = failing(&validator, &fitted, &changes);
    while !errors.is_empty() && changes.len() <= CHANGES_MAX {
        let mut moved = false;
        for change in changes.iter_mut().filter(|change| concerns(&errors, &change.path)) {
            if let Some(value) = change.values.get(change.at + 1) {
                change.at += 1;
                moved |= put(&mut fitted, &change.path, value.clone());
            }
        }
        if !moved {
            break;
        }
        errors = failing(&validator, &fitted, &changes);
    }
    // What does not hold is left out, or what it is in.
    for depth in 0..2 {
        if errors.is_empty() {
            break;
        }
        let mut less = fitted.clone();
        for change in changes.iter().filter(|change| concerns(&errors, &change.path)) {
            remove(&mut less, &change.path, depth);
        }
        if failing(&validator, &less, &changes).is_empty() {
            return Ok(less);
        }
    }
    if errors.is_empty() {
        return Ok(fitted);
    }
    let failing = changes.iter().filter(|change| concerns(&errors, &change.path));
    let mut names: Vec<String> = failing.take(4).map(|change| pointer(&change.path)).collect();
    if names.len() > 3 {
        names.truncate(3);
        names.push("more".to_owned());
    }
    Err(names.join(", "))
}

/// Where a value does not hold, as far as a change may be the reason: what the server itself made invalid
/// stays as it is.
fn failing(validator: &Validator, value: &Json, changes: &[Change]) -> HashSet<String> {
    let value = Value::from(value);
    let errors = validator.iter_errors(&value);
    let mut places: HashSet<String> =
        errors.map(|error| error.instance_path().as_str().to_owned()).collect();
    places.retain(|place| {
        let one = HashSet::from([place.clone()]);
        changes.iter().any(|change| concerns(&one, &change.path))
    });
    places
}

fn put_all(value: &mut Json, changes: &mut [Change]) {
    for change in changes {
        if let Some(first) = change.values.first() {
            put(value, &change.path, first.clone());
        }
    }
}

/// The places at which two values differ, as deep as both have them.
fn collect<'j>(
    old: &'j Json,
    new: &'j Json,
    path: &mut Path,
    found: &mut Vec<(Path, &'j Json, &'j Json)>,
) {
    match (old, new) {
        (Json::Object(old), Json::Object(new))
            if new.iter().all(|(key, _)| old.contains_key(key)) =>
        {
            for (key, new) in new.iter() {
                let Some(old) = old.get(key) else { continue };
                path.push(Step::Key(key.to_owned()));
                collect(old, new, path, found);
                path.pop();
            }
        }
        (Json::Array(old), Json::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                path.push(Step::Index(index));
                collect(old, new, path, found);
                path.pop();
            }
        }
        _ if old != new && found.len() <= CHANGES_MAX => found.push((path.clone(), old, new)),
        _ => {}
    }
}

/// Whether what does not hold may be for this place: it is there, above or below.
fn concerns(errors: &HashSet<String>, path: &Path) -> bool {
    let own = pointer(path);
    let is_below = |above: &str, below: &str| {
        below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    errors.iter().any(|error| is_below(error, &own) || is_below(&own, error))
}

fn pointer(path: &Path) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        Step::Key(key) => text + "/" + &key.replace('~', "~0").replace('/', "~1"),
        Step::Index(index) => format!("{text}/{index}"),
    })
}

fn walk<'j>(value: &'j mut Json, steps: &[Step]) -> Option<&'j mut Json> {
    steps.iter().try_fold(value, |value, step| match (value, step) {
        (Json::Object(object), Step::Key(key)) => object.get_mut(key),
        (Json::Array(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    })
}

fn put(value: &mut Json, path: &Path, new: Json) -> bool {
    let Some(place) = walk(value, path) else { return false };
    *place = new;
    true
}

/// Leaves the member out that this place is in, `depth` objects further up.
fn remove(value: &mut Json, path: &Path, depth: usize) {
    let keys = path.iter().enumerate().rev().filter(|(_, step)| matches!(step, Step::Key(_)));
    let Some((at, Step::Key(key))) = keys.clone().nth(depth) else { return };
    if let Some(Json::Object(object)) = path.get(..at).and_then(|steps| walk(value, steps)) {
        object.remove(key);
    }
}

/// What the schema says about a place, from everywhere that says something about it.
fn schemas<'s>(root: &'s Value, path: &Path) -> Vec<&'s Value> {
    let mut found = spread(root, vec![root]);
    for step in path {
        let next = found.iter().flat_map(|schema| below(schema, step)).take(SCHEMAS_MAX).collect();
        found = spread(root, next);
    }
    found
}

fn below<'s>(schema: &'s Value, step: &Step) -> Vec<&'s Value> {
    let named = match step {
        Step::Key(key) => schema
            .get("properties")
            .and_then(|all| all.get(key))
            .or_else(|| schema.get("additionalProperties")),
        Step::Index(index) => schema
            .get("prefixItems")
            .and_then(|items| items.get(index))
            .or_else(|| schema.get("items")),
    };
    named.into_iter().collect()
}

/// These schemas, those that they refer to and those that they are made of.
fn spread<'s>(root: &'s Value, mut found: Vec<&'s Value>) -> Vec<&'s Value> {
    let mut at = 0;
    while let Some(schema) = found.get(at).copied() {
        at += 1;
        if found.len() >= SCHEMAS_MAX {
            break;
        }
        if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
            let target = place.strip_prefix('#').and_then(|place| root.pointer(place));
            found.extend(
                target.filter(|target| !found.iter().any(|one| std::ptr::eq(*one, *target))),
            );
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            found.extend(schema.get(key).and_then(Value::as_array).into_iter().flatten());
        }
    }
    found
}

/// What can stand in the place of a value, the mask first.
fn values(old: &Json, mask: &Json, schemas: &[&Value], is_checked: bool) -> Vec<Json> {
    let own = match old {
        Json::Number(_) => numbers(schemas),
        Json::String(text) => texts(text, mask, schemas),
        Json::Bool(_) => vec![Json::from(false), Json::from(true)],
        Json::Null | Json::Array(_) | Json::Object(_) => Vec::new(),
    };
    if !is_checked {
        // Nobody can say what holds: the kind stays, as far as it can.
        let same = own.into_iter().next().filter(|_| mask.type_name() != old.type_name());
        return vec![same.unwrap_or_else(|| mask.clone())];
    }
    let listed = schemas.iter().flat_map(|schema| {
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        listed.chain(schema.get("const"))
    });
    let listed = listed.take(SCHEMAS_MAX).map(json);
    let mut all = vec![mask.clone()];
    all.extend(own);
    all.extend(listed);
    all.push(Json::Null);
    all
}

fn json(value: &Value) -> Json {
    Json::read(value.to_string().as_bytes()).unwrap_or_default()
}

fn numbers(schemas: &[&Value]) -> Vec<Json> {
    let mut all = vec![Json::from(0)];
    for schema in schemas {
        let bound = |key: &str| schema.get(key).filter(|bound| bound.is_number());
        all.extend(
            ["minimum", "maximum", "multipleOf"].iter().filter_map(|key| bound(key)).map(json),
        );
        let near =
            |key: &str, step: i64| Some(Json::from(bound(key)?.as_i64()?.saturating_add(step)));
        all.extend(near("exclusiveMinimum", 1));
        all.extend(near("exclusiveMaximum", -1));
        // The first multiple that is in reach.
        let reach = || Some((bound("minimum")?.as_i64()?, bound("multipleOf")?.as_i64()?));
        let multiple = reach()
            .filter(|(_, of)| *of > 0)
            .map(|(least, of)| least.saturating_add(of - 1).div_euclid(of).saturating_mul(of));
        all.extend(multiple.map(Json::from));
    }
    all
}

/// What stands for each format that a schema can ask for: nobody's.
const FORMATS: [(&str, &str); 15] = [
    ("date", "1970-01-01"),
    ("date-time", "1970-01-01T00:00:00Z"),
    ("time", "00:00:00Z"),
    ("duration", "PT0S"),
    ("email", "masked@example.invalid"),
    ("idn-email", "masked@example.invalid"),
    ("hostname", "example.invalid"),
    ("idn-hostname", "example.invalid"),
    ("ipv4", "0.0.0.0"),
    ("ipv6", "::"),
    ("uri", "https://example.invalid/"),
    ("uri-reference", "https://example.invalid/"),
    ("iri", "https://example.invalid/"),
    ("uuid", "00000000-0000-0000-0000-000000000000"),
    ("json-pointer", ""),
];

fn texts(old: &str, mask: &Json, schemas: &[&Value]) -> Vec<Json> {
    let mut all: Vec<String> = Vec::new();
    for schema in schemas {
        let format = schema.get("format").and_then(Value::as_str);
        all.extend(format.and_then(|format| {
            let known = FORMATS.iter().find(|(name, _)| *name == format);
            known.map(|(_, text)| (*text).to_owned())
        }));
    }
    let length = old.chars().count();
    // The shape of what was there: digits stay digits and letters letters.
    let shape = |digit: char, small: char, big: char| -> String {
        let one = |c: char| match c {
            '0'..='9' => digit,
            c if c.is_uppercase() => big,
            c if c.is_alphabetic() => small,
            c => c,
        };
        old.chars().map(one).collect()
    };
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let label = mask.as_str().unwrap_or_default();
    for schema in schemas {
        if let Some(most) = schema.get("maxLength").and_then(Value::as_u64) {
            all.push(cut(label, usize::try_from(most).unwrap_or(usize::MAX)));
        }
    }
    all.push("*".repeat(length));
    all.push(shape('0', 'x', 'X'));
    // Where letters are digits of another base, or a digit must not be nought.
    all.push(shape('0', 'a', 'A'));
    all.push(shape('1', 'a', 'A'));
    all.push(String::new());
    all.into_iter().map(Json::from).collect()
}

/// The result of a call as one that failed, with what a client reads of it.
pub(super) fn failed(result: &Object, places: &str, hooks: &str) -> Object {
    let mut failed = result.clone();
    failed.remove("structuredContent");
    failed.insert("isError", true);
    let text = format!(
        "The tool ran. Its structured result is left out: `structuredContent{places}` was masked by {hooks}, and \
         nothing that could stand there instead holds for the tool's schema."
    );
    let block = Object::from_iter([("type", Json::from("text")), ("text", Json::from(text))]);
    let mut blocks = match result.get("content") {
        Some(Json::Array(blocks)) => blocks.clone(),
        _ => Vec::new(),
    };
    blocks.push(block.into());
    failed.insert("content", Json::Array(blocks));
    failed
}

#[cfg(test)]
mod tests {
    use super::fit;
    use tollgate::gate::Json;

    fn json(text: &str) -> Json {
        Json::read(text.as_bytes()).unwrap()
    }

    /// `a` under this schema, masked; what it becomes.
    fn fitted(schema: &str, old: &str, mask: &str) -> Result<String, String> {
        let schema = json(&format!(
            r#"{{"type":"object","properties":{{"a":{schema},"b":{{"type":"integer"}}}},"required":["a","b"],"$defs":{{"card":{{"type":"integer","minimum":5}}}}}}"#
        ));
        let of = |a: &str| json(&format!(r#"{{"a":{a},"b":7}}"#));
        fit(&of(old), &of(mask), Some(&schema)).map(|value| value.get("a").unwrap().text())
    }

    #[test]
    fn in_the_place_of_a_mask_that_does_not_hold_stands_a_value_that_does() {
        const MASK: &str = "\"[CARD]\"";
        for (schema, old, expected) in [
            (r#"{"type":"string"}"#, "\"4111\"", MASK),
            (r#"{"type":"integer"}"#, "4111", "0"),
            (r#"{"type":["integer","string"]}"#, "4111", MASK),
            (r#"{"type":"integer","minimum":1000,"multipleOf":7}"#, "4111", "1001"),
            (r#"{"type":"number","exclusiveMinimum":0}"#, "4111.5", "1"),
            (r##"{"$ref":"#/$defs/card"}"##, "4111", "5"),
            (r#"{"anyOf":[{"type":"null"},{"type":"integer","minimum":3}]}"#, "4111", "3"),
            (
                r#"{"type":"string","pattern":"^[0-9]{4}-[0-9]{4}$"}"#,
                "\"4111-1111\"",
                "\"0000-0000\"",
            ),
            (r#"{"type":"string","pattern":"^[A-Z]{2}[1-9]+$"}"#, "\"DE44\"", "\"AA11\""),
            (r#"{"type":"string","maxLength":3}"#, "\"abc\"", "\"[CA\""),
            (r#"{"type":"string","enum":["red","blue"]}"#, "\"blue\"", "\"red\""),
            (r#"{"type":"array","items":{"type":"integer"}}"#, "[4111,2]", "[0,2]"),
        ] {
            let mask = if old.starts_with('[') { "[\"[CARD]\",2]" } else { MASK };
            assert_eq!(fitted(schema, old, mask).as_deref(), Ok(expected), "{schema}");
        }
    }

    #[test]
    fn a_member_that_need_not_be_there_is_left_out_and_one_that_must_is_named() {
        let schema = |required: &str| {
            json(&format!(
                r#"{{"type":"object","properties":{{"p":{{"type":"object","properties":{{"a/b":{{"type":"string","pattern":"^(?:z!){{3}}$"}},"n":{{"type":"integer"}}}},"required":[{required}]}}}},"required":["p"]}}"#
            ))
        };
        let (old, new) =
            (json(r#"{"p":{"a/b":"z!z!z!","n":1}}"#), json(r#"{"p":{"a/b":"[NAME]","n":1}}"#));
        let fitted = fit(&old, &new, Some(&schema("\"n\""))).unwrap();
        assert_eq!(fitted.text(), r#"{"p":{"n":1}}"#);
        assert_eq!(fit(&old, &new, Some(&schema("\"a/b\""))), Err("/p/a~1b".to_owned()));
    }

    #[test]
    fn without_a_schema_each_value_keeps_its_kind() {
        let (old, new) = (json(r#"{"n":4111,"s":"a"}"#), json(r#"{"n":"[CARD]","s":"[NAME]"}"#));
        assert_eq!(fit(&old, &new, None).unwrap().text(), r#"{"n":0,"s":"[NAME]"}"#);
    }

    #[test]
    fn what_the_server_itself_made_invalid_and_no_hook_changed_is_no_reason_to_change_more() {
        let schema = json(
            r#"{"type":"object","properties":{"a":{"type":"integer"},"s":{"type":"string"}}}"#,
        );
        let (old, new) = (json(r#"{"a":"x","s":"b"}"#), json(r#"{"a":"x","s":"[NAME]"}"#));
        assert_eq!(fit(&old, &new, Some(&schema)).unwrap(), new);
    }
}
