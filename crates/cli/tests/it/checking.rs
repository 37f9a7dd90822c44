//! `check` and `schema`.

use crate::rig::{PROJECT, Rig};

const TWO_ERRORS: &str = "version: 1\nmoed: off\nhooks:\n  - name: a\n    on: pre_tool\n";

#[test]
fn all_errors_come_in_one_run_with_line_and_remedy_and_exit_code_2() {
    let rig = Rig::new();
    rig.write("project/bad.yaml", TWO_ERRORS);
    let ran = rig.run(&["check", "bad.yaml"]).expect(2);
    assert!(ran.out.contains("bad.yaml:2:1"), "{}", ran.out);
    assert!(ran.out.contains("bad.yaml:4"), "{}", ran.out);
    assert!(ran.out.contains("= help:"), "{}", ran.out);
}

#[test]
fn a_warning_is_a_no_only_when_asked_strictly() {
    let rig = Rig::new();
    let text = "version: 1\nhooks:\n  - { name: a, on: pre_tool, dry_run: true, deny: \"no\" }\n";
    rig.write("project/odd.yaml", text);
    let warned = rig.run(&["check", "odd.yaml"]).expect(0);
    assert!(warned.out.contains("warning["), "{}", warned.out);
    rig.run(&["check", "odd.yaml", "--strict"]).expect(1);
    rig.write("project/good.yaml", PROJECT);
    let good = rig.run(&["check", "good.yaml", "--strict"]).expect(0);
    assert_eq!(good.out, "good.yaml: no problems, 1 hook\n");
}

#[test]
fn programs_and_code_hosts_get_one_object_for_several_files() {
    let rig = Rig::new();
    rig.write("project/bad.yaml", TWO_ERRORS);
    rig.write("project/worse.yaml", "foo: 1\n");
    let json = rig.run(&["check", "--format", "json", "bad.yaml", "worse.yaml"]).expect(2).json();
    let found = json["diagnostics"].as_array().unwrap();
    assert_eq!(found.len() as u64, json["errors"].as_u64().unwrap());
    assert!(found.iter().any(|d| d["file"] == "bad.yaml" && d["line"] == 2), "{json}");
    assert!(found.iter().any(|d| d["file"] == "worse.yaml"), "{json}");
    let sarif = rig.run(&["check", "--format", "sarif", "bad.yaml", "worse.yaml"]).expect(2).json();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"].as_array().unwrap().len(), 1);
    let run = &sarif["runs"][0];
    assert_eq!(run["results"].as_array().unwrap().len(), found.len());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{sarif}");
    }
}

#[test]
fn a_file_that_is_no_policy_is_never_quoted() {
    let rig = Rig::new();
    rig.write("project/secrets.env", "AWS_KEY=hunter2-and-more\n");
    let ran = rig.run(&["check", "secrets.env"]).expect(2);
    assert!(!ran.out.contains("hunter2") && !ran.err.contains("hunter2"), "{}{}", ran.out, ran.err);
}

#[test]
fn without_a_file_the_policies_in_force_are_checked_together_and_an_untrusted_one_too() {
    let rig = Rig::new();
    rig.write("project/tollgate.yaml", "version: 1\nmode: off\nhooks: []\n");
    let ran = rig.run(&["check"]).expect(2);
    assert!(ran.out.contains("a project's policy may not set `mode`"), "{}", ran.out);
    rig.write("project/tollgate.yaml", PROJECT);
    rig.run(&["check"]).expect(0);
}

#[test]
fn a_policy_can_be_checked_as_a_projects() {
    let rig = Rig::new();
    rig.write("project/off.yaml", "version: 1\nmode: off\nhooks: []\n");
    let loosening = rig.run(&["check", "--as", "project", "off.yaml"]).expect(2);
    assert!(loosening.out.contains("may only tighten"), "{}", loosening.out);
    let own = rig.run(&["check", "off.yaml"]);
    assert_ne!(own.code, 2, "{}", own.out);
}

#[test]
fn every_schema_is_json_schema_and_the_list_names_them() {
    let rig = Rig::new();
    let list = rig.run(&["schema"]).expect(0).out;
    for name in ["event", "decision", "record", "policy"] {
        assert!(list.contains(name));
        let schema = rig.run(&["schema", name]).expect(0).json();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
    }
    rig.run(&["schema", "nonsense"]).expect(2);
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let rig = Rig::new();
    let help = rig.run(&["--help"]).expect(0).out;
    for word in ["init", "check", "decide", "status", "hooks", "pause", "trust", "Exit codes"] {
        assert!(help.contains(word), "{word}");
    }
    rig.run(&["no-such-command"]).expect(2);
}

#[test]
fn an_error_that_nobody_reads_keeps_its_code() {
    let rig = Rig::new();
    rig.write("project/bad.yaml", "version: 1\nhooks: [{ name: a, on: nowhere, deny: no }]\n");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["check", "bad.yaml"])
        .current_dir(rig.path("project"))
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
