//! The face of this crate, tested from outside: actions, files and conditions through a gate.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod language;
#[cfg(test)]
mod when_cost;
#[cfg(test)]
mod when_docs;
#[cfg(test)]
mod when_events;
#[cfg(test)]
mod when_fuzz;
#[cfg(test)]
mod when_oracle;
