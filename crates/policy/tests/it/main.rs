//! The integration tests of the policy crate, one binary.

mod when_docs;
mod when_events;
mod when_fuzz;
mod when_oracle;
