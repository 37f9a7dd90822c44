//! The one writer of a process: takes a batch, and puts it behind the end of the book under the lock.
//!
//! A batch costs one write, one sync and one small write of the head. The writer trusts its memory
//! only as far as the head on disk agrees with it, for another process may have written in between,
//! and only if nothing stands behind the end, for another process may have died there.

use crate::batch::Bodies;
use crate::checkpoint::{self, Checkpoint, origin};
use crate::disk::{Disk, DiskFile, Leave, OpenHow, read_range};
use crate::error::StoreError;
use crate::handover;
use crate::head::{HEAD_NAME, Head, Place, Signed};
use crate::kept::{self, leads_to, set_back};
use crate::key::CheckpointKey;
use crate::limits::{BUFFERED_RECORDS_MAX, HEAD_BYTES_MAX};
use crate::line::write_line;
use crate::recovery::{Cut, check_last_line, recover};
use crate::segment::{is_blank, segment_name};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate_gate::json::Object;
use tollgate_gate::{Clock, EventId, Json, Record, RecordKind};

/// How segments are laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Data from which on a segment is sealed.
    pub(crate) segment_bytes_max: u64,
    /// Newlines ahead of the data.
    pub(crate) prefill_bytes: u64,
}

/// When checkpoints are made, and with which key.
pub(crate) struct Signer {
    pub(crate) key: Key,
    /// Where the ledger is, by which its last checkpoint is kept beside the key.
    pub(crate) folder: PathBuf,
    pub(crate) every_records: u64,
    pub(crate) every_ms: u64,
}

/// The key, or where it is: a process that signs nothing need not read it.
pub(crate) enum Key {
    File(PathBuf),
    Read {
        key: Box<CheckpointKey>,
        /// Where the last checkpoint is kept beside it.
        file: Option<PathBuf>,
    },
}

impl Key {
    /// Reads the key, if that was not done yet.
    pub(crate) fn read(&mut self) -> Result<(&CheckpointKey, Option<&Path>), StoreError> {
        if let Key::File(file) = self {
            let key = Box::new(CheckpointKey::open_or_make(file)?);
            *self = Key::Read { key, file: Some(file.clone()) };
        }
        match self {
            Key::Read { key, file } => Ok((key, file.as_deref())),
            Key::File(file) => Err(StoreError::Key { file: file.clone(), what: "it was not read" }),
        }
    }

    /// Its file, if it lies in one.
    fn file(&self) -> Option<&Path> {
        match self {
            Key::File(file) => Some(file),
            Key::Read { file, .. } => file.as_deref(),
        }
    }
}

/// The writer of a process.
pub(crate) struct Writer {
    disk: Box<dyn Disk>,
    clock: Arc<dyn Clock>,
    layout: Layout,
    signer: Option<Signer>,
    head_file: Box<dyn DiskFile>,
    /// The text of the head as this process knows it.
    head_text: Vec<u8>,
    head: Head,
    open: Option<OpenSegment>,
    /// From where on this process has not seen itself that the book leads on; none if it has seen
    /// everything since.
    unseen: Option<Place>,
    /// The largest number that a line of this process has vouched for.
    vouched: u64,
    lines: Vec<u8>,
}

/// The segment that is written to.
struct OpenSegment {
    first_seq: u64,
    file: Box<dyn DiskFile>,
    /// Its length, newlines ahead included.
    len: u64,
}

impl Writer {
    /// Opens the book, and repairs what a crash has left.
    pub(crate) fn open(
        disk: Box<dyn Disk>,
        clock: Arc<dyn Clock>,
        layout: Layout,
        signer: Option<Signer>,
    ) -> Result<Writer, StoreError> {
        let head_file = disk
            .open(HEAD_NAME, OpenHow::OrNew)
            .map_err(|error| StoreError::io("open", HEAD_NAME, error))?;
        let mut writer = Writer {
            disk,
            clock,
            layout,
            signer,
            head_file,
            head_text: Vec::new(),
            head: Head::start(),
            open: None,
            unseen: None,
            vouched: 0,
            lines: Vec::new(),
        };
        let held = writer.disk.lock()?;
        writer.head.boot = writer.disk.boot();
        let head = Head::read(&writer.read_head()?);
        if !writer.adopt(head.as_ref())? {
            writer.recover(head.as_ref())?;
        }
        writer.check_kept()?;
        // A crash may have come between a record and its checkpoint.
        writer.sign_if_due()?;
        drop(held);
        Ok(writer)
    }

    /// Begins anew after an error: reads the end of the book as it is on disk, and cuts what the error
    /// has left of a batch.
    pub(crate) fn reopen(&mut self) -> Result<(), StoreError> {
        let held = self.disk.lock()?;
        self.open = None;
        self.vouched = 0;
        self.head.boot = self.disk.boot();
        let head = Head::read(&self.read_head()?);
        if !self.adopt(head.as_ref())? {
            self.recover(head.as_ref())?;
        }
        self.check_kept()?;
        self.sign_if_due()?;
        drop(held);
        Ok(())
    }

    /// Reads the key that it will sign with.
    pub(crate) fn read_key(&mut self) -> Result<(), StoreError> {
        self.signer.as_mut().map_or(Ok(()), |signer| signer.key.read().map(drop))
    }

    /// Whether this can be the book that the key has signed, as far as its length tells; whether it
    /// leads on from there is looked at before the next checkpoint.
    fn check_kept(&mut self) -> Result<(), StoreError> {
        let Some(signer) = &self.signer else { return Ok(()) };
        let Some(key) = signer.key.file() else { return Ok(()) };
        let now = &self.head.now;
        let known = (now.seq() > 0).then(|| origin(&now.first));
        let kept = kept::of_ledger(key, &signer.folder, known.as_deref())?;
        if let Some(kept) = &kept {
            kept.check(key, &signer.folder, now)?;
        }
        let has_signed = kept.is_some() || self.head.signed.size > 0;
        kept::check_key(key, has_signed || checkpoint::read_last(&*self.disk)?.is_some())?;
        self.unseen = kept.and_then(|kept| kept.place);
        Ok(())
    }

    /// Whether the book leads on from what was signed last.
    fn check_unseen(&mut self) -> Result<(), StoreError> {
        let (Some(from), Some(signer)) = (&self.unseen, &self.signer) else { return Ok(()) };
        let Some(key) = signer.key.file() else { return Ok(()) };
        let to = &self.head.synced;
        let known = origin(&to.first);
        let kept = kept::of_ledger(key, &signer.folder, Some(&known))?;
        if let Some(kept) = &kept {
            kept::check_signature(key, kept)?;
        }
        // Another process may have signed, and pruned, since.
        let later = kept.and_then(|kept| kept.place).filter(|place| place.seq() > from.seq());
        let from = later.as_ref().unwrap_or(from);
        if !leads_to(&*self.disk, from, to)? {
            return Err(set_back(key, &signer.folder, from.seq(), to.seq()));
        }
        self.unseen = None;
        Ok(())
    }

    /// Goes on where the head says, if it was written in this run of the system, the last line is
    /// the one that it knows, and nothing stands behind. On any doubt the book is read instead.
    fn adopt(&mut self, head: Option<&Head>) -> Result<bool, StoreError> {
        let boot = self.head.boot.clone();
        let Some(head) = head.filter(|head| boot.is_some() && head.boot == boot) else {
            return Ok(false);
        };
        self.open_segment(head.now.segment)?;
        let is_there = self.open.is_some() || head.now.seq() == 0;
        let is_right = is_there
            && check_last_line(&*self.disk, &head.now).is_ok()
            && self.is_blank_at(head.now.end)?;
        if is_right {
            head.write_to(&mut self.head_text);
            self.head = head.clone();
        }
        Ok(is_right)
    }

    /// Puts a batch behind the end of the book.
    /// Says how it was left: synced also where that was not asked for but had to be.
    pub(crate) fn commit(&mut self, bodies: &Bodies, leave: Leave) -> Result<Leave, StoreError> {
        let held = self.disk.lock()?;
        self.catch_up()?;
        self.append(bodies, leave)?;
        if self.must_sync() && self.head.synced != self.head.now {
            self.sync_segment()?;
            self.write_head()?;
        }
        self.sign_if_due()?;
        drop(held);
        Ok(if self.head.synced == self.head.now { Leave::Synced } else { Leave::Written })
    }

    /// Makes everything durable that was written.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        let held = self.disk.lock()?;
        self.catch_up()?;
        if self.head.synced != self.head.now {
            self.sync_segment()?;
            self.write_head()?;
        }
        self.sign_if_due()?;
        drop(held);
        Ok(())
    }

    /// Makes everything durable and signs it, whether or not a checkpoint is due.
    pub(crate) fn finish(&mut self) -> Result<(), StoreError> {
        let held = self.disk.lock()?;
        self.catch_up()?;
        if self.head.synced != self.head.now {
            self.sync_segment()?;
            self.write_head()?;
        }
        if self.signer.is_some() && self.head.synced.seq() > self.head.signed.size {
            self.sign()?;
        }
        drop(held);
        Ok(())
    }

    /// How many records the book has.
    #[cfg(test)]
    pub(crate) const fn records(&self) -> u64 {
        self.head.now.seq()
    }

    /// In how many milliseconds a checkpoint is due; none if there is nothing to sign.
    pub(crate) fn sign_due_ms(&self) -> Option<u64> {
        let signer = self.signer.as_ref()?;
        let due = self.head.signed.at_ms.saturating_add(signer.every_ms);
        let left = due.saturating_sub(self.clock.now().millis());
        (self.head.now.seq() > self.head.signed.size).then_some(left)
    }

    /// Whether as many records, of all processes, are not on disk or not signed as may be.
    fn must_sync(&self) -> bool {
        let seq = self.head.now.seq();
        let unsigned = seq.saturating_sub(self.head.signed.size);
        seq.saturating_sub(self.head.synced.seq()) >= BUFFERED_RECORDS_MAX
            || self.signer.as_ref().is_some_and(|signer| unsigned >= signer.every_records)
    }

    /// Signs what is on disk, when enough has come since the last checkpoint or that is long ago.
    fn sign_if_due(&mut self) -> Result<(), StoreError> {
        let Some(signer) = &self.signer else { return Ok(()) };
        let records = self.head.synced.seq().saturating_sub(self.head.signed.size);
        if records == 0 {
            return Ok(());
        }
        let since = self.clock.now().millis().saturating_sub(self.head.signed.at_ms);
        if records >= signer.every_records || since >= signer.every_ms {
            self.sign()?;
        }
        Ok(())
    }

    fn sign(&mut self) -> Result<(), StoreError> {
        // A process may have been killed between a checkpoint and the head that tells of it.
        let last = checkpoint::read_last(&*self.disk)?;
        if let Some(last) = &last
            && last.size >= self.head.synced.seq()
        {
            self.head.signed = Signed { size: last.size, at_ms: last.at.millis() };
            return self.write_head();
        }
        self.check_unseen()?;
        let Some(signer) = &mut self.signer else { return Ok(()) };
        let (key, file) = signer.key.read()?;
        let is_new = last.as_ref().is_none_or(|last| last.key != key.public());
        if let Some(file) = file.filter(|_| is_new) {
            handover::carry(&*self.disk, file)?;
        }
        let after = last.map_or(0, |last| last.size);
        let checkpoint = Checkpoint::sign(&self.head.synced, self.clock.now(), after, key);
        checkpoint::append(&*self.disk, &checkpoint)?;
        if let Some(file) = file {
            kept::keep(file, &signer.folder, &checkpoint, &self.head.synced)?;
        }
        self.head.signed = Signed { size: checkpoint.size, at_ms: checkpoint.at.millis() };
        self.write_head()
    }

    /// Learns what other processes have done since.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        let text = self.read_head()?;
        let same = text.get(..self.head_text.len()) == Some(&*self.head_text);
        let head = if same { Some(self.head.clone()) } else { Head::read(&text) };
        let Some(head) = head else { return self.recover(None) };
        self.open_segment(head.now.segment)?;
        if self.is_blank_at(head.now.end)? {
            if !same {
                self.unseen.get_or_insert_with(|| self.head.synced.clone());
                head.write_to(&mut self.head_text);
                self.head = Head { boot: self.head.boot.take(), ..head };
            }
            return Ok(());
        }
        self.recover(Some(&head))
    }

    fn read_head(&self) -> Result<Vec<u8>, StoreError> {
        // The length is not needed, but a file that was removed under us must not be believed.
        let read = self
            .head_file
            .len()
            .and_then(|_| read_range(&*self.head_file, 0, HEAD_BYTES_MAX as u64));
        read.map_err(|error| StoreError::io("read", HEAD_NAME, error))
    }

    /// Whether nothing stands behind this end of the open segment. A process that was killed while
    /// it wrote has written from here on, so one byte tells.
    fn is_blank_at(&self, end: u64) -> Result<bool, StoreError> {
        let Some(open) = &self.open else { return Ok(true) };
        let bytes = read_range(&*open.file, end, end + 1)
            .map_err(|error| StoreError::io("read", segment_name(open.first_seq), error))?;
        Ok(is_blank(&bytes))
    }

    /// Opens the segment, if it is not open yet and is there.
    fn open_segment(&mut self, first_seq: u64) -> Result<(), StoreError> {
        if self.open.as_ref().is_some_and(|open| open.first_seq == first_seq) {
            // Another process may have put newlines ahead, or have cut a torn end.
            return self.measure();
        }
        let name = segment_name(first_seq);
        match self.disk.open(&name, OpenHow::Existing) {
            Ok(file) => self.open = Some(OpenSegment { first_seq, file, len: 0 }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.open = None,
            Err(error) => return Err(StoreError::io("open", name, error)),
        }
        self.measure()
    }

    fn measure(&mut self) -> Result<(), StoreError> {
        if let Some(open) = &mut self.open {
            let len = open.file.len();
            open.len =
                len.map_err(|error| StoreError::io("read", segment_name(open.first_seq), error))?;
        }
        Ok(())
    }

    /// Finds the end of the book by reading, and records what had to be cut.
    fn recover(&mut self, head: Option<&Head>) -> Result<(), StoreError> {
        let found = recover(&*self.disk, head)?;
        self.head.now = found.place.clone();
        self.head.synced = found.place.clone();
        self.head.signed = found.signed;
        self.vouched = 0;
        self.open =
            found.file.map(|file| OpenSegment { first_seq: found.place.segment, file, len: 0 });
        self.measure()?;
        self.check_kept()?;
        if let Some(cut) = found.cut {
            let body = self.recovered(&cut)?;
            self.append(&Bodies::of(body), Leave::Synced)?;
        }
        self.write_head()
    }

    /// The record that tells what was cut.
    fn recovered(&self, cut: &Cut) -> Result<Vec<u8>, StoreError> {
        let now = self.clock.now();
        let mut record = Record::new(EventId::made(now), now, RecordKind::Recovered);
        record.reason = Some("the end of the ledger was torn and was cut".into());
        let mut detail = Object::new();
        detail.insert("segment", &*cut.segment);
        detail.insert("offset", cut.offset);
        detail.insert("bytes", cut.bytes);
        detail.insert("sha256", cut.sha256.to_string());
        record.detail = Some(Json::Object(detail));
        serde_json::to_vec(&record).map_err(|error| StoreError::NoJson(error.to_string()))
    }

    /// Writes behind the end, which is known to be right.
    fn append(&mut self, bodies: &Bodies, leave: Leave) -> Result<(), StoreError> {
        if self.head.now.end >= self.layout.segment_bytes_max {
            self.seal()?;
        }
        let mut place = self.head.now.clone();
        let from = place.end;
        let mut vouch = Some(self.head.synced.seq()).filter(|synced| *synced > self.vouched);
        self.vouched = self.vouched.max(self.head.synced.seq());
        self.lines.clear();
        for body in bodies.iter() {
            let start = self.lines.len();
            write_line(&mut self.lines, place.seq() + 1, &place.prev, vouch.take(), body);
            place.pass(self.lines.get(start..).unwrap_or_default());
            self.lines.push(b'\n');
        }
        self.write_lines(from)?;
        self.head.now = place;
        if leave == Leave::Synced {
            self.sync_segment()?;
        }
        self.write_head()
    }

    /// Writes the lines, with newlines ahead of them where the file would otherwise end.
    fn write_lines(&mut self, from: u64) -> Result<(), StoreError> {
        if self.open.is_none() {
            self.begin_segment()?;
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let end = from + self.lines.len() as u64;
        if end > open.len {
            // A batch that is larger than what is written ahead gains nothing from it.
            let ahead = match self.lines.len() as u64 {
                bytes if bytes < self.layout.prefill_bytes => self.layout.prefill_bytes,
                _ => 0,
            };
            let ahead = usize::try_from(ahead).unwrap_or_default();
            self.lines.resize(self.lines.len() + ahead, b'\n');
            open.len = from + self.lines.len() as u64;
        }
        let written = open.file.write_at(&self.lines, from);
        written.map_err(|error| StoreError::io("write", segment_name(open.first_seq), error))
    }

    fn sync_segment(&mut self) -> Result<(), StoreError> {
        if let Some(open) = &self.open {
            let synced = open.file.sync();
            synced.map_err(|error| StoreError::io("sync", segment_name(open.first_seq), error))?;
        }
        self.head.synced = self.head.now.clone();
        Ok(())
    }

    fn write_head(&mut self) -> Result<(), StoreError> {
        self.head.write_to(&mut self.head_text);
        self.head_file
            .write_at(&self.head_text, 0)
            .map_err(|error| StoreError::io("write", HEAD_NAME, error))
    }

    /// Ends the segment: trims it, makes it durable, and begins the next one.
    fn seal(&mut self) -> Result<(), StoreError> {
        if let Some(open) = &self.open {
            let seal = || {
                open.file.set_len(self.head.now.end)?;
                open.file.sync()
            };
            seal().map_err(|error| StoreError::io("seal", segment_name(open.first_seq), error))?;
        }
        self.head.now.turn();
        self.head.synced = self.head.now.clone();
        self.begin_segment()?;
        self.write_head()
    }

    /// Makes the segment that the end of the book stands in, and makes its name durable.
    fn begin_segment(&mut self) -> Result<(), StoreError> {
        let first_seq = self.head.now.segment;
        let name = segment_name(first_seq);
        let begin = || {
            let file = self.disk.open(&name, OpenHow::OrNew)?;
            let start = read_range(&*file, 0, 1)?;
            self.disk.sync_folder()?;
            Ok((file, start))
        };
        let (file, start) = begin().map_err(|error| StoreError::io("begin", &name, error))?;
        // One that a process was killed over is empty; nothing else is written over.
        if !is_blank(&start) {
            let what = "text, where a new segment begins: this file was put there".to_owned();
            return Err(StoreError::Damaged { segment: name, offset: 0, what });
        }
        self.open = Some(OpenSegment { first_seq, file, len: 0 });
        self.measure()
    }
}
