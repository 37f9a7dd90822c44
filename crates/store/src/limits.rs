//! Every cap of the store in one place, with its unit in its name.

use tollgate_gate::limits::JSON_BYTES_MAX;

/// Data in one segment file, in bytes, from which on it is sealed and the next one begun. A segment
/// may be longer by one batch.
pub const SEGMENT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Newlines that are written ahead of the data, in bytes, so that a commit need not change the length
/// of the file.
pub const PREFILL_BYTES: u64 = 256 * 1024;
/// Largest record, in bytes: with what the ledger adds, its line can still be read by the gate's
/// strict reader.
pub const RECORD_BYTES_MAX: usize = JSON_BYTES_MAX - 4096;
/// Records that are committed together, in bytes; a single larger record is a batch of its own.
pub const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Records that wait to be committed, in bytes; more are refused.
pub const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Buffered records that a crash may lose. While as many are not yet on disk, a further one waits
/// until it is.
pub const BUFFERED_RECORDS_MAX: u64 = 4096;
/// Longest time that a buffered record stays off the disk, in milliseconds.
pub const BUFFERED_MS_MAX: u64 = 100;
/// How long buffered records gather before they are written, in milliseconds.
pub const GATHER_MS: u64 = 5;
/// Buffered records that are written at once, in bytes.
pub const GATHER_BYTES: usize = 256 * 1024;
/// Longest wait for another process that holds the ledger, in milliseconds.
pub const LOCK_WAIT_MS_MAX: u64 = 5_000;
/// Longest wait for another process that holds the file of a session, in milliseconds: a step takes
/// microseconds, and a hook process, which takes several, has to say before its own deadline what it waited for.
pub const SESSION_WAIT_MS_MAX: u64 = 2_000;
/// Largest file that says where the ledger ends, in bytes.
pub const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Largest segment that is read when the ledger is opened, in bytes: what a full segment, one batch
/// and the newlines ahead can come to.
pub const SEGMENT_READ_BYTES_MAX: u64 =
    SEGMENT_BYTES_MAX_ALLOWED + (BATCH_BYTES_MAX + JSON_BYTES_MAX) as u64 + PREFILL_BYTES;
/// Largest value that the size of a segment may be set to, in bytes.
pub const SEGMENT_BYTES_MAX_ALLOWED: u64 = 256 * 1024 * 1024;
/// Most segment files of one ledger.
pub const SEGMENTS_MAX: usize = 1_000_000;
/// Pause before a ledger that a full disk has closed is tried again, in milliseconds.
pub const REOPEN_MS: u64 = 250;
/// Records from one checkpoint to the next.
pub const CHECKPOINT_RECORDS: u64 = 1024;
/// Longest time from a record to the checkpoint that covers it, in milliseconds, while records are
/// written or a committing thread runs.
pub const CHECKPOINT_MS: u64 = 60_000;
/// Longest line of a checkpoint, in bytes.
pub const CHECKPOINT_BYTES_MAX: usize = 1024;
/// Most checkpoints that are read of one book.
pub const CHECKPOINTS_MAX: usize = 10_000_000;
/// Most places that a verification reports; it counts the rest.
pub const FINDINGS_MAX: usize = 100;
/// Calls whose outcome is waited for; with more, the oldest becomes unknown.
pub const OPEN_CALLS_MAX: usize = 100_000;
/// How long the outcome of a call is waited for before it is recorded as unknown, in milliseconds.
pub const OUTCOME_WAIT_MS_MAX: u64 = 3_600_000;
/// Pause between two looks for outcomes that never came, in milliseconds, in a program that lives on.
pub const OUTCOME_LOOK_MS: u64 = 60_000;
/// Hand-overs from key to key that are read, in bytes.
pub const HANDOVERS_BYTES_MAX: u64 = 1024 * 1024;
/// Largest file of what a key signed last, a line a ledger, in bytes.
pub const KEPT_BYTES_MAX: u64 = 1024 * 1024;
/// Erasures that are read of one book, in bytes.
pub const ERASURES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Largest journal of an erasure, in bytes.
pub const JOURNAL_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Largest tombstone, in bytes.
pub const TOMBSTONE_BYTES_MAX: u64 = 16 * 1024;
/// Days after which a session that nobody has used is forgotten, unless it was ended or the policy says
/// another time.
pub const SESSION_IDLE_DAYS_MAX: u32 = 30;
/// Sessions of which a process keeps the file open; with more it begins anew.
pub const SESSIONS_KEPT_MAX: usize = 64;
/// Calls of a session that are noted to hold something; with more, every call is looked up.
pub const OPEN_NOTES_MAX: usize = 256;
/// Processes of its host that are noted of one session.
pub const HOST_PROCESSES_MAX: usize = 16;
/// Ended leases that one step frees; the next one goes on.
pub const LEASES_SWEPT_MAX: usize = 1_000;
