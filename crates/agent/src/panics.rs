//! The one place that catches panics: of tool handlers and of model clients.
//!
//! A panic in one call must not end the agent, and it must not be lost either: it becomes that call's
//! failure. What was half done when it happened is dropped and never looked at again.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use tollgate_gate::panics::{self, Dropped};

/// Makes a future and awaits it; gives the text of a panic on either way.
pub(crate) async fn caught<T, F: Future<Output = T>>(
    make: impl FnOnce() -> F,
) -> Result<T, String> {
    let future = catch_unwind(AssertUnwindSafe(make)).map_err(told)?;
    let mut future = Dropped(Some(Box::pin(future)));
    poll_fn(move |cx| {
        let Some(work) = &mut future.0 else { return Poll::Pending };
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(told(panic))),
        }
    })
    .await
}

fn told(panic: Box<dyn Any + Send>) -> String {
    panics::told(panic).unwrap_or_else(|| "without a text".to_owned())
}
