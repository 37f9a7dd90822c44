//! A disk that refuses: the ledger closes, says why ever after, and loses nothing it answered for.

use super::disk::{Keeps, SimulatedDisk};
use crate::ledger::{Committer, FileLedger};
use crate::limits::REOPEN_MS;
use crate::writer::{Layout, Writer};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tollgate_gate::{
    Durability, EventId, Ledger, LedgerError, ManualClock, Record, RecordKind, Timestamp,
};

const LAYOUT: Layout = Layout { segment_bytes_max: 100_000, prefill_bytes: 1000 };

fn ledger(disk: &SimulatedDisk, committer: Committer) -> FileLedger {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1)));
    let writer = Writer::open(Box::new(disk.clone()), clock, LAYOUT, None).unwrap();
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

/// What an append does: it writes the line, syncs it, and writes the head.
const WRITE: u64 = 1;
const SYNC: u64 = 2;
const HEAD: u64 = 3;

#[test]
fn a_full_disk_closes_the_ledger_until_there_is_room_and_nothing_answered_for_is_lost() {
    for committer in [Committer::Thread, Committer::Caller] {
        for (stop, half) in [(WRITE, false), (WRITE, true), (HEAD, false)] {
            let disk = SimulatedDisk::default();
            let ledger = ledger(&disk, committer);
            append(&ledger, Durability::BeforeEffect).unwrap();
            disk.stop_at(stop, half);
            append(&ledger, Durability::BeforeEffect).unwrap_err();
            // There is no room yet, however often it is tried.
            for _ in 0..if stop == WRITE { 3 } else { 0 } {
                append(&ledger, Durability::Buffered).unwrap_err();
                std::thread::sleep(Duration::from_millis(REOPEN_MS / 2));
            }
            disk.stop_at(u64::MAX / 2, false);
            std::thread::sleep(Duration::from_millis(REOPEN_MS + 10));
            for _ in 0..3 {
                append(&ledger, Durability::BeforeEffect).unwrap();
            }
            drop(ledger);
            let reopened = Writer::open(
                Box::new(disk.after_power_cut(Keeps::Nothing)),
                Arc::new(ManualClock::new(Timestamp::from_millis(1))),
                LAYOUT,
                None,
            );
            // Four that were answered for, and what tells of the half one, or the one whose head was
            // not written: it is in the book though its caller was refused.
            let more = u64::from(half || stop == HEAD);
            assert_eq!(reopened.unwrap().records(), 4 + more, "{committer:?} {stop} {half}");
        }
    }
}

#[test]
fn a_failed_sync_closes_the_ledger_for_good() {
    for committer in [Committer::Thread, Committer::Caller] {
        for stop in [SYNC] {
            let disk = SimulatedDisk::default();
            let ledger = ledger(&disk, committer);
            append(&ledger, Durability::BeforeEffect).unwrap();
            disk.stop_at(stop, false);
            let first = append(&ledger, Durability::BeforeEffect).unwrap_err();
            // The disk is well again; what it did with the failed write cannot be known.
            disk.stop_at(u64::MAX / 2, false);
            std::thread::sleep(Duration::from_millis(REOPEN_MS + 10));
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
