//! The face of this crate, tested from outside: actions, files and conditions through a gate.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod actions_allocations;
#[cfg(test)]
mod actions_limits;
#[cfg(test)]
mod actions_rig;
#[cfg(test)]
mod actions_schemas;
#[cfg(test)]
mod actions_seeds;
#[cfg(test)]
mod actions_votes;
#[cfg(test)]
mod coding;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod language;
mod when_cost;
mod when_docs;
mod when_events;
mod when_fuzz;
mod when_guards;
mod when_oracle;
