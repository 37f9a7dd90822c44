//! The vault in memory keeps the contract; what goes back into a call stands in nothing that is kept.

use crate::rig::{Rig, ready};
use crate::vault_contract::LAWS;
use std::sync::Arc;
use tollgate_gate::{
    EventKind, Hidden, Hook, Json, MemoryVault, Object, Opinion, Reveal, Roles, Vault, VaultOwner,
};

#[test]
fn the_vault_in_memory_keeps_the_contract() {
    for (law, holds) in LAWS {
        println!("{law}");
        let vault: Arc<dyn Vault> = Arc::new(MemoryVault::default());
        holds(&|| Arc::clone(&vault));
    }
}
