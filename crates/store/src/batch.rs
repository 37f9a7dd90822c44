//! Batches: records that are committed together, and the answer that all who put one in wait for.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use tollgate_gate::LedgerError;

/// Records as JSON, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Bodies {
    /// One record.
    pub(crate) fn of(body: Vec<u8>) -> Bodies {
        Bodies { ends: vec![body.len()], bytes: body }
    }

    pub(crate) fn push(&mut self, body: &[u8]) {
        self.bytes.extend_from_slice(body);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.bytes.get(start..*end))
    }

    pub(crate) fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// What came of a batch.
pub(crate) type Outcome = Result<(), LedgerError>;

/// The answer to all who wait for one batch.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct State {
    outcome: Option<Outcome>,
    waiting: Vec<Option<Waker>>,
}

impl Answer {
    pub(crate) fn give(&self, outcome: Outcome) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.outcome = Some(outcome);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.came.notify_all();
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    /// Blocks until the answer is there.
    pub(crate) fn wait(&self) -> Outcome {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone();
            }
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A future of the answer.
pub(crate) struct Waiting {
    answer: Arc<Answer>,
    place: Option<usize>,
}

impl Waiting {
    pub(crate) fn new(answer: Arc<Answer>) -> Waiting {
        Waiting { answer, place: None }
    }
}

impl Future for Waiting {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let answer = Arc::clone(&self.answer);
        let mut state = answer.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        match self.place.and_then(|place| state.waiting.get_mut(place)) {
            Some(Some(waker)) => waker.clone_from(cx.waker()),
            Some(empty) => *empty = Some(cx.waker().clone()),
            None => {
                self.place = Some(state.waiting.len());
                state.waiting.push(Some(cx.waker().clone()));
            }
        }
        Poll::Pending
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let mut state = self.answer.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = state.waiting.get_mut(place) {
            *waker = None;
        }
    }
}
