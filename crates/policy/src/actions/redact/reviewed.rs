//! What a `redact` leaves alone because a person said that it was wrong to find it.
//!
//! A datum is known again by the keyed fingerprint that its finding left in the record. It is that of the
//! hook, the rule and the whole datum: another value, another rule or another hook masks as before.

use super::config::AllowConfig;
use crate::actions::{ActionContext, ActionError};
use crate::detection::Reviews;
use std::sync::Arc;
use tollgate_detect::AllowWith;
use tollgate_gate::Name;

/// What people said of one hook's findings.
pub(super) struct Reviewed {
    hook: Name,
    reviews: Arc<dyn Reviews>,
}

impl Reviewed {
    /// `None` when the configuration does not ask.
    pub(super) fn of(
        allow: &AllowConfig,
        context: &ActionContext,
    ) -> Result<Option<Reviewed>, ActionError> {
        if !allow.reviewed {
            return Ok(None);
        }
        let Some(reviews) = &context.sources.reviews else {
            let error = ActionError::at("allow.reviewed", "nobody's reviews are known here");
            return Err(error.remedy("say it in the managed policy or in yours"));
        };
        Ok(Some(Reviewed { hook: Name::clone(&context.hook), reviews: Arc::clone(reviews) }))
    }

    /// The fingerprint of a datum, for the record.
    pub(super) fn print(&self, rule: &str, datum: &str) -> Option<Name> {
        self.reviews.print(rule, datum).map(Name::from)
    }
}

impl std::fmt::Debug for Reviewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reviewed").field("hook", &self.hook).finish_non_exhaustive()
    }
}

impl AllowWith for Reviewed {
    fn exempts(&self, rule: &str, datum: &str) -> bool {
        let print = self.reviews.print(rule, datum);
        print.is_some_and(|print| self.reviews.is_false(&self.hook, rule, &print))
    }
}
