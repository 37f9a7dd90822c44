//! A registrar's grant cannot be widened, nor its gate be reached through it.
use std::sync::Arc;
use tollgate_gate::{Gate, Registrar, Roles};

fn widen(registrar: &mut Registrar) {
    registrar.grant.roles = Roles::ALL;
}

fn reach_through(registrar: &Registrar) -> Arc<Gate> {
    Arc::clone(&registrar.gate)
}

fn main() {}
