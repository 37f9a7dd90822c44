//! The one place that catches panics: of tool handlers and of model clients.
//!
//! A panic in one call must not end the agent, and it must not be lost either: it becomes that call's
//! failure. What was half done when it happened is dropped and never looked at again.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

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

/// Something that is not ours, of which not even the dropping may end the agent.
struct Dropped<T>(Option<T>);

impl<T> Drop for Dropped<T> {
    fn drop(&mut self) {
        let thing = self.0.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(thing))) {
            // It panicked once when it was dropped; what it left is not tried again.
            std::mem::forget(panic);
        }
    }
}

fn told(panic: Box<dyn Any + Send>) -> String {
    let text = text_of(&*panic);
    drop(Dropped(Some(panic)));
    text
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a text".to_owned())
}
