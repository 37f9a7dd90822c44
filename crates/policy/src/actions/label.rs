//! `label`: marks the session.
//!
//! Labels join upwards to the sessions that started this one and never go away by themselves. Other
//! hooks match them: after a read of personal data no outbound mail.
//!
//! ```yaml
//! label: saw_personal_data
//! label: [saw_personal_data, tainted]
//! ```

use super::act::{Act, handler};
use super::read::{OneOrMany, read, schema_of};
use super::{ActionContext, ActionError, ActionSpec};
use std::sync::Arc;
use tollgate_gate::limits::{LABELS_MAX, NAME_BYTES_MAX};
use tollgate_gate::{Handler, HandlerError, Json, KindSet, Name, OnFailure, Opinion, Roles, View};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "label",
    summary: "marks the session with labels that other hooks match",
    kinds: KindSet::ALL,
    roles: Roles::WATCH,
    on_failure: OnFailure::Open,
    // A label may be what an `allow` of another layer waits for.
    restricts: false,
    compile,
    schema: schema_of::<OneOrMany<String>>,
};

struct Label(Vec<Name>);

fn compile(value: &Json, _: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let labels: OneOrMany<String> = read(value)?;
    if labels.0.is_empty() {
        return Err(ActionError::at("", "no label"));
    }
    if labels.0.len() > LABELS_MAX {
        return Err(ActionError::at("", format!("more than {LABELS_MAX} labels")));
    }
    for (at, label) in labels.0.iter().enumerate() {
        check_label(label).map_err(|error| error.under(&at.to_string()))?;
    }
    Ok(handler(SPEC.name, value, Label(labels.0.into_iter().map(Name::from).collect())))
}

/// Checks that a text can be a label.
pub(super) fn check_label(label: &str) -> Result<(), ActionError> {
    if label.trim().is_empty() || label.len() > NAME_BYTES_MAX {
        let message = format!("a label is a word of at most {NAME_BYTES_MAX} bytes");
        return Err(ActionError::at("", message));
    }
    Ok(())
}

impl Act for Label {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        if self.0.iter().all(|label| view.session.has_label(label)) {
            return Ok(Opinion::none());
        }
        Ok(Opinion::labels(self.0.iter().cloned()))
    }
}
