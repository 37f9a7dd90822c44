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
  - name: barrier
    on: pre_tool
    priority: -10
    severity: high
    match: { tool: "*refused" }
    deny: no
  - name: large
    on: pre_tool
    match: { tool: asked }
    ask: { expires: 15m, reason: large }
  - name: one-a-minute
    on: pre_tool
    match: { tool: read }
    limit: { rate: 100/min, per: [session, tool] }
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

/// A ledger of calls that passed, were refused before the hook that masks, are asked about, ended and failed.
fn lived(rig: &Rig) {
    let before = ["read", "refused", "asked"].map(|tool| event(tool, tool)).concat();
    let after = |kind: &str, result: &str| {
        let payload =
            format!("{{\"tool\":\"read\",\"arguments\":{},\"result\":{result}}}", arguments());
        format!("{{\"kind\":\"{kind}\",\"session\":{{\"id\":\"s1\"}},\"payload\":{payload}}}\n")
    };
    let error = serde_json::to_string(&arguments()).unwrap();
    let ended = after("post_tool", &format!("{{\"ok\":true,\"content\":{}}}", arguments()));
    let failed =
        after("tool_error", &format!("{{\"ok\":false,\"executed\":true,\"error\":{error}}}"));
    let ledger = rig.path("state/ledger");
    let all = ["decide", "--jsonl", "--ledger", ledger.to_str().unwrap()];
    let ran = rig.run_in("project", &all, &(before + &ended + &failed), &[]);
    assert_eq!(ran.expect(0).out.lines().count(), 5);
}

/// What all of these print; each prints something.
fn all_of(rig: &Rig, commands: &[&[&str]]) -> String {
    let told = |arguments: &&[&str]| {
        let ran = rig.run(arguments);
        assert!(ran.code < 2 && !ran.out.is_empty(), "{arguments:?}: {} {}", ran.out, ran.err);
        ran.out + &ran.err
    };
    commands.iter().map(told).collect()
}

/// The records as they stand in the files of the ledger.
fn records(rig: &Rig) -> String {
    lived(rig);
    let kinds = ["decision", "outcome", "approval"].map(|kind| rig.records(kind));
    assert_eq!(kinds.each_ref().map(Vec::len), [3, 4, 1], "{kinds:?}");
    let refused = kinds[0].iter().find(|record| record["tool"] == "refused").unwrap();
    assert_eq!(
        (&refused["verdict"], &refused["asked"]["n"]),
        (&"deny".into(), &"138*********".into())
    );
    let outcomes = &kinds[1];
    assert!(outcomes.iter().any(|record| record["error"].is_string()), "{outcomes:?}");
    kinds.concat().iter().map(ToString::to_string).collect()
}

/// The listings of the ledger.
fn audited(rig: &Rig) -> String {
    lived(rig);
    let asked: [&[&str]; 5] = [
        &["audit", "list"],
        &["audit", "list", "--json"],
        &["audit", "show", "refused"],
        &["audit", "show", "--session", "s1"],
        &["audit", "stats"],
    ];
    all_of(rig, &asked)
}

fn approvals(rig: &Rig) -> String {
    lived(rig);
    let listed = rig.run(&["approvals", "list", "--format", "json"]).expect(0);
    let id = listed.json()["approvals"][0]["id"].as_str().unwrap().to_owned();
    listed.out + &all_of(rig, &[&["approvals", "list"], &["approvals", "show", &id]])
}

fn reviewed(rig: &Rig) -> String {
    lived(rig);
    let json = rig.run(&["review", "--json"]).expect(0);
    let id = json.lines()[0]["record"].as_str().unwrap().to_owned();
    let text = all_of(rig, &[&["review"]]);
    rig.run(&["review", "true", &id]).expect(0);
    json.out + &text + &all_of(rig, &[&["review", "stats"], &["review", "labels"]])
}

/// The ledger in each format of others.
fn exported(rig: &Rig) -> String {
    lived(rig);
    let formats = ["ocsf", "cef", "ecs"].map(|format| {
        let file = rig.path(format);
        let to = format!("file:{}", file.display());
        rig.run(&["audit", "export", "--format", format, "--to", &to]).expect(0);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("barrier"), "{text}");
        text
    });
    formats.concat()
}

fn alerted(rig: &Rig) -> String {
    let (port, received) = crate::alerting::webhook();
    let alerts = format!(
        "\nalerts:\n  - {{ name: ops, to: \"http://127.0.0.1:{port}/in\", severity: high }}\n"
    );
    rig.write("user.yaml", &(POLICY.to_owned() + &alerts));
    rig.run(&["hooks", "disable", "clamp", "--reason", "there is a ledger"]).expect(0);
    rig.run(&["alerts", "run"]).expect(0);
    lived(rig);
    let ran = rig.run(&["alerts", "run"]).expect(0);
    let told = received.try_recv().unwrap();
    assert!(told.contains("barrier"), "{told}");
    ran.out + &ran.err + &told
}

fn proved(rig: &Rig) -> String {
    lived(rig);
    rig.run(&["audit", "anchor", "--to", "anchor.jsonl"]).expect(0);
    all_of(rig, &[&["audit", "proof", "export", "refused"]])
}

/// What a host is told before and after calls.
fn answered(rig: &Rig) -> String {
    let value: serde_json::Value = serde_json::from_str(&arguments()).unwrap();
    let told = |event: &str, tool: &str, key: &str, more: serde_json::Value| {
        let mut message = serde_json::json!({
            "session_id": "s1", "transcript_path": "/t", "cwd": rig.path("project"),
            "permission_mode": "default", "hook_event_name": event, "tool_name": tool,
            "tool_use_id": "toolu_1", "tool_input": value,
        });
        message[key] = more;
        let ran = rig.run_in("project", &["hook", "claude-code"], &message.to_string(), &[]);
        assert!(ran.code == 0 || ran.code == 2, "{}", ran.err);
        ran.out + &ran.err
    };
    let content = serde_json::json!([{"type": "text", "text": arguments()}]);
    [
        told("PreToolUse", "mcp__s__read", "tool_input", value.clone()),
        told("PreToolUse", "mcp__s__refused", "tool_input", value.clone()),
        told("PostToolUse", "mcp__s__read", "tool_response", content),
        told("PostToolUseFailure", "mcp__s__read", "error", arguments().into()),
    ]
    .concat()
}

/// What a client and a server hear of each other, and what people are told of it.
fn relayed(rig: &Rig) -> String {
    const SERVER: &str = r#"
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$1"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case "$line" in
    *'"fails"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":%s}}\n' "$id" "$2" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}\n' "$id" "$2" ;;
  esac
done
"#;
    rig.write("server.sh", SERVER);
    let call = |id: u32, tool: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{}}}}}\n",
            arguments()
        )
    };
    let broken = format!("{{\"jsonrpc\":\"2.0\",\"id\":9,{}\n", arguments());
    let input = [call(1, "reads"), call(2, "fails"), call(3, "refused"), broken].concat();
    let (script, heard) = (rig.path("server.sh"), rig.path("heard"));
    let text = serde_json::to_string(&arguments()).unwrap();
    let program = ["sh", script.to_str().unwrap(), heard.to_str().unwrap(), &text];
    let all = [&["mcp", "--server", "srv", "--"], &program[..]].concat();
    let ran = rig.run_in("project", &all, &input, &[]).expect(0);
    for id in 1..=3 {
        assert!(ran.out.contains(&format!("\"id\":{id}")), "{id}: {} {}", ran.out, ran.err);
    }
    let heard = std::fs::read_to_string(heard).unwrap();
    assert!(heard.contains("reads") && !heard.contains("refused"), "{heard}");
    ran.out + &ran.err + &heard
}

/// What a wrapped command prints, the one that fails too.
fn commanded(rig: &Rig) -> String {
    rig.write("project/data.txt", &arguments());
    let command = "cat data.txt; echo; cat data.txt >&2; exit 3";
    let wrapped = rig.run(&["exec", "--wrap", command]).expect(0).out;
    let ran = std::process::Command::new("sh")
        .args(["-c", wrapped.trim_end_matches('\n')])
        .current_dir(rig.path("project"))
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.stdout.starts_with(b"{") && ran.stderr.starts_with(b"{"), "{ran:?}");
    text(&ran.stdout) + &text(&ran.stderr)
}

/// What is said of an event that cannot be read.
fn unreadable(rig: &Rig) -> String {
    let ran = rig.decide("user.yaml", &[], &event("e1", "read").replace("pre_tool", "pre"));
    let ran = ran.expect(2);
    [ran.out, ran.err].concat()
}

/// Explanations of events and of records, of calls that passed and that were refused before the mask.
fn explained(rig: &Rig) -> String {
    let text = rig.run(&["explain", "--event", "event.json"]).expect(0);
    assert!(text.out.contains("note: \"(hidden)\" ->"), "{}", text.out);
    let json = rig.run(&["explain", "--event", "event.json", "--format", "json"]).expect(0);
    let clamped = rig.run_in("project", &["explain", "--event", "-"], &event("e2", "clamped"), &[]);
    lived(rig);
    let refused = rig.run_in(
        "project",
        &["explain", "--event", "-", "--format", "json"],
        &event("e3", "refused"),
        &[],
    );
    let of_ledger =
        all_of(rig, &[&["explain", "--id", "refused"], &["explain", "--last", "--format", "json"]]);
    let printed = [text.out, text.err, json.out, json.err, clamped.expect(0).out];
    printed.concat() + &refused.expect(0).out + &of_ledger
}

/// What a policy test says that fails.
fn tested(rig: &Rig) -> String {
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

/// What a backtest says of calls that are rewritten otherwise.
fn backtested(rig: &Rig) -> String {
    rig.write(
        "project/old.yaml",
        "version: 1\nhooks: [{ name: a, on: pre_tool, match: { tool: x }, deny: no }]\n",
    );
    let all = ["backtest", "../user.yaml", "--old", "old.yaml", "--against", "events.jsonl"];
    let text = rig.run(&all).expect(0);
    assert!(text.out.contains("rewritten otherwise"), "{}", text.out);
    let json = rig.run(&[&all[..], &["--format", "json"]].concat()).expect(0);
    [text.out, text.err, json.out, json.err].concat()
}

/// What a channel printed; `None` where another test looks.
fn printed(rig: &Rig, channel: Channel) -> Option<String> {
    Some(match channel {
        Channel::Explanation => explained(rig),
        Channel::TestReport => tested(rig),
        Channel::BacktestReport => backtested(rig),
        Channel::Record => records(rig),
        Channel::ScanReport => scanned(rig),
        Channel::FilteredText => filtered(rig),
        Channel::AuditReport => audited(rig),
        Channel::Proof => proved(rig),
        Channel::Export => exported(rig),
        Channel::Alert => alerted(rig),
        Channel::ApprovalReport => approvals(rig),
        Channel::SessionReport => {
            lived(rig);
            let shown = &["sessions", "show", "s1"];
            all_of(rig, &[&["sessions", "list"], &["sessions", "list", "--format", "json"], shown])
        }
        Channel::LimitReport => {
            lived(rig);
            all_of(rig, &[&["limits", "show"], &["limits", "show", "--format", "json"]])
        }
        Channel::ReviewReport => reviewed(rig),
        Channel::Exception => {
            lived(rig);
            let ran = rig.run(&["allow", "--id", "refused"]).expect(2);
            assert!(ran.err.contains("cannot be pinned"), "{}", ran.err);
            ran.out + &ran.err
        }
        Channel::HookAnswer => answered(rig),
        Channel::RelayMessage => relayed(rig),
        Channel::CommandOutput => commanded(rig),
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
