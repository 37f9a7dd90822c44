//! What can go wrong with the ledger on disk.

use std::io;
use std::path::PathBuf;

/// Why the ledger cannot be opened or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder is a symbolic link.
    #[error("the folder `{}` is a symbolic link", .folder.display())]
    Link {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder is no folder.
    #[error("`{}` is no folder", .folder.display())]
    NoFolder {
        /// The path.
        folder: PathBuf,
    },
    /// Others than its owner may write to the folder.
    #[error("others may write to the folder `{}` (its mode is {mode:o})", .folder.display())]
    OpenToOthers {
        /// The folder.
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The folder belongs to another user.
    #[error(
        "the folder `{}` belongs to user {owner}, this program runs as user {user}",
        .folder.display()
    )]
    Owner {
        /// The folder.
        folder: PathBuf,
        /// The user it belongs to.
        owner: u32,
        /// The user that this program runs as.
        user: u32,
    },
    /// The system refused something.
    #[error("cannot {verb} `{name}`: {source}")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// With which file or folder.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// Another process holds the ledger for too long.
    #[error("another process has held the ledger for over {wait_ms} ms")]
    Busy {
        /// How long was waited, in milliseconds.
        wait_ms: u64,
    },
    /// The files do not hold what was written to them; no crash explains it. Nothing is changed.
    #[error("the ledger is damaged: `{segment}` at byte {offset}: {what}")]
    Damaged {
        /// The segment file.
        segment: String,
        /// The byte in it.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The key has signed more of the ledger than is there, or another one in its place.
    #[error(
        "the ledger in `{}` does not lead on from what its key has signed ({signed} records are known, \
         {records} are there): bring it back from a copy; or, if it was taken away on purpose, move \
         what is left of it and `{}` away together, and a new ledger begins",
        .folder.display(), .kept.display()
    )]
    SetBack {
        /// The folder of the ledger.
        folder: PathBuf,
        /// The file beside the key that knows of it.
        kept: PathBuf,
        /// How many records were signed.
        signed: u64,
        /// How many are there.
        records: u64,
    },
    /// A key file cannot be used.
    #[error("the key file `{}` cannot be used: {what}", .file.display())]
    Key {
        /// The file.
        file: PathBuf,
        /// Why not.
        what: &'static str,
    },
    /// A record is larger than it may be.
    #[error("a record of {bytes} bytes is larger than the {max} that a line may hold")]
    RecordTooLarge {
        /// Its size, in bytes.
        bytes: usize,
        /// The cap, in bytes.
        max: usize,
    },
    /// A record has no JSON form.
    #[error("a record cannot be written as JSON: {0}")]
    NoJson(String),
    /// More records wait to be written than may.
    #[error("over {max} bytes of records wait to be written")]
    QueueFull {
        /// The cap, in bytes.
        max: usize,
    },
    /// The ledger was closed, by an earlier error or by the program.
    #[error("the ledger is closed: {0}")]
    Closed(String),
}

impl StoreError {
    pub(crate) fn io(verb: &'static str, name: impl Into<String>, source: io::Error) -> StoreError {
        StoreError::Io { verb, name: name.into(), source }
    }

    /// Whether there was no room for what was to be written. A sync that fails says more than that: what
    /// it was about may be lost though it can still be read.
    pub(crate) fn is_want_of_room(&self) -> bool {
        let StoreError::Io { verb, source, .. } = self else { return false };
        let is_full =
            matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        is_full && !matches!(*verb, "sync" | "seal" | "recover")
    }

    /// Whether the ledger can go on after it: nothing was written and nothing is wrong with it.
    pub(crate) const fn is_passing(&self) -> bool {
        matches!(
            self,
            StoreError::Busy { .. }
                | StoreError::RecordTooLarge { .. }
                | StoreError::NoJson(_)
                | StoreError::QueueFull { .. }
        )
    }
}
