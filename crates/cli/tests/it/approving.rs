//! Approvals, sessions and limits as a person and an agent meet them, across processes.

use crate::rig::{BINARY, Ran, Rig, call};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

const ASKS: &str = r#"
version: 1
hooks:
  - name: large
    on: pre_tool
    match: { tool: transfer }
    ask: { expires: 15m, reason: "money leaves" }
  - name: one-a-minute
    on: pre_tool
    match: { tool: slow }
    limit: { rate: 1/min }
"#;

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", ASKS);
    rig
}

fn decide(rig: &Rig, event: &str) -> serde_json::Value {
    rig.run_in("project", &["decide"], event, &[]).expect(0).json()
}

fn decide_and_record(rig: &Rig, event: &str) -> serde_json::Value {
    let ledger = rig.path("state/ledger");
    let arguments = ["decide", "--ledger", ledger.to_str().unwrap()];
    rig.run_in("project", &arguments, event, &[]).expect(0).json()
}

/// Runs in a terminal of its own; what is typed is typed when the prompt stands there.
pub(crate) fn in_terminal(rig: &Rig, arguments: &str, typed: &[(&str, &str)]) -> (i32, String) {
    let (state, policy) = (rig.path("state"), rig.path("user.yaml"));
    let command =
        format!("{BINARY} --state {} --policy {} {arguments}", state.display(), policy.display());
    let mut child = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(rig.path("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut said = String::new();
    let mut byte = [0; 256];
    let mut typed = typed.iter();
    let mut next = typed.next();
    while let Ok(read @ 1..) = output.read(&mut byte) {
        said.push_str(&String::from_utf8_lossy(&byte[..read]));
        if let Some((_, text)) = next.filter(|(prompt, _)| said.ends_with(*prompt)) {
            input.write_all(text.as_bytes()).unwrap();
            next = typed.next();
        }
    }
    (child.wait().unwrap().code().unwrap(), said)
}

fn pending(rig: &Rig) -> Vec<serde_json::Value> {
    let listed = rig.run(&["approvals", "list", "--format", "json"]).expect(0).json();
    listed["approvals"].as_array().unwrap().clone()
}

#[test]
fn a_call_passes_once_after_a_person_has_said_yes() {
    let rig = rig();
    let first = decide(&rig, &call("transfer"));
    assert_eq!(first["code"], "approval_required");
    let again = decide(&rig, &call("transfer"));
    assert_eq!(again["approval"], first["approval"], "identical questions are one");
    let id = first["approval"].as_str().unwrap();
    let shown = rig.run(&["approvals", "show", id]).expect(0).out;
    assert!(shown.contains("money leaves") && shown.contains("transfer"), "{shown}");
    let answer = format!("approvals approve {id} --reason agreed");
    let (code, said) = in_terminal(&rig, &answer, &[("[y/N] ", "\n")]);
    assert_eq!((code, pending(&rig).len()), (1, 1), "the default is no: {said}");
    let (code, said) = in_terminal(&rig, &answer, &[("[y/N] ", "y\n")]);
    assert_eq!(code, 0, "{said}");
    let passed = decide(&rig, &call("transfer"));
    assert_eq!((&passed["verdict"], &passed["approval"]), (&"allow".into(), &first["approval"]));
    let third = decide(&rig, &call("transfer"));
    assert_eq!(third["code"], "approval_required", "a yes is for one call");
    assert_ne!(third["approval"], first["approval"]);
    let record = &rig.records("approval")[0];
    assert_eq!(record["detail"]["authentication"], "unauthenticated");
    assert_eq!((&record["session"], &record["approval"]), (&"s1".into(), &first["approval"]));
    let listed = rig.run(&["audit", "list", "--kind", "approval"]).expect(0).out;
    assert!(listed.contains("  yes  "), "{listed}");
}

/// A call as a host makes it: with an id of its own each time.
fn call_with_id(id: &str) -> String {
    call("transfer").replace("\"tool\"", &format!("\"call_id\":\"{id}\",\"tool\""))
}

#[test]
fn identical_calls_of_different_ids_are_one_question_and_a_yes_reaches_the_one_made_again() {
    let rig = rig();
    let asked: Vec<serde_json::Value> = std::thread::scope(|scope| {
        let rig = &rig;
        let call = |n: usize| scope.spawn(move || decide(rig, &call_with_id(&format!("c{n}"))));
        let calls: Vec<_> = (0..12).map(call).collect();
        calls.into_iter().map(|call| call.join().unwrap()["approval"].clone()).collect()
    });
    assert_eq!(pending(&rig).len(), 1, "{asked:?}");
    assert!(asked.iter().all(|id| *id == asked[0]), "{asked:?}");
    let answer = format!("approvals approve {} --reason agreed", asked[0].as_str().unwrap());
    assert_eq!(in_terminal(&rig, &answer, &[("[y/N] ", "y\n")]).0, 0);
    let passed = decide(&rig, &call_with_id("again"));
    assert_eq!((&passed["verdict"], &passed["approval"]), (&"allow".into(), &asked[0]));
    assert_eq!(decide(&rig, &call_with_id("and again"))["code"], "approval_required");
}

#[test]
fn a_no_refuses_and_is_heard_with_its_reason() {
    let rig = rig();
    let id = decide(&rig, &call("transfer"))["approval"].as_str().unwrap().to_owned();
    let deny = format!("approvals deny {id} --for never --reason 'not this week'");
    assert_eq!(in_terminal(&rig, &deny, &[("[y/N] ", "y\n")]).0, 0);
    let denied = decide(&rig, &call("transfer"));
    assert_eq!(denied["code"], "approval_denied");
    assert!(denied["reason"].as_str().unwrap().contains("not this week"));
    let other = decide(&rig, &call("transfer").replace("\"s1\"", "\"s2\""));
    assert_eq!(other["code"], "approval_denied", "never holds for the next session as well");
    rig.run(&["approvals", "cancel", &id, "--reason", "next week"]).expect(0);
    assert_eq!(decide(&rig, &call("transfer"))["code"], "approval_cancelled");
    assert_eq!(decide(&rig, &call("transfer"))["code"], "approval_required");
}

#[test]
fn a_yes_for_the_session_ends_with_it_and_what_is_taken_up_again_is_asked_anew() {
    let rig = Rig::new();
    rig.write("user.yaml", "version: 1\nhooks:\n  - name: push\n    on: pre_tool\n    match: { runs: git }\n    ask: { reason: \"it goes out\" }\n");
    let tell = |message: serde_json::Value| {
        let mut message = message;
        message["session_id"] = "s".into();
        message["cwd"] = rig.path("project").to_str().unwrap().into();
        rig.run_by_a_host(&["hook", "codex"], &message.to_string())
    };
    let call = |n: u32| {
        let ran = tell(serde_json::json!({"hook_event_name": "PreToolUse", "tool_name": "Bash",
            "permission_mode": "default", "tool_use_id": format!("c{n}"),
            "tool_input": {"command": "git push"}}));
        ran.code == 0
    };
    let allow = || {
        let id = pending(&rig)[0]["id"].as_str().unwrap().to_owned();
        let answer = format!("approvals approve {id} --for session --reason agreed");
        assert_eq!(in_terminal(&rig, &answer, &[("[y/N] ", "y\n")]).0, 0);
    };
    assert!(!call(1));
    allow();
    assert!(call(2) && call(3), "it holds for the session");
    tell(serde_json::json!({"hook_event_name": "SessionStart", "source": "compact"})).expect(0);
    assert!(call(4), "less context is no new session");
    tell(serde_json::json!({"hook_event_name": "SessionEnd", "reason": "other"})).expect(0);
    assert!(!call(5), "the session has ended");
    allow();
    assert!(call(6));
    // The program was killed: nobody told of an end.
    tell(serde_json::json!({"hook_event_name": "SessionStart", "source": "resume"})).expect(0);
    assert!(!call(7), "it is taken up again");
    allow();
    assert!(call(8));
    rig.run(&["sessions", "abort", "s", "--reason", "enough"]).expect(0);
    rig.run(&["sessions", "resume", "s", "--reason", "go on"]).expect(0);
    assert!(!call(9), "it was ended by a person");
}

#[test]
fn an_answer_without_a_terminal_is_refused() {
    let rig = rig();
    let id = decide(&rig, &call("transfer"))["approval"].as_str().unwrap().to_owned();
    let approve = ["approvals", "approve", &id, "--reason", "x"];
    let ran: Ran = rig.run_in("project", &approve, "y\n", &[]).expect(2);
    assert!(ran.err.contains("needs a person at a terminal"), "{}", ran.err);
    assert_eq!(pending(&rig).len(), 1);
}

#[test]
fn where_keys_are_named_only_a_signed_answer_counts() {
    let rig = rig();
    let typed = [(": ", "a long passphrase\n"), ("more: ", "a long passphrase\n")];
    let (code, said) = in_terminal(&rig, "keys approver new", &typed);
    assert_eq!(code, 0, "{said}");
    let key = said.split("\"ed25519:").nth(1).unwrap().split('"').next().unwrap();
    let user = said.split("approvers:\r\n").nth(1).unwrap().trim().split(':').next().unwrap();
    rig.write("user.yaml", &format!("{ASKS}\napprovers: {{ {user}: \"ed25519:{key}\" }}\n"));
    let id = decide(&rig, &call("transfer"))["approval"].as_str().unwrap().to_owned();
    let answer = format!("approvals approve {id} --reason agreed");
    let wrong = [("[y/N] ", "y\n"), ("Passphrase: ", "another one\n")];
    assert_eq!(in_terminal(&rig, &answer, &wrong).0, 2);
    assert_eq!(decide(&rig, &call("transfer"))["code"], "approval_required");
    let right = [("[y/N] ", "y\n"), ("Passphrase: ", "a long passphrase\n")];
    let (code, said) = in_terminal(&rig, &answer, &right);
    assert_eq!(code, 0, "{said}");
    // Another key in the policy: the yes does not count any more.
    let other = format!("{ASKS}\napprovers: {{ {user}: \"ed25519:{}\" }}\n", "1".repeat(64));
    rig.write("user.yaml", &other);
    assert_eq!(decide(&rig, &call("transfer"))["code"], "approval_required");
    rig.write("user.yaml", &format!("{ASKS}\napprovers: {{ {user}: \"ed25519:{key}\" }}\n"));
    assert_eq!(decide(&rig, &call("transfer"))["verdict"], "allow");
}

#[test]
fn sessions_are_ended_and_resumed_and_limits_reset_across_processes() {
    let rig = rig();
    assert_eq!(decide(&rig, &call("slow"))["verdict"], "allow");
    assert_eq!(decide(&rig, &call("slow"))["code"], "limit_exceeded");
    let shown = rig.run(&["limits", "show", "--format", "json"]).expect(0).json();
    assert_eq!(shown["limits"][0]["in_window"], 1);
    rig.run(&["limits", "reset", "--hook", "one-a-minute", "--reason", "tested"]).expect(0);
    assert_eq!(decide(&rig, &call("slow"))["verdict"], "allow");
    rig.run(&["sessions", "abort", "s1", "--reason", "enough"]).expect(0);
    assert_eq!(decide(&rig, &call("read"))["code"], "session_aborted");
    let child = call("read").replace("\"id\":\"s1\"", "\"id\":\"kid\",\"parent\":\"s1\"");
    assert_eq!(decide(&rig, &child)["code"], "session_aborted");
    let listed = rig.run(&["sessions", "list"]).expect(0).out;
    assert!(listed.contains("\ns1       ended"), "{listed}");
    rig.run(&["sessions", "resume", "s1", "--reason", "go on"]).expect(0);
    assert_eq!(decide(&rig, &call("read"))["verdict"], "allow");
    assert_eq!(rig.records("session_abort").len(), 2);
    rig.run(&["sessions", "show", "none"]).expect(2);
}

#[test]
fn a_session_without_a_name_is_not_ended_and_of_one_that_was_never_seen_it_is_said() {
    let rig = rig();
    decide(&rig, &call("read"));
    for empty in ["", " "] {
        rig.run(&["sessions", "abort", empty, "--reason", "x"]).expect(2);
    }
    let ended = rig.run(&["sessions", "abort", "s11", "--reason", "x"]).expect(0);
    assert!(ended.err.contains("`s11` has not been seen yet"), "{}", ended.err);
    let ended = rig.run(&["sessions", "abort", "s1", "--reason", "x"]).expect(0);
    assert!(!ended.err.contains("seen"), "{}", ended.err);
}

#[test]
fn state_that_cannot_be_used_is_named_by_status_with_what_to_do() {
    let rig = rig();
    decide(&rig, &call("slow"));
    assert!(!rig.run(&["status"]).expect(0).out.contains("CANNOT BE USED"));
    for file in ["limits.db-wal", "limits.db-shm"] {
        let _ = std::fs::remove_file(rig.path("state").join(file));
    }
    rig.write("state/limits.db", "no database at all, and long enough to be looked at as one");
    let status = rig.run(&["status"]).expect(0).out;
    assert!(status.contains("CANNOT BE USED") && status.contains("limits.db"), "{status}");
    assert!(status.contains("take it away to begin anew"), "{status}");
    // The model hears that it failed; the record, the decision's remedy and the doctor say what.
    let refused = decide_and_record(&rig, &call("slow"));
    assert_eq!(refused["code"], "hook_error");
    let heard = refused["payload"]["result"]["error"]["message"].as_str().unwrap();
    assert!(!heard.contains("limits.db") && !heard.contains("damaged"), "{heard}");
    assert!(refused["remedy"].as_str().unwrap().contains("limits.db"), "{refused}");
    let records = rig.records("decision");
    let error = records.last().unwrap()["error"].as_str().unwrap();
    assert!(error.contains("limits.db") && error.contains("damaged"), "{error}");
    let doctor = rig.run(&["doctor"]).expect(1).out;
    assert!(doctor.contains("[state-unusable]") && doctor.contains("limits.db"), "{doctor}");
}

#[test]
fn a_ledger_that_cannot_go_on_is_named_by_status_and_doctor_and_not_to_the_model() {
    let rig = rig();
    let message = serde_json::json!({"session_id": "s", "cwd": rig.path("project"),
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "c",
        "permission_mode": "default", "tool_input": {"command": "ls"}});
    let hook = || rig.run_by_a_host(&["hook", "codex"], &message.to_string());
    hook().expect(0);
    let key = std::fs::read_to_string(rig.path("state/keys/ledger.key")).unwrap();
    let named = |what: &str| {
        let status = rig.run(&["status"]).expect(0).out;
        assert!(status.contains("CANNOT GO ON") && status.contains(what), "{status}");
        let doctor = rig.run(&["doctor"]).expect(1).out;
        assert!(doctor.contains("[ledger-unusable]") && doctor.contains(what), "{doctor}");
    };
    rig.write("state/keys/ledger.key", "no key");
    named("ledger.key");
    rig.write("state/keys/ledger.key", &key);
    // The book does not end as its head says.
    let segment = rig.path("state/ledger/00000000000000000001.jsonl");
    let text = std::fs::read_to_string(&segment).unwrap();
    std::fs::write(&segment, text.replace("\"decision\"", "\"decisi0n\"")).unwrap();
    named("is not the one that was written");
    let ran = hook().expect(2);
    let heard = format!("{}{}", ran.out, ran.err);
    assert!(heard.contains("ledger_unavailable"), "{heard}");
    assert!(!heard.contains("00001.jsonl") && !heard.contains("not the one"), "{heard}");
}

#[test]
fn lists_fit_a_terminal_and_what_they_show_of_an_id_stands_for_it() {
    let rig = rig();
    let long = "a-session-with-a-rather-long-name-of-the-kind-that-hosts-give";
    for number in 0..3 {
        let call = call("transfer").replace("\"s1\"", &format!("\"{number}-{long}\""));
        decide_and_record(&rig, &call);
    }
    decide_and_record(&rig, &call("slow").replace("\"s1\"", &format!("\"0-{long}\"")));
    let shown = |arguments: &str| {
        let (code, said) = in_terminal(&rig, arguments, &[]);
        assert_eq!(code, 0, "{said}");
        // Without colours, and without what was written over.
        let mut parts = said.split("\u{1b}[");
        let mut plain = parts.next().unwrap().to_owned();
        parts.for_each(|part| plain.push_str(part.split_once(char::is_alphabetic).unwrap().1));
        for line in plain.lines() {
            let line = line.trim_end().rsplit('\r').next().unwrap();
            assert!(line.chars().count() <= 80, "{arguments}: {line}");
        }
        plain
    };
    for list in ["audit list", "audit tail", "audit stats", "limits show", "review"] {
        shown(list);
    }
    let approvals = shown("approvals list");
    let piece = approvals.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    rig.run(&["approvals", "show", piece]).expect(0);
    let sessions = shown("sessions list");
    let piece = sessions.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    rig.run(&["sessions", "show", piece]).expect(0);
    let refused = rig.run(&["sessions", "show", long]).expect(2);
    assert!(refused.err.contains("3 sessions fit"), "{}", refused.err);
    let aborted = rig.run(&["sessions", "abort", &format!("1-{}", &long[..20]), "--reason", "x"]);
    assert!(aborted.expect(0).out.contains(&format!("`1-{long}` is ended")));
    for list in [&["approvals", "list"][..], &["sessions", "list"], &["limits", "show"]] {
        rig.run(&[list, &["--json"]].concat()).expect(0).json();
    }
}
