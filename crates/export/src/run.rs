//! The one loop: read behind the cursor, hand over, move the cursor; wait and try again when the other
//! side is not there.

use crate::cursor::{Cursor, CursorError};
use crate::limits::{BACKOFF_MAX, BACKOFF_MIN, BATCH_RECORDS_MAX, POLL, TRIES_MAX};
use crate::sink::SendError;
use std::path::Path;
use std::time::Duration;
use tollgate_gate::Json;
use tollgate_store::{Book, Entry, FollowError, Mark};

/// What is done with the lines of a ledger.
pub trait Work {
    /// Hands over what these lines give rise to, and says how many of them, from the first on, are done
    /// with. What is to be known at the next ones goes into the notes, which are saved with the cursor.
    ///
    /// # Errors
    /// [`SendError`]: the same lines come again later, and the notes as they were.
    fn take(&mut self, entries: &[Entry], notes: &mut Json) -> Result<usize, SendError>;
}

/// Something that whoever watches should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// It did not work, and is tried again after a pause.
    Retry {
        /// What happened.
        why: String,
        /// The pause.
        pause: Duration,
    },
    /// It works again.
    Recovered,
    /// Lines were pruned before they were handed over.
    Lost {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// The other side threw a part away.
    Partly(String),
}

/// How long it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// To the end of the ledger as it is now; a few tries.
    End,
    /// For ever, and it never gives up.
    Stopped,
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Records that were handed over.
    pub records: u64,
    /// Records that were pruned before.
    pub lost: u64,
    /// The number of the last record.
    pub seq: u64,
}

/// Why it ended early. Nothing is lost: the cursor stands before what was not handed over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The ledger cannot be read on.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The cursor cannot be used.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The other side is not there or does not take it.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Does the work on all lines behind the cursor.
///
/// `stop` is asked between batches and, while it waits, every half second.
///
/// # Errors
/// [`RunError`]; with [`Until::Stopped`] only for what waiting does not mend.
pub fn run(
    ledger: &Path,
    cursor: &mut Cursor,
    work: &mut dyn Work,
    until: Until,
    stop: &dyn Fn() -> bool,
    notice: &mut dyn FnMut(Notice),
) -> Result<Done, RunError> {
    let mut done = Done { seq: cursor.mark().map_or(0, |mark| mark.seq), ..Done::default() };
    let mut failures = 0u32;
    while !stop() {
        let error = match batch(ledger, cursor, work, &mut done, notice) {
            Ok(handed) => {
                if failures > 0 {
                    notice(Notice::Recovered);
                }
                failures = 0;
                match (handed, until) {
                    (true, _) => {}
                    (false, Until::End) => return Ok(done),
                    (false, Until::Stopped) => wait(POLL, stop),
                }
                continue;
            }
            Err(error) => error,
        };
        failures = failures.saturating_add(1);
        let is_worth_it = match (&error, until) {
            (RunError::Send(SendError::Unreachable(_)), Until::End) => failures < TRIES_MAX,
            (RunError::Send(_), Until::Stopped) => true,
            // Files may be pruned or written to while they are read.
            (RunError::Follow(FollowError::Book(_)), _) => failures < TRIES_MAX,
            (RunError::Follow(_) | RunError::Cursor(_) | RunError::Send(_), _) => false,
        };
        if !is_worth_it {
            return Err(error);
        }
        let pause = BACKOFF_MIN.saturating_mul(1 << (failures - 1).min(16)).min(BACKOFF_MAX);
        notice(Notice::Retry { why: error.to_string(), pause });
        wait(pause, stop);
    }
    Ok(done)
}

/// One batch; whether there was anything.
fn batch(
    ledger: &Path,
    cursor: &mut Cursor,
    work: &mut dyn Work,
    done: &mut Done,
    notice: &mut dyn FnMut(Notice),
) -> Result<bool, RunError> {
    let book = Book::open(ledger).map_err(FollowError::from)?;
    let mark = cursor.mark().cloned();
    let read = match book.after(mark.as_ref().unwrap_or(&Mark::START), BATCH_RECORDS_MAX) {
        Err(FollowError::Pruned { from, to, rest }) => {
            done.lost += to - from + 1;
            notice(Notice::Lost { from, to });
            cursor.save(rest, cursor.notes().clone())?;
            return Ok(true);
        }
        read => read?,
    };
    if read.is_empty() {
        return Ok(false);
    }
    let (entries, marks): (Vec<Entry>, Vec<Mark>) = read.into_iter().unzip();
    let mut notes = cursor.notes().clone();
    let taken = match work.take(&entries, &mut notes) {
        Err(SendError::Partly(what)) => {
            notice(Notice::Partly(what));
            entries.len()
        }
        taken => taken?,
    };
    let Some(end) = taken.checked_sub(1).and_then(|last| marks.get(last)) else { return Ok(true) };
    done.records += taken as u64;
    done.seq = end.seq;
    cursor.save(end.clone(), notes)?;
    Ok(true)
}

fn wait(pause: Duration, stop: &dyn Fn() -> bool) {
    let mut left = pause;
    while !left.is_zero() && !stop() {
        let step = left.min(POLL);
        std::thread::sleep(step);
        left -= step;
    }
}
