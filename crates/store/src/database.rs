//! The SQLite files: how they are opened, and how they grow from version to version.
//!
//! Each file says what it is (`application_id`) and how far it has grown (`user_version`). An older one
//! is brought up step by step, in one transaction; one that a newer Tollgate has written, or that is
//! none of ours, is refused and not touched. Whatever cannot be read closes: the caller gets an error
//! and never an empty file in its place.

use crate::disk::OpenHow;
use crate::error::StoreError;
use crate::folder::{check, make, open_file};
use crate::limits::LOCK_WAIT_MS_MAX;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pages after which the log of a quick file is folded into it; so many have to be read when it is
/// opened.
const QUICK_LOG_PAGES: u32 = 100;
/// How long one who found a file busy waits before the next try.
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// What a file is, and the steps by which it has grown.
pub(crate) struct Schema {
    /// What a person calls it.
    pub(crate) what: &'static str,
    /// Its `application_id`.
    pub(crate) application: i32,
    /// The statements of each version, the first one's first.
    pub(crate) versions: &'static [&'static str],
    /// How it is kept.
    pub(crate) kept: Kept,
}

/// How a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// A change outlives a power cut before it is answered for.
    Durable,
    /// A change outlives a kill; a power cut may take the last ones back, whole ones. Opening and
    /// closing cost no writing.
    Quick,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// A newer Tollgate has written it.
    #[error(
        "the {what} `{}` were written by a newer Tollgate (version {found}, this one knows {known})",
        .path.display()
    )]
    Newer {
        /// What it is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this program knows.
        known: usize,
    },
    /// It is no file of ours.
    #[error("`{}` is no file of Tollgate's {what}", .path.display())]
    Foreign {
        /// What was expected.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Another process holds it for too long.
    #[error("another process has held the {what} for over {wait_ms} ms")]
    Busy {
        /// What it is.
        what: &'static str,
        /// How long was waited, in milliseconds.
        wait_ms: u64,
    },
    /// It is damaged.
    #[error("the {what} `{}` are damaged: {cause}", .path.display())]
    Damaged {
        /// What it is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What was found.
        cause: String,
    },
    /// It cannot be read or written.
    #[error("the {what} `{}` cannot be used: {cause}", .path.display())]
    Unusable {
        /// What it is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// The folder that it is in cannot be used.
    #[error(transparent)]
    Folder(#[from] StoreError),
}

/// An open file.
pub(crate) struct Database {
    path: PathBuf,
    schema: &'static Schema,
    connection: Connection,
}

impl Database {
    /// Opens the file, makes it if there is none, and brings it up to this version.
    pub(crate) fn open(path: &Path, schema: &'static Schema) -> Result<Database, DatabaseError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        if matches!(fs::symlink_metadata(folder), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            make(folder)?;
        }
        check(folder)?;
        let unusable = |cause: io::Error| DatabaseError::Unusable {
            what: schema.what,
            path: path.to_owned(),
            cause: cause.to_string(),
        };
        // Made here, so that it is for its owner only from its first moment on.
        drop(open_file(path, OpenHow::OrNew).map_err(unusable)?);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let failed = |error| fault(path, schema, &error);
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        let mut database = Database { path: path.to_owned(), schema, connection };
        database.set_up().map_err(failed)?;
        database.grow()?;
        Ok(database)
    }

    fn set_up(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.busy_timeout(Duration::from_millis(LOCK_WAIT_MS_MAX))?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        match self.schema.kept {
            Kept::Durable => connection.pragma_update(None, "synchronous", "FULL"),
            Kept::Quick => {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
                connection.pragma_update(None, "synchronous", "NORMAL")?;
                let set = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
                let pages = format!("PRAGMA wal_autocheckpoint = {QUICK_LOG_PAGES}");
                connection.query_row(&pages, [], set).map(drop)
            }
        }
    }

    fn version(&self) -> rusqlite::Result<(i64, i64)> {
        let number = |name| self.connection.pragma_query_value(None, name, |row| row.get(0));
        Ok((number("application_id")?, number("user_version")?))
    }

    /// Brings the file up. SQLite waits for a lock, but not where two want to turn one file to its log at
    /// the same time: the one that is told at once that the file is busy tries again, as long as it would
    /// have waited.
    fn grow(&mut self) -> Result<(), DatabaseError> {
        let until = Instant::now() + Duration::from_millis(LOCK_WAIT_MS_MAX);
        loop {
            match self.grow_once() {
                Err(DatabaseError::Busy { .. }) if Instant::now() < until => {
                    std::thread::sleep(BUSY_PAUSE);
                }
                grown => return grown,
            }
        }
    }

    /// Looks before it changes anything, and looks again under the lock, for another process may have
    /// brought it up meanwhile.
    fn grow_once(&mut self) -> Result<(), DatabaseError> {
        let known = self.schema.versions.len();
        if self.look()? == known {
            return Ok(());
        }
        let failed = |path: &Path, schema, error| fault(path, schema, &error);
        let wal = self.connection.pragma_update(None, "journal_mode", "WAL");
        wal.map_err(|error| failed(&self.path, self.schema, error))?;
        let (path, schema) = (self.path.clone(), self.schema);
        let transaction = self.begin()?;
        let grown: rusqlite::Result<()> = (|| {
            let version: i64 =
                transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
            let reached = usize::try_from(version).unwrap_or(0);
            for step in schema.versions.iter().skip(reached) {
                transaction.execute_batch(step)?;
            }
            transaction.pragma_update(None, "application_id", schema.application)?;
            let version = i64::try_from(known.max(reached)).unwrap_or(i64::MAX);
            transaction.pragma_update(None, "user_version", version)?;
            transaction.commit()
        })();
        grown.map_err(|error| failed(&path, schema, error))?;
        self.look().map(drop)
    }

    /// The version, of a file that is ours and not newer; 0 for an empty one.
    ///
    /// What looks like a stranger's is looked at once more: the file may have been made between two of
    /// the questions. It is made once, in one step, so the second look sees all of it. (One transaction
    /// around the questions would keep others from making it.)
    fn look(&self) -> Result<usize, DatabaseError> {
        match self.look_once() {
            Err(DatabaseError::Foreign { .. }) => self.look_once(),
            looked => looked,
        }
    }

    fn look_once(&self) -> Result<usize, DatabaseError> {
        let (what, path) = (self.schema.what, self.path.clone());
        let (application, version) = self.version().map_err(|error| self.fault(&error))?;
        let known = self.schema.versions.len();
        if application == 0 && version == 0 {
            let tables = "SELECT count(*) FROM sqlite_master";
            let tables = self.connection.query_row(tables, [], |row| row.get::<_, i64>(0));
            return match tables.map_err(|error| self.fault(&error))? {
                0 => Ok(0),
                _ => Err(DatabaseError::Foreign { what, path }),
            };
        }
        if application != i64::from(self.schema.application) {
            return Err(DatabaseError::Foreign { what, path });
        }
        match usize::try_from(version) {
            Ok(reached) if reached <= known => Ok(reached),
            _ => Err(DatabaseError::Newer { what, path, found: version, known }),
        }
    }

    fn begin(&mut self) -> Result<Transaction<'_>, DatabaseError> {
        let (path, schema) = (&self.path, self.schema);
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        begun.map_err(|error| fault(path, schema, &error))
    }

    /// Does something in one step: all of it, or nothing.
    pub(crate) fn change<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let (path, schema) = (self.path.clone(), self.schema);
        let transaction = self.begin()?;
        let done = change(&transaction).and_then(|value| transaction.commit().map(|()| value));
        done.map_err(|error| fault(&path, schema, &error))
    }

    /// Looks at one state of it, and changes nothing.
    pub(crate) fn read<T>(
        &mut self,
        read: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let (path, schema) = (self.path.clone(), self.schema);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Deferred);
        let seen = transaction.and_then(|transaction| read(&transaction));
        seen.map_err(|error| fault(&path, schema, &error))
    }

    fn fault(&self, error: &rusqlite::Error) -> DatabaseError {
        fault(&self.path, self.schema, error)
    }
}

/// What an error of SQLite means.
fn fault(path: &Path, schema: &Schema, error: &rusqlite::Error) -> DatabaseError {
    let (what, path, cause) = (schema.what, path.to_owned(), error.to_string());
    let code = error.sqlite_error_code();
    if matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
        return DatabaseError::Busy { what, wait_ms: LOCK_WAIT_MS_MAX };
    }
    let is_damage = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        // What was written was text that is read back; anything else was not written by us.
        || matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
        );
    match is_damage {
        true => DatabaseError::Damaged { what, path, cause },
        false => DatabaseError::Unusable { what, path, cause },
    }
}

/// A value that a column cannot hold in our reading of it.
pub(crate) fn unread(what: impl Into<String>) -> rusqlite::Error {
    let cause = io::Error::other(what.into());
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(cause))
}

#[cfg(test)]
mod tests {
    use super::{Database, DatabaseError, Kept, Schema};
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;

    const ONE: &str = "CREATE TABLE one (a TEXT) STRICT;";
    const TWO: &str = "ALTER TABLE one ADD COLUMN b TEXT; UPDATE one SET b = a || '!';";

    static FIRST: Schema =
        Schema { what: "limits", application: 7, versions: &[ONE], kept: Kept::Quick };
    static SECOND: Schema =
        Schema { what: "limits", application: 7, versions: &[ONE, TWO], kept: Kept::Durable };
    static OTHER: Schema =
        Schema { what: "approvals", application: 8, versions: &[ONE], kept: Kept::Quick };

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/limits.db");
        (dir, path)
    }

    #[test]
    fn an_older_file_is_brought_up_with_what_it_holds() {
        let (_dir, path) = place();
        let mut old = Database::open(&path, &FIRST).unwrap();
        old.change(|db| db.execute("INSERT INTO one VALUES ('x')", [])).unwrap();
        drop(old);
        let mut new = Database::open(&path, &SECOND).unwrap();
        let b: String =
            new.read(|db| db.query_row("SELECT b FROM one", [], |row| row.get(0))).unwrap();
        assert_eq!(b, "x!");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_newer_or_foreign_file_is_refused_and_not_a_byte_of_it_changes() {
        let (_dir, path) = place();
        drop(Database::open(&path, &SECOND).unwrap());
        let before = fs::read(&path).unwrap();
        let newer = Database::open(&path, &FIRST);
        assert!(matches!(newer, Err(DatabaseError::Newer { found: 2, known: 1, .. })));
        assert!(matches!(Database::open(&path, &OTHER), Err(DatabaseError::Foreign { .. })));
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_is_not_begun_anew() {
        let (_dir, path) = place();
        drop(Database::open(&path, &SECOND).unwrap());
        fs::write(&path, "no database at all, but long enough to be looked at as one").unwrap();
        let before = fs::read(&path).unwrap();
        assert!(matches!(Database::open(&path, &SECOND), Err(DatabaseError::Damaged { .. })));
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_change_that_fails_changes_nothing() {
        let (_dir, path) = place();
        let mut db = Database::open(&path, &FIRST).unwrap();
        let failed = db.change(|db| {
            db.execute("INSERT INTO one VALUES ('x')", [])?;
            db.execute("INSERT INTO nowhere VALUES ('x')", [])
        });
        assert!(matches!(failed, Err(DatabaseError::Unusable { .. })));
        let count: i64 =
            db.read(|db| db.query_row("SELECT count(*) FROM one", [], |row| row.get(0))).unwrap();
        assert_eq!(count, 0);
    }

    #[test]
    fn a_file_that_many_make_at_once_is_ours_to_all_of_them() {
        for _ in 0..40 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.db");
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| drop(Database::open(&path, &SECOND).unwrap()));
                }
            });
        }
    }
}
