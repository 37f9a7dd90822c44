//! The folder of sessions: one small locked file each.
//!
//! A file is named after the hash of the session's id, so that no id can name another file. Each step
//! takes its lock, so any number of processes share it. A process that takes many steps in a session keeps
//! its file open and remembers what it holds; under the lock it looks whether another process has written
//! since, and only then reads it again. Locks are never held two at a time.

use super::body::{Body, Ended, HostProcess};
use super::file::{self, FileFault, Found, Write};
use crate::disk::OpenHow;
use crate::error::StoreError;
use crate::folder::{FileHeld, check, make, open_file, open_to_read, wait_for};
use crate::limits::{SESSION_IDLE_DAYS_MAX, SESSION_WAIT_MS_MAX, SESSIONS_KEPT_MAX};
use crate::state::{SessionFault, SessionShown};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tollgate_gate::limits::{SESSION_ANCESTORS_MAX, SESSIONS_MAX};
use tollgate_gate::state::{Entry, Trace};
use tollgate_gate::{
    Aborted, Clock, Code, Counters, Name, Repeats, Session, SessionView, Timestamp,
};

/// The file whose age says when the folder was last swept.
const SWEPT: &str = "swept";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder of sessions.
pub(super) struct Sessions {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    host: Option<HostProcess>,
    /// A session that nobody has used for this time is forgotten.
    idle: Duration,
    ready: OnceLock<()>,
    /// Sessions that this process uses, by their ids.
    kept: Mutex<HashMap<Name, Arc<Mutex<Kept>>>>,
}

/// A session's file, and what it holds as far as this process knows.
struct Kept {
    path: PathBuf,
    file: Arc<File>,
    found: Found,
    body: Body,
}

impl Sessions {
    pub(super) fn new(
        folder: PathBuf,
        clock: Arc<dyn Clock>,
        host: Option<HostProcess>,
    ) -> Sessions {
        let idle = DAY * SESSION_IDLE_DAYS_MAX;
        Sessions { folder, clock, host, idle, ready: OnceLock::new(), kept: Mutex::default() }
    }

    pub(super) fn forget_after(&mut self, idle: Option<Duration>) {
        self.idle = idle.unwrap_or(self.idle);
    }

    /// Counts, then shows the session as hooks are to see it.
    pub(super) fn enter(
        &self,
        session: &Session,
        entry: Entry,
    ) -> Result<SessionView, SessionFault> {
        let counts = entry.count != Counters::default();
        let own = self.in_session(session, |body| {
            body.count(&entry.count);
            let is_new = body.note_host(self.host);
            let write = if counts || is_new { Write::Quick } else { Write::Not };
            Ok((body.clone(), write))
        })?;
        let mut view = SessionView {
            counters: own.counters(),
            tree: own.counters(),
            root: Name::clone(&own.root),
            aborted: own.aborted.as_ref().map(|ended| Arc::new(ended.into())),
            repeats: entry.call.map(|call| Repeats::among(&own.recent, call)).unwrap_or_default(),
            labels: Arc::new(own.labels),
        };
        for (place, ancestor) in own.ancestors.iter().enumerate() {
            let above = own.ancestors.get(place + 1);
            let body = self.in_session(&ancestor_of(ancestor, above, &own.root), |body| {
                body.count(&entry.count);
                let write = if counts { Write::Quick } else { Write::Not };
                Ok((body.clone(), write))
            })?;
            // The root is looked at last, and is the widest.
            view.tree = body.counters();
            if view.aborted.is_none() {
                view.aborted = body.aborted.as_ref().map(|ended| Arc::new(ended.into()));
            }
        }
        Ok(view)
    }

    /// Takes in what an event leaves behind, in the session and in those above it.
    pub(super) fn leave(&self, session: &Session, trace: &Trace) -> Result<(), SessionFault> {
        let ancestors = self.take(session, trace, true)?;
        if trace.count == Counters::default() && trace.labels.is_empty() {
            return Ok(());
        }
        for (place, ancestor) in ancestors.iter().enumerate() {
            let (above, root) = (ancestors.get(place + 1), ancestors.last().unwrap_or(ancestor));
            self.take(&ancestor_of(ancestor, above, root), trace, false)?;
        }
        Ok(())
    }

    fn take(&self, session: &Session, trace: &Trace, own: bool) -> Result<Vec<Name>, SessionFault> {
        self.in_session(session, |body| {
            let labelled = body.take(trace, own)?;
            // A label that is lost would let a call pass that it should stop.
            let write = if labelled { Write::Durable } else { Write::Quick };
            Ok((body.ancestors.clone(), write))
        })
    }

    /// Ends a session; the first reason stays. Whether this was the first.
    pub(super) fn abort(&self, session: &Session, aborted: &Aborted) -> Result<bool, SessionFault> {
        self.in_session(session, |body| {
            if body.aborted.is_some() {
                return Ok((false, Write::Not));
            }
            body.aborted = Some(Ended::from(aborted));
            body.end_answers(self.clock.now());
            Ok((true, Write::Durable))
        })
    }

    /// Ends what was answered for a session; whether it is known.
    pub(super) fn end_answers(&self, id: &str) -> Result<bool, SessionFault> {
        let ended = self.update(id, |body| {
            body.end_answers(self.clock.now());
            Ok(((), Write::Durable))
        })?;
        Ok(ended.is_some())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Takes the end of a session back; what it was.
    pub(super) fn resume(&self, id: &str) -> Result<Option<Aborted>, SessionFault> {
        let taken = self.update(id, |body| {
            let ended = body.aborted.take();
            let write = if ended.is_some() { Write::Durable } else { Write::Not };
            Ok((ended.as_ref().map(Aborted::from), write))
        })?;
        Ok(taken.flatten())
    }

    /// Notes that a call of this session holds something; it must be there already.
    pub(super) fn note(&self, id: &str, call: &str) -> Result<(), SessionFault> {
        self.update(id, |body| {
            body.note(call);
            Ok(((), Write::Quick))
        })
        .map(drop)
    }

    /// Notes that a call of this session runs by an approval.
    pub(super) fn note_approved(&self, id: &str, call: &str) -> Result<(), SessionFault> {
        self.update(id, |body| {
            body.note_approved(call);
            Ok(((), Write::Quick))
        })
        .map(drop)
    }

    /// Whether a call may hold claims, and whether it runs by an approval. Of a session that is not
    /// known nothing is known.
    pub(super) fn holds(&self, id: &str, call: &str) -> Result<(bool, bool), SessionFault> {
        let look =
            |body: &mut Body| Ok(((body.may_hold(call), body.is_approved(call)), Write::Not));
        Ok(self.update(id, look)?.unwrap_or((true, false)))
    }

    /// Takes the note of a call that ran by an approval back.
    pub(super) fn forget_approved(&self, id: &str, call: &str) -> Result<(), SessionFault> {
        self.update(id, |body| {
            body.forget_approved(call);
            Ok(((), Write::Quick))
        })
        .map(drop)
    }

    /// Takes a note of a call back.
    pub(super) fn forget(&self, id: &str, call: &str) -> Result<(), SessionFault> {
        self.update(id, |body| {
            let write = if body.forget(call) { Write::Quick } else { Write::Not };
            Ok(((), write))
        })
        .map(drop)
    }

    /// One session, as people look at it.
    pub(super) fn show(&self, id: &str) -> Result<Option<SessionShown>, SessionFault> {
        self.update(id, |body| Ok((SessionShown::from(&*body), Write::Not)))
    }

    /// All sessions, each as far as it can be read.
    pub(super) fn list(&self) -> Result<Vec<Result<SessionShown, SessionFault>>, SessionFault> {
        let mut all = Vec::new();
        for path in self.files()? {
            match self.view(&path).map(|body| body.as_ref().map(SessionShown::from)) {
                Ok(shown) => all.extend(shown.map(Ok)),
                Err(SessionFault::Gone) => {}
                Err(fault) => all.push(Err(fault)),
            }
        }
        Ok(all)
    }

    /// One step on a session, which is made known if it is not.
    fn in_session<T>(
        &self,
        session: &Session,
        step: impl Fn(&mut Body) -> Result<(T, Write), SessionFault>,
    ) -> Result<T, SessionFault> {
        if let Some(done) = self.update(&session.id, &step)? {
            return Ok(done);
        }
        self.make_known(session)?;
        let done = self.update(&session.id, &step)?;
        done.ok_or_else(|| SessionFault::Damaged { file: self.file(&session.id) })
    }

    /// One step on a session that is known; `None` for one that is not.
    fn update<T>(
        &self,
        id: &str,
        step: impl Fn(&mut Body) -> Result<(T, Write), SessionFault>,
    ) -> Result<Option<T>, SessionFault> {
        // Bound, so that the lock is free again before the session's own is waited for.
        let kept = lock(&self.kept).get(id).map(Arc::clone);
        if let Some(kept) = kept {
            match self.change_kept(&mut lock(&kept), &step) {
                Ok(Some(done)) => return Ok(Some(done)),
                // Another process has written, or the file is another one.
                Ok(None) => self.forget_kept(id),
                Err(fault) => {
                    self.forget_kept(id);
                    return Err(fault);
                }
            }
        }
        let path = self.file(id);
        let done = self.change(&path, OpenHow::Existing, |body| match body {
            None => Ok((None, Write::Not)),
            // Two ids of one hash do not happen; a file that was put in another's place does.
            Some(body) if &*body.id != id => Err(SessionFault::Damaged { file: path.clone() }),
            Some(body) => {
                let (done, write) = step(body)?;
                body.seen_ms = self.clock.now().millis().max(body.seen_ms);
                Ok((Some(done), write))
            }
        });
        match done {
            Err(SessionFault::Gone) => Ok(None),
            done => done,
        }
    }

    /// One step on a session whose file is open; `None` where what is remembered of it does not hold.
    fn change_kept<T>(
        &self,
        kept: &mut Kept,
        step: impl Fn(&mut Body) -> Result<(T, Write), SessionFault>,
    ) -> Result<Option<T>, SessionFault> {
        let Some(_held) = self.lock_file(&kept.path, &kept.file, self.until())? else {
            return Ok(None);
        };
        let at = |fault| SessionFault::of_file(&kept.path, fault);
        if !file::is_as_found(&*kept.file, &kept.found).map_err(|error| at(error.into()))? {
            return Ok(None);
        }
        let mut body = kept.body.clone();
        let (done, write) = step(&mut body)?;
        body.seen_ms = self.clock.now().millis().max(body.seen_ms);
        if write != Write::Not {
            self.write(&kept.path, &kept.file, &mut kept.found, &body, write)?;
            kept.body = body;
        }
        Ok(Some(done))
    }

    fn keep(&self, kept: Kept) {
        let mut all = lock(&self.kept);
        if all.len() >= SESSIONS_KEPT_MAX {
            all.clear();
        }
        all.insert(Name::clone(&kept.body.id), Arc::new(Mutex::new(kept)));
    }

    fn forget_kept(&self, id: &str) {
        lock(&self.kept).remove(id);
    }

    /// Makes a session known, and first the one above it.
    fn make_known(&self, session: &Session) -> Result<(), SessionFault> {
        let above = session.parent.as_ref().or(session.root.as_ref());
        let parent = match above.filter(|id| **id != session.id) {
            None => None,
            Some(id) => {
                // A parent that was never seen still stands for its children.
                let root = session.root.clone().filter(|root| root != id);
                let known = Session { id: Name::clone(id), root, ..Session::default() };
                Some(self.in_session(&known, |body| Ok((body.clone(), Write::Not)))?)
            }
        };
        self.make_folder()?;
        self.change(&self.file(&session.id), OpenHow::OrNew, |known| {
            // Another process may have been first.
            if known.is_some() {
                return Ok(((), Write::Not));
            }
            *known = Some(self.new_body(session, parent.as_ref()));
            Ok(((), Write::Quick))
        })?;
        // Room is made for those that come, and a folder that cannot be swept holds them all the same.
        let _ = self.sweep_daily();
        Ok(())
    }

    fn new_body(&self, session: &Session, parent: Option<&Body>) -> Body {
        let now = self.clock.now();
        let Some(parent) = parent else {
            return Body::new(session, Vec::new(), Name::clone(&session.id), now);
        };
        let above = [Name::clone(&parent.id)].into_iter().chain(parent.ancestors.iter().cloned());
        let mut body = Body::new(session, above.collect(), Name::clone(&parent.root), now);
        // Refusing to know it would make its children the roots of trees of their own; so it is known,
        // and ended.
        if body.ancestors.len() > SESSION_ANCESTORS_MAX {
            let reason =
                format!("more than {SESSION_ANCESTORS_MAX} sessions above this one").into();
            let aborted = Aborted { code: Code::LimitExceeded, reason, hook: None };
            body.aborted = Some(Ended::from(&aborted));
            body.ancestors.truncate(1);
        }
        // A child starts with what its parent may not do either.
        body.labels.clone_from(&parent.labels);
        body
    }

    /// One step on one file, under its lock.
    fn change<T>(
        &self,
        path: &Path,
        how: OpenHow,
        step: impl FnOnce(&mut Option<Body>) -> Result<(T, Write), SessionFault>,
    ) -> Result<T, SessionFault> {
        let (file, _held) = self.hold(path, &|| open_file(path, how))?;
        let mut found = file::read(&*file).map_err(|fault| SessionFault::of_file(path, fault))?;
        let unreadable = |cause| SessionFault::Unreadable { file: path.to_owned(), cause };
        let state = found.state.take();
        let mut body = state.as_deref().map(Body::read).transpose().map_err(unreadable)?;
        let (done, write) = step(&mut body)?;
        if let Some(body) = body.filter(|_| write != Write::Not) {
            self.write(path, &file, &mut found, &body, write)?;
            self.keep(Kept { path: path.to_owned(), file, found, body });
        }
        Ok(done)
    }

    fn write(
        &self,
        path: &Path,
        file: &File,
        found: &mut Found,
        body: &Body,
        how: Write,
    ) -> Result<(), SessionFault> {
        let unreadable = |cause| SessionFault::Unreadable { file: path.to_owned(), cause };
        let text = body.text().map_err(unreadable)?;
        let was_synced = found.was_synced();
        file::write(file, found, &text, how).map_err(|fault| SessionFault::of_file(path, fault))?;
        if how == Write::Durable && !was_synced {
            self.sync_name()?;
        }
        Ok(())
    }

    /// What a file holds; it need not be writable.
    fn view(&self, path: &Path) -> Result<Option<Body>, SessionFault> {
        let (file, _held) = self.hold(path, &|| open_to_read(path))?;
        let found = file::read(&*file).map_err(|fault| SessionFault::of_file(path, fault))?;
        let unreadable = |cause| SessionFault::Unreadable { file: path.to_owned(), cause };
        found.state.as_deref().map(Body::read).transpose().map_err(unreadable)
    }

    /// Opens a file and waits for its lock.
    fn hold(
        &self,
        path: &Path,
        open: &dyn Fn() -> io::Result<File>,
    ) -> Result<(Arc<File>, FileHeld), SessionFault> {
        self.check_folder()?;
        let until = self.until();
        loop {
            let file = match open() {
                Ok(file) => Arc::new(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(SessionFault::Gone);
                }
                Err(error) => return Err(SessionFault::io("open", path, error)),
            };
            if let Some(held) = self.lock_file(path, &file, until)? {
                return Ok((file, held));
            }
        }
    }

    fn until(&self) -> Instant {
        Instant::now() + Duration::from_millis(SESSION_WAIT_MS_MAX)
    }

    /// Waits for the lock of an open file; `None` for one that is gone by then.
    fn lock_file(
        &self,
        path: &Path,
        file: &Arc<File>,
        until: Instant,
    ) -> Result<Option<FileHeld>, SessionFault> {
        let held = match wait_for(file, until) {
            Err(StoreError::Busy { .. }) => {
                return Err(SessionFault::Busy { wait_ms: SESSION_WAIT_MS_MAX });
            }
            held => held?,
        };
        // One that was swept while it was waited for is another file than the one of this name.
        match crate::disk::DiskFile::len(&**file) {
            Ok(_) => Ok(Some(held)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SessionFault::io("look at", path, error)),
        }
    }

    /// Makes the names of files durable.
    fn sync_name(&self) -> Result<(), SessionFault> {
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| SessionFault::io("sync", &self.folder, error))
    }

    fn file(&self, id: &str) -> PathBuf {
        let mut name = String::with_capacity(64);
        for byte in Sha256::digest(id.as_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        self.folder.join(name)
    }

    /// The files of sessions, in no order.
    fn files(&self) -> Result<Vec<PathBuf>, SessionFault> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SessionFault::io("list", &self.folder, error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| SessionFault::io("list", &self.folder, error))?;
            let name = entry.file_name();
            let is_hash =
                |name: &str| name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
            if name.to_str().is_some_and(is_hash) {
                files.push(entry.path());
            }
        }
        Ok(files)
    }

    /// Refuses a folder that others could write to; one that is not there holds no session.
    fn check_folder(&self) -> Result<(), SessionFault> {
        if self.ready.get().is_some() {
            return Ok(());
        }
        match fs::symlink_metadata(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SessionFault::Gone);
            }
            Err(error) => return Err(SessionFault::io("look at", &self.folder, error)),
            Ok(_) => {}
        }
        check(&self.folder)?;
        // Two threads that look at once find the same.
        let _ = self.ready.set(());
        Ok(())
    }

    fn make_folder(&self) -> Result<(), SessionFault> {
        match self.check_folder() {
            Err(SessionFault::Gone) => make(&self.folder)?,
            checked => return checked,
        }
        self.check_folder()
    }

    /// Once a day: forgets sessions that nobody has used for long, and the oldest beyond the cap. One
    /// that was ended is kept.
    fn sweep_daily(&self) -> Result<(), SessionFault> {
        let mark = self.folder.join(SWEPT);
        let is_due = |mark: &Path| match fs::metadata(mark).and_then(|data| data.modified()) {
            Ok(at) => at.elapsed().is_ok_and(|age| age > DAY),
            Err(_) => true,
        };
        if !is_due(&mark) {
            return Ok(());
        }
        let io = |error| SessionFault::io("sweep", &self.folder, error);
        let file = open_file(&mark, OpenHow::OrNew).map_err(io)?;
        file.set_modified(SystemTime::now()).map_err(io)?;
        let mut aged = Vec::new();
        for path in self.files()? {
            if let Ok(at) = fs::metadata(&path).and_then(|data| data.modified()) {
                aged.push((at, path));
            }
        }
        aged.sort();
        let beyond = aged.len().saturating_sub(SESSIONS_MAX);
        for (place, (at, path)) in aged.into_iter().enumerate() {
            if place < beyond || at.elapsed().is_ok_and(|age| age > self.idle) {
                let _ = self.forget_file(&path);
            }
        }
        Ok(())
    }

    fn forget_file(&self, path: &Path) -> Result<(), SessionFault> {
        self.change(path, OpenHow::Existing, |body| {
            if body.as_ref().is_none_or(|body| body.aborted.is_none()) {
                fs::remove_file(path).map_err(|error| SessionFault::io("remove", path, error))?;
            }
            Ok(((), Write::Not))
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session above another, as far as the other one knows it.
fn ancestor_of(id: &Name, above: Option<&Name>, root: &Name) -> Session {
    Session {
        id: Name::clone(id),
        parent: above.cloned(),
        root: Some(Name::clone(root)).filter(|root| root != id),
        ..Session::default()
    }
}

impl From<StoreError> for SessionFault {
    fn from(error: StoreError) -> SessionFault {
        SessionFault::Folder(error)
    }
}

impl SessionFault {
    fn io(verb: &'static str, path: &Path, cause: io::Error) -> SessionFault {
        SessionFault::Io { verb, file: path.to_owned(), cause }
    }

    fn of_file(path: &Path, fault: FileFault) -> SessionFault {
        let file = path.to_owned();
        match fault {
            FileFault::Io(cause) => SessionFault::Io { verb: "use", file, cause },
            FileFault::Damaged => SessionFault::Damaged { file },
            FileFault::Newer => SessionFault::Newer { file },
            FileFault::TooLarge => SessionFault::TooLarge { max: file::STATE_BYTES_MAX },
        }
    }
}
