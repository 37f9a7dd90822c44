//! A settings file: read with care, written whole or not at all.
//!
//! A link is followed, as dotfiles often are links; what is written takes the place of the file it
//! leads to, with its mode. Refused: what is no regular file, no text, or marked as not to be written.

use crate::exit::Failure;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Largest settings file, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A settings file as it was read.
#[derive(Debug)]
pub(super) struct File {
    /// Links followed.
    pub(super) path: PathBuf,
    /// `None`: there is none.
    pub(super) text: Option<String>,
    mode: u32,
}

/// Reads a settings file, whether or not it is there.
pub(super) fn read(path: &Path) -> Result<File, Failure> {
    let shown = path.display();
    let path = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(Failure::usage(
                    format!("`{shown}` is a link that leads nowhere"),
                    "mend the link, or take it away",
                ));
            }
            return Ok(File { path: new_path(path)?, text: None, mode: 0o600 });
        }
        Err(error) => return Err(unreadable(path, &error)),
    };
    let found = fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
    if !found.is_file() {
        return Err(Failure::usage(format!("`{shown}` is no file"), "take it away"));
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(Failure::usage(
            format!("`{shown}` has more than {FILE_BYTES_MAX} bytes"),
            "settings of this size are not edited; put the hooks in by hand",
        ));
    }
    let bytes = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("`{shown}` is no UTF-8 text"), "write it anew as UTF-8")
    })?;
    Ok(File { path, text: Some(text), mode: found.permissions().mode() & 0o7777 })
}

/// The path of a file that is not there yet, as far as its folders are.
fn new_path(path: &Path) -> Result<PathBuf, Failure> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Failure::internal("a settings file without a name"));
    };
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(unreadable(folder, &error)),
    }
}

impl File {
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or("")
    }

    /// Refuses what could only be written by going round its owner's will.
    pub(super) fn check_writable(&self) -> Result<(), Failure> {
        if self.text.is_some() && self.mode & 0o200 == 0 {
            return Err(Failure::usage(
                format!("`{}` is marked as not to be written", self.path.display()),
                format!("if you mean it: chmod u+w {}", self.path.display()),
            ));
        }
        Ok(())
    }

    /// Makes the folders that are missing; those that were made, the outermost first.
    pub(super) fn make_folders(&self) -> Result<Vec<PathBuf>, Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        missing.reverse();
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        Ok(missing)
    }

    /// Puts this text in the place of what was read. Somebody who has changed it meanwhile wins.
    pub(super) fn replace(&self, text: &str) -> Result<(), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let unwritable = |error: std::io::Error| unwritable(&self.path, &error);
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(unwritable)?;
        new.write_all(text.as_bytes()).map_err(unwritable)?;
        fs::set_permissions(new.path(), Permissions::from_mode(self.mode)).map_err(unwritable)?;
        new.as_file().sync_all().map_err(unwritable)?;
        self.check_unchanged()?;
        match self.text {
            Some(_) => new.persist(&self.path).map(drop),
            None => new.persist_noclobber(&self.path).map(drop),
        }
        .map_err(|error| unwritable(error.error))
    }

    /// Takes the file away, and the folders that were made for it, where they are empty.
    pub(super) fn remove(&self, folders: &[PathBuf]) -> Result<(), Failure> {
        self.check_unchanged()?;
        fs::remove_file(&self.path).map_err(|error| unwritable(&self.path, &error))?;
        for folder in folders.iter().rev() {
            // What others have put into it stays, and so does the folder.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    fn check_unchanged(&self) -> Result<(), Failure> {
        let now = match fs::read(&self.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&self.path, &error)),
        };
        if now.as_deref() != self.text.as_ref().map(String::as_bytes) {
            return Err(Failure::usage(
                format!("`{}` was changed meanwhile", self.path.display()),
                "run this again",
            ));
        }
        Ok(())
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("`{}` cannot be read: {error}", path.display()), "make it readable")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("`{}` cannot be written: {error}", path.display()),
        "run this as whoever may write there",
    )
}
