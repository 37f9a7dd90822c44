//! The trace of a loop: what the model was told and said, one JSON object a line.
//!
//! It is for people who want to see what an agent did, and it is not the ledger: nobody decides by
//! it, and it holds what the model saw, after redaction, with the model's own words unscrubbed. So a
//! trace file is readable by its owner only. A line that cannot be written stops nothing; it is
//! counted.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tollgate_gate::Json;

/// Where trace lines go.
pub trait TraceSink: Send + Sync {
    /// Writes a line.
    ///
    /// # Errors
    /// [`TraceError`] when it could not be written.
    fn write(&self, line: &Json) -> Result<(), TraceError>;
}

/// A trace line could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the trace cannot be written: {0}")]
pub struct TraceError(#[from] std::io::Error);

/// A trace in a file, appended to.
#[derive(Debug)]
pub struct FileTrace {
    file: Mutex<File>,
}

impl FileTrace {
    /// Opens the file, or makes it with mode 0600. A symbolic link is refused.
    ///
    /// # Errors
    /// [`TraceError`] when it cannot be opened.
    pub fn open(path: &Path) -> Result<FileTrace, TraceError> {
        let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(no_follow)
            .open(path)?;
        Ok(FileTrace { file: Mutex::new(file) })
    }
}

impl TraceSink for FileTrace {
    fn write(&self, line: &Json) -> Result<(), TraceError> {
        let mut text = line.text();
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(file.write_all(text.as_bytes())?)
    }
}

/// A trace in memory.
#[derive(Debug, Default)]
pub struct MemoryTrace {
    lines: Mutex<Vec<Json>>,
}

impl MemoryTrace {
    /// An empty trace.
    pub fn new() -> MemoryTrace {
        MemoryTrace::default()
    }

    /// A copy of the lines, in order.
    pub fn lines(&self) -> Vec<Json> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TraceSink for MemoryTrace {
    fn write(&self, line: &Json) -> Result<(), TraceError> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
        Ok(())
    }
}
