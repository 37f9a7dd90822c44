//! The ledger on disk, through its public face.

use crate::rig::{Rig, append, entries, options, record, text, wait};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tollgate_gate::{Durability, Ledger, Soon};
use tollgate_store::limits::{BUFFERED_RECORDS_MAX, RECORD_BYTES_MAX};
use tollgate_store::{Book, BookError, Committer, Entries, FileLedger, LedgerOptions, StoreError};

#[test]
fn records_are_read_back_in_their_order_each_chained_to_the_one_before() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    for id in ["a", "b", "c"] {
        append(&ledger, id).unwrap();
    }
    let read = rig.entries();
    assert_eq!(read.iter().map(|entry| text(entry, "id")).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(text(&read[0], "kind"), "switch");
    assert_eq!(text(&read[0], "session"), "s1");
    // While the ledger is open, and as any text tool reads it.
    let file = fs::read_to_string(rig.last_file()).unwrap();
    assert_eq!(file.lines().filter(|line| !line.is_empty()).count(), 3);
}

#[test]
fn an_answer_before_effect_means_that_the_record_is_there() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    let answer = ledger.append(record("a"), Durability::BeforeEffect);
    assert!(matches!(answer, Soon::Later(_)));
    wait(answer).unwrap();
    assert_eq!(rig.entries().len(), 1);
    assert_eq!((ledger.stats().records, ledger.stats().syncs), (1, 1));
}

#[test]
fn a_buffered_record_is_answered_at_once_and_is_on_disk_soon_after() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    let mut answer = ledger.append(record("a"), Durability::Buffered);
    assert!(matches!(answer, Soon::Now(Some(Ok(())))));
    wait(&mut answer).unwrap();
    for _ in 0..200 {
        if ledger.stats().at_risk == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((ledger.stats().at_risk, ledger.stats().syncs), (0, 1));
    assert_eq!(rig.entries().len(), 1);
}

#[test]
fn closing_the_ledger_writes_what_was_buffered() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    for at in 0..100 {
        wait(ledger.append(record(&at.to_string()), Durability::Buffered)).unwrap();
    }
    drop(ledger);
    assert_eq!(rig.entries().len(), 100);
}

#[test]
fn what_was_flushed_is_on_disk() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    ledger.flush().unwrap();
    wait(ledger.append(record("a"), Durability::Buffered)).unwrap();
    ledger.flush().unwrap();
    assert_eq!(ledger.stats().at_risk, 0);
    assert_eq!(rig.entries().len(), 1);
}

#[test]
fn many_writers_share_batches_and_none_is_lost() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let ledger = &ledger;
            scope.spawn(move || {
                for at in 0..25 {
                    append(ledger, &format!("{thread}-{at}")).unwrap();
                }
            });
        }
    });
    let stats = ledger.stats();
    assert_eq!(stats.records, 400);
    assert!(stats.batches < stats.records, "{stats:?}");
    let mut ids: Vec<String> = rig.entries().iter().map(|e| text(e, "id").to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 400);
}

#[test]
fn several_ledgers_over_one_folder_write_one_chain() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        for process in 0..4 {
            let rig = &rig;
            scope.spawn(move || {
                let committer =
                    if process % 2 == 0 { Committer::Thread } else { Committer::Caller };
                let options = LedgerOptions { committer, segment_bytes_max: 4096, ..options() };
                let ledger = FileLedger::open(&rig.folder(), options).unwrap();
                for at in 0..25 {
                    append(&ledger, &format!("{process}-{at}")).unwrap();
                }
            });
        }
    });
    assert_eq!(rig.entries().len(), 100);
    assert!(Book::open(&rig.folder()).unwrap().files().count() > 2);
}

#[test]
fn a_caller_that_commits_itself_has_its_answer_at_once() {
    let rig = Rig::new();
    let options = LedgerOptions { committer: Committer::Caller, ..options() };
    let ledger = FileLedger::open(&rig.folder(), options).unwrap();
    let answer = ledger.append(record("a"), Durability::BeforeEffect);
    assert!(matches!(answer, Soon::Now(Some(Ok(())))));
    assert_eq!(rig.entries().len(), 1);
}

#[test]
fn a_full_segment_is_trimmed_and_the_next_one_begun() {
    let rig = Rig::new();
    let options = LedgerOptions { segment_bytes_max: 1000, ..options() };
    let ledger = FileLedger::open(&rig.folder(), options).unwrap();
    for at in 0..40 {
        append(&ledger, &at.to_string()).unwrap();
    }
    let files: Vec<_> = Book::open(&rig.folder()).unwrap().files().collect();
    assert!(files.len() > 3);
    for file in &files[..files.len() - 1] {
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.ends_with(b"\n\n") && bytes.ends_with(b"}\n"));
    }
    assert!(fs::read(files.last().unwrap()).unwrap().ends_with(b"\n\n"));
    assert_eq!(rig.entries().len(), 40);
    for file in files {
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(rig.folder()).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_torn_end_is_cut_and_a_record_names_what_was_cut() {
    let rig = Rig::new();
    append(&rig.ledger(), "a").unwrap();
    let end = rig.entries()[0].text.len() as u64 + 1;
    let file = OpenOptions::new().write(true).open(rig.last_file()).unwrap();
    file.write_all_at(b"{\"seq\":2,\"prev\":\"00", end).unwrap();
    append(&rig.ledger(), "b").unwrap();
    let read = rig.entries();
    assert_eq!(read.len(), 3);
    assert_eq!(text(&read[1], "kind"), "recovered");
    let detail = read[1].line.json.get("detail").unwrap();
    assert_eq!(detail.get("bytes").unwrap().as_u64(), Some(19));
    assert_eq!(detail.get("offset").unwrap().as_u64(), Some(end));
    assert_eq!(text(&read[2], "id"), "b");
}

#[test]
fn an_open_ledger_notices_what_another_process_left_torn() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    append(&ledger, "a").unwrap();
    let end = rig.entries()[0].text.len() as u64 + 1;
    let file = OpenOptions::new().write(true).open(rig.last_file()).unwrap();
    file.write_all_at(b"{\"seq\":2,", end).unwrap();
    append(&ledger, "b").unwrap();
    let kinds: Vec<_> = rig.entries().iter().map(|e| text(e, "kind").to_owned()).collect();
    assert_eq!(kinds, ["switch", "recovered", "switch"]);
}

#[test]
fn a_ledger_whose_head_was_lost_finds_its_end() {
    let rig = Rig::new();
    let options = LedgerOptions { segment_bytes_max: 1000, ..options() };
    for at in 0..20 {
        append(&FileLedger::open(&rig.folder(), options.clone()).unwrap(), &at.to_string())
            .unwrap();
        if at % 3 == 0 {
            fs::remove_file(rig.folder().join("head")).unwrap();
        }
    }
    assert_eq!(rig.entries().len(), 20);
}

#[test]
fn a_changed_cut_or_missing_record_that_was_on_disk_refuses_to_open() {
    type Harm = fn(&Rig);
    let harms: [(&str, Harm); 3] = [
        ("changed", |rig| {
            let file = OpenOptions::new().write(true).open(rig.last_file()).unwrap();
            let end = rig.entries().iter().map(|entry| entry.text.len() as u64 + 1).sum::<u64>();
            file.write_all_at(b"X", end - 10).unwrap();
        }),
        ("cut", |rig| {
            let end = rig.entries()[0].text.len() as u64 + 1;
            OpenOptions::new().write(true).open(rig.last_file()).unwrap().set_len(end).unwrap();
        }),
        ("missing", |rig| fs::remove_file(rig.last_file()).unwrap()),
    ];
    for (name, harm) in harms {
        let rig = Rig::new();
        for id in ["a", "b"] {
            append(&rig.ledger(), id).unwrap();
        }
        harm(&rig);
        let opened = FileLedger::open(&rig.folder(), options());
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{name}");
    }
}

#[test]
fn the_reader_names_the_line_that_is_wrong() {
    let rig = Rig::new();
    for id in ["a", "b"] {
        append(&rig.ledger(), id).unwrap();
    }
    let whole = fs::read(rig.last_file()).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let read = |bytes: &[u8]| {
        let file = rig.folder().join("copy");
        fs::write(&file, bytes).unwrap();
        Entries::open(file).unwrap().collect::<Vec<_>>()
    };
    assert_eq!(read(&whole).len(), 2);
    let mut changed = whole.clone();
    changed[first] = b'[';
    let result = read(&changed);
    assert_eq!(result.len(), 2);
    let offset = first as u64;
    let Err(error) = &result[1] else { panic!("read") };
    assert!(matches!(error, BookError::Line { number: 2, offset: o, .. } if *o == offset));
    assert!(error.to_string().contains("copy` line 2 (byte"), "{error}");
    let gap = [&whole[..first], b"\n", &whole[first..]].concat();
    assert!(matches!(read(&gap)[1], Err(BookError::BehindEnd { number: 2, .. })));
    let data = whole.iter().rposition(|byte| *byte == b'}').unwrap();
    assert!(matches!(read(&whole[..data])[1], Err(BookError::NoEnd { number: 2, .. })));
    assert!(matches!(Entries::open("no/such/file"), Err(BookError::Io { .. })));
}

#[test]
fn a_reader_sees_no_half_written_batch() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for at in 0..200 {
                wait(ledger.append(record(&at.to_string()), Durability::Buffered)).unwrap();
            }
            ledger.flush().unwrap();
        });
        let mut seen = 0;
        while !writer.is_finished() {
            if rig.folder().join("head").exists() {
                let now = entries(&rig.folder()).len();
                assert!(now >= seen);
                seen = now;
            }
        }
    });
    assert_eq!(rig.entries().len(), 200);
}

#[test]
fn a_caller_that_commits_itself_leaves_buffered_records_with_the_system() {
    let rig = Rig::new();
    let options = LedgerOptions { committer: Committer::Caller, ..options() };
    let ledger = FileLedger::open(&rig.folder(), options).unwrap();
    for at in 0..3 {
        wait(ledger.append(record(&at.to_string()), Durability::Buffered)).unwrap();
    }
    assert_eq!((ledger.stats().at_risk, ledger.stats().syncs), (3, 0));
    // They are there for every other process, also when this one ends.
    assert_eq!(rig.entries().len(), 3);
    append(&ledger, "durable").unwrap();
    assert_eq!((ledger.stats().at_risk, ledger.stats().syncs), (0, 1));
}

#[test]
fn no_more_buffered_records_than_agreed_are_off_the_disk() {
    let rig = Rig::new();
    let options = LedgerOptions { committer: Committer::Caller, ..options() };
    let ledger = FileLedger::open(&rig.folder(), options).unwrap();
    for _ in 0..=BUFFERED_RECORDS_MAX {
        wait(ledger.append(record("x"), Durability::Buffered)).unwrap();
        assert!(ledger.stats().at_risk < BUFFERED_RECORDS_MAX);
    }
    assert_eq!(ledger.stats().syncs, 1);
}

#[test]
fn a_ledger_whose_files_were_removed_closes() {
    for removed in ["head", "lock", "00000000000000000001.jsonl"] {
        let rig = Rig::new();
        let ledger = rig.ledger();
        append(&ledger, "a").unwrap();
        fs::remove_file(rig.folder().join(removed)).unwrap();
        let refused = append(&ledger, "b").unwrap_err();
        assert!(refused.to_string().contains("was removed"), "{removed}: {refused}");
        // Not even when a new one stands in its place.
        drop(FileLedger::open(&rig.folder(), options()));
        append(&ledger, "c").unwrap_err();
    }
}

#[test]
fn a_record_that_no_line_can_hold_is_refused_and_the_ledger_goes_on() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    let mut large = record("large");
    large.reason = Some("x".repeat(RECORD_BYTES_MAX).into());
    let refused = wait(ledger.append(large, Durability::BeforeEffect)).unwrap_err();
    assert!(refused.to_string().contains("larger than"), "{refused}");
    append(&ledger, "small").unwrap();
    assert_eq!(rig.entries().len(), 1);
}

#[test]
fn a_busy_process_does_not_keep_another_out() {
    let rig = Rig::new();
    let busy = rig.ledger();
    let options = LedgerOptions { committer: Committer::Caller, ..options() };
    let other = FileLedger::open(&rig.folder(), options).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    append(&busy, "busy").unwrap();
                }
            });
        }
        // Each of them would fail after the longest wait for the lock.
        for at in 0..20 {
            append(&other, &at.to_string()).unwrap();
        }
        is_over.store(true, Ordering::Release);
    });
    assert!(rig.entries().len() > 20);
}
