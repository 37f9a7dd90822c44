//! The permit: the only thing that lets an effect happen (law 8).
//!
//! It is made by the gate, holds the judged payload by value, and is used up by redeeming it. What
//! performs effects takes a permit, so code that forgets to ask does not compile.

use crate::clock::Timestamp;
use crate::event::{Event, EventId};
use crate::limits::ABANDONED_CALLS_MAX;
use crate::payload::Payload;
use crate::record::ShownArguments;
use crate::state::CallKey;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Lets one effect happen: the one that was judged.
#[must_use = "an effect that was permitted is to be performed and settled"]
pub struct Permit {
    payload: Payload,
    ticket: Ticket,
}

impl Permit {
    pub(crate) fn new(payload: Payload, ticket: Ticket) -> Permit {
        Permit { payload, ticket }
    }

    /// The payload that may run.
    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// Uses the permit up: the payload is to be performed, the ticket to be settled with what came
    /// of it.
    pub fn redeem(self) -> (Payload, Ticket) {
        let Permit { payload, mut ticket } = self;
        if let Some(call) = &mut ticket.call {
            call.may_have_run = true;
        }
        (payload, ticket)
    }

    /// Uses the permit up where a host performs the effect and tells of it by an event of its own
    /// ([`crate::Gate::judge`]). What was reserved stays leased until then.
    pub fn hand_over(self) -> Payload {
        self.ticket.settle();
        self.payload
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("payload", &self.payload).finish_non_exhaustive()
    }
}

/// The right, and the duty, to tell the gate what came of a call.
///
/// A ticket that is dropped (a cancelled call) is not lost: the gate records the call's outcome, as
/// unknown if its permit was redeemed, and frees what it had reserved, at its next event.
#[must_use = "a ticket is to be settled"]
pub struct Ticket {
    /// Set until the ticket is settled.
    call: Option<Box<OpenCall>>,
    abandoned: Arc<Abandoned>,
}

/// What the gate must know of a call to settle it.
#[derive(Debug)]
pub(crate) struct OpenCall {
    pub(crate) event: Event,
    /// The payload as it runs.
    pub(crate) payload: Payload,
    pub(crate) decision: EventId,
    /// Under which it reserved something; none if it did not.
    pub(crate) key: Option<CallKey>,
    pub(crate) since: Timestamp,
    /// Its arguments as its record shows them.
    pub(crate) shown: ShownArguments,
    /// Whether its permit was redeemed. A call whose permit was not has certainly not run.
    pub(crate) may_have_run: bool,
}

impl Ticket {
    pub(crate) fn new(call: Option<OpenCall>, abandoned: &Arc<Abandoned>) -> Ticket {
        Ticket { call: call.map(Box::new), abandoned: Arc::clone(abandoned) }
    }

    /// Takes the call out, to settle it.
    pub(crate) fn settle(mut self) {
        self.call = None;
    }

    /// What the call had reserved is settled.
    pub(crate) fn forget_key(&mut self) {
        if let Some(call) = &mut self.call {
            call.key = None;
        }
    }

    /// The call, while the ticket stays open.
    pub(crate) fn call(&self) -> Option<&OpenCall> {
        self.call.as_deref()
    }
}

impl Drop for Ticket {
    /// Only moves the call into a list: no record, no I/O happens in a drop.
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.abandoned.push(*call);
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("call", &self.call.as_ref().map(|call| &call.decision))
            .finish()
    }
}

/// Calls whose ticket was dropped, waiting for the gate to record them.
#[derive(Debug, Default)]
pub(crate) struct Abandoned {
    any: AtomicBool,
    calls: Mutex<VecDeque<OpenCall>>,
}

impl Abandoned {
    fn push(&self, call: OpenCall) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        // So many wait only while no ledger writes, and then they are refusals.
        if calls.len() < ABANDONED_CALLS_MAX {
            calls.push_back(call);
        }
        self.any.store(true, Ordering::Release);
    }

    /// Takes the oldest. Costs one load when there is none.
    pub(crate) fn take(&self) -> Option<OpenCall> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let call = calls.pop_front();
        self.any.store(!calls.is_empty(), Ordering::Release);
        call
    }
}
