//! Folders that cannot be written: the ledger refuses to open and changes nothing, and reading goes on.
//!
//! Root may write everywhere, so under root the test runs itself again as another user.

use crate::rig::{Rig, append};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use tollgate_store::{Book, FileLedger, Index, StoreError};

const FOLDER_VARIABLE: &str = "TOLLGATE_TEST_READ_ONLY_FOLDER";
/// The user `nobody`.
const OTHER: u32 = 65_534;

/// What holds for a ledger in a folder that this user cannot write to.
fn refuses_and_reads(folder: &Path) {
    let Err(error) = FileLedger::open(folder, crate::rig::options()) else {
        panic!("a ledger that cannot be written was opened");
    };
    let StoreError::Io { name, source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::PermissionDenied, "{error}");
    assert!(name.contains("ledger"), "the error names the place: {error}");
    assert_eq!(Book::open(folder).unwrap().entries().filter(Result::is_ok).count(), 3);
    assert!(Index::open(folder).is_err());
    assert!(!folder.join("index.db").exists());
}

#[test]
#[ignore = "the child of the test below; it does nothing by itself"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    refuses_and_reads(folder.as_ref());
    println!("held");
}

#[test]
fn a_ledger_in_a_folder_that_cannot_be_written_is_refused_and_can_be_read() {
    let rig = Rig::new();
    let folder = rig.folder();
    let ledger = rig.ledger();
    (0..3).for_each(|at| append(&ledger, &format!("r{at}")).unwrap());
    drop(ledger);
    let above = folder.parent().unwrap().to_owned();
    let is_root = fs::metadata(&above).unwrap().uid() == 0;
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &files {
        fs::set_permissions(path, Permissions::from_mode(0o400)).unwrap();
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o500)).unwrap();
    if !is_root {
        refuses_and_reads(&folder);
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        return;
    }
    for path in files.iter().chain([&folder]) {
        chown(path, Some(OTHER), Some(OTHER)).unwrap();
    }
    fs::set_permissions(&above, Permissions::from_mode(0o711)).unwrap();
    // The other user need not be able to reach the place where this program was built.
    let program = above.join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let ran = Command::new(&program)
        .args(["--exact", "folders::child", "--ignored", "--nocapture"])
        .env(FOLDER_VARIABLE, &folder)
        .current_dir("/")
        .uid(OTHER)
        .gid(OTHER)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.contains("held"), "{said} {}", String::from_utf8_lossy(&ran.stderr));
}
