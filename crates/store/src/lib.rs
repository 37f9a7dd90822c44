//! What the gate must never lose: the ledger and the state of sessions on disk; and the clock of the
//! machine.
//!
//! The ledger is a folder of JSON Lines files that any text tool can read. [`FileLedger`] appends to
//! it, several processes at once if need be; [`Book`] reads it back, strictly. Each line holds the
//! hash of the line before it, so that a changed book shows.
//!
//! Beside it stands the state of sessions ([`DiskState`]): a small locked file each, and SQLite for what
//! is counted across them.
//!
//! There is no service to start, no database and no async runtime on the way of a record. It runs on
//! Unix systems only: it rests on their file permissions and locks.

pub mod approvals;
pub mod book;
pub mod checkpoint;
pub mod clock;
pub mod erase;
mod finding;
pub mod follow;
pub mod handover;
pub mod hash;
pub mod index;
pub mod kept;
pub mod key;
pub mod ledger;
pub mod limits;
pub mod line;
pub mod memory;
pub mod open_calls;
pub mod proof;
pub mod prune;
pub mod query;
pub mod secret;
pub mod state;
pub mod vault;
pub mod verify;

mod batch;
mod database;
mod disk;
mod error;
mod folder;
mod head;
mod recovery;
mod segment;
mod tree;
mod writer;

#[cfg(test)]
mod tests;

pub use approvals::{Approval, ApprovalState, Approvals, ApproverKey, SealedKey};
pub use book::{Book, BookError, Entries, Entry};
pub use checkpoint::Checkpoint;
pub use clock::SystemClock;
pub use database::DatabaseError;
pub use erase::{EraseError, Erasure, erase};
pub use error::StoreError;
pub use finding::{Finding, Source};
pub use folder::write_whole;
pub use follow::{FollowError, Mark};
pub use handover::{Handover, Rotation};
pub use hash::HashValue;
pub use index::{Index, IndexError, Spot};
pub use key::{CheckpointKey, PublicKey};
pub use ledger::{Committer, FileLedger, LedgerOptions, LedgerStats, Signing};
pub use line::{Line, LineFault};
pub use memory::ChainedMemory;
pub use open_calls::{OpenCalls, OpenCallsError};
pub use proof::{ConsistencyProof, InclusionProof, ProofError};
pub use prune::{PruneError, Tombstone, prune};
pub use query::{Counts, Filter, HookCounts};
pub use secret::open_or_make_secret;
pub use state::{DiskState, HostProcess, LimitShown, SessionFault, SessionShown};
pub use vault::FileVault;
pub use verify::{Cadence, Trust, Verification, verify};
