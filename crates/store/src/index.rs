//! The index of a book: an SQLite file beside it, by which questions about many records are answered
//! quickly.
//!
//! It is derived and lags: whoever asks brings it up to the book first, from where it stopped. It holds
//! places and what is asked for, never a record: what is shown is always read from the book. It can be
//! deleted at any time. One that does not fit the book (another book, one that was set back, a damaged
//! file) is thrown away and made anew; one that a newer Tollgate has written is refused and left alone.
//! Nothing that appends records opens it.

use crate::book::{Book, BookError, Entries, Entry};
use crate::database::{Database, DatabaseError, Kept, Schema};
use crate::follow::{FollowError, Mark};
use crate::hash::HashValue;
use crate::query::{Counts, Filter, HookCounts, add, is_unknown, time_of, uses};
use crate::segment::segment_name;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tollgate_gate::{Json, Timestamp};

/// The index in the ledger's folder.
pub const INDEX_NAME: &str = "index.db";
/// Lines that are taken in at once.
const LINES_AT_ONCE: usize = 20_000;

/// The first version. Names are kept once; ids by the start of their hash.
const FIRST: &str = "
CREATE TABLE mark (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL, line TEXT NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL
) STRICT;
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE record (
    seq INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL, place INTEGER NOT NULL, bytes INTEGER NOT NULL,
    at INTEGER, kind INTEGER, session INTEGER, root INTEGER, user INTEGER, tool INTEGER,
    verdict INTEGER, code INTEGER, hook INTEGER, id INTEGER, decision INTEGER,
    unknown INTEGER NOT NULL, erased INTEGER NOT NULL
) STRICT;
CREATE INDEX record_at ON record (at);
CREATE INDEX record_session ON record (session);
CREATE INDEX record_root ON record (root) WHERE root IS NOT NULL;
CREATE INDEX record_user ON record (user);
CREATE INDEX record_tool ON record (tool) WHERE tool IS NOT NULL;
CREATE INDEX record_code ON record (code) WHERE code IS NOT NULL;
CREATE INDEX record_id ON record (id);
CREATE INDEX record_decision ON record (decision) WHERE decision IS NOT NULL;
CREATE TABLE use (
    hook INTEGER NOT NULL, seq INTEGER NOT NULL, bits INTEGER NOT NULL, us INTEGER NOT NULL,
    PRIMARY KEY (hook, seq)
) STRICT, WITHOUT ROWID;
";

static SCHEMA: Schema = Schema {
    what: "index of the ledger",
    application: 0x7467_6978,
    versions: &[FIRST],
    kept: Kept::Quick,
};

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The file cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The book cannot be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The file cannot be taken away.
    #[error("the index `{}` cannot be taken away: {cause}", .path.display())]
    Stuck {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Its number.
    pub seq: u64,
    segment: u64,
    place: u64,
    bytes: u64,
}

/// An open index.
pub struct Index {
    folder: PathBuf,
    database: Database,
}

impl Index {
    /// Opens the index of the ledger in this folder, or makes an empty one.
    ///
    /// # Errors
    /// [`IndexError`]; a damaged file is no error but made anew.
    pub fn open(folder: &Path) -> Result<Index, IndexError> {
        let path = folder.join(INDEX_NAME);
        let database = match Database::open(&path, &SCHEMA) {
            Err(DatabaseError::Damaged { .. }) => {
                remove(folder)?;
                Database::open(&path, &SCHEMA)?
            }
            opened => opened?,
        };
        Ok(Index { folder: folder.to_owned(), database })
    }

    /// Takes in what was written since. `progress` hears how many records are in it.
    ///
    /// # Errors
    /// [`IndexError`] when the book or the file cannot be read.
    pub fn catch_up(&mut self, progress: &mut dyn FnMut(u64)) -> Result<(), IndexError> {
        let book = Book::open(&self.folder)?;
        let mut is_anew = false;
        loop {
            let mark = self.database.read(|db| read_mark(db))?;
            match book.after(&mark, LINES_AT_ONCE) {
                Ok(lines) if lines.is_empty() => return Ok(()),
                Ok(lines) => {
                    let taken = self.database.change(|db| take(db, &mark, &lines))?;
                    let last = lines.last().map_or(mark.seq, |(_, mark)| mark.seq);
                    if taken {
                        progress(last);
                    }
                }
                Err(FollowError::Pruned { to, rest, .. }) => {
                    self.database.change(|db| forget(db, to, &rest))?;
                }
                Err(FollowError::Book(error @ (BookError::Io { .. } | BookError::Folder(_)))) => {
                    return Err(error.into());
                }
                // It is about another book, or about lines that are no longer there.
                Err(FollowError::NotThisBook { .. } | FollowError::Book(_)) if !is_anew => {
                    is_anew = true;
                    self.database.change(empty)?;
                }
                Err(FollowError::NotThisBook { .. }) => return Ok(()),
                Err(FollowError::Book(error)) => return Err(error.into()),
            }
        }
    }

    /// The places of the records that are meant, the newest first, at most so many.
    ///
    /// # Errors
    /// [`IndexError`] when the file cannot be read.
    pub fn newest(&mut self, filter: &Filter, max: usize) -> Result<Vec<Spot>, IndexError> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        Ok(self.database.read(|db| {
            let Some(wanted) = Wanted::of(filter, db)? else { return Ok(Vec::new()) };
            let sql = format!(
                "SELECT seq, segment, place, bytes FROM record WHERE {} ORDER BY seq DESC LIMIT {max}",
                wanted.sql()
            );
            spots(db, &sql, &wanted.values)
        })?)
    }

    /// The places of the records with this id, and of the outcomes of the decision with this id.
    ///
    /// # Errors
    /// [`IndexError`] when the file cannot be read.
    pub fn with_id(&mut self, id: &str) -> Result<Vec<Spot>, IndexError> {
        let sql = "SELECT seq, segment, place, bytes FROM record WHERE id = ?1
                   UNION SELECT seq, segment, place, bytes FROM record WHERE decision = ?1 ORDER BY seq";
        Ok(self.database.read(|db| spots(db, sql, &[Value::Integer(short(id))]))?)
    }

    /// The sessions that records are of, in no order.
    ///
    /// # Errors
    /// [`IndexError`] when the file cannot be read.
    pub fn sessions(&mut self) -> Result<Vec<String>, IndexError> {
        let sql = "SELECT text FROM name WHERE id IN (SELECT session FROM record)";
        Ok(self.database.read(|db| db.prepare(sql)?.query_map([], |row| row.get(0))?.collect())?)
    }

    /// Counts the records that are meant.
    ///
    /// # Errors
    /// [`IndexError`] when the file cannot be read.
    pub fn counts(&mut self, filter: &Filter) -> Result<Counts, IndexError> {
        Ok(self.database.read(|db| {
            let Some(wanted) = Wanted::of(filter, db)? else { return Ok(Counts::default()) };
            count(db, &wanted)
        })?)
    }

    /// Reads a record from the book; `None` if it no longer stands there.
    ///
    /// # Errors
    /// [`BookError`] when the file cannot be read.
    pub fn read(&self, spot: &Spot) -> Result<Option<Entry>, BookError> {
        let file = self.folder.join(segment_name(spot.segment));
        let mut lines = Entries::open_range(file, spot.place, spot.place + spot.bytes + 1)?;
        let entry = lines.next().transpose()?;
        Ok(entry.filter(|entry| entry.line.seq == spot.seq))
    }
}

/// Takes the index away; it is made anew when somebody asks.
///
/// # Errors
/// [`IndexError::Stuck`] when a file cannot be removed.
pub fn remove(folder: &Path) -> Result<(), IndexError> {
    for ending in ["", "-wal", "-shm"] {
        let path = folder.join(format!("{INDEX_NAME}{ending}"));
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(IndexError::Stuck { path, cause });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or_default())
}

fn read_mark(db: &Connection) -> rusqlite::Result<Mark> {
    let mark = db.query_row("SELECT seq, line, segment, place FROM mark", [], |row| {
        let line: String = row.get(1)?;
        let line = HashValue::parse(&line).unwrap_or_default();
        Ok(Mark {
            seq: unsigned(row, 0)?,
            line,
            segment: unsigned(row, 2)?,
            end: unsigned(row, 3)?,
        })
    });
    Ok(mark.optional()?.unwrap_or(Mark::START))
}

fn write_mark(db: &Connection, mark: &Mark) -> rusqlite::Result<()> {
    let values =
        params![number(mark.seq), mark.line.to_string(), number(mark.segment), number(mark.end)];
    let sql = "INSERT OR REPLACE INTO mark VALUES (1, ?1, ?2, ?3, ?4)";
    db.execute(sql, values).map(drop)
}

fn empty(db: &rusqlite::Transaction<'_>) -> rusqlite::Result<()> {
    db.execute_batch("DELETE FROM mark; DELETE FROM record; DELETE FROM use; DELETE FROM name;")
}

/// Drops what was pruned.
fn forget(db: &rusqlite::Transaction<'_>, to: u64, rest: &Mark) -> rusqlite::Result<()> {
    db.execute("DELETE FROM record WHERE seq <= ?1", [number(to)])?;
    db.execute("DELETE FROM use WHERE seq <= ?1", [number(to)])?;
    write_mark(db, rest)
}

/// The start of the hash of an id: eight bytes find it, and the book says whether it is the one.
fn short(id: &str) -> i64 {
    let hash = HashValue::of(id.as_bytes());
    hash.as_bytes().iter().take(8).fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

/// Takes lines in; false if another process has done so meanwhile.
fn take(
    db: &rusqlite::Transaction<'_>,
    from: &Mark,
    lines: &[(Entry, Mark)],
) -> rusqlite::Result<bool> {
    if read_mark(db)? != *from {
        return Ok(false);
    }
    let mut names = Names::default();
    let mut records = db.prepare(
        "INSERT INTO record VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17)",
    )?;
    let mut votes = db.prepare("INSERT INTO use VALUES (?1, ?2, ?3, ?4)")?;
    for (entry, mark) in lines {
        let json = &entry.line.json;
        let text = |key| json.get(key).and_then(Json::as_str);
        let mut name = |key: &'static str| text(key).map(|text| names.id(db, text)).transpose();
        let (kind, session, root) = (name("kind")?, name("session")?, name("root")?);
        let (user, verdict, code) = (name("user")?, name("verdict")?, name("code")?);
        let hook = name("hook")?;
        let tool = if text("tool").is_some() { name("tool")? } else { name("model")? };
        // The first session of a tree is its own root, which says nothing more.
        let root = root.filter(|root| Some(*root) != session);
        let seq = number(entry.line.seq);
        records.execute(params![
            seq,
            number(mark.segment),
            number(entry.offset),
            number(entry.text.len() as u64),
            time_of(json).map(|at| number(at.millis())),
            kind,
            session,
            root,
            user,
            tool,
            verdict,
            code,
            hook,
            text("id").map(short),
            text("decision").map(short),
            is_unknown(json),
            entry.line.erased.is_some(),
        ])?;
        for seen in uses(json) {
            let hook = names.id(db, seen.hook)?;
            votes.execute(params![hook, seq, seen.bits(), number(seen.us)])?;
        }
    }
    if let Some((_, mark)) = lines.last() {
        write_mark(db, mark)?;
    }
    Ok(true)
}

/// Names and their numbers, as far as they are known.
#[derive(Default)]
struct Names {
    known: HashMap<String, i64>,
}

impl Names {
    fn id(&mut self, db: &Connection, text: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.known.get(text) {
            return Ok(*id);
        }
        let id = match id_of(db, text)? {
            Some(id) => id,
            None => {
                db.prepare("INSERT INTO name (text) VALUES (?1)")?.execute([text])?;
                db.last_insert_rowid()
            }
        };
        self.known.insert(text.to_owned(), id);
        Ok(id)
    }
}

fn id_of(db: &Connection, text: &str) -> rusqlite::Result<Option<i64>> {
    let mut find = db.prepare("SELECT id FROM name WHERE text = ?1")?;
    find.query_row([text], |row| row.get(0)).optional()
}

fn spots(db: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<Spot>> {
    let mut find = db.prepare(sql)?;
    let spot = |row: &Row<'_>| {
        let (segment, place) = (unsigned(row, 1)?, unsigned(row, 2)?);
        Ok(Spot { seq: unsigned(row, 0)?, segment, place, bytes: unsigned(row, 3)? })
    };
    find.query_map(params_from_iter(values), spot)?.collect()
}

/// A filter as SQL.
struct Wanted {
    terms: Vec<String>,
    values: Vec<Value>,
}

impl Wanted {
    /// `None` if no record can match: a name that the index does not know.
    fn of(filter: &Filter, db: &Connection) -> rusqlite::Result<Option<Wanted>> {
        let mut wanted = Wanted { terms: Vec::new(), values: Vec::new() };
        let Filter { since, until, kind, session, user, tool, verdict, code, hook } = filter;
        for (at, sign) in [(since, ">="), (until, "<")] {
            if let Some(at) = at {
                wanted.term(Value::Integer(number(at.millis())), |n| format!("at {sign} ?{n}"));
            }
        }
        let columns = [
            (kind, "kind = ?"),
            (session, "(session = ? OR root = ?)"),
            (user, "user = ?"),
            (tool, "tool = ?"),
            (verdict, "verdict = ?"),
            (code, "code = ?"),
            (hook, "(hook = ? OR seq IN (SELECT seq FROM use WHERE hook = ? AND bits != 0))"),
        ];
        for (name, term) in columns {
            let Some(name) = name else { continue };
            let Some(id) = id_of(db, name)? else { return Ok(None) };
            wanted.term(Value::Integer(id), |n| term.replace('?', &format!("?{n}")));
        }
        Ok(Some(wanted))
    }

    fn term(&mut self, value: Value, term: impl FnOnce(usize) -> String) {
        self.values.push(value);
        self.terms.push(term(self.values.len()));
    }

    fn sql(&self) -> String {
        if self.terms.is_empty() { "1".to_owned() } else { self.terms.join(" AND ") }
    }
}

fn count(db: &Connection, wanted: &Wanted) -> rusqlite::Result<Counts> {
    let mut counts = Counts::default();
    let sql = format!(
        "SELECT (SELECT text FROM name WHERE id = kind), (SELECT text FROM name WHERE id = verdict),
                (SELECT text FROM name WHERE id = code), count(*), sum(unknown), sum(erased),
                min(at), max(at)
         FROM record WHERE {} GROUP BY kind, verdict, code",
        wanted.sql()
    );
    let mut groups = db.prepare(&sql)?;
    let mut rows = groups.query(params_from_iter(&wanted.values))?;
    while let Some(row) = rows.next()? {
        let kind = row.get::<_, Option<String>>(0)?.unwrap_or_default();
        let many = unsigned(row, 3)?;
        counts.records += many;
        counts.unknown += unsigned(row, 4)?;
        counts.erased += unsigned(row, 5)?;
        add(&mut counts.kinds, &kind, many);
        if kind == "decision" {
            let verdict: Option<String> = row.get(1)?;
            let code: Option<String> = row.get(2)?;
            verdict.iter().for_each(|verdict| add(&mut counts.verdicts, verdict, many));
            code.iter().for_each(|code| add(&mut counts.codes, code, many));
        }
        if row.get::<_, Option<i64>>(6)?.is_some() {
            let (from, to) = (unsigned(row, 6)?, unsigned(row, 7)?);
            let (from, to) = (Timestamp::from_millis(from), Timestamp::from_millis(to));
            let (first, last) = counts.span.unwrap_or((from, to));
            counts.span = Some((first.min(from), last.max(to)));
        }
    }
    let only = match wanted.terms.is_empty() {
        true => String::new(),
        false => format!("WHERE seq IN (SELECT seq FROM record WHERE {})", wanted.sql()),
    };
    let sql = format!(
        "SELECT (SELECT text FROM name WHERE id = use.hook), count(*), sum(bits & 1),
                sum(bits >> 1 & 1), sum(bits >> 2 & 1), sum(bits >> 3 & 1), sum(us)
         FROM use {only} GROUP BY use.hook"
    );
    let mut groups = db.prepare(&sql)?;
    let mut rows = groups.query(params_from_iter(&wanted.values))?;
    while let Some(row) = rows.next()? {
        let hook = HookCounts {
            asked: unsigned(row, 1)?,
            hits: unsigned(row, 2)?,
            would: unsigned(row, 3)?,
            faults: unsigned(row, 4)?,
            failed_open: unsigned(row, 5)?,
            us: unsigned(row, 6)?,
        };
        counts.hooks.insert(row.get::<_, Option<String>>(0)?.unwrap_or_default(), hook);
    }
    Ok(counts)
}
