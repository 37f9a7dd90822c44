//! Killed with SIGKILL at random moments, 200 times: what was answered for is in the book, and the
//! book verifies after the restart.
//!
//! The children are this test program itself. A child prints what it was answered for; that print is
//! the effect which may not be there without its record.

use crate::rig::{Rig, options, record, text, wait};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tollgate_gate::{Durability, Ledger};
use tollgate_store::{
    Book, Cadence, CheckpointKey, Committer, FileLedger, LedgerOptions, Signing, Trust, verify,
};

/// Rounds in a usual run; a longer one sets the variable.
const ROUNDS: u64 = 200;
const ROUNDS_VARIABLE: &str = "TOLLGATE_TEST_KILL_ROUNDS";
/// Rounds that share a ledger.
const ROUNDS_A_LEDGER: u64 = 25;
const FOLDER_VARIABLE: &str = "TOLLGATE_TEST_KILL_FOLDER";
const COMMITTER_VARIABLE: &str = "TOLLGATE_TEST_KILL_COMMITTER";
const CADENCE: Cadence = Cadence { every_records: 16, every_ms: 3_600_000 };

fn open(folder: &Path, committer: Committer) -> FileLedger {
    let signing = Signing {
        every_records: CADENCE.every_records,
        ..Signing::new(folder.with_file_name("checkpoint.key"))
    };
    let options =
        LedgerOptions { committer, segment_bytes_max: 8000, signing: Some(signing), ..options() };
    FileLedger::open(folder, options).unwrap()
}

#[test]
#[ignore = "the child of the test below; it does nothing by itself"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let by_caller = std::env::var_os(COMMITTER_VARIABLE).is_some_and(|value| value == "caller");
    let committer = if by_caller { Committer::Caller } else { Committer::Thread };
    let ledger = open(folder.as_ref(), committer);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let ledger = &ledger;
            scope.spawn(move || {
                for at in 0..100_000 {
                    let id = format!("{}-{thread}-{at}", std::process::id());
                    wait(ledger.append(record(&id), Durability::BeforeEffect)).unwrap();
                    println!("done {id}");
                }
            });
        }
    });
}

fn spawn(folder: &Path, committer: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--ignored", "--nocapture"])
        .env(FOLDER_VARIABLE, folder)
        .env(COMMITTER_VARIABLE, committer)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets the children work, kills them, and gives what they were answered for.
fn run_and_kill(mut children: Vec<Child>, pause: Duration) -> Vec<String> {
    let readers: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().unwrap()))
        .map(|from| {
            std::thread::spawn(move || {
                // The last line may have been cut by the kill; then its effect did not happen.
                let lines = from.lines().map_while(Result::ok);
                let ids =
                    lines.filter_map(|line| line.split_once("done ").map(|(_, id)| id.to_owned()));
                ids.collect::<Vec<_>>()
            })
        })
        .collect();
    std::thread::sleep(pause);
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
}

#[test]
fn a_killed_process_loses_nothing_that_it_was_answered_for() {
    let rounds = std::env::var(ROUNDS_VARIABLE).map_or(ROUNDS, |value| value.parse().unwrap());
    let (mut rig, mut done, mut total, mut random) = (Rig::new(), BTreeSet::new(), 0, 1u64);
    for round in 0..rounds {
        if round % ROUNDS_A_LEDGER == 0 {
            (rig, done) = (Rig::new(), BTreeSet::new());
        }
        let folder = rig.folder();
        let committers: &[&str] = match round % 3 {
            0 => &["thread"],
            1 => &["caller"],
            _ => &["thread", "caller"],
        };
        let children = committers.iter().map(|committer| spawn(&folder, committer)).collect();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let pause = Duration::from_micros(2_000 + (random >> 33) % 14_000);
        let answered = run_and_kill(children, pause);
        total += answered.len();
        done.extend(answered);
        drop(open(&folder, Committer::Caller));
        let read: BTreeSet<String> = Book::open(&folder)
            .unwrap()
            .entries()
            .map(|entry| text(&entry.unwrap(), "id").to_owned())
            .collect();
        let missing: Vec<_> = done.difference(&read).collect();
        assert!(missing.is_empty(), "round {round}: {missing:?} were answered for");
        let key = CheckpointKey::open(&folder.with_file_name("checkpoint.key"));
        let keys = key.iter().map(CheckpointKey::public).collect();
        let trust = Trust { keys, kept: Vec::new(), cadence: Some(CADENCE) };
        let found = verify(&folder, &trust).unwrap();
        assert_eq!((found.findings, found.torn_bytes), (Vec::new(), 0), "round {round}");
    }
    assert!(total as u64 > rounds, "the children were killed before they did anything: {total}");
}
