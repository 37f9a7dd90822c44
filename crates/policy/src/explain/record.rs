//! Hooks that note what happens to them.

use super::diff::{Change, diff};
use crate::compile::build::Exceptions;
use std::sync::{Arc, Mutex, PoisonError};
use tollgate_gate::{
    Handler, HandlerError, Json, Masking, Matcher, Opinion, Refusal, Soon, Subject, Test,
    TestError, View, Vote, VoteKind,
};

/// What happened, in order, by hook.
#[derive(Default)]
pub(super) struct Log(Mutex<Vec<(usize, Note)>>);

/// What happened to a hook.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Note {
    Matched,
    /// What did not hold.
    Mismatch(String),
    Excepted,
    Rewrote(Vec<Change>),
}

impl Log {
    fn push(&self, hook: usize, note: Note) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((hook, note));
    }

    pub(super) fn take(&self) -> Vec<(usize, Note)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A matcher that notes what did not hold.
pub(super) struct RecordingTest {
    pub(super) inner: Matcher,
    pub(super) hook: usize,
    pub(super) log: Arc<Log>,
}

impl Test for RecordingTest {
    fn test(&self, subject: &Subject<'_>) -> Result<bool, TestError> {
        let mismatch = self.inner.mismatch(subject)?;
        let matches = mismatch.is_none();
        self.log.push(self.hook, mismatch.map_or(Note::Matched, Note::Mismatch));
        Ok(matches)
    }

    fn describe(&self) -> String {
        self.inner.to_string()
    }
}

/// A handler that notes what it rewrote.
pub(super) struct RecordingHandler {
    pub(super) inner: Arc<dyn Handler>,
    pub(super) exceptions: Arc<Exceptions>,
    pub(super) hook: usize,
    pub(super) log: Arc<Log>,
}

impl RecordingHandler {
    fn note(&self, before: Option<&Json>, answer: &Result<Opinion, HandlerError>) {
        if let (Ok(Opinion { rewrite: Some(after), .. }), Some(before)) = (answer, before) {
            self.log.push(self.hook, Note::Rewrote(diff(before, after)));
        }
    }
}

impl Masking for RecordingHandler {
    fn masked(&self, view: &View<'_>, value: &Json) -> Result<Option<Json>, HandlerError> {
        match self.inner.masking() {
            Some(masking) if !self.exceptions.hold(view) => masking.masked(view, value),
            Some(_) | None => Ok(None),
        }
    }
}

impl Handler for RecordingHandler {
    fn handle<'a>(&'a self, view: View<'a>) -> Soon<'a, Result<Opinion, HandlerError>> {
        if self.exceptions.hold(&view) {
            self.log.push(self.hook, Note::Excepted);
            return Soon::now(Ok(Opinion::none()));
        }
        let before = view.payload.part();
        let mut answer = self.inner.handle(view);
        if let Soon::Now(now) = &mut answer
            && let Some(answer) = now.take()
        {
            self.note(before.as_deref(), &answer);
            return Soon::now(answer);
        }
        Soon::later(async move {
            let answer = answer.await;
            self.note(before.as_deref(), &answer);
            answer
        })
    }

    fn votes(&self) -> Option<&[VoteKind]> {
        self.inner.votes()
    }

    fn claims(&self) -> bool {
        self.inner.claims()
    }

    fn needs_repeats(&self) -> bool {
        self.inner.needs_repeats()
    }

    fn hides(&self) -> bool {
        self.inner.hides()
    }

    fn reveals(&self) -> bool {
        self.inner.reveals()
    }

    fn masking(&self) -> Option<&dyn Masking> {
        self.inner.masking().is_some().then_some(self)
    }

    fn exceeded(&self) -> Option<&Refusal> {
        self.inner.exceeded()
    }
}

/// The words of a vote.
pub(super) fn reason(vote: &Vote) -> Option<String> {
    let reason = match vote {
        Vote::Deny(refusal) | Vote::Abort(refusal) => &refusal.reason,
        Vote::Ask(question) => &question.reason,
        Vote::Allow(_) | Vote::Respond(_) => return None,
    };
    (!reason.is_empty()).then(|| reason.to_string())
}
