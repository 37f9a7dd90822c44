//! A ticket cannot be put together from parts.
use tollgate_gate::Ticket;

fn ticket() -> Ticket {
    Ticket { call: None, abandoned: Default::default() }
}

fn main() {}
