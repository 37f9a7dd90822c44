//! A file: one record a line, appended, 0600.
//!
//! It is opened for each batch, so that whoever rotates logs may move it away at any time; what was
//! handed over is on disk.

use super::{SendError, Sink};
use crate::format::{Format, Told};
use crate::private;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

pub(super) struct FileSink {
    path: PathBuf,
}

impl FileSink {
    pub(super) fn new(path: &Path) -> FileSink {
        FileSink { path: path.to_owned() }
    }

    fn append(&self, text: &[u8]) -> io::Result<()> {
        let mut file = private::open(&self.path, true)?;
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        // What a crash left without an end must not become one line with the next.
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
        file.write_all(text)?;
        file.sync_data()
    }
}

impl Sink for FileSink {
    fn send(&mut self, format: Format, batch: &[Told<'_>]) -> Result<(), SendError> {
        let mut text = String::new();
        for told in batch {
            text.push_str(&format.write(told));
            text.push('\n');
        }
        self.append(text.as_bytes()).map_err(|error| {
            SendError::Unreachable(format!("cannot append to `{}`: {error}", self.path.display()))
        })
    }
}
