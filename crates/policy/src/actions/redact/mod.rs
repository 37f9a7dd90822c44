//! `redact`: masks secrets and personal data in what passes.
//!
//! Every text of the payload's part is looked at: strings, keys, whole numbers that are long enough,
//! in results and in error texts alike. What is masked is the view that goes on, never what is stored.
//! A redactor that fails is a fault, and a closed hook then withholds: the original never gets
//! through. Masks do not change when they are masked again.
//!
//! `lines` masks whole lines that hold a marker, `patterns` what a regular expression finds, `find`
//! names redactors: `mobile` and `email` are built in, a program can bring others ([`Redactor`]).
//!
//! ```yaml
//! redact: { lines: SECRET }
//! redact: { find: [mobile, email] }
//! redact: { patterns: [{ name: ticket, pattern: "TKT-([0-9]{2})[0-9]+", mask: "TKT-$1**" }] }
//! ```

mod known;

use super::act::{Act, handler_with};
use super::pattern::Pattern;
use super::read::{OneOrMany, kind_of, read, schema_of};
use super::refusal::check_text;
use super::text::map_texts;
use super::{ActionContext, ActionError, ActionSpec, rewrite};
use schemars::JsonSchema;
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;
use tollgate_gate::limits::NAME_BYTES_MAX;
use tollgate_gate::scrub::SCRUBBED;
use tollgate_gate::{Handler, HandlerError, Json, Name, OnFailure, Opinion, Roles, View};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "redact",
    summary: "masks secrets and personal data in what passes",
    kinds: rewrite::KINDS,
    roles: Roles::REWRITE,
    on_failure: OnFailure::Closed,
    restricts: true,
    compile,
    schema: schema_of::<Config>,
};

/// Most markers, patterns and redactors of one hook.
const REDACTORS_MAX: usize = 1_000;
/// Most names of findings that one event's record carries.
const FINDINGS_MAX: usize = 64;

/// Finds what must not pass in a text, and masks it.
///
/// The seam for detectors: [`ActionContext::redactors`] gives them the names by which `find` takes
/// them. It must be pure and inline; masking a masked text must change nothing.
pub trait Redactor: Send + Sync {
    /// The text with what was found masked, or `None` when there is nothing to mask. `key` is the
    /// key under which the text stands, where it has one.
    ///
    /// # Errors
    /// [`RedactError`] when it cannot tell; the hook's fault, and by default the event is withheld.
    fn redact(&self, key: Option<&str>, text: &str) -> Result<Option<Redacted>, RedactError>;

    /// The redactor in words, with all that makes it differ from others.
    fn describe(&self) -> String;

    /// The same for a text that arrives in pieces; `None`: it is given whole lines.
    fn stream(&self) -> Result<Option<Box<dyn RedactStream>>, RedactError> {
        Ok(None)
    }
}

/// Redacts a text that arrives in pieces, holding back what is not yet complete. Bytes that are no
/// text stay as they are.
pub trait RedactStream: Send {
    /// Takes the next piece; what may go on.
    ///
    /// # Errors
    /// As [`Redactor::redact`]. Nothing may go on after that.
    fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, RedactError>;

    /// What was held back, at an end or where one has to be made.
    ///
    /// # Errors
    /// As [`RedactStream::push`].
    fn flush(&mut self) -> Result<Vec<u8>, RedactError>;

    /// Whether something is held back that ends with a blank, as a question does that waits.
    fn holds_question(&self) -> bool;
}

/// A text without what must not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text, masked.
    pub text: String,
    /// What was found, by name of its rule, never the datum itself.
    pub findings: Vec<Name>,
}

/// A redactor could not tell. The cause must not quote the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("redactor `{redactor}`: {cause}")]
pub struct RedactError {
    /// Which.
    pub redactor: Name,
    /// Why.
    pub cause: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// What to find, by name: `mobile`, `email`, and what the program brings.
    #[serde(default)]
    find: OneOrMany<String>,
    /// Lines that hold one of these markers are masked whole.
    #[serde(default)]
    lines: OneOrMany<String>,
    /// What a regular expression finds.
    #[serde(default)]
    patterns: Vec<PatternConfig>,
    /// What stands in place of a marked line, and of a pattern that names no mask; `[SECRET]` when
    /// left out.
    mask: Option<String>,
}

/// What a regular expression finds, and what stands in its place.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PatternConfig {
    /// What the finding is called in the record.
    name: Option<String>,
    /// A regular expression, in the syntax of Rust's `regex` (no look-around, linear time).
    pattern: String,
    /// What stands in its place; `$1` or `${name}` is a group of the pattern.
    mask: Option<String>,
}

struct Redact {
    redactors: Vec<Arc<dyn Redactor>>,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let (redactors, brought) = redactors_of(value, context)?;
    Ok(handler_with(SPEC.name, value, &brought, Redact { redactors }))
}

/// What the action's value names, in order, and what of it the program brought, in words.
pub(crate) fn redactors_of(
    value: &Json,
    context: &ActionContext,
) -> Result<(Vec<Arc<dyn Redactor>>, String), ActionError> {
    let Json::Object(_) = value else {
        let message = format!("expected an object, found {}", kind_of(value));
        return Err(ActionError::at("", message).remedy("`redact: { find: [mobile, email] }`"));
    };
    let config: Config = read(value)?;
    let count = config.find.0.len() + config.lines.0.len() + config.patterns.len();
    if count == 0 {
        let remedy = "name what to `find`, or give `lines` or `patterns`";
        return Err(ActionError::at("", "nothing to redact").remedy(remedy));
    }
    if count > REDACTORS_MAX {
        return Err(ActionError::at("", format!("more than {REDACTORS_MAX} things to find")));
    }
    let mask = config.mask.as_deref().unwrap_or(SCRUBBED);
    check_text("mask", mask)?;
    let mut redactors: Vec<Arc<dyn Redactor>> = Vec::new();
    if !config.lines.0.is_empty() {
        redactors.push(Arc::new(MarkedLines::of(config.lines.0, mask)?));
    }
    let mut brought = String::new();
    for (at, name) in config.find.0.iter().enumerate() {
        let redactor = find(name, context).map_err(|error| error.under(&format!("find.{at}")))?;
        if context.redactors.contains_key(name.as_str()) {
            brought.push_str(&format!("; {name}: {}", redactor.describe()));
        }
        redactors.push(redactor);
    }
    for (at, config) in config.patterns.iter().enumerate() {
        let pattern = MaskedPattern::of(config, mask, context);
        redactors.push(Arc::new(pattern.map_err(|e| e.under(&format!("patterns.{at}")))?));
    }
    Ok((redactors, brought))
}

/// The redactor of this name: of the program, or built in.
fn find(name: &str, context: &ActionContext) -> Result<Arc<dyn Redactor>, ActionError> {
    if let Some(redactor) = context.redactors.get(name) {
        return Ok(Arc::clone(redactor));
    }
    known::find(name).ok_or_else(|| {
        let brought = context.redactors.keys().map(|name| &**name);
        let names: Vec<&str> = known::NAMES.into_iter().chain(brought).collect();
        super::read::unknown("finding", name, &names)
    })
}

impl Act for Redact {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let Some(part) = view.payload.part() else { return Ok(Opinion::none()) };
        let mut findings: Vec<Name> = Vec::new();
        let masked = map_texts(&part, &mut |key, text| self.redact(key, text, &mut findings))?;
        Ok(match masked {
            Some(part) => Opinion { rewrite: Some(Arc::new(part)), findings, ..Opinion::default() },
            None => Opinion::none(),
        })
    }
}

impl Redact {
    /// One text through all redactors, each on what the last one left.
    fn redact(
        &self,
        key: Option<&str>,
        text: &str,
        findings: &mut Vec<Name>,
    ) -> Result<Option<String>, HandlerError> {
        let mut now = Cow::Borrowed(text);
        for redactor in &self.redactors {
            let redacted = redactor.redact(key, &now).map_err(HandlerError::new)?;
            let Some(redacted) = redacted else { continue };
            for finding in redacted.findings {
                if findings.len() < FINDINGS_MAX && !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
            now = Cow::Owned(redacted.text);
        }
        Ok(if let Cow::Owned(text) = now { Some(text) } else { None })
    }
}

/// Masks whole lines that hold a marker; the line's end stays.
struct MarkedLines {
    markers: Vec<String>,
    mask: String,
    name: Name,
}

impl MarkedLines {
    fn of(markers: Vec<String>, mask: &str) -> Result<MarkedLines, ActionError> {
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

    fn describe(&self) -> String {
        format!("lines with {:?} as {:?}", self.markers, self.mask)
    }
}

/// Masks what a pattern finds.
struct MaskedPattern {
    name: Name,
    pattern: Pattern,
    mask: String,
}

impl MaskedPattern {
    fn of(
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

    fn describe(&self) -> String {
        format!("pattern `{}` as {:?}", self.name, self.mask)
    }
}

#[cfg(test)]
mod tests;
