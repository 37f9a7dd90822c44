//! What the tests share: a ledger in a folder of its own, records, and a way to wait.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tollgate_gate::{
    Durability, EventId, Ledger, LedgerError, Record, RecordKind, Session, Timestamp,
};
use tollgate_store::{
    Book, CheckpointKey, Entry, FileLedger, HashValue, LedgerOptions, PublicKey, Signing,
    SystemClock, Trust, Verification, verify,
};

/// A folder for a ledger, gone at the end of the test.
pub(crate) struct Rig {
    dir: tempfile::TempDir,
}

impl Rig {
    pub(crate) fn new() -> Rig {
        Rig { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("ledger")
    }

    pub(crate) fn ledger(&self) -> FileLedger {
        FileLedger::open(&self.folder(), options()).unwrap()
    }

    /// A signed ledger with segments of this size.
    pub(crate) fn signed(&self, segment_bytes_max: u64) -> FileLedger {
        let signing = Some(Signing::new(self.key()));
        let options = LedgerOptions { segment_bytes_max, signing, ..options() };
        FileLedger::open(&self.folder(), options).unwrap()
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder().with_file_name("ledger.key")
    }

    pub(crate) fn public_key(&self, file: &Path) -> PublicKey {
        CheckpointKey::open(file).unwrap().public()
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust { keys: vec![self.public_key(&self.key())], ..Trust::default() }
    }

    pub(crate) fn verify(&self) -> Verification {
        verify(&self.folder(), &self.trust()).unwrap()
    }

    /// All lines, each checked against the one before it.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        entries(&self.folder())
    }

    pub(crate) fn last_file(&self) -> PathBuf {
        Book::open(&self.folder()).unwrap().files().last().unwrap()
    }
}

pub(crate) fn entries(folder: &Path) -> Vec<Entry> {
    let book = Book::open(folder).unwrap();
    let entries: Vec<Entry> = book.entries().map(Result::unwrap).collect();
    let mut prev = HashValue::ZERO;
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(entry.line.seq, at as u64 + 1);
        assert_eq!(entry.line.prev, prev, "line {}", entry.line.seq);
        prev = HashValue::of_line(&entry.text);
    }
    entries
}

pub(crate) fn options() -> LedgerOptions {
    LedgerOptions::new(Arc::new(SystemClock::new()))
}

/// A record that is known by its id.
pub(crate) fn record(id: &str) -> Record {
    let mut record =
        Record::new(EventId::Given(id.into()), Timestamp::from_millis(1), RecordKind::Switch);
    record.session = Some(Arc::new(Session::new("s1")));
    record
}

pub(crate) fn append(ledger: &FileLedger, id: &str) -> Result<(), LedgerError> {
    wait(ledger.append(record(id), Durability::BeforeEffect))
}

/// The member of a line that is a text.
pub(crate) fn text<'a>(entry: &'a Entry, key: &str) -> &'a str {
    entry.line.json.get(key).and_then(|value| value.as_str()).unwrap_or_default()
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future without any runtime.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
