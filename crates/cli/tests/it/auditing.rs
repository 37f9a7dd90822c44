//! `tollgate audit` and `keys`: what is in the ledger can be found, shown, verified, proved, pruned and
//! erased by whoever has the binary.

use crate::rig::{Ran, Rig};
use serde_json::{Value, json};
use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tollgate::gate::{Durability, EventId, Ledger as _, Record, RecordKind, Timestamp};
use tollgate::ledger::ledger_options;
use tollgate::store::{Committer, FileLedger, LedgerOptions, SystemClock};

const POLICY: &str = r#"
version: 1
hooks:
  - name: no-delete
    on: pre_tool
    match: { tool: "delete_*" }
    deny: "nothing is deleted"
  - name: trial
    on: pre_tool
    match: { tool: fetch }
    dry_run: true
    deny: { code: EXTERNAL_HOST, reason: "not on the list" }
  - name: broken
    on: pre_tool
    match: { tool: odd }
    when: "args.n / 0 > 1"
    on_failure: open
    rewrite: { n: { max: 1 } }
"#;

/// A state folder with a signed ledger of calls of two people.
fn rig(calls: usize) -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", POLICY);
    decide(&rig, 0, calls);
    // A record by this user's own hand signs the ledger.
    rig.run(&["hooks", "disable", "trial", "--reason", "a test", "--for", "1m"]).expect(0);
    rig
}

fn decide(rig: &Rig, from: usize, to: usize) {
    let mut events = String::new();
    for at in from..to {
        let (tool, arguments) = [
            ("list_files", json!({ "max": 3 })),
            ("delete_file", json!({ "path": "a" })),
            ("fetch", json!({ "url": "https://example.net" })),
            ("odd", json!({ "n": 1 })),
        ][at % 4]
            .clone();
        let user = ["alice", "bob"][at / 4 % 2];
        let session = json!({ "id": format!("s-{user}"), "user": user });
        let payload = json!({ "tool": tool, "call_id": format!("c{at}"), "arguments": arguments });
        let event = json!({ "kind": "pre_tool", "session": session, "payload": payload });
        events.push_str(&format!("{event}\n"));
    }
    let ledger = rig.path("state/ledger");
    let ledger = ledger.to_str().unwrap();
    rig.run_in("project", &["decide", "--jsonl", "--ledger", ledger], &events, &[]).expect(0);
}

fn audit(rig: &Rig, arguments: &[&str]) -> Ran {
    rig.run(&[&["audit"], arguments].concat())
}

fn ids(ran: &Ran) -> Vec<Value> {
    ran.lines().into_iter().map(|record| record["seq"].clone()).collect()
}

#[test]
fn records_are_found_by_what_is_known_of_them_with_and_without_the_index() {
    let rig = rig(16);
    for (filter, expected) in [
        (&["--user", "alice", "--kind", "decision"][..], 8),
        (&["--session", "s-bob", "--verdict", "deny"], 2),
        (&["--tool", "fetch", "--since", "2h"], 4),
        (&["--hook", "trial", "--kind", "decision"], 4),
        (&["--code", "hook_denied", "--kind", "decision"], 4),
        (&["--user", "nobody"], 0),
        (&["--until", "2020-01-01"], 0),
    ] {
        let list = |more: &[&str]| {
            let arguments = [&["list", "--json"], filter, more].concat();
            audit(&rig, &arguments).expect(0)
        };
        let found = list(&[]);
        assert_eq!(ids(&found).len(), expected, "{filter:?}: {}", found.out);
        assert_eq!(ids(&found), ids(&list(&["--no-index"])), "{filter:?}");
    }
    let table = audit(&rig, &["list", "--limit", "40"]).expect(0);
    assert!(table.out.contains("dry: trial") && table.out.contains("fault: broken"));
}

#[test]
fn a_hook_is_counted_by_its_hits_its_would_haves_its_faults_and_those_that_went_on() {
    let rig = rig(16);
    let stats = audit(&rig, &["stats", "--json"]).expect(0).json();
    let hook = |name: &str| {
        let hook = &stats["hooks"][name];
        ["asked", "hits", "would", "faults", "failed_open"].map(|key| hook[key].as_u64().unwrap())
    };
    assert_eq!(hook("no-delete"), [4, 4, 0, 0, 0]);
    assert_eq!(hook("trial"), [4, 0, 4, 0, 0]);
    assert_eq!(hook("broken"), [4, 0, 0, 4, 4]);
    assert_eq!(stats, audit(&rig, &["stats", "--json", "--no-index"]).expect(0).json());
}

#[test]
fn a_refusal_is_shown_by_its_id_and_a_session_as_a_timeline() {
    let rig = rig(8);
    let found = audit(&rig, &["list", "--json", "--hook", "no-delete"]).expect(0);
    let id = found.lines()[0]["id"].as_str().unwrap().to_owned();
    let shown = audit(&rig, &["show", &id]).expect(0);
    for part in ["no-delete", "nothing is deleted", "delete_file", "s-bob"] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    let line = audit(&rig, &["show", "--session", "s-alice"]).expect(0);
    assert!(line.out.starts_with("session s-alice of alice"), "{}", line.out);
    assert!(line.out.contains("+0."));
    let newest = audit(&rig, &["list", "--json", "--kind", "decision", "--limit", "1"]).expect(0);
    let newest = newest.lines()[0]["id"].as_str().unwrap().to_owned();
    for more in [&["--last"][..], &["--last", "--no-index"]] {
        let shown = audit(&rig, &[&["show"], more].concat()).expect(0);
        assert_eq!(shown.out, audit(&rig, &["show", &newest]).expect(0).out);
    }
    audit(&rig, &["show"]).expect(2);
    let none = audit(&rig, &["show", "no-such-id"]).expect(2);
    assert!(none.err.contains("there is no record `no-such-id`"));
}

#[test]
fn verification_names_the_place_and_the_kind_of_damage() {
    let rig = rig(8);
    let good = audit(&rig, &["verify"]).expect(0);
    assert!(good.out.contains("holds together"), "{}", good.out);
    let file = rig.path("state/ledger/00000000000000000001.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("delete_file", "delete_fill", 1)).unwrap();
    let bad = audit(&rig, &["verify", "--json"]).expect(1).json();
    let finding = &bad["findings"][0];
    assert_eq!(finding["kind"], "broken_chain");
    assert!(finding["what"].as_str().unwrap().contains("000001.jsonl` line "), "{bad}");
}

#[test]
fn a_kept_checkpoint_shows_a_ledger_that_was_set_back_and_a_copy_is_verified_with_the_public_key() {
    let rig = rig(8);
    let copy = rig.path("copy");
    let copy = copy.to_str().unwrap();
    copy_ledger(&rig, copy);
    decide(&rig, 8, 12);
    audit(&rig, &["anchor", "--to", "kept.jsonl"]).expect(0);
    let key = rig.run(&["keys", "show"]).expect(0).out.trim().to_owned();
    audit(&rig, &["verify", "--ledger", copy]).expect(2);
    audit(&rig, &["verify", "--ledger", copy, "--key", &key]).expect(0);
    let kept = ["verify", "--ledger", copy, "--key", &key, "--checkpoint", "kept.jsonl"];
    let back = audit(&rig, &kept).expect(1);
    assert!(back.out.contains("the kept checkpoint 1 knows of"), "{}", back.out);
    audit(&rig, &["verify", "--checkpoint", "kept.jsonl"]).expect(0);
}

fn copy_ledger(rig: &Rig, to: &str) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(rig.path("state/ledger")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), format!("{to}/{}", entry.file_name().to_str().unwrap())).unwrap();
    }
}

#[test]
fn a_record_is_meant_by_its_number_or_a_piece_of_its_id() {
    let rig = rig(4);
    let decision = &rig.records("decision")[1];
    let (id, seq) = (decision["id"].as_str().unwrap(), decision["seq"].to_string());
    for asked in [id, &seq, &format!("#{seq}"), &id[..35], &id[1..]] {
        let shown = audit(&rig, &["show", asked]).expect(0).out;
        assert!(shown.contains(id), "{asked}: {shown}");
        rig.run(&["explain", "--id", asked]).expect(0);
    }
    audit(&rig, &["proof", "export", &seq]).expect(0);
    let several = audit(&rig, &["show", &id[..4]]).expect(2).err;
    assert!(several.contains("records fit") && several.contains("write more of the id"));
    for nothing in ["", "0", "99999", "xxxx"] {
        audit(&rig, &["show", nothing]).expect(2);
    }
    let by_piece = audit(&rig, &["list", "--session", "s-al", "--json"]).expect(0);
    let by_id = audit(&rig, &["list", "--session", "s-alice", "--json"]).expect(0);
    assert_eq!(ids(&by_piece), ids(&by_id));
}

#[test]
fn a_checkpoint_reaches_the_systems_log() {
    let rig = rig(4);
    let socket = rig.path("log");
    let log = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    audit(&rig, &["anchor", &format!("--syslog={}", socket.display())]).expect(0);
    let mut text = [0; 2048];
    let length = log.recv(&mut text).unwrap();
    let text = std::str::from_utf8(&text[..length]).unwrap();
    assert!(text.starts_with("<109>tollgate["), "{text}");
    // What a log keeps can be held against the ledger.
    rig.write("project/log.txt", &format!("Nov 30 12:00:00 host {}\n", &text[5..]));
    audit(&rig, &["verify", "--checkpoint", "log.txt"]).expect(0);
}

#[test]
fn a_record_is_proved_without_the_ledger_and_a_changed_one_is_not() {
    let rig = rig(8);
    audit(&rig, &["anchor", "--to", "first.jsonl"]).expect(0);
    let found = audit(&rig, &["list", "--json", "--hook", "no-delete"]).expect(0);
    let id = found.lines()[0]["id"].as_str().unwrap().to_owned();
    let proof = audit(&rig, &["proof", "export", &id]).expect(0).out;
    let key = rig.run(&["keys", "show"]).expect(0).out.trim().to_owned();
    rig.write("project/proof.json", &proof);
    audit(&rig, &["proof", "verify", "proof.json", "--key", &key]).expect(0);
    rig.write("project/proof.json", &proof.replacen("no-delete", "no-deletf", 1));
    audit(&rig, &["proof", "verify", "proof.json", "--key", &key]).expect(1);
    rig.write("project/proof.json", &proof);
    let other = key.replace(|_: char| true, "0");
    rig.run(&["audit", "proof", "verify", "proof.json", "--key", &other]).expect(1);
    decide(&rig, 8, 12);
    audit(&rig, &["anchor", "--to", "second.jsonl"]).expect(0);
    let grown = audit(&rig, &["proof", "export", "--from", "first.jsonl"]).expect(0).out;
    rig.write("project/grown.json", &grown);
    audit(&rig, &["proof", "verify", "grown.json", "--key", &key]).expect(0);
}

#[test]
fn one_persons_records_are_erased_and_the_ledger_still_verifies() {
    let rig = rig(16);
    audit(&rig, &["anchor", "--to", "kept.jsonl"]).expect(0);
    // Nobody can be asked here, so nothing happens without --yes.
    audit(&rig, &["erase", "--user", "alice"]).expect(2);
    audit(&rig, &["erase", "--user", "alice", "--yes"]).expect(0);
    for entry in fs::read_dir(rig.path("state/ledger")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("alice"));
    }
    audit(&rig, &["verify", "--checkpoint", "kept.jsonl"]).expect(0);
    assert_eq!(ids(&audit(&rig, &["list", "--json", "--user", "alice"]).expect(0)).len(), 0);
    let records = audit(&rig, &["list", "--json", "--kind", "erased"]).expect(0).lines();
    assert_eq!(records[0]["detail"]["erasure"], 1);
    assert!(!records[0].to_string().contains("alice"));
}

#[test]
fn a_session_or_one_call_is_erased_and_nothing_else() {
    let rig = rig(16);
    for wrong in [
        &["erase", "--yes"][..],
        &["erase", "--user", "a", "--session", "b", "--yes"],
        &["erase", "--session", "", "--yes"],
    ] {
        audit(&rig, wrong).expect(2);
    }
    let all = |which: &[&str]| {
        let mut arguments = vec!["list", "--json", "--limit", "1000"];
        arguments.extend(which);
        audit(&rig, &arguments).expect(0).lines()
    };
    let (alice, bob) = (all(&["--session", "s-alice"]), all(&["--session", "s-bob"]).len());
    // A refused call has two records, and either names it.
    let outcome = alice.iter().find(|record| record["kind"] == "outcome").unwrap();
    let decision = outcome["decision"].as_str().unwrap();
    audit(&rig, &["erase", "--id", outcome["id"].as_str().unwrap(), "--yes"]).expect(0);
    let left = all(&["--session", "s-alice"]);
    assert_eq!(left.len(), alice.len() - 2, "{left:?}");
    assert!(!left.iter().any(|record| record["id"] == decision || record["decision"] == decision));
    audit(&rig, &["erase", "--session", "s-alice", "--yes"]).expect(0);
    assert_eq!(all(&["--session", "s-alice"]).len(), 0);
    assert_eq!(all(&["--session", "s-bob"]).len(), bob);
    audit(&rig, &["verify"]).expect(0);
    let said = audit(&rig, &["erase", "--id", "nothing", "--yes"]).expect(0).out;
    assert!(said.contains("no record of `nothing`"), "{said}");
}

#[test]
fn an_export_says_of_an_erased_record_that_it_was_erased() {
    let rig = rig(8);
    audit(&rig, &["erase", "--user", "alice", "--yes"]).expect(0);
    for (format, mark) in [
        ("ocsf", r#""erased":true"#),
        ("ecs", r#""erased":true"#),
        ("cef", "msg=the record was erased"),
    ] {
        let file = rig.path(format);
        let to = format!("file:{}", file.display());
        audit(&rig, &["export", "--format", format, "--to", &to]).expect(0);
        let text = fs::read_to_string(&file).unwrap();
        // Four decisions, and an outcome.
        assert_eq!(text.matches(mark).count(), 5, "{text}");
        assert!(!text.contains("alice") && text.contains("bob"), "{text}");
    }
}

/// Puts so many records into the rig's ledger, whose segments are small.
fn fill(rig: &Rig, records: usize) {
    let clock = Arc::new(SystemClock::new());
    let options = ledger_options(clock, Committer::Caller, Some(&rig.path("state/keys")));
    let options = LedgerOptions { segment_bytes_max: 8 * 1024, ..options };
    let ledger = FileLedger::open(&rig.path("state/ledger"), options).unwrap();
    for at in 0..records {
        let id = EventId::Given(format!("old-{at}").into());
        let record = Record::new(id, Timestamp::from_millis(1_700_000_000_000), RecordKind::Trust);
        let appended = pin!(ledger.append(record, Durability::Buffered));
        let Poll::Ready(appended) = appended.poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("a ledger whose caller commits answers at once");
        };
        appended.unwrap();
    }
}

#[test]
fn old_segments_are_taken_away_and_what_is_left_still_verifies() {
    let rig = Rig::new();
    rig.write("user.yaml", POLICY);
    fill(&rig, 1_500);
    rig.run(&["hooks", "disable", "trial", "--reason", "a test", "--for", "1m"]).expect(0);
    let segments = || {
        let names = fs::read_dir(rig.path("state/ledger")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("00") && name.ends_with(".jsonl")).count()
    };
    let before = segments();
    audit(&rig, &["prune", "--before", "2024-01-01"]).expect(2);
    let pruned = audit(&rig, &["prune", "--before", "2024-01-01", "--yes"]).expect(0);
    assert!(pruned.out.contains(" records were taken away"), "{}", pruned.out);
    assert!(segments() < before, "{before} segments before, {} now", segments());
    let found = audit(&rig, &["verify", "--json"]).expect(0).json();
    assert!(found["pruned"].as_u64().unwrap() > 0, "{found}");
    let stone = rig.path("state/ledger/pruned.json");
    let text = fs::read_to_string(&stone).unwrap();
    fs::write(&stone, text.replacen("\"size\":", "\"size\":1", 1)).unwrap();
    assert_ne!(audit(&rig, &["verify"]).code, 0, "a tombstone is signed: {text}");
}

#[test]
fn a_new_key_goes_on_where_the_old_one_vouches_for_it() {
    let rig = rig(4);
    let before = rig.run(&["keys", "show"]).expect(0).out;
    rig.run(&["keys", "rotate"]).expect(2);
    rig.run(&["keys", "rotate", "--yes"]).expect(0);
    let after = rig.run(&["keys", "show", "--json"]).expect(0).json();
    assert_eq!(after["before"][0], before.trim());
    decide(&rig, 4, 8);
    audit(&rig, &["anchor", "--to", "kept.jsonl"]).expect(0);
    audit(&rig, &["verify"]).expect(0);
    let switches = rig.records("switch");
    let rotated = switches.iter().find(|record| record["detail"]["switch"] == "key rotated");
    let detail = &rotated.unwrap()["detail"];
    assert_eq!((&detail["from"], &detail["to"]), (&before.trim().into(), &after["key"]));
}

#[test]
fn proofs_of_before_and_after_a_rotation_verify_with_the_first_key_alone() {
    let rig = rig(4);
    let first = rig.run(&["keys", "show"]).expect(0).out;
    let kept = rig.path("kept.jsonl");
    let kept = kept.to_str().unwrap();
    audit(&rig, &["anchor", "--to", kept]).expect(0);
    let id = |at: usize| rig.records("decision")[at]["id"].as_str().unwrap().to_owned();
    let export = |name: &str, which: &[&str]| {
        let arguments = [&["proof", "export"], which].concat();
        rig.write(name, &audit(&rig, &arguments).expect(0).out);
    };
    export("before", &[&id(0)]);
    for round in 1..3 {
        rig.run(&["keys", "rotate", "--yes"]).expect(0);
        decide(&rig, 4 * round, 4 * round + 4);
    }
    audit(&rig, &["anchor", "--to", kept]).expect(0);
    export("after", &[&id(9)]);
    let first_line = fs::read_to_string(kept).unwrap().lines().next().unwrap().to_owned();
    rig.write("first.jsonl", &first_line);
    export("grown", &["--from", rig.path("first.jsonl").to_str().unwrap()]);
    let verify = |name: &str, key: &str| {
        let file = rig.path(name);
        audit(&rig, &["proof", "verify", file.to_str().unwrap(), "--key", key])
    };
    for name in ["before", "after", "grown"] {
        verify(name, first.trim()).expect(0);
    }
    let other = "1".repeat(64);
    assert_eq!(verify("after", &other).code, 1);
    // Without what it carries, it says nothing to whoever knows the first key.
    let text = fs::read_to_string(rig.path("after")).unwrap();
    rig.write("after", &text.replace("\"handovers\"", "\"others\""));
    verify("after", first.trim()).expect(1);
    // So does a copy of the ledger.
    let copy = rig.path("copy");
    let copy = copy.to_str().unwrap();
    copy_ledger(&rig, copy);
    audit(&rig, &["verify", "--ledger", copy, "--key", first.trim()]).expect(0);
}

#[test]
fn nothing_is_pruned_that_is_not_older_and_a_ledger_that_is_not_ours_is_left_alone() {
    let rig = rig(4);
    let none = audit(&rig, &["prune", "--before", "90d", "--yes"]).expect(0);
    assert!(none.out.contains("nothing to take away"));
    let copy = rig.path("copy");
    let copy = copy.to_str().unwrap();
    copy_ledger(&rig, copy);
    audit(&rig, &["erase", "--user", "alice", "--yes", "--ledger", copy]).expect(2);
    audit(&rig, &["prune", "--before", "2099-01-01", "--yes", "--ledger", copy]).expect(2);
}

#[test]
fn a_ledger_of_another_user_verifies_with_the_public_key_and_is_left_as_it_is() {
    let rig = rig(8);
    let key = rig.run(&["keys", "show", "--json"]).expect(0).json();
    let (ledger, copy) = (rig.path("state/ledger"), rig.path("copy"));
    fs::create_dir(&copy).unwrap();
    for name in ["checkpoints.jsonl", "head", "00000000000000000001.jsonl"] {
        fs::copy(ledger.join(name), copy.join(name)).unwrap();
    }
    // Only root can give a folder away.
    let _ = std::os::unix::fs::chown(&copy, Some(65_534), None);
    let verify = ["audit", "verify", "--ledger", copy.to_str().unwrap(), "--key"];
    let verify = [&verify[..], &[key["key"].as_str().unwrap()]].concat();
    rig.run(&verify).expect(0);
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 3, "nothing was made beside them");
    for name in ["head", "00000000000000000001.jsonl"] {
        fs::remove_file(copy.join(name)).unwrap();
    }
    let cut = rig.run(&verify).expect(1).out;
    assert!(cut.contains("cut "), "{cut}");
    fs::remove_file(copy.join("checkpoints.jsonl")).unwrap();
    let none = rig.run(&verify).expect(2).err;
    assert!(none.contains("there is no ledger"), "{none}");
}

#[test]
fn a_word_that_no_record_can_have_is_refused_with_those_that_there_are() {
    let rig = rig(8);
    for (arguments, named) in [
        (&["audit", "list", "--verdict", "denied"][..], "respond"),
        (&["audit", "stats", "--kind", "foo"], "policy_load"),
        (&["audit", "list", "--limit", "0"], "from 1 on"),
        (&["audit", "list", "--hook", "nosuch"], "`no-delete`"),
        (&["limits", "show", "--hook", "nosuch"], "`no-delete`"),
    ] {
        let ran = rig.run(arguments).expect(2);
        assert!(ran.err.contains(named), "{arguments:?}: {}", ran.err);
    }
    rig.run(&["audit", "list", "--hook", "no-delete"]).expect(0);
}

#[test]
fn an_anchor_that_cannot_be_written_says_so_and_what_to_name() {
    let rig = rig(4);
    let ran = rig.run(&["audit", "anchor", "--to", "/nowhere/at/all"]).expect(2);
    assert!(ran.err.contains("cannot be written") && ran.err.contains("folder"), "{}", ran.err);
}
