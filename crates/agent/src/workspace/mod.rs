//! The workspace: files below one directory, and nothing else.
//!
//! Confinement happens at the moment of opening. Every path is resolved by the kernel from the
//! directory that was opened when the workspace was (`openat2` with `RESOLVE_BENEATH`, Linux 5.6 and
//! later), or, where that is missing, component by component with `O_NOFOLLOW`. No check is made
//! first and trusted later, so swapping a directory for a link in between gains nothing.
//!
//! Symbolic links are not followed at all, not even inside: a hook judges a path by its text, and the
//! file that opens must be the one that was judged. For the same reason each file has one name here:
//! absolute paths, `..`, `.` and empty components are refused.
//!
//! What is not seen: a hard link to a file outside looks like any other file when it is read. Writing
//! always replaces the name by a new file, so it never writes through one.

mod files;
mod run_test;
#[cfg(test)]
mod tests;
mod tools;

pub use run_test::TestCommand;
pub use tools::workspace_tools;

use crate::limits::{FILE_BYTES_MAX, LIST_SCAN_MAX, PATH_BYTES_MAX, PATH_DEPTH_MAX};
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A directory whose files tools may work on.
#[derive(Debug)]
pub struct Workspace {
    root: OwnedFd,
    path: PathBuf,
    way: Way,
    /// Held while something is changed, so that edits do not lose each other.
    changing: Mutex<()>,
}

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By `openat2`.
    Kernel,
    /// Component by component.
    Walk,
}

/// Something could not be done in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The path is not one that this workspace takes.
    #[error("`{path}` is no path within the workspace: {fault}")]
    BadPath {
        /// The path.
        path: String,
        /// What is wrong.
        fault: &'static str,
    },
    /// There is no such file or directory.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The path.
        path: String,
    },
    /// The path passes through or names a symbolic link, or would leave the workspace.
    #[error("`{path}` passes through a link or leaves the workspace, which is refused")]
    Escape {
        /// The path.
        path: String,
    },
    /// It is no regular file.
    #[error("`{path}` is no regular file")]
    NotFile {
        /// The path.
        path: String,
    },
    /// It is no directory, or a link to one.
    #[error(
        "`{path}` is or passes through something that is no directory (links are not followed)"
    )]
    NotDirectory {
        /// The path.
        path: String,
    },
    /// It is too large.
    #[error("`{path}` is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// The path.
        path: String,
    },
    /// It holds more than a listing looks at.
    #[error("`{path}` has more than {LIST_SCAN_MAX} entries")]
    TooMany {
        /// The path.
        path: String,
    },
    /// It is no UTF-8 text.
    #[error("`{path}` is no UTF-8 text")]
    NotText {
        /// The path.
        path: String,
    },
    /// The text to be replaced does not stand there exactly once.
    #[error("the text to replace must stand in `{path}` exactly once, and is there {times} times")]
    NotOnce {
        /// The path.
        path: String,
        /// How often it stands there.
        times: usize,
    },
    /// The system said no.
    #[error("`{path}`: {cause}")]
    System {
        /// The path.
        path: String,
        /// What it said.
        cause: Errno,
    },
}

impl WorkspaceError {
    fn of(path: &str, cause: Errno) -> WorkspaceError {
        let path = path.to_owned();
        match cause {
            Errno::NOENT => WorkspaceError::NotFound { path },
            Errno::LOOP | Errno::XDEV => WorkspaceError::Escape { path },
            Errno::NOTDIR => WorkspaceError::NotDirectory { path },
            Errno::ISDIR => WorkspaceError::NotFile { path },
            cause => WorkspaceError::System { path, cause },
        }
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Workspace {
    /// Opens a directory as a workspace. Links on the way to it are followed; from there on none is.
    ///
    /// # Errors
    /// [`WorkspaceError`] when it is no directory or cannot be opened.
    pub fn open(path: &Path) -> Result<Workspace, WorkspaceError> {
        let shown = || path.display().to_string();
        let root = open(path, DIRECTORY, Mode::empty())
            .map_err(|cause| WorkspaceError::of(&shown(), cause))?;
        let way = if kernel_open(&root, ".", DIRECTORY).is_ok() { Way::Kernel } else { Way::Walk };
        Ok(Workspace { root, path: path.to_owned(), way, changing: Mutex::new(()) })
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path by which a program can be started in the directory that was opened, whatever stands at
    /// its path by now; where the system has no such path, the path.
    fn start_path(&self) -> PathBuf {
        let opened = PathBuf::from(format!("/proc/self/fd/{}", self.root.as_raw_fd()));
        if opened.is_dir() { opened } else { self.path.clone() }
    }

    /// Opens a directory in it.
    fn open_directory(&self, place: &Place<'_>) -> Result<OwnedFd, WorkspaceError> {
        self.open_at(place, DIRECTORY)
    }

    /// Opens what stands at a place, whatever it is.
    fn open_at(&self, place: &Place<'_>, flags: OFlags) -> Result<OwnedFd, WorkspaceError> {
        let opened = match self.way {
            Way::Kernel => kernel_open(&self.root, place.text_or_dot(), flags),
            Way::Walk => self.walk(place, flags),
        };
        opened.map_err(|cause| WorkspaceError::of(place.text, cause))
    }

    /// Each component from the directory before it, following no link. What is held open is what the
    /// next step starts from, so a rename underneath cannot move it.
    fn walk(&self, place: &Place<'_>, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let mut at = openat(&self.root, ".", DIRECTORY, Mode::empty())?;
        let Some((last, parents)) = place.components.split_last() else {
            return Ok(at);
        };
        for component in parents {
            at = openat(&at, *component, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        }
        openat(&at, *last, flags | OFlags::NOFOLLOW, Mode::empty())
    }
}

#[cfg(target_os = "linux")]
fn kernel_open(root: &OwnedFd, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let confined = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(root, path, flags, Mode::empty(), confined)
}

#[cfg(not(target_os = "linux"))]
fn kernel_open(_root: &OwnedFd, _path: &str, _flags: OFlags) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// A path within a workspace, in its one form.
#[derive(Debug)]
struct Place<'a> {
    text: &'a str,
    components: Vec<&'a str>,
}

impl<'a> Place<'a> {
    /// Of a file or directory below the root.
    fn below(text: &'a str) -> Result<Place<'a>, WorkspaceError> {
        let bad = |fault| {
            let path = tollgate_gate::text::cut(text, 200).into_owned();
            Err(WorkspaceError::BadPath { path, fault })
        };
        if text.len() > PATH_BYTES_MAX {
            return bad("it is too long");
        }
        if text.starts_with('/') {
            return bad("it must be relative to the workspace");
        }
        if text.contains('\0') {
            return bad("it holds a zero byte");
        }
        let components: Vec<&str> = text.split('/').collect();
        if components.contains(&"..") {
            return bad("`..` is not allowed");
        }
        if components.iter().any(|component| component.is_empty() || *component == ".") {
            return bad("write it in its plain form, without `.` and empty parts");
        }
        if components.len() > PATH_DEPTH_MAX {
            return bad("it is nested too deep");
        }
        Ok(Place { text, components })
    }

    /// Of a directory: `.` is the root.
    fn directory(text: &'a str) -> Result<Place<'a>, WorkspaceError> {
        if text == "." {
            return Ok(Place { text, components: Vec::new() });
        }
        Place::below(text)
    }

    /// Its directory and its name there; the root has none.
    fn split(&self) -> Result<(Place<'a>, &'a str), WorkspaceError> {
        let Some((name, parents)) = self.components.split_last() else {
            let path = self.text.to_owned();
            return Err(WorkspaceError::BadPath { path, fault: "it names no file" });
        };
        let text = self.text.strip_suffix(name).unwrap_or_default().trim_end_matches('/');
        Ok((Place { text, components: parents.to_vec() }, name))
    }

    fn text_or_dot(&self) -> &str {
        if self.components.is_empty() { "." } else { self.text }
    }
}
