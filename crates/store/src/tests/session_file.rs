//! A session's file under crashes at every operation: what was synced is never lost, a kill takes
//! nothing that was answered for, and nothing is read that was never written.

use super::disk::{Keeps, SimulatedDisk, next};
use crate::disk::{Disk as _, OpenHow};
use crate::state::file::{FileFault, Write, read, write};

const CASES: [Keeps; 8] = [
    Keeps::Nothing,
    Keeps::Everything,
    Keeps::NotTheFirst,
    Keeps::NotTheLast,
    Keeps::Some(1),
    Keeps::Some(2),
    Keeps::Some(3),
    Keeps::Some(4),
];
const WRITES: u64 = 9;

/// A state of some length that says its number.
fn state(number: u64) -> Vec<u8> {
    format!("{number} {}", "x".repeat((number * 37 % 400) as usize)).into_bytes()
}

fn number_of(state: &[u8]) -> u64 {
    let text = std::str::from_utf8(state).unwrap();
    let number = text.split_once(' ').unwrap().0.parse().unwrap();
    assert_eq!(state, self::state(number), "a mixture of states was read");
    number
}

/// Writes states until the disk stops. Gives the last that was answered for, and the last of those
/// that a power cut may not take.
fn work(disk: &SimulatedDisk, seed: u64) -> (u64, u64) {
    let (mut written, mut synced, mut random) = (0, 0, seed);
    let Ok(file) = disk.open("session", OpenHow::OrNew) else { return (0, 0) };
    if disk.sync_folder().is_err() {
        return (0, 0);
    }
    for number in 1..=WRITES {
        let how = if next(&mut random).is_multiple_of(3) { Write::Durable } else { Write::Quick };
        let mut found = read(&*file).unwrap();
        if write(&*file, &mut found, &state(number), how).is_err() {
            return (written, synced);
        }
        written = number;
        if how == Write::Durable {
            synced = number;
        }
    }
    (written, synced)
}

/// The number of the state on this disk; none for a file that is blank or not there.
fn newest(disk: &SimulatedDisk) -> Result<Option<u64>, FileFault> {
    let Ok(file) = disk.open("session", OpenHow::Existing) else { return Ok(None) };
    Ok(read(&*file)?.state.map(|state| number_of(&state)))
}

#[test]
fn a_power_cut_at_any_point_takes_nothing_that_was_synced() {
    for seed in [1, 2] {
        let whole = SimulatedDisk::default();
        work(&whole, seed);
        for stop in 1..=whole.operations() {
            for (half, keeps) in [false, true].into_iter().flat_map(|h| CASES.map(|k| (h, k))) {
                let disk = SimulatedDisk::default();
                disk.stop_at(stop, half);
                let (_, synced) = work(&disk, seed);
                let after = disk.after_power_cut(keeps);
                match newest(&after) {
                    Ok(found) => assert!(
                        found.unwrap_or(0) >= synced,
                        "seed {seed}, stop {stop}, {keeps:?}: {found:?} < {synced}"
                    ),
                    // Nothing was promised yet, and it closes.
                    Err(FileFault::Damaged) => assert_eq!(synced, 0, "stop {stop}, {keeps:?}"),
                    Err(fault) => panic!("{fault:?}"),
                }
            }
        }
    }
}

#[test]
fn a_kill_at_any_point_takes_nothing_that_was_answered_for() {
    let whole = SimulatedDisk::default();
    work(&whole, 5);
    for stop in 1..=whole.operations() {
        for half in [false, true] {
            let disk = SimulatedDisk::default();
            disk.stop_at(stop, half);
            let (written, synced) = work(&disk, 5);
            let after = disk.after_kill();
            match newest(&after) {
                Ok(found) => assert!(found.unwrap_or(0) >= written, "stop {stop}"),
                // Half of a header, which no kill leaves on a real disk: it closes.
                Err(FileFault::Damaged) => assert!(half && synced == 0, "stop {stop}"),
                Err(fault) => panic!("{fault:?}"),
            }
        }
    }
}

#[test]
fn no_changed_byte_is_taken_for_a_state() {
    let disk = SimulatedDisk::default();
    let file = disk.open("session", OpenHow::OrNew).unwrap();
    write(&*file, &mut read(&*file).unwrap(), &state(1), Write::Quick).unwrap();
    let mut whole = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut whole, 0).unwrap();
    let start = whole.iter().position(|byte| *byte != 0).unwrap();
    for (at, &byte) in whole.iter().enumerate().skip(start) {
        file.write_at(&[byte ^ 1], at as u64).unwrap();
        assert!(matches!(read(&*file), Err(FileFault::Damaged | FileFault::Newer)), "{at}");
        file.write_at(&[byte], at as u64).unwrap();
    }
    assert_eq!(number_of(&read(&*file).unwrap().state.unwrap()), 1);
}

#[test]
fn a_state_that_is_too_large_is_refused_before_it_is_written() {
    let disk = SimulatedDisk::default();
    let file = disk.open("session", OpenHow::OrNew).unwrap();
    let large = vec![b'x'; crate::state::file::STATE_BYTES_MAX];
    write(&*file, &mut read(&*file).unwrap(), &large, Write::Quick).unwrap();
    assert_eq!(read(&*file).unwrap().state.unwrap(), large);
    let larger = vec![b'x'; large.len() + 1];
    let refused = write(&*file, &mut read(&*file).unwrap(), &larger, Write::Quick);
    assert!(matches!(refused, Err(FileFault::TooLarge)));
}
