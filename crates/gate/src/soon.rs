//! An answer that is there already or comes later.
//!
//! Every trait behind the gate returns one, so that a store may be a map in memory or a database
//! across a network without a second interface. While all answers are there already, `decide` is
//! ready at its first poll and a short-lived process needs no async runtime.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer that is there already, or a future of one.
#[must_use = "an answer that is not awaited may never come"]
pub enum Soon<'a, T> {
    /// The answer; `None` once it was taken.
    Now(Option<T>),
    /// The answer comes later.
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Soon<'a, T> {
    /// An answer that is there.
    pub fn now(value: T) -> Soon<'a, T> {
        Soon::Now(Some(value))
    }

    /// An answer that comes later.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Soon<'a, T> {
        Soon::Later(Box::pin(future))
    }
}

impl<T: Unpin> Future for Soon<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match &mut *self {
            // Polled after it was ready: a bug of the caller; it waits for ever rather than panics.
            Soon::Now(value) => value.take().map_or(Poll::Pending, Poll::Ready),
            Soon::Later(future) => future.as_mut().poll(cx),
        }
    }
}

impl<T> fmt::Debug for Soon<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Soon::Now(_)) { "Soon::Now" } else { "Soon::Later" })
    }
}
