//! The file system as this crate sees it: three questions, asked through a trait.
//!
//! The crate stays pure; who wants links resolved and scripts read hands in something that answers.
//! Refused here: writing, and listing or following anything without a cap.

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// Nothing, or it is not known.
    Absent,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Something that is neither: a device, a pipe, a socket.
    Special,
    /// A symbolic link with its text, absolute or relative to the link's folder.
    Link(String),
}

/// Answers questions about files. Paths are absolute and normalised.
pub trait FileSystem {
    /// What stands at `path`, without following a link in its last component.
    fn look(&self, path: &str) -> Entry;

    /// The text of the regular file at `path` if it is UTF-8 and at most `bytes_max` long.
    fn read(&self, path: &str, bytes_max: usize) -> Option<String>;

    /// The names of at most `count_max` files and folders in the folder at `path`, in any order; none where
    /// there is no such folder or nothing can be listed.
    fn names(&self, path: &str, count_max: usize) -> Vec<String> {
        let _ = (path, count_max);
        Vec::new()
    }

    /// Whether there is anything to ask; `false` saves the questions.
    fn is_present(&self) -> bool {
        true
    }
}

/// No file system: nothing is known about any file.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl FileSystem for NoFiles {
    fn look(&self, _path: &str) -> Entry {
        Entry::Absent
    }

    fn read(&self, _path: &str, _bytes_max: usize) -> Option<String> {
        None
    }

    fn is_present(&self) -> bool {
        false
    }
}
