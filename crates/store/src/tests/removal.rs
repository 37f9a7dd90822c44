//! Power cuts while records are taken away, at every operation: pruning and erasing happen whole, and the
//! book opens and goes on.

use super::crash::{CASES, open};
use super::disk::{Keeps, SimulatedDisk};
use crate::batch::Bodies;
use crate::checkpoint::origin;
use crate::disk::{Disk, Leave, OpenHow, read_range, read_whole};
use crate::erase::{ERASURES_NAME, Erasure, Planned, carry_out, parts_of, stub, write_journal};
use crate::handover::{HANDOVERS_NAME, Rotation, carry};
use crate::head::Place;
use crate::key::CheckpointKey;
use crate::line::{Line, leaf_of};
use crate::prune::{Tombstone, bury, read_tombstone};
use crate::recovery::list_segments;
use crate::segment::{pass_lines, segment_name};
use tollgate_gate::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1);

fn key() -> CheckpointKey {
    CheckpointKey::from_seed(&[1; 32])
}

fn segment_text(disk: &SimulatedDisk, segment: u64) -> Vec<u8> {
    let file = disk.open(&segment_name(segment), OpenHow::Existing).unwrap();
    read_range(&*file, 0, file.len().unwrap()).unwrap()
}

/// A book of several segments, with lines that are long enough to be erased.
fn book() -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    let mut writer = open(&disk).unwrap();
    for _ in 0..12 {
        let body = format!(r#"{{"kind":"switch","text":"{}"}}"#, "x".repeat(200));
        writer.commit(&Bodies::of(body.into_bytes()), Leave::Synced).unwrap();
    }
    disk
}

/// Does it on a disk with a book, stopping at every operation, and gives each state after a power cut.
fn at_every_stop(act: impl Fn(&SimulatedDisk), look: impl Fn(&SimulatedDisk, &str)) {
    let book = book();
    for stop in 1.. {
        let mut has_stopped = false;
        for half in [false, true] {
            let disk = book.after_power_cut(Keeps::Everything);
            disk.stop_at(stop, half);
            act(&disk);
            has_stopped |= disk.has_stopped();
            for keeps in CASES {
                let what = format!("stopped at {stop}, half {half}, keeps {keeps:?}");
                look(&disk.after_power_cut(keeps), &what);
            }
        }
        if !has_stopped {
            assert!(stop > 4, "it did something");
            return;
        }
    }
}

/// The book opens and takes another record.
fn goes_on(disk: &SimulatedDisk, what: &str) {
    let mut writer = open(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let body = br#"{"kind":"switch"}"#.to_vec();
    writer.commit(&Bodies::of(body), Leave::Synced).unwrap_or_else(|e| panic!("{what}: {e}"));
}

#[test]
fn a_power_cut_while_segments_are_taken_away_leaves_them_or_a_tombstone() {
    let act = |disk: &SimulatedDisk| {
        let segments = list_segments(disk).unwrap();
        let (mut place, over) = (Place::start(), &segments[..2]);
        for segment in over {
            pass_lines(&mut place, &segment_text(disk, *segment));
            place.turn();
        }
        let _ = bury(disk, &Tombstone::sign(&place, NOW, &key()), over);
    };
    at_every_stop(act, |disk, what| {
        let first = list_segments(disk).unwrap()[0];
        assert!(first == 1 || read_tombstone(disk).unwrap().is_some(), "{what}");
        goes_on(disk, what);
    });
}

/// What stands in the place of every third line.
fn planned(disk: &SimulatedDisk) -> (String, Vec<Planned>) {
    let (mut planned, mut first) = (Vec::new(), None);
    for segment in list_segments(disk).unwrap() {
        let (text, mut offset) = (segment_text(disk, segment), 0);
        for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.len() > 1) {
            let text = line.strip_suffix(b"\n").unwrap();
            let (read, hash) = (Line::read(text).unwrap(), leaf_of(text));
            first.get_or_insert(hash);
            if read.seq.is_multiple_of(3)
                && let Some(stub) = stub(&read, &hash, 1, text.len())
            {
                planned.push(Planned { segment, offset, seq: read.seq, stub, hash });
            }
            offset += line.len() as u64;
        }
    }
    (origin(&first.unwrap()), planned)
}

#[test]
fn a_power_cut_while_records_are_erased_leaves_all_of_them_or_none() {
    let act = |disk: &SimulatedDisk| {
        let (origin, planned) = planned(disk);
        assert!(planned.len() > 2);
        let erasure = Erasure::sign(1, origin, parts_of(&planned), NOW, &key());
        if write_journal(disk, &erasure, &planned).is_ok() {
            let _ = carry_out(disk, &|| Ok(()));
        }
    };
    at_every_stop(act, |disk, what| {
        // The next run carries out what is in the journal, if there is one.
        carry_out(disk, &|| Ok(())).unwrap_or_else(|error| panic!("{what}: {error}"));
        let (mut erased, mut left) = (0, 0);
        for segment in list_segments(disk).unwrap() {
            let text = segment_text(disk, segment);
            for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let line = Line::read(line).unwrap_or_else(|error| panic!("{what}: {error}"));
                match line.erased {
                    Some(_) => erased += 1,
                    None if line.seq.is_multiple_of(3) => left += 1,
                    None => {}
                }
            }
        }
        let text = read_whole(disk, ERASURES_NAME, u64::MAX).unwrap().unwrap_or_default();
        let told: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(told.len(), usize::from(erased > 0), "{what}");
        if let Some(told) = told.first() {
            let erasure = Erasure::read(told.strip_suffix(b"\n").unwrap()).unwrap();
            assert_eq!(erasure.lines(), erased, "{what}: {left} are left");
        }
        goes_on(disk, what);
    });
}

#[test]
fn a_power_cut_while_a_handover_comes_into_the_ledger_leaves_it_whole_or_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.key");
    CheckpointKey::open_or_make(&file).unwrap();
    let handover = Rotation::prepare(&file, NOW).unwrap().carry_out().unwrap();
    let act = |disk: &SimulatedDisk| {
        // Something that is synced stands before and behind it, as in a run of the ledger.
        let _ = disk.replace("other", b"x").and_then(|()| disk.sync_folder());
        let _ = carry(disk, &file);
    };
    at_every_stop(act, |disk, what| {
        let text = read_whole(disk, HANDOVERS_NAME, u64::MAX).unwrap();
        assert!(
            text.is_none_or(|text| text == format!("{}\n", handover.text()).as_bytes()),
            "{what}"
        );
        carry(disk, &file).unwrap();
        carry(disk, &file).unwrap();
        let text = read_whole(disk, HANDOVERS_NAME, u64::MAX).unwrap().unwrap();
        assert_eq!(text, format!("{}\n", handover.text()).as_bytes(), "{what}");
    });
}
