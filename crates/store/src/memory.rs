//! A chained ledger in memory: each record becomes the same line, with the same hash and in the same
//! tree, as in a file; only the disk is missing. For measuring, and for programs that ship the lines
//! themselves.
//!
//! It keeps the newest lines, in a bounded number of bytes.

use crate::hash::HashValue;
use crate::head::Place;
use crate::ledger::body_of;
use crate::line::write_line;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tollgate_gate::{Durability, Ledger, LedgerError, Record, Soon};

/// A chained ledger in memory.
pub struct ChainedMemory {
    half_bytes_max: usize,
    lines: Mutex<Lines>,
}

struct Lines {
    place: Place,
    /// The newest lines; when there are too many they become the older ones.
    newer: Vec<u8>,
    older: Vec<u8>,
}

impl ChainedMemory {
    /// A ledger that keeps between half of so many bytes and all of them (a single longer line is
    /// kept too).
    pub fn new(bytes_max: usize) -> ChainedMemory {
        let lines = Lines { place: Place::start(), newer: Vec::new(), older: Vec::new() };
        ChainedMemory { half_bytes_max: bytes_max / 2, lines: Mutex::new(lines) }
    }

    /// How many records were appended.
    pub fn records(&self) -> u64 {
        self.lines().place.seq()
    }

    /// The root of the tree over all of them.
    pub fn root(&self) -> HashValue {
        self.lines().place.tree.root()
    }

    /// The lines that are kept, each with its newline.
    pub fn kept(&self) -> Vec<u8> {
        let lines = self.lines();
        [&lines.older[..], &lines.newer[..]].concat()
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn push(&mut self, body: &[u8], half_bytes_max: usize) {
        if self.newer.len() + body.len() > half_bytes_max && !self.newer.is_empty() {
            std::mem::swap(&mut self.newer, &mut self.older);
            self.newer.clear();
        }
        let start = self.newer.len();
        write_line(&mut self.newer, self.place.seq() + 1, &self.place.prev, None, body);
        self.place.pass(self.newer.get(start..).unwrap_or_default());
        self.newer.push(b'\n');
    }
}

impl Ledger for ChainedMemory {
    fn append(&self, record: Record, _durability: Durability) -> Soon<'_, Result<(), LedgerError>> {
        match body_of(&record) {
            Ok(body) => {
                self.lines().push(&body, self.half_bytes_max);
                Soon::now(Ok(()))
            }
            Err(error) => Soon::now(Err(LedgerError::Storage(error.to_string()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ChainedMemory;
    use crate::hash::HashValue;
    use crate::line::Line;
    use tollgate_gate::{Durability, EventId, Ledger, Record, RecordKind, Soon, Timestamp};

    #[test]
    fn it_chains_its_lines_and_keeps_the_newest_in_bounds() {
        let memory = ChainedMemory::new(4000);
        let at = Timestamp::from_millis(1);
        for _ in 0..100 {
            let record = Record::new(EventId::made(at), at, RecordKind::Switch);
            let answer = memory.append(record, Durability::BeforeEffect);
            assert!(matches!(answer, Soon::Now(Some(Ok(())))));
        }
        let kept = memory.kept();
        assert!((1500..=4200).contains(&kept.len()), "{}", kept.len());
        let lines: Vec<&[u8]> = kept.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
        for pair in lines.windows(2) {
            let (one, two) = (Line::read(pair[0]).unwrap(), Line::read(pair[1]).unwrap());
            assert_eq!((two.seq, two.prev), (one.seq + 1, HashValue::of_line(pair[0])));
        }
        assert_eq!(Line::read(lines.last().unwrap()).unwrap().seq, memory.records());
    }
}
