//! `allow`.

use crate::explaining::{decided, with_arguments};
use crate::rig::{Rig, USER, call};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const BASE: &str = r#"
version: 1
hooks:
  - { name: no-mail, on: pre_tool, match: { tool: send_mail }, deny: "no mail" }
  - { name: fixed, on: pre_tool, match: { tool: wipe }, deny: "no", locked: true }
"#;

fn text(rig: &Rig, file: &str) -> String {
    fs::read_to_string(rig.path(file)).unwrap()
}

#[test]
fn exactly_the_refused_call_passes_afterwards_and_the_file_stays_what_it_was() {
    let rig = decided(&with_arguments("delete_x", r#"{"path":"a","n":1}"#));
    fs::set_permissions(rig.path("user.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    let ran = rig.run(&["allow", "--last", "--yes", "--reason", "agreed"]).expect(0);
    assert!(ran.out.contains("+         - { \"tool\": \"delete_x\""), "{}", ran.out);
    let now = text(&rig, "user.yaml");
    for line in USER.lines() {
        assert!(now.contains(line), "{line}\n{now}");
    }
    let mode = fs::metadata(rig.path("user.yaml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let decide = |arguments| {
        rig.decide("user.yaml", &[], &with_arguments("delete_x", arguments)).json()["verdict"]
            .clone()
    };
    assert_eq!(decide(r#"{"path":"a","n":1}"#), "allow");
    assert_eq!(decide(r#"{"path":"b","n":1}"#), "deny");
    assert_eq!(decide(r#"{"path":"a","n":2}"#), "deny");
    let switch = rig.records("switch").pop().unwrap();
    assert_eq!(
        (&switch["detail"]["switch"], &switch["hook"]),
        (&"allow".into(), &"no-delete".into())
    );
    assert_eq!(switch["detail"]["reason"], "agreed");
    let again = rig.run(&["allow", "--last", "--yes"]).expect(1);
    assert!(again.out.contains("goes through as it is"), "{}", again.out);
    assert_eq!(text(&rig, "user.yaml"), now);
    let left: Vec<_> =
        fs::read_dir(rig.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("candidate")), "{left:?}");
}

#[test]
fn without_a_yes_nothing_is_written() {
    let rig = decided(&call("delete_x"));
    let ran = rig.run(&["allow", "--last"]).expect(2);
    assert!(ran.out.contains("+     unless:"), "the difference is shown: {}", ran.out);
    assert!(ran.err.contains("--yes"), "{}", ran.err);
    assert_eq!(text(&rig, "user.yaml"), USER);
}

#[test]
fn a_hook_of_an_earlier_policy_gets_an_exception_that_can_end() {
    let rig = Rig::new();
    rig.write("base.yaml", BASE);
    let (state, base, user) = (rig.path("state"), rig.path("base.yaml"), rig.path("user.yaml"));
    let (base, user) = (base.to_str().unwrap(), user.to_str().unwrap());
    let before = ["--state", state.to_str().unwrap(), "--policy", base, "--policy", user];
    let allow = |more: &[&str], event: &str| {
        let arguments: Vec<&str> = before
            .iter()
            .chain(["allow", "--event", "-", "--yes"].iter())
            .chain(more)
            .copied()
            .collect();
        crate::rig::run(&rig.path("project"), &arguments, event, &[])
    };
    let ran = allow(&["--for", "2h"], &with_arguments("send_mail", r#"{"to":"a"}"#)).expect(0);
    assert!(ran.out.contains("+   - hook: \"no-mail\""), "{}", ran.out);
    assert!(text(&rig, "user.yaml").contains("\n    until: \""), "{}", text(&rig, "user.yaml"));
    let locked = allow(&[], &call("wipe")).expect(2);
    assert!(locked.err.contains("`fixed` is locked"), "{}", locked.err);
    let own = allow(&["--for", "2h"], &call("delete_x")).expect(2);
    assert!(own.err.contains("an exception cannot end"), "{}", own.err);
    let new =
        allow(&["--into", "new.yaml"], &with_arguments("send_mail", r#"{"to":"b"}"#)).expect(0);
    assert!(new.out.contains("it counts where it is named"), "{}", new.out);
    assert!(text(&rig, "project/new.yaml").contains("\"args.to\": \"b\""));
    assert_eq!(text(&rig, "base.yaml"), BASE);
}

#[test]
fn a_locked_hook_stays() {
    let rig = decided(&call("rm"));
    let ran = rig.run(&["allow", "--last", "--yes"]).expect(2);
    assert!(ran.err.contains("the hook `keep` is locked"), "{}", ran.err);
    assert_eq!(text(&rig, "user.yaml"), USER);
}

#[test]
fn a_call_of_which_a_part_is_masked_is_not_pinned() {
    let rig = decided(&with_arguments("delete_x", r#"{"password":"hunter2"}"#));
    let ran = rig.run(&["allow", "--last", "--yes"]).expect(2);
    assert!(
        ran.err.contains("arguments.password") && ran.err.contains("--event FILE"),
        "{}",
        ran.err
    );
    assert_eq!(text(&rig, "user.yaml"), USER);
}

#[test]
fn a_projects_hook_is_only_changed_in_the_project_and_trusted_again() {
    let rig = Rig::new();
    rig.write("project/tollgate.yaml", crate::rig::PROJECT);
    rig.run(&["trust", "--yes"]).expect(0);
    rig.write("project/event.json", &call("send_mail"));
    let ran = rig.run(&["allow", "--event", "event.json", "--yes"]).expect(2);
    assert!(ran.err.contains("is the project's"), "{}", ran.err);
    let arguments = ["allow", "--event", "event.json", "--yes", "--into", "tollgate.yaml"];
    let ran = rig.run(&arguments).expect(0);
    assert!(ran.out.contains("tollgate trust"), "{}", ran.out);
    assert!(text(&rig, "project/tollgate.yaml").contains("unless:"));
}

#[test]
fn a_refusal_of_no_hook_has_no_exception() {
    let rig = Rig::new();
    rig.write("user.yaml", "version: 1\ndefault: { pre_tool: deny }\nhooks: []\n");
    let ran = rig.run_in("project", &["allow", "--event", "-", "--yes"], &call("x"), &[]).expect(2);
    assert!(ran.err.contains("no hook of the policy refused it"), "{}", ran.err);
}

#[test]
fn an_unless_that_a_person_wrote_is_not_touched_and_what_to_add_is_shown() {
    let rig = Rig::new();
    let own = USER.replace("deny: \"nothing", "unless: { user: kim }\n    deny: \"nothing");
    rig.write("user.yaml", &own);
    let event = with_arguments("delete_x", r#"{"x":2}"#);
    let ran = rig.run_in("project", &["allow", "--event", "-", "--yes"], &event, &[]).expect(2);
    assert!(ran.err.contains("join it with its `unless`"), "{}", ran.err);
    assert!(ran.err.contains("\"args.x\": \"2\""), "{}", ran.err);
    assert_eq!(text(&rig, "user.yaml"), own);
}

#[test]
fn several_refusals_of_one_call_are_lifted_together_or_not_at_all() {
    let rig = Rig::new();
    let policy = "version: 1\nhooks:\n  - { name: a, on: pre_tool, match: { tool: x }, deny: no }\n  - { name: b, on: pre_tool, match: { tool: x }, ask: { who: al } }\n";
    rig.write("user.yaml", policy);
    let allow = || rig.run_in("project", &["allow", "--event", "-", "--yes"], &call("x"), &[]);
    let ran = allow().expect(0);
    assert_eq!(ran.out.matches("--- ").count(), 2, "{}", ran.out);
    assert_eq!(rig.records("switch").len(), 2);
    assert_eq!(rig.decide("user.yaml", &[], &call("x")).json()["verdict"], "allow");
    let locked = policy.replace("who: al }", "who: al }, locked: true");
    rig.write("user.yaml", &locked);
    allow().expect(2);
    assert_eq!(text(&rig, "user.yaml"), locked);
}
