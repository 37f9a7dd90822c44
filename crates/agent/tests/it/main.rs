//! The agent runtime before a real gate: real tools on real files, hooks as closures, a ledger in
//! memory and a clock that stands still.

#![expect(clippy::unwrap_used, reason = "a test whose ground is missing has failed")]

mod batches;
mod contracts;
mod endings;
mod loops;
mod models;
mod registries;
mod rig;
mod sub_agents;
mod test_runs;
mod traces;
mod workspaces;
