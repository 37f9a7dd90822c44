//! A folder that holds no model is refused by name.

use std::fs;
use tollgate_ner::{Model, OpenError};

#[test]
fn a_folder_without_a_whole_model_is_refused_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let missing = |name: &str| OpenError::Missing { path: path(name) };
    let error = || Model::open(folder.path()).unwrap_err();
    assert_eq!(Model::open(&path("nowhere")).unwrap_err(), missing("nowhere"));
    assert_eq!(error(), missing("config.json"));
    fs::write(path("config.json"), r#"{"id2label": {"0": "O", "1": "B-PHONE"}}"#).unwrap();
    assert!(error().to_string().ends_with("none of its labels is about a name"), "{}", error());
    fs::write(path("config.json"), r#"{"id2label": {"0": "O", "1": "B-PER"}}"#).unwrap();
    assert_eq!(error(), missing("tokenizer.json"));
    fs::write(path("tokenizer.json"), r#"{"model": {"type": "Unigram"}}"#).unwrap();
    assert!(error().to_string().contains("only WordPiece is known"), "{}", error());
    let tokenizer = r#"{"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}}}"#;
    fs::write(path("tokenizer.json"), tokenizer).unwrap();
    assert_eq!(error(), missing("model.onnx"));
    fs::write(path("model.onnx"), "no network").unwrap();
    assert!(matches!(error(), OpenError::Unusable { path: at, .. } if at == path("model.onnx")));
    fs::write(path("second.onnx"), "").unwrap();
    assert!(error().to_string().contains("several .onnx files"), "{}", error());
}
