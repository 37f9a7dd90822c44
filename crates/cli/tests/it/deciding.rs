//! `decide`: the contract for programs in any language.

use crate::rig::{Rig, call, run};
use serde_json::Value;

const COUNTS: &str = r#"
version: 1
hooks:
  - name: two-a-session
    on: pre_tool
    match: { tool: "read*" }
    limit: { count: 2, per: session }
  - name: one-a-minute
    on: pre_tool
    match: { tool: slow }
    limit: { rate: 1/min, per: session }
  - name: end-it
    on: pre_tool
    match: { tool: bomb }
    abort: { code: NO_BOMBS, reason: "no" }
  - name: mark
    on: post_tool
    match: { tool: look }
    label: seen
  - name: after-a-look
    on: pre_tool
    match: { tool: send, labels: seen }
    deny: "not after a look"
  - name: mask
    on: after_tool
    redact: { find: [email] }
"#;

fn verdicts(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["verdict"].as_str().unwrap_or("error")).collect()
}

#[test]
fn one_event_gives_one_decision() {
    let rig = Rig::new();
    let ran = rig.decide("user.yaml", &[], &call("delete_x")).expect(0);
    let decision = ran.json();
    assert_eq!(decision["verdict"], "deny");
    assert_eq!(decision["hook"], "no-delete");
    assert_eq!(decision["payload"]["result"]["executed"], false, "what the model is to see");
    assert_eq!(ran.out.lines().count(), 1);
    assert_eq!(rig.decide("user.yaml", &[], &call("read")).expect(0).json()["verdict"], "allow");
}

#[test]
fn limits_labels_and_ended_sessions_live_on_from_line_to_line() {
    let rig = Rig::new();
    rig.write("counts.yaml", COUNTS);
    let looked = "{\"kind\":\"post_tool\",\"session\":{\"id\":\"s1\"},\"payload\":{\"tool\":\"look\",\"result\":{\"ok\":true,\"content\":\"a.b@example.org\"}}}\n";
    let other = call("read").replace("\"s1\"", "\"s2\"");
    let input = [
        &call("read"),
        &call("read"),
        &call("read"),
        &other,
        &call("send"),
        looked,
        &call("send"),
        &call("bomb"),
        &call("other"),
    ]
    .map(str::to_owned)
    .concat();
    let lines = rig.decide("counts.yaml", &["--jsonl"], &input).expect(0).lines();
    assert_eq!(
        verdicts(&lines),
        ["allow", "allow", "deny", "allow", "allow", "allow", "deny", "abort", "abort"]
    );
    assert_eq!(lines[2]["code"], "limit_exceeded");
    assert_eq!(lines[5]["payload"]["result"]["content"], "a***@example.org");
    assert_eq!(lines[7]["code"], "NO_BOMBS");
    assert_eq!(lines[8]["code"], "session_aborted");
    let again = rig.decide("counts.yaml", &["--jsonl"], &call("read")).expect(0).lines();
    assert_eq!(verdicts(&again), ["allow"], "nothing outlives a stream");
}

#[test]
fn a_line_that_is_no_event_is_answered_in_its_place_and_the_exit_code_says_so() {
    let rig = Rig::new();
    let input = format!("{}nonsense\n\n{{\"kind\":\"pre_tool\"}}\n{}", call("read"), call("rm"));
    let ran = rig.decide("user.yaml", &["--jsonl"], &input).expect(2);
    let lines = ran.lines();
    assert_eq!(verdicts(&lines), ["allow", "error", "error", "deny"]);
    assert_eq!(lines[1]["error"]["line"], 2);
    assert_eq!(lines[1]["error"]["code"], "invalid_event");
    assert_eq!(lines[2]["error"]["line"], 4);
    assert!(lines[2]["error"]["message"].as_str().unwrap().contains("`session` is missing"));
    assert!(lines[2]["error"]["remedy"].as_str().unwrap().contains("tollgate schema event"));
}

#[test]
fn a_line_beyond_the_cap_is_no_event_and_the_next_one_is_read() {
    let rig = Rig::new();
    let input = format!("\"{}\"\n{}", "x".repeat(17 * 1024 * 1024), call("rm"));
    let lines = rig.decide("user.yaml", &["--jsonl"], &input).expect(2).lines();
    assert_eq!(verdicts(&lines), ["error", "deny"]);
}

#[test]
fn a_replay_goes_by_the_time_that_is_given_and_by_its_events() {
    let rig = Rig::new();
    rig.write("counts.yaml", COUNTS);
    let at = |at: &str| call("slow").replace("\"kind\"", &format!("\"at\":\"{at}\",\"kind\""));
    let input =
        [at("2026-01-15T08:00:00Z"), at("2026-01-15T08:00:30Z"), at("2026-01-15T08:02:00Z")];
    let arguments = ["--jsonl", "--now", "2026-01-15T08:00:00Z"];
    let lines = rig.decide("counts.yaml", &arguments, &input.concat()).expect(0).lines();
    assert_eq!(verdicts(&lines), ["allow", "deny", "allow"]);
    rig.decide("counts.yaml", &["--now", "yesterday"], "").expect(2);
}

#[test]
fn nothing_is_recorded_unless_a_ledger_is_named() {
    let rig = Rig::new();
    rig.decide("user.yaml", &[], &call("read")).expect(0);
    assert!(!rig.path("state").exists(), "no state folder is made");
    let ledger = rig.path("state/ledger");
    rig.decide("user.yaml", &["--ledger", ledger.to_str().unwrap()], &call("rm")).expect(0);
    let decisions = rig.records("decision");
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0]["hook"], "keep");
    assert_eq!(rig.records("outcome").len(), 1, "a refused call has its outcome");
}

#[test]
fn a_policy_that_does_not_load_permits_nothing() {
    let rig = Rig::new();
    rig.write("bad.yaml", "version: 1\nhooks: 5\n");
    let ran = rig.decide("bad.yaml", &[], &call("read")).expect(2);
    assert_eq!(ran.json()["error"]["code"], "bad_policy");
    assert!(ran.err.contains("bad.yaml:2"), "{}", ran.err);
    let event = rig.decide("user.yaml", &[], "{").expect(2);
    assert_eq!(event.json()["error"]["code"], "invalid_event");
}

#[test]
fn without_a_policy_nothing_is_decided() {
    let rig = Rig::new();
    let state = rig.path("state");
    let ran =
        run(&rig.path("project"), &["decide", "--state", state.to_str().unwrap()], &call("x"), &[]);
    // Who runs this test may have a policy of their own, which then decides.
    if ran.code == 2 {
        let error = &ran.json()["error"];
        assert_eq!(error["code"], "no_policy");
        assert!(error["remedy"].as_str().unwrap().contains("tollgate init"));
    } else {
        assert!(ran.json()["verdict"].is_string());
    }
}

/// The verdict about a command in a session with this further member.
fn about_command(rig: &Rig, place: &str, command: &str) -> String {
    let event = format!(
        r#"{{"kind":"pre_tool","session":{{"id":"s1"{place}}},"payload":{{"tool":"bash","arguments":{{"command":"{command}"}}}}}}"#
    );
    let decision = rig.decide("p.yaml", &[], &event).expect(0).json();
    decision["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn a_command_whose_project_root_is_not_known_slips_past_no_relative_glob() {
    let rig = Rig::new();
    rig.write(
        "p.yaml",
        "version: 1\ntools: { arguments: { bash: { runs: command } } }\nhooks:\n  - { name: h, on: pre_tool, match: { writes: \"src/*.py\" }, deny: no }\n",
    );
    for place in ["", r#","cwd":"rel""#, r#","workspace":"rel","cwd":"/repo""#, r#","cwd":"/repo""#]
    {
        for file in ["/repo/src/a.py", "src/a.py"] {
            let verdict = about_command(&rig, place, &format!("echo x > {file}"));
            assert_eq!(verdict, "deny", "{place} {file}");
        }
        assert_eq!(about_command(&rig, place, "echo x > /repo/docs/a.md"), "allow", "{place}");
    }
}

#[test]
fn a_relative_glob_permits_no_command_outside_of_the_project() {
    let rig = Rig::new();
    rig.write(
        "p.yaml",
        "version: 1\ndefault: { pre_tool: deny }\ntools: { arguments: { bash: { runs: command } } }\nhooks:\n  - { name: h, on: pre_tool, match: { writes: \"**/*.py\" }, allow: {} }\n",
    );
    let place = r#","cwd":"/repo""#;
    assert_eq!(about_command(&rig, place, "touch /repo/a/x.py"), "allow");
    assert_eq!(about_command(&rig, place, "touch /etc/x.py"), "deny");
    assert_eq!(about_command(&rig, "", "touch /etc/x.py"), "deny");
}
