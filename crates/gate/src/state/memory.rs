//! Session state in memory: for one process, and for tests.

use super::{
    Aborted, CallKey, Claim, ClaimTable, Counters, Entry, Exceeded, Repeats, SessionView,
    Settlement, State, StateError, Trace,
};
use crate::clock::Timestamp;
use crate::code::Code;
use crate::event::Name;
use crate::limits::{LABELS_MAX, RECENT_CALLS_MAX, SESSION_ANCESTORS_MAX, SESSIONS_MAX};
use crate::session::Session;
use crate::soon::Soon;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Session state in memory.
///
/// It holds [`SESSIONS_MAX`] sessions. When it is full, the quarter that was used longest ago is
/// forgotten, but never one that was ended by force or that has children.
#[derive(Debug, Default)]
pub struct MemoryState {
    sessions: RwLock<HashMap<Name, Arc<SessionCell>>>,
    claims: Mutex<ClaimTable>,
    uses: AtomicU64,
}

/// One session: its place in the tree, and what changes under one lock.
#[derive(Debug)]
struct SessionCell {
    root: Name,
    /// From the parent up to the root.
    ancestors: Vec<Arc<SessionCell>>,
    last_use: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    counters: Counters,
    labels: Arc<BTreeSet<Name>>,
    aborted: Option<Arc<Aborted>>,
    recent: VecDeque<(u64, bool)>,
}

impl MemoryState {
    /// Empty state.
    pub fn new() -> MemoryState {
        MemoryState::default()
    }

    /// The cell of a session, made at its first event.
    fn cell(&self, session: &Session) -> Result<Arc<SessionCell>, StateError> {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let found = sessions.get(&session.id).map(Arc::clone);
        drop(sessions);
        let cell = match found {
            Some(cell) => cell,
            None => {
                let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
                forget_idle(&mut sessions);
                cell_or_new(&mut sessions, session)?
            }
        };
        cell.last_use.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Ok(cell)
    }

    fn claims(&self) -> MutexGuard<'_, ClaimTable> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter_now(&self, session: &Session, entry: Entry) -> Result<SessionView, StateError> {
        let cell = self.cell(session)?;
        let mut tree = None;
        for ancestor in &cell.ancestors {
            let mut inner = ancestor.lock();
            inner.counters.add(&entry.count);
            tree = Some((inner.counters, inner.aborted.clone()));
        }
        let mut inner = cell.lock();
        inner.counters.add(&entry.count);
        // An ancestor's end is this session's end; the root is looked at last and is the widest.
        let mut aborted = inner.aborted.clone();
        if aborted.is_none() {
            aborted = cell.ancestors.iter().find_map(|ancestor| ancestor.lock().aborted.clone());
        }
        Ok(SessionView {
            counters: inner.counters,
            tree: tree.map_or(inner.counters, |(counters, _)| counters),
            root: Arc::clone(&cell.root),
            labels: Arc::clone(&inner.labels),
            aborted,
            repeats: entry.call.map(|call| Repeats::among(&inner.recent, call)).unwrap_or_default(),
        })
    }

    fn leave_now(&self, session: &Session, trace: &Trace) -> Result<(), StateError> {
        let cell = self.cell(session)?;
        let counts = trace.count != Counters::default();
        for cell in cell.ancestors.iter().chain([&cell]) {
            if counts || !trace.labels.is_empty() {
                let mut inner = cell.lock();
                inner.counters.add(&trace.count);
                inner.join_labels(&trace.labels)?;
            }
        }
        if let Some(call) = trace.call {
            let mut inner = cell.lock();
            if inner.recent.len() >= RECENT_CALLS_MAX {
                inner.recent.pop_front();
            }
            inner.recent.push_back(call);
        }
        Ok(())
    }
}

/// Makes room in a full table; see [`MemoryState`].
fn forget_idle(sessions: &mut HashMap<Name, Arc<SessionCell>>) {
    if sessions.len() < SESSIONS_MAX {
        return;
    }
    let may_go =
        |cell: &Arc<SessionCell>| Arc::strong_count(cell) == 1 && cell.lock().aborted.is_none();
    let mut uses: Vec<u64> = sessions
        .values()
        .filter(|cell| may_go(cell))
        .map(|cell| cell.last_use.load(Ordering::Relaxed))
        .collect();
    uses.sort_unstable();
    let newest_to_go = uses.get(SESSIONS_MAX / 4).or(uses.last()).copied().unwrap_or(0);
    sessions
        .retain(|_, cell| cell.last_use.load(Ordering::Relaxed) > newest_to_go || !may_go(cell));
}

fn cell_or_new(
    sessions: &mut HashMap<Name, Arc<SessionCell>>,
    session: &Session,
) -> Result<Arc<SessionCell>, StateError> {
    if let Some(cell) = sessions.get(&session.id) {
        return Ok(Arc::clone(cell));
    }
    if sessions.len() >= SESSIONS_MAX {
        return Err(StateError::Full { what: "sessions", max: SESSIONS_MAX });
    }
    // A parent (or root) that was never seen still stands for its children: it gets a cell.
    let above = session.parent.as_ref().or(session.root.as_ref()).filter(|id| **id != session.id);
    let ancestors = match above {
        None => Vec::new(),
        Some(id) => {
            let parent = Session {
                id: Arc::clone(id),
                root: session.root.clone().filter(|root| root != id),
                ..Session::default()
            };
            let parent = cell_or_new(sessions, &parent)?;
            let mut ancestors = vec![Arc::clone(&parent)];
            ancestors.extend(parent.ancestors.iter().map(Arc::clone));
            ancestors
        }
    };
    let root = ancestors.last().map_or(&session.id, |top| &top.root);
    let mut cell = SessionCell {
        root: Arc::clone(root),
        ancestors,
        last_use: AtomicU64::new(0),
        inner: Mutex::default(),
    };
    // Refusing to know it would make its children the roots of trees of their own; so it is known,
    // and ended.
    if cell.ancestors.len() > SESSION_ANCESTORS_MAX {
        let reason = format!("more than {SESSION_ANCESTORS_MAX} sessions above this one");
        let (code, reason) = (Code::LimitExceeded, reason.into());
        cell.lock().aborted = Some(Arc::new(Aborted { code, reason, hook: None }));
        cell.ancestors.truncate(1);
    }
    // A child starts with what its parent may not do either.
    if let Some(parent) = cell.ancestors.first() {
        cell.lock().labels = Arc::clone(&parent.lock().labels);
    }
    let cell = Arc::new(cell);
    sessions.insert(Arc::clone(&session.id), Arc::clone(&cell));
    Ok(cell)
}

impl SessionCell {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn join_labels(&mut self, labels: &[Name]) -> Result<(), StateError> {
        let new: Vec<_> = labels.iter().filter(|label| !self.labels.contains(*label)).collect();
        if new.is_empty() {
            return Ok(());
        }
        if self.labels.len() + new.len() > LABELS_MAX {
            return Err(StateError::Full { what: "labels", max: LABELS_MAX });
        }
        Arc::make_mut(&mut self.labels).extend(new.into_iter().map(Arc::clone));
        Ok(())
    }
}

impl State for MemoryState {
    fn enter<'a>(
        &'a self,
        session: &'a Session,
        entry: Entry,
    ) -> Soon<'a, Result<SessionView, StateError>> {
        Soon::now(self.enter_now(session, entry))
    }

    fn leave<'a>(
        &'a self,
        session: &'a Session,
        trace: &'a Trace,
    ) -> Soon<'a, Result<(), StateError>> {
        Soon::now(self.leave_now(session, trace))
    }

    fn abort<'a>(
        &'a self,
        session: &'a Session,
        aborted: Aborted,
    ) -> Soon<'a, Result<(), StateError>> {
        Soon::now(self.cell(session).map(|cell| {
            cell.lock().aborted.get_or_insert_with(|| Arc::new(aborted));
        }))
    }

    fn reserve<'a>(
        &'a self,
        key: &'a CallKey,
        claims: &'a [Claim],
        now: Timestamp,
        lease_ms: u64,
    ) -> Soon<'a, Result<Result<(), Exceeded>, StateError>> {
        Soon::now(self.claims().reserve(key, claims, now, lease_ms))
    }

    fn peek<'a>(
        &'a self,
        claims: &'a [Claim],
        now: Timestamp,
    ) -> Soon<'a, Result<Result<(), Exceeded>, StateError>> {
        Soon::now(Ok(self.claims().peek(claims, now)))
    }

    fn charge<'a>(
        &'a self,
        claims: &'a [Claim],
        now: Timestamp,
    ) -> Soon<'a, Result<(), StateError>> {
        Soon::now(self.claims().charge_attempts(claims, now))
    }

    fn settle<'a>(
        &'a self,
        key: &'a CallKey,
        settlement: &'a Settlement,
        now: Timestamp,
    ) -> Soon<'a, Result<(), StateError>> {
        self.claims().settle(key, settlement, now);
        Soon::now(Ok(()))
    }
}
