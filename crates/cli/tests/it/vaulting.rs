//! The vault from end to end, across processes: what the model reads holds placeholders, one tool gets the
//! datum, and nothing that is kept holds it.

use crate::rig::{Ran, Rig};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const POLICY: &str = include_str!("../../../../docs/vault.md");
const MAIL: &str = "jane.doe@corp.io";

/// The page's own example.
fn policy() -> String {
    let rest = POLICY.split_once("```yaml\n").unwrap().1;
    rest.split_once("```").unwrap().0.to_owned()
}

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", &policy());
    rig
}

fn hook(rig: &Rig, session: &str, event: &str, tool: &str, more: Value) -> Ran {
    let mut message = json!({
        "session_id": session, "transcript_path": "/t", "cwd": rig.path("project"),
        "permission_mode": "default", "hook_event_name": event, "tool_name": tool,
        "tool_use_id": format!("toolu_{event}_{}", more.to_string().len()),
    });
    for (key, value) in more.as_object().unwrap() {
        message[key] = value.clone();
    }
    // A refusal has an exit code of its own.
    rig.run_by_a_host(&["hook", "claude-code"], &message.to_string())
}

/// What the model reads of a customer, and the placeholder in it.
fn placeholder(rig: &Rig, session: &str) -> String {
    let response = json!([{"type": "text", "text": format!("customer: {MAIL}")}]);
    let ran = hook(
        rig,
        session,
        "PostToolUse",
        "mcp__crm__get_customer",
        json!({"tool_input": {"id": 1}, "tool_response": response}),
    );
    assert!(!ran.out.contains(MAIL), "{}", ran.out);
    let at = ran.out.find("[EMAIL:v").unwrap_or_else(|| panic!("{}", ran.out));
    ran.out[at..at + "[EMAIL:v0123456789abcdef]".len()].to_owned()
}

fn before(rig: &Rig, session: &str, tool: &str, input: Value) -> String {
    hook(rig, session, "PreToolUse", tool, json!({"tool_input": input})).out
}

fn all_text(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(all_text(&path));
        } else {
            all.extend(fs::read(&path).unwrap_or_default());
        }
    }
    all
}

#[test]
fn a_datum_goes_to_the_tool_that_is_named_and_stands_nowhere_else() {
    let rig = rig();
    let mask = placeholder(&rig, "s1");
    assert_eq!(placeholder(&rig, "s1"), mask, "the same datum has the same placeholder");

    let sent = before(&rig, "s1", "mcp__crm__send_mail", json!({"to": mask, "text": "hello"}));
    assert!(sent.contains(MAIL), "{sent}");

    // What comes back is looked through, in any encoding.
    let hex: String = MAIL.bytes().map(|byte| format!("{byte:02x}")).collect();
    let response = json!([{"type": "text", "text": format!("sent to {MAIL} ({hex})")}]);
    let back = hook(
        &rig,
        "s1",
        "PostToolUse",
        "mcp__crm__send_mail",
        json!({"tool_input": {"to": MAIL, "text": "hello"}, "tool_response": response}),
    );
    assert!(!back.out.contains(MAIL) && !back.out.contains(&hex), "{}", back.out);
    assert_eq!(back.out.matches(&mask).count(), 2, "{}", back.out);

    let kept = all_text(&rig.path("state"));
    assert!(!kept.windows(MAIL.len()).any(|part| part == MAIL.as_bytes()), "the state holds it");
    let explained = rig.run_in("project", &["explain", "--last"], "", &[]);
    assert!(!(explained.out + &explained.err).contains(MAIL));
    let listed = rig.run_in("project", &["audit", "list", "--json"], "", &[]).expect(0);
    assert!(!listed.out.contains(MAIL) && listed.out.contains("vault_revealed"), "{}", listed.out);
}

#[test]
fn a_placeholder_opens_nothing_for_other_tools_arguments_sessions_or_texts() {
    let rig = rig();
    let mask = placeholder(&rig, "s1");
    for (session, tool, input) in [
        ("s1", "mcp__crm__other", json!({"to": mask})),
        ("s1", "mcp__crm__send_mail", json!({"text": mask})),
        ("s1", "mcp__crm__send_mail", json!({"to": format!("{mask}, and you")})),
        ("s2", "mcp__crm__send_mail", json!({"to": mask})),
        ("s1", "mcp__crm__send_mail", json!({"to": "[EMAIL:v0000000000000000]"})),
        ("s1", "Bash", json!({"command": format!("mail {mask}")})),
        ("s1", "Write", json!({"file_path": "a.txt", "content": mask})),
    ] {
        let out = before(&rig, session, tool, input.clone());
        assert!(!out.contains(MAIL), "{session} {tool} {input}: {out}");
    }
    let written = before(&rig, "s1", "Write", json!({"file_path": "a.txt", "content": mask}));
    assert!(written.contains("deny"), "a mask is not written back: {written}");
}

#[test]
fn a_vault_that_cannot_be_used_lets_no_datum_through() {
    let rig = rig();
    let mask = placeholder(&rig, "s1");
    for entry in fs::read_dir(rig.path("state/vault")).unwrap().flatten() {
        fs::write(entry.path(), "damaged").unwrap();
    }
    let sent = before(&rig, "s1", "mcp__crm__send_mail", json!({"to": mask}));
    assert!(sent.contains("deny") && !sent.contains(MAIL), "{sent}");
    let response = json!([{"type": "text", "text": format!("customer: {MAIL}")}]);
    let read = hook(
        &rig,
        "s1",
        "PostToolUse",
        "mcp__crm__get_customer",
        json!({"tool_input": {"id": 1}, "tool_response": response}),
    );
    assert!(!read.out.contains(MAIL), "{}", read.out);
    assert!(read.out.contains("withheld"), "{}", read.out);
}

#[test]
fn a_policy_that_would_reveal_to_anybody_does_not_load() {
    let rig = Rig::new();
    for (hook, says) in [
        (
            "{ name: r, on: pre_tool, rewrite: { to: { reveal: vault } } }",
            "tools that the hook names",
        ),
        (
            "{ name: r, on: pre_tool, match: { tool: \"send_*\" }, rewrite: { to: { reveal: vault } } }",
            "tools that the hook names",
        ),
        (
            "{ name: r, on: post_tool, match: { tool: send }, rewrite: { to: { reveal: vault } } }",
            "calls of tools only",
        ),
        (
            "{ name: r, on: pre_tool, match: { tool: send }, rewrite: { to: { reveal: safe } } }",
            "keeps nothing",
        ),
        (
            "{ name: r, on: pre_tool, match: { tool: send }, rewrite: { to: { hosts: [a.io], max: 3 } } }",
            "nothing to `reveal`",
        ),
        (
            "{ name: r, on: pre_tool, match: { tool: send }, rewrite: { to: { reveal: vault, max: 3 } } }",
            "stands alone",
        ),
    ] {
        rig.write("project/p.yaml", &format!("version: 1\nhooks: [{hook}]\n"));
        let ran = rig.run(&["check", "p.yaml"]);
        let told = ran.out.clone() + &ran.err;
        assert!(told.contains(says), "{hook}: {told}");
    }
}

#[test]
fn with_hosts_only_a_tool_whose_destination_the_policy_names_gets_a_datum() {
    let rig = Rig::new();
    let hosts = policy().replace("{ reveal: vault }", "{ reveal: vault, hosts: [mail.acme.com] }");
    let named = "tools: { arguments: { send_mail: { contacts: smtp } } }\n";
    let there = json!("mail.acme.com");
    for (tools, key, host, gets) in [
        (named, "smtp", &there, true),
        (named, "smtp", &json!("evil.io"), false),
        (named, "smtp", &json!(["mail.acme.com", "evil.io"]), false),
        (named, "relay", &there, false),
        ("", "smtp", &there, false),
        ("", "url", &json!("https://mail.acme.com"), false),
    ] {
        rig.write("user.yaml", &format!("{hosts}{tools}"));
        let mask = placeholder(&rig, "s1");
        let out = before(&rig, "s1", "mcp__crm__send_mail", json!({"to": mask, key: host}));
        assert_eq!(out.contains(MAIL), gets, "{tools}{key}: {host}: {out}");
    }
}

#[test]
fn what_is_erased_from_the_ledger_is_gone_from_the_vault_too() {
    let rig = rig();
    let files = |rig: &Rig| {
        let entries = fs::read_dir(rig.path("state/vault")).unwrap().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "vault")).count()
    };
    let mask = placeholder(&rig, "s1");
    placeholder(&rig, "s2");
    assert_eq!(files(&rig), 2);
    let ran = rig.run(&["audit", "erase", "--session", "s1", "--yes"]).expect(0);
    assert!(ran.out.contains("vault kept of 1 of its sessions is gone"), "{}", ran.out);
    assert_eq!(files(&rig), 1);
    assert_eq!(rig.records("erased")[0]["detail"]["vaults"], 1);
    let sent = before(&rig, "s1", "mcp__crm__send_mail", json!({"to": mask}));
    assert!(!sent.contains(MAIL), "{sent}");
    let again = placeholder(&rig, "s1");
    assert_ne!(again, mask, "nothing is known of the old one");
    rig.run(&["audit", "erase", "--user", &tollgate::places::user_name(), "--yes"]).expect(0);
    assert_eq!(files(&rig), 0);
}
