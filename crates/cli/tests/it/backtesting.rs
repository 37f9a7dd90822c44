//! `backtest`.

use crate::explaining::{decided, with_arguments};
use crate::rig::{Rig, USER, call};
use std::fmt::Write as _;

const NEW: &str = r#"
version: 1
hooks:
  - { name: no-mail, on: pre_tool, match: { tool: send_mail }, deny: "no mail" }
  - { name: clamp, on: pre_tool, match: { tool: list }, rewrite: { max: { max: 10 } } }
  - { name: big, on: pre_tool, match: { tool: pay }, when: "args.sum > 10", ask: { who: alice } }
"#;

fn event(id: &str, tool: &str, arguments: &str) -> String {
    with_arguments(tool, arguments).replacen('{', &format!("{{\"id\":\"{id}\","), 1)
}

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("project/new.yaml", NEW);
    let events = [
        event("e1", "send_mail", "{}"),
        event("e2", "list", r#"{"max":50}"#),
        event("e3", "delete_x", "{}"),
        event("e4", "pay", r#"{"sum":50}"#),
        event("e5", "send_mail", "{}"),
        event("e6", "read", r#"{"x":"[SECRET]"}"#),
    ];
    rig.write("project/events.jsonl", &events.concat());
    rig
}

#[test]
fn what_would_change_is_counted_by_hook_with_examples() {
    let rig = rig();
    let ran =
        rig.run(&["backtest", "new.yaml", "--old", "../user.yaml", "--against", "events.jsonl"]);
    let out = ran.expect(0).out;
    for line in [
        "5 events, 0 decided as before, 1 not judged because of what is masked",
        "2  newly refused by no-mail",
        "1  newly asked by big",
        "1  newly allowed by no-delete",
        "1  rewritten otherwise by clamp",
        "            max: 50 -> 10",
        "e3 delete_x: deny by no-delete (hook_denied) -> allow",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
}

#[test]
fn labels_give_a_hit_rate_and_a_false_positive_rate() {
    let rig = rig();
    let mut labels = String::new();
    for (id, harmful) in [("e1", true), ("e3", true), ("e2", false), ("e4", false), ("e9", true)] {
        let _ = writeln!(labels, "{{\"id\":\"{id}\",\"harmful\":{harmful}}}");
    }
    rig.write("project/labels.jsonl", &labels);
    let with = ["backtest", "new.yaml", "--against", "events.jsonl", "--labels", "labels.jsonl"];
    let ran = rig.run(&with).expect(0);
    assert!(ran.out.contains("hit rate: 50.0%; false-positive rate: 50.0%"), "{}", ran.out);
    assert!(ran.out.contains("1 label without an event"), "{}", ran.out);
    let json = rig.run(&[&with[..], &["--format", "json"]].concat()).expect(0).json();
    assert_eq!((&json["hit_rate"], &json["hits"]["harmful"]), (&0.5.into(), &2.into()));
    rig.write("project/labels.jsonl", "{\"id\":\"e1\"}\n");
    let bad = rig.run(&with).expect(2);
    assert!(bad.err.contains("line 1: `harmful` is neither"), "{}", bad.err);
}

#[test]
fn a_ledger_is_replayed_against_what_it_recorded() {
    let events =
        call("delete_x") + &call("read") + &with_arguments("delete_y", r#"{"password":"x"}"#);
    let rig = decided(&events);
    let ledger = rig.path("state/ledger");
    let against = ["--against", ledger.to_str().unwrap(), "--format", "json"];
    let same = rig.run(&[&["backtest", "../user.yaml"][..], &against].concat()).expect(0).json();
    assert_eq!(
        (&same["events"], &same["unchanged"], &same["masked"]),
        (&2.into(), &2.into(), &1.into())
    );
    rig.write("project/new.yaml", &USER.replace("delete_*", "wipe_*"));
    let other = rig.run(&[&["backtest", "new.yaml"][..], &against].concat()).expect(0).json();
    assert_eq!(other["changes"][0]["kind"], "newly_allowed", "{other}");
    assert_eq!(other["changes"][0]["hook"], "no-delete");
}

#[test]
fn a_refused_ask_of_the_record_is_still_an_ask() {
    let rig = Rig::new();
    rig.write("user.yaml", NEW);
    let ledger = rig.path("state/ledger");
    let event = with_arguments("pay", r#"{"sum":50}"#);
    rig.decide("user.yaml", &["--ledger", ledger.to_str().unwrap()], &event).expect(0);
    let ran =
        rig.run(&["backtest", "../user.yaml", "--against", ledger.to_str().unwrap()]).expect(0);
    assert!(
        ran.out.starts_with("1 event, 1 decided as before\nnothing would change\n"),
        "{}",
        ran.out
    );
}

#[test]
fn broken_lines_are_named_and_the_others_judged() {
    let rig = rig();
    let events = format!("nonsense\n\n{}{{\"kind\":\"nope\"}}\n", event("e1", "send_mail", "{}"));
    rig.write("project/events.jsonl", &events);
    let ran = rig.run(&["backtest", "new.yaml", "--against", "events.jsonl"]).expect(2);
    assert!(ran.out.contains("1  newly refused by no-mail"), "{}", ran.out);
    assert!(ran.err.contains("line 1 holds no event") && ran.err.contains("line 4"), "{}", ran.err);
    assert!(ran.err.contains("2 lines without an event in `events.jsonl`"), "{}", ran.err);
    rig.write("project/empty.jsonl", "");
    let ran = rig.run(&["backtest", "new.yaml", "--against", "empty.jsonl"]).expect(0);
    assert!(ran.out.starts_with("0 events"), "{}", ran.out);
    let none = rig.run(&["backtest", "new.yaml", "--against", "nowhere"]).expect(2);
    assert!(none.err.contains("`nowhere` cannot be read"), "{}", none.err);
    let folder = rig.run(&["backtest", "new.yaml", "--against", "."]).expect(2);
    assert!(folder.err.contains("there is no ledger in `.`"), "{}", folder.err);
    let none = rig.run(&["backtest", "nowhere.yaml", "--against", "events.jsonl"]).expect(2);
    assert!(none.err.contains("nowhere.yaml"), "{}", none.err);
}
