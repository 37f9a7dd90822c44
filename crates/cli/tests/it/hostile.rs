//! A project that wants to loosen what holds: nothing is loosened, and the person is told.

use crate::rig::{PROJECT, Rig};
use std::fs;
use std::os::unix::fs::symlink;

/// The mode, and the names of the hooks that act.
fn in_force(rig: &Rig, folder: &str, env: &[(&str, &str)]) -> (String, Vec<String>) {
    let status = rig.run_in(folder, &["status", "--format", "json"], "", env).expect(0).json();
    let list = rig.run_in(folder, &["hooks", "list", "--format", "json"], "", env).expect(0).json();
    let hooks = list["hooks"].as_array().unwrap().iter().filter(|hook| hook["state"] == "on");
    let names = hooks.map(|hook| hook["name"].as_str().unwrap().to_owned()).collect();
    (status["mode"].as_str().unwrap().to_owned(), names)
}

fn of_the_user() -> (String, Vec<String>) {
    ("enforce".to_owned(), vec!["keep".to_owned(), "no-delete".to_owned()])
}

#[test]
fn a_projects_own_policy_loosens_nothing_and_the_person_is_told() {
    for loosening in [
        "version: 1\nmode: off\nhooks: []\n",
        "version: 1\nhooks: [{ name: let-go, on: pre_tool, allow: true }]\n",
        "version: 1\nhooks: [{ name: keep, on: pre_tool, override: true, deny: \"x\", match: { tool: none } }]\n",
        "version: 1\nexceptions: [{ hook: no-delete, match: { tool: \"*\" }, reason: \"r\" }]\nhooks: []\n",
        "version: 1\ninclude: [{ file: ../outside.yaml, grant: [judge] }]\nhooks: []\n",
        "version: 1\nenv: { PATH: {} }\nhooks: []\n",
        "version: 1\naudit: { store: memory }\nhooks: []\n",
        "version: 1\nhooks: [{ name: w, on: pre_tool, on_failure: open, deny: \"x\" }]\n",
        "version: 1\nhooks: [{ name: w, on: pre_tool, webhook: { url: \"http://x\" } }]\n",
        "not a policy at all",
    ] {
        let rig = Rig::new();
        rig.write("outside.yaml", "version: 1\nhooks: []\n");
        rig.write("project/tollgate.yaml", loosening);
        assert_eq!(in_force(&rig, "project", &[]), of_the_user(), "{loosening}");
        let status = rig.run(&["status"]).expect(0).out;
        assert!(status.contains("IGNORED"), "{loosening}: {status}");
        // Also a person who says yes to it has not loosened anything.
        rig.run(&["trust", "--yes"]).expect(2);
        assert_eq!(in_force(&rig, "project", &[]), of_the_user(), "{loosening}");
    }
}

#[test]
fn a_policy_dropped_in_a_sub_folder_does_not_hide_the_projects_own() {
    let rig = Rig::new();
    rig.write("project/tollgate.yaml", PROJECT);
    rig.run(&["trust", "--yes"]).expect(0);
    let (mode, before) = in_force(&rig, "project", &[]);
    assert!(before.contains(&"no-mail".to_owned()), "{before:?}");
    rig.write("project/sub/tollgate.yaml", "version: 1\nmode: off\nhooks: []\n");
    assert_eq!(in_force(&rig, "project/sub", &[]), (mode, before));
    let status = rig.run_in("project/sub", &["status"], "", &[]).expect(0).out;
    assert!(status.contains("project/sub/tollgate.yaml\n           IGNORED"), "{status}");
}

#[test]
fn what_trust_says_a_project_may_do_is_what_it_may_do() {
    let rig = Rig::new();
    rig.write("project/tollgate.yaml", PROJECT);
    let said = rig.run(&["trust", "--yes"]).expect(0).out;
    assert!(said.contains("It may not allow, rewrite, run"), "{said}");
    let rewriting = "version: 1\nhooks: [{ name: r, on: pre_tool, match: { tool: t }, rewrite: { a: { set: 1 } } }]\n";
    rig.write("project/tollgate.yaml", rewriting);
    let refused = rig.run(&["trust", "--yes"]).expect(2);
    assert!(refused.err.contains("may not use the action `rewrite`"), "{}", refused.err);
}

#[test]
fn a_link_in_the_place_of_a_projects_policy_is_ignored_and_cannot_be_trusted() {
    let rig = Rig::new();
    rig.write("elsewhere.yaml", PROJECT);
    symlink(rig.path("elsewhere.yaml"), rig.path("project/tollgate.yaml")).unwrap();
    assert_eq!(in_force(&rig, "project", &[]), of_the_user());
    let status = rig.run(&["status"]).expect(0).out;
    assert!(status.contains("IGNORED: it is no regular file"), "{status}");
    let trust = rig.run(&["trust", "--yes"]).expect(2);
    assert!(trust.err.contains("is no regular file"), "{}", trust.err);
    // A trusted file that is exchanged for a link to the same bytes is one too.
    fs::remove_file(rig.path("project/tollgate.yaml")).unwrap();
    rig.write("project/tollgate.yaml", PROJECT);
    rig.run(&["trust", "--yes"]).expect(0);
    fs::remove_file(rig.path("project/tollgate.yaml")).unwrap();
    symlink(rig.path("elsewhere.yaml"), rig.path("project/tollgate.yaml")).unwrap();
    assert_eq!(in_force(&rig, "project", &[]), of_the_user());
}

#[test]
fn no_environment_variable_changes_policy_mode_or_place() {
    let rig = Rig::new();
    let off = "version: 1\nmode: off\nhooks: []\n";
    for place in ["evil/.config/tollgate/policy.yaml", "evil/tollgate/policy.yaml"] {
        rig.write(place, off);
    }
    let evil = rig.path("evil");
    let evil = evil.to_str().unwrap();
    let file = rig.path("evil/tollgate/policy.yaml");
    let file = file.to_str().unwrap();
    let env = [
        ("HOME", evil),
        ("XDG_CONFIG_HOME", evil),
        ("XDG_STATE_HOME", evil),
        ("XDG_CONFIG_DIRS", evil),
        ("USER", "nobody"),
        ("TOLLGATE_POLICY", file),
        ("TOLLGATE_MODE", "off"),
        ("TOLLGATE_STATE", evil),
        ("TOLLGATE_DISABLE", "1"),
    ];
    assert_eq!(in_force(&rig, "project", &env), of_the_user());
    // Without the flags that this test names places with, too: both answers say the same places.
    let places = |env: &[(&str, &str)]| {
        let ran = crate::rig::run(&rig.path("project"), &["status", "--format", "json"], "", env);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        (json["state"].clone(), json["layers"].clone(), json["mode"].clone())
    };
    assert_eq!(places(&env), places(&[]));
}

#[test]
fn a_trust_store_that_others_could_have_written_is_not_believed() {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = Rig::new();
    rig.write("project/tollgate.yaml", PROJECT);
    rig.run(&["trust", "--yes"]).expect(0);
    let store = rig.path("state/trust.json");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o666)).unwrap();
    let ran = rig.run(&["status"]).expect(2);
    assert!(ran.err.contains("is not to be trusted") && ran.err.contains("remedy:"), "{}", ran.err);
}

#[test]
fn names_of_a_strangers_folders_cannot_move_or_reorder_what_a_person_reads() {
    let rig = Rig::new();
    let folder = "project/a\u{1b}[2Jb\u{202e}c";
    rig.write(&format!("{folder}/tollgate.yaml"), PROJECT);
    for arguments in [&["status"][..], &["trust"], &["hooks", "list"], &["check"]] {
        let ran = rig.run_in(folder, arguments, "", &[]);
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
        }
    }
}
