//! An action as a handler: what an action does, and the words that make it the same as another.
//!
//! Every action is inline and pure: it looks at the view and answers at once. Its description is its
//! name and its whole value in canonical form, so that two hooks with the same value are one.

use std::sync::Arc;
use tollgate_gate::{Handler, HandlerError, Json, Masking, Opinion, Refusal, Soon, View, VoteKind};

/// What an action does.
pub(crate) trait Act: Send + Sync + 'static {
    /// Looks at an event. With nothing to say it allocates nothing.
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError>;

    /// The votes that it may give.
    fn votes(&self) -> &[VoteKind] {
        &[]
    }

    /// Whether it claims.
    fn claims(&self) -> bool {
        false
    }

    /// Whether it looks at repeated calls.
    fn needs_repeats(&self) -> bool {
        false
    }

    /// Whether it hides tools.
    fn hides(&self) -> bool {
        false
    }

    /// Whether it gives data of the vault back.
    fn reveals(&self) -> bool {
        false
    }

    /// What it masks, for records.
    fn masking(&self) -> Option<&dyn Masking> {
        None
    }

    /// Its own words for a claim that cannot be reserved.
    fn exceeded(&self) -> Option<&Refusal> {
        None
    }
}

/// The handler of an action, described by its name and value.
pub(crate) fn handler(name: &str, value: &Json, act: impl Act) -> Arc<dyn Handler> {
    handler_with(name, value, "", act)
}

/// As [`handler`], with what else makes it differ.
pub(crate) fn handler_with(
    name: &str,
    value: &Json,
    more: &str,
    act: impl Act,
) -> Arc<dyn Handler> {
    let description = format!("{name} {}{more}", value.canonical_text());
    Arc::new(Described { description, act })
}

struct Described<A> {
    description: String,
    act: A,
}

impl<A: Act> Handler for Described<A> {
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        Soon::now(self.act.act(&view))
    }

    fn describe(&self) -> Option<String> {
        Some(self.description.clone())
    }

    fn votes(&self) -> Option<&[VoteKind]> {
        Some(self.act.votes())
    }

    fn claims(&self) -> bool {
        self.act.claims()
    }

    fn needs_repeats(&self) -> bool {
        self.act.needs_repeats()
    }

    fn reveals(&self) -> bool {
        self.act.reveals()
    }

    fn hides(&self) -> bool {
        self.act.hides()
    }

    fn masking(&self) -> Option<&dyn Masking> {
        self.act.masking()
    }

    fn exceeded(&self) -> Option<&Refusal> {
        self.act.exceeded()
    }
}
