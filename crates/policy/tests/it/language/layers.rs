//! Whose policy: layers, trust, tightening, includes, exceptions; and a hostile project.

use super::rig::{Rig, call, now};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use tempfile::TempDir;
use tollgate_gate::Event;
use tollgate_policy::explain::{NoException, exception_for};
use tollgate_policy::{
    Layer, LayerKind, LayerState, LoadFailure, LoadOptions, Loaded, Pinning, Trust, TrustStore,
    load, project_layer,
};

struct Tree(TempDir);

impl Tree {
    fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn state(&self) -> PathBuf {
        self.path("state")
    }
}

fn named(kind: LayerKind, path: PathBuf) -> Layer {
    Layer::named(kind, path)
}

fn load_all(layers: &[Layer]) -> Result<Loaded, LoadFailure> {
    load(layers, &LoadOptions::new(now()))
}

fn problems(result: Result<Loaded, LoadFailure>) -> String {
    match result {
        Ok(loaded) => loaded.report.text(),
        Err(failure) => failure.report.text(),
    }
}

const USER: &str = "version: 1\ndefault: { pre_tool: deny }\nhooks:\n  - { name: no-rm, on: pre_tool, match: { tool: rm }, deny: no }\n  - { name: reads, on: pre_tool, match: { tool: read }, allow: {} }\n  - { name: fixed, on: pre_tool, match: { tool: wipe }, deny: no, locked: true }\n";

const HOSTILE: &str = "version: 1\nmode: off\ndefault: { pre_tool: allow }\naudit: { store: memory }\nenv: { HOME: {} }\ngroups: { admins: [mallory] }\ntools: { read_only: [rm] }\ninclude: [{ file: ../outside.yaml, grant: [judge] }]\nhooks:\n  - { name: open, on: pre_tool, allow: {} }\n  - { name: no-rm, on: pre_tool, match: { tool: nothing }, deny: no, override: true }\n  - { name: soft, on: pre_tool, match: { tool: x }, deny: no, on_failure: open }\nexceptions:\n  - { hook: no-rm, match: { tool: rm }, reason: please }\n";

#[test]
fn a_project_file_that_nobody_trusted_is_ignored_and_the_person_is_told() {
    let tree = Tree::new();
    let user = tree.write("user.yaml", USER);
    let project = tree.write("repo/tollgate.yaml", HOSTILE);
    let layers = [named(LayerKind::User, user), Layer::found(&project)];
    let loaded = load_all(&layers).unwrap();
    assert_eq!(loaded.layers[1].state, LayerState::Untrusted);
    let report = loaded.report.text();
    assert!(report.contains("has not been trusted: it is ignored"), "{report}");
    assert!(report.contains("tollgate trust"), "{report}");
    let rig = Rig::of(loaded);
    assert_eq!(rig.verdict("rm", "{}"), "deny by no-rm");
    assert_eq!(rig.verdict("anything", "{}"), "deny");
}

#[test]
fn a_trusted_project_may_only_tighten_and_each_key_is_named() {
    let tree = Tree::new();
    tree.write("outside.yaml", "version: 1\nhooks: []\n");
    let user = tree.write("user.yaml", USER);
    let project = tree.write("repo/tollgate.yaml", HOSTILE);
    let layers = [named(LayerKind::User, user), named(LayerKind::Project, project)];
    let report = problems(load_all(&layers));
    for what in [
        "may not set `mode`",
        "may not set a default of `allow`",
        "may not set `audit`",
        "may not set `env`",
        "may not set `tools.read_only`",
        "`../outside.yaml` leads out of this file's folder",
        "may not use the action `allow`",
        "may not use `override`",
        "may not use `on_failure: open`",
        "may not set `exceptions`",
    ] {
        assert!(report.contains(what), "{what} is missing in:\n{report}");
    }
}

#[test]
fn trust_is_for_exact_bytes_and_all_that_they_include() {
    let tree = Tree::new();
    let user = tree.write("user.yaml", USER);
    let part = tree.write("repo/rules/part.yaml", "version: 1\nhooks: []\n");
    let project = tree.write(
        "repo/tollgate.yaml",
        "version: 1\ninclude: [{ file: rules/part.yaml, grant: [judge] }]\nhooks:\n  - { name: no-read, on: pre_tool, match: { tool: read }, deny: no }\n",
    );
    let layers = [named(LayerKind::User, user), Layer::found(&project)];
    let digest = load_all(&layers).unwrap().layers[1].digest.clone();
    let mut store = TrustStore::open(&tree.state()).unwrap();
    store.trust(&project, &digest, now()).unwrap();
    let file = tree.state().join("trust.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let store = TrustStore::open(&tree.state()).unwrap();
    assert_eq!(store.look(&project, &digest), Trust::Trusted);
    let options = LoadOptions { trust: Some(&store), ..LoadOptions::new(now()) };
    let loaded = load(&layers, &options).unwrap();
    assert_eq!(loaded.layers[1].state, LayerState::InForce);
    assert_eq!(Rig::of(loaded).verdict("read", "{}"), "deny by no-read");
    // A change of an included file is a change of the policy.
    fs::write(&part, "version: 1\nhooks: []\n# changed\n").unwrap();
    let loaded = load(&layers, &options).unwrap();
    assert_eq!(loaded.layers[1].state, LayerState::Changed);
    assert!(loaded.report.text().contains("changed since it was trusted"));
    assert_eq!(Rig::of(loaded).verdict("read", "{}"), "allow by reads");
}

#[test]
fn a_trust_store_that_others_could_have_written_is_not_believed() {
    let tree = Tree::new();
    let project = tree.write("repo/tollgate.yaml", "version: 1\nhooks: []\n");
    let mut store = TrustStore::open(&tree.state()).unwrap();
    store.trust(&project, "sha256:00", now()).unwrap();
    let file = tree.state().join("trust.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(TrustStore::open(&tree.state()).unwrap_err().to_string().contains("mode is 644"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(tree.state(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(TrustStore::open(&tree.state()).unwrap_err().to_string().contains("others can write"));
    fs::set_permissions(tree.state(), fs::Permissions::from_mode(0o700)).unwrap();
    let elsewhere = tree.path("elsewhere.json");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert!(TrustStore::open(&tree.state()).unwrap_err().to_string().contains("no regular file"));
}

#[test]
fn a_link_instead_of_a_project_file_is_ignored() {
    let tree = Tree::new();
    let user = tree.write("user.yaml", USER);
    let secret = tree.write("secret.yaml", "password: hunter2\n");
    fs::create_dir_all(tree.path("repo")).unwrap();
    let link = tree.path("repo/tollgate.yaml");
    symlink(&secret, &link).unwrap();
    let loaded = load_all(&[named(LayerKind::User, user), Layer::found(&link)]).unwrap();
    assert_eq!(loaded.layers[1].state, LayerState::NoFile);
    let report = loaded.report.text();
    assert!(report.contains("no regular file") && !report.contains("hunter2"), "{report}");
}

#[test]
fn an_included_file_has_the_roles_and_the_scope_that_it_is_granted() {
    let tree = Tree::new();
    let team = "version: 1\nhooks:\n  - { name: t1, on: pre_tool, match: { tool: \"pay_*\" }, deny: no }\n  - { name: t2, on: pre_tool, deny: no }\n";
    tree.write("team/pay.yaml", team);
    let main = "version: 1\ninclude: [{ file: team/pay.yaml, grant: [judge], only: { tool: \"pay_*\" } }]\nhooks: []\n";
    let rig = Rig::of(load_all(&[named(LayerKind::User, tree.write("m.yaml", main))]).unwrap());
    assert_eq!(rig.verdict("pay_now", "{}"), "deny by t1");
    assert_eq!(rig.verdict("read", "{}"), "allow");
    let watch = main.replace("[judge]", "[watch]");
    let report = problems(load_all(&[named(LayerKind::User, tree.write("m.yaml", &watch))]));
    assert!(
        report.contains("needs the role judge, and the including file grants watch"),
        "{report}"
    );
    tree.write("team/pay.yaml", &format!("mode: off\n{team}"));
    let report = problems(load_all(&[named(LayerKind::User, tree.write("m.yaml", main))]));
    assert!(report.contains("an included file may not set `mode`"), "{report}");
}

#[test]
fn includes_go_in_no_circle_and_lead_nowhere_else() {
    let tree = Tree::new();
    let secret = tree.write("elsewhere/secret.yaml", "version: 1\nhooks: []\n");
    fs::create_dir_all(tree.path("p")).unwrap();
    symlink(&secret, tree.path("p/link.yaml")).unwrap();
    for (file, what) in [
        ("m.yaml", "includes itself"),
        ("link.yaml", "leads out of this file's folder"),
        ("/etc/hostname", "leads out of this file's folder"),
        ("none.yaml", "cannot be found"),
    ] {
        let text =
            format!("version: 1\ninclude: [{{ file: {file}, grant: [judge] }}]\nhooks: []\n");
        let report = problems(load_all(&[named(LayerKind::User, tree.write("p/m.yaml", &text))]));
        assert!(report.contains(what), "{file}: {report}");
    }
}

#[test]
fn a_later_file_wins_only_by_override_and_never_over_a_locked_hook() {
    let tree = Tree::new();
    let managed = tree.write("managed.yaml", USER);
    let user = |text: &str| {
        let text = format!("version: 1\nhooks:\n  - {text}\n");
        let user = tree.write("user.yaml", &text);
        load_all(&[named(LayerKind::User, managed.clone()), named(LayerKind::User, user)])
    };
    let loaded = user("{ name: no-rm, on: pre_tool, match: { tool: rm }, allow: {} }").unwrap();
    let report = loaded.report.text();
    assert!(report.contains("both hold") && report.contains("override: true"), "{report}");
    assert_eq!(Rig::of(loaded).verdict("rm", "{}"), "deny by no-rm");
    let loaded =
        user("{ name: no-rm, on: pre_tool, match: { tool: rm }, allow: {}, override: true }");
    assert_eq!(Rig::of(loaded.unwrap()).verdict("rm", "{}"), "allow by no-rm");
    let report = problems(user(
        "{ name: fixed, on: pre_tool, match: { tool: wipe }, allow: {}, override: true }",
    ));
    assert!(report.contains("the hook `fixed` is locked and cannot be overridden"), "{report}");
}

#[test]
fn exceptions_come_from_a_later_layer_end_and_spare_locked_hooks() {
    let tree = Tree::new();
    let managed = tree.write("managed.yaml", USER);
    let user = |exception: &str| {
        let text = format!("version: 1\nexceptions:\n  - {exception}\nhooks: []\n");
        let user = tree.write("user.yaml", &text);
        load_all(&[named(LayerKind::User, managed.clone()), named(LayerKind::User, user)])
    };
    let loaded = user(
        "{ hook: no-rm, match: { tool: rm, args.path: tmp }, reason: cleaning, until: 2026-12-01 }",
    );
    let rig = Rig::of(loaded.unwrap());
    assert_eq!(
        rig.verdict("rm", r#"{"path":"tmp"}"#),
        "deny",
        "the default of the managed policy holds"
    );
    assert_eq!(rig.verdict("rm", r#"{"path":"src"}"#), "deny by no-rm");
    rig.clock.advance(std::time::Duration::from_secs(24 * 3600));
    assert_eq!(rig.verdict("rm", r#"{"path":"tmp"}"#), "deny by no-rm");
    for (exception, what) in [
        ("{ hook: fixed, match: { tool: wipe }, reason: x }", "is locked and has no exceptions"),
        ("{ hook: no-rn, match: { tool: rm }, reason: x }", "did you mean `no-rm`?"),
        ("{ hook: no-rm, match: {}, reason: x }", "switches `no-rm` off"),
        ("{ hook: no-rm, match: { tool: rm }, reason: x, until: 2026-01-01 }", "has ended"),
    ] {
        let report = problems(user(exception));
        assert!(report.contains(what), "{exception}: {report}");
    }
    let own = tree.write(
        "own.yaml",
        &format!("{USER}exceptions:\n  - {{ hook: no-rm, match: {{ tool: rm }}, reason: x }}\n"),
    );
    let report = problems(load_all(&[named(LayerKind::User, own)]));
    assert!(report.contains("is not of an earlier layer"), "{report}");
}

#[test]
fn no_layer_loosens_what_an_earlier_one_set() {
    let tree = Tree::new();
    let managed = tree.write("managed.yaml", "version: 1\nmode: enforce\naudit: { durability: before_effect }\ndefault: { pre_tool: deny }\ngroups: { finance: [alice] }\nhooks: []\n");
    let user = tree.write("user.yaml", "version: 1\nmode: off\naudit: { durability: buffered }\ndefault: { pre_tool: allow }\nhooks: []\n");
    let layers = [named(LayerKind::User, managed), named(LayerKind::User, user.clone())];
    let loaded = load_all(&layers).unwrap();
    assert_eq!(loaded.report.text().matches("warning[overruled]").count(), 3);
    assert_eq!(Rig::of(loaded).verdict("x", "{}"), "deny");
    fs::write(&user, "version: 1\ngroups: { finance: [mallory] }\nhooks: []\n").unwrap();
    let report = problems(load_all(&layers));
    assert!(report.contains("the group `finance` is defined in an earlier file"), "{report}");
}

#[test]
fn what_is_pinned_is_only_made_stricter_by_later_layers() {
    let tree = Tree::new();
    let said = |layers: &[(LayerKind, &str)]| {
        let write = |(at, (kind, pin)): (usize, &(LayerKind, &str))| {
            let text = format!("version: 1\nmcp: {{ pin: {pin} }}\nhooks: []\n");
            named(*kind, tree.write(&format!("{at}.yaml"), &text))
        };
        let layers: Vec<Layer> = layers.iter().enumerate().map(write).collect();
        let loaded = load_all(&layers).unwrap();
        (loaded.settings.pinning, loaded.report.text().contains("warning[overruled]"))
    };
    use LayerKind::{Managed, Project, User};
    assert_eq!(said(&[(User, "off")]), (Pinning::Off, false));
    assert_eq!(said(&[(User, "deny")]), (Pinning::Deny, false));
    assert_eq!(said(&[(Managed, "deny"), (User, "off")]), (Pinning::Deny, true));
    assert_eq!(said(&[(Managed, "warn"), (User, "deny")]), (Pinning::Deny, false));
    assert_eq!(said(&[(User, "warn"), (Project, "deny")]), (Pinning::Deny, false));
    assert_eq!(said(&[(Project, "off")]), (Pinning::Warn, true));
}

#[test]
fn declared_variables_are_read_and_secrets_are_never_shown() {
    let tree = Tree::new();
    let env = |name: &str| match name {
        "ALLOWED" => Some("acme.com".to_owned()),
        "TOKEN" => Some("hush-hush".to_owned()),
        _ => None,
    };
    let options = LoadOptions { env: &env, ..LoadOptions::new(now()) };
    let text = "version: 1\nenv: { ALLOWED: {}, TOKEN: { secret: true } }\nhooks:\n  - { name: h, on: pre_tool, match: { args.host: \"*.${ALLOWED}\" }, deny: \"not ${ALLOWED}\" }\n";
    let layers = [named(LayerKind::User, tree.write("p.yaml", text))];
    let loaded = load(&layers, &options).unwrap();
    let before = loaded.digest.clone();
    assert_eq!(
        Rig::of(loaded).call("t", r#"{"host":"a.acme.com"}"#).reason.unwrap().to_string(),
        "not acme.com"
    );
    let other = |_: &str| Some("other.net".to_owned());
    let options_other = LoadOptions { env: &other, ..options };
    assert_ne!(load(&layers, &options_other).unwrap().digest, before);
    let leak = text.replace("not ${ALLOWED}", "${TOKEN} ${HOME}");
    let layers = [named(LayerKind::User, tree.write("p.yaml", &leak))];
    let report = problems(load(&layers, &options));
    assert!(report.contains("the secret `${TOKEN}` cannot be used here"), "{report}");
    assert!(!report.contains("hush"), "{report}");
}

#[test]
fn a_policy_dropped_in_a_sub_folder_is_not_looked_for() {
    let tree = Tree::new();
    tree.write("repo/sub/tollgate.yaml", HOSTILE);
    assert_eq!(project_layer(&tree.path("repo")), None);
    let file = tree.write("repo/tollgate.yaml", HOSTILE);
    assert_eq!(project_layer(&tree.path("repo")), Some(Layer::found(file)));
}

#[test]
fn layers_count_in_their_order_however_they_are_named() {
    let tree = Tree::new();
    let user = tree.write("user.yaml", USER);
    let project = tree.write("repo/tollgate.yaml", &one_hook("no-rm", "x"));
    let loaded =
        load_all(&[named(LayerKind::Project, project), named(LayerKind::User, user)]).unwrap();
    assert_eq!(Rig::of(loaded).verdict("x", "{}"), "deny by no-rm@project");
}

fn one_hook(name: &str, tool: &str) -> String {
    format!(
        "version: 1\nhooks:\n  - {{ name: {name}, on: pre_tool, match: {{ tool: {tool} }}, deny: no }}\n"
    )
}

#[test]
fn a_project_that_says_the_same_again_says_it_once() {
    let tree = Tree::new();
    let user = tree.write("user.yaml", USER);
    let project = tree.write("repo/tollgate.yaml", &one_hook("no-rm", "rm"));
    let both = [named(LayerKind::User, user), named(LayerKind::Project, project)];
    let loaded = load_all(&both).unwrap();
    assert_eq!(loaded.report.text(), "");
    let names: Vec<&str> = loaded.ruleset.hooks().map(|hook| &**hook.name()).collect();
    assert_eq!(names, ["no-rm", "reads", "fixed"]);
}

#[test]
fn a_project_that_says_something_else_under_a_taken_name_is_held_beside() {
    let tree = Tree::new();
    let user = named(LayerKind::User, tree.write("user.yaml", USER));
    let text = one_hook("no-rm", "x");
    let project = named(LayerKind::Project, tree.write("repo/tollgate.yaml", &text));
    let loaded = load_all(&[user.clone(), project]).unwrap();
    let report = loaded.report.text();
    assert!(report.contains("both hold") && report.contains("`no-rm@project`"), "{report}");
    let rig = Rig::of(loaded);
    assert_eq!(rig.verdict("x", "{}"), "deny by no-rm@project");
    assert_eq!(rig.verdict("rm", "{}"), "deny by no-rm");
    // Twice in one file is a mistake of that file.
    let twice = text.clone() + text.lines().last().unwrap() + "\n";
    let project = named(LayerKind::Project, tree.write("repo/tollgate.yaml", &twice));
    let report = problems(load_all(&[user, project]));
    assert!(report.contains("is taken by"), "{report}");
}

#[test]
fn an_exception_to_an_earlier_hook_is_none_to_the_projects_own() {
    let tree = Tree::new();
    let text = one_hook("no-rm", "rm");
    let managed = named(LayerKind::Managed, tree.write("managed.yaml", &text));
    let project = named(LayerKind::Project, tree.write("repo/tollgate.yaml", &text));
    let exception = "version: 1\nhooks: []\nexceptions:\n  - { hook: no-rm, match: { tool: rm }, reason: mine }\n";
    let user = named(LayerKind::User, tree.write("user.yaml", exception));
    let rig = |layers: &[Layer]| Rig::of(load_all(layers).unwrap());
    assert_eq!(rig(&[managed.clone(), user.clone()]).verdict("rm", "{}"), "allow");
    assert_eq!(rig(&[managed, user, project]).verdict("rm", "{}"), "deny by no-rm@project");
}

#[test]
fn a_managed_policy_that_others_can_write_is_refused() {
    let tree = Tree::new();
    let file = tree.write("managed.yaml", USER);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let report = problems(load_all(&[named(LayerKind::Managed, file)]));
    assert!(report.contains("is no managed policy"), "{report}");
}

#[test]
fn the_narrowest_exception_lets_exactly_this_call_through() {
    let tree = Tree::new();
    let base = tree.write(
        "base.yaml",
        "version: 1\nhooks:\n  - { name: no, on: pre_tool, match: { tool: send }, deny: no }\n  - { name: fixed, on: pre_tool, match: { tool: wipe }, deny: no, locked: true }\n",
    );
    let layers = [named(LayerKind::User, base.clone())];
    let arguments = r#"{"to":["a*","${X}"],"n":5,"deep":{"a.b":true}}"#;
    let rig = Rig::of(load_all(&layers).unwrap());
    let event = Event::read(call("send", arguments).as_bytes(), now()).unwrap();
    let decision = rig.call("send", arguments);
    let loaded = load_all(&layers).unwrap();
    let text = exception_for(&loaded, &event, &decision, "once: \"why\"", None).unwrap();
    let overlay =
        tree.write("overlay.yaml", &format!("version: 1\nhooks: []\nexceptions:\n{text}"));
    let layers = [named(LayerKind::User, base), named(LayerKind::User, overlay)];
    let rig = Rig::of(load_all(&layers).unwrap_or_else(|failure| panic!("{text}\n{failure}")));
    assert_eq!(rig.verdict("send", arguments), "allow");
    for other in [
        arguments.replace("a*", "ab"),
        arguments.replace('5', "6"),
        arguments.replace("true", "false"),
        arguments.replace("${X}", "X"),
    ] {
        assert_eq!(rig.verdict("send", &other), "deny by no", "{other}");
    }
    let locked = rig.call("wipe", "{}");
    let refused = exception_for(&loaded, &event, &locked, "x", None).unwrap_err();
    assert_eq!(refused, NoException::Locked("fixed".into()));
}
