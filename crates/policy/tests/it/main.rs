//! The face of this crate, tested from outside: actions, files and conditions through a gate.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod language;
mod when_cost;
mod when_docs;
mod when_events;
mod when_fuzz;
mod when_guards;
mod when_oracle;
