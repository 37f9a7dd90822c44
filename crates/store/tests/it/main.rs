//! The laws of the store, one module a subject.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it must be"
)]

mod approvals;
mod clock;
mod contract;
mod folders;
mod follow;
mod kill;
mod ledger;
#[path = "../../../gate/tests/it/ledger_contract.rs"]
mod ledger_contract;
mod open_calls;
mod reading;
mod rig;
mod state;
#[path = "../../../gate/tests/it/state_contract.rs"]
mod state_contract;
mod vault;
#[path = "../../../gate/tests/it/vault_contract.rs"]
mod vault_contract;
mod verify;
