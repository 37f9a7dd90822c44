//! A mask never breaks JSON.

use std::sync::Arc;

use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};
use tollgate_detect::{Context, Detector, NumberMask, Redactor, rules};

fn redactor() -> Redactor {
    Redactor::new(Arc::new(Detector::builder().build().unwrap()))
}

fn redact(text: &str) -> String {
    redactor().redact(text, &Context::default()).text.unwrap_or_else(|| text.to_owned())
}

#[test]
fn values_are_masked_in_place_and_everything_else_stays() {
    for (text, expected) in [
        (r#"{"a" : "x\"y a@b.io\n", "n":1.50}"#, r#"{"a" : "x\"y [EMAIL]\n", "n":1.50}"#),
        (r#"{"phone":13812345678,"on":true}"#, r#"{"phone":"[PHONE]","on":true}"#),
        (r#"{"password":"a\"b\\c1!"}"#, r#"{"password":"[PASSWORD]"}"#),
        (r#"{"a@b.io":1,"c@d.io":2}"#, r#"{"[EMAIL]":1,"[EMAIL]#2":2}"#),
        (r#"["password","hunter2!"]"#, r#"["password","[PASSWORD]"]"#),
        (
            r#"[{"name":"password","value":"hunter2!"}]"#,
            r#"[{"name":"password","value":"[PASSWORD]"}]"#,
        ),
        (
            r#"[{"value":"hunter2!","name":"password"}]"#,
            r#"[{"value":"[PASSWORD]","name":"password"}]"#,
        ),
        (r#"{"tel":"\u0031\u0033812345678"}"#, r#"{"tel":"[PHONE]"}"#),
        (
            r#"{"x":"{\"password\":\"hunter2!\",\"phone\":13812345678}"}"#,
            r#"{"x":"{\"password\":\"[PASSWORD]\",\"phone\":\"[PHONE]\"}"}"#,
        ),
        (
            "{\"a\":1}\n{\"e\":\"a@b.io\"}\nnot json a@b.io\n",
            "{\"a\":1}\n{\"e\":\"[EMAIL]\"}\nnot json [EMAIL]\n",
        ),
        (
            r#"{"broken": "a@b.io", "phone": 13812345678, "#,
            r#"{"broken": "[EMAIL]", "phone": "[PHONE]", "#,
        ),
    ] {
        assert_eq!(redact(text), expected, "{text}");
    }
}

#[test]
fn a_number_stays_a_number_where_the_schema_wants_one() {
    let redactor = redactor().numbers(NumberMask::Zero);
    let out = redactor.redact(r#"{"phone":13812345678}"#, &Context::default());
    assert_eq!(out.text.as_deref(), Some(r#"{"phone":0}"#));
}

#[test]
fn offsets_are_those_of_the_text_given() {
    let text = "{\"k\":\"\\u00e9\\n13812345678\",\n\"m\":\"a@b.io\"}";
    let found = redactor().redact(text, &Context::default()).findings;
    let data: Vec<(&str, usize)> = found.iter().map(|f| (&text[f.range()], f.line)).collect();
    assert_eq!(data, [("13812345678", 1), ("a@b.io", 2)]);
}

#[test]
fn a_tree_is_redacted_leaf_by_leaf_with_its_keys() {
    let mut tree = json!({"user": {"password": "hunter2!", "note": "fine", "ids": ["a@b.io", 13812345678u64]}});
    let masked = redactor().redact_value(&mut tree, &Context::default());
    assert_eq!(masked, 3);
    assert_eq!(
        tree,
        json!({"user": {"password": "[PASSWORD]", "note": "fine", "ids": ["[EMAIL]", "[PHONE]"]}})
    );
}

fn tree() -> impl Strategy<Value = Value> {
    let data: Vec<String> =
        rules().flat_map(|rule| rule.hits.iter().map(move |hit| rule.example(hit, 3))).collect();
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        (0..data.len()).prop_map(move |index| Value::from(data[index].clone())),
        prop_oneof![
            13_000_000_000u64..14_000_000_000u64,
            4_000_000_000_000_000u64..4_999_999_999_999_999u64
        ]
        .prop_map(Value::from),
    ];
    let keys = prop_oneof![
        prop::sample::select(vec!["password", "token", "name", "value", "phone", "email", "key"])
            .prop_map(str::to_owned),
        any::<String>(),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner.clone()), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn valid_json_in_valid_json_out(tree in tree(), pretty in any::<bool>()) {
        let redactor = redactor();
        // A bare scalar is indistinguishable from plain text, and is read as such.
        let tree = if tree.is_array() || tree.is_object() { tree } else { json!([tree]) };
        let text = if pretty { serde_json::to_string_pretty(&tree).unwrap() } else { tree.to_string() };
        for redactor in [redactor.clone(), redactor.numbers(NumberMask::Zero)] {
            let out = redactor.redact(&text, &Context::default());
            let masked = out.text.as_deref().unwrap_or(&text);
            let parsed = serde_json::from_str::<Value>(masked);
            proptest::prop_assert!(parsed.is_ok(), "{} became {}", text, masked);
            // Masking a masked text changes nothing.
            let again = redactor.redact(masked, &Context::default());
            proptest::prop_assert_eq!(again.text.as_deref().unwrap_or(masked), masked, "{}", text);
        }
    }
}

#[test]
fn no_two_keys_become_the_same_also_beside_one_that_was_a_mask_already() {
    let redactor = Redactor::new(Arc::new(Detector::builder().build().unwrap()));
    let text = r#"{"[EMAIL]": 1, "a@corp.io": 2, "b@corp.io": 3, "[EMAIL]#2": 4}"#;
    let out = redactor.redact(text, &Context::default()).text.unwrap();
    let keys: Vec<&str> = out.split('"').skip(1).step_by(2).collect();
    let mut different = keys.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(keys.len(), different.len(), "{out}");
    assert_eq!(keys.len(), 4);
}

#[test]
fn a_masked_number_takes_its_fraction_and_exponent_along() {
    for (text, expected) in [
        (r#"{"card": 4111111111111111.0}"#, r#"{"card": "[CARD]"}"#),
        (r#"{"card": 4.111111111111111e15}"#, r#"{"card": "[CARD]"}"#),
        (r#"{"phone": 1.3812345678E+10}"#, r#"{"phone": "[PHONE]"}"#),
        (r#"{"x": 4.111111111111112e15}"#, r#"{"x": 4.111111111111112e15}"#),
        (r#"{"x": 1.0e400, "y": 1e-7, "z": 1733011200.123}"#, ""),
    ] {
        let expected = if expected.is_empty() { text } else { expected };
        assert_eq!(redact(text), expected);
    }
    // As plain text, too, the document stays one.
    let redacted = redactor().redact_plain("{\"card\": 4111111111111111.00 }", &Context::default());
    assert_eq!(redacted.text.as_deref(), Some("{\"card\": \"[CARD]\" }"));
}

#[test]
fn a_variable_that_was_masked_is_no_new_datum_under_the_key_of_a_password() {
    let redactor = redactor();
    for text in [r#"{"password":["OP_TOKEN=[SECRET]"]}"#, r#"{"password":"OP_TOKEN=[SECRET]"}"#] {
        assert_eq!(redactor.redact(text, &Context::default()).text, None, "{text}");
    }
    let text = r#"{"password":"hunter2!=[SECRET]"}"#;
    assert!(redactor.redact(text, &Context::default()).text.is_some());
}
