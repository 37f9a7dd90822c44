//! `test`.

use crate::rig::{Rig, run};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const POLICY: &str = r#"
version: 1
hooks:
  - name: protect
    on: pre_tool
    match: { tool: write_file, args.path: "**test_*.py" }
    deny: { code: PROTECTED, reason: "tests stay" }
  - name: clamp
    on: pre_tool
    match: { tool: list_files }
    rewrite: { max_entries: { default: 10, max: 10 } }
"#;

const GOOD: &str = r#"
version: 1
tests:
  - name: protected
    steps:
      - { tool: write_file, args: { path: a/test_b.py }, expect: { verdict: deny, code: PROTECTED } }
"#;

const WRONG: &str = r#"
version: 1
policy: p.yaml
tests:
  - name: wrong
    steps:
      - { tool: write_file, args: { path: a/b.py }, expect: { verdict: deny, hook: protect } }
      - { tool: list_files, args: { max_entries: 99 }, expect: { args: { max_entries: 11 } } }
"#;

/// Runs `test` without any `--policy`.
fn test(rig: &Rig, arguments: &[&str]) -> crate::rig::Ran {
    let mut all = vec!["test"];
    all.extend(arguments);
    run(&rig.path("project"), &all, "", &[])
}

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("project/p.yaml", POLICY);
    rig.write("project/p.tests.yaml", GOOD);
    rig
}

#[test]
fn tests_beside_the_policy_are_found_and_run_against_it() {
    let rig = rig();
    let ran = test(&rig, &[]).expect(0);
    assert_eq!(
        ran.out,
        "p.tests.yaml\n  ok      protected\np.tests.yaml: 1 passed, 0 failed\n\n1 passed, 0 failed\n"
    );
    // Another policy decides otherwise.
    rig.write("project/other.yaml", "version: 1\nhooks: []\n");
    let ran = test(&rig, &["--policy", "other.yaml", "p.tests.yaml"]).expect(1);
    assert!(ran.out.contains("verdict: expected deny, found allow"), "{}", ran.out);
}

#[test]
fn a_failing_test_shows_expected_against_found_and_which_key_of_which_hook() {
    let rig = rig();
    rig.write("project/w.tests.yaml", WRONG);
    let ran = test(&rig, &["w.tests.yaml"]).expect(1);
    for line in [
        "  FAILED  wrong",
        "w.tests.yaml: line 7: verdict: expected deny, found allow",
        "protect (p.yaml:4): no match: args.path: **test_*.py",
        "w.tests.yaml: line 8: payload: expected {\"max_entries\":11}, found {\"max_entries\":10}",
        "clamp (p.yaml:8): rewrote",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
}

#[test]
fn coverage_names_the_hooks_that_no_test_fires_over_all_files_of_a_policy() {
    let rig = rig();
    let ran = test(&rig, &["--coverage"]).expect(0);
    assert!(
        ran.out.contains("p.yaml: 1 of 2 hooks fire in some test\n  never   clamp"),
        "{}",
        ran.out
    );
    test(&rig, &["--require-coverage"]).expect(1);
    let more =
        GOOD.replace("tests:", "policy: p.yaml\ntests:").replace("protected", "more").replace(
            "write_file, args: { path: a/test_b.py }, expect: { verdict: deny, code: PROTECTED }",
            "list_files, expect: { fired: clamp }",
        );
    rig.write("project/more.tests.yaml", &more);
    test(&rig, &["--require-coverage"]).expect(0);
}

#[test]
fn a_broken_file_is_exit_code_2_and_hides_no_other() {
    let rig = rig();
    rig.write(
        "project/a.tests.yaml",
        "version: 1\npolicy: p.yaml\ntests:\n  - name: a\n    stepps: []\n",
    );
    rig.write("project/b.tests.yaml", "");
    rig.write("project/c.tests.yaml", "version: 1\ntests: []\n");
    let ran = test(&rig, &[]).expect(2);
    assert!(ran.out.contains("unknown key `stepps`"), "{}", ran.out);
    assert!(ran.out.contains("a.tests.yaml:5:5"), "{}", ran.out);
    assert!(ran.out.contains("ok      protected"), "{}", ran.out);
    assert!(ran.out.contains("`c.yaml`"), "the policy is missing: {}", ran.out);
    assert!(ran.out.ends_with("1 passed, 0 failed, 3 files cannot be run\n"), "{}", ran.out);
    let none = test(&rig, &["nowhere.tests.yaml"]).expect(2);
    assert!(none.out.contains("`nowhere.tests.yaml` cannot be read"), "{}", none.out);
    fs::create_dir(rig.path("project/empty")).unwrap();
    let none = test(&rig, &["empty"]).expect(2);
    assert!(none.err.contains("there are no policy tests"), "{}", none.err);
}

#[test]
fn programs_get_one_object_and_build_servers_one_document() {
    let rig = rig();
    rig.write("project/w.tests.yaml", WRONG);
    rig.write("project/x.tests.yaml", "nothing");
    let json = test(&rig, &["--format", "json"]).expect(2).json();
    assert_eq!((&json["passed"], &json["failed"]), (&1.into(), &1.into()));
    let difference = &json["suites"][1]["cases"][0]["outcome"]["differences"][0];
    assert_eq!((&difference["what"], &difference["line"]), (&"verdict".into(), &7.into()));
    assert_eq!(json["broken"][0]["file"], "x.tests.yaml");
    assert_eq!(json["coverage"]["p.yaml"]["never_fired"], serde_json::json!([]));
    let junit = test(&rig, &["--format", "junit"]).expect(2).out;
    assert!(junit.starts_with("<?xml"), "{junit}");
    assert!(junit.contains("<testsuites tests=\"3\" failures=\"1\" errors=\"1\">"), "{junit}");
    assert_eq!(junit.matches("<testsuite ").count(), 3, "{junit}");
    assert!(junit.contains("no match: args.path"), "{junit}");
}

#[test]
fn a_watch_runs_again_when_a_policy_changes() {
    let rig = rig();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["test", "--watch"])
        .current_dir(rig.path("project"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (send, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in out.lines() {
            if send.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    let wait_for = |text: &str| {
        loop {
            let line = lines.recv_timeout(Duration::from_secs(30)).unwrap();
            if line.contains(text) {
                break;
            }
        }
    };
    wait_for("1 passed, 0 failed");
    wait_for("1 passed, 0 failed");
    rig.write("project/p.yaml", &POLICY.replace("PROTECTED", "OTHER"));
    wait_for("p.yaml changed");
    wait_for("code: expected PROTECTED, found OTHER");
    rig.write("project/p.yaml", "version: 1\nhooks: []\nhook: []\n");
    wait_for("unknown key `hook`");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    reader.join().unwrap();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let rig = rig();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["test", "--format", "json"])
        .current_dir(rig.path("project"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert_eq!(said, "");
}
