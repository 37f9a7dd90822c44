//! What a condition costs.
fn main() {}
