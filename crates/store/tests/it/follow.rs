//! Reading on from a mark: nothing skipped, nothing twice, and another book is noticed.

use crate::rig::{Rig, append, options, record, wait};
use std::fs;
use tollgate_gate::{Durability, Ledger as _, Timestamp};
use tollgate_store::{
    Book, Committer, FileLedger, FollowError, LedgerOptions, Mark, Signing, prune,
};

/// Reads all that follows, three lines at a time; gives the numbers and the last mark.
fn read_on(rig: &Rig, from: &Mark) -> (Vec<u64>, Mark) {
    let (mut seqs, mut mark) = (Vec::new(), from.clone());
    loop {
        let read = Book::open(&rig.folder()).unwrap().after(&mark, 3).unwrap();
        let Some((_, last)) = read.last() else { return (seqs, mark) };
        mark = last.clone();
        seqs.extend(read.iter().map(|(entry, _)| entry.line.seq));
    }
}

fn small_segments(rig: &Rig, is_signed: bool) -> FileLedger {
    let signing = is_signed
        .then(|| Signing { every_records: 8, ..Signing::new(rig.folder().with_extension("key")) });
    let committer = Committer::Caller;
    let options = LedgerOptions { segment_bytes_max: 2_000, signing, committer, ..options() };
    FileLedger::open(&rig.folder(), options).unwrap()
}

#[test]
fn what_follows_a_mark_is_read_once_over_segments_and_restarts() {
    let rig = Rig::new();
    let mut mark = Mark::START;
    let mut all = Vec::new();
    for round in 0..3 {
        let ledger = small_segments(&rig, false);
        for at in 0..7 {
            append(&ledger, &format!("{round}-{at}")).unwrap();
        }
        drop(ledger);
        let (seqs, end) = read_on(&rig, &mark);
        all.extend(seqs);
        mark = end;
        assert_eq!(Book::open(&rig.folder()).unwrap().end().unwrap(), mark);
    }
    assert_eq!(all, (1..=21).collect::<Vec<u64>>());
    assert!(Book::open(&rig.folder()).unwrap().files().count() > 1);
    fs::remove_file(rig.folder().join("head")).unwrap();
    assert_eq!(read_on(&rig, &mark).0, Vec::<u64>::new());
    assert_eq!(read_on(&rig, &Mark::START).0.len(), 21);
}

#[test]
fn a_book_that_was_set_back_or_exchanged_is_not_read_on() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    for at in 0..5 {
        append(&ledger, &at.to_string()).unwrap();
    }
    drop(ledger);
    let (_, mark) = read_on(&rig, &Mark::START);
    fs::remove_dir_all(rig.folder()).unwrap();
    let ledger = rig.ledger();
    let after = || Book::open(&rig.folder()).unwrap().after(&mark, 10);
    for lines in 0..9 {
        assert!(
            matches!(after(), Err(FollowError::NotThisBook { .. } | FollowError::Book(_))),
            "{lines}"
        );
        append(&ledger, &format!("other {lines}")).unwrap();
    }
}

#[test]
fn a_mark_outlives_pruning_and_what_was_pruned_before_it_was_read_is_named() {
    let rig = Rig::new();
    let key_file = rig.folder().with_extension("key");
    let write = |from: u64, to: u64| {
        let ledger = small_segments(&rig, true);
        for at in from..to {
            wait(ledger.append(record(&at.to_string()), Durability::BeforeEffect)).unwrap();
        }
    };
    write(0, 30);
    let (_, behind) = read_on(&rig, &Mark::START);
    let early = Book::open(&rig.folder()).unwrap().after(&Mark::START, 1).unwrap().remove(0).1;
    let (before, now) = (Timestamp::from_millis(2), Timestamp::from_millis(9));
    let tombstone = prune(&rig.folder(), &key_file, before, now).unwrap().unwrap();
    write(30, 40);
    assert_eq!(read_on(&rig, &behind).0, (31..=40).collect::<Vec<u64>>());
    let error = Book::open(&rig.folder()).unwrap().after(&early, 10).unwrap_err();
    let pruned = match error {
        FollowError::Pruned { from, to, rest } => Some((from, to, rest)),
        FollowError::Book(_) | FollowError::NotThisBook { .. } | _ => None,
    };
    let (from, to, rest) = pruned.unwrap();
    assert_eq!((from, to), (2, tombstone.size));
    assert_eq!(read_on(&rig, &rest).0, (tombstone.size + 1..=40).collect::<Vec<u64>>());
}

#[test]
fn a_book_that_was_cut_is_noticed_though_its_head_still_tells_of_the_end_and_nothing_is_new() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    for at in 0..5 {
        append(&ledger, &format!("record {at}")).unwrap();
    }
    drop(ledger);
    let end = Book::open(&rig.folder()).unwrap().end().unwrap();
    let file = rig.last_file();
    let text = fs::read_to_string(&file).unwrap();
    for left in [4, 0] {
        let lines: String = text.lines().take(left).map(|line| format!("{line}\n")).collect();
        fs::write(&file, lines).unwrap();
        let read = Book::open(&rig.folder()).unwrap().after(&end, 10);
        assert!(matches!(read, Err(FollowError::NotThisBook { .. })), "{read:?}");
    }
    fs::remove_file(&file).unwrap();
    let read = Book::open(&rig.folder()).unwrap().after(&end, 10);
    assert!(matches!(read, Err(FollowError::NotThisBook { .. })), "{read:?}");
    fs::write(&file, text).unwrap();
    assert!(Book::open(&rig.folder()).unwrap().after(&end, 10).unwrap().is_empty());
}
