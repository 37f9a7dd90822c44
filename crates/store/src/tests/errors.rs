//! A disk that refuses: the ledger closes, says why ever after, and loses nothing it answered for.

use super::disk::SimulatedDisk;
use crate::ledger::{Committer, FileLedger};
use crate::writer::{Layout, Writer};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tollgate_gate::{
    Durability, EventId, Ledger, LedgerError, ManualClock, Record, RecordKind, Timestamp,
};

fn ledger(disk: &SimulatedDisk, committer: Committer) -> FileLedger {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1)));
    let layout = Layout { segment_bytes_max: 100_000, prefill_bytes: 1000 };
    let writer = Writer::open(Box::new(disk.clone()), clock, layout, None).unwrap();
    FileLedger::over(writer, committer)
}

fn append(ledger: &FileLedger, durability: Durability) -> Result<(), LedgerError> {
    let at = Timestamp::from_millis(1);
    let mut answer =
        pin!(ledger.append(Record::new(EventId::made(at), at, RecordKind::Switch), durability));
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match answer.as_mut().poll(&mut cx) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

#[test]
fn a_write_error_closes_the_ledger_for_good() {
    for committer in [Committer::Thread, Committer::Caller] {
        for stop in 1..=3 {
            let disk = SimulatedDisk::default();
            let ledger = ledger(&disk, committer);
            append(&ledger, Durability::BeforeEffect).unwrap();
            disk.stop_at(stop, false);
            let first = append(&ledger, Durability::BeforeEffect).unwrap_err();
            // The disk is well again; what it did with the failed write cannot be known.
            disk.stop_at(u64::MAX / 2, false);
            let later = append(&ledger, Durability::BeforeEffect).unwrap_err();
            let buffered = append(&ledger, Durability::Buffered).unwrap_err();
            let LedgerError::Storage(first) = first else { panic!("{first}") };
            for error in [later, buffered] {
                assert!(error.to_string().contains(&first), "{error} after {first}");
            }
            assert!(ledger.flush().is_err());
        }
    }
}

#[test]
fn buffered_records_that_a_write_error_loses_are_counted() {
    let disk = SimulatedDisk::default();
    let ledger = ledger(&disk, Committer::Thread);
    append(&ledger, Durability::BeforeEffect).unwrap();
    disk.stop_at(1, false);
    let answered = (0..10).filter(|_| append(&ledger, Durability::Buffered).is_ok()).count() as u64;
    assert!(ledger.flush().is_err());
    assert!(answered > 0);
    let stats = ledger.stats();
    assert_eq!((stats.lost, stats.at_risk), (answered, 0));
}
