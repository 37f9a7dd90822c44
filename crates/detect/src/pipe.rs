//! From a reader to a writer: the loop around a stream, for commands that filter or scan what does not fit
//! into memory.
//!
//! It opens nothing itself; the caller brings both ends. What was not looked at is never written: when
//! reading fails, what is held back stays back.

use std::io::{self, Read, Write};

use crate::config::Context;
use crate::finding::Finding;
use crate::model::NameModelError;
use crate::redact::Redactor;
use crate::stream::{Released, StreamFormat};

/// How much is read at a time, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// What went through a pipe, and what of it was withheld.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Piped {
    /// Bytes that were read.
    pub bytes: u64,
    /// Lines that were withheld because they are longer than
    /// [`LINE_BYTES_MAX`](crate::limits::LINE_BYTES_MAX) (JSON lines only).
    pub lines_withheld: u64,
    /// Set when a part was withheld because a name model gave no answer.
    pub incomplete: Option<NameModelError>,
}

impl Redactor {
    /// Copies everything from the reader to the writer, with masks; `found` hears of each finding, offsets and
    /// lines counted from the start. Memory is bounded whatever the length. To scan without writing, give
    /// [`io::sink`].
    ///
    /// # Errors
    /// When reading or writing fails.
    pub fn pipe(
        &self,
        reader: &mut dyn Read,
        writer: &mut dyn Write,
        format: StreamFormat,
        ctx: &Context<'_>,
        mut found: impl FnMut(Finding),
    ) -> io::Result<Piped> {
        let mut stream = self.stream(format, ctx);
        let mut buffer = vec![0; READ_BYTES];
        let mut piped = Piped::default();
        let mut emit = |released: Released, piped: &mut Piped, writer: &mut dyn Write| {
            released.findings.into_iter().for_each(&mut found);
            piped.lines_withheld += released.lines_withheld;
            piped.incomplete = piped.incomplete.take().or(released.incomplete);
            writer.write_all(&released.bytes)
        };
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let released = stream.push(buffer.get(..read).unwrap_or(&[]));
            piped.bytes += read as u64;
            emit(released, &mut piped, writer)?;
            writer.flush()?;
        }
        emit(stream.finish(), &mut piped, writer)?;
        writer.flush()?;
        Ok(piped)
    }
}
