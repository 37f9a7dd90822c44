//! A permit cannot be cloned, copied or taken from nothing.
use tollgate_gate::Permit;

fn twice(permit: Permit) -> (Permit, Permit) {
    (permit.clone(), permit)
}

fn from_nothing() -> Permit {
    Permit::default()
}

fn main() {}
