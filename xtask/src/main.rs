//! The developers' menu.

fn main() {}
