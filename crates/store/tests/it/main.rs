//! The laws of the store, one module a subject.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod clock;
mod kill;
mod ledger;
mod open_calls;
mod rig;
mod state;
#[path = "../../../gate/tests/it/state_contract.rs"]
mod state_contract;
mod verify;
