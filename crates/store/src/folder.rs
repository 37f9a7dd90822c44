//! The real disk: a folder of the file system.
//!
//! Files are 0600 and folders 0700. A folder that is a symbolic link, that others may write to or
//! that belongs to another user is refused: whoever can put files there could write the book.
//!
//! The lock is taken through a turnstile, a second lock that is held while waiting for the first, so
//! that a busy process cannot keep others out for ever.

use crate::disk::{Disk, DiskFile, Held, Leave, OpenHow};
use crate::error::StoreError;
use crate::limits::LOCK_WAIT_MS_MAX;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where Linux names its run; other systems have no such file, and read the end of the book instead.
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";
const BOOT_BYTES_MAX: u64 = 64;

/// First and longest pause between two looks at a lock that is held.
const PAUSE_US_MIN: u64 = 20;
const PAUSE_US_MAX: u64 = 500;

/// A folder that only its owner may write to.
pub(crate) struct Folder {
    path: PathBuf,
    lock: Arc<File>,
    turnstile: Arc<File>,
}

impl Folder {
    /// Opens the folder, or makes it.
    pub(crate) fn open(path: &Path) -> Result<Folder, StoreError> {
        // Without the slash at its end, behind which a link would not be seen.
        let path = path.components().as_path();
        match fs::symlink_metadata(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(path)?,
            Err(error) => return Err(StoreError::io("look at", path.to_string_lossy(), error)),
        }
        check(path)?;
        let open = |name: &str| {
            open_file(&path.join(name), OpenHow::OrNew)
                .map(Arc::new)
                .map_err(|error| StoreError::io("open", path.join(name).to_string_lossy(), error))
        };
        let (lock, turnstile) = (open("lock")?, open("turnstile")?);
        Ok(Folder { path: path.to_owned(), lock, turnstile })
    }
}

/// Makes the folder and what is missing above it, and makes its name durable.
pub(crate) fn make(path: &Path) -> Result<(), StoreError> {
    let make = || {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    };
    make().map_err(|error| StoreError::io("make", path.to_string_lossy(), error))
}

/// Refuses a folder that others than the user of this process could write to.
pub(crate) fn check(path: &Path) -> Result<(), StoreError> {
    let folder = path.to_owned();
    let data = fs::symlink_metadata(path)
        .map_err(|error| StoreError::io("look at", path.to_string_lossy(), error))?;
    if data.file_type().is_symlink() {
        return Err(StoreError::Link { folder });
    }
    if !data.is_dir() {
        return Err(StoreError::NoFolder { folder });
    }
    let (owner, user) = (data.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        return Err(StoreError::Owner { folder, owner, user });
    }
    let mode = data.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(StoreError::OpenToOthers { folder, mode });
    }
    Ok(())
}

/// Opens a file that is no symbolic link, to read it only: on a read-only file system as well.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(no_follow).open(path)
}

/// Opens a file that is no symbolic link, readable and writable by its owner only. That it is read is not
/// noted in it, where the system allows that: whoever writes and reads in turn would have it written twice.
pub(crate) fn open_file(path: &Path, how: OpenHow) -> io::Result<File> {
    match open_with(path, how, OFlags::NOFOLLOW | OFlags::NOATIME) {
        // It is another's file.
        Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
            open_with(path, how, OFlags::NOFOLLOW)
        }
        opened => opened,
    }
}

fn open_with(path: &Path, how: OpenHow, flags: OFlags) -> io::Result<File> {
    // The flags of the system fit; a negative value would be refused by it.
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(how == OpenHow::OrNew)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
}

/// Puts a file with this content, for its owner only, in the place of one, or makes it: whole or not at
/// all, whatever comes in between, and on disk when this returns.
///
/// # Errors
/// What the system says; the file is the old one then.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    put_whole(path, content, Leave::Synced)
}

/// As [`write_whole`]. What is left with the system may be gone after a power cut, and may then be empty.
pub(crate) fn put_whole(path: &Path, content: &[u8], leave: Leave) -> io::Result<()> {
    let fresh = write_fresh(path, content, leave)?;
    if let Err(error) = fs::rename(&fresh, path) {
        // What is left over would only be in the way.
        let _ = fs::remove_file(&fresh);
        return Err(error);
    }
    match leave {
        Leave::Synced => sync_names(path),
        Leave::Written => Ok(()),
    }
}

/// Writes a new file beside one, whose place it is to take.
pub(crate) fn write_fresh(path: &Path, content: &[u8], leave: Leave) -> io::Result<PathBuf> {
    // Threads of one process write at the same time as well.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}-{count}.new", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let write = || {
        let mut file = open_file(&fresh, OpenHow::OrNew)?;
        // One of a process that had this number before and was killed.
        file.set_len(0)?;
        file.write_all(content)?;
        if leave == Leave::Synced { file.sync_all() } else { Ok(()) }
    };
    match write() {
        Ok(()) => Ok(fresh),
        Err(error) => {
            let _ = fs::remove_file(&fresh);
            Err(error)
        }
    }
}

/// Makes the names in the folder of this file durable.
pub(crate) fn sync_names(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

impl Disk for Folder {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            // A name that is no text is not one of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str, how: OpenHow) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(open_file(&self.path.join(name), how)?))
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        write_whole(&self.path.join(name), content)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn boot(&self) -> Option<String> {
        let mut name = String::new();
        File::open(BOOT_FILE).ok()?.take(BOOT_BYTES_MAX).read_to_string(&mut name).ok()?;
        let name = name.trim_end();
        (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())).then(|| name.into())
    }

    fn lock(&self) -> Result<Box<dyn Held>, StoreError> {
        let until = Instant::now() + Duration::from_millis(LOCK_WAIT_MS_MAX);
        let turn = wait_for(&self.turnstile, until)?;
        let held = wait_for(&self.lock, until)?;
        drop(turn);
        // Others would take a lock of the same name that is not this one.
        DiskFile::len(&*self.lock).map_err(|error| StoreError::io("hold", "lock", error))?;
        Ok(Box::new(held))
    }
}

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        let data = self.metadata()?;
        // What is written to a file without a name is gone when it is closed.
        match data.nlink() {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "the file was removed")),
            _ => Ok(data.len()),
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match FileExt::read_at(self, rest, offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A lock of one file, until it is dropped.
pub(crate) struct FileHeld(Arc<File>);

impl Held for FileHeld {}

impl Drop for FileHeld {
    fn drop(&mut self) {
        // It fails only for a file that is no longer open, whose lock is gone with it.
        let _ = self.0.unlock();
    }
}

/// Waits for the lock of a file until then.
pub(crate) fn wait_for(file: &Arc<File>, until: Instant) -> Result<FileHeld, StoreError> {
    let mut pause_us = PAUSE_US_MIN;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(FileHeld(Arc::clone(file))),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", "lock", error)),
        }
        if Instant::now() >= until {
            return Err(StoreError::Busy { wait_ms: LOCK_WAIT_MS_MAX });
        }
        std::thread::sleep(Duration::from_micros(pause_us));
        pause_us = (pause_us * 2).min(PAUSE_US_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::{Folder, wait_for, write_whole};
    use crate::disk::Disk;
    use crate::error::StoreError;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::time::{Duration, Instant};

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        for mode in [0o702, 0o720, 0o1777] {
            fs::set_permissions(&open, Permissions::from_mode(mode)).unwrap();
            let refused = Folder::open(&open);
            assert!(matches!(refused, Err(StoreError::OpenToOthers { mode: m, .. }) if m == mode));
        }
        let link = dir.path().join("link");
        symlink(dir.path(), &link).unwrap();
        assert!(matches!(Folder::open(&link), Err(StoreError::Link { .. })));
        assert!(matches!(Folder::open(&link.join("")), Err(StoreError::Link { .. })));
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(Folder::open(&file), Err(StoreError::NoFolder { .. })));
        let root = fs::metadata("/usr").unwrap();
        if root.uid() != rustix::process::geteuid().as_raw() {
            assert!(matches!(Folder::open("/usr".as_ref()), Err(StoreError::Owner { .. })));
        }
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        // Only root can give a folder away.
        if std::os::unix::fs::chown(&theirs, Some(65_534), None).is_ok() {
            let refused = Folder::open(&theirs);
            assert!(matches!(refused, Err(StoreError::Owner { owner: 65_534, .. })));
        }
    }

    #[test]
    fn what_is_made_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        Folder::open(&path).unwrap();
        let mode = |path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(dir.path().join("a")), 0o700);
        assert_eq!(mode(path.clone()), 0o700);
        assert_eq!(mode(path.join("lock")), 0o600);
    }

    #[test]
    fn a_lock_that_is_held_for_too_long_is_an_error_that_passes() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (Folder::open(dir.path()).unwrap(), Folder::open(dir.path()).unwrap());
        let held = one.lock().unwrap();
        let soon = Instant::now() + Duration::from_millis(10);
        let Err(error) = wait_for(&two.lock, soon) else { panic!("two hold it") };
        assert!(matches!(error, StoreError::Busy { .. }) && error.is_passing());
        drop(held);
        two.lock().unwrap();
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "a longer text that others can read").unwrap();
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        // A link is replaced, not followed.
        let (link, other) = (dir.path().join("link"), dir.path().join("other"));
        fs::write(&other, "left alone").unwrap();
        symlink(&other, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"left alone");
        // Nothing can take the place of a folder.
        fs::create_dir(dir.path().join("folder")).unwrap();
        assert!(write_whole(&dir.path().join("folder"), b"new").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }

    #[test]
    fn the_lock_is_held_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (Folder::open(dir.path()).unwrap(), Folder::open(dir.path()).unwrap());
        let held = one.lock().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| two.lock().map(drop));
            std::thread::sleep(Duration::from_millis(5));
            assert!(!waiting.is_finished());
            drop(held);
            waiting.join().unwrap().unwrap();
        });
    }
}
