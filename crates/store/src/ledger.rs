//! The ledger on disk.
//!
//! Many callers, one committing thread: while it waits for the disk, what comes in gathers to the
//! next batch, so that one sync serves all who wait. Records that nobody waits for gather for a moment
//! ([`GATHER_MS`]), or each would wake the thread and be written by itself. A short-lived process that appends a record or
//! two needs no thread and no hand-over: there the caller commits ([`Committer::Caller`]).
//!
//! After any write error the ledger is closed: every later append is refused with the first error. A disk
//! that was full is no reason to stay so: the next append after a pause reads the end of the book again,
//! as after a crash, and goes on if there is room. After a failed sync it stays closed: what the disk
//! did with it cannot be known, and trying again would hide it.

use crate::batch::{Answer, Bodies, Outcome, Waiting};
use crate::disk::Leave;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::limits::{
    BATCH_BYTES_MAX, BUFFERED_MS_MAX, BUFFERED_RECORDS_MAX, CHECKPOINT_MS, CHECKPOINT_RECORDS,
    GATHER_BYTES, GATHER_MS, PREFILL_BYTES, QUEUE_BYTES_MAX, RECORD_BYTES_MAX, REOPEN_MS,
    SEGMENT_BYTES_MAX, SEGMENT_BYTES_MAX_ALLOWED,
};
use crate::writer::{Key, Layout, Signer, Writer};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tollgate_gate::{Clock, Durability, Ledger, LedgerError, Record, Soon};

/// Room for a usual record, in bytes.
const RECORD_BYTES_USUAL: usize = 1024;

/// Shortest pause of the committing thread before it looks again whether a checkpoint is due.
const SIGN_MS_MIN: u64 = 10;

/// Who writes to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committer {
    /// A thread of the ledger: for programs that live on and have many callers. It starts with the
    /// first record.
    Thread,
    /// Whoever appends, before it gets its answer: for processes that append a record or two.
    Caller,
}

/// How the book is signed.
#[derive(Debug, Clone)]
pub struct Signing {
    /// The file of the key, in a folder that only its owner may write to, and not the ledger's; made
    /// if it is not there. The last checkpoint is kept beside it.
    pub key_file: PathBuf,
    /// Records from one checkpoint to the next.
    pub every_records: u64,
    /// Time from one checkpoint to the next, in milliseconds, while there is anything to sign. Without
    /// a committing thread it is looked at when a record is written.
    pub every_ms: u64,
}

impl Signing {
    /// With this key, every [`CHECKPOINT_RECORDS`] or [`CHECKPOINT_MS`].
    pub fn new(key_file: impl Into<PathBuf>) -> Signing {
        Signing {
            key_file: key_file.into(),
            every_records: CHECKPOINT_RECORDS,
            every_ms: CHECKPOINT_MS,
        }
    }
}

/// How the ledger is kept.
#[derive(Clone)]
pub struct LedgerOptions {
    /// The time, for records that the ledger itself writes.
    pub clock: Arc<dyn Clock>,
    /// Who writes to the disk.
    pub committer: Committer,
    /// Data in a segment, in bytes, from which on the next one is begun; at most
    /// [`SEGMENT_BYTES_MAX_ALLOWED`].
    pub segment_bytes_max: u64,
    /// How the book is signed; unsigned, nothing shows that its end was rewritten.
    pub signing: Option<Signing>,
}

impl LedgerOptions {
    /// A committing thread, segments of [`SEGMENT_BYTES_MAX`], not signed.
    pub fn new(clock: Arc<dyn Clock>) -> LedgerOptions {
        LedgerOptions {
            clock,
            committer: Committer::Thread,
            segment_bytes_max: SEGMENT_BYTES_MAX,
            signing: None,
        }
    }
}

/// What a ledger has done since it was opened by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerStats {
    /// Records that were written.
    pub records: u64,
    /// Batches that they were written in.
    pub batches: u64,
    /// Syncs.
    pub syncs: u64,
    /// Buffered records that a crash would lose now.
    pub at_risk: u64,
    /// Buffered records that were answered for and then could not be written, or are not known to be
    /// on disk because a write failed.
    pub lost: u64,
}

/// The ledger on disk: a folder of segment files.
pub struct FileLedger {
    shared: Arc<Shared>,
    committer: Committer,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    /// Never locked while `queue` is; `queue` may be locked while this is.
    writer: Mutex<Writer>,
}

/// Why the ledger is closed.
struct Failed {
    why: String,
    /// From when on it may be tried again; never, without it.
    retry_at: Option<Instant>,
}

struct Queue {
    waiting: VecDeque<Batch>,
    bytes: usize,
    /// The thread has been started.
    started: bool,
    closing: bool,
    /// The book was finished.
    finished: bool,
    failed: Option<Failed>,
    stats: LedgerStats,
}

/// When the committing thread has to do something by itself.
#[derive(Default)]
struct Due {
    sync: Option<Instant>,
    sign: Option<Instant>,
}

struct Batch {
    bodies: Bodies,
    /// Records that were answered for when they joined.
    buffered: u64,
    /// Whoever appends commits, and is answered afterwards.
    by_caller: bool,
    leave: Leave,
    /// Nothing comes after it.
    last: bool,
    /// Until when it may gather more; it has only records that nobody waits for.
    gathers: Option<Instant>,
    answer: Arc<Answer>,
}

impl FileLedger {
    /// Opens the ledger in this folder, or makes it; repairs what a crash has left at its end.
    ///
    /// # Errors
    /// [`StoreError`]: a folder that is not safe, files that cannot be read or written, a ledger that
    /// is damaged or held by another process for too long.
    pub fn open(folder: &Path, options: LedgerOptions) -> Result<FileLedger, StoreError> {
        let disk = Box::new(Folder::open(folder)?);
        let layout = Layout {
            segment_bytes_max: options.segment_bytes_max.min(SEGMENT_BYTES_MAX_ALLOWED),
            prefill_bytes: PREFILL_BYTES,
        };
        let signer = options.signing.map(|signing| Signer {
            key: Key::File(signing.key_file),
            folder: folder.to_owned(),
            every_records: signing.every_records,
            every_ms: signing.every_ms,
        });
        let mut writer = Writer::open(disk, options.clock, layout, signer)?;
        // A program that lives on learns at once that it cannot sign.
        if options.committer == Committer::Thread {
            writer.read_key()?;
        }
        Ok(FileLedger::over(writer, options.committer))
    }

    pub(crate) fn over(writer: Writer, committer: Committer) -> FileLedger {
        let queue = Queue {
            waiting: VecDeque::new(),
            bytes: 0,
            started: false,
            closing: false,
            finished: false,
            failed: None,
            stats: LedgerStats::default(),
        };
        let shared =
            Shared { queue: Mutex::new(queue), filled: Condvar::new(), writer: Mutex::new(writer) };
        FileLedger { shared: Arc::new(shared), committer, thread: Mutex::new(None) }
    }

    /// What this process has done with it.
    pub fn stats(&self) -> LedgerStats {
        self.shared.queue().stats
    }

    /// Blocks until everything that was appended so far is on disk.
    ///
    /// # Errors
    /// [`LedgerError`] when it could not be written.
    pub fn flush(&self) -> Result<(), LedgerError> {
        match self.committer {
            Committer::Thread => {
                let mut queue = self.shared.queue();
                let answer = queue.join(&[], Durability::BeforeEffect)?;
                let started = std::mem::replace(&mut queue.started, true);
                drop(queue);
                self.wake(started)?;
                answer.wait()
            }
            Committer::Caller => self.shared.commit(&Batch::empty()),
        }
    }

    /// Appends a record and blocks until the answer is there; for callers that are no futures.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn append_blocking(
        &self,
        record: &Record,
        durability: Durability,
    ) -> Result<(), LedgerError> {
        let body = body_of(record).map_err(|error| storage(&error))?;
        match self.append_body(&body, durability) {
            Handed::Answered(outcome) => outcome,
            Handed::Over(answer) => answer.wait(),
        }
    }

    fn append_body(&self, body: &[u8], durability: Durability) -> Handed {
        match self.committer {
            Committer::Caller => Handed::Answered(self.commit_by_caller(body, durability)),
            Committer::Thread => self.hand_over(body, durability),
        }
    }

    /// A buffered record is left with the system, which keeps it though this process ends; the next
    /// durable record of any process, or one too many, brings it to disk.
    fn commit_by_caller(&self, body: &[u8], durability: Durability) -> Outcome {
        let leave = match durability {
            Durability::BeforeEffect => Leave::Synced,
            Durability::Buffered => Leave::Written,
        };
        let bodies = Bodies::of(body.to_vec());
        self.shared.commit(&Batch { bodies, leave, by_caller: true, ..Batch::empty() })
    }

    fn hand_over(&self, body: &[u8], durability: Durability) -> Handed {
        let mut queue = self.shared.queue();
        let is_awaited = queue.is_awaited();
        // While a crash could lose as much as it may, a buffered record waits like any other.
        let at_once = durability == Durability::Buffered
            && queue.stats.at_risk < BUFFERED_RECORDS_MAX
            && queue.failed.is_none();
        let durability = if at_once { Durability::Buffered } else { Durability::BeforeEffect };
        let answer = match queue.join(body, durability) {
            Ok(answer) => answer,
            Err(error) => return Handed::Answered(Err(error)),
        };
        let started = std::mem::replace(&mut queue.started, true);
        let is_to_wake = !started || is_awaited != queue.is_awaited() || queue.is_first_of_batch();
        drop(queue);
        if is_to_wake && let Err(error) = self.wake(started) {
            return Handed::Answered(Err(error));
        }
        if at_once { Handed::Answered(Ok(())) } else { Handed::Over(answer) }
    }

    /// Wakes the committing thread, which starts with the first record.
    fn wake(&self, started: bool) -> Result<(), LedgerError> {
        if started {
            self.shared.filled.notify_one();
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("tollgate-ledger".into())
            .spawn(move || shared.run())
            .map_err(|error| StoreError::io("start", "the committing thread", error))
            .map_err(|error| self.shared.give_up(&error))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }
}

impl Ledger for FileLedger {
    fn append(&self, record: Record, durability: Durability) -> Soon<'_, Result<(), LedgerError>> {
        let body = match body_of(&record) {
            Ok(body) => body,
            Err(error) => return Soon::now(Err(storage(&error))),
        };
        match self.append_body(&body, durability) {
            Handed::Answered(outcome) => Soon::now(outcome),
            Handed::Over(answer) => Soon::later(Waiting::new(answer)),
        }
    }
}

/// What became of a record.
enum Handed {
    /// It was answered for.
    Answered(Outcome),
    /// It waits for its batch.
    Over(Arc<Answer>),
}

/// A record as JSON.
pub(crate) fn body_of(record: &Record) -> Result<Vec<u8>, StoreError> {
    let mut body = Vec::with_capacity(RECORD_BYTES_USUAL);
    serde_json::to_writer(&mut body, record)
        .map_err(|error| StoreError::NoJson(error.to_string()))?;
    match body.len() {
        bytes if bytes > RECORD_BYTES_MAX => {
            Err(StoreError::RecordTooLarge { bytes, max: RECORD_BYTES_MAX })
        }
        _ => Ok(body),
    }
}

impl Drop for FileLedger {
    /// Writes what waits, and ends the thread.
    fn drop(&mut self) {
        self.shared.queue().closing = true;
        self.shared.filled.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was its own end; there is nobody to tell.
            let _ = thread.join();
        }
    }
}

impl Batch {
    fn empty() -> Batch {
        Batch {
            bodies: Bodies::default(),
            buffered: 0,
            by_caller: false,
            leave: Leave::Synced,
            last: false,
            gathers: None,
            answer: Arc::default(),
        }
    }
}

impl Failed {
    fn may_retry(&self) -> bool {
        self.retry_at.is_some_and(|at| Instant::now() >= at)
    }
}

impl Queue {
    /// Puts a record (none for an empty body) into the batch that is to go next.
    fn join(&mut self, body: &[u8], durability: Durability) -> Result<Arc<Answer>, LedgerError> {
        if let Some(failed) = self.failed.as_ref().filter(|failed| !failed.may_retry()) {
            return Err(storage(&StoreError::Closed(failed.why.clone())));
        }
        if self.bytes + body.len() > QUEUE_BYTES_MAX {
            return Err(storage(&StoreError::QueueFull { max: QUEUE_BYTES_MAX }));
        }
        let fits = |batch: &&mut Batch| batch.bodies.bytes() + body.len() <= BATCH_BYTES_MAX;
        if self.waiting.back_mut().filter(fits).is_none() {
            let gathers = Some(Instant::now() + Duration::from_millis(GATHER_MS));
            self.waiting.push_back(Batch { leave: Leave::Written, gathers, ..Batch::empty() });
        }
        let Some(batch) = self.waiting.back_mut() else { return Ok(Arc::default()) };
        if !body.is_empty() {
            batch.bodies.push(body);
            self.bytes += body.len();
        }
        match durability {
            Durability::BeforeEffect => {
                batch.leave = Leave::Synced;
                batch.gathers = None;
            }
            Durability::Buffered => {
                batch.buffered += 1;
                self.stats.at_risk += 1;
            }
        }
        Ok(Arc::clone(&batch.answer))
    }

    /// Whether somebody waits for what is to go next, or that is as much as may gather.
    fn is_awaited(&self) -> bool {
        let Some(first) = self.waiting.front() else { return false };
        first.gathers.is_none()
            || self.waiting.len() > 1
            || first.bodies.bytes() >= GATHER_BYTES
            || self.stats.at_risk >= BUFFERED_RECORDS_MAX / 2
    }

    /// Whether what joined last is the first of all that waits.
    fn is_first_of_batch(&self) -> bool {
        self.waiting.len() == 1
            && self.waiting.front().is_some_and(|batch| batch.bodies.count() == 1)
    }

    /// Until when what is to go next gathers more.
    fn gathers(&self, now: Instant) -> Option<Instant> {
        let until = self.waiting.front()?.gathers?;
        (until > now && !self.is_awaited() && !self.closing).then_some(until)
    }

    fn count_written(&mut self, batch: &Batch, left: Leave) {
        self.stats.records += batch.bodies.count();
        self.stats.batches += u64::from(!batch.bodies.is_empty());
        match left {
            // What joined since this batch was taken is still at risk.
            Leave::Synced => {
                self.stats.syncs += 1;
                self.stats.at_risk = self.waiting.iter().map(|batch| batch.buffered).sum();
            }
            Leave::Written if batch.by_caller => self.stats.at_risk += batch.bodies.count(),
            Leave::Written => {}
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The committing thread.
    fn run(&self) {
        let mut due = Due::default();
        while let Some(batch) = self.next(&due) {
            // A panic must not leave callers waiting for ever.
            let commit = AssertUnwindSafe(|| self.commit(&batch));
            let outcome = catch_unwind(commit).unwrap_or_else(|_| {
                Err(self.fail(&StoreError::Closed("the committing thread panicked".into())))
            });
            let is_done = outcome.is_err() && self.queue().closing;
            batch.answer.give(outcome);
            if is_done {
                break;
            }
            due = self.next_due(due, &batch);
        }
        // Whoever still waits must hear that nobody commits any more.
        self.give_up(&StoreError::Closed("the committing thread has ended".into()));
    }

    /// When the thread has to do something by itself, after this batch.
    fn next_due(&self, due: Due, batch: &Batch) -> Due {
        let after = |ms| Instant::now() + Duration::from_millis(ms);
        let at_risk = self.queue().stats.at_risk;
        let sign = self.writer.lock().unwrap_or_else(PoisonError::into_inner).sign_due_ms();
        Due {
            sync: (at_risk > 0)
                .then(|| due.sync.filter(|_| batch.leave == Leave::Written))
                .map(|kept| kept.unwrap_or_else(|| after(BUFFERED_MS_MAX))),
            // A clock that stands still must not make this thread run in circles.
            sign: sign.map(|ms| after(ms.max(SIGN_MS_MIN))),
        }
    }

    /// Closes the ledger and answers all who wait.
    fn give_up(&self, error: &StoreError) -> LedgerError {
        let heard = self.fail(error);
        let waiting = std::mem::take(&mut self.queue().waiting);
        for batch in waiting {
            self.count_lost(&batch);
            batch.answer.give(Err(heard.clone()));
        }
        heard
    }

    /// The next batch; an empty one when something is due; at the end one that finishes the book.
    fn next(&self, due: &Due) -> Option<Batch> {
        let mut queue = self.queue();
        loop {
            let now = Instant::now();
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            let gathers = queue.gathers(now);
            if gathers.is_none()
                && let Some(mut batch) = queue.waiting.pop_front()
            {
                queue.bytes = queue.bytes.saturating_sub(batch.bodies.bytes());
                if is_due(due.sync) || queue.stats.at_risk >= BUFFERED_RECORDS_MAX {
                    batch.leave = Leave::Synced;
                }
                return Some(batch);
            }
            if queue.closing {
                let is_last = !std::mem::replace(&mut queue.finished, true);
                return is_last.then(|| Batch { last: true, ..Batch::empty() });
            }
            if gathers.is_none() && (is_due(due.sync) || is_due(due.sign)) {
                return Some(Batch::empty());
            }
            let due = if gathers.is_some() { [gathers, None] } else { [due.sync, due.sign] };
            queue = match due.into_iter().flatten().min() {
                None => self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let waited = self.filled.wait_timeout(queue, at - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn commit(&self, batch: &Batch) -> Outcome {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.reopen(&mut writer) {
            self.count_lost(batch);
            return Err(storage(&error));
        }
        let done = match (batch.last, batch.bodies.is_empty()) {
            (true, _) => writer.finish().map(|()| Leave::Synced),
            (false, true) => writer.sync().map(|()| Leave::Synced),
            (false, false) => writer.commit(&batch.bodies, batch.leave),
        };
        match done {
            Ok(left) => {
                self.queue().count_written(batch, left);
                Ok(())
            }
            // The writer is let go only when everybody can see that it has failed.
            Err(error) => {
                self.count_lost(batch);
                Err(self.fail(&error))
            }
        }
    }

    /// Opens a ledger again that a full disk has closed, when that may be tried.
    fn reopen(&self, writer: &mut Writer) -> Result<(), StoreError> {
        match &mut self.queue().failed {
            None => return Ok(()),
            Some(failed) if failed.may_retry() => failed.retry_at = Some(retry_at()),
            Some(failed) => return Err(StoreError::Closed(failed.why.clone())),
        }
        match writer.reopen() {
            Ok(()) => {
                self.queue().failed = None;
                Ok(())
            }
            Err(error) => {
                if let Some(failed) = &mut self.queue().failed
                    && !error.is_passing()
                    && !error.is_want_of_room()
                {
                    *failed = Failed { why: error.to_string(), retry_at: None };
                }
                Err(error)
            }
        }
    }

    fn count_lost(&self, batch: &Batch) {
        let mut queue = self.queue();
        queue.stats.lost += batch.buffered;
        queue.stats.at_risk = queue.stats.at_risk.saturating_sub(batch.buffered);
    }

    /// Closes the ledger, unless the error passes.
    fn fail(&self, error: &StoreError) -> LedgerError {
        if !error.is_passing() {
            let mut queue = self.queue();
            if queue.failed.is_none() {
                let retry_at = error.is_want_of_room().then(retry_at);
                queue.failed = Some(Failed { why: error.to_string(), retry_at });
            }
            // Nobody can say any more which of them are on disk.
            let waiting: u64 = queue.waiting.iter().map(|batch| batch.buffered).sum();
            queue.stats.lost += queue.stats.at_risk.saturating_sub(waiting);
            queue.stats.at_risk = waiting;
        }
        storage(error)
    }
}

/// When a ledger that a full disk has closed is tried again.
fn retry_at() -> Instant {
    Instant::now() + Duration::from_millis(REOPEN_MS)
}

/// What the gate hears.
fn storage(error: &StoreError) -> LedgerError {
    LedgerError::Storage(error.to_string())
}
