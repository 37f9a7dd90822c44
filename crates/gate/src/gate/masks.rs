//! What records leave out besides secrets: what hooks mask.
//!
//! A hook that masks data in an event masks them in its records too, whether or not the chain came to it: a
//! call that is refused first is written down as the hook would have let it through, and what was asked for as
//! well as what ran. Arguments are those of a call's before-event, whichever of its events the record is about.
//!
//! Hooks that ran have looked at the payload already, so a call that nothing was masked in needs no second look. In doubt (a matcher
//! or a handler that cannot tell) the record shows nothing. A hook that is dry or switched off masks nothing.

use super::Gate;
use crate::clock::Timestamp;
use crate::decision::Decision;
use crate::event::Event;
use crate::hook::{Hook, View};
use crate::json::Json;
use crate::kind::EventKind;
use crate::matcher::Subject;
use crate::payload::ToolCall;
use crate::record::ShownArguments;
use crate::ruleset::Ruleset;
use crate::state::SessionView;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What stands in a record for a value that could not be looked at.
const UNSHOWN: &str = "[UNSHOWN]";

/// The hooks that mask something in an event.
pub(super) struct Masks<'a> {
    hooks: Vec<&'a Hook>,
    event: &'a Event,
    session: &'a SessionView,
    now: Timestamp,
}

impl Gate {
    /// What hooks mask in this event's records.
    pub(super) fn masks<'a>(
        &self,
        ruleset: &'a Ruleset,
        event: &'a Event,
        session: &'a SessionView,
    ) -> Masks<'a> {
        let mut masks = Masks { hooks: Vec::new(), event, session, now: event.at };
        // Most policies mask nothing at most kinds: then no clock is read either.
        if !ruleset.has_masking(event.kind()) {
            return masks;
        }
        masks.now = self.clock.now();
        let subject = Subject { event, payload: &event.payload, session };
        let concerns = |hook: &Hook| {
            let answer = catch_unwind(AssertUnwindSafe(|| hook.matcher.matches(&subject)));
            !matches!(answer, Ok(Ok(false)))
        };
        let candidates = ruleset.candidates(event, &event.payload);
        let hooks = candidates.iter().filter_map(|place| ruleset.placed().get(*place as usize));
        let hooks = hooks.map(|placed| &*placed.hook);
        let masking = hooks.filter(|hook| hook.handler.masking().is_some());
        masks.hooks = masking.filter(|hook| self.acts(hook, event) && concerns(hook)).collect();
        masks
    }

    /// The arguments of a call that a record of its end shows, where no record of its decision has shown them.
    pub(super) fn masked_as_asked(
        &self,
        ruleset: &Ruleset,
        ended: &Event,
        session: &SessionView,
        shown: ShownArguments,
    ) -> ShownArguments {
        let Some(call) = ended.payload.tool_call() else { return shown };
        if !ruleset.has_masking(EventKind::PreTool) {
            return shown;
        }
        let mut asked = Event::new(Arc::clone(&ended.session), ToolCall::clone(call), ended.at);
        asked.tags.clone_from(&ended.tags);
        self.masks(ruleset, &asked, session).all(shown)
    }
}

impl Masks<'_> {
    /// The arguments as the record of a decision shows them.
    pub(super) fn arguments(&self, shown: ShownArguments, decision: &Decision) -> ShownArguments {
        if self.hooks.is_empty() || shown.asked.is_none() {
            return shown;
        }
        let ran = |hook: &&Hook| {
            let mut casts = decision.votes.iter().filter(|cast| !cast.judged_again);
            let cast = casts.find(|cast| cast.hook == hook.name);
            cast.is_some_and(|cast| cast.fault.is_none() && !cast.dry_run)
        };
        if !self.hooks.iter().all(ran) {
            return self.all(shown);
        }
        // What ran was seen by all of them, and so was what was asked, if nothing was rewritten.
        match (&shown.asked, &shown.ran) {
            (Some(asked), Some(_)) => ShownArguments { asked: Some(self.json(asked)), ..shown },
            (_, _) => shown,
        }
    }

    fn all(&self, shown: ShownArguments) -> ShownArguments {
        let masked = |value: Option<Arc<Json>>| value.map(|value| self.json(&value));
        ShownArguments { asked: masked(shown.asked), ran: masked(shown.ran), ..shown }
    }

    /// A text of the event, masked.
    pub(super) fn text(&self, text: Arc<str>) -> Arc<str> {
        if self.hooks.is_empty() {
            return text;
        }
        let masked = self.json(&Arc::new(Json::from(&*text)));
        masked.as_str().map_or(text, Arc::from)
    }

    fn json(&self, value: &Arc<Json>) -> Arc<Json> {
        let payload = &self.event.payload;
        let view = View {
            event: self.event,
            payload,
            original: payload,
            session: self.session,
            votes: &[],
            now: self.now,
        };
        let mut now = Arc::clone(value);
        for masking in self.hooks.iter().filter_map(|hook| hook.handler.masking()) {
            match catch_unwind(AssertUnwindSafe(|| masking.masked(&view, &now))) {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(masked))) => now = Arc::new(masked),
                Ok(Err(_)) | Err(_) => return Arc::new(Json::from(UNSHOWN)),
            }
        }
        now
    }
}
