//! Reading the book: strictly, line by line, with the place of everything that is wrong.
//!
//! A file that somebody else has shipped is read whole. The ledger's own folder may be written to
//! meanwhile; there reading ends where the head says that the book ended when it was opened.

use crate::folder;
use crate::hash::HashValue;
use crate::head::{HEAD_NAME, Head};
use crate::limits::HEAD_BYTES_MAX;
use crate::line::{Line, LineFault, leaf_of};
use crate::prune::{Tombstone, tombstone_in};
use crate::segment::{first_seq, is_blank, segment_name};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tollgate_gate::limits::JSON_BYTES_MAX;

/// One line of a file, with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The number of the line in its file, from 1 on.
    pub number: u64,
    /// The byte in the file at which it starts.
    pub offset: u64,
    /// The exact bytes of the line, without its newline.
    pub text: Vec<u8>,
    /// What it says.
    pub line: Line,
}

impl Entry {
    /// The hash by which it stands in chain and tree.
    pub fn hash(&self) -> HashValue {
        leaf_of(&self.text)
    }
}

/// Why the book cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BookError {
    /// The folder is not safe to read from.
    #[error(transparent)]
    Folder(#[from] crate::error::StoreError),
    /// The system refused to read.
    #[error("cannot read `{}`: {source}", .file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is none.
    #[error("`{}` line {number} (byte {offset}): {fault}", .file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The number of the line, from 1 on.
        number: u64,
        /// The byte at which it starts.
        offset: u64,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// A line is longer than a line may be.
    #[error("`{}` line {number} (byte {offset}): longer than {JSON_BYTES_MAX} bytes", .file.display())]
    TooLong {
        /// The file.
        file: PathBuf,
        /// The number of the line, from 1 on.
        number: u64,
        /// The byte at which it starts.
        offset: u64,
    },
    /// Something stands behind the blanks that end a segment.
    #[error("`{}` line {number} (byte {offset}): text behind the end of the data", .file.display())]
    BehindEnd {
        /// The file.
        file: PathBuf,
        /// The number of the first empty line, from 1 on.
        number: u64,
        /// The byte at which it starts.
        offset: u64,
    },
    /// The last line has no end.
    #[error("`{}` line {number} (byte {offset}): the line has no end", .file.display())]
    NoEnd {
        /// The file.
        file: PathBuf,
        /// The number of the line, from 1 on.
        number: u64,
        /// The byte at which it starts.
        offset: u64,
    },
}

/// The lines of one file.
pub struct Entries {
    file: PathBuf,
    from: Option<BufReader<io::Take<File>>>,
    number: u64,
    offset: u64,
}

impl Entries {
    /// Opens a file.
    ///
    /// # Errors
    /// [`BookError::Io`] when it cannot be opened.
    pub fn open(file: impl Into<PathBuf>) -> Result<Entries, BookError> {
        Entries::open_until(file.into(), u64::MAX)
    }

    fn open_until(file: PathBuf, end: u64) -> Result<Entries, BookError> {
        Entries::open_range(file, 0, end)
    }

    /// The lines from one byte, at which a line starts, to another. They are numbered from there.
    pub(crate) fn open_range(file: PathBuf, from: u64, to: u64) -> Result<Entries, BookError> {
        let open = || {
            let mut opened = File::open(&file)?;
            opened.seek(SeekFrom::Start(from))?;
            Ok(BufReader::with_capacity(64 * 1024, opened.take(to.saturating_sub(from))))
        };
        match open() {
            Ok(opened) => Ok(Entries { file, from: Some(opened), number: 0, offset: from }),
            Err(source) => Err(BookError::Io { file, source }),
        }
    }

    fn read(&mut self) -> Result<Option<Entry>, BookError> {
        let Some(raw) = self.read_raw()? else { return Ok(None) };
        let Raw { number, offset, text } = raw;
        match Line::read(&text) {
            Ok(line) => Ok(Some(Entry { number, offset, text, line })),
            Err(fault) => Err(BookError::Line { file: self.file.clone(), number, offset, fault }),
        }
    }

    /// The next line, whatever it says; none where the data ends.
    pub(crate) fn read_raw(&mut self) -> Result<Option<Raw>, BookError> {
        let Some(from) = &mut self.from else { return Ok(None) };
        let (number, offset) = (self.number + 1, self.offset);
        let io = |source| BookError::Io { file: self.file.clone(), source };
        let mut text = Vec::new();
        let read = from.take(JSON_BYTES_MAX as u64 + 1).read_until(b'\n', &mut text).map_err(io)?;
        if read == 0 {
            return Ok(None);
        }
        let file = self.file.clone();
        if text == b"\n" || text.first() == Some(&0) {
            return match is_blank(&text) && is_blank_to_end(from).map_err(io)? {
                true => Ok(None),
                false => Err(BookError::BehindEnd { file, number, offset }),
            };
        }
        if text.pop() != Some(b'\n') {
            return Err(match read > JSON_BYTES_MAX {
                true => BookError::TooLong { file, number, offset },
                false => BookError::NoEnd { file, number, offset },
            });
        }
        self.number = number;
        self.offset += read as u64;
        Ok(Some(Raw { number, offset, text }))
    }
}

/// A line that may be none.
pub(crate) struct Raw {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) text: Vec<u8>,
}

fn is_blank_to_end(from: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        if !is_blank(bytes) {
            return Ok(false);
        }
        let len = bytes.len();
        from.consume(len);
    }
}

/// Ends after the first error.
impl Iterator for Entries {
    type Item = Result<Entry, BookError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.read().transpose();
        if !matches!(entry, Some(Ok(_))) {
            self.from = None;
        }
        entry
    }
}

/// The segments of a ledger, read in order.
#[derive(Debug, Clone)]
pub struct Book {
    folder: PathBuf,
    segments: Vec<u64>,
    head: Option<Head>,
    tombstone: Option<Tombstone>,
}

impl Book {
    /// Opens a ledger's folder for reading.
    ///
    /// # Errors
    /// [`BookError`] when the folder is not safe or cannot be read.
    pub fn open(folder: &Path) -> Result<Book, BookError> {
        folder::check(folder)?;
        Book::open_of_anybody(folder)
    }

    /// Opens a ledger's folder for reading, whoever may write to it.
    ///
    /// # Errors
    /// [`BookError`] when the folder cannot be read.
    pub fn open_of_anybody(folder: &Path) -> Result<Book, BookError> {
        let io = |source| BookError::Io { file: folder.to_owned(), source };
        let head = read_head(folder).map_err(io)?;
        let mut segments = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            segments.extend(name.to_str().and_then(first_seq));
        }
        segments.sort_unstable();
        // Segments that should have been pruned may still be there.
        let tombstone = tombstone_in(folder).map_err(io)?;
        let pruned = tombstone.as_ref().map_or(0, |tombstone| tombstone.size);
        segments.retain(|segment| *segment > pruned);
        Ok(Book { folder: folder.to_owned(), segments, head, tombstone })
    }

    /// The segment files, in order.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.segments.iter().map(|segment| self.folder.join(segment_name(*segment)))
    }

    /// The first numbers of the segments, in order, and the files.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (u64, PathBuf)> {
        self.segments.iter().copied().zip(self.files())
    }

    /// What stands for the records that were pruned.
    pub const fn tombstone(&self) -> Option<&Tombstone> {
        self.tombstone.as_ref()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) const fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// All lines, in order, as far as the book was written when it was opened. Ends after the first
    /// error.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry, BookError>> {
        let mut failed = false;
        self.segments
            .iter()
            .filter_map(|segment| self.lines_of(*segment))
            .flatten()
            .take_while(move |entry| !std::mem::replace(&mut failed, entry.is_err()))
    }

    /// The line of this number; none where the book has no such line.
    ///
    /// # Errors
    /// [`BookError`] when its segment cannot be read so far.
    pub fn entry(&self, seq: u64) -> Result<Option<Entry>, BookError> {
        let segment = self.segments.iter().rev().find(|first| **first <= seq);
        let Some(lines) = segment.and_then(|segment| self.lines_of(*segment)) else {
            return Ok(None);
        };
        for entry in lines {
            let entry = entry?;
            if entry.line.seq == seq {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// The segments from the newest to the oldest, each with its lines in order, as far as the book was
    /// written when it was opened: for whoever looks for what happened lately.
    pub fn newest_first(
        &self,
    ) -> impl Iterator<Item = impl Iterator<Item = Result<Entry, BookError>>> {
        self.segments.iter().rev().filter_map(|segment| self.lines_of(*segment))
    }

    /// The lines of a segment; none for one that was begun after the book was opened.
    fn lines_of(&self, segment: u64) -> Option<Source> {
        let end = match self.head.as_ref().map(|head| (head.now.segment, head.now.end)) {
            Some((last, end)) if segment == last => end,
            Some((last, _)) if segment > last => return None,
            Some(_) | None => u64::MAX,
        };
        Some(match Entries::open_until(self.folder.join(segment_name(segment)), end) {
            Ok(entries) => Source::Entries(entries),
            Err(error) => Source::Failed(Some(error)),
        })
    }
}

/// A segment's lines, or why it could not be opened.
enum Source {
    Entries(Entries),
    Failed(Option<BookError>),
}

impl Iterator for Source {
    type Item = Result<Entry, BookError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Source::Entries(entries) => entries.next(),
            Source::Failed(error) => error.take().map(Err),
        }
    }
}

/// How often a head is read again that was being written, and the pause before, in milliseconds.
const HEAD_READS_MAX: usize = 5;
const HEAD_PAUSE_MS: u64 = 2;

/// The head; none if there is none that can be read.
fn read_head(folder: &Path) -> io::Result<Option<Head>> {
    for _ in 0..HEAD_READS_MAX {
        let mut text = Vec::new();
        match File::open(folder.join(HEAD_NAME)) {
            Ok(file) => file.take(HEAD_BYTES_MAX as u64).read_to_end(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Some(head) = Head::read(&text) {
            return Ok(Some(head));
        }
        std::thread::sleep(Duration::from_millis(HEAD_PAUSE_MS));
    }
    Ok(None)
}
