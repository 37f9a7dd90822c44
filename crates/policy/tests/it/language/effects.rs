//! Matches by effect: what restricts goes by any target, what loosens by all of them.

use super::rig::{Rig, call, policy, words};
use std::sync::Arc;
use tollgate_effects::NoFiles;
use tollgate_gate::{Object, Session, ToolCall};
use tollgate_policy::{AnalysedEffects, ToolFacts, Verb};

const TOOLS: &str = r#"
version: 1
default: { pre_tool: ask }
tools:
  read_only: ["list_*"]
  writing: [publish]
  arguments:
    copy: { reads: from, writes: [to, log] }
    remove: { deletes: paths }
    get: { contacts: url }
    run: { runs: command }
hooks:
"#;

#[track_caller]
fn check(hooks: &str, calls: &[(&str, &str, &str)]) {
    let rig = Rig::new(&format!("{TOOLS}{hooks}"));
    for (tool, arguments, expected) in calls {
        assert_eq!(rig.verdict(tool, arguments), *expected, "{tool} {arguments}");
    }
}

#[test]
fn a_restricting_hook_matches_when_any_target_does() {
    check(
        "  - { name: h, on: pre_tool, match: { writes: \"*.lock\" }, deny: no }\n  - { name: yes, on: pre_tool, allow: {} }",
        &[
            ("copy", r#"{"from":"a","to":"b","log":"x.lock"}"#, "deny by h"),
            ("copy", r#"{"from":"x.lock","to":"b"}"#, "allow by yes"),
            ("copy", r#"{"from":"a","to":"sub/x.lock"}"#, "allow by yes"),
            ("copy", r#"{"from":"a","to":["b","c.lock"]}"#, "deny by h"),
        ],
    );
}

#[test]
fn allow_and_unless_match_only_when_all_targets_do_and_nothing_is_unknown() {
    check(
        "  - { name: yes, on: pre_tool, match: { writes: \"out/**\" }, allow: {} }",
        &[
            ("copy", r#"{"from":"a","to":"out/b"}"#, "allow by yes"),
            ("copy", r#"{"from":"a","to":"out/b","log":"c"}"#, "deny"),
            ("copy", r#"{"from":"a","to":{"x":1}}"#, "deny"),
            ("publish", r#"{"to":"out/b"}"#, "deny"),
            ("list_all", r#"{"to":"out/b"}"#, "deny"),
        ],
    );
    check(
        "  - { name: no, on: pre_tool, unless: { contacts: \"*.acme.com\" }, deny: no }",
        &[
            ("get", r#"{"url":"https://a.acme.com/x"}"#, "deny"),
            ("get", r#"{"url":"https://user@evil.net/a.acme.com"}"#, "deny by no"),
            ("list_x", "{}", "deny by no"),
        ],
    );
}

#[test]
fn below_not_the_quantifier_turns_round() {
    check(
        "  - { name: no, on: pre_tool, match: { not: { contacts: \"*.acme.com\" } }, deny: no }\n  - { name: yes, on: pre_tool, match: { not: { writes: \"secret/**\" } }, allow: {} }",
        &[
            ("get", r#"{"url":"a.acme.com:443"}"#, "allow by yes"),
            ("get", r#"{"url":"evil.net"}"#, "deny by no"),
            ("run", r#"{"command":"curl a.acme.com"}"#, "deny by no"),
        ],
    );
}

#[test]
fn deleting_a_folder_concerns_what_lies_below_it() {
    check(
        "  - { name: no, on: pre_tool, match: { deletes: \"src/**/*.rs\" }, deny: no }\n  - { name: out, on: pre_tool, match: { deletes: { outside: [workspace, /tmp/job] } }, deny: no }\n  - { name: yes, on: pre_tool, allow: {} }",
        &[
            ("remove", r#"{"paths":"src"}"#, "deny by no"),
            ("remove", r#"{"paths":["docs","src/a/b.rs"]}"#, "deny by no"),
            ("remove", r#"{"paths":"docs"}"#, "allow by yes"),
            ("remove", r#"{"paths":"."}"#, "deny by no"),
            ("remove", r#"{"paths":"/tmp/job/x"}"#, "allow by yes"),
            ("remove", r#"{"paths":"/tmp/job2"}"#, "deny by out"),
            ("remove", r#"{"paths":"docs/../../x"}"#, "deny by out"),
            ("remove", r#"{"paths":"~/x"}"#, "deny by out"),
        ],
    );
}

#[test]
fn what_cannot_be_known_can_be_asked_for() {
    check(
        "  - { name: no, on: pre_tool, match: { unknown: [writes] }, deny: no }\n  - { name: curl, on: pre_tool, match: { runs: [curl, wget] }, deny: no, priority: 0 }\n  - { name: yes, on: pre_tool, allow: {} }",
        &[
            ("run", r#"{"command":"make x"}"#, "deny by no"),
            ("run", r#"{"command":"/usr/bin/curl x"}"#, "deny by curl"),
            ("never_heard_of", "{}", "deny by no"),
            ("list_files", "{}", "allow by yes"),
            ("publish", "{}", "deny by no"),
            ("get", r#"{"url":"x.net"}"#, "allow by yes"),
        ],
    );
}

#[test]
fn the_canonical_call_of_an_adapter_counts() {
    let rig = Rig::new(
        "version: 1\nhooks:\n  - { name: no, on: pre_tool, match: { writes: \"*.lock\" }, deny: no }\n",
    );
    let with = |kind: &str, path: &str| {
        let call = format!(r#""call":{{"kind":"{kind}","path":"{path}"}},"arguments""#);
        call_of(&call)
    };
    assert_eq!(words(&rig.decide(&with("edit", "/repo/a.lock"))), "deny by no");
    assert_eq!(words(&rig.decide(&with("write", "a.lock"))), "deny by no");
    assert_eq!(words(&rig.decide(&with("read", "a.lock"))), "allow");
}

fn call_of(field: &str) -> String {
    call("Edit", "{}").replace(r#""arguments""#, field)
}

#[test]
fn a_hook_that_does_not_see_shell_commands_is_warned_about() {
    let text =
        "version: 1\nhooks:\n  - { name: no, on: pre_tool, match: { writes: x }, deny: no }\n";
    let report = policy(text).report.text();
    assert!(
        report.contains("warning[shell-unseen]: `no` does not see what a shell command writes"),
        "{report}"
    );
}

#[test]
fn a_folder_that_is_not_absolute_is_as_good_as_none_and_lets_nothing_past() {
    let hooks = "  - { name: h, on: pre_tool, match: { writes: \"**/test_*.py\" }, deny: no }\n  \
                 - { name: out, on: pre_tool, match: { deletes: { outside: workspace } }, deny: no }\n";
    let rig = Rig::new(&format!("{TOOLS}{hooks}"));
    let place = |session: &str, tool: &str, arguments: &str| {
        let event = format!(
            r#"{{"kind":"pre_tool","session":{{"id":"s"{session}}},"payload":{{"tool":"{tool}","arguments":{arguments}}}}}"#
        );
        words(&rig.decide(&event))
    };
    for session in [
        "",
        r#","workspace":"inner","cwd":"inner""#,
        r#","cwd":"inner""#,
        r#","workspace":"inner","cwd":"/repo/inner""#,
    ] {
        for path in ["test_x.py", "/repo/inner/test_x.py"] {
            let write = format!(r#"{{"from":"a","to":"{path}"}}"#);
            assert_eq!(place(session, "copy", &write), "deny by h", "{session} {path}");
        }
        let delete = r#"{"paths":["x"]}"#;
        assert_eq!(place(session, "remove", delete), "deny by out", "{session}");
    }
}

#[test]
fn a_projects_programs_add_effects_and_take_none_away() {
    let lines = |programs: &[&str], project_programs: &[&str], command: &str| -> Vec<String> {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let facts = ToolFacts {
            arguments: [("run".to_owned(), vec![(Verb::Runs, "command".to_owned())])].into(),
            programs: owned(programs),
            project_programs: owned(project_programs),
            ..ToolFacts::default()
        };
        let source = AnalysedEffects::new(&facts, Arc::new(NoFiles), None);
        let call = ToolCall::new("run", Object::from_iter([("command", command)]));
        let rows = source.rows(&call, &Session::new("s").with_cwd("/repo"));
        rows.iter().map(|row| format!("{} {}", row.effect, row.target)).collect()
    };
    let has = |lines: Vec<String>, line: &str| lines.iter().any(|l| l == line);
    assert!(has(lines(&[], &["zap = args:deltree*"], "zap a"), "deletes /repo/a and all below"));
    assert!(has(lines(&[], &["rm = safe"], "rm a"), "deletes /repo/a"));
    assert!(!has(lines(&["rm = safe"], &[], "rm a"), "deletes /repo/a"));
    let unknown = "does unknown: the program is not in the table";
    assert!(has(lines(&[], &[], "zap a"), unknown));
    assert!(has(lines(&[], &["zap = safe"], "zap a"), unknown), "still not known");
    assert!(!has(lines(&["zap = safe"], &[], "zap a"), unknown));
}
