//! Every cap of exports and alerts in one place, with its unit in its name.

use std::time::Duration;

/// Records that are sent together at most.
pub const BATCH_RECORDS_MAX: usize = 256;
/// Longest text of arguments, results and details in an exported record, in bytes; the cut says how
/// much is missing. The ledger has the whole.
pub const CONTENT_BYTES_MAX: usize = 8 * 1024;
/// Longest other text (a reason, an error) in an exported record, in bytes.
pub const TEXT_BYTES_MAX: usize = 1024;
/// Votes, labels or hooks that an exported record lists at most.
pub const LIST_MAX: usize = 16;
/// Longest name in such a list, in bytes.
pub const NAME_BYTES_MAX: usize = 256;
/// Longest text in the one field of CEF that holds arguments, in bytes.
pub const CEF_CONTENT_BYTES_MAX: usize = 1000;
/// Largest message that goes out as one UDP datagram, in bytes: what IPv4 has room for.
pub const DATAGRAM_BYTES_MAX: usize = 65_507;
/// Longest wait for a connection, an answer, or the end of a connection.
pub const SEND_WAIT: Duration = Duration::from_secs(10);
/// Largest answer of a collector that is read, in bytes.
pub const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// First pause after a failure; each further one is twice as long.
pub const BACKOFF_MIN: Duration = Duration::from_millis(250);
/// Longest pause after a failure.
pub const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// How often something is tried that does not follow the ledger.
pub const TRIES_MAX: u32 = 5;
/// Pause between two looks at a ledger that is followed.
pub const POLL: Duration = Duration::from_millis(500);
/// Largest file of a cursor or a token, in bytes.
pub const SMALL_FILE_BYTES_MAX: u64 = 16 * 1024;
/// Largest file of certificates, in bytes.
pub const CA_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Alerts of one rule in a minute at most; the next one says how many were left out.
pub const ALERTS_A_MINUTE_MAX: u32 = 6;
