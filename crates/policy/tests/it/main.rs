//! The face of this crate, tested from outside: actions, files and conditions through a gate.

#[cfg(test)]
mod actions;
