//! Reading on from a place: what whoever passes records on to somebody else remembers between runs.
//!
//! A [`Mark`] names the last line that was passed on by its number and its hash, and where it ends.
//! Reading on checks that the next line hangs on that hash, so that a book which was set back, cut or
//! exchanged is noticed and not taken for the one that was read so far. A mark outlives pruning: when
//! its segment is gone, the tombstone says whether anything behind the mark went with it.

use crate::book::{Book, BookError, Entries, Entry};
use crate::hash::HashValue;
use crate::line::leaf_of;
use crate::segment::segment_name;

/// A place behind a line of the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The number of the last line that was read; 0 before the first.
    pub seq: u64,
    /// Its hash; zeros before the first.
    pub line: HashValue,
    /// The segment that it stands in, by the number of its first line.
    pub segment: u64,
    /// The byte in that segment behind it.
    pub end: u64,
}

impl Mark {
    /// Before the first line.
    pub const START: Mark = Mark { seq: 0, line: HashValue::ZERO, segment: 1, end: 0 };
}

/// Why a book cannot be read on from a mark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The book cannot be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// What stands in the book is not what was read before: it was set back, cut or exchanged.
    #[error("line {seq} of the ledger is not the one that was read before")]
    NotThisBook {
        /// The number of the line at which it shows.
        seq: u64,
    },
    /// Lines were pruned before they were read.
    #[error("lines {from} to {to} were pruned before they were read")]
    Pruned {
        /// The first of them.
        from: u64,
        /// The last of them.
        to: u64,
        /// Where what is left begins.
        rest: Mark,
    },
}

impl Book {
    /// The end of the book, as far as it was written when it was opened; `None` when the book has lines
    /// and nothing says where it ends.
    pub fn end(&self) -> Option<Mark> {
        match self.head() {
            Some(head) => Some(Mark {
                seq: head.now.seq(),
                line: head.now.prev,
                segment: head.now.segment,
                end: head.now.end,
            }),
            None => (self.files().count() == 0).then_some(Mark::START),
        }
    }

    /// The lines behind a mark, at most so many, each with the mark behind it, as far as the book was
    /// written when it was opened.
    ///
    /// # Errors
    /// [`FollowError`]; what was read before the line that is wrong is not given either.
    pub fn after(&self, mark: &Mark, lines_max: usize) -> Result<Vec<(Entry, Mark)>, FollowError> {
        let mut place = self.resume(mark)?;
        let mut read = Vec::new();
        let segments: Vec<u64> = self.segments().map(|(first, _)| first).collect();
        for segment in segments.into_iter().filter(|segment| *segment >= mark.segment) {
            if segment > place.segment {
                place = Mark { segment, end: 0, ..place };
            }
            if segment < place.segment {
                continue;
            }
            for entry in self.range_of(segment, place.end)? {
                if read.len() >= lines_max {
                    return Ok(read);
                }
                let entry = match entry {
                    // No line starts where one ended.
                    Err(BookError::Line { .. }) if place == *mark && mark.seq > 0 => {
                        return Err(FollowError::NotThisBook { seq: mark.seq });
                    }
                    entry => entry?,
                };
                place = step(&place, &entry)?;
                read.push((entry, place.clone()));
            }
        }
        if read.is_empty() {
            self.check_end(&place)?
        }
        Ok(read)
    }

    /// The mark, or where the book goes on if the segment of the mark was pruned.
    fn resume(&self, mark: &Mark) -> Result<Mark, FollowError> {
        let Some(tombstone) = self.tombstone().filter(|tombstone| tombstone.size >= mark.seq)
        else {
            return Ok(mark.clone());
        };
        let rest =
            Mark { seq: tombstone.size, line: tombstone.prev, segment: tombstone.size + 1, end: 0 };
        if tombstone.size == mark.seq {
            return match tombstone.prev == mark.line {
                true => Ok(rest),
                false => Err(FollowError::NotThisBook { seq: mark.seq }),
            };
        }
        Err(FollowError::Pruned { from: mark.seq + 1, to: tombstone.size, rest })
    }

    /// The lines of a segment from a byte on; none for one that was begun after the book was opened.
    fn range_of(&self, segment: u64, from: u64) -> Result<Entries, BookError> {
        let end = match self.head().map(|head| (head.now.segment, head.now.end)) {
            Some((last, end)) if segment == last => end,
            Some((last, _)) if segment > last => from,
            Some(_) | None => u64::MAX,
        };
        Entries::open_range(self.folder().join(segment_name(segment)), from, end)
    }

    /// With nothing behind the mark, the book must end there.
    fn check_end(&self, place: &Mark) -> Result<(), FollowError> {
        match self.head() {
            Some(head) if head.now.seq() != place.seq || head.now.prev != place.line => {
                Err(FollowError::NotThisBook { seq: place.seq })
            }
            // The head is a hint: the line itself must be there.
            Some(head) if head.now.segment == place.segment => {
                self.check_last(place, head.now.last)
            }
            Some(_) | None => self.check_last(place, 0),
        }
    }

    /// The line before a place, looked for from a byte on at which a line starts, must be the one that
    /// was read.
    fn check_last(&self, place: &Mark, from: u64) -> Result<(), FollowError> {
        if place.end == 0 {
            return Ok(());
        }
        let other = || FollowError::NotThisBook { seq: place.seq };
        if !self.segments().any(|(first, _)| first == place.segment) {
            return Err(other());
        }
        let file = self.folder().join(segment_name(place.segment));
        let last = Entries::open_range(file, from, place.end)?.last();
        match last {
            Some(Ok(entry)) if leaf_of(&entry.text) == place.line => Ok(()),
            Some(Err(error @ BookError::Io { .. })) => Err(error.into()),
            Some(_) | None => Err(other()),
        }
    }
}

/// The mark behind the next line, which must hang on this one.
fn step(place: &Mark, entry: &Entry) -> Result<Mark, FollowError> {
    if entry.line.seq != place.seq + 1 || entry.line.prev != place.line {
        return Err(FollowError::NotThisBook { seq: place.seq });
    }
    Ok(Mark {
        seq: entry.line.seq,
        line: leaf_of(&entry.text),
        segment: place.segment,
        end: entry.offset + entry.text.len() as u64 + 1,
    })
}
