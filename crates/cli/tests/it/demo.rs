//! The demo as a stranger runs it: what it prints, what it leaves, how it ends.

use super::rig::{Rig, run};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::process::{Command, Stdio};

fn scenes(answer: &Value) -> Vec<&Value> {
    answer["scenes"].as_array().unwrap().iter().collect()
}

#[test]
fn the_demo_shows_what_it_is_there_to_show_also_in_a_relative_folder() {
    let rig = Rig::new();
    let folder = rig.path("project");
    let ran = run(&folder, &["demo", "--json", "--keep", "kept"], "", &[]).expect(0);
    let answer = ran.json();
    let [workspace, data, people] = scenes(&answer)[..] else { panic!("{answer}") };
    assert_eq!(workspace["refused"], 1);
    assert_eq!(workspace["records"], 4);
    let tools = json!(["edit_file", "read_file", "list_files", "edit_file"]);
    assert_eq!(workspace["record_tools"], tools);
    assert_eq!(workspace["masked_results"], 1);
    assert_eq!(workspace["facts"]["test_file_unchanged"], true);
    assert_eq!(workspace["facts"]["plaintext_on_disk"], true);
    assert_eq!(
        workspace["calls"][0],
        json!({"tool": "edit_file", "ok": false, "code": "hook_denied", "executed": false})
    );
    assert_eq!(data["facts"]["off_sent"], 1);
    assert_eq!(data["facts"]["on_sent"], 0);
    assert_eq!(people["facts"]["ended_at_model_call"], 11);
    let source = fs::read_to_string(folder.join("kept/scene-1/workspace/calculator.py")).unwrap();
    assert!(source.contains("SECRET"));
    // Nothing is written over.
    run(&folder, &["demo", "--keep", "kept"], "", &[]).expect(2);
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_without_a_panic() {
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let ran = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["demo", "--json"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(3));
    assert!(said.starts_with("error: standard output cannot be written"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}
