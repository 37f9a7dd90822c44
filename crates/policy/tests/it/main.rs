//! The integration tests of the policy crate, one binary.
