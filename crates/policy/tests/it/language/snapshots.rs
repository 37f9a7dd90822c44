//! Snapshots: the same decisions without reading the files, and never believed when they should not.

use super::rig::{Rig, now};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tollgate_policy::snapshot::{Freshness, load_with_snapshot};
use tollgate_policy::{Layer, LayerKind, LoadOptions};

fn policy_of(rules: usize) -> String {
    let mut text =
        "version: 1\nenv: { WORD: { default: x } }\ngroups: { g: [alice] }\nhooks:\n".to_owned();
    for at in 0..rules {
        let _ = writeln!(
            text,
            "  - {{ name: h{at}, on: pre_tool, match: {{ tool: \"tool_{at}\", args.path: \"src/*/{at}_${{WORD}}\" }}, when: \"args.n > {at} && 'g' in user.groups\", deny: {{ code: C{at}, reason: no }} }}"
        );
    }
    text
}

fn snapshot_of(state: &Path) -> PathBuf {
    fs::read_dir(state.join("snapshots")).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_snapshot_decides_as_the_files_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    fs::write(&file, policy_of(20)).unwrap();
    let state = folder.path().join("state");
    let layers = [Layer::named(LayerKind::User, &file)];
    let options = LoadOptions::new(now());
    let (first, freshness, trouble) = load_with_snapshot(&layers, &options, &state).unwrap();
    assert_eq!(freshness, Freshness::Compiled);
    assert!(trouble.is_none(), "{trouble:?}");
    let (second, freshness, _) = load_with_snapshot(&layers, &options, &state).unwrap();
    assert_eq!(freshness, Freshness::FromSnapshot);
    assert_eq!(first.digest, second.digest);
    assert_eq!(first.hooks().collect::<Vec<_>>(), second.hooks().collect::<Vec<_>>());
    let (first, second) = (Rig::of(first), Rig::of(second));
    for (tool, arguments) in [
        ("tool_7", r#"{"path":"src/a/7_x","n":8}"#),
        ("tool_7", r#"{"path":"src/a/7_x","n":7}"#),
        ("tool_7", r#"{"path":"src/a/7_y","n":8}"#),
    ] {
        assert_eq!(first.verdict(tool, arguments), second.verdict(tool, arguments));
    }
    assert_eq!(second.verdict("tool_7", r#"{"path":"src/a/7_x","n":8}"#), "deny by h7");
}

#[test]
fn a_snapshot_is_not_used_when_anything_it_was_made_from_changed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    fs::write(&file, policy_of(2)).unwrap();
    let state = folder.path().join("state");
    let layers = [Layer::named(LayerKind::User, &file)];
    let options = LoadOptions::new(now());
    let fresh = |options: &LoadOptions<'_>| load_with_snapshot(&layers, options, &state).unwrap().1;
    assert_eq!(fresh(&options), Freshness::Compiled);
    assert_eq!(fresh(&options), Freshness::FromSnapshot);
    let env = |_: &str| Some("y".to_owned());
    assert_eq!(fresh(&LoadOptions { env: &env, ..options }), Freshness::Compiled);
    assert_eq!(fresh(&options), Freshness::Compiled);
    fs::write(&file, policy_of(3)).unwrap();
    assert_eq!(fresh(&options), Freshness::Compiled);
    assert_eq!(fresh(&options), Freshness::FromSnapshot);
}

#[test]
fn a_snapshot_that_others_could_have_written_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    fs::write(&file, policy_of(2)).unwrap();
    let state = folder.path().join("state");
    let layers = [Layer::named(LayerKind::User, &file)];
    let options = LoadOptions::new(now());
    load_with_snapshot(&layers, &options, &state).unwrap();
    let snapshot = snapshot_of(&state);
    assert_eq!(fs::metadata(&snapshot).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&snapshot, fs::Permissions::from_mode(0o640)).unwrap();
    let (_, freshness, trouble) = load_with_snapshot(&layers, &options, &state).unwrap();
    assert_eq!(freshness, Freshness::Compiled);
    assert!(trouble.unwrap().to_string().contains("not to be trusted"));
    // Torn or foreign bytes are as if there were none.
    fs::write(&snapshot, b"\x05garbage").unwrap();
    assert_eq!(load_with_snapshot(&layers, &options, &state).unwrap().1, Freshness::Compiled);
    assert_eq!(load_with_snapshot(&layers, &options, &state).unwrap().1, Freshness::FromSnapshot);
}
