//! The actions of a policy, and policy files turned into rulesets.

pub mod actions;
