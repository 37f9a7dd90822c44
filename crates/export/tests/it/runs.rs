//! The loop: at least once, whatever happens in between, and one at a time.

use crate::rig::{Rig, record};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tollgate_export::{Cursor, CursorError, Done, Notice, RunError, SendError, Until, Work, run};
use tollgate_gate::{Json, RecordKind};
use tollgate_store::{Entry, FollowError};

/// Takes what comes; fails or dies at some of its calls.
#[derive(Default)]
struct Taker {
    seqs: Vec<u64>,
    calls: usize,
    fails: Vec<(usize, SendError)>,
}

impl Work for Taker {
    fn take(&mut self, entries: &[Entry], _notes: &mut Json) -> Result<usize, SendError> {
        self.calls += 1;
        self.seqs.extend(entries.iter().map(|entry| entry.line.seq));
        match self.fails.iter().find(|(call, _)| *call == self.calls) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(entries.len()),
        }
    }
}

fn to_the_end(rig: &Rig, cursor: &mut Cursor, work: &mut Taker) -> Result<Done, RunError> {
    run(&rig.ledger(), cursor, work, Until::End, &|| false, &mut |_| {})
}

fn decisions(from: u64, to: u64) -> impl Iterator<Item = tollgate_gate::Record> {
    (from..=to).map(|at| record(RecordKind::Decision, at))
}

#[test]
fn a_crash_between_sending_and_the_cursor_sends_again_and_skips_nothing() {
    let rig = Rig::new();
    rig.append(decisions(1, 600));
    // The other side has the second batch, and we die before we know.
    let mut dying = Taker {
        fails: vec![(2, SendError::Refused("as if the process had died here".to_owned()))],
        ..Taker::default()
    };
    to_the_end(&rig, &mut rig.cursor("x"), &mut dying).unwrap_err();
    let mut next = Taker::default();
    let done = to_the_end(&rig, &mut rig.cursor("x"), &mut next).unwrap();
    assert_eq!((done.seq, done.lost), (600, 0));
    let mut all = [dying.seqs.clone(), next.seqs].concat();
    assert!(all.len() > 600, "some came twice");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all, (1..=600).collect::<Vec<u64>>());
    rig.append(decisions(601, 601));
    let mut last = Taker::default();
    to_the_end(&rig, &mut rig.cursor("x"), &mut last).unwrap();
    assert_eq!(last.seqs, [601]);
}

#[test]
fn an_end_gives_up_after_some_tries_and_a_follower_never_does() {
    let rig = Rig::new();
    rig.append(decisions(1, 3));
    let gone = |calls: std::ops::RangeInclusive<usize>| Taker {
        fails: calls.map(|call| (call, SendError::Unreachable("gone".to_owned()))).collect(),
        ..Taker::default()
    };
    let mut work = gone(1..=2);
    let done = to_the_end(&rig, &mut rig.cursor("a"), &mut work).unwrap();
    assert_eq!((done.records, work.calls), (3, 3));
    let mut work =
        Taker { fails: vec![(1, SendError::Refused("no".to_owned()))], ..Taker::default() };
    let (mut cursor, retries) = (rig.cursor("b"), AtomicUsize::new(0));
    let followed = run(
        &rig.ledger(),
        &mut cursor,
        &mut work,
        Until::Stopped,
        &|| retries.load(Ordering::Relaxed) > 1,
        &mut |notice| {
            if matches!(notice, Notice::Retry { .. } | Notice::Recovered) {
                retries.fetch_add(1, Ordering::Relaxed);
            }
        },
    );
    assert_eq!(followed.unwrap().records, 3);
}

#[test]
fn a_follower_takes_records_as_they_are_written() {
    let rig = Rig::new();
    rig.append(decisions(1, 1));
    let seen = Mutex::new(Vec::new());
    struct Seeing<'s>(&'s Mutex<Vec<u64>>);
    impl Work for Seeing<'_> {
        fn take(&mut self, entries: &[Entry], _: &mut Json) -> Result<usize, SendError> {
            self.0.lock().unwrap().extend(entries.iter().map(|entry| entry.line.seq));
            Ok(entries.len())
        }
    }
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let stop = || seen.lock().unwrap().len() >= 3;
            let mut cursor = rig.cursor("follow");
            run(&rig.ledger(), &mut cursor, &mut Seeing(&seen), Until::Stopped, &stop, &mut |_| {})
        });
        rig.append(decisions(2, 3));
        assert_eq!(follower.join().unwrap().unwrap().records, 3);
    });
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn two_at_one_cursor_are_one_too_many() {
    let rig = Rig::new();
    rig.append(decisions(1, 1));
    let first = rig.cursor("x");
    let second = Cursor::open(&rig.path("cursors"), &rig.ledger(), "x");
    assert!(matches!(second, Err(CursorError::Taken(_))));
    drop(rig.cursor("another purpose"));
    drop(first);
    drop(rig.cursor("x"));
}

#[test]
fn another_book_at_the_same_place_is_not_taken_for_the_one_that_was_read() {
    let rig = Rig::new();
    rig.append(decisions(1, 5));
    to_the_end(&rig, &mut rig.cursor("x"), &mut Taker::default()).unwrap();
    fs::remove_dir_all(rig.ledger()).unwrap();
    rig.append(decisions(11, 19));
    let mut cursor = rig.cursor("x");
    let error = to_the_end(&rig, &mut cursor, &mut Taker::default()).unwrap_err();
    assert!(matches!(error, RunError::Follow(FollowError::NotThisBook { .. })), "{error}");
    cursor.restart();
    let mut work = Taker::default();
    to_the_end(&rig, &mut cursor, &mut work).unwrap();
    assert_eq!(work.seqs, (1..=9).collect::<Vec<u64>>());
}

#[test]
fn a_file_that_is_no_cursor_is_refused() {
    let rig = Rig::new();
    rig.append(decisions(1, 1));
    let mut cursor = rig.cursor("x");
    to_the_end(&rig, &mut cursor, &mut Taker::default()).unwrap();
    let file = cursor.file().to_owned();
    drop(cursor);
    fs::write(&file, "{\"version\":2}").unwrap();
    let opened = Cursor::open(&rig.path("cursors"), &rig.ledger(), "x");
    assert!(matches!(opened, Err(CursorError::Malformed(_))));
}
