//! The ledgers of this crate keep what the gate expects of every ledger.

use crate::ledger_contract::{UnderTest, check};
use crate::rig::options;
use std::sync::Arc;
use tollgate_store::{Book, Committer, FileLedger, LedgerOptions, Signing};

#[test]
fn a_ledger_on_disk_keeps_the_contract_whoever_commits() {
    for committer in [Committer::Thread, Committer::Caller] {
        check(&|| {
            let dir = tempfile::tempdir().unwrap();
            let folder = dir.path().join("ledger");
            let signing = Signing { every_records: 16, ..Signing::new(dir.path().join("key")) };
            let options = LedgerOptions {
                committer,
                segment_bytes_max: 8_000,
                signing: Some(signing),
                ..options()
            };
            let ledger = Arc::new(FileLedger::open(&folder, options).unwrap());
            let read = move || {
                // The folder lives as long as somebody reads it.
                let _dir = &dir;
                let book = Book::open(&folder).unwrap();
                book.entries().map(|entry| entry.unwrap().line.json).collect()
            };
            UnderTest { ledger, read: Box::new(read) }
        });
    }
}
