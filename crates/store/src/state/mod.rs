//! Session state on disk: for processes that come and go, and for several at once.
//!
//! What every event needs (the end of a session, counters, labels, its place in the tree) is one small
//! locked file a session, so that a hook process that handles one event opens no database. What limits
//! and breakers count across sessions is in SQLite, opened when a hook asks for it.
//!
//! What cannot be read closes: a damaged, locked or newer file is an error, and the gate refuses. A
//! power cut can take back counts of the last moments, never the end of a session or a label.

mod body;
mod claims;
pub(crate) mod file;
mod sessions;

pub use body::HostProcess;
pub use claims::LimitShown;

use crate::approvals::Approvals;
use crate::database::DatabaseError;
use crate::error::StoreError;
use body::Body;
use claims::{ClaimStore, Touches};
use sessions::Sessions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tollgate_gate::state::{Entry, Trace};
use tollgate_gate::{
    Aborted, CallKey, Claim, Clock, Counters, Exceeded, Name, Session, SessionView, Settlement,
    Soon, State, StateError, Timestamp,
};

/// The folder of sessions, in the folder of the state.
pub const SESSIONS: &str = "sessions";
/// The file of limits, in the folder of the state.
pub const LIMITS: &str = "limits.db";

/// Session state on disk.
pub struct DiskState {
    sessions: Sessions,
    claims: ClaimStore,
    approvals: Approvals,
}

/// Why a session's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionFault {
    /// There is no such file.
    #[error("there is no such session")]
    Gone,
    /// The system refused something.
    #[error("cannot {verb} the session's file `{}`: {cause}", .file.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Another process holds it for too long.
    #[error("another process has held the session's file for over {wait_ms} ms")]
    Busy {
        /// How long was waited, in milliseconds.
        wait_ms: u64,
    },
    /// It holds no state that can be read.
    #[error("the session's file `{}` is damaged", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
    },
    /// It holds a whole text that is no state of ours.
    #[error("the session's file `{}` cannot be read: {cause}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: String,
    },
    /// A newer Tollgate has written it.
    #[error("the session's file `{}` was written by a newer Tollgate", .file.display())]
    Newer {
        /// The file.
        file: PathBuf,
    },
    /// More is to be kept of the session than fits.
    #[error("more than {max} bytes would have to be kept of the session")]
    TooLarge {
        /// The cap, in bytes.
        max: usize,
    },
    /// A cap of the gate is reached.
    #[error(transparent)]
    Full(#[from] StateError),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(StoreError),
}

impl From<SessionFault> for StateError {
    fn from(fault: SessionFault) -> StateError {
        if let SessionFault::Full(error) = fault {
            return error;
        }
        StateError::Store(fault.to_string())
    }
}

/// One session, as people look at it.
#[derive(Debug, Clone)]
pub struct SessionShown {
    /// Its id.
    pub id: Name,
    /// From its parent up to the root.
    pub ancestors: Vec<Name>,
    /// The first session of the tree.
    pub root: Name,
    /// The tenant.
    pub tenant: Option<Name>,
    /// The person for whom the agent acts.
    pub user: Option<Name>,
    /// The agent's name.
    pub agent: Option<Name>,
    /// The host.
    pub host: Option<Name>,
    /// The project's root, or the folder of work where that is not known.
    pub workspace: Option<Name>,
    /// When its first event came.
    pub started_at: Timestamp,
    /// When its last event came that changed something.
    pub seen_at: Timestamp,
    /// An answer for the session holds if it was given since then.
    pub answers_since: Timestamp,
    /// What was counted, its children's included.
    pub counters: Counters,
    /// Its labels.
    pub labels: Vec<Name>,
    /// Set when it was ended.
    pub aborted: Option<Aborted>,
    /// How many calls hold claims or approvals.
    pub open_calls: usize,
    /// The processes of its host.
    pub hosts: Vec<HostProcess>,
}

impl From<&Body> for SessionShown {
    fn from(body: &Body) -> SessionShown {
        SessionShown {
            id: Name::clone(&body.id),
            ancestors: body.ancestors.clone(),
            root: Name::clone(&body.root),
            tenant: body.tenant.clone(),
            user: body.user.clone(),
            agent: body.agent.clone(),
            host: body.host.clone(),
            workspace: body.workspace.clone(),
            started_at: Timestamp::from_millis(body.started_ms),
            seen_at: Timestamp::from_millis(body.seen_ms),
            answers_since: Timestamp::from_millis(body.answers_since_ms.max(body.started_ms)),
            counters: body.counters(),
            labels: body.labels.iter().cloned().collect(),
            aborted: body.aborted.as_ref().map(Aborted::from),
            open_calls: body.open.len(),
            hosts: body.hosts.clone(),
        }
    }
}

impl DiskState {
    /// State in this folder. Nothing is opened before it is needed. `host` is the process of the agent
    /// program, where this one runs as its hook; it is noted in the sessions that it enters.
    pub fn new(folder: &Path, clock: Arc<dyn Clock>, host: Option<HostProcess>) -> DiskState {
        DiskState {
            sessions: Sessions::new(folder.join(SESSIONS), clock, host),
            claims: ClaimStore::new(folder.join(LIMITS)),
            approvals: Approvals::new(folder),
        }
    }

    /// Forgets sessions that nobody has used for this time.
    #[must_use]
    pub fn forgetting_after(mut self, idle: Option<Duration>) -> DiskState {
        self.sessions.forget_after(idle);
        self
    }

    /// One session; `None` when it is not known.
    ///
    /// # Errors
    /// [`SessionFault`] when its file cannot be used.
    pub fn session(&self, id: &str) -> Result<Option<SessionShown>, SessionFault> {
        self.sessions.show(id)
    }

    /// All sessions, each as far as its file can be read, in no order.
    ///
    /// # Errors
    /// [`SessionFault`] when the folder cannot be read.
    pub fn sessions(&self) -> Result<Vec<Result<SessionShown, SessionFault>>, SessionFault> {
        match self.sessions.list() {
            Err(SessionFault::Gone) => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// Ends a session, and with it its children. Whether it was not ended before.
    ///
    /// # Errors
    /// [`SessionFault`] when it could not be written.
    pub fn end(&self, id: &str, aborted: &Aborted) -> Result<bool, SessionFault> {
        self.end_now(&Session::new(id), aborted)
    }

    fn end_now(&self, session: &Session, aborted: &Aborted) -> Result<bool, SessionFault> {
        let ended = self.sessions.abort(session, aborted)?;
        // The session's file says that they hold no longer; this only shows it to people.
        let _ = self.approvals.end_session(&session.id, self.sessions.now());
        Ok(ended)
    }

    /// Ends what was answered for a session: it is over, or begins anew. Answers for one call and
    /// questions that wait are left: the person may come after the program, and the call come again.
    ///
    /// # Errors
    /// [`SessionFault`] when it could not be written.
    pub fn end_answers(&self, id: &str) -> Result<(), SessionFault> {
        if self.sessions.end_answers(id)? {
            let _ = self.approvals.end_session(id, self.sessions.now());
        }
        Ok(())
    }

    /// Takes the end of a session back; what it was, if it was ended.
    ///
    /// # Errors
    /// [`SessionFault`] when it could not be written.
    pub fn resume(&self, id: &str) -> Result<Option<Aborted>, SessionFault> {
        self.sessions.resume(id)
    }

    /// What limits and breakers have counted, by key.
    ///
    /// # Errors
    /// [`DatabaseError`] when it cannot be read.
    pub fn limits(&self) -> Result<Vec<LimitShown>, DatabaseError> {
        self.claims.list()
    }

    /// Forgets what was counted for these keys. How many there were.
    ///
    /// # Errors
    /// [`DatabaseError`] when it could not be written.
    pub fn reset_limits(&self, keys: &[Name]) -> Result<usize, DatabaseError> {
        self.claims.reset(keys)
    }

    /// Notes that a call runs by an approval, which is told when it has ended.
    ///
    /// # Errors
    /// [`SessionFault`] when it could not be written.
    pub fn note_approved(&self, call: &CallKey) -> Result<(), SessionFault> {
        self.sessions.note_approved(&call.session, &call.call)
    }

    fn reserve_now(
        &self,
        key: &CallKey,
        claims: &[Claim],
        now: Timestamp,
        lease_ms: u64,
    ) -> Result<Result<(), Exceeded>, StateError> {
        // Noted first: a note without a reservation costs a look, the reverse would hold it for the
        // time of its lease.
        self.sessions.note(&key.session, &key.call)?;
        let touches = Touches::Claims(claims);
        let step = |table: &mut tollgate_gate::state::ClaimTable| {
            table.reserve(key, claims, now, lease_ms)
        };
        let reserved = self.claims.step(&touches, now, step).and_then(|answer| answer);
        if !matches!(reserved, Ok(Ok(()))) {
            self.sessions.forget(&key.session, &key.call)?;
        }
        reserved
    }

    fn settle_now(
        &self,
        key: &CallKey,
        settlement: &Settlement,
        now: Timestamp,
    ) -> Result<(), StateError> {
        let (may_hold, approved) = self.sessions.holds(&key.session, &key.call)?;
        if approved {
            let (executed, ok) = (settlement.executed, settlement.ok);
            let settled = self.approvals.settle(key, executed, ok, now);
            settled.map_err(|error| StateError::Store(error.to_string()))?;
            self.sessions.forget_approved(&key.session, &key.call)?;
        }
        if !may_hold {
            return Ok(());
        }
        let touches = Touches::Call(key);
        self.claims.step(&touches, now, |table| table.settle(key, settlement, now))?;
        Ok(self.sessions.forget(&key.session, &key.call)?)
    }
}

impl State for DiskState {
    fn enter<'a>(
        &'a self,
        session: &'a Session,
        entry: Entry,
    ) -> Soon<'a, Result<SessionView, StateError>> {
        Soon::now(self.sessions.enter(session, entry).map_err(StateError::from))
    }

    fn leave<'a>(
        &'a self,
        session: &'a Session,
        trace: &'a Trace,
    ) -> Soon<'a, Result<(), StateError>> {
        Soon::now(self.sessions.leave(session, trace).map_err(StateError::from))
    }

    fn abort<'a>(
        &'a self,
        session: &'a Session,
        aborted: Aborted,
    ) -> Soon<'a, Result<(), StateError>> {
        Soon::now(self.end_now(session, &aborted).map(drop).map_err(StateError::from))
    }

    fn reserve<'a>(
        &'a self,
        key: &'a CallKey,
        claims: &'a [Claim],
        now: Timestamp,
        lease_ms: u64,
    ) -> Soon<'a, Result<Result<(), Exceeded>, StateError>> {
        Soon::now(self.reserve_now(key, claims, now, lease_ms))
    }

    fn peek<'a>(
        &'a self,
        claims: &'a [Claim],
        now: Timestamp,
    ) -> Soon<'a, Result<Result<(), Exceeded>, StateError>> {
        let touches = Touches::Claims(claims);
        Soon::now(self.claims.look(&touches, now, |table| table.peek(claims, now)))
    }

    fn charge<'a>(
        &'a self,
        claims: &'a [Claim],
        now: Timestamp,
    ) -> Soon<'a, Result<(), StateError>> {
        let touches = Touches::Claims(claims);
        let charged = self.claims.step(&touches, now, |table| table.charge_attempts(claims, now));
        Soon::now(charged.and_then(|charged| charged))
    }

    fn settle<'a>(
        &'a self,
        key: &'a CallKey,
        settlement: &'a Settlement,
        now: Timestamp,
    ) -> Soon<'a, Result<(), StateError>> {
        Soon::now(self.settle_now(key, settlement, now))
    }
}
