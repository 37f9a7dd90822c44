//! Questions about a book: the index gives the answers that reading the book gives.

use crate::rig::{Rig, text};
use std::fs;
use std::sync::Arc;
use tollgate_gate::{
    Code, Durability, EventId, EventKind, Json, Record, RecordKind, Session, Timestamp, Verdict,
};
use tollgate_store::index::{INDEX_NAME, remove};
use tollgate_store::{
    Book, CheckpointKey, Counts, DatabaseError, FileLedger, Filter, Index, IndexError, Trust,
    erase, prune, verify,
};

/// Writes decisions of several people in several sessions.
fn fill(ledger: &FileLedger, from: u64, to: u64) {
    for at in from..to {
        let moment = Timestamp::from_millis(1_000 * at);
        let mut record =
            Record::new(EventId::Given(format!("id-{at}").into()), moment, RecordKind::Decision);
        let user = ["alice", "bob", "carol"].into_iter().nth(at as usize % 3).unwrap();
        let session = Session::new(format!("s{}", at % 5)).with_user(user);
        record.session = Some(Arc::new(session));
        record.event = Some(EventKind::PreTool);
        record.tool = Some(if at % 2 == 0 { "read" } else { "write" }.into());
        let refused = at % 4 == 0;
        record.verdict = Some(if refused { Verdict::Deny } else { Verdict::Allow });
        record.code = refused.then_some(Code::HookDenied);
        record.hook = refused.then(|| "guard".into());
        ledger.append_blocking(&record, Durability::BeforeEffect).unwrap();
    }
}

fn scan(rig: &Rig, filter: &Filter) -> (Vec<u64>, Counts) {
    let (mut found, mut counts) = (Vec::new(), Counts::default());
    for entry in Book::open(&rig.folder()).unwrap().entries() {
        let entry = entry.unwrap();
        if filter.matches(&entry.line.json) {
            found.push(entry.line.seq);
            counts.take(&entry.line.json);
        }
    }
    found.reverse();
    (found, counts)
}

fn open(rig: &Rig) -> Index {
    let mut index = Index::open(&rig.folder()).unwrap();
    index.catch_up(&mut |_| {}).unwrap();
    index
}

fn filters() -> Vec<Filter> {
    let some = |text: &str| Some(text.to_owned());
    let at = |ms| Some(Timestamp::from_millis(ms));
    vec![
        Filter::default(),
        Filter { user: some("alice"), ..Filter::default() },
        Filter { user: some("nobody"), ..Filter::default() },
        Filter { session: some("s3"), tool: some("read"), ..Filter::default() },
        Filter { hook: some("guard"), verdict: some("deny"), ..Filter::default() },
        Filter { code: some("hook_denied"), kind: some("decision"), ..Filter::default() },
        Filter { since: at(5_000), until: at(20_000), ..Filter::default() },
    ]
}

#[track_caller]
fn agrees(rig: &Rig, index: &mut Index) {
    for filter in filters() {
        let (found, counts) = scan(rig, &filter);
        let spots = index.newest(&filter, 1_000).unwrap();
        assert_eq!(spots.iter().map(|spot| spot.seq).collect::<Vec<_>>(), found, "{filter:?}");
        assert_eq!(index.counts(&filter).unwrap(), counts, "{filter:?}");
        for spot in &spots {
            let entry = index.read(spot).unwrap().unwrap();
            assert!(filter.matches(&entry.line.json));
        }
    }
}

#[test]
fn the_index_gives_the_answers_of_the_book_while_it_grows_and_after_it_was_deleted() {
    let rig = Rig::new();
    let ledger = rig.ledger();
    fill(&ledger, 0, 40);
    agrees(&rig, &mut open(&rig));
    fill(&ledger, 40, 70);
    agrees(&rig, &mut open(&rig));
    remove(&rig.folder()).unwrap();
    let mut index = open(&rig);
    agrees(&rig, &mut index);
    let found = index.with_id("id-7").unwrap();
    let entry = index.read(&found[0]).unwrap().unwrap();
    assert_eq!(text(&entry, "id"), "id-7");
}

#[test]
fn an_index_of_another_book_or_a_damaged_one_is_made_anew() {
    let (one, two) = (Rig::new(), Rig::new());
    fill(&one.ledger(), 0, 30);
    fill(&two.ledger(), 10, 60);
    drop(open(&one));
    fs::copy(one.folder().join(INDEX_NAME), two.folder().join(INDEX_NAME)).unwrap();
    for ending in ["-wal", "-shm"] {
        let name = format!("{INDEX_NAME}{ending}");
        if one.folder().join(&name).exists() {
            fs::copy(one.folder().join(&name), two.folder().join(&name)).unwrap();
        }
    }
    agrees(&two, &mut open(&two));
    remove(&one.folder()).unwrap();
    fs::write(one.folder().join(INDEX_NAME), [7; 8192]).unwrap();
    agrees(&one, &mut open(&one));
}

#[test]
fn an_index_that_a_newer_program_wrote_is_refused_and_left_alone() {
    let rig = Rig::new();
    fill(&rig.ledger(), 0, 3);
    drop(open(&rig));
    let path = rig.folder().join(INDEX_NAME);
    // The version stands at byte 60 of an SQLite file, once the log is folded into it.
    remove(&rig.folder()).unwrap();
    drop(Index::open(&rig.folder()).unwrap());
    let wal = rig.folder().join(format!("{INDEX_NAME}-wal"));
    assert!(path.exists());
    if wal.exists() {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    let mut bytes = fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let refused = Index::open(&rig.folder());
    assert!(matches!(refused, Err(IndexError::Database(DatabaseError::Newer { .. }))));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn one_persons_records_are_erased_and_everything_still_verifies() {
    let rig = Rig::new();
    let ledger = rig.signed(2_000);
    fill(&ledger, 0, 40);
    let before = rig.verify();
    assert_eq!(before.findings, []);
    let is_alice = |record: &Json| record.get("user").and_then(Json::as_str) == Some("alice");
    let now = Timestamp::from_millis(99_000);
    let erasure = erase(&rig.folder(), &rig.key(), &is_alice, now).unwrap().unwrap();
    assert_eq!(erasure.lines(), 14);
    assert!(erase(&rig.folder(), &rig.key(), &is_alice, now).unwrap().is_none());
    for file in Book::open(&rig.folder()).unwrap().files() {
        assert!(!fs::read_to_string(file).unwrap().contains("alice"));
    }
    let after = rig.verify();
    assert_eq!((&after.findings, after.erased), (&Vec::new(), 14));
    assert_eq!((after.root, after.records), (before.root, before.records));
    // Whoever has the book open goes on, and whoever reads it back after a crash does.
    fill(&ledger, 40, 50);
    drop(ledger);
    fs::remove_file(rig.folder().join("head")).unwrap();
    drop(rig.signed(2_000));
    let again = rig.verify();
    assert_eq!((&again.findings, again.erased), (&Vec::new(), 14));
    agrees(&rig, &mut open(&rig));
    assert!(
        prune(&rig.folder(), &rig.key(), Timestamp::from_millis(20_000), now).unwrap().is_some()
    );
    assert_eq!(rig.verify().findings, []);
}

#[test]
fn overwriting_a_record_without_the_key_is_found() {
    let rig = Rig::new();
    let ledger = rig.signed(1_000_000);
    fill(&ledger, 0, 12);
    drop(ledger);
    let is_bob = |record: &Json| record.get("user").and_then(Json::as_str) == Some("bob");
    // Somebody without the key erases with one of their own, and hides that there was an erasure.
    let own = rig.key().with_file_name("own.key");
    CheckpointKey::open_or_make(&own).unwrap();
    erase(&rig.folder(), &own, &is_bob, Timestamp::from_millis(1)).unwrap().unwrap();
    let found = verify(&rig.folder(), &rig.trust()).unwrap();
    assert!(found.findings.iter().any(|found| found.to_string().contains("not trusted")));
    let erasures = rig.folder().join("erasures.jsonl");
    let signed = fs::read(&erasures).unwrap();
    fs::remove_file(&erasures).unwrap();
    let found = rig.verify();
    assert!(found.findings[0].to_string().contains("was overwritten without an erasure"));
    // What an erased line still says cannot be changed either.
    fs::write(&erasures, signed).unwrap();
    let trust =
        Trust { keys: vec![rig.public_key(&own), rig.public_key(&rig.key())], ..rig.trust() };
    assert_eq!(verify(&rig.folder(), &trust).unwrap().findings, []);
    let file = Book::open(&rig.folder()).unwrap().files().next().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let at = text.find("\"erased\"").unwrap();
    let changed =
        format!("{}{}", &text[..at], text[at..].replacen("\"decision\"", "\"decisiom\"", 1));
    assert_ne!(changed, text);
    fs::write(&file, changed).unwrap();
    let found = verify(&rig.folder(), &trust).unwrap();
    assert!(found.findings[0].to_string().contains("not carried out as it was signed"));
}
