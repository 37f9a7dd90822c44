//! What a permit lets run cannot be exchanged.
use tollgate_gate::{Payload, Permit};

fn exchange(permit: &mut Permit, other: Payload) {
    permit.payload = other;
}

fn main() {}
