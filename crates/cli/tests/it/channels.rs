//! One corpus through every channel of the binary: nothing of it is printed in plain text.
//!
//! The channels of the library are looked at in `crates/tollgate/tests/it/channels.rs`.

use crate::rig::Rig;
use tollgate::gate::Channel;

const POLICY: &str = r#"
version: 1
hooks:
  - name: masked
    on: [before, after]
    priority: 0
    redact: { find: [secrets, pii], custom: [{ id: member, pattern: "M-[0-9]{6}", keywords: [call] }] }
  - name: clamp
    on: pre_tool
    match: { tool: clamped }
    rewrite: { note: { set: "nothing" } }
"#;

/// What must not be printed.
const DATA: [&str; 5] = [
    "ghp_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6",
    "hunter2-and-more!",
    "13812345678",
    "zhangsan@x.com",
    "M-123456",
];

fn arguments() -> String {
    let [token, password, phone, mail, member] = DATA;
    format!(
        r#"{{"note":"use {token}, call {phone}, {member}","password":"{password}","{mail}":1,"n":{phone}}}"#
    )
}

fn event(id: &str, tool: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"kind\":\"pre_tool\",\"session\":{{\"id\":\"s1\"}},\"payload\":{{\"tool\":\"{tool}\",\"arguments\":{}}}}}\n",
        arguments()
    )
}

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", POLICY);
    rig.write("project/event.json", &event("e1", "read"));
    rig.write("project/events.jsonl", &(event("e1", "read") + &event("e2", "clamped")));
    rig
}

/// What a scan tells; the rig names the user's policy.
fn scanned(rig: &Rig) -> String {
    let formats = ["text", "json", "sarif"].map(|format| {
        let ran = rig.run(&["scan", "--format", format, "event.json"]).expect(1);
        assert!(ran.out.contains("member"), "{format}: {}", ran.out);
        ran.out + &ran.err
    });
    formats.concat()
}

/// What a filter lets through, by the policy and without one.
fn filtered(rig: &Rig) -> String {
    let by_policy = rig.run_in("project", &["redact"], &arguments(), &[]).expect(0);
    // The rule of a member's number is the policy's own.
    let known = arguments().replace(DATA[4], "");
    let folder = rig.path("project");
    let report = crate::rig::run(&folder, &["redact", "--report"], &known, &[]).expect(0);
    [by_policy.out, by_policy.err, report.out, report.err].concat()
}

/// Of personal data a record keeps what was asked; of secrets nothing.
fn secrets_are_in_no_report(rig: &Rig) {
    let ledger = rig.path("state/ledger");
    let ledger = ledger.to_str().unwrap();
    let more = ["--jsonl", "--ledger", ledger];
    rig.decide("user.yaml", &more, &event("e1", "read")).expect(0);
    let asked: [&[&str]; 4] =
        [&["list"], &["list", "--json"], &["show", "e1"], &["show", "--session", "s1"]];
    for asked in asked {
        let all = [&["audit"], asked, &["--ledger", ledger]].concat();
        let ran = rig.run_in("project", &all, "", &[]).expect(0);
        assert!(ran.out.contains("read"), "{}", ran.out);
        let told = ran.out + &ran.err;
        assert!(DATA[..2].iter().all(|secret| !told.contains(secret)), "{told}");
    }
}

/// What is said of an event that cannot be read.
fn unreadable(rig: &Rig) -> String {
    let ran = rig.decide("user.yaml", &[], &event("e1", "read").replace("pre_tool", "pre"));
    let ran = ran.expect(2);
    [ran.out, ran.err].concat()
}

/// What a channel printed; `None` where another test looks.
fn printed(rig: &Rig, channel: Channel) -> Option<String> {
    Some(match channel {
        Channel::Explanation => {
            let text = rig.run(&["explain", "--event", "event.json"]).expect(0);
            assert!(text.out.contains("note: \"(hidden)\" ->"), "{}", text.out);
            let json = rig.run(&["explain", "--event", "event.json", "--format", "json"]).expect(0);
            let clamped =
                rig.run_in("project", &["explain", "--event", "-"], &event("e2", "clamped"), &[]);
            [text.out, text.err, json.out, json.err, clamped.expect(0).out].concat()
        }
        Channel::TestReport => {
            let step = format!(
                "version: 1\ntests:\n  - name: masks\n    steps:\n      - {{ tool: read, args: {}, expect: {{ args: {{}} }} }}\n",
                arguments()
            );
            rig.write("project/p.tests.yaml", &step);
            let policy = rig.path("user.yaml").display().to_string();
            let ran = crate::rig::run(
                &rig.path("project"),
                &["test", "--policy", &policy, "p.tests.yaml"],
                "",
                &[],
            );
            let ran = ran.expect(1);
            [ran.out, ran.err].concat()
        }
        Channel::BacktestReport => {
            rig.write(
                "project/old.yaml",
                "version: 1\nhooks: [{ name: a, on: pre_tool, match: { tool: x }, deny: no }]\n",
            );
            let all =
                ["backtest", "../user.yaml", "--old", "old.yaml", "--against", "events.jsonl"];
            let text = rig.run(&all).expect(0);
            assert!(text.out.contains("rewritten otherwise"), "{}", text.out);
            let json = rig.run(&[&all[..], &["--format", "json"]].concat()).expect(0);
            [text.out, text.err, json.out, json.err].concat()
        }
        Channel::Record => {
            let ledger = rig.path("state/ledger");
            let more = ["--jsonl", "--ledger", ledger.to_str().unwrap()];
            rig.decide("user.yaml", &more, &event("e1", "read")).expect(0);
            let records = rig.records("decision");
            assert_eq!(records.len(), 1);
            // Of personal data a record keeps what was asked; of secrets nothing.
            let text = records[0].to_string();
            assert!(DATA[..2].iter().all(|secret| !text.contains(secret)), "{text}");
            return None;
        }
        Channel::ScanReport => scanned(rig),
        Channel::FilteredText => filtered(rig),
        Channel::AuditReport => {
            secrets_are_in_no_report(rig);
            return None;
        }
        Channel::Decision => rig.decide("user.yaml", &[], &event("e1", "read")).expect(0).out,
        Channel::ErrorMessage => unreadable(rig),
        // crates/tollgate/tests/it/channels.rs
        Channel::Context
        | Channel::Prompt
        | Channel::Memory
        | Channel::ModelRequest
        | Channel::ModelReply
        | Channel::ToolArguments
        | Channel::ToolResult
        | Channel::ToolError
        | Channel::FinalAnswer
        | Channel::Trace
        | Channel::Approval
        | Channel::Metrics => return None,
    })
}

#[test]
fn nothing_that_is_masked_is_printed() {
    for channel in Channel::ALL {
        let rig = rig();
        let Some(text) = printed(&rig, channel) else { continue };
        assert!(!text.is_empty(), "{channel:?}");
        for datum in DATA {
            assert!(!text.contains(datum), "{channel:?}: {datum} in {text}");
        }
    }
}
