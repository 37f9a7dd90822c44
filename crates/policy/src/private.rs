//! Files that only their owner can touch: the trust store, switches and snapshots.
//!
//! What such a file says is believed, so it is read only when it is a regular file, owned by the user
//! who runs this, with mode 0600, in a folder that nobody else can write. A link is refused, not
//! followed. Writing is atomic: a new file beside it, then a rename, each of them on disk. Keys are such files, made once.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a file is not believed or cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// It cannot be read or written.
    #[error("`{path}`: {cause}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Somebody else could have written it.
    #[error("`{path}` is not to be trusted: {why}")]
    NotPrivate {
        /// The file or its folder.
        path: PathBuf,
        /// What gives it away.
        why: String,
    },
    /// It is larger than it may be.
    #[error("`{path}` is larger than {max} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The cap, in bytes.
        max: usize,
    },
}

/// The length of a key, in bytes.
pub const KEY_BYTES: usize = 32;
/// Where the system gives random bytes.
const RANDOM: &str = "/dev/urandom";

fn io_error(path: &Path, cause: io::Error) -> PrivateError {
    PrivateError::Io { path: path.to_owned(), cause }
}

fn not_private(path: &Path, why: impl Into<String>) -> PrivateError {
    PrivateError::NotPrivate { path: path.to_owned(), why: why.into() }
}

/// Reads a private file of at most `max` bytes; `None` when there is none.
///
/// # Errors
/// [`PrivateError`] when somebody else could have written it, it is too large or cannot be read.
pub fn read(path: &Path, max: usize) -> Result<Option<Vec<u8>>, PrivateError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(path, error)),
    };
    check(path, &found, 0o600)?;
    if let Some(folder) = path.parent() {
        check_folder(folder)?;
    }
    let mut file = File::open(path).map_err(|error| io_error(path, error))?;
    // What was opened is what was looked at: the file may have been exchanged in between.
    let opened = file.metadata().map_err(|error| io_error(path, error))?;
    if (opened.dev(), opened.ino()) != (found.dev(), found.ino()) {
        return Err(not_private(path, "it changed while it was read"));
    }
    let length = usize::try_from(opened.len()).unwrap_or(max).min(max);
    let mut bytes = Vec::with_capacity(length.saturating_add(1));
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    (&mut file).take(limit).read_to_end(&mut bytes).map_err(|error| io_error(path, error))?;
    if bytes.len() > max {
        return Err(PrivateError::TooLarge { path: path.to_owned(), max });
    }
    Ok(Some(bytes))
}

/// Writes a private file, making its folder if there is none.
///
/// # Errors
/// [`PrivateError`] when the folder is open to others or the file cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), PrivateError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    if !folder.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| io_error(folder, error))?;
    }
    check_folder(folder)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = folder.join(format!(".{name}.{}.{count}.new", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&fresh, path))
        .and_then(|()| File::open(folder)?.sync_all());
    written.map_err(|error| {
        // What is left over would only be in the way; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&fresh);
        io_error(path, error)
    })
}

/// The key in this file; `None` when there is none.
///
/// # Errors
/// [`PrivateError`] when somebody else could have written it, or it is no key.
pub fn key(path: &Path) -> Result<Option<[u8; KEY_BYTES]>, PrivateError> {
    let Some(bytes) = read(path, KEY_BYTES)? else { return Ok(None) };
    let key = bytes.try_into();
    key.map(Some).map_err(|_| not_private(path, format!("it is not {KEY_BYTES} bytes long")))
}

/// The key in this file, made from the system's random bytes if there is none. Of processes that make
/// it at once the first one's stays.
///
/// # Errors
/// [`PrivateError`] as [`key`], or when it cannot be made.
pub fn key_or_new(path: &Path) -> Result<[u8; KEY_BYTES], PrivateError> {
    if let Some(key) = key(path)? {
        return Ok(key);
    }
    let mut fresh_key = [0; KEY_BYTES];
    let random = File::open(RANDOM).and_then(|mut file| file.read_exact(&mut fresh_key));
    random.map_err(|error| io_error(Path::new(RANDOM), error))?;
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    write(&fresh, &fresh_key)?;
    // A link is made or it is not; a rename would put a second key over the first.
    let linked = fs::hard_link(&fresh, path);
    // What is left over would only be in the way.
    let _ = fs::remove_file(&fresh);
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io_error(path, error));
        }
        Ok(()) | Err(_) => {}
    }
    key(path)?.ok_or_else(|| not_private(path, "it was taken away"))
}

fn check(path: &Path, found: &fs::Metadata, mode: u32) -> Result<(), PrivateError> {
    if !found.is_file() {
        return Err(not_private(path, "it is no regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(not_private(path, "it belongs to somebody else"));
    }
    if found.mode() & 0o777 & !mode != 0 {
        return Err(not_private(
            path,
            format!("its mode is {:o}, not {mode:o}", found.mode() & 0o777),
        ));
    }
    Ok(())
}

fn check_folder(folder: &Path) -> Result<(), PrivateError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let found = fs::metadata(folder).map_err(|error| io_error(folder, error))?;
    let owner = found.uid();
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Err(not_private(folder, "the folder belongs to somebody else"));
    }
    if found.mode() & 0o022 != 0 {
        let why = format!("others can write to the folder: its mode is {:o}", found.mode() & 0o777);
        return Err(not_private(folder, why));
    }
    Ok(())
}
