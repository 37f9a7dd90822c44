//! The gate as programs use it, held against its laws one by one.
//!
//! Tests go through public doors only; what runs, what the model is given and what the ledger holds
//! is what counts.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose ground is missing has failed"
)]

mod allocations;
mod approvals;
mod asides;
mod compile_fail;
mod faults;
mod ledger_contract;
mod ledgers;
mod limits;
mod masked_records;
mod order;
mod properties;
mod reading;
mod rig;
mod sessions;
mod state_contract;
mod states;
mod switches;
mod vault_contract;
mod vaults;
mod wire;
