//! A policy text, events, and what comes of them.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tollgate_gate::{Clock, Decision, Event, Gate, Json, ManualClock, Timestamp};
use tollgate_policy::{LoadOptions, Loaded, load_text};

/// The moment at which tests take place.
pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-11-30T12:00:00Z").unwrap()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

/// Loads a policy that must be sound.
#[track_caller]
pub(crate) fn policy(text: &str) -> Loaded {
    match load_text("tollgate.yaml", text, &LoadOptions::new(now())) {
        Ok(loaded) => loaded,
        Err(failure) => panic!("{failure}"),
    }
}

/// A gate with a policy.
pub(crate) struct Rig {
    pub(crate) gate: Gate,
    pub(crate) clock: Arc<ManualClock>,
}

impl Rig {
    #[track_caller]
    pub(crate) fn new(text: &str) -> Rig {
        Rig::of(policy(text))
    }

    pub(crate) fn of(loaded: Loaded) -> Rig {
        let clock = Arc::new(ManualClock::new(now()));
        let gate = Gate::builder(Arc::<ManualClock>::clone(&clock)).ruleset(loaded.ruleset);
        Rig { gate: gate.build().unwrap(), clock }
    }

    /// Decides an event of this JSON.
    #[track_caller]
    pub(crate) fn decide(&self, event: &str) -> Decision {
        let event = Event::read(event.as_bytes(), self.clock.now()).unwrap();
        block_on(self.gate.decide(event)).decision
    }

    /// Decides a tool call in a session of `alice` at `/repo`.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Decision {
        self.decide(&call(tool, arguments))
    }

    /// The verdict and the deciding hook of a tool call, as `deny by x`.
    #[track_caller]
    pub(crate) fn verdict(&self, tool: &str, arguments: &str) -> String {
        words(&self.call(tool, arguments))
    }
}

pub(crate) fn words(decision: &Decision) -> String {
    match &decision.hook {
        Some(hook) => format!("{} by {hook}", decision.verdict),
        None => decision.verdict.to_string(),
    }
}

/// The JSON of a tool call.
pub(crate) fn call(tool: &str, arguments: &str) -> String {
    let arguments = Json::read(arguments.as_bytes()).unwrap();
    format!(
        r#"{{"kind":"pre_tool","session":{{"id":"s1","tenant":"acme","user":"alice","agent":"coder","cwd":"/repo","workspace":"/repo"}},"payload":{{"tool":"{tool}","arguments":{arguments}}}}}"#
    )
}
