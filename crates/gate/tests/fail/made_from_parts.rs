//! Permits, refusals and registrars cannot be put together from parts.
use std::sync::Arc;
use tollgate_gate::{Closed, Gate, Grant, Matcher, Payload, Performed, Permit, Registrar, Ticket};

fn permit(payload: Payload, ticket: Ticket) -> Permit {
    Permit { payload, ticket }
}

fn closed(performed: Performed, ticket: Ticket) -> Closed {
    Closed { performed, aborted: false, ticket }
}

fn registrar(gate: Arc<Gate>, grant: Grant) -> Registrar {
    Registrar { gate, grant, scope: Matcher::Always }
}

fn main() {}
