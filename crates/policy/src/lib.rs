//! The actions of a policy, its conditions, and policy files turned into rulesets.

pub mod when;
