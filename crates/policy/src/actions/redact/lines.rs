//! The two redactors that a policy writes out by itself: marked lines, and patterns with a template.

use super::config::PatternConfig;
use super::masks::mark_of_text;
use super::{RedactError, Redacted, Redactor};
use crate::actions::pattern::Pattern;
use crate::actions::refusal::check_text;
use crate::actions::{ActionContext, ActionError};
use std::borrow::Cow;
use tollgate_gate::Name;
use tollgate_gate::limits::NAME_BYTES_MAX;

/// Masks whole lines that hold a marker; the line's end stays.
pub(super) struct MarkedLines {
    markers: Vec<String>,
    mask: String,
    name: Name,
}

impl MarkedLines {
    pub(super) fn of(markers: Vec<String>, mask: &str) -> Result<MarkedLines, ActionError> {
        for (at, marker) in markers.iter().enumerate() {
            check_text(&format!("lines.{at}"), marker)?;
            if marker.contains(['\n', '\r']) {
                let message = "a marker stands within one line";
                return Err(ActionError::at(format!("lines.{at}"), message));
            }
        }
        Ok(MarkedLines { markers, mask: mask.to_owned(), name: "marked_line".into() })
    }

    fn is_marked(&self, text: &str) -> bool {
        self.markers.iter().any(|marker| text.contains(marker.as_str()))
    }
}
impl Redactor for MarkedLines {
    fn redact(&self, _: Option<&str>, text: &str) -> Result<Option<Redacted>, RedactError> {
        if !self.is_marked(text) {
            return Ok(None);
        }
        let mut out = String::with_capacity(text.len());
        let mut changed = false;
        // A lone carriage return ends a line for some readers; a line that it hides in is masked whole.
        for line in text.split_inclusive('\n') {
            let body = line.trim_end_matches(['\n', '\r']);
            if self.is_marked(body) && body != self.mask {
                changed = true;
                out.push_str(&self.mask);
                out.push_str(line.get(body.len()..).unwrap_or_default());
            } else {
                out.push_str(line);
            }
        }
        let findings = vec![Name::clone(&self.name)];
        Ok(changed.then_some(Redacted { text: out, findings }))
    }

    fn mark(&self) -> Option<Name> {
        mark_of_text(&self.mask)
    }

    fn describe(&self) -> String {
        format!("lines with {:?} as {:?}", self.markers, self.mask)
    }
}

/// Masks what a pattern finds.
pub(super) struct MaskedPattern {
    name: Name,
    pattern: Pattern,
    mask: String,
}

impl MaskedPattern {
    pub(super) fn of(
        config: &PatternConfig,
        mask: &str,
        context: &ActionContext,
    ) -> Result<MaskedPattern, ActionError> {
        let pattern = Pattern::new(&config.pattern, context.patterns);
        let pattern = pattern.map_err(|error| error.under("pattern"))?;
        let name = config.name.as_deref().unwrap_or("pattern");
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(ActionError::at("name", "no name for a finding"));
        }
        let mask = config.mask.as_deref().unwrap_or(mask);
        Ok(MaskedPattern { name: name.into(), pattern, mask: mask.to_owned() })
    }
}

impl Redactor for MaskedPattern {
    fn redact(&self, _: Option<&str>, text: &str) -> Result<Option<Redacted>, RedactError> {
        let regex = self
            .pattern
            .regex()
            .map_err(|error| RedactError { redactor: Name::clone(&self.name), cause: error.0 })?;
        Ok(match regex.replace_all(text, self.mask.as_str()) {
            Cow::Owned(masked) if masked != text => {
                Some(Redacted { text: masked, findings: vec![Name::clone(&self.name)] })
            }
            Cow::Owned(_) | Cow::Borrowed(_) => None,
        })
    }

    fn mark(&self) -> Option<Name> {
        // What groups put in differs from datum to datum.
        if self.mask.contains('$') { None } else { mark_of_text(&self.mask) }
    }

    fn describe(&self) -> String {
        format!("pattern `{}` as {:?}", self.name, self.mask)
    }
}
