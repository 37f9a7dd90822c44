//! What the ledger needs of a disk, as a trait: so that one that loses and tears what was not synced
//! can take the place of the real one, which is the only way to see what a power cut does.

use crate::error::StoreError;
use std::io;

/// A folder of files, with a lock.
pub(crate) trait Disk: Send {
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file for reading and writing.
    fn open(&self, name: &str, how: OpenHow) -> io::Result<Box<dyn DiskFile>>;

    /// Puts a file with this content in the place of one, or makes it: whole or not at all, whatever
    /// comes in between. It is on disk when this returns.
    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()>;

    /// Takes a file away; for good with the next sync of the folder.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names of files durable.
    fn sync_folder(&self) -> io::Result<()>;

    /// What this run of the system is called, if that is known: between two runs a power cut may
    /// have taken what was not synced.
    fn boot(&self) -> Option<String>;

    /// Waits, for a bounded time, until no other process holds the ledger, and holds it.
    fn lock(&self) -> Result<Box<dyn Held>, StoreError>;
}

/// How what was written is to be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// On disk.
    Synced,
    /// With the system, which will write it in its time.
    Written,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenHow {
    /// It must be there.
    Existing,
    /// It is made if it is not there.
    OrNew,
}

/// An open file.
pub(crate) trait DiskFile: Send {
    fn len(&self) -> io::Result<u64>;
    /// Reads what there is, up to the length of `buffer`; less only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes content and length durable.
    fn sync(&self) -> io::Result<()>;
}

/// The ledger's lock; held until it is dropped.
pub(crate) trait Held: Send {}

/// Reads a part of a file into memory.
pub(crate) fn read_range(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    let read = file.read_at(&mut bytes, from)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// A file of the folder, read up to a cap; none if it is not there.
pub(crate) fn read_whole(disk: &dyn Disk, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match disk.open(name, OpenHow::Existing) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let len = file.len()?;
    read_range(&*file, 0, len.min(max)).map(Some)
}
