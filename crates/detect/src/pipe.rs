//! From a reader to a writer: the loop around a stream, for commands that filter or scan what does not fit
//! into memory.
//!
//! It opens nothing itself; the caller brings both ends. What was not looked at is never written: when
//! reading fails, what is held back stays back.

use std::io::{self, Read, Write};

use crate::config::Context;
use crate::finding::Finding;
use crate::redact::Redactor;
use crate::stream::{Released, StreamFormat};

/// How much is read at a time, in bytes.
const READ_BYTES: usize = 64 * 1024;

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
    ) -> io::Result<()> {
        let mut stream = self.stream(format, ctx);
        let mut buffer = vec![0; READ_BYTES];
        let mut emit = |released: Released, writer: &mut dyn Write| {
            released.findings.into_iter().for_each(&mut found);
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
            emit(released, writer)?;
            writer.flush()?;
        }
        emit(stream.finish(), writer)?;
        writer.flush()
    }
}
