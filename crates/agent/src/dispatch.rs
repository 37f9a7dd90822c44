//! Dispatch: how a loop has its tool calls done.
//!
//! One method does one call; a batch is written in terms of it, so whoever governs `dispatch` governs
//! the batch too. The loop sees nothing else: whether a gate stands behind it is not its business.

use crate::limits::BATCH_CONCURRENT_CALLS_MAX;
use crate::registry::Declaration;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tollgate_gate::{Aborted, Name, Soon, ToolCall, ToolResult};

/// What came of a dispatched call.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatched {
    /// The tool that was asked for.
    pub tool: Name,
    /// The call's id, as the model gave it.
    pub call_id: Option<Name>,
    /// What the model is given.
    pub result: ToolResult,
    /// Whether the result tells what happened.
    pub fate: Fate,
    /// Set when the session has ended.
    pub aborted: Option<Aborted>,
}

/// Whether it is known what came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It ended, or never began; the result says which.
    Known,
    /// It had begun when the session ended, and was dropped.
    Unknown,
}

/// Has tool calls done.
pub trait Dispatch: Send + Sync {
    /// The tools that there are, for the model.
    fn declarations(&self) -> Vec<&Declaration>;

    /// Whether a tool is declared to only read. Unknown tools are not.
    fn is_read_only(&self, tool: &str) -> bool;

    /// Does one call. Whatever goes wrong is a result that says so; once the session has ended,
    /// every further call is refused.
    fn dispatch(&self, call: ToolCall) -> Soon<'_, Dispatched>;

    /// Does the calls of one reply; the results stand in the order of the requests, one for each.
    ///
    /// When every call is to a tool that only reads they run at the same time, otherwise one after
    /// the other. A refusal stops no sibling. When one of them ends the session, siblings that have
    /// begun are dropped (their [`Fate`] is unknown) and the others are refused, by `dispatch` itself;
    /// a decision that waits for a person is dropped
    /// [`DECISION_GRACE_MS`](crate::limits::DECISION_GRACE_MS) later.
    fn dispatch_many(&self, calls: Vec<ToolCall>) -> Soon<'_, Vec<Dispatched>> {
        let at_once = calls.len() > 1 && calls.iter().all(|call| self.is_read_only(&call.tool));
        let window = if at_once { BATCH_CONCURRENT_CALLS_MAX } else { 1 };
        Soon::later(in_order(calls, window, |call| self.dispatch(call)))
    }
}

impl<D: Dispatch + ?Sized> Dispatch for Arc<D> {
    fn declarations(&self) -> Vec<&Declaration> {
        (**self).declarations()
    }

    fn is_read_only(&self, tool: &str) -> bool {
        (**self).is_read_only(tool)
    }

    fn dispatch(&self, call: ToolCall) -> Soon<'_, Dispatched> {
        (**self).dispatch(call)
    }

    fn dispatch_many(&self, calls: Vec<ToolCall>) -> Soon<'_, Vec<Dispatched>> {
        (**self).dispatch_many(calls)
    }
}

/// Does the calls in their order, at most `window` of them at the same time; the outputs stand in
/// that order too. A call is not even begun before its turn.
async fn in_order<F>(
    calls: Vec<ToolCall>,
    window: usize,
    begin: impl Fn(ToolCall) -> F,
) -> Vec<F::Output>
where
    F: Future<Output: Unpin> + Unpin,
{
    let mut waiting = calls.into_iter();
    let mut places: Vec<Place<F>> = Vec::with_capacity(waiting.len());
    let mut running: Vec<usize> = Vec::with_capacity(window);
    poll_fn(|cx| {
        loop {
            running.retain(|at| places.get_mut(*at).is_some_and(|place| place.advance(cx)));
            if running.len() >= window {
                return Poll::Pending;
            }
            match waiting.next() {
                Some(call) => {
                    running.push(places.len());
                    places.push(Place::Running(begin(call)));
                }
                None if running.is_empty() => return Poll::Ready(()),
                None => return Poll::Pending,
            }
        }
    })
    .await;
    places.into_iter().filter_map(Place::output).collect()
}

enum Place<F: Future> {
    Running(F),
    Done(F::Output),
}

impl<F: Future + Unpin> Place<F> {
    /// Polls; says whether it still runs.
    fn advance(&mut self, cx: &mut Context<'_>) -> bool {
        let Place::Running(future) = self else { return false };
        match Pin::new(future).poll(cx) {
            Poll::Ready(output) => {
                *self = Place::Done(output);
                false
            }
            Poll::Pending => true,
        }
    }

    fn output(self) -> Option<F::Output> {
        if let Place::Done(output) = self { Some(output) } else { None }
    }
}
