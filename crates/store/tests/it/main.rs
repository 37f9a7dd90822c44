//! The laws of the store, one module a subject.

mod clock;
mod ledger;
mod rig;
