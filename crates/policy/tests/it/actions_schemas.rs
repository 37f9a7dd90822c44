//! The schema of an action and its reader say the same.

use super::actions_rig::json;
use tollgate_gate::EventKind;
use tollgate_policy::actions::{self, ActionContext};

/// Values that are right, for every action.
const RIGHT: [(&str, &[&str]); 17] = [
    ("allow", &["true", r#"{"skip_host_prompt":true}"#]),
    ("deny", &[r#""no""#, r#"{"code":"X","reason":"no","remedy":"ask"}"#]),
    ("ask", &["true", r#""sure?""#, r#"{"who":["a","b"],"expires":"15m"}"#, r#"{"who":"a"}"#]),
    ("abort", &[r#""no""#, r#"{"code":"COST_LIMIT","reason":"too much"}"#]),
    ("respond", &["1", r#"{"content":[]}"#, r#"{"reply":"a","tool_calls":[]}"#]),
    (
        "rewrite",
        &[
            r#"{"n":{"default":10,"max":10},"merge":{"a":null}}"#,
            r#"{"a.b":{"replace":{"pattern":"x","with":"y"}},"c":{"replace":[]},"d":{"set":null}}"#,
            r#"{"a":{"one_of":[1,"b"]},"b":{"remove":true},"c":{"prefix":"box"}}"#,
        ],
    ),
    (
        "redact",
        &[
            r#"{"find":"mobile"}"#,
            r#"{"find":["email"],"lines":["SECRET"],"mask":"-","patterns":[{"pattern":"a"}]}"#,
            r#"{"find":["secrets","pii"],"mask":{"stars":{"first":2}},"masks":{"email":"label","iban":{"text":"x"}}}"#,
            r#"{"find":"pii","threshold":0.4,"thresholds":{"email":1},"numbers":"zero","phone_regions":"US"}"#,
            r#"{"find":"pii","rules":{"email":{"enabled":false,"dry_run":true,"rollout":5,"threshold":0.1,"severity":"low"}},"rollout_by":"user"}"#,
            r#"{"custom":[{"id":"a","pattern":"A[0-9]+","keywords":"abc","validator":"luhn","entropy":0.5,"score":1,"severity":"high","kind":"email","mask":"label","match":[],"no_match":"x"}]}"#,
            r#"{"find":"pii","allow":{"values":"a","patterns":["b"],"tools":"c*"}}"#,
        ],
    ),
    (
        "protect_masks",
        &["true", "{}", r#"{"allow":["[EMAIL]"],"code":"X","reason":"no","remedy":"ask"}"#],
    ),
    (
        "limit",
        &[
            r#"{"rate":"30/min","per":["session","tool"]}"#,
            r#"{"count":3,"counted":"attempts","per":"user"}"#,
            r#"{"concurrency":4,"tokens":"100/day","cost":2.5}"#,
            r#"{"tokens":1000,"cost":{"max":"2.50","window":"1h","estimate":0.05}}"#,
        ],
    ),
    ("breaker", &[r#"{"failures":5,"window":"1m","open_for":"30s","per":"tool"}"#]),
    ("label", &[r#""a""#, r#"["a","b"]"#]),
    ("append", &[r#""a""#, r#"{"text":"a"}"#]),
    (
        "permission",
        &[r#"{"tools":{"a":"allow"},"otherwise":"ask","protect":[{"paths":"x","tools":["a"]}]}"#],
    ),
    ("keywords", &[r#""a""#, r#"["a"]"#, r#"{"words":"a","then":"abort","code":"X"}"#]),
    ("call_limit", &[r#"{"model_calls":10}"#, r#"{"cost":5.00,"tokens":"2_000","then":"deny"}"#]),
    ("loop_guard", &[r#"{"refused":3,"in_a_row":5,"recent":7,"then":"deny"}"#]),
    (
        "usage",
        &["{}", r#"{"prices":{"m":{"input":1,"output":"2.5"}},"label":{"name":"a","cost":1}}"#],
    ),
];

/// Values that are wrong for their shape, for every action that has one.
const WRONG: [(&str, &[&str]); 16] = [
    ("allow", &[r#"{"skip":true}"#, "1"]),
    ("deny", &[r#"{"reson":"no"}"#, "1"]),
    ("ask", &[r#"{"whom":"a"}"#, r#"{"who":1}"#]),
    ("abort", &[r#"{"hide":true}"#, "true"]),
    ("rewrite", &[r#"{"n":{"mx":1}}"#, r#"{"n":1}"#, r#"{"c":{"replace":{"with":"y"}}}"#]),
    (
        "redact",
        &[
            r#"{"finds":"mobile"}"#,
            r#"{"patterns":[{"mask":"a"}]}"#,
            r#"{"find":"pii","mask":{"stars":{"frist":2}}}"#,
            r#"{"find":"pii","mask":1}"#,
            r#"{"find":"pii","threshold":2}"#,
            r#"{"find":"pii","numbers":"one"}"#,
            r#"{"find":"pii","rules":{"email":{"severity":"bad"}}}"#,
            r#"{"custom":[{"id":"a"}]}"#,
            r#"{"find":"pii","allow":{"value":"a"}}"#,
            r#"{"find":"person","ner":{}}"#,
        ],
    ),
    ("protect_masks", &["1", r#"{"alow":[]}"#]),
    ("limit", &[r#"{"rates":"1/s"}"#, r#"{"rate":1}"#, r#"{"count":1,"per":"world"}"#]),
    ("breaker", &[r#"{"failures":5}"#]),
    ("label", &["1", "[1]"]),
    ("append", &["1", r#"{"text":1}"#]),
    ("permission", &[r#"{"otherwise":"maybe"}"#, r#"{"protect":[{"tools":"a"}]}"#]),
    ("keywords", &["1", r#"{"word":"a"}"#]),
    ("call_limit", &[r#"{"model_calls":-1}"#, r#"{"then":"stop"}"#]),
    ("loop_guard", &[r#"{"refuse":3}"#, r#"{"refused":"3"}"#]),
    ("usage", &[r#"{"price":{}}"#, r#"{"label":{"cost":1}}"#]),
];

fn check(action: &str, value: &str, is_right: bool) {
    let spec = actions::find(action).unwrap();
    let value = json(value);
    let kind = match spec.kinds.contains(EventKind::PreTool) {
        true => EventKind::PreTool,
        false => spec.kinds.iter().next().unwrap(),
    };
    let compiled = (spec.compile)(&value, &ActionContext::new("h", kind));
    assert_eq!(compiled.is_ok(), is_right, "{action}: {value}: {:?}", compiled.err());
    let schema = jsonschema::validator_for(&(spec.schema)()).unwrap();
    let looked_at = serde_json::Value::from(&value);
    assert_eq!(schema.is_valid(&looked_at), is_right, "schema of {action}: {value}");
}

#[test]
fn what_is_right_is_right_for_schema_and_reader_alike() {
    assert_eq!(RIGHT.len(), actions::table().len());
    for (action, values) in RIGHT {
        values.iter().for_each(|value| check(action, value, true));
    }
}

#[test]
fn what_is_wrong_is_wrong_for_schema_and_reader_alike() {
    for (action, values) in WRONG {
        values.iter().for_each(|value| check(action, value, false));
    }
}

#[test]
fn every_schema_names_its_dialect_or_is_open() {
    for spec in actions::table() {
        let schema = (spec.schema)();
        let dialect = schema.get("$schema").and_then(|dialect| dialect.as_str());
        assert!(schema.is_boolean() || dialect.is_some_and(|d| d.contains("2020-12")), "{schema}");
    }
}
