//! Answers to questions as several people, waiting calls, keys elsewhere and killed processes give them.

use crate::approving::in_terminal;
use crate::rig::{BINARY, Rig};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tollgate::gate::{Clock as _, Timestamp};
use tollgate::places::user_name;
use tollgate::store::approvals::{Answer, Scope};
use tollgate::store::{ApprovalState, Approvals, ApproverKey, SystemClock};

/// A policy whose one hook asks like this about every call of `transfer`.
fn asking(ask: &str, more: &str) -> Rig {
    let rig = Rig::new();
    let hook = format!("{{ name: large, on: pre_tool, match: {{ tool: transfer }}, ask: {ask} }}");
    rig.write("user.yaml", &format!("version: 1\n{more}\nhooks:\n  - {hook}\n"));
    rig
}

fn call(session: &str, tool: &str, amount: u32) -> String {
    format!(
        "{{\"kind\":\"pre_tool\",\"session\":{{\"id\":\"{session}\"}},\"payload\":{{\"tool\":\"{tool}\",\
         \"arguments\":{{\"amount\":{amount}}}}}}}\n"
    )
}

fn decide(rig: &Rig, event: &str) -> Value {
    rig.run_in("project", &["decide"], event, &[]).expect(0).json()
}

fn asked(rig: &Rig, event: &str) -> String {
    let decision = decide(rig, event);
    assert_eq!(decision["code"], "approval_required", "{decision:#}");
    decision["approval"].as_str().unwrap().to_owned()
}

/// A process that decides and records, beside this one.
fn deciding(rig: &Rig, event: &str) -> Child {
    rig.write("event.json", event);
    Command::new(BINARY)
        .args(["--state", rig.path("state").to_str().unwrap()])
        .args(["--policy", rig.path("user.yaml").to_str().unwrap(), "decide"])
        .args(["--ledger", rig.path("state/ledger").to_str().unwrap()])
        .current_dir(rig.path("project"))
        .stdin(fs::File::open(rig.path("event.json")).unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn decided(child: Child) -> Value {
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

fn approvals(rig: &Rig) -> Approvals {
    Approvals::new(&rig.path("state"))
}

fn now() -> Timestamp {
    SystemClock::new().now()
}

/// Waits until a question is in this state, and gives its id.
fn wait_for(rig: &Rig, state: ApprovalState) -> String {
    let since = Instant::now();
    loop {
        let all = approvals(rig).list(now()).unwrap();
        if let Some(found) = all.iter().find(|approval| approval.state == state) {
            return found.id.to_string();
        }
        assert!(since.elapsed() < Duration::from_secs(60), "no question is {}", state.name());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Signs what `--print` prints, away from the binary, and hands the signature in.
fn sign(rig: &Rig, id: &str, by: &str, key: &ApproverKey, reason: &str) -> (i32, String) {
    let answer = ["approvals", "approve", id, "--as", by, "--reason", "agreed"];
    let print = rig.run(&[&answer[..], &["--print"]].concat());
    if print.code != 0 {
        return (print.code, print.err);
    }
    let signature: String = key.sign(&print.out).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut hand_in = [&answer[..], &["--signature", "-"]].concat();
    hand_in[6] = reason;
    let ran = rig.run_in("project", &hand_in, &signature, &[]);
    (ran.code, format!("{}{}", ran.out, ran.err))
}

#[test]
fn everyone_named_must_agree_a_group_by_one_of_its_members_and_nobody_else_counts() {
    let keys =
        ["alice", "bob", "carol", "mallory"].map(|name| (name, ApproverKey::fresh().unwrap()));
    let mut more = String::from("groups: { finance: [alice, bob] }\napprovers:\n");
    for (name, key) in &keys {
        more.push_str(&format!("  {name}: \"ed25519:{}\"\n", key.public()));
    }
    let rig = asking("{ who: [finance, carol] }", &more);
    let [(_, alice), _, (_, carol), (_, mallory)] = &keys;
    let id = asked(&rig, &call("s1", "transfer", 1));
    let (code, said) = sign(&rig, &id, "mallory", mallory, "agreed");
    assert!(code == 2 && said.contains("may not answer this"), "{code} {said}");
    let (code, said) = sign(&rig, &id, "alice", mallory, "agreed");
    assert!(code == 2 && said.contains("not the signature of `alice`"), "{code} {said}");
    let (code, said) = sign(&rig, &id, "alice", alice, "agreed");
    assert!(code == 0 && said.contains("others must answer as well"), "{code} {said}");
    assert_eq!(asked(&rig, &call("s1", "transfer", 1)), id);
    assert_eq!(sign(&rig, &id, "carol", carol, "agreed").0, 0);
    assert_eq!(decide(&rig, &call("s1", "transfer", 1))["verdict"], "allow");
    let signed = rig.records("approval");
    let signed = signed.iter().filter(|record| record["detail"]["authentication"] == "signed");
    assert_eq!(signed.count(), 2);
}

#[test]
fn a_signature_holds_for_one_question_and_one_text_only() {
    let key = ApproverKey::fresh().unwrap();
    let rig = asking("true", &format!("approvers: {{ alice: \"ed25519:{}\" }}", key.public()));
    let id = asked(&rig, &call("s1", "transfer", 1));
    let other = asked(&rig, &call("s1", "transfer", 2));
    let (code, said) = sign(&rig, &id, "alice", &key, "another reason");
    assert!(code == 2 && said.contains("not the signature"), "{code} {said}");
    let answer = ["approvals", "approve", &id, "--as", "alice", "--reason", "agreed"];
    let text = rig.run(&[&answer[..], &["--print"]].concat()).expect(0).out;
    let hex: String = key.sign(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    rig.write("signature", &hex);
    let file = rig.path("signature").display().to_string();
    let mut hand_in = [&answer[..], &["--signature", &file]].concat();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    assert!(rig.run(&hand_in).expect(2).err.contains("chmod 600"));
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    hand_in[2] = &other;
    assert!(rig.run(&hand_in).expect(2).err.contains("not the signature"));
    hand_in[2] = &id;
    rig.run(&hand_in).expect(0);
    assert_eq!(decide(&rig, &call("s1", "transfer", 2))["code"], "approval_required");
    assert_eq!(decide(&rig, &call("s1", "transfer", 1))["verdict"], "allow");
}

#[test]
fn a_waiting_call_runs_in_its_own_process_when_it_is_answered_and_ends_by_itself_when_not() {
    let rig = asking("{ wait: 45s }", "");
    let waiting = deciding(&rig, &call("s1", "transfer", 1));
    let id = wait_for(&rig, ApprovalState::Pending);
    let answer = format!("approvals approve {id} --reason agreed");
    let (code, said) = in_terminal(&rig, &answer, &[("[y/N] ", "y\n")]);
    assert_eq!(code, 0, "{said}");
    let passed = decided(waiting);
    assert_eq!((&passed["verdict"], &passed["approval"]), (&"allow".into(), &id.into()));
    let rig = asking("{ wait: 1s }", "");
    let since = Instant::now();
    asked(&rig, &call("s1", "transfer", 1));
    assert!(since.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_question_that_expires_while_its_call_waits_is_told_once() {
    let rig = asking("{ wait: 45s, expires: 1s }", "");
    assert_eq!(decide(&rig, &call("s1", "transfer", 1))["code"], "approval_expired");
    let waiting = deciding(&rig, &call("s1", "transfer", 1));
    wait_for(&rig, ApprovalState::Pending);
    assert_eq!(decided(waiting)["code"], "approval_expired");
}

#[test]
fn a_question_that_nobody_answers_expires_once_and_is_asked_anew() {
    let rig = asking("{ expires: 1s }", "");
    let id = asked(&rig, &call("s1", "transfer", 1));
    wait_for(&rig, ApprovalState::Expired);
    assert_eq!(decide(&rig, &call("s1", "transfer", 1))["code"], "approval_expired");
    assert_ne!(asked(&rig, &call("s1", "transfer", 1)), id);
}

#[test]
fn more_unanswered_questions_than_eight_are_refused_without_being_asked() {
    let rig = asking("true", "");
    for amount in 0..8 {
        asked(&rig, &call("s1", "transfer", amount));
    }
    let ninth = decide(&rig, &call("s1", "transfer", 8));
    assert_eq!((&ninth["code"], &ninth["approval"]), (&"approval_required".into(), &Value::Null));
    assert!(ninth["reason"].as_str().unwrap().contains("8 earlier questions"), "{ninth:#}");
    assert_eq!(approvals(&rig).list(now()).unwrap().len(), 8);
    asked(&rig, &call("s2", "transfer", 8));
}

#[test]
fn a_yes_for_the_session_holds_for_its_hook_effects_and_session_until_that_ends() {
    let rig = asking("true", "");
    let policy = fs::read_to_string(rig.path("user.yaml")).unwrap();
    let other = "  - { name: other, on: pre_tool, match: { tool: pay }, ask: true }\n";
    rig.write("user.yaml", &format!("{policy}{other}"));
    let id = asked(&rig, &call("s1", "transfer", 1));
    let answer = format!("approvals approve {id} --for session --reason agreed");
    assert_eq!(in_terminal(&rig, &answer, &[("[y/N] ", "y\n")]).0, 0);
    for _ in 0..3 {
        assert_eq!(decide(&rig, &call("s1", "transfer", 1))["verdict"], "allow");
    }
    asked(&rig, &call("s1", "transfer", 2));
    asked(&rig, &call("s1", "pay", 1));
    asked(&rig, &call("s2", "transfer", 1));
    // The session is over and forgotten; one of the same id is another one.
    fs::remove_dir_all(rig.path("state/sessions")).unwrap();
    asked(&rig, &call("s1", "transfer", 1));
}

#[test]
fn a_process_below_the_host_of_a_governed_session_may_not_answer_even_at_a_terminal() {
    let rig = asking("true", "");
    let id = asked(&rig, &call("s1", "transfer", 1));
    let event = tollgate_hosts::canned::shell_call("claude-code", "s9", "/", "ls").unwrap();
    // This process is the agent program that starts the hook.
    rig.run_in("project", &["hook", "claude-code"], &event, &[]).expect(0);
    for answer in ["approve", "deny", "cancel"] {
        let command = format!("approvals {answer} {id} --reason agreed");
        let (code, said) = in_terminal(&rig, &command, &[("[y/N] ", "y\n")]);
        assert!(code == 2 && said.contains("an agent has started this"), "{code} {said}");
    }
    wait_for(&rig, ApprovalState::Pending);
}

#[test]
fn a_process_below_the_host_of_a_governed_session_may_switch_forget_and_take_away_nothing() {
    let rig = asking("true", "");
    rig.write("project/tollgate.yaml", crate::rig::PROJECT);
    let event = tollgate_hosts::canned::shell_call("claude-code", "s9", "/", "ls").unwrap();
    rig.run_in("project", &["hook", "claude-code"], &event, &[]).expect(0);
    let before = fs::read_dir(rig.path("state/keys")).unwrap().count();
    for command in [
        "pause --for 5m --reason x",
        "hooks disable large --reason x",
        "hooks enable large --reason x",
        "allow --last --yes",
        "trust --yes",
        "install claude-code",
        "uninstall claude-code",
        "audit erase --user bob --yes",
        "audit prune --before 1d --yes",
        "keys rotate --yes",
        "keys approver new",
        "review true 1",
        "review false 1",
        "sessions abort s9 --reason x",
        "sessions resume s9 --reason x",
        "limits reset --hook large --reason x",
        "mcp pins accept files --yes",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let ran = rig.run(&words).expect(2);
        assert!(ran.err.contains("an agent has started this"), "{command}: {}", ran.err);
    }
    assert_eq!(fs::read_dir(rig.path("state/keys")).unwrap().count(), before);
    for command in ["status", "hooks list", "audit list", "keys show", "review", "limits show"] {
        rig.run(&command.split(' ').collect::<Vec<_>>()).expect(0);
    }
}

#[test]
fn a_call_that_is_killed_between_its_yes_and_its_run_leaves_the_yes_for_one_call() {
    let rig = asking("{ wait: 45s }", "");
    decided(deciding(&rig, &call("s1", "look", 1)));
    let mut killed = deciding(&rig, &call("s1", "transfer", 1));
    let id = wait_for(&rig, ApprovalState::Pending);
    // While the book is locked, a call that has the yes cannot record it, and so cannot run; nor could
    // the answering command, so the answer is put where that command would put it.
    let book = fs::File::open(rig.path("state/ledger/lock")).unwrap();
    book.lock().unwrap();
    let (by, reason, at) = (user_name().into(), "agreed".into(), now());
    let yes = Answer { by, yes: true, scope: Scope::Once, reason, at, signature: None };
    approvals(&rig).answer(&id, &yes, |_| ApprovalState::Approved, at).unwrap();
    wait_for(&rig, ApprovalState::Claimed);
    killed.kill().unwrap();
    let out = killed.wait_with_output().unwrap().stdout;
    assert_eq!(String::from_utf8(out).unwrap(), "", "nothing was let through");
    book.unlock().unwrap();
    assert_eq!(
        rig.records("approval"),
        [] as [Value; 0],
        "no yes is recorded of a call without one"
    );
    assert_eq!(rig.records("decision").len(), 1, "that of the other call");
    // A minute later it is free.
    let later = now().plus_millis(61_000);
    let freed = approvals(&rig).show(&id, later).unwrap().unwrap();
    assert_eq!(freed.state, ApprovalState::Approved);
    let passed = decided(deciding(&rig, &call("s1", "transfer", 1)));
    assert_eq!((&passed["verdict"], &passed["approval"]), (&"allow".into(), &id.clone().into()));
    let yes = rig.records("approval");
    assert_eq!((yes.len(), &yes[0]["detail"]["state"]), (1, &"approved".into()));
    let policy = fs::read_to_string(rig.path("user.yaml")).unwrap();
    rig.write("user.yaml", &policy.replace("{ wait: 45s }", "true"));
    assert_ne!(asked(&rig, &call("s1", "transfer", 1)), id);
}

#[test]
fn approvals_that_cannot_be_read_let_nothing_pass() {
    let rig = asking("true", "");
    let id = asked(&rig, &call("s1", "transfer", 1));
    let answer = format!("approvals approve {id} --reason agreed");
    assert_eq!(in_terminal(&rig, &answer, &[("[y/N] ", "y\n")]).0, 0);
    for file in ["approvals.db-wal", "approvals.db-shm"] {
        let _ = fs::remove_file(rig.path("state").join(file));
    }
    rig.write("state/approvals.db", "no database at all, and long enough to be looked at as one");
    let refused = decide(&rig, &call("s1", "transfer", 1));
    assert_eq!(
        (&refused["verdict"], &refused["code"]),
        (&"deny".into(), &"approval_required".into())
    );
    assert!(refused["reason"].as_str().unwrap().contains("approvals are not available"));
}

#[test]
fn where_no_keys_are_named_nobody_answers_in_anothers_name() {
    let rig = asking("{ who: boss }", "");
    let id = asked(&rig, &call("s1", "transfer", 1));
    let ran = rig.run(&["approvals", "approve", &id, "--reason", "x", "--as", "boss"]).expect(2);
    assert!(ran.err.contains("has to be signed"), "{}", ran.err);
    let ran = rig.run(&["approvals", "approve", &id, "--reason", "x"]).expect(2);
    assert!(ran.err.contains(&format!("`{}` may not answer this", user_name())), "{}", ran.err);
}
