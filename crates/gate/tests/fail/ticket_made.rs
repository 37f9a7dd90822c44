//! A ticket cannot be made, cloned or settled twice.
use tollgate_gate::{Gate, Performed, Ticket};

fn forge() -> Ticket {
    Ticket::new(None, &Default::default())
}

fn twice(ticket: Ticket) -> (Ticket, Ticket) {
    (ticket.clone(), ticket)
}

async fn settle_twice(gate: &Gate, ticket: Ticket, performed: Performed) {
    gate.settle(ticket, performed.clone()).await;
    gate.settle(ticket, performed).await;
}

fn main() {}
