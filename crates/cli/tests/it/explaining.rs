//! `explain`.

use crate::rig::{Rig, call, run};

/// A rig whose ledger holds the decisions on these events.
pub(crate) fn decided(events: &str) -> Rig {
    let rig = Rig::new();
    let ledger = rig.path("state/ledger");
    rig.decide("user.yaml", &["--jsonl", "--ledger", ledger.to_str().unwrap()], events).expect(0);
    rig
}

/// A call with arguments.
pub(crate) fn with_arguments(tool: &str, arguments: &str) -> String {
    call(tool).replace("\"}}\n", &format!("\",\"arguments\":{arguments}}}}}\n"))
}

#[test]
fn every_hook_is_named_in_order_with_the_key_that_failed() {
    let rig = Rig::new();
    let ran = rig.run_in("project", &["explain", "--event", "-"], &call("delete_x"), &[]).expect(0);
    assert!(
        ran.out.starts_with("deny by no-delete (hook_denied): nothing is deleted\n"),
        "{}",
        ran.out
    );
    let keep = ran.out.find("keep       no match: tool: rm").unwrap();
    let deleted = ran.out.find("no-delete  deny: nothing is deleted").unwrap();
    assert!(keep < deleted, "{}", ran.out);
}

#[test]
fn a_rewrite_is_a_difference_and_programs_get_it_too() {
    let rig = Rig::new();
    rig.write("user.yaml", "version: 1\nhooks:\n  - { name: clamp, on: pre_tool, match: { tool: list }, rewrite: { max: { max: 10 } } }\n");
    rig.write("project/event.json", &with_arguments("list", r#"{"max":50}"#));
    let ran = rig.run(&["explain", "--event", "event.json"]).expect(0);
    assert!(ran.out.contains("max: 50 -> 10"), "{}", ran.out);
    let json = rig.run(&["explain", "--event", "event.json", "--format", "json"]).expect(0).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["record"], serde_json::Value::Null);
    let change = &json["hooks"][0]["fate"]["rewrite"][0];
    assert_eq!((&change["before"], &change["after"]), (&50.into(), &10.into()), "{json}");
}

#[test]
fn the_last_decision_comes_back_out_of_the_ledger_and_what_is_masked_is_named() {
    let rig = decided(&(call("read") + &with_arguments("delete_x", r#"{"password":"hunter2"}"#)));
    let ran = rig.run(&["explain", "--last"]).expect(0);
    assert!(ran.out.contains("pre_tool delete_x\ndeny by no-delete"), "{}", ran.out);
    assert!(ran.out.contains("saw the mask: arguments.password"), "{}", ran.out);
    assert!(ran.out.contains("records do not hold: tags"), "{}", ran.out);
    assert!(!ran.out.contains("in force then"), "{}", ran.out);
    let records = rig.records("decision");
    let id = records[0]["id"].as_str().unwrap();
    let json = rig.run(&["explain", "--id", id, "--format", "json"]).expect(0).json();
    assert_eq!(json["record"]["id"], id);
    assert_eq!((&json["verdict"], &json["record"]["verdict"]), (&"allow".into(), &"allow".into()));
    // An outcome stands for its decision.
    let outcome = rig.records("outcome");
    if let Some(outcome) = outcome.iter().find(|one| one["decision"] == records[1]["id"]) {
        let ran = rig.run(&["explain", "--id", outcome["id"].as_str().unwrap()]).expect(0);
        assert!(ran.out.contains("delete_x"), "{}", ran.out);
    }
}

#[test]
fn another_policy_and_a_switch_are_said_to_make_a_difference() {
    let rig = decided(&call("delete_x"));
    rig.run(&["hooks", "disable", "no-delete", "--reason", "x"]).expect(0);
    let changed = crate::rig::USER.replace("no-delete", "other").replace("delete_*", "wipe_*");
    rig.write("user.yaml", &changed);
    let folder = rig.path("project");
    let (state, policy) = (rig.path("state"), rig.path("user.yaml"));
    let arguments = [
        "--state",
        state.to_str().unwrap(),
        "explain",
        "--last",
        "--policy",
        policy.to_str().unwrap(),
    ];
    let ran = run(&folder, &arguments, "", &[]).expect(0);
    assert!(ran.out.contains("what was in force then: sha256:"), "{}", ran.out);
    assert!(ran.out.contains("otherwise: deny by no-delete, which is no hook of"), "{}", ran.out);
}

#[test]
fn what_cannot_be_found_or_read_is_said_with_a_remedy() {
    let rig = Rig::new();
    let none = rig.run(&["explain", "--last"]).expect(2);
    assert!(
        none.err.contains("there is no ledger in") && none.err.contains("remedy:"),
        "{}",
        none.err
    );
    let rig = decided("");
    let none = rig.run(&["explain", "--id", "nope"]).expect(2);
    assert!(none.err.contains("there is no"), "{}", none.err);
    let bad = rig.run(&["explain", "--event", "nowhere.json"]).expect(2);
    assert!(bad.err.contains("`nowhere.json` cannot be read"), "{}", bad.err);
    rig.write("project/empty.json", "");
    let bad = rig.run(&["explain", "--event", "empty.json"]).expect(2);
    assert!(bad.err.contains("`empty.json` holds no event"), "{}", bad.err);
    rig.run(&["explain"]).expect(2);
    rig.run(&["explain", "--last", "--id", "x"]).expect(2);
}
