//! Snapshots: the same decisions without reading the files, and never believed when they should not.

use super::rig::{Rig, now};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tollgate_policy::snapshot::{Freshness, last_good, load_with_snapshot};
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

/// A state folder with a snapshot in it.
struct Kept {
    folder: tempfile::TempDir,
    layers: [Layer; 1],
}

impl Kept {
    fn new() -> Kept {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.yaml");
        fs::write(&file, policy_of(2)).unwrap();
        let kept = Kept { layers: [Layer::named(LayerKind::User, &file)], folder };
        assert_eq!(kept.load().0, Freshness::Compiled);
        assert_eq!(kept.load().0, Freshness::FromSnapshot);
        kept
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn load(&self) -> (Freshness, String) {
        let loaded = load_with_snapshot(&self.layers, &LoadOptions::new(now()), &self.state());
        let (_, freshness, trouble) = loaded.unwrap();
        (freshness, trouble.map(|error| error.to_string()).unwrap_or_default())
    }

    /// The policy does not load any more: what is left of it, if anything.
    fn has_last_good(&self) -> bool {
        fs::write(self.folder.path().join("p.yaml"), "version: 1\nhooks: [").unwrap();
        let options = LoadOptions::new(now());
        assert!(load_with_snapshot(&self.layers, &options, &self.state()).is_err());
        last_good(&self.layers, &options, &self.state()).is_some()
    }
}

#[test]
fn a_snapshot_that_was_changed_is_neither_used_nor_the_last_good_policy() {
    let kept = Kept::new();
    let snapshot = snapshot_of(&kept.state());
    let mut bytes = fs::read(&snapshot).unwrap();
    // The code of a refusal, in place: everything else about the file is right.
    let at = bytes.windows(2).position(|word| word == b"C1").unwrap();
    bytes[at] = b'D';
    fs::write(&snapshot, &bytes).unwrap();
    let (freshness, trouble) = kept.load();
    assert_eq!(freshness, Freshness::Compiled);
    assert!(trouble.contains("was not sealed with the key"), "{trouble}");
    assert_eq!(kept.load().0, Freshness::FromSnapshot, "it was written anew");
    fs::write(&snapshot, &bytes).unwrap();
    assert!(!kept.has_last_good());
}

#[test]
fn a_snapshot_without_its_key_or_under_another_is_as_if_there_were_none() {
    let kept = Kept::new();
    let key = kept.state().join("snapshot.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(&key).unwrap();
    assert_eq!(kept.load().0, Freshness::Compiled);
    assert_eq!(kept.load().0, Freshness::FromSnapshot, "a new key was made");
    fs::write(&key, [7; 32]).unwrap();
    assert_eq!(kept.load().0, Freshness::Compiled);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (freshness, trouble) = kept.load();
    assert_eq!(freshness, Freshness::Compiled);
    assert!(trouble.contains("snapshot.key` is not to be trusted"), "{trouble}");
    assert!(!kept.has_last_good(), "a key that others can read opens nothing");
}

#[test]
fn a_snapshot_of_another_state_folder_or_other_layers_opens_nothing() {
    let (kept, other) = (Kept::new(), Kept::new());
    fs::copy(snapshot_of(&other.state()), snapshot_of(&kept.state())).unwrap();
    assert_eq!(kept.load().0, Freshness::Compiled);
    assert!(kept.has_last_good());
    fs::remove_file(snapshot_of(&kept.state())).unwrap();
    assert!(!kept.has_last_good());
}

#[test]
fn a_snapshot_that_belongs_to_somebody_else_is_not_believed() {
    let kept = Kept::new();
    // Only root can give a file away; elsewhere there is nothing to try.
    if std::os::unix::fs::chown(snapshot_of(&kept.state()), Some(12_345), None).is_err() {
        return;
    }
    let (freshness, trouble) = kept.load();
    assert_eq!(freshness, Freshness::Compiled);
    assert!(trouble.contains("it belongs to somebody else"), "{trouble}");
}
