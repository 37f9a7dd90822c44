//! What a `redact` leaves alone by where it comes from: tools, and files.
//!
//! A file is left alone only when the call is known to read nothing else: an argument that merely looks
//! like a path would let an agent name one file and read another.

use super::config::AllowConfig;
use crate::actions::{ActionContext, ActionError};
use crate::compile::effects::{EffectMemo, Question, Verb};
use crate::compile::names::NameGlobs;
use crate::compile::paths::PathGlobs;
use std::sync::Arc;
use tollgate_gate::{Patterns, View};

/// Where nothing is masked.
pub(super) struct Exempt {
    tools: Option<Patterns>,
    paths: Option<(Question, Arc<EffectMemo>)>,
    /// Any program or host: what they say is not in the file.
    anything: Question,
}

impl Exempt {
    /// What the configuration exempts; `None` when it exempts nothing.
    pub(super) fn of(
        allow: &AllowConfig,
        context: &ActionContext,
    ) -> Result<Option<Exempt>, ActionError> {
        let tools = &allow.tools.0;
        let paths = &allow.paths.0;
        if tools.is_empty() && paths.is_empty() {
            return Ok(None);
        }
        let patterns = Patterns::globs(tools.iter().map(String::as_str));
        let patterns =
            patterns.map_err(|error| ActionError::at("allow.tools", error.to_string()))?;
        let globs = PathGlobs::new(paths.iter().map(String::as_str));
        let globs = globs.map_err(|error| ActionError::at("allow.paths", error.to_string()))?;
        let effects = context.effects.as_ref().filter(|_| !paths.is_empty());
        if effects.is_none() && !paths.is_empty() {
            let message = "nothing is known of what a call reads here";
            return Err(
                ActionError::at("allow.paths", message).remedy("write the hook in a policy file")
            );
        }
        let any = NameGlobs::new(["*"]);
        let any = any.map_err(|error| ActionError::at("allow", error.to_string()))?;
        Ok(Some(Exempt {
            anything: Question::Names(any),
            tools: (!tools.is_empty()).then_some(patterns),
            paths: effects.map(|effects| (Question::Paths(globs), Arc::clone(effects))),
        }))
    }

    /// Whether the event's text is left alone.
    pub(super) fn holds(&self, view: &View<'_>) -> bool {
        let Some(call) = view.payload.tool_call() else { return false };
        if self.tools.as_ref().is_some_and(|tools| tools.matches(&call.tool)) {
            return true;
        }
        self.paths.as_ref().is_some_and(|(question, memo)| {
            let effects = memo.of(call, &view.event.session);
            let reads = effects.tally(Verb::Reads, question);
            let nothing_else = [Verb::Runs, Verb::Contacts]
                .into_iter()
                .all(|verb| effects.tally(verb, &self.anything).targets == 0);
            reads.targets > 0
                && reads.whole == reads.targets
                && nothing_else
                && !Verb::ALL.iter().any(|verb| effects.is_unknown(*verb))
        })
    }
}
