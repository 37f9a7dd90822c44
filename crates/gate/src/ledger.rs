//! The ledger as the gate sees it, and the form of it in memory.

use crate::limits::MEMORY_LEDGER_RECORDS_MAX;
use crate::record::Record;
use crate::ruleset::Durability;
use crate::soon::Soon;
use std::sync::{Mutex, PoisonError};

/// The append-only book of records.
pub trait Ledger: Send + Sync {
    /// Appends a record. The answer comes when the record is as durable as asked for.
    ///
    /// # Errors
    /// [`LedgerError`] when the record could not be written; the gate then closes.
    fn append(&self, record: Record, durability: Durability) -> Soon<'_, Result<(), LedgerError>>;
}

/// A record could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// The ledger holds as much as it may.
    #[error("the ledger is full: it holds at most {max} records")]
    Full {
        /// The cap.
        max: usize,
    },
    /// The storage failed.
    #[error("the ledger cannot be written: {0}")]
    Storage(String),
}

/// A ledger in memory: for tests, and for programs that keep their own book.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    records: Mutex<Vec<Record>>,
}

impl MemoryLedger {
    /// An empty ledger.
    pub fn new() -> MemoryLedger {
        MemoryLedger::default()
    }

    /// A copy of all records, in order.
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes all records out, in order.
    pub fn take(&self) -> Vec<Record> {
        std::mem::take(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ledger for MemoryLedger {
    fn append(&self, record: Record, _durability: Durability) -> Soon<'_, Result<(), LedgerError>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() >= MEMORY_LEDGER_RECORDS_MAX {
            return Soon::now(Err(LedgerError::Full { max: MEMORY_LEDGER_RECORDS_MAX }));
        }
        records.push(record);
        Soon::now(Ok(()))
    }
}
