//! A refusal cannot be settled twice.
use tollgate_gate::{Closed, Gate};

async fn settle_twice(gate: &Gate, closed: Closed) {
    gate.settle_closed(closed).await;
    gate.settle_closed(closed).await;
}

fn main() {}
