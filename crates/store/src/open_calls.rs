//! Calls that were let through and whose outcome has not come yet; after a time it is recorded as
//! unknown.
//!
//! A process that dies in a call tells nobody how it ended, so the book itself is read: a decision
//! that let a call through is open until its outcome stands behind it. Reading goes on where it
//! stopped, and a mark in the ledger's folder says where the oldest open call stands, so that a new
//! process need not start at the beginning. An outcome that comes late stands behind the unknown one
//! and holds.

use crate::book::{Book, BookError, Entries};
use crate::folder::{FileHeld, open_file, put_whole, wait_for};
use crate::ledger::FileLedger;
use crate::limits::OPEN_CALLS_MAX;
use crate::{disk::Leave, disk::OpenHow, error::StoreError};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tollgate_gate::{
    Durability, EventId, EventKind, Json, LedgerError, Name, Record, RecordKind, Session, Timestamp,
};

/// The file that says from where on there may be open calls.
const MARK_NAME: &str = "open-calls";
/// The file whose lock one process at a time holds while it records unknown outcomes.
const LOCK_NAME: &str = "open-calls.lock";
/// How long to wait for it, in milliseconds: a child that was just started may hold it for a moment.
const LOCK_MS_MAX: u64 = 500;

/// Why open calls cannot be settled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenCallsError {
    /// The book cannot be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// An outcome cannot be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file beside the book cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A place in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    segment: u64,
    offset: u64,
}

/// A call that was let through.
struct OpenCall {
    mark: Mark,
    at: Timestamp,
    key: Key,
    decision: String,
    record: Record,
}

/// What an outcome without its decision's id is matched by: session and call, or session and tool.
type Key = (String, String);

/// The calls of a book whose outcome has not come yet.
pub struct OpenCalls {
    folder: PathBuf,
    next: Mark,
    /// By the number of their record.
    calls: BTreeMap<u64, OpenCall>,
    by_decision: HashMap<String, u64>,
    by_key: HashMap<Key, VecDeque<u64>>,
}

impl OpenCalls {
    /// The open calls of the ledger in this folder; nothing is read yet.
    pub fn new(folder: &Path) -> OpenCalls {
        // A mark that cannot be read costs time, nothing else.
        let mark = fs::read_to_string(folder.join(MARK_NAME)).ok();
        let next = mark.as_deref().and_then(read_mark).unwrap_or(Mark { segment: 1, offset: 0 });
        OpenCalls {
            folder: folder.to_owned(),
            next,
            calls: BTreeMap::new(),
            by_decision: HashMap::new(),
            by_key: HashMap::new(),
        }
    }

    /// How many calls are open, as far as the book was read.
    pub fn count(&self) -> usize {
        self.calls.len()
    }

    /// Reads what was written since.
    ///
    /// # Errors
    /// [`BookError`] when the book cannot be read.
    pub fn read_on(&mut self) -> Result<(), BookError> {
        let book = Book::open(&self.folder)?;
        let end = book.head().map(|head| (head.now.segment, head.now.end));
        let first = self.next.segment;
        for (segment, file) in book.segments().filter(|(segment, _)| *segment >= first) {
            let until = match end {
                Some((last, _)) if segment > last => break,
                Some((last, end)) if segment == last => end,
                Some(_) | None => u64::MAX,
            };
            let from = if segment == self.next.segment { self.next.offset } else { 0 };
            for entry in Entries::open_range(file, from, until)? {
                let entry = entry?;
                let mark = Mark { segment, offset: entry.offset };
                self.next = Mark { segment, offset: entry.offset + entry.text.len() as u64 + 1 };
                self.take(entry.line.seq, mark, &entry.line.json);
            }
        }
        Ok(())
    }

    /// Records as unknown what was let through longer ago than this. Gives the number of outcomes
    /// recorded; none if another process is at it.
    ///
    /// # Errors
    /// [`OpenCallsError`] when the book cannot be read or written.
    pub fn settle_overdue(
        &mut self,
        ledger: &FileLedger,
        now: Timestamp,
        after_ms: u64,
    ) -> Result<u64, OpenCallsError> {
        let reason = format!("no outcome came within {} s", after_ms / 1000);
        self.settle(ledger, now, &reason, |call| call.at.plus_millis(after_ms) <= now)
    }

    /// Records as unknown what is open in a session that has ended.
    ///
    /// # Errors
    /// As [`OpenCalls::settle_overdue`].
    pub fn settle_session(
        &mut self,
        ledger: &FileLedger,
        now: Timestamp,
        session: &str,
    ) -> Result<u64, OpenCallsError> {
        let reason = "no outcome came before the session ended";
        self.settle(ledger, now, reason, |call| call.key.0 == session)
    }

    /// Records as unknown what is open in a session that has ended, or in one below it.
    ///
    /// # Errors
    /// As [`OpenCalls::settle_overdue`].
    pub fn settle_tree(
        &mut self,
        ledger: &FileLedger,
        now: Timestamp,
        root: &str,
    ) -> Result<u64, OpenCallsError> {
        let reason = "no outcome came before the session ended";
        let is_below = |call: &OpenCall| call.record.root.as_deref() == Some(root);
        self.settle(ledger, now, reason, |call| call.key.0 == root || is_below(call))
    }

    fn settle(
        &mut self,
        ledger: &FileLedger,
        now: Timestamp,
        reason: &str,
        is_over: impl Fn(&OpenCall) -> bool,
    ) -> Result<u64, OpenCallsError> {
        let Some(_held) = self.lock()? else { return Ok(0) };
        self.read_on()?;
        let spare = self.calls.len().saturating_sub(OPEN_CALLS_MAX);
        let over: Vec<u64> = (0..)
            .zip(&self.calls)
            .filter(|(at, (_, call))| *at < spare || is_over(call))
            .map(|(_, (seq, _))| *seq)
            .collect();
        for seq in &over {
            let Some(call) = self.remove(*seq) else { continue };
            let mut record = call.record;
            record.id = EventId::made(now);
            record.at = now;
            record.reason = Some(reason.into());
            ledger.append_blocking(&record, Durability::Buffered)?;
        }
        ledger.flush()?;
        self.write_mark()?;
        Ok(over.len() as u64)
    }

    fn take(&mut self, seq: u64, mark: Mark, json: &Json) {
        let text = |key| json.get(key).and_then(Json::as_str);
        match text("kind") {
            Some("decision") if text("verdict") == Some("allow") => {
                let (Some(decision), Some(call)) = (text("id"), open_call(mark, json)) else {
                    return;
                };
                self.by_decision.insert(decision.to_owned(), seq);
                self.by_key.entry(call.key.clone()).or_default().push_back(seq);
                self.calls.insert(seq, call);
            }
            Some("outcome") => {
                let seq = match text("decision") {
                    Some(decision) => self.by_decision.get(decision).copied(),
                    None => self.by_key.get(&key_of(json)).and_then(|calls| calls.front().copied()),
                };
                if let Some(seq) = seq {
                    self.remove(seq);
                }
            }
            Some(_) | None => {}
        }
    }

    fn remove(&mut self, seq: u64) -> Option<OpenCall> {
        let call = self.calls.remove(&seq)?;
        self.by_decision.remove(&call.decision);
        if let Some(calls) = self.by_key.get_mut(&call.key) {
            // Usually the oldest; a scan of all for each would not be linear.
            match calls.front() == Some(&seq) {
                true => drop(calls.pop_front()),
                false => calls.retain(|other| *other != seq),
            }
            if calls.is_empty() {
                self.by_key.remove(&call.key);
            }
        }
        Some(call)
    }

    /// None if another process is at it.
    fn lock(&self) -> Result<Option<FileHeld>, StoreError> {
        let path = self.folder.join(LOCK_NAME);
        let file = open_file(&path, OpenHow::OrNew)
            .map_err(|error| StoreError::io("open", path.to_string_lossy(), error))?;
        match wait_for(&Arc::new(file), Instant::now() + Duration::from_millis(LOCK_MS_MAX)) {
            Ok(held) => Ok(Some(held)),
            Err(StoreError::Busy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says where the oldest open call stands. Whoever reads on from an older mark only reads more.
    fn write_mark(&self) -> Result<(), StoreError> {
        let mark = self.calls.values().next().map_or(self.next, |call| call.mark);
        let path = self.folder.join(MARK_NAME);
        let text = format!("{} {}\n", mark.segment, mark.offset);
        put_whole(&path, text.as_bytes(), Leave::Written)
            .map_err(|error| StoreError::io("write", path.to_string_lossy(), error))
    }
}

fn read_mark(text: &str) -> Option<Mark> {
    let (segment, offset) = text.trim_end().split_once(' ')?;
    Some(Mark { segment: segment.parse().ok()?, offset: offset.parse().ok()? })
}

/// What an outcome without its decision's id is matched by.
fn key_of(json: &Json) -> Key {
    let text = |key| json.get(key).and_then(Json::as_str);
    let call = match (text("call_id"), text("tool").or(text("model"))) {
        (Some(call), _) => format!("call {call}"),
        (None, Some(tool)) => format!("tool {tool}"),
        (None, None) => String::new(),
    };
    (text("session").unwrap_or_default().to_owned(), call)
}

/// The call of a decision, with the outcome that it gets if none comes; none for what has none.
fn open_call(mark: Mark, json: &Json) -> Option<OpenCall> {
    let text = |key| json.get(key).and_then(Json::as_str);
    let name = |key| text(key).map(Name::from);
    let event = match text("event")? {
        "pre_tool" => EventKind::PreTool,
        "pre_model" => EventKind::PreModel,
        _ => return None,
    };
    let at = text("at").and_then(Timestamp::parse)?;
    let decision = text("id")?.to_owned();
    let session = Session {
        id: name("session")?,
        tenant: name("tenant"),
        user: name("user"),
        agent: name("agent"),
        parent: name("parent"),
        host: name("host"),
        cwd: name("cwd"),
        ..Session::default()
    };
    let id = EventId::Given(decision.as_str().into());
    let mut record = Record::new(id.clone(), at, RecordKind::Outcome);
    record.event = Some(event);
    record.decision = Some(id);
    record.session = Some(Arc::new(session));
    record.root = name("root");
    record.tool = name("tool");
    record.server = name("server");
    record.model = name("model");
    record.call_id = name("call_id");
    record.policy = name("policy");
    Some(OpenCall { mark, at, key: key_of(json), decision, record })
}
