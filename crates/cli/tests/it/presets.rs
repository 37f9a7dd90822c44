//! The presets of `policies/`: each is a sound project's policy, and decides as its page says.

use crate::rig::Rig;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tollgate::Places;
use tollgate::gate::Timestamp;
use tollgate::policy::suite::{Suite, run};
use tollgate::policy::{Layer, LayerKind};

fn preset(name: &str) -> (Rig, String) {
    let rig = Rig::new();
    rig.run(&["init", "--preset", name]).expect(0);
    (rig, "project/tollgate.yaml".to_owned())
}

fn event(tool: &str, server: Option<&str>, arguments: Value) -> Value {
    json!({
        "kind": "pre_tool",
        "session": { "id": "s1", "user": "bob" },
        "payload": { "tool": tool, "server": server, "arguments": arguments },
    })
}

#[track_caller]
fn decide(rig: &Rig, policy: &str, events: &[Value]) -> Vec<(String, Value)> {
    let input: String = events.iter().map(|event| format!("{event}\n")).collect();
    let lines = rig.decide(policy, &["--jsonl"], &input).expect(0).lines();
    lines
        .into_iter()
        .map(|line| (line["verdict"].as_str().unwrap().to_owned(), line["hook"].clone()))
        .collect()
}

#[test]
fn every_preset_is_a_sound_policy_of_a_project() {
    for name in ["observe-only", "support-desk", "mcp", "coding"] {
        let (rig, _) = preset(name);
        rig.run(&["check", "--strict", "--as", "project", "tollgate.yaml"]).expect(0);
        rig.run(&["check"]).expect(0);
    }
}

#[test]
fn the_tests_beside_each_preset_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let now = Timestamp::parse("2026-11-30").unwrap();
    for name in ["observe-only", "support-desk", "mcp", "coding"] {
        let text = fs::read_to_string(folder.join(format!("{name}.tests.yaml"))).unwrap();
        let suite = Suite::read(name, &text).unwrap_or_else(|report| panic!("{}", report.text()));
        let layer = Layer::named(LayerKind::Project, folder.join(format!("{name}.yaml")));
        let loaded = Places::of_user(&folder).unwrap().load_layers(&[layer], now).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let report = runtime.block_on(run(&suite, &loaded)).unwrap();
        assert!(!report.cases.is_empty());
        assert_eq!(report.failed(), 0, "{}", report.text());
        assert_eq!(report.coverage.never_fired, [""; 0], "{name}: every hook is reached");
    }
}

#[test]
fn observe_only_says_what_would_have_been_and_refuses_nothing() {
    let (rig, policy) = preset("observe-only");
    let decided = rig.decide(&policy, &[], &event("delete_file", None, json!({})).to_string());
    let decided = decided.expect(0).json();
    assert_eq!(decided["verdict"], "allow");
    let votes = decided["votes"].as_array().unwrap();
    let would = votes.iter().find(|v| v["hook"] == "deletions-would-be-asked-for").unwrap();
    assert_eq!((&would["vote"], &would["dry_run"]), (&json!("ask"), &json!(true)));
}

#[test]
fn support_desk_keeps_secrets_data_and_money() {
    let (rig, policy) = preset("support-desk");
    let mail = |to: &str, text: &str| event("send_email", None, json!({ "to": to, "text": text }));
    let events = [
        event("delete_customer", None, json!({})),
        mail("a@other.org", "your password is 1"),
        event("refund", None, json!({ "amount": 50 })),
        event("refund", None, json!({ "amount": 5000 })),
        event("refund", None, json!({})),
        mail("a@other.org", "hello"),
        mail("a@example.com", "hello"),
    ];
    let expected = [
        ("deny", json!("nothing-is-deleted")),
        ("deny", json!("no-secrets-in-messages")),
        ("allow", json!(null)),
        ("deny", json!("large-refunds-need-a-supervisor")),
        ("deny", json!("large-refunds-need-a-supervisor")),
        ("deny", json!("mail-to-outside-needs-a-supervisor")),
        ("allow", json!(null)),
    ];
    let expected = expected.map(|(verdict, hook)| (verdict.to_owned(), hook));
    assert_eq!(decide(&rig, &policy, &events), expected);
}

#[test]
fn mcp_lets_reading_pass_asks_for_changes_and_refuses_destruction() {
    let (rig, policy) = preset("mcp");
    let on = |tool: &str, arguments: Value| event(tool, Some("github"), arguments);
    let events = [
        on("get_issue", json!({ "id": 1 })),
        on("create_issue", json!({ "title": "x" })),
        on("delete_repository", json!({})),
        on("get_issue", json!({ "id": "-----BEGIN PRIVATE KEY-----" })),
        event("create_file", None, json!({})),
    ];
    let expected = [
        ("allow", json!(null)),
        ("deny", json!("changes-need-a-person")),
        ("deny", json!("nothing-is-destroyed")),
        ("deny", json!("private-keys-stay-here")),
        ("allow", json!(null)),
    ];
    let expected = expected.map(|(verdict, hook)| (verdict.to_owned(), hook));
    assert_eq!(decide(&rig, &policy, &events), expected);
}
