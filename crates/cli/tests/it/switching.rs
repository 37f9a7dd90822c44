//! `status`, `hooks`, `pause`, `trust`: what is in force, and changing it on the record.

use crate::rig::{PROJECT, Ran, Rig, call};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// What holds of a hook at the moment.
fn in_force(rig: &Rig, name: &str) -> String {
    let hooks = rig.run(&["hooks", "list", "--format", "json"]).expect(0).json();
    let hook = hooks["hooks"].as_array().unwrap().iter().find(|hook| hook["name"] == name).unwrap();
    hook["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_hook_is_disabled_for_a_while_and_enabled_again_and_both_are_records() {
    let rig = Rig::new();
    assert_eq!(in_force(&rig, "no-delete"), "on");
    let disable = ["hooks", "disable", "no-delete", "--reason", "month end", "--for", "2h"];
    let ran = rig.run(&disable).expect(0);
    assert!(ran.out.starts_with("disabled `no-delete` until "), "{}", ran.out);
    assert_eq!(in_force(&rig, "no-delete"), "disabled");
    rig.run(&["hooks", "enable", "no-delete", "--reason", "done"]).expect(0);
    assert_eq!(in_force(&rig, "no-delete"), "on");
    let records = rig.records("switch");
    assert_eq!(records.len(), 2);
    assert_eq!(records[0]["detail"]["switch"], "disable");
    assert_eq!(records[0]["detail"]["reason"], "month end");
    assert!(records[0]["detail"]["until"].is_string());
    assert!(records[0]["detail"]["by"].is_string());
    assert_eq!(records[1]["detail"]["switch"], "enable");
    assert_eq!(records[1]["hook"], "no-delete");
}

#[test]
fn a_locked_hook_cannot_be_disabled_and_is_not_paused() {
    let rig = Rig::new();
    let refused = rig.run(&["hooks", "disable", "keep", "--reason", "x"]).expect(2);
    assert!(refused.err.contains("is locked"), "{}", refused.err);
    assert!(refused.err.contains("user.yaml:"), "the place is named: {}", refused.err);
    let paused = rig.run(&["pause", "--for", "15m", "--reason", "x"]).expect(0);
    assert!(paused.out.contains("stays in force: `keep`"), "{}", paused.out);
    assert_eq!(in_force(&rig, "keep"), "on");
    assert_eq!(in_force(&rig, "no-delete"), "paused");
}

#[test]
fn switches_written_by_hand_against_a_locked_hook_do_nothing() {
    let rig = Rig::new();
    rig.write(
        "state/switches.json",
        r#"{"version":1,"disabled":[{"hook":"keep","reason":"r","since":"2026-01-01","until":null,"by":"x"}],"paused":null}"#,
    );
    let mode = |path: &str, mode| {
        fs::set_permissions(rig.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("state", 0o700);
    mode("state/switches.json", 0o600);
    assert_eq!(in_force(&rig, "keep"), "on");
    mode("state/switches.json", 0o666);
    let status = rig.run(&["status"]).expect(0);
    assert!(status.out.contains("is not to be trusted"), "{}", status.out);
}

#[test]
fn a_switch_that_cannot_be_recorded_does_not_happen() {
    let rig = Rig::new();
    rig.write("state/ledger", "a file where the folder should be");
    rig.run(&["hooks", "disable", "no-delete", "--reason", "x"]).expect(3);
    rig.run(&["pause", "--for", "15m", "--reason", "x"]).expect(3);
    assert!(!rig.path("state/switches.json").exists());
}

#[test]
fn a_pause_has_an_end_a_cap_and_a_reason() {
    let rig = Rig::new();
    let too_long = rig.run(&["pause", "--for", "9h", "--reason", "x"]).expect(2);
    assert!(too_long.err.contains("at most 8 hours"), "{}", too_long.err);
    rig.run(&["pause", "--reason", "x"]).expect(2);
    rig.run(&["pause", "--for", "15m"]).expect(2);
    rig.run(&["pause", "--for", "15m", "--reason", " "]).expect(2);
    rig.run(&["pause", "--for", "15m", "--reason", "trial"]).expect(0);
    let status = rig.run(&["status"]).expect(0).out;
    assert!(status.contains("PAUSED until") && status.contains("trial"), "{status}");
    rig.run(&["pause", "--end", "--reason", "done"]).expect(0);
    assert!(!rig.run(&["status"]).expect(0).out.contains("PAUSED"));
    let words: Vec<_> =
        rig.records("switch").iter().map(|r| r["detail"]["switch"].to_string()).collect();
    assert_eq!(words, ["\"pause\"", "\"resume\""]);
}

#[test]
fn a_pause_ends_by_itself() {
    let rig = Rig::new();
    rig.run(&["pause", "--for", "1s", "--reason", "trial"]).expect(0);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(in_force(&rig, "no-delete"), "on");
}

#[test]
fn an_unknown_hook_is_refused_with_the_way_to_the_names() {
    let rig = Rig::new();
    let ran = rig.run(&["hooks", "disable", "nothing", "--reason", "x"]).expect(2);
    assert!(ran.err.contains("`tollgate hooks list`"), "{}", ran.err);
}

#[test]
fn trust_pins_a_projects_policy_and_a_change_takes_it_back() {
    let rig = Rig::new();
    rig.write("project/tollgate.yaml", PROJECT);
    let state = |ran: &Ran| {
        let json = ran.json();
        let layers = json["layers"].as_array().unwrap().clone();
        layers.iter().find(|l| l["kind"] == "project").unwrap()["state"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let status = || rig.run(&["status", "--format", "json"]);
    assert_eq!(state(&status()), "untrusted");
    let asked = rig.run(&["trust"]).expect(2);
    assert!(asked.out.contains("no-mail: deny on pre_tool"), "{}", asked.out);
    assert!(asked.out.contains("sha256:"), "{}", asked.out);
    assert!(asked.err.contains("--yes"), "no terminal, no trust: {}", asked.err);
    assert_eq!(state(&status()), "untrusted");
    rig.run(&["trust", "--yes"]).expect(0);
    assert_eq!(state(&status()), "in_force");
    let record = &rig.records("trust")[0];
    assert!(record["detail"]["file"].as_str().unwrap().ends_with("project/tollgate.yaml"));
    assert!(record["detail"]["digest"].as_str().unwrap().starts_with("sha256:"));
    rig.write("project/tollgate.yaml", &format!("{PROJECT}\n# one byte more"));
    assert_eq!(state(&status()), "changed");
}

#[test]
fn init_writes_trusts_and_never_writes_over() {
    let rig = Rig::new();
    fs::create_dir(rig.path("project/.claude")).unwrap();
    let ran = rig.run_in("project", &["init"], "", &[]).expect(0);
    assert!(ran.out.contains("a git repository, Claude Code (.claude)"), "{}", ran.out);
    assert!(
        rig.run(&["status"]).expect(0).out.contains("project/tollgate.yaml\n           in force")
    );
    let before = fs::read(rig.path("project/tollgate.yaml")).unwrap();
    let again = rig.run(&["init", "--preset", "mcp"]).expect(2);
    assert!(again.err.contains("is there already"), "{}", again.err);
    assert_eq!(fs::read(rig.path("project/tollgate.yaml")).unwrap(), before);
    assert_eq!(rig.records("trust").len(), 1);
    let decided = rig.decide("project/tollgate.yaml", &[], &call("delete_file")).expect(0).json();
    assert_eq!(decided["verdict"], "allow", "observe-only refuses nothing");
}
