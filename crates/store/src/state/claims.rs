//! What limits and breakers have counted and hold, in SQLite: for all sessions and processes.
//!
//! One step is one transaction. It loads the accounts and reservations that it can touch into a
//! [`ClaimTable`], which has the rules, and writes back what changed; so N processes against a limit of
//! K let exactly K through. The file is opened when the first hook asks for it.

use crate::database::{Database, DatabaseError, Kept, Schema, unread};
use crate::limits::LEASES_SWEPT_MAX;
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tollgate_gate::limits::CLAIM_KEYS_MAX;
use tollgate_gate::state::{AccountPart, BreakerPart, ClaimParts, ClaimTable, HeldPart};
use tollgate_gate::{CallKey, Claim, Name, StateError, Timestamp};

static SCHEMA: Schema = Schema {
    what: "limits",
    // `TGLi`
    application: 0x5447_4c69,
    versions: &["CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE accounts (
  key TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  idle_at INTEGER, -- milliseconds; from then on it may be forgotten
  touched_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX accounts_idle ON accounts (idle_at);
CREATE TABLE held (
  number INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  call TEXT NOT NULL,
  claims TEXT NOT NULL,
  at INTEGER NOT NULL, -- nanoseconds
  lease_end INTEGER NOT NULL
) STRICT;
CREATE INDEX held_call ON held (session, call);
CREATE INDEX held_lease ON held (lease_end);"],
    kept: Kept::Quick,
};

/// What one step can touch.
pub(super) enum Touches<'a> {
    Claims(&'a [Claim]),
    Call(&'a CallKey),
}

/// What one key has used, as people look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitShown {
    /// Hook and whom it counts, as one text.
    pub key: Name,
    /// What was used and is held.
    pub account: AccountPart,
    /// When it was last counted.
    pub touched_at: Timestamp,
}

/// The file of limits.
pub(super) struct ClaimStore {
    path: PathBuf,
    open: Mutex<Option<Database>>,
}

impl ClaimStore {
    pub(super) fn new(path: PathBuf) -> ClaimStore {
        ClaimStore { path, open: Mutex::new(None) }
    }

    /// Takes a step, and keeps what it changed.
    pub(super) fn step<T>(
        &self,
        touches: &Touches<'_>,
        now: Timestamp,
        step: impl FnOnce(&mut ClaimTable) -> T,
    ) -> Result<T, StateError> {
        let stepped = self.with(|database| {
            database.change(|db| {
                let before = load(db, touches, now)?;
                let mut table = ClaimTable::from(before.clone());
                let done = step(&mut table);
                let after = ClaimParts::from(table);
                let fits = keep(db, &before, &after, now)?;
                Ok((done, fits))
            })
        });
        match stepped.map_err(stateless)? {
            (done, true) => Ok(done),
            (_, false) => Err(StateError::Full { what: "limit keys", max: CLAIM_KEYS_MAX }),
        }
    }

    /// Says what a step would say, and keeps nothing.
    pub(super) fn look<T>(
        &self,
        touches: &Touches<'_>,
        now: Timestamp,
        step: impl FnOnce(&mut ClaimTable) -> T,
    ) -> Result<T, StateError> {
        let seen = self.with(|database| {
            database.read(|db| Ok(step(&mut ClaimTable::from(load(db, touches, now)?))))
        });
        seen.map_err(stateless)
    }

    /// What has been counted, by key.
    pub(super) fn list(&self) -> Result<Vec<LimitShown>, DatabaseError> {
        if !self.is_there() {
            return Ok(Vec::new());
        }
        self.with(|database| {
            database.read(|db| {
                let mut query =
                    db.prepare("SELECT key, account, touched_at FROM accounts ORDER BY key")?;
                let shown = query.query_map([], |row| {
                    Ok(LimitShown {
                        key: row.get::<_, String>(0)?.into(),
                        account: read_account(&row.get::<_, String>(1)?)?,
                        touched_at: Timestamp::from_millis(number(row, 2)?),
                    })
                })?;
                shown.collect()
            })
        })
    }

    /// Forgets what was counted for these keys. What calls that still run hold of them goes with it.
    pub(super) fn reset(&self, keys: &[Name]) -> Result<usize, DatabaseError> {
        if !self.is_there() {
            return Ok(0);
        }
        self.with(|database| {
            database.change(|db| {
                let mut forget = db.prepare("DELETE FROM accounts WHERE key = ?1")?;
                keys.iter().try_fold(0, |sum, key| Ok(sum + forget.execute([&**key])?))
            })
        })
    }

    fn is_there(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok()
    }

    fn with<T>(
        &self,
        step: impl FnOnce(&mut Database) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match &mut *open {
            Some(database) => database,
            none => none.insert(Database::open(&self.path, &SCHEMA)?),
        };
        step(database)
    }
}

fn stateless(error: DatabaseError) -> StateError {
    StateError::Store(error.to_string())
}

/// Loads what a step can touch: its keys, its call, and the leases that have ended.
fn load(
    db: &Transaction<'_>,
    touches: &Touches<'_>,
    now: Timestamp,
) -> rusqlite::Result<ClaimParts> {
    let last = "SELECT value FROM numbers WHERE name = 'last'";
    let last: Option<i64> = db.query_row(last, [], |row| row.get(0)).optional()?;
    let mut parts = ClaimParts {
        last: u64::try_from(last.unwrap_or(0)).map_err(|error| unread(error.to_string()))?,
        ..ClaimParts::default()
    };
    const HELD: &str = "SELECT number, session, call, claims, at, lease_end FROM held";
    let ended = format!("{HELD} WHERE lease_end <= ?1 ORDER BY lease_end LIMIT {LEASES_SWEPT_MAX}");
    let mut query = db.prepare(&ended)?;
    for held in query.query_map([nanos(now)], read_held)? {
        let (number, held) = held?;
        parts.held.insert(number, held);
    }
    let mut keys: BTreeSet<Name> = BTreeSet::new();
    match touches {
        Touches::Claims(claims) => {
            keys.extend(claims.iter().map(|claim| Name::clone(&claim.key)));
        }
        Touches::Call(key) => {
            let mut query = db.prepare(&format!("{HELD} WHERE session = ?1 AND call = ?2"))?;
            for held in query.query_map([&*key.session, &*key.call], read_held)? {
                let (number, held) = held?;
                parts.held.insert(number, held);
            }
        }
    }
    let held = parts.held.values().flat_map(|held| &held.claims);
    keys.extend(held.map(|claim| Name::clone(&claim.key)));
    let mut query = db.prepare("SELECT account FROM accounts WHERE key = ?1")?;
    for key in keys {
        let text = query.query_row([&*key], |row| row.get::<_, String>(0)).optional()?;
        if let Some(text) = text {
            parts.accounts.insert(key, read_account(&text)?);
        }
    }
    Ok(parts)
}

/// Writes what changed. Whether there was room for new keys; nothing counts if there was not.
fn keep(
    db: &Transaction<'_>,
    before: &ClaimParts,
    after: &ClaimParts,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let is_new = |key: &&Name| !before.accounts.contains_key(*key);
    let new = after.accounts.keys().filter(is_new).count();
    if new > 0 && !has_room(db, new, now)? {
        return Ok(false);
    }
    if after.last != before.last {
        let set = "INSERT INTO numbers VALUES ('last', ?1)
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        db.execute(set, [i64::try_from(after.last).unwrap_or(i64::MAX)])?;
    }
    let mut put = db.prepare(
        "INSERT INTO accounts VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO UPDATE SET
         account = excluded.account, idle_at = excluded.idle_at, touched_at = excluded.touched_at",
    )?;
    for (key, account) in &after.accounts {
        if before.accounts.get(key) != Some(account) {
            let idle_at = account.idle_at().map(millis);
            put.execute(params![&**key, account_text(account)?, idle_at, millis(now)])?;
        }
    }
    let mut gone = db.prepare("DELETE FROM held WHERE number = ?1")?;
    for number in before.held.keys().filter(|number| !after.held.contains_key(number)) {
        gone.execute([i64::try_from(*number).unwrap_or(i64::MAX)])?;
    }
    let mut hold = db.prepare("INSERT INTO held VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for (number, held) in after.held.iter().filter(|(number, _)| !before.held.contains_key(number))
    {
        let claims = serde_json::to_string(&held.claims).map_err(|e| unread(e.to_string()))?;
        let number = i64::try_from(*number).unwrap_or(i64::MAX);
        let (session, call) = (&*held.key.session, &*held.key.call);
        hold.execute(params![
            number,
            session,
            call,
            claims,
            nanos(held.at),
            nanos(held.lease_end)
        ])?;
    }
    Ok(true)
}

/// Whether there is room for so many keys, after those were forgotten that count nothing any more.
fn has_room(db: &Transaction<'_>, new: usize, now: Timestamp) -> rusqlite::Result<bool> {
    let count = || db.query_row("SELECT count(*) FROM accounts", [], |row| row.get::<_, i64>(0));
    let max = i64::try_from(CLAIM_KEYS_MAX.saturating_sub(new)).unwrap_or(i64::MAX);
    if count()? <= max {
        return Ok(true);
    }
    db.execute("DELETE FROM accounts WHERE idle_at <= ?1", [millis(now)])?;
    Ok(count()? <= max)
}

fn read_held(row: &Row<'_>) -> rusqlite::Result<(u64, HeldPart)> {
    let claims: String = row.get(3)?;
    let claims = serde_json::from_str(&claims).map_err(|error| unread(error.to_string()))?;
    let (session, call) = (row.get::<_, String>(1)?.into(), row.get::<_, String>(2)?.into());
    let (at, lease_end) = (number(row, 4)?, number(row, 5)?);
    Ok((
        number(row, 0)?,
        HeldPart {
            key: CallKey { session, call },
            claims,
            at: Timestamp::from_nanos(at),
            lease_end: Timestamp::from_nanos(lease_end),
        },
    ))
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|error| unread(error.to_string()))
}

fn nanos(at: Timestamp) -> i64 {
    i64::try_from(at.nanos()).unwrap_or(i64::MAX)
}

fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

/// An account as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAccount {
    used: Vec<(u64, u64)>,
    total: u64,
    running: u64,
    estimated: u64,
    breaker: RawBreaker,
    window_ms: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawBreaker {
    Closed,
    OpenUntil(u64),
    Probing(u64),
}

fn account_text(account: &AccountPart) -> rusqlite::Result<String> {
    let raw = RawAccount {
        used: account.used.iter().map(|(at, amount)| (at.nanos(), *amount)).collect(),
        total: account.total,
        running: account.running,
        estimated: account.estimated,
        breaker: match account.breaker {
            BreakerPart::Closed => RawBreaker::Closed,
            BreakerPart::OpenUntil(end) => RawBreaker::OpenUntil(end.nanos()),
            BreakerPart::Probing(number) => RawBreaker::Probing(number),
        },
        window_ms: account.window_ms,
    };
    serde_json::to_string(&raw).map_err(|error| unread(error.to_string()))
}

fn read_account(text: &str) -> rusqlite::Result<AccountPart> {
    let raw: RawAccount = serde_json::from_str(text).map_err(|error| unread(error.to_string()))?;
    let used = raw.used.into_iter().map(|(at, amount)| (Timestamp::from_nanos(at), amount));
    Ok(AccountPart {
        used: used.collect(),
        total: raw.total,
        running: raw.running,
        estimated: raw.estimated,
        breaker: match raw.breaker {
            RawBreaker::Closed => BreakerPart::Closed,
            RawBreaker::OpenUntil(end) => BreakerPart::OpenUntil(Timestamp::from_nanos(end)),
            RawBreaker::Probing(number) => BreakerPart::Probing(number),
        },
        window_ms: raw.window_ms,
    })
}
