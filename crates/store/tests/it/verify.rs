//! Tampering: every change to a signed book is found.

use crate::rig::{Rig, append, options, record, wait};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use tollgate_gate::{Durability, Ledger, Timestamp};
use tollgate_store::handover::{HANDOVERS_NAME, handovers_of_ledger, read_handovers, trusted_keys};
use tollgate_store::key::last_checkpoint_file;
use tollgate_store::{
    Book, Cadence, Checkpoint, CheckpointKey, Committer, ConsistencyProof, FileLedger, Finding,
    HashValue, InclusionProof, LedgerOptions, ProofError, Rotation, Signing, Source, StoreError,
    Trust, Verification, prune, verify,
};

const CADENCE: Cadence = Cadence { every_records: 8, every_ms: 3_600_000 };

/// A signed book of 40 records in several segments.
struct Signed {
    rig: Rig,
}

impl Signed {
    fn new() -> Signed {
        let signed = Signed { rig: Rig::new() };
        signed.append(40);
        signed
    }

    fn key_file(&self) -> PathBuf {
        self.rig.folder().with_file_name("checkpoint.key")
    }

    fn ledger(&self, committer: Committer) -> Result<FileLedger, StoreError> {
        let signing = Signing {
            every_records: CADENCE.every_records,
            every_ms: CADENCE.every_ms,
            ..Signing::new(self.key_file())
        };
        let options = LedgerOptions {
            committer,
            segment_bytes_max: 2000,
            signing: Some(signing),
            ..options()
        };
        FileLedger::open(&self.rig.folder(), options)
    }

    fn append(&self, count: u64) {
        let ledger = self.ledger(Committer::Caller).unwrap();
        for at in 0..count {
            append(&ledger, &format!("record {at}")).unwrap();
        }
    }

    fn trust(&self) -> Trust {
        let key = CheckpointKey::open(&self.key_file()).unwrap().public();
        Trust { keys: vec![key], kept: Vec::new(), cadence: Some(CADENCE) }
    }

    /// The last checkpoint, from beside the key.
    fn last(&self) -> Checkpoint {
        let text = fs::read(last_checkpoint_file(&self.key_file())).unwrap();
        Checkpoint::read(&text).unwrap()
    }

    fn verify(&self) -> Verification {
        verify(&self.rig.folder(), &self.trust()).unwrap()
    }

    fn verify_with_kept(&self, kept: Checkpoint) -> Verification {
        verify(&self.rig.folder(), &Trust { kept: vec![kept], ..self.trust() }).unwrap()
    }

    fn checkpoints_file(&self) -> PathBuf {
        self.rig.folder().join("checkpoints.jsonl")
    }

    fn checkpoints(&self) -> Vec<Checkpoint> {
        let text = fs::read_to_string(self.checkpoints_file()).unwrap();
        text.lines().map(|line| Checkpoint::read(line.as_bytes()).unwrap()).collect()
    }

    /// Changes the lines of the whole book, and writes each segment with as many as it had.
    fn rewrite(&self, change: impl FnOnce(&mut Vec<String>)) {
        let files: Vec<PathBuf> = Book::open(&self.rig.folder()).unwrap().files().collect();
        let mut counts = BTreeMap::new();
        let mut lines = Vec::new();
        for file in &files {
            let text = fs::read_to_string(file).unwrap();
            let of_file: Vec<String> =
                text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
            counts.insert(file, of_file.len());
            lines.extend(of_file);
        }
        change(&mut lines);
        let mut lines = lines.into_iter();
        for (file, count) in &counts {
            let is_last = Some(*file) == files.last();
            let count = if is_last { usize::MAX } else { *count };
            let text: String = lines.by_ref().take(count).map(|line| line + "\n").collect();
            match text.is_empty() {
                true => fs::remove_file(file).unwrap(),
                false => fs::write(file, text).unwrap(),
            }
        }
        // Whoever can write there can also remove this.
        let _ = fs::remove_file(self.rig.folder().join("head"));
    }

    /// Drops the checkpoints that cover more than so many records.
    fn drop_checkpoints(&self, size_max: u64) {
        let kept = self.checkpoints().into_iter().filter(|kept| kept.size <= size_max);
        let text: String = kept.map(|kept| kept.text() + "\n").collect();
        fs::write(self.checkpoints_file(), text).unwrap();
    }
}

/// Numbers all lines anew and hashes them anew.
fn chain_anew(lines: &mut [String]) {
    let mut prev = HashValue::ZERO;
    for (line, seq) in lines.iter_mut().zip(1u64..) {
        let record = line.split_once("\"prev\":\"").unwrap().1.get(65..).unwrap();
        *line = format!("{{\"seq\":{seq},\"prev\":\"{prev}\"{record}");
        prev = HashValue::of_line(line.as_bytes());
    }
}

#[test]
fn an_untouched_book_verifies_and_says_how_far_it_is_signed() {
    let signed = Signed::new();
    let done = signed.verify();
    assert_eq!(done.findings, []);
    assert_eq!((done.records, done.checkpoints), (40, signed.checkpoints().len() as u64));
    assert!(done.signed > 32 && done.signed <= 40, "{done:?}");
    assert_eq!(signed.last(), *signed.checkpoints().last().unwrap());
    assert_eq!(signed.verify_with_kept(signed.last()).findings, []);
    // The first record is signed at once, so that the book has its name from the start.
    assert_eq!(signed.checkpoints()[0].size, 1);
}

#[test]
fn a_ledger_with_a_thread_signs_its_end_when_it_is_closed() {
    let signed = Signed::new();
    let ledger = signed.ledger(Committer::Thread).unwrap();
    wait(ledger.append(record("last"), Durability::Buffered)).unwrap();
    drop(ledger);
    let done = signed.verify();
    assert_eq!((done.records, done.signed), (41, 41));
}

#[test]
fn a_changed_byte_is_found_wherever_it_is() {
    let signed = Signed::new();
    let whole: Vec<(PathBuf, Vec<u8>)> = Book::open(&signed.rig.folder())
        .unwrap()
        .files()
        .map(|file| (file.clone(), fs::read(file).unwrap()))
        .collect();
    let covered = signed.verify().signed;
    let mut changed = 0;
    for (file, bytes) in &whole {
        let data = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
        for at in (0..data).step_by(31) {
            let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
            let first: u64 = file.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            if first + line > covered {
                continue;
            }
            let mut other = bytes.clone();
            other[at] ^= 1;
            fs::write(file, &other).unwrap();
            assert_ne!(signed.verify().findings, [], "byte {at} of {}", file.display());
            changed += 1;
        }
        fs::write(file, bytes).unwrap();
    }
    assert!(changed > 100, "{changed}");
    assert_eq!(signed.verify().findings, []);
}

#[test]
fn insertion_deletion_and_reordering_are_found_by_the_chain() {
    type Change = fn(&mut Vec<String>);
    let changes: [(&str, Change); 3] = [
        ("insertion", |lines| lines.insert(5, lines[4].clone())),
        ("deletion", |lines| drop(lines.remove(5))),
        ("reordering", |lines| lines.swap(5, 6)),
    ];
    for (name, change) in changes {
        let signed = Signed::new();
        signed.rewrite(change);
        let found = signed.verify().findings;
        let is_named = |finding: &Finding| {
            matches!(finding, Finding::OutOfOrder { .. } | Finding::BrokenChain { .. })
        };
        assert!(found.iter().any(is_named), "{name}: {found:?}");
    }
}

#[test]
fn a_chain_that_was_made_anew_without_the_key_is_found_by_the_checkpoints() {
    type Change = fn(&mut Vec<String>);
    let changes: [Change; 3] = [
        |lines| lines[5] = lines[5].replace("switch", "trust"),
        |lines| drop(lines.remove(5)),
        |lines| lines.swap(5, 6),
    ];
    for change in changes {
        let signed = Signed::new();
        signed.rewrite(|lines| {
            change(lines);
            chain_anew(lines);
        });
        let found = signed.verify().findings;
        assert!(found.iter().any(|f| matches!(f, Finding::OtherRoot { .. })), "{found:?}");
        // Without the checkpoints that tell, too much of the book is not covered.
        signed.drop_checkpoints(5);
        let found = signed.verify().findings;
        assert!(found.iter().any(|f| matches!(f, Finding::NotCovered { .. })), "{found:?}");
    }
}

#[test]
fn a_cut_end_is_found() {
    let signed = Signed::new();
    let last = signed.last();
    signed.rewrite(|lines| lines.truncate(30));
    let found = signed.verify().findings;
    let short = |by| Finding::Short { records: 30, known: last.size, by };
    assert!(found.contains(&short(Source::Checkpoint(signed.checkpoints().len() as u64))));
    // And the ledger does not go on with it.
    let opened = signed.ledger(Committer::Caller);
    assert!(matches!(opened, Err(StoreError::Damaged { .. })));
    // A book set back to an earlier state, checkpoints and all, is a whole book: only what was kept
    // elsewhere tells.
    let earlier = signed.checkpoints().iter().rfind(|kept| kept.size <= 30).unwrap().size;
    signed.rewrite(|lines| lines.truncate(earlier as usize));
    signed.drop_checkpoints(earlier);
    assert_eq!(signed.verify().findings, []);
    let found = signed.verify_with_kept(last.clone()).findings;
    assert_eq!(found, [Finding::Short { records: earlier, known: last.size, by: Source::Kept(1) }]);
}

#[test]
fn a_missing_segment_is_found() {
    let signed = Signed::new();
    let second = Book::open(&signed.rig.folder()).unwrap().files().nth(1).unwrap();
    fs::remove_file(second).unwrap();
    let found = signed.verify().findings;
    assert!(found.iter().any(|f| matches!(f, Finding::SegmentMissing { .. })), "{found:?}");
}

#[test]
fn whoever_has_the_key_is_found_by_a_checkpoint_that_was_kept_elsewhere() {
    let signed = Signed::new();
    let kept = signed.last();
    // The book is written anew, with a change, and signed anew with the same key.
    let read: Vec<String> = Book::open(&signed.rig.folder())
        .unwrap()
        .entries()
        .map(|entry| entry.unwrap().line.json.get("id").unwrap().as_str().unwrap().to_owned())
        .collect();
    fs::remove_dir_all(signed.rig.folder()).unwrap();
    // Whoever has the key can also remove what lies beside it.
    fs::remove_file(last_checkpoint_file(&signed.key_file())).unwrap();
    let ledger = signed.ledger(Committer::Caller).unwrap();
    for id in &read {
        append(&ledger, &id.replace("record 5", "record 6")).unwrap();
    }
    drop(ledger);
    assert_eq!(signed.verify().findings, []);
    let found = signed.verify_with_kept(kept).findings;
    assert!(
        matches!(&found[..], [Finding::OtherBook { .. } | Finding::OtherRoot { .. }]),
        "{found:?}"
    );
}

#[test]
fn a_key_that_is_not_trusted_and_a_changed_checkpoint_are_found() {
    let signed = Signed::new();
    let other = Trust { keys: Vec::new(), ..signed.trust() };
    let found = verify(&signed.rig.folder(), &other).unwrap().findings;
    assert!(found.iter().any(|f| matches!(f, Finding::UnknownKey { .. })), "{found:?}");
    assert!(found.iter().any(|f| matches!(f, Finding::NotCovered { records: 40 })), "{found:?}");
    let text = fs::read_to_string(signed.checkpoints_file()).unwrap();
    fs::write(signed.checkpoints_file(), text.replacen("\"size\":1,", "\"size\":2,", 1)).unwrap();
    let found = signed.verify().findings;
    assert_eq!(found, [Finding::BadSignature { by: Source::Checkpoint(1) }]);
    fs::write(signed.checkpoints_file(), format!("{{}}\n{text}")).unwrap();
    assert_eq!(signed.verify().findings, [Finding::NoCheckpoint { number: 1 }]);
}

#[test]
fn a_torn_end_is_no_finding_before_the_next_writer_cuts_it() {
    let signed = Signed::new();
    let file = signed.rig.last_file();
    let text = fs::read(&file).unwrap();
    let data = text.windows(2).position(|pair| pair == b"\n\n").unwrap() + 1;
    let torn = [&text[..data], b"{\"seq\":41,"].concat();
    fs::write(&file, torn).unwrap();
    assert_eq!(signed.verify().findings, []);
    signed.append(1);
    let done = signed.verify();
    assert_eq!((done.findings, done.records), (Vec::new(), 42));
}

#[test]
fn inclusion_and_consistency_are_proved_without_the_book() {
    let signed = Signed::new();
    let book = Book::open(&signed.rig.folder()).unwrap();
    let checkpoints = signed.checkpoints();
    let (old, new) = (&checkpoints[1], checkpoints.last().unwrap());
    let line = book.entries().nth(4).unwrap().unwrap();
    let proof = InclusionProof::make(&book, 5, new.size).unwrap();
    let proof = InclusionProof::read(proof.text().as_bytes()).unwrap();
    proof.check(&line.text, new).unwrap();
    assert!(matches!(proof.check(b"another line", new), Err(ProofError::OtherRoot)));
    assert!(matches!(proof.check(&line.text, old), Err(ProofError::OtherSize { .. })));
    let proof = ConsistencyProof::make(&book, old.size, new.size).unwrap();
    let proof = ConsistencyProof::read(proof.text().as_bytes()).unwrap();
    proof.check(old, new).unwrap();
    let mut forged = new.clone();
    forged.root = HashValue::ZERO;
    assert!(matches!(proof.check(old, &forged), Err(ProofError::NotSigned)));
    assert!(matches!(
        InclusionProof::make(&book, 1, 1000),
        Err(ProofError::TooShort { records: 40, asked: 1000 })
    ));
}

#[test]
fn a_key_file_that_others_can_read_or_that_holds_no_key_is_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let signed = Signed::new();
    let file = signed.key_file();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(signed.ledger(Committer::Thread), Err(StoreError::Key { .. })));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "nothing").unwrap();
    assert!(matches!(signed.ledger(Committer::Thread), Err(StoreError::Key { .. })));
}

#[test]
fn a_rotated_key_is_trusted_by_whoever_trusted_the_one_before() {
    let signed = Signed::new();
    let first = CheckpointKey::open(&signed.key_file()).unwrap().public();
    for _ in 0..2 {
        let rotation = Rotation::prepare(&signed.key_file(), Timestamp::from_millis(1)).unwrap();
        rotation.carry_out().unwrap();
        signed.append(20);
    }
    let verify =
        |keys| verify(&signed.rig.folder(), &Trust { keys, ..signed.trust() }).unwrap().findings;
    let handovers = read_handovers(&signed.key_file()).unwrap();
    let keys = trusted_keys(&[first], &handovers);
    assert_eq!(keys.len(), 3);
    assert_eq!(verify(keys.clone()), []);
    // The ledger itself says who followed whom.
    assert_eq!(verify(vec![first]), []);
    let unknown = |f: &Finding| matches!(f, Finding::UnknownKey { .. });
    assert!(verify(vec![keys[2]]).iter().all(unknown), "the new key vouches for no old one");
    let file = signed.rig.folder().join(HANDOVERS_NAME);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"at\":\"1970", "\"at\":\"1971")).unwrap();
    let found = verify(vec![first]);
    assert!(found.contains(&Finding::NoHandover { number: 1 }), "{found:?}");
    assert!(found.iter().any(unknown), "{found:?}");
    fs::remove_file(&file).unwrap();
    assert!(verify(vec![first]).iter().any(unknown));
    // Whoever knows all keys misses what others need.
    let found = verify(keys.clone());
    let missing = |f: &Finding| matches!(f, Finding::NotHandedOver { .. });
    assert!(found.len() == 2 && found.iter().all(missing), "{found:?}");
    // A hand-over that the old key did not sign gives no trust.
    let mut forged = handovers[0].clone();
    forged.at = Timestamp::from_millis(2);
    assert_eq!(trusted_keys(&[first], &[forged]), [first]);
    assert_eq!(trusted_keys(&[first], &handovers[1..]), [first]);
}

#[test]
fn of_two_rotations_at_once_one_holds_and_its_handovers_are_in_the_ledger_once() {
    let signed = Signed::new();
    let prepare = || Rotation::prepare(&signed.key_file(), Timestamp::from_millis(1)).unwrap();
    let (one, two) = (prepare(), prepare());
    let handover = one.carry_out().unwrap();
    assert!(matches!(two.carry_out(), Err(StoreError::Key { .. })));
    assert_eq!(signed.trust().keys, [handover.new]);
    for _ in 0..3 {
        signed.append(20);
    }
    assert_eq!(handovers_of_ledger(&signed.rig.folder()).unwrap(), [Some(handover)]);
}

#[test]
fn a_pruned_book_verifies_by_its_tombstone_and_goes_on() {
    let signed = Signed::new();
    let kept = signed.last();
    let book = || Book::open(&signed.rig.folder()).unwrap();
    let files: Vec<PathBuf> = book().files().collect();
    let prune_before = |ms| {
        let (before, now) = (Timestamp::from_millis(ms), Timestamp::from_millis(9));
        prune(&signed.rig.folder(), &signed.key_file(), before, now).unwrap()
    };
    // All records of the rig are of the first millisecond.
    assert_eq!(prune_before(1), None);
    let tombstone = prune_before(2).unwrap();
    assert!(!files[0].exists() && files.last().unwrap().exists());
    assert_eq!(prune_before(2), Some(tombstone.clone()));
    let done = signed.verify_with_kept(kept);
    assert_eq!((&done.findings[..], done.records, done.pruned), (&[][..], 40, tombstone.size));
    assert!(done.signed >= tombstone.size, "{done:?}");
    // The ledger goes on, with its head and without.
    signed.append(5);
    fs::remove_file(signed.rig.folder().join("head")).unwrap();
    signed.append(5);
    let done = signed.verify();
    assert_eq!((&done.findings[..], done.records), (&[][..], 50));
    assert!(matches!(InclusionProof::make(&book(), 1, 40), Err(ProofError::Pruned { .. })));
    // A second time, behind the first tombstone.
    signed.append(40);
    assert!(prune_before(2).unwrap().size > tombstone.size);
    assert_eq!(signed.verify().findings, []);
}

#[test]
fn what_was_taken_away_without_a_signed_tombstone_is_found() {
    let signed = Signed::new();
    let now = Timestamp::from_millis(2);
    prune(&signed.rig.folder(), &signed.key_file(), now, now).unwrap().unwrap();
    let file = signed.rig.folder().join("pruned.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"size\":", "\"size\":1", 1)).unwrap();
    let found = signed.verify().findings;
    assert!(found.iter().any(|f| matches!(f, Finding::SegmentMissing { .. })), "{found:?}");
    fs::write(&file, text).unwrap();
    let stranger = Trust { keys: Vec::new(), cadence: None, ..signed.trust() };
    let found = verify(&signed.rig.folder(), &stranger).unwrap().findings;
    assert!(
        found.iter().any(|f| matches!(f, Finding::UnknownKey { by: Source::Tombstone, .. })),
        "{found:?}"
    );
}

/// A text's lines with one change: each of them and each kind of change in turn.
#[expect(clippy::indexing_slicing, reason = "places that were just counted")]
fn changes(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let whole = |lines: Vec<&str>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut all = Vec::new();
    for at in 0..lines.len() {
        let (mut gone, mut twice) = (lines.clone(), lines.clone());
        gone.remove(at);
        twice.insert(at, lines[at]);
        all.push((format!("line {at} taken out"), whole(gone)));
        all.push((format!("line {at} twice"), whole(twice)));
        if at + 1 < lines.len() {
            let (mut moved, mut last) = (lines.clone(), lines.clone());
            moved.swap(at, at + 1);
            let line = last.remove(at);
            last.push(line);
            all.push((format!("line {at} moved"), whole(moved)));
            all.push((format!("line {at} put last"), whole(last)));
        }
        // A digit that is another, all over the line.
        let digits = lines[at].char_indices().filter(|(_, c)| c.is_ascii_digit());
        for (place, digit) in digits.step_by(11) {
            let other = if digit == '1' { "2" } else { "1" };
            let line = [&lines[at][..place], other, &lines[at][place + 1..]].concat();
            let mut edited = lines.clone();
            edited[at] = &line;
            all.push((format!("line {at}, byte {place}"), whole(edited)));
        }
    }
    all
}

#[test]
fn every_change_to_a_line_of_any_file_of_the_ledger_is_found() {
    let signed = Signed::new();
    let first = signed.trust();
    for _ in 0..2 {
        let rotation = Rotation::prepare(&signed.key_file(), Timestamp::from_millis(1)).unwrap();
        rotation.carry_out().unwrap();
        signed.append(9);
    }
    for told in ["record 7", "record 8"] {
        let is_meant = |record: &tollgate_gate::Json| record.text().contains(told);
        let now = Timestamp::from_millis(3);
        let erased =
            tollgate_store::erase(&signed.rig.folder(), &signed.key_file(), &is_meant, now);
        assert!(erased.unwrap().is_some());
    }
    let (before, now) = (Timestamp::from_millis(2), Timestamp::from_millis(9));
    prune(&signed.rig.folder(), &signed.key_file(), before, now).unwrap();
    let kept = vec![signed.last()];
    let trust = Trust { kept, cadence: None, ..first };
    assert_eq!(verify(&signed.rig.folder(), &trust).unwrap().findings, []);
    let mut tried = 0;
    for entry in fs::read_dir(signed.rig.folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // Derived, or looked at by a test of its own.
        if name == "head" || name.starts_with("open-calls") || name.contains("lock") {
            continue;
        }
        let text = fs::read(&path).unwrap();
        let Ok(good) = String::from_utf8(text.clone()) else { continue };
        for (what, bad) in changes(&good) {
            fs::write(&path, &bad).unwrap();
            let found = match verify(&signed.rig.folder(), &trust) {
                Ok(done) => !done.findings.is_empty(),
                Err(_) => true,
            };
            assert!(found, "{name}: {what}\n{bad}");
            tried += 1;
        }
        fs::write(&path, &text).unwrap();
    }
    assert!(tried > 300, "{tried}");
    assert_eq!(verify(&signed.rig.folder(), &trust).unwrap().findings, []);
}

#[test]
fn a_head_that_was_made_anew_to_say_something_else_is_found() {
    let signed = Signed::new();
    let file = signed.rig.folder().join("head");
    let good = fs::read_to_string(&file).unwrap();
    let sealed = |text: &str| {
        let covered = text.split_once("sum ").unwrap().0;
        format!("{covered}sum {}\n", HashValue::of(covered.as_bytes()))
    };
    let lines: Vec<&str> = good.lines().collect();
    let place: Vec<&str> = lines[1].split(' ').collect();
    let zero = "0".repeat(64);
    for at in 1..6 {
        let mut other = place.clone();
        let more = (place[at].parse::<u64>().unwrap_or(0) + 1).to_string();
        other[at] = if at < 4 { &more } else { &zero };
        let bad = sealed(&good.replacen(lines[1], &other.join(" "), 1));
        fs::write(&file, &bad).unwrap();
        assert!(!signed.verify().findings.is_empty(), "{at}: {bad}");
    }
    let signed_line = lines.iter().find(|line| line.starts_with("signed ")).unwrap();
    let bad = sealed(&good.replacen(signed_line, "signed 39 1", 1));
    fs::write(&file, bad).unwrap();
    assert!(matches!(signed.verify().findings[..], [Finding::OtherHead { .. }]));
    fs::write(&file, sealed(&good)).unwrap();
    assert_eq!(signed.verify().findings, []);
    fs::remove_file(&file).unwrap();
    assert_eq!(signed.verify().findings, [], "it is a hint, and may be gone");
}

#[test]
fn a_checkpoint_that_was_taken_out_of_the_middle_is_missed_without_any_other() {
    let signed = Signed::new();
    let checkpoints = signed.checkpoints();
    assert!(checkpoints.len() > 3);
    let but = |gone: usize| {
        let left = checkpoints.iter().enumerate().filter(|(at, _)| *at != gone);
        let text: String = left.map(|(_, checkpoint)| checkpoint.text() + "\n").collect();
        fs::write(signed.checkpoints_file(), text).unwrap();
        signed.verify().findings
    };
    for (gone, checkpoint) in checkpoints.iter().enumerate().take(checkpoints.len() - 1) {
        let (by, after) = (Source::Checkpoint(gone as u64 + 1), checkpoint.size);
        assert_eq!(but(gone), [Finding::CheckpointGap { by, after }], "{gone}");
    }
}

/// Copies the files of a folder into another.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_book_that_was_set_back_or_taken_away_is_not_signed_again() {
    let signed = Signed::new();
    let (folder, aside) = (signed.rig.folder(), signed.rig.folder().with_file_name("aside"));
    copy(&folder, &aside);
    signed.append(40);
    let last = signed.last();
    let is_set_back = || {
        let opened = signed.ledger(Committer::Caller);
        let text = opened.as_ref().err().map(ToString::to_string).unwrap_or_default();
        matches!(opened, Err(StoreError::SetBack { .. })) && text.contains("bring it back")
    };
    let look = || tollgate_store::kept::look(&signed.key_file(), &folder);
    look().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert!(is_set_back(), "taken away");
    assert!(matches!(look(), Err(StoreError::SetBack { records: 0, .. })));
    copy(&aside, &folder);
    assert!(is_set_back(), "set back");
    assert!(look().is_err());
    assert_eq!(signed.last(), last, "what is known of it stays");
    let found = signed.verify_with_kept(last).findings;
    assert!(matches!(&found[..], [Finding::Short { records: 40, .. }]), "{found:?}");
    // Taken away on purpose, with what is known of it: a new one begins.
    fs::remove_dir_all(&folder).unwrap();
    fs::remove_file(last_checkpoint_file(&signed.key_file())).unwrap();
    signed.append(9);
    assert_eq!(signed.verify().findings, []);
}

#[test]
fn a_book_whose_signed_part_was_made_anew_is_not_signed_again() {
    let signed = Signed::new();
    signed.rewrite(|lines| {
        lines[5] = lines[5].replace("switch", "trust!");
        chain_anew(lines);
    });
    signed.drop_checkpoints(1);
    // The next checkpoint is due at once.
    let opened = signed.ledger(Committer::Caller);
    assert!(matches!(opened, Err(StoreError::SetBack { .. })));
    assert_eq!(signed.checkpoints().len(), 1);
}

#[test]
fn a_forged_checkpoint_beside_the_key_keeps_anything_from_being_signed_and_is_named() {
    let signed = Signed::new();
    let kept = last_checkpoint_file(&signed.key_file());
    let text = fs::read_to_string(&kept).unwrap();
    let at = text.find("\"signature\":\"").unwrap() + "\"signature\":\"".len();
    let other = if text[at..].starts_with('0') { "1" } else { "0" };
    fs::write(&kept, [&text[..at], other, &text[at + 1..]].concat()).unwrap();
    let before = signed.checkpoints().len();
    let ledger = signed.ledger(Committer::Caller).unwrap();
    let appended = (0..40).map(|_| append(&ledger, "more")).find_map(Result::err);
    assert!(appended.is_some_and(|error| error.to_string().contains("signature")));
    assert_eq!(signed.checkpoints().len(), before);
    let found = signed.verify_with_kept(signed.last()).findings;
    assert!(
        found.iter().any(|f| matches!(f, Finding::BadSignature { by: Source::Kept(1) })),
        "{found:?}"
    );
}

#[test]
fn ledgers_that_share_a_key_are_each_known_by_their_folder() {
    let signed = Signed::new();
    let last = signed.last();
    let other = signed.rig.folder().with_file_name("other");
    let signing = Signing { every_records: 8, ..Signing::new(signed.key_file()) };
    let options =
        LedgerOptions { committer: Committer::Caller, signing: Some(signing), ..options() };
    let ledger = FileLedger::open(&other, options.clone()).unwrap();
    append(&ledger, "one").unwrap();
    drop(ledger);
    let kept = |folder| {
        tollgate_store::kept::kept_checkpoint(&signed.key_file(), folder, None).unwrap().unwrap()
    };
    assert_eq!((kept(&signed.rig.folder()), kept(&other).size), (last, 1));
    fs::remove_dir_all(&other).unwrap();
    assert!(matches!(FileLedger::open(&other, options), Err(StoreError::SetBack { .. })));
    signed.append(20);
}

#[test]
fn a_key_that_is_gone_is_not_replaced_by_a_new_one() {
    let signed = Signed::new();
    let key = fs::read(signed.key_file()).unwrap();
    for committer in [Committer::Caller, Committer::Thread] {
        fs::remove_file(signed.key_file()).unwrap();
        let opened = signed.ledger(committer);
        assert!(matches!(opened, Err(StoreError::Key { .. })), "{:?}", opened.err());
        assert!(!signed.key_file().exists());
        fs::write(signed.key_file(), &key).unwrap();
        fs::set_permissions(signed.key_file(), std::os::unix::fs::PermissionsExt::from_mode(0o400))
            .unwrap();
        // A key that can be read and not written is enough to sign with.
        signed.append(20);
    }
    assert_eq!(signed.verify().findings, []);
}

#[test]
fn one_place_that_was_changed_is_named_once() {
    type Change = fn(&mut Vec<String>);
    let changes: [(&str, Change); 4] = [
        ("deletion", |lines| drop(lines.remove(5))),
        ("insertion", |lines| lines.insert(5, lines[4].clone())),
        ("a part", |lines| drop(lines.drain(3..8))),
        ("no line", |lines| lines[5] = "nothing".into()),
    ];
    for (name, change) in changes {
        let signed = Signed::new();
        signed.append(60);
        let file = Book::open(&signed.rig.folder()).unwrap().files().next().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        let done = signed.verify();
        assert!((1..=3).contains(&done.findings.len()), "{name}: {:#?}", done.findings);
        assert_eq!(done.left_out, 0);
    }
}

#[test]
fn what_stands_behind_a_gap_of_the_open_segment_is_found() {
    let signed = Signed::new();
    let file = signed.rig.last_file();
    let mut text = fs::read(&file).unwrap();
    let data = text.windows(2).position(|pair| pair == b"\n\n").unwrap() + 1;
    text[data + 5..data + 15].copy_from_slice(b"{\"seq\":41}");
    fs::write(&file, text).unwrap();
    let found = signed.verify().findings;
    assert!(matches!(&found[..], [Finding::NoLine { .. }]), "{found:?}");
}

#[test]
fn a_checkpoint_that_was_taken_away_is_missed_by_what_was_kept_elsewhere() {
    let signed = Signed::new();
    let last = signed.last();
    assert_eq!(signed.verify_with_kept(last.clone()).findings, []);
    signed.drop_checkpoints(last.size - 1);
    let found = signed.verify_with_kept(last.clone()).findings;
    assert_eq!(found[1..], [Finding::CheckpointMissing { size: last.size, by: Source::Kept(1) }]);
    assert!(matches!(found[0], Finding::OtherHead { .. }), "the head tells of it too: {found:?}");
}

#[test]
fn a_last_record_that_no_checkpoint_covers_is_known_by_the_head() {
    let signed = Signed::new();
    signed.append(3);
    let file = signed.rig.last_file();
    let text = fs::read_to_string(&file).unwrap();
    let at = text.rfind("record 2").unwrap();
    fs::write(&file, [&text[..at], "record 9", &text[at + 8..]].concat()).unwrap();
    let found = signed.verify().findings;
    assert_eq!(found, [Finding::OtherRoot { size: 43, by: Source::Head }]);
    let opened = signed.ledger(Committer::Caller).map(drop);
    assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{opened:?}");
}

/// A segment of the book under another name, behind the book or among its segments.
fn put_copy(signed: &Signed, first_seq: u64) -> (PathBuf, Vec<u8>) {
    let folder = signed.rig.folder();
    let first = Book::open(&folder).unwrap().files().next().unwrap();
    let copy = folder.join(format!("{first_seq:020}.jsonl"));
    fs::copy(first, &copy).unwrap();
    let text = fs::read(&copy).unwrap();
    (copy, text)
}

#[test]
fn a_segment_that_was_put_there_is_named_and_neither_read_nor_written_nor_cut() {
    for place in ["behind a gap", "behind the end", "among the others"] {
        let signed = Signed::new();
        let records = signed.verify().records;
        let first_seq = match place {
            "behind a gap" => records + 100,
            "behind the end" => records + 1,
            _ => 3,
        };
        let (copy, text) = put_copy(&signed, first_seq);
        let done = signed.verify();
        let named = matches!(&done.findings[..],
            [Finding::StraySegment { file, .. }] if *file == copy);
        assert!(named, "{place}: {:#?}", done.findings);
        assert_eq!((done.records, done.torn_bytes), (records, 0), "{place}");
        // The system was started anew: the end is looked for by reading.
        fs::remove_file(signed.rig.folder().join("head")).unwrap();
        match signed.ledger(Committer::Caller).map(drop) {
            Err(StoreError::Damaged { segment, offset: 0, .. }) => {
                assert_eq!(*segment, *copy.file_name().unwrap().to_str().unwrap(), "{place}");
            }
            other => panic!("{place}: {other:?}"),
        }
        assert_eq!(fs::read(&copy).unwrap(), text, "{place}");
        fs::remove_file(&copy).unwrap();
        signed.append(1);
        assert_eq!(signed.verify().findings, [], "{place}");
    }
}

#[test]
fn a_ledger_that_is_open_does_not_write_over_what_stands_where_its_next_segment_begins() {
    let signed = Signed::new();
    let ledger = signed.ledger(Committer::Caller).unwrap();
    let mut copies = Vec::new();
    // Whichever line the open segment ends with.
    for first_seq in 41..60 {
        copies.push(put_copy(&signed, first_seq));
    }
    let refused = (0..40).find_map(|at| append(&ledger, &format!("more {at}")).err());
    assert!(refused.is_some_and(|error| error.to_string().contains("was put there")));
    for (copy, text) in copies {
        assert_eq!(fs::read(&copy).unwrap(), text);
        fs::remove_file(copy).unwrap();
    }
    drop(ledger);
    signed.append(20);
    assert_eq!(signed.verify().findings, []);
}

#[test]
fn pruning_leaves_the_segment_that_is_written_to_whatever_stands_behind_it() {
    let signed = Signed::new();
    let open = signed.rig.last_file();
    put_copy(&signed, 1000);
    let later = Timestamp::from_millis(u64::from(u32::MAX) * 1000);
    prune(&signed.rig.folder(), &signed.key_file(), later, later).unwrap();
    assert!(open.exists());
}

#[test]
fn a_book_without_segments_is_cut_where_something_knows_of_its_records() {
    let signed = Signed::new();
    let (folder, last) = (signed.rig.folder(), signed.last());
    for file in Book::open(&folder).unwrap().files().collect::<Vec<_>>() {
        fs::remove_file(file).unwrap();
    }
    let found = signed.verify().findings;
    assert!(found.iter().any(|f| matches!(f, Finding::Short { records: 0, .. })), "{found:?}");
    fs::remove_dir_all(&folder).unwrap();
    let found = signed.verify_with_kept(last.clone()).findings;
    assert_eq!(found, [Finding::Short { records: 0, known: last.size, by: Source::Kept(1) }]);
    assert!(verify(&folder, &signed.trust()).is_err());
}

#[test]
fn what_is_left_after_pruning_is_still_proved() {
    let signed = Signed::new();
    let now = Timestamp::from_millis(2);
    let pruned = prune(&signed.rig.folder(), &signed.key_file(), now, now).unwrap().unwrap().size;
    signed.append(20);
    let (book, new) = (Book::open(&signed.rig.folder()).unwrap(), signed.last());
    let line = book.entries().next().unwrap().unwrap();
    let proof = InclusionProof::make(&book, line.line.seq, new.size).unwrap();
    assert_eq!(line.line.seq, pruned + 1);
    proof.check(&line.text, &new).unwrap();
    for old in signed.checkpoints().iter().filter(|old| old.size >= pruned) {
        ConsistencyProof::make(&book, old.size, new.size).unwrap().check(old, &new).unwrap();
    }
    let gone = InclusionProof::make(&book, pruned, new.size);
    assert!(matches!(gone, Err(ProofError::Pruned { .. })));
}
