//! The cursor: how far a ledger was read for one purpose, on disk.
//!
//! It is saved after the records before it were handed over, so that a crash in between sends them
//! again and never skips any. One program at a time works with a cursor: a second one would only send
//! everything twice.

use crate::private::{self, PrivateError};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use tollgate_gate::{Json, Object};
use tollgate_store::{HashValue, Mark};

/// Why a cursor cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] PrivateError),
    /// The file is no cursor.
    #[error("`{}` is no cursor", .0.display())]
    Malformed(PathBuf),
    /// Another program works with it.
    #[error("another program is at it (it holds `{}`)", .0.display())]
    Taken(PathBuf),
}

/// A place in a ledger that outlives the process.
#[derive(Debug)]
pub struct Cursor {
    file: PathBuf,
    purpose: String,
    mark: Option<Mark>,
    notes: Json,
    _lock: File,
}

impl Cursor {
    /// Opens the cursor of a ledger for a purpose (a format and a destination, say), in a folder for
    /// cursors.
    ///
    /// # Errors
    /// [`CursorError`] when it cannot be read or another program has it.
    pub fn open(folder: &Path, ledger: &Path, purpose: &str) -> Result<Cursor, CursorError> {
        private::make_folder(folder)?;
        let name = HashValue::of(format!("{}\n{purpose}", ledger.display()).as_bytes());
        let name: String = name.to_string().chars().take(32).collect();
        let file = folder.join(format!("{name}.json"));
        let lock_file = folder.join(format!("{name}.lock"));
        let taken = || CursorError::Taken(lock_file.clone());
        let lock = private::open(&lock_file, true)
            .map_err(|error| PrivateError { file: lock_file.clone(), why: error.to_string() })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken()),
            Err(TryLockError::Error(error)) => {
                return Err(PrivateError { file: lock_file, why: error.to_string() }.into());
            }
        }
        let mut cursor = Cursor {
            file,
            purpose: purpose.to_owned(),
            mark: None,
            notes: Json::Null,
            _lock: lock,
        };
        if let Some(text) = private::read(&cursor.file)? {
            let read = Json::read(text.trim_end().as_bytes()).ok().and_then(read_cursor);
            let (mark, notes) = read.ok_or_else(|| CursorError::Malformed(cursor.file.clone()))?;
            (cursor.mark, cursor.notes) = (Some(mark), notes);
        }
        Ok(cursor)
    }

    /// Where it stands; `None` before anything was read.
    pub const fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// What was noted with it.
    pub const fn notes(&self) -> &Json {
        &self.notes
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Moves it, on disk.
    ///
    /// # Errors
    /// [`CursorError::File`] when it cannot be written; it then stands where it stood.
    pub fn save(&mut self, mark: Mark, notes: Json) -> Result<(), CursorError> {
        let mut out = Object::new();
        out.insert("version", 1u32);
        out.insert("purpose", self.purpose.as_str());
        out.insert("seq", mark.seq);
        out.insert("line", mark.line.to_string());
        out.insert("segment", mark.segment);
        out.insert("end", mark.end);
        out.insert("notes", notes.clone());
        private::write(&self.file, &format!("{}\n", Json::from(out).text()))?;
        (self.mark, self.notes) = (Some(mark), notes);
        Ok(())
    }

    /// Forgets where it stood, until it is saved again.
    pub fn restart(&mut self) {
        (self.mark, self.notes) = (None, Json::Null);
    }
}

fn read_cursor(json: Json) -> Option<(Mark, Json)> {
    let number = |key| json.get(key).and_then(Json::as_u64);
    if number("version")? != 1 {
        return None;
    }
    let mark = Mark {
        seq: number("seq")?,
        line: HashValue::parse(json.get("line")?.as_str()?)?,
        segment: number("segment")?,
        end: number("end")?,
    };
    Some((mark, json.get("notes").cloned().unwrap_or_default()))
}
