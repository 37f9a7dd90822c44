//! What can be done to the files of a workspace.
//!
//! Changes are made in the directory that was opened, and replace a name in one step: a reader sees
//! the old file or the new one, and a failure leaves the old one.

use crate::limits::{FILE_BYTES_MAX, LIST_SCAN_MAX};
use crate::workspace::{Place, Workspace, WorkspaceError};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// The mode of files that are made.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::ROTH);
/// The mode of directories that are made.
const DIRECTORY_MODE: Mode = FILE_MODE.union(Mode::XUSR).union(Mode::XGRP).union(Mode::XOTH);

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_directory: bool,
}

impl Workspace {
    /// The entries of a directory, by name.
    pub(super) fn list(&self, path: &str) -> Result<Vec<Entry>, WorkspaceError> {
        let place = Place::directory(path)?;
        let failed = |cause| WorkspaceError::of(path, cause);
        let directory = self.open_directory(&place)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() >= LIST_SCAN_MAX {
                return Err(WorkspaceError::TooMany { path: path.to_owned() });
            }
            let is_directory = match entry.file_type() {
                FileType::Directory => true,
                FileType::Unknown => {
                    let stat = statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                    stat.is_ok_and(|stat| {
                        FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                    })
                }
                FileType::RegularFile
                | FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice => false,
            };
            entries.push(Entry { name, is_directory });
        }
        entries.sort_unstable();
        Ok(entries)
    }

    /// The text of a file.
    pub(super) fn read(&self, path: &str) -> Result<String, WorkspaceError> {
        self.read_with_mode(path).map(|(text, _)| text)
    }

    /// Replaces the one place where `old` stands by `new`.
    pub(super) fn edit(&self, path: &str, old: &str, new: &str) -> Result<(), WorkspaceError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, mode) = self.read_with_mode(path)?;
        let times = if old.is_empty() { 0 } else { text.matches(old).count() };
        if times != 1 {
            return Err(WorkspaceError::NotOnce { path: path.to_owned(), times });
        }
        let place = Place::below(path)?;
        let (parent, name) = place.split()?;
        let directory = self.open_directory(&parent)?;
        replace(&directory, name, &text.replacen(old, new, 1), mode, path)
    }

    /// Writes a whole file, making it and its directories where they are missing.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), WorkspaceError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Place::below(path)?;
        let (parent, name) = place.split()?;
        if text.len() > FILE_BYTES_MAX {
            return Err(WorkspaceError::TooLarge { path: path.to_owned() });
        }
        let directory = self.make_directories(&parent)?;
        let mode = match kind_at(&directory, name) {
            Ok((FileType::RegularFile, mode)) => mode,
            Ok((FileType::Symlink, _)) => {
                return Err(WorkspaceError::Escape { path: path.to_owned() });
            }
            Ok(_) => return Err(WorkspaceError::NotFile { path: path.to_owned() }),
            Err(Errno::NOENT) => FILE_MODE,
            Err(cause) => return Err(WorkspaceError::of(path, cause)),
        };
        replace(&directory, name, text, mode, path)
    }

    /// Deletes a file. Of a link, the link.
    pub(super) fn delete(&self, path: &str) -> Result<(), WorkspaceError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Place::below(path)?;
        let (parent, name) = place.split()?;
        let directory = self.open_directory(&parent)?;
        let failed = |cause| WorkspaceError::of(path, cause);
        match kind_at(&directory, name).map_err(failed)?.0 {
            FileType::RegularFile | FileType::Symlink => {
                unlinkat(&directory, name, AtFlags::empty()).map_err(failed)
            }
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Err(WorkspaceError::NotFile { path: path.to_owned() }),
        }
    }

    fn read_with_mode(&self, path: &str) -> Result<(String, Mode), WorkspaceError> {
        let place = Place::below(path)?;
        // Without waiting: opening a pipe or device must not hang; it is refused below.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.open_at(&place, flags)?;
        let stat = fstat(&opened).map_err(|cause| WorkspaceError::of(path, cause))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(WorkspaceError::NotFile { path: path.to_owned() });
        }
        let mut bytes = Vec::new();
        File::from(opened)
            .take(FILE_BYTES_MAX as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| failed_with(path, &error))?;
        if bytes.len() > FILE_BYTES_MAX {
            return Err(WorkspaceError::TooLarge { path: path.to_owned() });
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| WorkspaceError::NotText { path: path.to_owned() })?;
        Ok((text, Mode::from_raw_mode(stat.st_mode & 0o777)))
    }

    /// Opens a directory, making what is missing on the way. Each step starts from the directory
    /// that the step before has open, and follows no link.
    fn make_directories(&self, place: &Place<'_>) -> Result<OwnedFd, WorkspaceError> {
        match self.open_directory(place) {
            Err(WorkspaceError::NotFound { .. }) => {}
            other => return other,
        }
        let failed = |cause| WorkspaceError::of(place.text, cause);
        let flags = super::DIRECTORY | OFlags::NOFOLLOW;
        let mut at = openat(&self.root, ".", super::DIRECTORY, Mode::empty()).map_err(failed)?;
        for component in &place.components {
            match mkdirat(&at, *component, DIRECTORY_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(cause) => return Err(failed(cause)),
            }
            at = openat(&at, *component, flags, Mode::empty()).map_err(failed)?;
        }
        Ok(at)
    }
}

fn kind_at(directory: &OwnedFd, name: &str) -> rustix::io::Result<(FileType, Mode)> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
    Ok((FileType::from_raw_mode(stat.st_mode), mode))
}

/// Writes a new file beside `name` and moves it into its place.
fn replace(
    directory: &OwnedFd,
    name: &str,
    text: &str,
    mode: Mode,
    path: &str,
) -> Result<(), WorkspaceError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if text.len() > FILE_BYTES_MAX {
        return Err(WorkspaceError::TooLarge { path: path.to_owned() });
    }
    let failed = |cause| WorkspaceError::of(path, cause);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let beside = format!(".tollgate-{}-{count}.part", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = openat(directory, &beside, flags, FILE_MODE).map_err(failed)?;
    let written = fchmod(&new, mode)
        .map_err(failed)
        .and_then(|()| {
            File::from(new).write_all(text.as_bytes()).map_err(|error| failed_with(path, &error))
        })
        .and_then(|()| renameat(directory, &beside, directory, name).map_err(failed));
    if written.is_err() {
        // What went wrong is told; that the remains could not be removed would only hide it.
        let _ = unlinkat(directory, &beside, AtFlags::empty());
    }
    written
}

fn failed_with(path: &str, error: &std::io::Error) -> WorkspaceError {
    let cause = Errno::from_io_error(error).unwrap_or(Errno::IO);
    WorkspaceError::System { path: path.to_owned(), cause }
}
