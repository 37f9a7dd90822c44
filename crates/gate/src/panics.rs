//! Panics of code that is not ours: their text, and dropping what may panic once more.
//!
//! A panic of a hook, a tool or a model client is a fault of that one. It is caught where the code is
//! called; here is what every such place needs, so that nothing of a panic gets through.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Something that is not ours, of which not even the dropping may take the caller with it.
#[derive(Debug)]
pub struct Dropped<T>(pub Option<T>);

impl<T> Drop for Dropped<T> {
    fn drop(&mut self) {
        let thing = self.0.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(thing))) {
            // It panicked once when it was dropped; what it left is not tried again.
            std::mem::forget(panic);
        }
    }
}

/// The text of a panic, if it has one; the panic itself is dropped safely.
pub fn told(panic: Box<dyn Any + Send>) -> Option<String> {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    drop(Dropped(Some(panic)));
    text
}
