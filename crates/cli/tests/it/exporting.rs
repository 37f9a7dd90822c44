//! `audit export`: records of a real ledger to a file and to a server, and what a person is told.

use crate::rig::Rig;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::thread;

/// Two records in the ledger of the rig.
fn switched() -> Rig {
    let rig = Rig::new();
    rig.run(&["hooks", "disable", "no-delete", "--reason", "x = y | z"]).expect(0);
    rig.run(&["hooks", "enable", "no-delete", "--reason", "done"]).expect(0);
    rig
}

fn export(to: &str) -> Vec<&str> {
    vec!["audit", "export", "--format", "ocsf", "--to", to]
}

#[test]
fn a_second_export_goes_on_where_the_first_ended() {
    let rig = switched();
    let file = rig.path("out.jsonl");
    let to = format!("file:{}", file.display());
    let first = rig.run(&export(&to)).expect(0);
    assert_eq!(first.out, format!("sent 2 records to {to}, up to number 2\n"));
    rig.run(&["hooks", "disable", "no-delete", "--reason", "again"]).expect(0);
    assert!(rig.run(&export(&to)).expect(0).out.starts_with("sent 1 records"));
    let text = fs::read_to_string(&file).unwrap();
    let seqs: Vec<u64> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|event| event["metadata"]["sequence"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, [1, 2, 3]);
    let mut restart = export(&to);
    restart.push("--restart");
    assert!(rig.run(&restart).expect(0).out.starts_with("sent 3 records"));
}

#[test]
fn a_server_that_is_not_there_loses_nothing() {
    let rig = switched();
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let to = format!("syslog+tcp://127.0.0.1:{port}");
    let failed = rig.run(&export(&to)).expect(3);
    assert!(failed.err.contains("trying again in 0.2 s"), "{}", failed.err);
    assert!(failed.err.contains("nothing is lost"), "{}", failed.err);
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let server = thread::spawn(move || {
        let mut all = String::new();
        listener.accept().unwrap().0.read_to_string(&mut all).unwrap();
        all
    });
    rig.run(&export(&to)).expect(0);
    let all = server.join().unwrap();
    assert_eq!(all.matches("<109>1 ").count(), 2, "{all}");
}

#[test]
fn what_cannot_be_is_said_with_a_remedy() {
    let rig = Rig::new();
    let none = rig.run(&export("file:x")).expect(2);
    assert!(none.err.contains("there is no ledger at"), "{}", none.err);
    let rig = switched();
    let secret = rig.run(&export("otlp+https://alice:hunter2@siem")).expect(2);
    assert!(secret.err.contains("a token comes from a file"), "{}", secret.err);
    assert!(!secret.err.contains("hunter2"), "{}", secret.err);
    let own = format!("file:{}", rig.path("state/ledger/out").display());
    let own = rig.run(&export(&own)).expect(2);
    assert!(own.err.contains("the ledger's own folder"), "{}", own.err);
    let mut missing = export("syslog+tls://localhost");
    missing.extend(["--ca", "nowhere.pem"]);
    assert!(rig.run(&missing).expect(2).err.contains("nowhere.pem"));
}

#[test]
fn a_file_that_is_named_from_its_folder_has_a_cursor_of_its_own() {
    let rig = switched();
    let export = ["audit", "export", "--format", "ocsf", "--to", "file:out.jsonl"];
    for folder in ["project", "other"] {
        fs::create_dir_all(rig.path(folder)).unwrap();
        let ran = rig.run_in(folder, &export, "", &[]).expect(0);
        assert!(!ran.out.starts_with("sent 0 "), "{folder}: {}", ran.out);
        assert!(rig.path(folder).join("out.jsonl").exists());
    }
    assert!(rig.run_in("project", &export, "", &[]).expect(0).out.starts_with("sent 0 "));
}
