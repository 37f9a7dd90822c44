//! Which tools a list of tools leaves out.
//!
//! A hook that refuses by saying "no such tool" must be believed: a tool that is refused as unknown
//! and stands in the list gives itself away, and one that is left out and can be called is not
//! hidden. So both ask the same hooks, here before a call and in the chain at the call. In doubt (a
//! matcher that cannot tell, a session that cannot be looked up) a tool is hidden.

use super::Gate;
use crate::event::Event;
use crate::hook::Hook;
use crate::kind::EventKind;
use crate::matcher::Subject;
use crate::ruleset::{Mode, Ruleset};
use crate::state::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Gate {
    /// Whether the call of this before-event would be answered as that of an unknown tool. Nothing
    /// is decided, counted or recorded: it is asked for every tool of a list, before any call.
    pub async fn hides(&self, event: &Event) -> bool {
        let ruleset = self.ruleset();
        if ruleset.settings().mode != Mode::Enforce || event.kind() != EventKind::PreTool {
            return false;
        }
        let hiding = self.hiding(&ruleset, event);
        if hiding.is_empty() {
            return false;
        }
        let Ok(session) = self.state.enter(&event.session, Entry::default()).await else {
            return true;
        };
        let subject = Subject { event, payload: &event.payload, session: &session };
        hiding.iter().any(|hook| {
            let answer = catch_unwind(AssertUnwindSafe(|| hook.matcher.matches(&subject)));
            !matches!(answer, Ok(Ok(false)))
        })
    }

    /// The hooks that hide and may concern the event.
    fn hiding<'r>(&self, ruleset: &'r Ruleset, event: &Event) -> Vec<&'r Hook> {
        let placed = ruleset.placed();
        let candidates = ruleset.candidates(event, &event.payload);
        let hooks = candidates.iter().filter_map(|place| placed.get(*place as usize));
        hooks
            .map(|placed| &*placed.hook)
            .filter(|hook| hook.handler.hides() && self.acts(hook, event))
            .collect()
    }

    /// Whether the hook counts for this event at all.
    pub(super) fn acts(&self, hook: &Hook, event: &Event) -> bool {
        let rolled_out = hook.rollout.is_none_or(|rollout| rollout.applies(&hook.name, event));
        hook.enabled && rolled_out && !hook.dry_run.is_dry(self.clock.now())
    }
}
