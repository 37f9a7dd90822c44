//! The detector over a text that has no event: what a command prints while it runs.
//!
//! Nobody's tenant is known there, so a keyed hash is that of the empty one; rules that are rolled out
//! to a share are in effect. A text that could not be looked at wholly is an error, not a mask.

use super::detecting::Detecting;
use super::{RedactError, RedactStream, Redacted, Redactor, ner};
use tollgate_detect::{Context, Released, StreamFormat, StreamRedactor};

/// What its errors call it.
const NAME: &str = "detector";

/// A detector without an event.
pub(super) struct Anonymous(pub(super) Detecting);

fn failed(cause: impl std::fmt::Display) -> RedactError {
    RedactError { redactor: NAME.into(), cause: cause.to_string() }
}

impl Redactor for Anonymous {
    fn redact(&self, key: Option<&str>, text: &str) -> Result<Option<Redacted>, RedactError> {
        ner::begin();
        let redactor = self.0.redactor_of("").map_err(failed)?;
        let out = redactor.redact(text, &Context { key, ..Context::default() });
        if let Some(cause) = out.incomplete {
            return Err(failed(cause));
        }
        let findings = out.findings.iter().map(|finding| finding.rule.as_str().into()).collect();
        Ok(out.text.map(|text| Redacted { text, findings }))
    }

    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn stream(&self) -> Result<Option<Box<dyn RedactStream>>, RedactError> {
        let redactor = self.0.redactor_of("").map_err(failed)?;
        let stream = redactor.stream(StreamFormat::Text, &Context::default());
        Ok(Some(Box::new(DetectStream(stream))))
    }
}

/// The detector's own windows over a stream.
struct DetectStream(StreamRedactor);

fn checked(released: Released) -> Result<Vec<u8>, RedactError> {
    match released.incomplete {
        None => Ok(released.bytes),
        Some(cause) => Err(failed(cause)),
    }
}

impl RedactStream for DetectStream {
    fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, RedactError> {
        ner::begin();
        checked(self.0.push(piece))
    }

    fn flush(&mut self) -> Result<Vec<u8>, RedactError> {
        ner::begin();
        checked(self.0.flush())
    }

    fn holds_question(&self) -> bool {
        self.0.held_ends_blank()
    }
}
