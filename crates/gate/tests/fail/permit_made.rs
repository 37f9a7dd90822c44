//! A permit cannot be made outside of the gate.
use tollgate_gate::{Payload, Permit, Ticket};

fn forge(payload: Payload, ticket: Ticket) -> Permit {
    Permit::new(payload, ticket)
}

fn main() {}
