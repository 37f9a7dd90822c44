//! What a verification finds, each with the place and what it rests on.

use crate::checkpoint::CHECKPOINTS_NAME;
use crate::erase::ERASURES_NAME;
use crate::handover::HANDOVERS_NAME;
use crate::head::HEAD_NAME;
use crate::key::PublicKey;
use std::fmt;
use std::path::PathBuf;

/// Something that is wrong with a book.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// A line is none.
    #[error("{what}")]
    NoLine {
        /// The file, the line and what is wrong.
        what: String,
    },
    /// A line has another number than belongs there.
    #[error("`{}` line {number}: record {found} where record {expected} belongs", .file.display())]
    OutOfOrder {
        /// The file.
        file: PathBuf,
        /// The line in the file, from 1 on.
        number: u64,
        /// The record that belongs there.
        expected: u64,
        /// The record that stands there.
        found: u64,
    },
    /// A line does not hold the hash of the line before it: one of the two was changed.
    #[error("`{}` line {number}: record {seq} does not follow the line before it", .file.display())]
    BrokenChain {
        /// The file.
        file: PathBuf,
        /// The line in the file, from 1 on.
        number: u64,
        /// The record.
        seq: u64,
    },
    /// A segment does not start where the one before it ends.
    #[error("`{}` starts with record {found}, but record {expected} comes next", .file.display())]
    SegmentMissing {
        /// The file.
        file: PathBuf,
        /// The record that comes next.
        expected: u64,
        /// The record that it starts with.
        found: u64,
    },
    /// A segment that belongs to no place of the book: it has those records already, or it stands behind
    /// the end that the head knows. It is not read.
    #[error(
        "`{}` was put there: it would start with record {found}, but record {expected} comes next",
        .file.display()
    )]
    StraySegment {
        /// The file.
        file: PathBuf,
        /// The record that comes next.
        expected: u64,
        /// The record that it would start with.
        found: u64,
    },
    /// The book is shorter than something says.
    #[error("the book has {records} records, but {by} knows of {known}")]
    Short {
        /// The records that it has.
        records: u64,
        /// The records that it had.
        known: u64,
        /// What says so.
        by: Source,
    },
    /// The first records are not those that were signed.
    #[error("the first {size} records are not those of {by}")]
    OtherRoot {
        /// How many.
        size: u64,
        /// What says so.
        by: Source,
    },
    /// A checkpoint is about another book.
    #[error("{by} is about another book, `{origin}`")]
    OtherBook {
        /// The checkpoint.
        by: Source,
        /// The book that it is about.
        origin: String,
    },
    /// A line of the checkpoints is no checkpoint.
    #[error("`{CHECKPOINTS_NAME}` line {number} is no checkpoint")]
    NoCheckpoint {
        /// The line, from 1 on.
        number: u64,
    },
    /// A line of the hand-overs is none, or not signed by the key that it names.
    #[error("`{HANDOVERS_NAME}` line {number} is no signed hand-over")]
    NoHandover {
        /// The line, from 1 on.
        number: u64,
    },
    /// A checkpoint is signed by a later key, and no hand-over in the ledger leads to it.
    #[error("{by} is signed by `{key}`, to which no hand-over in `{HANDOVERS_NAME}` leads")]
    NotHandedOver {
        /// The checkpoint.
        by: Source,
        /// The key.
        key: PublicKey,
    },
    /// A checkpoint that was kept elsewhere is not among those of the ledger.
    #[error("{by}, of {size} records, is missing in `{CHECKPOINTS_NAME}`")]
    CheckpointMissing {
        /// How many records it covers.
        size: u64,
        /// The checkpoint.
        by: Source,
    },
    /// A checkpoint does not follow the one before which it was signed to follow.
    #[error(
        "{by} follows one of {after} records, which is not the one before it: a checkpoint was taken out, put \
         in or moved"
    )]
    CheckpointGap {
        /// The checkpoint.
        by: Source,
        /// How many records the one that it follows covers.
        after: u64,
    },
    /// The head is not what a writer leaves.
    #[error("`{HEAD_NAME}` {what} (removed, it is made again from the book)")]
    OtherHead {
        /// What of it.
        what: &'static str,
    },
    /// A line of the hand-overs stands twice, or before the one that it follows.
    #[error(
        "`{HANDOVERS_NAME}` line {number} stands twice, or before the hand-over that it follows"
    )]
    HandoverMisplaced {
        /// The line, from 1 on.
        number: u64,
    },
    /// A line of the erasures stands twice, or before an earlier one.
    #[error("`{ERASURES_NAME}` line {number} stands twice, or behind a later one")]
    ErasureMisplaced {
        /// The line, from 1 on.
        number: u64,
    },
    /// A checkpoint covers no more than the one before it.
    #[error("{by} covers no more than the one before it")]
    NoProgress {
        /// The checkpoint.
        by: Source,
    },
    /// The signature of a checkpoint is wrong.
    #[error("the signature of {by} is wrong")]
    BadSignature {
        /// The checkpoint.
        by: Source,
    },
    /// A checkpoint is signed by a key that is not trusted.
    #[error("{by} is signed by a key that is not trusted, `{key}`")]
    UnknownKey {
        /// The checkpoint.
        by: Source,
        /// The key.
        key: PublicKey,
    },
    /// A line of the erasures is no erasure.
    #[error("`{ERASURES_NAME}` line {number} is no erasure")]
    NoErasure {
        /// The line, from 1 on.
        number: u64,
    },
    /// A record was overwritten, and no erasure says so.
    #[error("`{}` line {number}: record {seq} was overwritten without an erasure", .file.display())]
    ErasedUnsigned {
        /// The file.
        file: PathBuf,
        /// The line in the file, from 1 on.
        number: u64,
        /// The record.
        seq: u64,
    },
    /// What stands in place of erased records is not what was signed.
    #[error(
        "erasure {number} was not carried out as it was signed in `{segment}` (if it was \
         interrupted, the next erasure carries it out)"
    )]
    OtherErasure {
        /// The erasure.
        number: u64,
        /// The segment file.
        segment: String,
    },
    /// Records that a checkpoint should cover by now.
    #[error("the last {records} records are not covered by a checkpoint, and should be")]
    NotCovered {
        /// How many.
        records: u64,
    },
}

impl Finding {
    /// The kind of damage, in a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Finding::NoLine { .. } => "no_line",
            Finding::OutOfOrder { .. } => "out_of_order",
            Finding::BrokenChain { .. } => "broken_chain",
            Finding::SegmentMissing { .. } => "segment_missing",
            Finding::StraySegment { .. } => "stray_segment",
            Finding::Short { .. } => "cut",
            Finding::OtherRoot { .. } => "rewritten",
            Finding::OtherBook { .. } => "other_book",
            Finding::NoCheckpoint { .. } => "no_checkpoint",
            Finding::NoHandover { .. } => "no_handover",
            Finding::NotHandedOver { .. } => "not_handed_over",
            Finding::CheckpointMissing { .. } => "checkpoint_missing",
            Finding::CheckpointGap { .. } => "checkpoint_gap",
            Finding::OtherHead { .. } => "other_head",
            Finding::HandoverMisplaced { .. } => "handover_misplaced",
            Finding::ErasureMisplaced { .. } => "erasure_misplaced",
            Finding::NoProgress { .. } => "no_progress",
            Finding::BadSignature { .. } => "bad_signature",
            Finding::UnknownKey { .. } => "unknown_key",
            Finding::NoErasure { .. } => "no_erasure",
            Finding::ErasedUnsigned { .. } => "overwritten",
            Finding::OtherErasure { .. } => "other_erasure",
            Finding::NotCovered { .. } => "not_covered",
        }
    }
}

/// What a finding rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The checkpoint on this line of the ledger's checkpoints, from 1 on.
    Checkpoint(u64),
    /// The checkpoint kept elsewhere, by its place in [`crate::Trust::kept`], from 1 on.
    Kept(u64),
    /// The ledger's own head.
    Head,
    /// What stands for the records that were pruned.
    Tombstone,
    /// The erasure of this number.
    Erasure(u64),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Checkpoint(number) => write!(f, "the checkpoint on line {number}"),
            Source::Kept(number) => write!(f, "the kept checkpoint {number}"),
            Source::Head => f.write_str("the ledger's head"),
            Source::Tombstone => f.write_str("the tombstone"),
            Source::Erasure(number) => write!(f, "erasure {number}"),
        }
    }
}
