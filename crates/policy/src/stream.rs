//! The redaction of a policy over a text that arrives in pieces: what a command prints while it runs.
//!
//! A stream has no event. What of a hook's match can be told beforehand (the tool, the host, the user)
//! is asked; all else (conditions, arguments, labels, exceptions, a share of sessions) counts as a
//! match, so that a stream is never masked less than its result would be. Each redactor of each hook
//! is a stage, in the order of the chain; what is not yet complete is held back.
//!
//! Refused: going on after a redactor failed. What it did not see is never let through.

use crate::actions::{
    self, ActionContext, Patterns as PatternTime, RedactError, RedactStream, Redactor,
};
use crate::compile::plan::{Field, HookPlan, MatchPlan};
use crate::limits::STREAM_LINE_BYTES_MAX;
use crate::load::Loaded;
use std::sync::Arc;
use tollgate_detect::Detector;
use tollgate_gate::{EventKind, Json, KindSet, Patterns};

/// Where a text comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamOrigin<'o> {
    /// The tool that prints it, as its host calls it.
    pub tool: Option<&'o str>,
    /// The host.
    pub host: Option<&'o str>,
    /// Who runs it.
    pub user: Option<&'o str>,
}

/// Redacts a stream as the policy's hooks would redact its whole.
pub struct OutputRedaction {
    stages: Vec<Box<dyn RedactStream>>,
}

impl Loaded {
    /// What masks the output of a call of this origin while it runs; `None` when no hook does. `acts`
    /// says of a hook's name whether it is in force.
    ///
    /// # Errors
    /// [`RedactError`] for a redactor that cannot be built: nothing can be let through then.
    pub fn output_redaction(
        &self,
        origin: &StreamOrigin<'_>,
        acts: &dyn Fn(&str) -> bool,
    ) -> Result<Option<OutputRedaction>, RedactError> {
        let after = [EventKind::PostTool, EventKind::ToolError];
        self.redaction_of(|hook| {
            hook.kinds.iter().any(|kind| after.contains(kind))
                && acts(&hook.name)
                && matches(&hook.matching, origin) != Some(false)
        })
    }

    /// All that the policy's `redact` hooks mask, whatever events they are for: over a text that is no
    /// part of one. `None` when none is in force.
    ///
    /// # Errors
    /// As [`Loaded::output_redaction`].
    pub fn redaction(&self) -> Result<Option<OutputRedaction>, RedactError> {
        self.redaction_of(|_| true)
    }

    /// The detectors of the policy's `redact` hooks that are in force, for looking through texts that
    /// are no part of an event. What a hook masks by `lines`, by `patterns` or as `mobile` is a rule of
    /// its detector here.
    ///
    /// # Errors
    /// As [`Loaded::output_redaction`].
    pub fn detectors(&self) -> Result<Vec<Arc<Detector>>, RedactError> {
        let mut detectors = Vec::new();
        for hook in self.masking(|_| true) {
            let (value, context) = self.action_of(hook)?;
            let detector = actions::detector_of(&value, &context);
            let detector = detector.map_err(|error| wrong(hook, &error))?;
            detectors.extend(detector);
        }
        Ok(detectors)
    }

    fn redaction_of(
        &self,
        concerns: impl Fn(&HookPlan) -> bool,
    ) -> Result<Option<OutputRedaction>, RedactError> {
        let mut stages = Vec::new();
        for hook in self.masking(concerns) {
            let (value, context) = self.action_of(hook)?;
            let redactors = actions::redactors_of(&value, &context);
            for redactor in redactors.map_err(|error| wrong(hook, &error))? {
                stages.push(stage(redactor)?);
            }
        }
        Ok((!stages.is_empty()).then_some(OutputRedaction { stages }))
    }

    /// The hooks that mask and concern this, in the order of the chain.
    fn masking(&self, concerns: impl Fn(&HookPlan) -> bool) -> Vec<&HookPlan> {
        let hooks = self.plan.hooks.iter().map(|hook| &**hook);
        let masks = |hook: &&HookPlan| hook.action == "redact" && hook.enabled && !hook.dry_run;
        let mut hooks: Vec<_> = hooks.filter(masks).filter(|hook| concerns(hook)).collect();
        hooks.sort_by_key(|hook| hook.priority);
        hooks
    }

    /// What the hook's action is made of.
    fn action_of(&self, hook: &HookPlan) -> Result<(Json, ActionContext), RedactError> {
        let value = Json::read(hook.value.as_bytes()).map_err(|error| wrong(hook, &error))?;
        let kinds = KindSet::of(hook.kinds.iter().copied());
        let mut context = ActionContext::new(hook.name.as_str(), kinds);
        context.redactors.clone_from(&self.context.redactors);
        context.sources.clone_from(&self.context.sources);
        context.effects = Some(Arc::clone(&self.context.effects));
        context.patterns = PatternTime::AtFirstUse;
        Ok((value, context))
    }
}

fn wrong(hook: &HookPlan, cause: &dyn std::fmt::Display) -> RedactError {
    RedactError { redactor: hook.name.as_str().into(), cause: cause.to_string() }
}

impl OutputRedaction {
    /// Takes the next piece; what may go on.
    ///
    /// # Errors
    /// [`RedactError`] when a redactor failed; whatever comes behind it is withheld.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, RedactError> {
        self.through(piece, |_| false)
    }

    /// What was held back.
    ///
    /// # Errors
    /// As [`OutputRedaction::push`].
    pub fn flush(&mut self) -> Result<Vec<u8>, RedactError> {
        self.through(&[], |_| true)
    }

    /// A question that is held back because its line has not ended, for the moment when nothing more
    /// comes: whoever asks it waits. Part of a word is not let go, for more of it may come.
    ///
    /// # Errors
    /// As [`OutputRedaction::push`].
    pub fn question(&mut self) -> Result<Vec<u8>, RedactError> {
        self.through(&[], |stage| stage.holds_question())
    }

    /// Whether a question is held back.
    pub fn holds_question(&self) -> bool {
        self.stages.iter().any(|stage| stage.holds_question())
    }

    fn through(
        &mut self,
        piece: &[u8],
        flushes: impl Fn(&dyn RedactStream) -> bool,
    ) -> Result<Vec<u8>, RedactError> {
        let mut now = piece.to_vec();
        for stage in &mut self.stages {
            let mut out = stage.push(&now)?;
            if flushes(stage.as_ref()) {
                out.extend(stage.flush()?);
            }
            now = out;
        }
        Ok(now)
    }
}

/// Whether a match holds, as far as the origin tells; `None`: it cannot be told.
fn matches(plan: &MatchPlan, origin: &StreamOrigin<'_>) -> Option<bool> {
    match plan {
        MatchPlan::Always => Some(true),
        MatchPlan::Name(field, globs) => {
            let text = match field {
                Field::Tool => origin.tool,
                Field::Host => origin.host,
                Field::User => origin.user,
                Field::Server | Field::Model | Field::Tenant | Field::Agent => None,
            }?;
            let globs = Patterns::globs(globs.iter().map(String::as_str)).ok()?;
            Some(globs.matches(text))
        }
        MatchPlan::All(all) => {
            let found: Vec<_> = all.iter().map(|one| matches(one, origin)).collect();
            match found.contains(&Some(false)) {
                true => Some(false),
                false => found.iter().all(Option::is_some).then_some(true),
            }
        }
        MatchPlan::AnyOf(any) => {
            let found: Vec<_> = any.iter().map(|one| matches(one, origin)).collect();
            match found.contains(&Some(true)) {
                true => Some(true),
                false => found.iter().all(Option::is_some).then_some(false),
            }
        }
        MatchPlan::Not(inner) => matches(inner, origin).map(|holds| !holds),
        MatchPlan::Tags(_)
        | MatchPlan::AnyTag(_)
        | MatchPlan::Labels(_)
        | MatchPlan::Value(..)
        | MatchPlan::Paths(..)
        | MatchPlan::Outside(..)
        | MatchPlan::Names(..)
        | MatchPlan::Unknown(_)
        | MatchPlan::Hidden(_) => None,
    }
}

fn stage(redactor: Arc<dyn Redactor>) -> Result<Box<dyn RedactStream>, RedactError> {
    let own = redactor.stream()?;
    Ok(own.unwrap_or_else(|| Box::new(Lines { redactor, held: Vec::new() })))
}

/// Gives a redactor whole lines. A line longer than the cap is given in pieces of that length.
struct Lines {
    redactor: Arc<dyn Redactor>,
    held: Vec<u8>,
}

impl Lines {
    fn redact(&self, bytes: &[u8]) -> Result<Vec<u8>, RedactError> {
        let mut out = Vec::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            match self.redactor.redact(None, chunk.valid())? {
                Some(redacted) => out.extend_from_slice(redacted.text.as_bytes()),
                None => out.extend_from_slice(chunk.valid().as_bytes()),
            }
            out.extend_from_slice(chunk.invalid());
        }
        Ok(out)
    }
}

impl RedactStream for Lines {
    fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, RedactError> {
        self.held.extend_from_slice(piece);
        let complete = match self.held.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.held.len() > STREAM_LINE_BYTES_MAX => self.held.len(),
            None => return Ok(Vec::new()),
        };
        let later = self.held.split_off(complete);
        let now = std::mem::replace(&mut self.held, later);
        self.redact(&now)
    }

    fn flush(&mut self) -> Result<Vec<u8>, RedactError> {
        let held = std::mem::take(&mut self.held);
        self.redact(&held)
    }

    fn holds_question(&self) -> bool {
        self.held.last().is_some_and(u8::is_ascii_whitespace)
    }
}

/// A redaction by one redactor alone, for tests of what carries the stream.
impl OutputRedaction {
    /// With these stages.
    pub fn of_stages(stages: Vec<Box<dyn RedactStream>>) -> OutputRedaction {
        OutputRedaction { stages }
    }
}

#[cfg(test)]
mod tests;
