//! The agent runtime before a real gate: real tools on real files, hooks as closures, a ledger in
//! memory and a clock that stands still.

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
