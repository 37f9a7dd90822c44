//! `redact`: masks secrets and personal data in what passes.
//!
//! Every text of the payload's part is looked at: strings, keys, whole numbers that are long enough or
//! stand under a key that names a secret, in results and in error texts alike. What is masked is the
//! view that goes on, never what is stored. A redactor that fails is a fault, and a closed hook then
//! withholds: the original never gets through. Masks do not change when they are masked again.
//!
//! `find` names groups, kinds and rules of the detector (`tollgate-detect`); the other keys say how it
//! looks and what it puts in a datum's place. `lines` masks whole lines that hold a marker, `patterns`
//! what a regular expression finds, with a template. `mobile` is built in, a program can bring others
//! ([`Redactor`]). The session is labelled with the masks that it was shown, for `protect_masks`.
//!
//! ```yaml
//! redact: { lines: SECRET }
//! redact: { find: [secrets, pii], mask: label, masks: { email: hash } }
//! redact: { find: phone, phone_regions: [US, CA], allow: { tools: [contacts_list] } }
//! redact: { patterns: [{ name: ticket, pattern: "TKT-([0-9]{2})[0-9]+", mask: "TKT-$1**" }] }
//! ```

mod config;
mod detecting;
mod exempt;
mod known;
mod lines;
pub(crate) mod looking;
pub(crate) mod masks;
mod ner;
mod pieces;
mod reviewed;

use super::act::{Act, handler_with};
use super::read::{kind_of, read, schema_of};
use super::text::map_texts;
use super::{ActionContext, ActionError, ActionSpec, rewrite};
use config::Config;
use detecting::{Detecting, What};
use exempt::Exempt;
use lines::{MarkedLines, MaskedPattern};
use masks::MaskForm;
use pieces::Anonymous;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tollgate_detect::{Context, NumberMask};
use tollgate_gate::scrub::SCRUBBED;
use tollgate_gate::{
    Found, Handler, HandlerError, Json, Masking, Name, OnFailure, Opinion, Roles, VaultOwner, View,
};

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
/// What is found when a datum could not be put into the vault, and is masked for good.
const NOT_KEPT: &str = "vault_failed";
/// Most rules whose findings one event's record carries.
const FINDINGS_MAX: usize = 64;

/// Finds what must not pass in a text, and masks it.
///
/// The seam for a program's own: [`ActionContext::redactors`] gives them the names by which `find`
/// takes them. It must be pure and inline; masking a masked text must change nothing.
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

    /// The label of a session that was shown its masks, where they can be told from other text.
    fn mark(&self) -> Option<Name> {
        None
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

/// What one event's texts held.
#[derive(Default)]
pub(super) struct Seen {
    found: Vec<Found>,
    labels: Vec<Name>,
}

impl Seen {
    /// Counts a finding.
    fn found(&mut self, new: Found) {
        let same = |known: &&mut Found| known.rule == new.rule && known.dry_run == new.dry_run;
        if let Some(known) = self.found.iter_mut().find(same) {
            known.count = known.count.saturating_add(new.count);
            for print in new.prints {
                // One that is left out is not allowed later: that errs on the closed side.
                if known.prints.len() < Found::PRINTS_MAX && !known.prints.contains(&print) {
                    known.prints.push(print);
                }
            }
        } else if self.found.len() < FINDINGS_MAX {
            self.found.push(new);
        }
    }

    /// Notes a mask that the session is shown.
    fn marked(&mut self, label: Option<Name>) {
        if let Some(label) = label.filter(|label| !self.labels.contains(label)) {
            self.labels.push(label);
        }
    }
}

struct Redact {
    /// Marked lines, then what is built in or brought by the program.
    before: Vec<Arc<dyn Redactor>>,
    detecting: Option<Detecting>,
    patterns: Vec<Arc<dyn Redactor>>,
    exempt: Option<Exempt>,
    numbers: NumberMask,
}

fn compile(value: &Json, context: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let (redact, brought) = redact_of(value, context)?;
    Ok(handler_with(SPEC.name, value, &brought, redact))
}

/// What the action's value names, in the order in which a text goes through it, for a text without an
/// event: `allow` by tool and path, and the tenant, are things of events.
pub(crate) fn redactors_of(
    value: &Json,
    context: &ActionContext,
) -> Result<Vec<Arc<dyn Redactor>>, ActionError> {
    let (redact, _) = redact_of(value, context)?;
    let Redact { mut before, detecting, patterns, .. } = redact;
    if let Some(detecting) = detecting {
        before.push(Arc::new(Anonymous(detecting)));
    }
    before.extend(patterns);
    Ok(before)
}

/// The redaction of a value, and what of it the program brought, in words.
fn redact_of(value: &Json, context: &ActionContext) -> Result<(Redact, String), ActionError> {
    let Json::Object(_) = value else {
        let message = format!("expected an object, found {}", kind_of(value));
        return Err(ActionError::at("", message).remedy("`redact: { find: [secrets, pii] }`"));
    };
    let config: Config = read(value)?;
    let count = config.find.0.len() + config.lines.0.len() + config.patterns.len();
    let count = count + config.custom.len();
    let adds_rule = config.rules.values().any(|rule| rule.enabled == Some(true));
    if count == 0 && !adds_rule {
        let remedy = "name what to `find`, or give `lines`, `patterns` or `custom` rules";
        return Err(ActionError::at("", "nothing to redact").remedy(remedy));
    }
    if count > REDACTORS_MAX {
        return Err(ActionError::at("", format!("more than {REDACTORS_MAX} things to find")));
    }
    let mask = config.mask.as_ref().map(|mask| MaskForm::read(&mask.0));
    let mask = mask.transpose().map_err(|error| error.under("mask"))?;
    let lines_or_patterns = !config.lines.0.is_empty() || !config.patterns.is_empty();
    if mask == Some(MaskForm::Vault) && lines_or_patterns {
        let message = "what `lines` and `patterns` mask is not kept in the vault";
        let error = ActionError::at("mask", message);
        return Err(error.remedy("a hook of their own, or `custom` rules in place of patterns"));
    }
    let text = if let Some(MaskForm::Text(text)) = mask { text } else { Arc::from(SCRUBBED) };
    let mut before: Vec<Arc<dyn Redactor>> = Vec::new();
    if !config.lines.0.is_empty() {
        before.push(Arc::new(MarkedLines::of(config.lines.0.clone(), &text)?));
    }
    let mut brought = String::new();
    let find = found_by(&config, context, &mut before, &mut brought)?;
    let mut patterns: Vec<Arc<dyn Redactor>> = Vec::with_capacity(config.patterns.len());
    for (at, pattern) in config.patterns.iter().enumerate() {
        let pattern = MaskedPattern::of(pattern, &text, context);
        let pattern = pattern.map_err(|error| error.under(&format!("patterns.{at}")))?;
        patterns.push(Arc::new(pattern));
    }
    let redact = Redact {
        before,
        detecting: Detecting::of(&config, &find, context)?,
        patterns,
        exempt: Exempt::of(&config.allow, context)?,
        numbers: detecting::numbers(config.numbers),
    };
    Ok((redact, brought))
}

/// What `find` names: the detector's part, and the redactors of the program or built in.
fn found_by<'c>(
    config: &'c Config,
    context: &ActionContext,
    before: &mut Vec<Arc<dyn Redactor>>,
    brought: &mut String,
) -> Result<Vec<What<'c>>, ActionError> {
    let mut find = Vec::with_capacity(config.find.0.len());
    for (at, name) in config.find.0.iter().enumerate() {
        if let Some(redactor) = context.redactors.get(name.as_str()) {
            brought.push_str(&format!("; {name}: {}", redactor.describe()));
            before.push(Arc::clone(redactor));
        } else if let Some(redactor) = known::find(name) {
            before.push(redactor);
        } else if let Some(what) = What::of(name, &config.custom) {
            find.push(what);
        } else {
            let more = context.redactors.keys().map(|name| &**name);
            let more: Vec<&str> = more.chain(known::NAMES).collect();
            let error = detecting::unknown_name(name, &config.custom, &more);
            return Err(error.under(&format!("find.{at}")));
        }
    }
    Ok(find)
}

impl Act for Redact {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        let Some(part) = view.payload.part() else { return Ok(Opinion::none()) };
        if self.exempt.as_ref().is_some_and(|exempt| exempt.holds(view)) {
            return Ok(Opinion::none());
        }
        ner::begin();
        let detector = self.detecting.as_ref().map(|detecting| detecting.redactor(view));
        let (detector, vault) = detector.transpose()?.unzip();
        let vault = vault.flatten();
        let rollout_by = self.detecting.as_ref().and_then(|detecting| detecting.subject(view));
        let mut seen = Seen::default();
        let masked = map_texts(&part, self.numbers, &mut |key, text| {
            let context = Context { key, rollout_by, ..Context::default() };
            self.redact(detector.as_deref(), text, &context, &mut seen)
        })?;
        if vault.is_some_and(|vault| vault.failed.load(Ordering::Relaxed)) {
            seen.found(Found::of(NOT_KEPT));
        }
        let is_new = |label: &Name| !view.session.has_label(label);
        Ok(Opinion {
            labels: seen.labels.into_iter().filter(is_new).collect(),
            rewrite: masked.map(Arc::new),
            findings: seen.found,
            ..Opinion::default()
        })
    }

    fn masking(&self) -> Option<&dyn Masking> {
        Some(self)
    }
}

impl Masking for Redact {
    fn masked(&self, view: &View<'_>, value: &Json) -> Result<Option<Json>, HandlerError> {
        if self.exempt.as_ref().is_some_and(|exempt| exempt.holds(view)) {
            return Ok(None);
        }
        ner::begin();
        let tenant = VaultOwner::of(&view.event.session).tenant;
        // What no session was shown needs no placeholder: a mask of the vault is a label here.
        let detector = self.detecting.as_ref().map(|detecting| detecting.redactor_of(tenant));
        let detector = detector.transpose().map_err(HandlerError::new)?;
        let rollout_by = self.detecting.as_ref().and_then(|detecting| detecting.subject(view));
        map_texts(value, self.numbers, &mut |key, text| {
            let context = Context { key, rollout_by, ..Context::default() };
            self.redact(detector.as_deref(), text, &context, &mut Seen::default())
        })
    }
}

impl Redact {
    /// One text through all redactors, each on what the last one left.
    fn redact(
        &self,
        detector: Option<&tollgate_detect::Redactor>,
        text: &str,
        context: &Context<'_>,
        seen: &mut Seen,
    ) -> Result<Option<String>, HandlerError> {
        let mut now = Cow::Borrowed(text);
        for redactor in &self.before {
            step(&**redactor, context.key, &mut now, seen)?;
        }
        if let (Some(detecting), Some(redactor)) = (&self.detecting, detector)
            && let Some(masked) = detecting.run(redactor, &now, context, seen)
        {
            now = Cow::Owned(masked);
        }
        for pattern in &self.patterns {
            step(&**pattern, context.key, &mut now, seen)?;
        }
        Ok(if let Cow::Owned(text) = now { Some(text) } else { None })
    }
}

fn step(
    redactor: &dyn Redactor,
    key: Option<&str>,
    now: &mut Cow<'_, str>,
    seen: &mut Seen,
) -> Result<(), HandlerError> {
    let redacted = redactor.redact(key, now).map_err(HandlerError::new)?;
    let Some(redacted) = redacted else { return Ok(()) };
    redacted.findings.into_iter().for_each(|rule| seen.found(Found::of(rule)));
    seen.marked(redactor.mark());
    *now = Cow::Owned(redacted.text);
    Ok(())
}

#[cfg(test)]
mod tests;
