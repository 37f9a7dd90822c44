//! `tollgate review`: a person looks at what hooks found or would have done, and says whether it was
//! right; the marks become rates and labels.

use crate::rig::Rig;
use std::fs;

const POLICY: &str = r#"
version: 1
hooks:
  - name: trial
    on: pre_tool
    match: { tool: fetch }
    dry_run: true
    deny: { code: EXTERNAL_HOST, reason: "not on the list" }
  - name: masks
    on: pre_tool
    match: { tool: send_mail }
    redact: { find: email }
"#;

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", POLICY);
    let mut events = String::new();
    for at in 0..6 {
        let (tool, arguments) = match at % 3 {
            0 => ("fetch", r#"{"url":"https://example.net"}"#),
            1 => ("send_mail", r#"{"to":"zhangsan@example.com"}"#),
            _ => ("list_files", "{}"),
        };
        events.push_str(&format!(
            r#"{{"id":"event-{at}","kind":"pre_tool","session":{{"id":"s1","user":"bob"}},"payload":{{"tool":"{tool}","arguments":{arguments}}}}}"#
        ));
        events.push('\n');
    }
    let ledger = rig.path("state/ledger");
    let arguments = ["decide", "--jsonl", "--ledger", ledger.to_str().unwrap()];
    rig.run_in("project", &arguments, &events, &[]).expect(0);
    rig
}

#[test]
fn what_is_listed_are_findings_and_dry_hits_that_nobody_has_marked() {
    let rig = rig();
    let all = rig.run(&["review", "--json"]).expect(0).lines();
    let of = |hook: &str| all.iter().filter(|item| item["hook"] == hook).count();
    assert_eq!((of("trial"), of("masks"), all.len()), (2, 2, 4));
    rig.run(&["review", "true", "event-0"]).expect(0);
    assert_eq!(rig.run(&["review", "--json"]).expect(0).lines().len(), 3);
    assert_eq!(rig.run(&["review", "--json", "--hook", "trial"]).expect(0).lines().len(), 1);
    let shown = rig.run(&["review"]).expect(0).out;
    assert!(shown.contains("event-3  would have EXTERNAL_HOST  trial"), "{shown}");
}

#[test]
fn marks_become_rates_with_an_interval_and_labels_that_a_backtest_reads() {
    let rig = rig();
    rig.run(&["review", "true", "event-0"]).expect(0);
    rig.run(&["review", "false", "event-3", "--hook", "trial"]).expect(0);
    rig.run(&["review", "false", "event-2"]).expect(2);
    let stats = rig.run(&["review", "stats", "--json"]).expect(0).json();
    let trial = stats["rules"].as_array().unwrap().iter().find(|rule| rule["hook"] == "trial");
    let wrong = &trial.unwrap()["false_positives"];
    assert_eq!((wrong["part"].as_u64(), wrong["whole"].as_u64()), (Some(1), Some(2)));
    assert!(wrong["from"].as_f64().unwrap() > 0.09 && wrong["to"].as_f64().unwrap() < 0.91);
    assert!(rig.run(&["review", "stats"]).expect(0).out.contains("50.0 % (9.5 to 90.5)"));
    let labels = rig.run(&["review", "labels"]).expect(0).out;
    assert_eq!(labels.lines().count(), 2);
    rig.write("project/labels.jsonl", &labels);
    let ledger = rig.path("state/ledger");
    let policy = rig.path("user.yaml");
    let arguments = [
        "backtest",
        policy.to_str().unwrap(),
        "--against",
        ledger.to_str().unwrap(),
        "--labels",
        "labels.jsonl",
        "--format",
        "json",
    ];
    rig.run(&arguments).expect(0);
}

/// What a host is told to run in place of a command that names this recipient; empty: the command.
fn mailed(rig: &Rig, to: &str) -> String {
    let command = format!("mail {to}");
    let call = tollgate_hosts::canned::shell_call("claude-code", "s1", "/", &command).unwrap();
    rig.run_by_a_host(&["hook", "claude-code"], &call).expect(0).out
}

/// The records that nobody has marked.
fn unmarked(rig: &Rig) -> Vec<String> {
    let items = rig.run(&["review", "--json"]).expect(0).lines();
    items.iter().map(|item| item["record"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_false_alarm_is_let_through_the_next_time_and_another_value_is_not() {
    let rig = Rig::new();
    let policy = POLICY.replace("find: email", "find: email, allow: { reviewed: true }");
    rig.write("user.yaml", &policy.replace("tool: send_mail", "tool: Bash"));
    assert!(mailed(&rig, "bob@example.com").contains("mail b***@example.com"));
    let found = unmarked(&rig);
    rig.run(&["review", "false", &found[0]]).expect(0);
    assert_eq!(mailed(&rig, "bob@example.com"), "", "it goes as it is");
    assert!(mailed(&rig, "amy@example.com").contains("mail a***@example.com"));
    let marks = fs::read_to_string(rig.path("state/reviews.jsonl")).unwrap();
    assert!(marks.contains("prints") && !marks.contains("bob@"), "{marks}");
    rig.run(&["review", "true", &found[0]]).expect(0);
    assert!(mailed(&rig, "bob@example.com").contains("mail b***@example.com"));
}

#[test]
fn a_project_makes_no_use_of_what_a_person_said_of_findings() {
    let rig = Rig::new();
    let policy = POLICY.replace("find: email", "find: email, allow: { reviewed: true }");
    rig.write("project/tollgate.yaml", &policy);
    rig.run(&["check", "--as", "user", "tollgate.yaml"]).expect(0);
    let refused = rig.run(&["check", "--as", "project", "tollgate.yaml"]).expect(2);
    let told = refused.out + &refused.err;
    assert!(told.contains("`redact.allow.reviewed`: nobody's reviews are known here"), "{told}");
}

#[test]
fn marks_that_others_could_have_written_are_not_believed() {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = rig();
    rig.run(&["review", "true", "event-0"]).expect(0);
    let file = rig.path("state/reviews.jsonl");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let refused = rig.run(&["review", "stats"]).expect(2);
    assert!(refused.err.contains("is not to be trusted"), "{}", refused.err);
}
