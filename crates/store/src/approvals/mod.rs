//! Approvals on disk: questions to people, what they answered, and that a yes is used once.
//!
//! A question is bound to the digest of the exact call. Its life: shown and pending, then approved,
//! denied, expired or cancelled; an approved one is claimed by the call that comes again, is used when
//! that call runs, and settled when it has ended. Each step is one transaction that outlives a power
//! cut. Who may answer, and whether a signature is right, is decided by whoever asks: what stands here
//! was written by somebody who could write here.

mod answer;
mod seal;

pub use answer::{Answer, Scope, answer_text};
pub use seal::{ApproverKey, SealError, SealedKey};

use crate::database::{Database, DatabaseError, Kept, Schema, unread};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tollgate_gate::{CallKey, Name, Timestamp};

/// The file of approvals, in the folder of the state.
pub const APPROVALS: &str = "approvals.db";
/// Days after which a question that is closed is forgotten.
const KEPT_DAYS: u64 = 90;
/// Days for which an answer that is given for more than once stands.
const STANDING_DAYS_MAX: u64 = 365;
/// Milliseconds for which a yes that was given out stays with the call that claimed it.
const CLAIM_MS: u64 = 60_000;

static SCHEMA: Schema = Schema {
    what: "approvals",
    // `TGAp`
    application: 0x5447_4170,
    versions: &["CREATE TABLE approvals (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  hook TEXT NOT NULL,
  call_digest TEXT NOT NULL,
  effects_digest TEXT NOT NULL,
  session TEXT NOT NULL,
  root TEXT NOT NULL,
  user TEXT,
  agent TEXT,
  host TEXT,
  cwd TEXT,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  shown TEXT NOT NULL, -- arguments, scrubbed
  effects TEXT NOT NULL, -- lines, scrubbed
  who TEXT NOT NULL, -- JSON
  asked_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  told INTEGER NOT NULL DEFAULT 0,
  call TEXT,
  came TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_call ON approvals (call_digest, hook);
CREATE INDEX approvals_state ON approvals (state, root);
CREATE INDEX approvals_run ON approvals (session, call);
CREATE TABLE answers (
  approval TEXT NOT NULL,
  by TEXT NOT NULL,
  yes INTEGER NOT NULL,
  scope TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL,
  signature TEXT,
  PRIMARY KEY (approval, by)
) STRICT, WITHOUT ROWID;"],
    kept: Kept::Durable,
};

/// Where an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// Nobody has answered, or not all who must.
    Pending,
    /// All who must have said yes.
    Approved,
    /// Somebody said no.
    Denied,
    /// Its time has passed.
    Expired,
    /// It was taken back.
    Cancelled,
    /// A call that is being decided has the yes.
    Claimed,
    /// The call runs or ran.
    Used,
    /// The call has ended.
    Settled,
}

impl ApprovalState {
    const ALL: [(ApprovalState, &'static str); 8] = [
        (ApprovalState::Pending, "pending"),
        (ApprovalState::Approved, "approved"),
        (ApprovalState::Denied, "denied"),
        (ApprovalState::Expired, "expired"),
        (ApprovalState::Cancelled, "cancelled"),
        (ApprovalState::Claimed, "claimed"),
        (ApprovalState::Used, "used"),
        (ApprovalState::Settled, "settled"),
    ];

    /// Its word.
    pub fn name(self) -> &'static str {
        ApprovalState::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<ApprovalState> {
        ApprovalState::ALL.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
    }
}

/// A question, with all that is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Its id.
    pub id: Name,
    /// Where it stands.
    pub state: ApprovalState,
    /// The hook that asks.
    pub hook: Name,
    /// The digest of the exact call.
    pub call_digest: Name,
    /// The digest of what the call would do, for answers that stand.
    pub effects_digest: Name,
    /// The session that asks.
    pub session: Name,
    /// The first session of its tree.
    pub root: Name,
    /// The person for whom the agent acts.
    pub user: Option<Name>,
    /// The agent.
    pub agent: Option<Name>,
    /// The agent program.
    pub host: Option<Name>,
    /// The folder of work.
    pub cwd: Option<Name>,
    /// The tool or model.
    pub subject: Name,
    /// Why it is asked.
    pub reason: String,
    /// The arguments, scrubbed, as JSON.
    pub shown: String,
    /// What the call would do, scrubbed, a line each.
    pub effects: Vec<String>,
    /// Who must agree, each of them; empty: whoever is at the screen.
    pub who: Vec<Name>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Until when it stands.
    pub expires_at: Timestamp,
    /// When it last changed its state.
    pub changed_at: Timestamp,
    /// What came of the call.
    pub came: Option<String>,
    /// What was answered.
    pub answers: Vec<Answer>,
}

/// What stands about a question that is to be put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stands {
    /// The question was put, or had been put before, and waits.
    Waits(Approval),
    /// An answer is there: of this question, or one that stands for questions like it.
    Answered(Approval),
    /// It expired, which nobody has been told yet.
    Expired(Approval),
    /// It was taken back, which nobody has been told yet.
    Cancelled(Approval),
    /// So many of this tree of sessions are unanswered that it was not put.
    TooMany(usize),
}

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// There is no such question.
    #[error("there is no approval `{0}`")]
    Unknown(String),
    /// It does not wait for an answer.
    #[error("approval `{id}` is {}: it takes no answer", .state.name())]
    Closed {
        /// Which.
        id: Name,
        /// Where it stands.
        state: ApprovalState,
    },
    /// The file cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The file of approvals. Opened when it is needed.
pub struct Approvals {
    path: PathBuf,
    open: Mutex<Option<Database>>,
}

impl Approvals {
    /// The approvals in this folder of state.
    pub fn new(folder: &Path) -> Approvals {
        Approvals { path: folder.join(APPROVALS), open: Mutex::new(None) }
    }

    /// Puts a question, unless something stands about it already. Identical ones are one; at most
    /// `waiting_max` of one tree of sessions wait at a time. A yes for the session holds where it was
    /// given since the tree's first session began or was ended last, at `session_since`.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn put(
        &self,
        question: &Approval,
        waiting_max: usize,
        session_since: Timestamp,
        now: Timestamp,
    ) -> Result<Stands, DatabaseError> {
        self.change(|db| {
            expire(db, now)?;
            if let Some(standing) = answer::standing(db, question, session_since)? {
                return Ok(Stands::Answered(standing));
            }
            let same =
                format!("{SELECT} WHERE call_digest = ?1 AND hook = ?2 ORDER BY asked_at DESC");
            let mut query = db.prepare(&same)?;
            let rows = query.query_map([&*question.call_digest, &*question.hook], read)?;
            for row in rows {
                let (mut found, told) = row?;
                found.answers = answer::of(db, &found.id)?;
                match found.state {
                    ApprovalState::Pending => return Ok(Stands::Waits(found)),
                    ApprovalState::Approved
                        if !found.is_for_session() || found.is_given_since(session_since) =>
                    {
                        return Ok(Stands::Answered(found));
                    }
                    ApprovalState::Denied if found.expires_at > now => {
                        return Ok(Stands::Answered(found));
                    }
                    ApprovalState::Expired | ApprovalState::Cancelled if !told => {
                        db.execute("UPDATE approvals SET told = 1 WHERE id = ?1", [&*found.id])?;
                        return Ok(match found.state == ApprovalState::Expired {
                            true => Stands::Expired(found),
                            false => Stands::Cancelled(found),
                        });
                    }
                    ApprovalState::Approved
                    | ApprovalState::Denied
                    | ApprovalState::Expired
                    | ApprovalState::Cancelled
                    | ApprovalState::Claimed
                    | ApprovalState::Used
                    | ApprovalState::Settled => {}
                }
            }
            let count = "SELECT count(*) FROM approvals WHERE state = 'pending' AND root = ?1";
            let waiting: i64 = db.query_row(count, [&*question.root], |row| row.get(0))?;
            let waiting = usize::try_from(waiting).unwrap_or(usize::MAX);
            if waiting >= waiting_max {
                return Ok(Stands::TooMany(waiting));
            }
            insert(db, question)?;
            Ok(Stands::Waits(question.clone()))
        })
    }

    /// Takes an answer to a question that waits. `closes` says from all answers where it stands then.
    ///
    /// # Errors
    /// [`AnswerError`] says why it was not taken.
    pub fn answer(
        &self,
        id: &str,
        answer: &Answer,
        closes: impl FnOnce(&Approval) -> ApprovalState,
        now: Timestamp,
    ) -> Result<Approval, AnswerError> {
        let answered = self.change(|db| {
            expire(db, now)?;
            let Some(found) = one(db, id)? else { return Ok(None) };
            if found.state != ApprovalState::Pending {
                return Ok(Some((false, found)));
            }
            answer::put(db, &found.id, answer)?;
            let mut answered = one(db, id)?.unwrap_or(found);
            answered.state = closes(&answered);
            set_state(db, &answered.id, answered.state, now)?;
            // What is answered for more than once stands beyond the time of the question.
            let is_closed = answered.state != ApprovalState::Pending;
            if is_closed && answered.answers.iter().all(|answer| answer.scope != Scope::Once) {
                let until = now.plus_millis(STANDING_DAYS_MAX * 86_400_000);
                let stand = "UPDATE approvals SET expires_at = ?2 WHERE id = ?1";
                db.execute(stand, params![&*answered.id, millis(until)])?;
            }
            Ok(Some((true, answered)))
        })?;
        match answered {
            None => Err(AnswerError::Unknown(id.to_owned())),
            Some((false, Approval { id, state, .. })) => Err(AnswerError::Closed { id, state }),
            Some((true, answered)) => Ok(answered),
        }
    }

    /// Takes a question back, or the yes that nobody has used yet.
    ///
    /// # Errors
    /// [`AnswerError`] when it is closed already.
    pub fn cancel(&self, id: &str, now: Timestamp) -> Result<Approval, AnswerError> {
        let cancelled = self.change(|db| {
            expire(db, now)?;
            let Some(mut found) = one(db, id)? else { return Ok(None) };
            let is_open = matches!(found.state, ApprovalState::Pending | ApprovalState::Approved);
            // A standing answer is taken back the same way.
            let stands = found.answers.iter().any(|answer| answer.scope != Scope::Once);
            if !is_open && !stands {
                return Ok(Some((false, found)));
            }
            set_state(db, &found.id, ApprovalState::Cancelled, now)?;
            found.state = ApprovalState::Cancelled;
            Ok(Some((true, found)))
        })?;
        match cancelled {
            None => Err(AnswerError::Unknown(id.to_owned())),
            Some((false, Approval { id, state, .. })) => Err(AnswerError::Closed { id, state }),
            Some((true, cancelled)) => Ok(cancelled),
        }
    }

    /// Gives a yes out to one call; whether it was to be had. One that stands for a session is given
    /// out any number of times.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn claim(&self, id: &str, key: &CallKey, now: Timestamp) -> Result<bool, DatabaseError> {
        self.change(|db| {
            expire(db, now)?;
            let claim = "UPDATE approvals SET state = 'claimed', changed_at = ?2, call = ?3
                         WHERE id = ?1 AND state = 'approved'";
            Ok(db.execute(claim, params![id, millis(now), &*key.call])? == 1)
        })
    }

    /// A yes that was given out is used up: its call runs. Whether it still was the call's.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn run(&self, id: &str, key: &CallKey, now: Timestamp) -> Result<bool, DatabaseError> {
        self.change(|db| {
            let run = "UPDATE approvals SET state = 'used', changed_at = ?2
                       WHERE id = ?1 AND state = 'claimed' AND call = ?3";
            if db.execute(run, params![id, millis(now), &*key.call])? == 1 {
                return Ok(true);
            }
            // One that stands for its session is not used up.
            let stands =
                |found: Approval| found.state == ApprovalState::Approved && found.is_for_session();
            Ok(one(db, id)?.is_some_and(stands))
        })
    }

    /// A yes that was given out is to be had again: its call did not run. Only the call that has it can give it
    /// back: one whose claim has run out must not free what another has by now.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn release(&self, id: &str, key: &CallKey, now: Timestamp) -> Result<(), DatabaseError> {
        self.change(|db| {
            let release = "UPDATE approvals SET state = 'approved', changed_at = ?2, call = NULL
                           WHERE id = ?1 AND state IN ('claimed', 'used') AND call = ?3";
            db.execute(release, params![id, millis(now), &*key.call]).map(drop)
        })
    }

    /// The call that ran by a yes has ended. One that did not run after all leaves the yes to be had.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn settle(
        &self,
        key: &CallKey,
        executed: bool,
        ok: bool,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        self.change(|db| {
            let (state, came) = match (executed, ok) {
                (false, _) => ("approved", None),
                (true, true) => ("settled", Some("ended well")),
                (true, false) => ("settled", Some("ended badly")),
            };
            let settle = "UPDATE approvals SET state = ?3, came = ?4, changed_at = ?5
                          WHERE session = ?1 AND call = ?2 AND state = 'used'";
            let values = params![&*key.session, &*key.call, state, came, millis(now)];
            db.execute(settle, values).map(drop)
        })
    }

    /// What was answered for this session, the first of its tree, until now holds no longer.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn end_session(&self, root: &str, now: Timestamp) -> Result<(), DatabaseError> {
        if !self.is_there() {
            return Ok(());
        }
        self.change(|db| {
            // Nobody need be told: the call is asked anew.
            let end = "UPDATE approvals SET state = 'expired', changed_at = ?2, told = 1
                       WHERE state = 'approved' AND root = ?1
                       AND id IN (SELECT approval FROM answers WHERE scope = 'session')
                       AND id NOT IN (SELECT approval FROM answers WHERE scope <> 'session')";
            db.execute(end, params![root, millis(now)]).map(drop)
        })
    }

    /// The caller has heard that a question expired or was taken back: the same call is asked anew.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn tell(&self, id: &str) -> Result<(), DatabaseError> {
        self.change(|db| db.execute("UPDATE approvals SET told = 1 WHERE id = ?1", [id]).map(drop))
    }

    /// One question.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn show(&self, id: &str, now: Timestamp) -> Result<Option<Approval>, DatabaseError> {
        if !self.is_there() {
            return Ok(None);
        }
        self.change(|db| {
            expire(db, now)?;
            one(db, id)
        })
    }

    /// All questions that are kept, the newest first.
    ///
    /// # Errors
    /// [`DatabaseError`] when the file cannot be used.
    pub fn list(&self, now: Timestamp) -> Result<Vec<Approval>, DatabaseError> {
        if !self.is_there() {
            return Ok(Vec::new());
        }
        self.change(|db| {
            expire(db, now)?;
            let mut query = db.prepare(&format!("{SELECT} ORDER BY asked_at DESC, id DESC"))?;
            let found: rusqlite::Result<Vec<_>> = query.query_map([], read)?.collect();
            let with_answers = |(mut approval, _): (Approval, bool)| {
                approval.answers = answer::of(db, &approval.id)?;
                Ok(approval)
            };
            found?.into_iter().map(with_answers).collect()
        })
    }

    fn is_there(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok()
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match &mut *open {
            Some(database) => database,
            none => none.insert(Database::open(&self.path, &SCHEMA)?),
        };
        database.change(change)
    }
}

/// Moves on what time has moved on: questions that expired, yeses that nobody used in time, claims of
/// processes that are gone; and forgets what is long closed.
fn expire(db: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<()> {
    let at = millis(now);
    let free = "UPDATE approvals SET state = 'approved', changed_at = ?1, call = NULL
                WHERE state = 'claimed' AND changed_at <= ?2";
    db.execute(free, params![at, at.saturating_sub(i64::try_from(CLAIM_MS).unwrap_or(0))])?;
    let expire = "UPDATE approvals SET state = 'expired', changed_at = ?1
                  WHERE state IN ('pending', 'approved') AND expires_at <= ?1";
    db.execute(expire, [at])?;
    let long_ago = at.saturating_sub(i64::try_from(KEPT_DAYS * 86_400_000).unwrap_or(0));
    let old = "SELECT id FROM approvals WHERE changed_at <= ?1 AND expires_at <= ?2
               AND state NOT IN ('pending', 'approved')";
    db.execute(&format!("DELETE FROM answers WHERE approval IN ({old})"), [long_ago, at])?;
    db.execute(&format!("DELETE FROM approvals WHERE id IN ({old})"), [long_ago, at]).map(drop)
}

fn set_state(
    db: &Transaction<'_>,
    id: &str,
    state: ApprovalState,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let set = "UPDATE approvals SET state = ?2, changed_at = ?3 WHERE id = ?1";
    db.execute(set, params![id, state.name(), millis(now)]).map(drop)
}

const SELECT: &str =
    "SELECT id, state, hook, call_digest, effects_digest, session, root, user, agent,
 host, cwd, subject, reason, shown, effects, who, asked_at, expires_at, changed_at, came, told
 FROM approvals";

fn one(db: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<Approval>> {
    let found = db.query_row(&format!("{SELECT} WHERE id = ?1"), [id], read).optional()?;
    let Some((mut approval, _)) = found else { return Ok(None) };
    approval.answers = answer::of(db, id)?;
    Ok(Some(approval))
}

/// A question without its answers, and whether its end was told.
fn read(row: &Row<'_>) -> rusqlite::Result<(Approval, bool)> {
    let name = |column| row.get::<_, String>(column).map(Name::from);
    let maybe = |column| row.get::<_, Option<String>>(column).map(|text| text.map(Name::from));
    let state: String = row.get(1)?;
    let state = ApprovalState::from_name(&state);
    let list = |column| -> rusqlite::Result<Vec<String>> {
        let text: String = row.get(column)?;
        serde_json::from_str(&text).map_err(|error| unread(error.to_string()))
    };
    let approval = Approval {
        id: name(0)?,
        state: state.ok_or_else(|| unread("no state of an approval"))?,
        hook: name(2)?,
        call_digest: name(3)?,
        effects_digest: name(4)?,
        session: name(5)?,
        root: name(6)?,
        user: maybe(7)?,
        agent: maybe(8)?,
        host: maybe(9)?,
        cwd: maybe(10)?,
        subject: name(11)?,
        reason: row.get(12)?,
        shown: row.get(13)?,
        effects: list(14)?,
        who: list(15)?.into_iter().map(Name::from).collect(),
        asked_at: time(row, 16)?,
        expires_at: time(row, 17)?,
        changed_at: time(row, 18)?,
        came: row.get(19)?,
        answers: Vec::new(),
    };
    Ok((approval, row.get(20)?))
}

fn insert(db: &Transaction<'_>, new: &Approval) -> rusqlite::Result<()> {
    let effects = serde_json::to_string(&new.effects).map_err(|error| unread(error.to_string()))?;
    let put = "INSERT INTO approvals (id, state, hook, call_digest, effects_digest, session, root, user,
               agent, host, cwd, subject, reason, shown, effects, who, asked_at, expires_at, changed_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
    db.execute(
        put,
        params![
            &*new.id,
            new.state.name(),
            &*new.hook,
            &*new.call_digest,
            &*new.effects_digest,
            &*new.session,
            &*new.root,
            new.user.as_deref(),
            new.agent.as_deref(),
            new.host.as_deref(),
            new.cwd.as_deref(),
            &*new.subject,
            new.reason,
            new.shown,
            effects,
            who_text(&new.who)?,
            millis(new.asked_at),
            millis(new.expires_at),
            millis(new.changed_at),
        ],
    )
    .map(drop)
}

fn who_text(who: &[Name]) -> rusqlite::Result<String> {
    serde_json::to_string(who).map_err(|error| unread(error.to_string()))
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let ms = u64::try_from(row.get::<_, i64>(column)?);
    ms.map(Timestamp::from_millis).map_err(|error| unread(error.to_string()))
}

fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}
