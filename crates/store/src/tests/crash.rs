//! Crashes at every operation: no record that was answered for is lost, the chain holds, and the
//! ledger opens again by itself.

use super::disk::{Keeps, SimulatedDisk, next};
use crate::batch::Bodies;
use crate::checkpoint::{CHECKPOINTS_NAME, Checkpoint};
use crate::disk::{Disk, Leave, OpenHow, read_range};
use crate::error::StoreError;
use crate::hash::HashValue;
use crate::key::CheckpointKey;
use crate::line::Line;
use crate::recovery::list_segments;
use crate::segment::{is_blank, segment_name};
use crate::writer::{Key, Layout, Signer, Writer};
use std::sync::Arc;
use tollgate_gate::{ManualClock, Timestamp};

const LAYOUT: Layout = Layout { segment_bytes_max: 1500, prefill_bytes: 700 };
pub(super) const CASES: [Keeps; 8] = [
    Keeps::Nothing,
    Keeps::Everything,
    Keeps::NotTheFirst,
    Keeps::NotTheLast,
    Keeps::Some(1),
    Keeps::Some(2),
    Keeps::Some(3),
    Keeps::Some(4),
];

pub(super) fn open(disk: &SimulatedDisk) -> Result<Writer, StoreError> {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1)));
    Writer::open(Box::new(disk.clone()), clock, LAYOUT, Some(signer()))
}

/// Signs often, so that every crash also falls into a checkpoint.
fn signer() -> Signer {
    let key = Box::new(CheckpointKey::from_seed(&[1; 32]));
    let key = Key::Read { key, file: None };
    Signer { key, folder: "ledger".into(), every_records: 4, every_ms: 1_000_000 }
}

/// Appends batches until the disk stops, with two writers taking turns as two processes would. Gives
/// the number of the last record that is on disk for certain.
fn work(disk: &SimulatedDisk) -> u64 {
    let (mut number, mut answered, mut random) = (0, 0, 7);
    let Ok(mut one) = open(disk) else { return 0 };
    let Ok(mut two) = open(disk) else { return 0 };
    for _ in 0..14 {
        let mut bodies = Bodies::default();
        for _ in 0..=next(&mut random) % 4 {
            number += 1;
            bodies.push(body(number).as_bytes());
        }
        let leave =
            if next(&mut random).is_multiple_of(3) { Leave::Written } else { Leave::Synced };
        let writer = if next(&mut random).is_multiple_of(2) { &mut one } else { &mut two };
        if writer.commit(&bodies, leave).is_err() {
            return answered;
        }
        if leave == Leave::Synced {
            answered = number;
        }
    }
    match one.sync() {
        Ok(()) => number,
        Err(_) => answered,
    }
}

fn body(number: u64) -> String {
    format!(
        r#"{{"kind":"switch","number":{number},"text":"{}"}}"#,
        "x".repeat(number as usize % 90)
    )
}

/// The numbers of all records, after checking that they are one chain; `recovered` records have none.
fn numbers(disk: &SimulatedDisk) -> Vec<u64> {
    let (mut seq, mut prev, mut numbers) = (0, HashValue::ZERO, Vec::new());
    let segments = list_segments(disk).unwrap();
    for (at, segment) in segments.iter().enumerate() {
        assert_eq!(*segment, seq + 1);
        let file = disk.open(&segment_name(*segment), OpenHow::Existing).unwrap();
        let bytes = read_range(&*file, 0, file.len().unwrap()).unwrap();
        let data = bytes.windows(2).position(is_blank).map_or(bytes.len(), |at| at + 1);
        assert!(is_blank(&bytes[data..]));
        assert!(at + 1 == segments.len() || data == bytes.len(), "a sealed segment is trimmed");
        for text in bytes[..data].split(|byte| *byte == b'\n').filter(|text| !is_blank(text)) {
            let line = Line::read(text).unwrap();
            assert_eq!((line.seq, line.prev), (seq + 1, prev));
            (seq, prev) = (line.seq, HashValue::of_line(text));
            numbers.extend(line.json.get("number").and_then(tollgate_gate::Json::as_u64));
        }
    }
    numbers
}

/// Opens the disk, which must go well, and looks whether everything that was answered for is there.
fn check(disk: &SimulatedDisk, answered: u64, what: &str) {
    let mut writer = open(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = numbers(disk);
    assert!(found.len() as u64 >= answered, "{what}: {answered} answered, found {found:?}");
    assert!(found.iter().zip(1..).all(|(number, at)| *number == at), "{what}: {found:?}");
    writer.commit(&Bodies::of(body(found.len() as u64 + 1).into_bytes()), Leave::Synced).unwrap();
    assert_eq!(numbers(disk).len(), found.len() + 1, "{what}");
    let sizes = checkpoints(disk);
    assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{what}: {sizes:?}");
}

/// What the checkpoints cover, each of which must be one.
fn checkpoints(disk: &SimulatedDisk) -> Vec<u64> {
    let Ok(file) = disk.open(CHECKPOINTS_NAME, OpenHow::Existing) else { return Vec::new() };
    let bytes = read_range(&*file, 0, file.len().unwrap()).unwrap();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| Checkpoint::read(line.strip_suffix(b"\n").unwrap()).unwrap().size).collect()
}

#[test]
fn a_power_cut_at_any_point_loses_no_answered_record() {
    let whole = SimulatedDisk::default();
    work(&whole);
    for stop in 1..=whole.operations() {
        for half in [false, true] {
            let disk = SimulatedDisk::default();
            disk.stop_at(stop, half);
            let answered = work(&disk);
            assert!(disk.has_stopped());
            for keeps in CASES {
                let what = format!("stopped at {stop}, half {half}, keeps {keeps:?}");
                check(&disk.after_power_cut(keeps), answered, &what);
            }
        }
    }
}

#[test]
fn a_power_cut_during_recovery_loses_no_answered_record() {
    let whole = SimulatedDisk::default();
    work(&whole);
    for stop in 1..=whole.operations() {
        let disk = SimulatedDisk::default();
        disk.stop_at(stop, true);
        let answered = work(&disk);
        for keeps in [Keeps::NotTheFirst, Keeps::Some(5)] {
            for again in 1.. {
                let cut = disk.after_power_cut(keeps);
                cut.stop_at(again, true);
                let recovered = open(&cut).is_ok();
                let what = format!("stopped at {stop} and {again}, keeps {keeps:?}");
                check(&cut.after_power_cut(Keeps::Some(stop + again)), answered, &what);
                if recovered {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_kill_at_any_point_loses_no_answered_record() {
    let whole = SimulatedDisk::default();
    work(&whole);
    for stop in 1..=whole.operations() {
        for half in [false, true] {
            let disk = SimulatedDisk::default();
            disk.stop_at(stop, half);
            let answered = work(&disk);
            check(&disk.after_kill(), answered, &format!("killed at {stop}, half {half}"));
        }
    }
}

#[test]
fn a_lost_head_loses_nothing() {
    let disk = SimulatedDisk::default();
    let answered = work(&disk);
    assert!(answered > 20);
    let head = disk.open(crate::head::HEAD_NAME, OpenHow::Existing).unwrap();
    head.write_at(b"?", 0).unwrap();
    check(&disk, answered, "without a head");
}
