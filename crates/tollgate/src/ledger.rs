//! The ledger of a gate: signed, and with an end for every call.
//!
//! The process that made a call may die before it tells how it ended. Whoever keeps the ledger open
//! for long looks through the book for such calls, when it opens and every minute, on a thread of its
//! own; a process that decides an event or two does so only when the event ends a session. What
//! cannot be settled is told as a notice and holds nothing up: the record itself stands.

use crate::Places;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tollgate_gate::{
    Clock, Durability, EventKind, Ledger, LedgerError, Name, Record, RecordKind, Scrub, Soon,
};
use tollgate_policy::Loaded;
use tollgate_policy::detection::DetectScrub;
use tollgate_store::limits::{OUTCOME_LOOK_MS, OUTCOME_WAIT_MS_MAX};
use tollgate_store::{
    Committer, FileLedger, LedgerOptions, OpenCalls, OpenCallsError, Signing, StoreError,
    SystemClock, open_or_make_secret,
};

/// The file of the key that checkpoints are signed with, in the folder of keys.
pub const LEDGER_KEY: &str = "ledger.key";
/// The file of the key that the digests in records are made with, in the folder of keys.
pub const DIGEST_KEY: &str = "digest.key";

/// The trouble that the book's keeper met last.
pub(crate) type Trouble = Arc<Mutex<Option<String>>>;

/// The options under which every program of this installation opens a ledger.
pub fn ledger_options(
    clock: Arc<dyn Clock>,
    committer: Committer,
    keys: Option<&Path>,
) -> LedgerOptions {
    let signing = keys.map(|keys| Signing::new(keys.join(LEDGER_KEY)));
    LedgerOptions { committer, signing, ..LedgerOptions::new(clock) }
}

/// What scrubs records, with digests where there is a folder of keys.
pub(crate) fn scrub_with(keys: Option<&Path>) -> Result<Arc<dyn Scrub>, StoreError> {
    Ok(Arc::new(match keys {
        Some(keys) => DetectScrub::with_key(open_or_make_secret(&keys.join(DIGEST_KEY))?),
        None => DetectScrub::new(),
    }))
}

/// Why what is open in a session could not be settled.
#[derive(Debug, thiserror::Error)]
#[error("what is open in the session stays without an outcome for now: {0}")]
pub struct SettleError(String);

/// Records as unknown what is open in a session that has ended and in those below it, for a host that
/// tells of an end that is no event. Gives the number of outcomes recorded.
///
/// # Errors
/// [`SettleError`] when the ledger cannot be used.
pub fn settle_tree(places: &Places, loaded: &Loaded, root: &str) -> Result<u64, SettleError> {
    let failed = |error: &dyn std::fmt::Display| SettleError(error.to_string());
    let store = loaded.settings.audit_store.as_deref();
    let Some(folder) = places.ledger(store).map_err(|error| failed(&error))? else { return Ok(0) };
    // A session that was never recorded needs no ledger.
    if !folder.is_dir() {
        return Ok(0);
    }
    let keys = places.keys().map_err(|error| failed(&error))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let options = ledger_options(Arc::clone(&clock), Committer::Caller, Some(&keys));
    let file = FileLedger::open(&folder, options).map_err(|error| failed(&error))?;
    let settled = OpenCalls::new(&folder).settle_tree(&file, clock.now(), root);
    settled.map_err(|error| failed(&error))
}

/// A ledger that settles the calls of sessions that end.
pub(crate) struct KeptLedger {
    file: Arc<FileLedger>,
    settling: Settling,
    trouble: Trouble,
}

enum Settling {
    /// By a thread, which hears of sessions that ended.
    Thread(Mutex<Option<Sender<Name>>>, Mutex<Option<JoinHandle<()>>>),
    /// By whoever appends.
    Caller(PathBuf, Arc<dyn Clock>),
}

impl KeptLedger {
    /// Opens it; without a folder of keys it is not signed.
    pub(crate) fn open(
        folder: &Path,
        keys: Option<&Path>,
        clock: Arc<dyn Clock>,
        short_lived: bool,
    ) -> Result<KeptLedger, StoreError> {
        let committer = if short_lived { Committer::Caller } else { Committer::Thread };
        let options = ledger_options(Arc::clone(&clock), committer, keys);
        let file = Arc::new(FileLedger::open(folder, options)?);
        let trouble = Trouble::default();
        let settling = match committer {
            Committer::Caller => Settling::Caller(folder.to_owned(), clock),
            Committer::Thread => {
                let (sender, ended) = channel();
                let keeper = Keeper {
                    calls: OpenCalls::new(folder),
                    file: Arc::clone(&file),
                    clock,
                    trouble: Arc::clone(&trouble),
                };
                let thread = std::thread::Builder::new()
                    .name("tollgate-outcomes".into())
                    .spawn(move || keeper.run(&ended))
                    .map_err(|source| StoreError::Io {
                        verb: "start",
                        name: "the thread that looks for outcomes".into(),
                        source,
                    })?;
                Settling::Thread(Mutex::new(Some(sender)), Mutex::new(Some(thread)))
            }
        };
        Ok(KeptLedger { file, settling, trouble })
    }

    /// Where trouble is told.
    pub(crate) fn trouble(&self) -> Trouble {
        Arc::clone(&self.trouble)
    }

    /// A session has ended: what is open in it stays unknown.
    fn ended(&self, session: &Name) {
        match &self.settling {
            Settling::Thread(sender, _) => {
                if let Some(sender) = &*lock(sender) {
                    // A thread that has ended has told its trouble.
                    let _ = sender.send(Name::clone(session));
                }
            }
            Settling::Caller(folder, clock) => {
                let settled =
                    OpenCalls::new(folder).settle_session(&self.file, clock.now(), session);
                tell(&self.trouble, settled);
            }
        }
    }
}

impl Ledger for KeptLedger {
    fn append(&self, record: Record, durability: Durability) -> Soon<'_, Result<(), LedgerError>> {
        let ended = ended_session(&record);
        let answer = self.file.append(record, durability);
        if let Some(session) = ended {
            self.ended(&session);
        }
        answer
    }
}

impl Drop for KeptLedger {
    /// Ends the thread before the ledger is written out.
    fn drop(&mut self) {
        if let Settling::Thread(sender, thread) = &self.settling {
            drop(lock(sender).take());
            if let Some(thread) = lock(thread).take() {
                // A panic of the thread was its own end; there is nobody to tell.
                let _ = thread.join();
            }
        }
    }
}

/// The session that a record ends.
fn ended_session(record: &Record) -> Option<Name> {
    let ends = record.kind == RecordKind::SessionAbort
        || (record.kind == RecordKind::Decision
            && matches!(record.event, Some(EventKind::AgentEnd | EventKind::AgentAbort)));
    record.session.as_ref().filter(|_| ends).map(|session| Name::clone(&session.id))
}

/// What the thread works with.
struct Keeper {
    calls: OpenCalls,
    file: Arc<FileLedger>,
    clock: Arc<dyn Clock>,
    trouble: Trouble,
}

impl Keeper {
    fn run(mut self, ended: &Receiver<Name>) {
        loop {
            let now = self.clock.now();
            let settled = self.calls.settle_overdue(&self.file, now, OUTCOME_WAIT_MS_MAX);
            tell(&self.trouble, settled);
            loop {
                match ended.recv_timeout(Duration::from_millis(OUTCOME_LOOK_MS)) {
                    Ok(session) => {
                        let now = self.clock.now();
                        tell(&self.trouble, self.calls.settle_session(&self.file, now, &session));
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        }
    }
}

fn tell(trouble: &Trouble, settled: Result<u64, OpenCallsError>) {
    let told = settled.err().map(|error| format!("outcomes that never came stay open: {error}"));
    *lock(trouble) = told;
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::{Places, Tollgate};
    use std::future::Future;
    use std::path::Path;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};
    use tollgate_gate::payload::Ending;
    use tollgate_gate::{Event, Json, ManualClock, Object, Session, Timestamp, ToolCall};
    use tollgate_store::limits::OUTCOME_WAIT_MS_MAX;
    use tollgate_store::{Book, CheckpointKey, Trust, verify};

    fn ready<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        loop {
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(value) = polled {
                return value;
            }
            std::thread::yield_now();
        }
    }

    fn open(folder: &Path, short_lived: bool, now_ms: u64) -> Tollgate {
        let policy = folder.join("policy.yaml");
        std::fs::write(&policy, "version: 1\nhooks: []\n").unwrap();
        let places = Places::of_user(folder).unwrap();
        let places = places.with_policies(vec![policy]).with_state(folder.join("state"));
        let clock = ManualClock::new(Timestamp::from_millis(now_ms));
        let builder = Tollgate::builder().places(places).clock(Arc::new(clock));
        let builder = if short_lived { builder.short_lived() } else { builder };
        builder.open().unwrap()
    }

    fn judge(tollgate: &Tollgate, session: &str, payload: impl Into<tollgate_gate::Payload>) {
        let session = Arc::new(Session::new(session).with_user("alice"));
        ready(tollgate.gate().judge(Event::new(session, payload, tollgate.clock().now())));
    }

    fn call(tollgate: &Tollgate, session: &str) {
        judge(tollgate, session, ToolCall::new("edit", Object::from_iter([("path", "a")])));
    }

    fn records(folder: &Path) -> Vec<Json> {
        let book = Book::open(&folder.join("state/ledger")).unwrap();
        book.entries().map(|entry| entry.unwrap().line.json).collect()
    }

    fn unknown(folder: &Path) -> Vec<String> {
        let is_unknown = |record: &Json| {
            record.get("kind").and_then(Json::as_str) == Some("outcome")
                && record.get("executed").is_some_and(Json::is_null)
        };
        let records = records(folder).into_iter().filter(is_unknown);
        records.map(|record| record.get("session").unwrap().as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_ledger_in_the_state_folder_is_signed_and_records_hold_keyed_digests() {
        let folder = tempfile::tempdir().unwrap();
        for short_lived in [true, false] {
            let tollgate = open(folder.path(), short_lived, 1_000);
            call(&tollgate, "s1");
            drop(tollgate);
        }
        let records = records(folder.path());
        let digests: Vec<&str> = records
            .iter()
            .filter_map(|record| record.get("asked_digest").and_then(Json::as_str))
            .collect();
        assert_eq!(digests.len(), 2);
        assert!(digests[0].starts_with("hmac-sha256:"));
        assert_eq!(digests[0], digests[1], "the key is kept");
        let key = CheckpointKey::open(&folder.path().join("state/keys/ledger.key")).unwrap();
        let trust = Trust { keys: vec![key.public()], ..Trust::default() };
        let found = verify(&folder.path().join("state/ledger"), &trust).unwrap();
        assert_eq!((found.findings, found.signed), (Vec::new(), records.len() as u64));
    }

    #[test]
    fn the_calls_of_a_session_that_ended_are_unknown_whoever_keeps_the_ledger() {
        for short_lived in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let tollgate = open(folder.path(), short_lived, 1_000);
            call(&tollgate, "ended");
            call(&tollgate, "goes-on");
            judge(&tollgate, "ended", Ending::default());
            drop(tollgate);
            assert_eq!(unknown(folder.path()), ["ended"], "short-lived: {short_lived}");
        }
    }

    #[test]
    fn what_another_process_left_open_is_unknown_after_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let tollgate = open(folder.path(), true, 1_000);
        call(&tollgate, "died");
        drop(tollgate);
        drop(open(folder.path(), false, 1_000 + OUTCOME_WAIT_MS_MAX - 1));
        assert_eq!(unknown(folder.path()), Vec::<String>::new());
        drop(open(folder.path(), false, 1_001 + OUTCOME_WAIT_MS_MAX));
        assert_eq!(unknown(folder.path()), ["died"]);
    }
}
