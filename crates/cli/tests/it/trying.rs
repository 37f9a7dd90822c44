//! `tollgate try`: what is seen in a command, and what the policy says of it.

use crate::rig::Rig;
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
        (&["try", "--call", "{"], "no JSON"),
        (&["try", "--call", "[]"], "must be a JSON object"),
        (&["try", "--call", "{}"], "has no `kind`"),
        (&["try", "ls", "--cwd", "nowhere"], "cannot be found"),
    ] {
        let said = rig.run(arguments).expect(2).err;
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
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
