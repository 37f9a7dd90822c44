//! Policies that ask for a model of names, with a real one: `cargo xtask ner` fetches it and runs this.

use crate::masks::{decide, try_open};
use std::path::PathBuf;

/// The folder of a fetched model, as a policy names it.
fn folder(model: &str) -> String {
    let models = std::env::var_os("TOLLGATE_NER_MODELS");
    let Some(models) = models else { panic!("`cargo xtask ner` says where the models are") };
    PathBuf::from(models).join(model).canonicalize().unwrap().display().to_string()
}

fn policy(model: &str) -> String {
    format!(
        "version: 1
hooks:
  - name: names
    on: [after_tool, memory_load]
    redact: {{ find: [person], mask: label, ner: {{ model: {model:?}, time: 60s }} }}
"
    )
}

#[test]
fn names_without_any_cue_are_masked_by_the_policy_that_asks_for_a_model() {
    let tollgate = try_open(&policy(&folder("rampart"))).unwrap();
    let ended = r#"{"tool":"read","arguments":{},"result":{"ok":true,"content":{"note":"Peter Hansen wrote to Julia Becker about the invoice.","n":1}}}"#;
    let decision = decide(&tollgate, "s", "post_tool", ended);
    let text = serde_json::to_string(&decision).unwrap();
    assert!(text.contains("[PERSON] wrote to [PERSON] about the invoice."), "{text}");
    assert!(text.contains("person-model"), "{text}");
    let chinese = try_open(&policy(&folder("lac"))).unwrap();
    let memory = r#"{"memory":"昨天王小明和李建国在会议室里讨论了合同。"}"#;
    let text = serde_json::to_string(&decide(&chinese, "s", "memory_load", memory)).unwrap();
    assert!(text.contains("[PERSON]") && !text.contains("李建国"), "{text}");
}

#[test]
fn a_folder_without_a_model_is_an_error_at_load() {
    let error = |model: &str| try_open(&policy(model)).err().unwrap().to_string();
    assert!(error("/no/model").contains("there is no `/no/model`"), "{}", error("/no/model"));
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().display().to_string();
    assert!(error(&empty).contains("ner.model") || error(&empty).contains("there is no"));
    let broken = tempfile::tempdir().unwrap();
    for name in ["config.json", "tokenizer.json", "model.onnx"] {
        std::fs::write(broken.path().join(name), "{").unwrap();
    }
    let broken = broken.path().display().to_string();
    assert!(error(&broken).contains("cannot be used"), "{}", error(&broken));
}
