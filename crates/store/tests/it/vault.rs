//! The vault on disk: the contract, what its files hold, and what it refuses.

use crate::vault_contract::LAWS;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate_gate::{Vault, VaultError, VaultOwner};
use tollgate_store::FileVault;

const ALICE: VaultOwner<'_> = VaultOwner { tenant: "acme", session: "s1" };

fn open(state: &Path) -> Arc<dyn Vault> {
    Arc::new(FileVault::in_folder(state))
}

fn files(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("vault")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "vault")).collect()
}

#[test]
fn the_vault_on_disk_keeps_the_contract() {
    for (law, holds) in LAWS {
        println!("{law}");
        let state = tempfile::tempdir().unwrap();
        holds(&|| open(state.path()));
    }
}

#[test]
fn files_tell_neither_data_nor_owners_and_open_for_their_owner_only() {
    let state = tempfile::tempdir().unwrap();
    let vault = open(state.path());
    vault.keep(ALICE, "EMAIL", "jane@corp.io").unwrap();
    let other = VaultOwner { session: "s2", ..ALICE };
    vault.keep(other, "EMAIL", "john@corp.io").unwrap();
    let all = files(state.path());
    assert_eq!(all.len(), 2);
    for file in &all {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let bytes = fs::read(file).unwrap();
        for told in ["jane", "corp", "acme", "s1", "EMAIL"] {
            assert!(!bytes.windows(told.len()).any(|part| part == told.as_bytes()), "{told}");
            assert!(!file.to_string_lossy().contains("acme"));
        }
    }
    // One session's file in the place of another's opens nothing.
    let (one, two) = (fs::read(&all[0]).unwrap(), fs::read(&all[1]).unwrap());
    fs::write(&all[0], two).unwrap();
    fs::write(&all[1], one).unwrap();
    assert!(matches!(open(state.path()).kept(ALICE), Err(VaultError::Unusable(_))));
}

#[test]
fn what_is_damaged_open_to_others_or_locked_by_another_key_is_refused() {
    let state = tempfile::tempdir().unwrap();
    open(state.path()).keep(ALICE, "EMAIL", "jane@corp.io").unwrap();
    let file = files(state.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    let refused = |what: &str| {
        let error = open(state.path()).kept(ALICE).unwrap_err().to_string();
        assert!(
            error.contains(&*file.to_string_lossy()) && !error.contains("jane"),
            "{what}: {error}"
        );
        assert!(open(state.path()).keep(ALICE, "EMAIL", "new@corp.io").is_err(), "{what}");
    };
    for cut in [0, 10, 30, whole.len() - 1] {
        fs::write(&file, whole.get(..cut).unwrap()).unwrap();
        refused("cut");
    }
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(&file, flipped).unwrap();
    refused("flipped");
    fs::write(&file, &whole).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    refused("open to others");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(open(state.path()).kept(ALICE).unwrap().len(), 1);
    fs::set_permissions(state.path().join("vault"), Permissions::from_mode(0o777)).unwrap();
    assert!(open(state.path()).kept(ALICE).is_err());
}

#[test]
fn a_key_that_is_gone_is_not_made_anew_over_sealed_data() {
    let state = tempfile::tempdir().unwrap();
    open(state.path()).keep(ALICE, "EMAIL", "jane@corp.io").unwrap();
    fs::remove_file(state.path().join("keys/vault.key")).unwrap();
    let error = open(state.path()).kept(ALICE).unwrap_err().to_string();
    assert!(error.contains("vault.key") && error.contains("put it back"), "{error}");
    assert!(open(state.path()).keep(ALICE, "EMAIL", "john@corp.io").is_err());
    assert!(!state.path().join("keys/vault.key").exists());
}

#[test]
fn a_session_that_nobody_uses_any_more_is_forgotten() {
    let state = tempfile::tempdir().unwrap();
    open(state.path()).keep(ALICE, "EMAIL", "jane@corp.io").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 24 * 60 * 60);
    let file = files(state.path()).remove(0);
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    open(state.path()).keep(VaultOwner { session: "s2", ..ALICE }, "X", "new").unwrap();
    assert!(!file.exists());
    assert_eq!(files(state.path()).len(), 1);
}

#[test]
fn where_nothing_was_kept_nothing_is_made() {
    let state = tempfile::tempdir().unwrap();
    assert!(open(state.path()).kept(ALICE).unwrap().is_empty());
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}
