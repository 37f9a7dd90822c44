//! The doors between the shell and its filter: ways that the shell can open by a path.
//!
//! On Linux a pipe without a name can be opened by its place in `/proc`, which needs no folder that
//! can be written: a sandbox may have none. Elsewhere it is a named pipe in a private folder. Where the
//! shell's output is a terminal, the door is a terminal too, of the same size and raw: programs behave
//! as they would.

use rustix::fs::{Mode, OFlags, fstat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use tempfile::TempDir;

/// A door: the end that the filter reads, and the path by which the shell opens the other.
pub(super) struct Door {
    pub(super) read: OwnedFd,
    /// Held until the shell has come, for a door that nobody holds is at its end.
    pub(super) write: Option<OwnedFd>,
    path: String,
}

/// All doors of a filter.
pub(super) struct Doors {
    pub(super) output: Door,
    /// `None`: standard error goes where standard output goes, and keeps its place between its lines.
    pub(super) error: Option<Door>,
    /// By which the shell asks whether all is passed on.
    pub(super) ask: Door,
    /// By which it is told.
    pub(super) told: Door,
    /// Named pipes are in it; it goes with the filter.
    pub(super) folder: Option<TempDir>,
}

impl Doors {
    pub(super) fn new() -> io::Result<Doors> {
        let folder = if has_proc() { None } else { Some(tempfile::tempdir()?) };
        let pipe = |name: &str| match &folder {
            None => Door::pipe(),
            Some(folder) => Door::named_pipe(&folder.path().join(name)),
        };
        let of = |stream: BorrowedFd<'_>, name| {
            if isatty(stream) { Door::terminal(stream) } else { pipe(name) }
        };
        let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        let error = if is_same(stdout, stderr)? { None } else { Some(of(stderr, "error")?) };
        let (output, ask, told) = (of(stdout, "output")?, pipe("ask")?, pipe("told")?);
        Ok(Doors { output, error, ask, told, folder })
    }
}

/// Whether two streams go to one place.
fn is_same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> io::Result<bool> {
    let (one, other) = (fstat(one)?, fstat(other)?);
    Ok((one.st_dev, one.st_ino, one.st_rdev) == (other.st_dev, other.st_ino, other.st_rdev))
}

/// Whether what this process has open can be opened by a path.
fn has_proc() -> bool {
    cfg!(target_os = "linux") && Path::new(&format!("/proc/{}/fd/0", std::process::id())).exists()
}

impl Door {
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    fn pipe() -> io::Result<Door> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), read.as_raw_fd());
        Ok(Door { read, write: Some(write), path })
    }

    fn named_pipe(path: &Path) -> io::Result<Door> {
        let Some(text) = path.to_str().filter(|text| !text.contains('\'')) else {
            return Err(io::Error::other("the folder of temporary files has an odd name"));
        };
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::from_bits_truncate(0o600))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let read = rustix::fs::open(path, flags, Mode::empty())?;
        let write = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Door { read, write: Some(write), path: text.to_owned() })
    }

    /// A terminal like this one. What is written to it comes out byte for byte.
    fn terminal(like: BorrowedFd<'_>) -> io::Result<Door> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let read = openpt(flags)?;
        grantpt(&read)?;
        unlockpt(&read)?;
        let path = ptsname(&read, Vec::new())?;
        let path = path.into_string().map_err(|_| io::Error::other("a terminal's odd name"))?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let write = rustix::fs::open(path.as_str(), flags, Mode::empty())?;
        let mut attributes = tcgetattr(like)?;
        attributes.make_raw();
        tcsetattr(&write, OptionalActions::Now, &attributes)?;
        tcsetwinsize(&write, tcgetwinsize(like)?)?;
        Ok(Door { read, write: Some(write), path })
    }
}

#[cfg(test)]
mod tests {
    use super::Door;
    use std::io::Write as _;

    #[test]
    fn every_kind_of_door_can_be_opened_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        for door in [Door::pipe().unwrap(), Door::named_pipe(&folder.path().join("p")).unwrap()] {
            let mut shell = std::fs::OpenOptions::new().write(true).open(door.path()).unwrap();
            shell.write_all(b"hello").unwrap();
            let mut got = [0; 16];
            let read = rustix::io::read(&door.read, &mut got).unwrap();
            assert_eq!(&got[..read], b"hello", "{}", door.path());
        }
    }
}
