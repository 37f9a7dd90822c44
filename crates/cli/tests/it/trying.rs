//! `tollgate try`: what is seen in a command, and what the policy says of it.

use crate::rig::{Rig, run};
use serde_json::json;
use std::fs;

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", include_str!("../../../../policies/coding.yaml"));
    rig
}

#[test]
fn what_is_seen_and_what_the_policy_says_of_it() {
    let rig = rig();
    let tried = rig.run(&["try", "ls && sh -c 'rm -rf /srv/x'"]).expect(1).out;
    assert!(tried.contains("deletes  /srv/x and all below  rm -rf /srv/x"), "{tried}");
    assert!(tried.contains("deny by deletes-stay-inside (hook_denied)"), "{tried}");
    assert!(tried.contains("reason: "), "{tried}");
    assert!(tried.contains("remedy: "), "{tried}");
    let passed = rig.run(&["try", "make test"]).expect(0).out;
    assert!(passed.contains("\nallow\n"), "{passed}");
}

#[test]
fn a_person_would_be_asked_is_a_no_of_its_own() {
    let tried = rig().run(&["try", "git reset --hard", "--format", "json"]).expect(1).json();
    assert_eq!((&tried["verdict"], &tried["code"]), (&json!("ask"), &json!("approval_required")));
    assert_eq!(tried["hook"], "destruction-needs-a-person");
    let effects = tried["effects"].as_array().unwrap();
    assert!(effects.iter().any(|e| e["effect"] == "destroys" && e["target"] == "work"));
    assert!(effects.iter().all(|e| e["piece"] == "git reset --hard"));
}

#[test]
fn canonical_calls_tools_and_folders_can_be_tried() {
    let rig = rig();
    rig.run(&["try", "--call", r#"{"kind": "read", "path": ".env"}"#]).expect(1);
    rig.run(&["try", "--call", r#"{"kind": "read", "path": "README.md"}"#]).expect(0);
    fs::create_dir(rig.path("project/sub")).unwrap();
    rig.run(&["try", "rm -rf .git/refs"]).expect(1);
    rig.run(&["try", "rm -rf .git/refs", "--cwd", "sub"]).expect(0);
}

#[test]
fn what_cannot_be_tried_is_a_mistake_with_a_remedy() {
    let rig = rig();
    for (arguments, words) in [
        (&["try"] as &[&str], "COMMAND"),
        (&["try", "ls", "--tool", "x"], "cannot be used with"),
        (&["try", "--call", "{"], "--call is no JSON"),
        (&["try", "--call", "[]"], "--call must be a JSON object"),
        (&["try", "--call", r#"{"kind": "shel", "command": "ls"}"#], "there is no `shel`"),
        (&["try", "--call", r#"{"kind": "shell", "cmd": "ls"}"#], "missing field `command`"),
        (&["try", "--call", r#"{"kind": "read", "path": 3}"#], "`read` is not understood"),
        (&["try", "--call", r#"{"kind": "patch"}"#], "missing field `patch`"),
        (&["try", "--call", r#"{"kind": "patch"}"#], r#"{"kind": "patch", "patch": "#),
        (&["try", "--call", r#"{"kind": "fetch"}"#], r#"{"kind": "fetch", "url": "#),
        (&["try", "--tool", "x", "--args", "{"], "--args is no JSON"),
        (&["try", "--call", "{}"], "has no `kind`"),
        (&["try", "ls", "--cwd", "nowhere"], "cannot be found"),
    ] {
        let said = rig.run(arguments).expect(2).err;
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn a_tool_of_which_nothing_is_known_is_unknown_and_not_harmless() {
    let rig = rig();
    let arguments = r#"{"command": "rm -rf /etc"}"#;
    let tried = rig.run(&["try", "--tool", "Bash", "--args", arguments]).expect(0).out;
    assert!(tried.contains("unknown: nothing says what this tool's arguments mean"), "{tried}");
    let tried = rig.run(&["try", "--tool", "Bash", "--args", arguments, "--format", "json"]);
    assert_eq!(tried.expect(0).json()["effects"][0]["unknown"], true);
}

#[test]
fn a_part_of_the_call_beside_the_payload_is_a_mistake_and_not_passed_over() {
    let rig = rig();
    for (key, value) in [
        ("call", json!({ "kind": "shell", "command": "rm -rf /etc" })),
        ("arguments", json!({ "path": "/etc" })),
        ("server", json!("files")),
    ] {
        let mut event = json!({
            "kind": "pre_tool", "session": { "id": "s" }, "payload": { "tool": "Bash" },
        });
        event[key] = value;
        fs::write(rig.path("project/event.json"), event.to_string()).unwrap();
        for command in ["try", "explain"] {
            let said = rig.run(&[command, "--event", "event.json"]).expect(2).err;
            let words = format!("event field `{key}` must be inside of `payload`, found beside it");
            assert!(said.contains(&words), "{said}");
        }
    }
}

#[test]
fn what_the_guard_refuses_is_no_allow_in_an_explanation() {
    let rig = rig();
    let path = rig.path("user.yaml").display().to_string();
    let command = format!("rm {path}");
    let event = json!({
        "kind": "pre_tool", "session": { "id": "s" },
        "payload": { "tool": "Bash", "call": { "kind": "shell", "command": command } },
    });
    fs::write(rig.path("project/event.json"), event.to_string()).unwrap();
    let told = rig.run(&["explain", "--event", "event.json"]).expect(0).out;
    assert!(told.contains("deny by tollgate-guards-itself"), "{told}");
    rig.run(&["try", "claude-code", &command]).expect(1);
    let told = rig.run(&["explain", "--last"]).expect(0).out;
    assert!(told.contains("deny by tollgate-guards-itself"), "{told}");
    assert!(!told.contains("decided otherwise"), "{told}");
}

#[test]
fn a_projects_policy_that_is_named_counts_once_and_a_host_can_be_tried_with_it() {
    let rig = rig();
    let project = rig.path("project");
    fs::copy(rig.path("user.yaml"), project.join("tollgate.yaml")).unwrap();
    let state = rig.path("state").display().to_string();
    let all = ["--state", &state, "--policy", "tollgate.yaml"];
    let run = |arguments: &[&str]| run(&project, &[&all, arguments].concat(), "", &[]);
    run(&["try", "claude-code", "ls"]).expect(0);
    let refused = run(&["try", "claude-code", "rm -rf /srv/x"]).expect(1).out;
    assert!(refused.contains("hook `deletes-stay-inside`"), "{refused}");
}

#[test]
fn a_policy_that_does_not_load_is_told_to_who_tries_a_host_with_its_place() {
    let rig = rig();
    rig.write("user.yaml", "version: 1\nhooks:\n  - { name: x, on: pre_tool }\n");
    let told = rig.run(&["try", "claude-code", "ls"]).expect(2);
    assert!(told.err.contains("user.yaml:3"), "{}", told.err);
    assert!(!told.out.contains("allow --last"), "{}", told.out);
}

#[test]
fn an_explanation_can_show_the_effects_first() {
    let rig = rig();
    let event = json!({
        "kind": "pre_tool",
        "session": { "id": "s", "cwd": "/repo", "workspace": "/repo" },
        "payload": { "tool": "Bash", "arguments": {}, "call": { "kind": "shell", "command": "rm -rf /etc" } },
    });
    fs::write(rig.path("project/event.json"), event.to_string()).unwrap();
    let told = rig.run(&["explain", "--event", "event.json", "--effects"]).expect(0).out;
    assert!(told.contains("deletes  /etc and all below  rm -rf /etc"), "{told}");
    let whole = rig.run(&["explain", "--event", "event.json", "--effects", "--format", "json"]);
    assert_eq!(whole.expect(0).json()["effects"][0]["effect"], "runs");
}

#[test]
fn arguments_that_a_policy_declares_are_effects_too() {
    let rig = Rig::new();
    rig.write(
        "user.yaml",
        "version: 1\ntools: { arguments: { copy: { writes: to } } }\nhooks:\n  - { name: locks, on: pre_tool, match: { writes: \"*.lock\" }, deny: no }\n",
    );
    let refused = rig.run(&["try", "--tool", "copy", "--args", r#"{"to": "a.lock"}"#]);
    let refused = refused.expect(1).out;
    assert!(refused.contains("writes  a.lock  the argument to"), "{refused}");
    rig.run(&["try", "--tool", "copy", "--args", r#"{"to": "a.txt"}"#]).expect(0);
}

#[test]
fn a_hook_of_the_policy_that_refuses_is_named_before_the_guard_of_the_folders_below() {
    let rig = rig();
    for command in ["rm -rf /", "rm -rf ~"] {
        let tried = rig.run(&["try", command, "--format", "json"]).expect(1).json();
        assert_eq!(tried["hook"], "deletes-stay-inside", "{command}");
    }
    rig.write("user.yaml", "version: 1\nhooks: [{ name: x, on: pre_model, deny: no }]\n");
    let tried = rig.run(&["try", "rm -rf /", "--format", "json"]).expect(1).json();
    assert_eq!(tried["hook"], "tollgate-guards-itself-in-folders");
}

#[test]
fn trying_asks_nobody() {
    let rig = rig();
    let state = rig.path("state").display().to_string();
    let policy = rig.path("user.yaml").display().to_string();
    let all = ["--state", &state, "--policy", &policy];
    let run = |arguments: &[&str]| run(&rig.path("project"), &[&all, arguments].concat(), "", &[]);
    let tried = run(&["try", "git reset --hard"]).expect(1).out;
    assert!(tried.contains("ask by destruction-needs-a-person"), "{tried}");
    assert!(!tried.contains("approvals approve"), "{tried}");
    run(&["try", "codex", "git reset --hard"]).expect(1);
    let waiting = run(&["approvals", "list"]).expect(0).out;
    assert!(!waiting.contains("git reset"), "{waiting}");
}
