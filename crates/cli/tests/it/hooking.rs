//! `tollgate hook`: what a host hears, whatever happens. Named after what each holds; the traps are those
//! that were seen with the real programs, which take most wrong answers for consent.

use crate::rig::{BINARY, Ran, Rig};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const POLICY: &str = r#"
version: 1
hooks:
  - name: no-production
    on: pre_tool
    match: { args.command: "*production*" }
    deny: "nobody deploys from here"
  - name: stay-inside
    on: pre_tool
    match: { deletes: { outside: workspace } }
    deny: "deletion outside the workspace"
  - name: clamp
    on: pre_tool
    match: { args.command: "*--max *" }
    rewrite: { command: { replace: { pattern: "--max [0-9]{3,}", with: "--max 10" } } }
  - name: ask-first
    on: pre_tool
    match: { runs: git push }
    ask: { reason: "pushing needs a yes" }
  - name: ask-ann
    on: pre_tool
    match: { runs: make }
    ask: { who: ann, reason: "ann has to agree" }
  - name: trusted
    on: pre_tool
    match: { args.command: "echo trusted" }
    allow: { skip_host_prompt: true }
  - name: nothing-secret
    on: after_tool
    redact: { find: [secrets] }
"#;

const SECRET: &str = "ghp_q8Zk3LwT9vXb2NfR7sYc5JdH1mGpA4eU6oQ0";

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", POLICY);
    rig
}

fn hook(rig: &Rig, host: &str, message: &Value) -> Ran {
    // As in a terminal, wherever these tests run.
    hook_with(rig, host, message, &[("CLAUDE_CODE_SESSION_ATTENDED", "1")])
}

fn hook_with(rig: &Rig, host: &str, message: &Value, env: &[(&str, &str)]) -> Ran {
    rig.run_in("project", &["hook", host], &message.to_string(), env)
}

/// A shell call as the host tells of it before it runs.
fn before(rig: &Rig, host: &str, command: &str) -> Value {
    let cwd = rig.path("project");
    match host {
        "gemini" => json!({
            "session_id": "s", "cwd": cwd, "hook_event_name": "BeforeTool",
            "tool_name": "run_shell_command", "tool_input": {"command": command}}),
        _ => json!({
            "session_id": "s", "transcript_path": "/t", "cwd": cwd, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "c1",
            "tool_input": {"command": command}}),
    }
}

const LIVE: [&str; 3] = ["claude-code", "codex", "gemini"];

/// Whether every one of the hosts would refuse the call by this, by what was seen of them.
#[track_caller]
fn refuses(ran: &Ran) {
    assert_eq!(ran.code, 2, "out: {}\nerr: {}", ran.out, ran.err);
    assert!(!ran.err.trim().is_empty(), "Codex lets a call run that is refused without a word");
    assert!(ran.out.is_empty() || ran.out.ends_with("}\n"), "{}", ran.out);
    assert!(ran.out.lines().count() <= 1);
}

#[test]
fn a_denial_is_said_in_the_hosts_words_and_by_the_exit_code() {
    let rig = rig();
    for host in LIVE {
        let ran = hook(&rig, host, &before(&rig, host, "sh deploy.sh production"));
        refuses(&ran);
        let answer = ran.json();
        let (word, reason) = match host {
            "gemini" => (&answer["decision"], &answer["reason"]),
            _ => {
                let inner = &answer["hookSpecificOutput"];
                assert_eq!(inner["hookEventName"], "PreToolUse");
                (&inner["permissionDecision"], &inner["permissionDecisionReason"])
            }
        };
        assert_eq!(word, "deny");
        let reason = reason.as_str().unwrap();
        assert!(reason.contains("nobody deploys from here"), "{reason}");
        assert!(reason.contains("this is policy, not an error to work around"), "{reason}");
        assert!(ran.err.contains("nobody deploys from here"));
    }
    assert_eq!(rig.records("decision").len(), 3);
}

#[test]
fn what_no_hook_minds_is_answered_by_silence() {
    let rig = rig();
    for host in LIVE {
        let ran = hook(&rig, host, &before(&rig, host, "ls -l"));
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    }
}

/// With Gemini CLI a replaced result is an error, so an unchanged one that is sent back would be a failed call.
#[test]
fn a_result_that_no_hook_changed_is_left_alone_also_where_calls_have_no_ids() {
    let rig = rig();
    let cwd = rig.path("project");
    let claude = |event: &str| {
        let mut message = before(&rig, "claude-code", "ls");
        message["hook_event_name"] = event.into();
        message["tool_response"] = json!({"stdout": "a.txt", "stderr": ""});
        message["error"] = "Exit code 1\na.txt".into();
        message
    };
    let gemini = |response: Value| {
        let mut message = before(&rig, "gemini", "ls");
        message["hook_event_name"] = "AfterTool".into();
        message["tool_response"] = response;
        message
    };
    let tool = json!({"session_id": "s", "sessionId": "s", "conversation_id": "s", "cwd": cwd,
        "toolName": "bash", "toolArgs": {"command": "ls"}, "tool_name": "Shell",
        "tool_input": {"command": "ls"}});
    let with = |members: Value| {
        let mut message = tool.clone();
        let members = members.as_object().unwrap().clone();
        message.as_object_mut().unwrap().extend(members);
        message
    };
    let results = [
        ("claude-code", "", claude("PostToolUse")),
        ("claude-code", "", claude("PostToolUseFailure")),
        ("codex", "", claude("PostToolUse")),
        ("gemini", "", gemini(json!({"llmContent": "Output: a.txt", "returnDisplay": "a.txt"}))),
        ("gemini", "", gemini(json!({"llmContent": "", "error": {"message": "no such file"}}))),
        (
            "copilot",
            "postToolUse",
            with(json!({"toolResult": {"resultType": "success",
            "textResultForLlm": "a.txt"}})),
        ),
        ("copilot", "postToolUseFailure", with(json!({"error": "no such file"}))),
        (
            "cursor",
            "",
            with(json!({"hook_event_name": "postToolUse",
            "tool_output": "{\"output\":\"a.txt\",\"exitCode\":0}"})),
        ),
    ];
    for (host, event, message) in results {
        let mut words = vec!["hook", host];
        words.extend(["--event", event].into_iter().filter(|_| !event.is_empty()));
        let ran = rig.run_in("project", &words, &message.to_string(), &[]);
        let said = (ran.code, ran.out.as_str(), ran.err.as_str());
        // Cursor takes no answer at all for a failure.
        let nothing = if host == "cursor" { "{}\n" } else { "" };
        assert_eq!(said, (0, nothing, ""), "{host}: {message}");
    }
}

#[test]
fn a_rewrite_carries_every_argument_and_is_judged_as_it_will_run() {
    let rig = rig();
    let mut call = before(&rig, "claude-code", "list --max 5000");
    call["tool_input"]["description"] = "List".into();
    let ran = hook(&rig, "claude-code", &call).expect(0);
    let input = &ran.json()["hookSpecificOutput"]["updatedInput"];
    assert_eq!(input, &json!({"command": "list --max 10", "description": "List"}));
    assert!(ran.json()["hookSpecificOutput"].get("permissionDecision").is_none());
    let codex = hook(&rig, "codex", &before(&rig, "codex", "list --max 5000")).expect(0).json();
    assert_eq!(codex["hookSpecificOutput"]["permissionDecision"], "allow");
    assert_eq!(codex["hookSpecificOutput"]["updatedInput"]["command"], "list --max 10");
    let gemini = hook(&rig, "gemini", &before(&rig, "gemini", "list --max 5000")).expect(0).json();
    assert_eq!(gemini["hookSpecificOutput"]["tool_input"]["command"], "list --max 10");

    // The host's tool is read anew: what the rewritten command does is what the rules see.
    rig.write(
        "user.yaml",
        "version: 1\nhooks:\n  - { name: turn, on: pre_tool, match: { tool: Bash }, rewrite: { command: { set: \"rm -rf /srv/x\" } } }\n  - { name: keep, on: pre_tool, match: { deletes: \"/srv/**\" }, deny: \"kept\" }\n",
    );
    refuses(&hook(&rig, "claude-code", &before(&rig, "claude-code", "ls")));
}

#[test]
fn a_question_goes_to_the_hosts_own_prompt_only_where_somebody_would_see_it() {
    let rig = rig();
    let push = before(&rig, "claude-code", "git push");
    let ran = hook(&rig, "claude-code", &push).expect(0);
    assert_eq!(ran.json()["hookSpecificOutput"]["permissionDecision"], "ask");
    let asked = &rig.records("decision")[0];
    assert_eq!(asked["verdict"], "ask");
    assert_eq!(rig.records("outcome").len(), 0, "the host tells what came of it");
    for mode in ["bypassPermissions", "dontAsk", "auto", "aModeOfNextYear"] {
        let mut push = push.clone();
        push["permission_mode"] = mode.into();
        refuses(&hook(&rig, "claude-code", &push));
    }
    refuses(&hook(&rig, "claude-code", &before(&rig, "claude-code", "make all")));
    for host in ["codex", "gemini"] {
        refuses(&hook(&rig, host, &before(&rig, host, "git push")));
    }
    // `claude -p` says that nobody sits there; its mode is the same as in a terminal.
    for headless in [
        [("CLAUDE_CODE_SESSION_ATTENDED", "0"), ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")],
        [("CLAUDE_CODE_SESSION_ATTENDED", "0"), ("CLAUDE_CODE_ENTRYPOINT", "cli")],
        [("CLAUDE_CODE_SESSION_ATTENDED", ""), ("CLAUDE_CODE_ENTRYPOINT", "sdk-ts")],
    ] {
        let ran = hook_with(&rig, "claude-code", &push, &headless);
        refuses(&ran);
        assert!(ran.err.contains("a person is asked to confirm (approval "), "{}", ran.err);
    }
}

#[test]
fn results_are_redacted_in_the_shape_that_each_host_takes() {
    let rig = rig();
    let mut call = before(&rig, "claude-code", "cat log");
    call["hook_event_name"] = "PostToolUse".into();
    call["tool_response"] = json!({"stdout": format!("a {SECRET} b"), "stderr": "", "interrupted": false, "isImage": false});
    let ran = hook(&rig, "claude-code", &call).expect(0);
    let output = &ran.json()["hookSpecificOutput"]["updatedToolOutput"];
    assert!(output["stdout"].as_str().unwrap().starts_with("a "), "{output}");
    assert_eq!(output["interrupted"], false);
    assert!(!ran.out.contains(SECRET));

    call["tool_response"] = format!("a {SECRET} b").into();
    let ran = hook(&rig, "codex", &call).expect(0);
    assert_eq!(ran.json()["decision"], "block");
    assert!(!ran.out.contains(SECRET) && ran.json()["reason"].as_str().unwrap().ends_with(" b"));

    let mut after = before(&rig, "gemini", "cat log");
    after["hook_event_name"] = "AfterTool".into();
    after["tool_response"] =
        json!({"llmContent": format!("Output: {SECRET}"), "returnDisplay": SECRET});
    let ran = hook(&rig, "gemini", &after).expect(0);
    assert_eq!(ran.json()["decision"], "deny");
    assert!(
        !ran.out.contains(SECRET) && ran.json()["reason"].as_str().unwrap().starts_with("Output: ")
    );
}

#[test]
fn what_a_host_shows_and_lets_nobody_change_is_recorded_as_not_enforced() {
    let rig = rig();
    let mut call = before(&rig, "claude-code", "cat log");
    call["hook_event_name"] = "PostToolUseFailure".into();
    call["error"] = format!("Exit code 3\n{SECRET}").into();
    let ran = hook(&rig, "claude-code", &call).expect(0);
    assert_eq!(ran.out, "");
    let outcome = &rig.records("outcome")[0];
    assert_eq!(outcome["detail"]["not_enforced"], "rewrite", "{outcome}");
    assert!(!outcome.to_string().contains(SECRET));
}

#[test]
fn a_refused_start_ends_the_session_for_hosts_that_start_all_the_same() {
    let rig = rig();
    rig.write(
        "user.yaml",
        "version: 1\nhooks:\n  - { name: closed, on: agent_start, deny: \"not today\" }\n",
    );
    let start = json!({"session_id": "s", "transcript_path": "/t", "cwd": rig.path("project"),
        "hook_event_name": "SessionStart", "source": "startup"});
    let ran = hook(&rig, "claude-code", &start).expect(0);
    assert!(ran.json()["systemMessage"].as_str().unwrap().contains("not today"));
    let ran = hook(&rig, "claude-code", &before(&rig, "claude-code", "ls"));
    refuses(&ran);
    assert!(ran.err.contains("the session was ended"), "{}", ran.err);
}

#[test]
fn the_projects_root_is_where_the_session_began_and_does_not_follow_it() {
    let rig = rig();
    fs::create_dir_all(rig.path("other")).unwrap();
    hook(&rig, "claude-code", &before(&rig, "claude-code", "ls")).expect(0);
    let mut call = before(&rig, "claude-code", "rm -rf x");
    call["cwd"] = rig.path("other").to_str().unwrap().into();
    refuses(&hook(&rig, "claude-code", &call));
    // Another session that begins there may.
    call["session_id"] = "t".into();
    hook(&rig, "claude-code", &call).expect(0);
}

#[test]
fn calls_without_an_id_are_found_again_by_tool_and_arguments_the_oldest_first() {
    let rig = rig();
    for command in ["echo a", "echo b", "echo a"] {
        hook(&rig, "gemini", &before(&rig, "gemini", command)).expect(0);
    }
    for command in ["echo b", "echo a", "echo a", "echo a"] {
        let mut after = before(&rig, "gemini", command);
        after["hook_event_name"] = "AfterTool".into();
        after["tool_response"] = json!({"llmContent": "a"});
        hook(&rig, "gemini", &after).expect(0);
    }
    let ids = |kind: &str| -> Vec<Value> {
        rig.records(kind).iter().map(|record| record["call_id"].clone()).collect()
    };
    let (asked, ended) = (ids("decision"), ids("outcome"));
    assert_eq!(ended[..3], [asked[1].clone(), asked[0].clone(), asked[2].clone()]);
    assert!(ended[3].is_null(), "nobody asked for a third");
}

#[test]
fn codex_skips_its_own_prompt_once_for_a_call_that_the_policy_trusts() {
    let rig = rig();
    let call = before(&rig, "codex", "echo trusted");
    let permission = |command: &str| {
        let mut message = before(&rig, "codex", command);
        message["hook_event_name"] = "PermissionRequest".into();
        hook(&rig, "codex", &message).expect(0)
    };
    assert_eq!(permission("echo trusted").out, "", "nothing was decided yet");
    assert_eq!(hook(&rig, "codex", &call).expect(0).out, "", "a bare allow is a mistake there");
    let answer = permission("echo trusted").json();
    assert_eq!(answer["hookSpecificOutput"]["decision"]["behavior"], "allow");
    assert_eq!(permission("echo trusted").out, "", "once");
    assert_eq!(permission("echo other").out, "");
    let claude = hook(&rig, "claude-code", &call).expect(0).json();
    assert_eq!(claude["hookSpecificOutput"]["permissionDecision"], "allow");
}

#[test]
fn a_call_that_waits_for_an_answer_is_refused_before_its_time_is_over_even_where_errors_are_open() {
    let rig = Rig::new();
    rig.write(
        "user.yaml",
        "version: 1\non_internal_error: open\nhooks:\n  - { name: ann, on: pre_tool, match: { args.command: \"make*\" }, ask: { who: ann, wait: 10m } }\n",
    );
    let started = Instant::now();
    let ran = hook(&rig, "claude-code", &before(&rig, "claude-code", "make all"));
    refuses(&ran);
    assert!(
        ran.out.contains("approval_required") || ran.out.contains("asked to confirm"),
        "{}",
        ran.out
    );
    let took = started.elapsed().as_millis();
    assert!((5_000..8_000).contains(&took), "{took} ms");
    // Where a host lets the call run when its own time is over, nobody is waited for.
    for host in ["codex", "gemini"] {
        let started = Instant::now();
        refuses(&hook(&rig, host, &before(&rig, host, "make all")));
        assert!(started.elapsed().as_millis() < 4_000, "{host}");
    }
}

#[test]
fn whatever_goes_wrong_inside_refuses() {
    for host in LIVE {
        let rig = rig();
        let call = before(&rig, host, "ls").to_string();
        let run = |arguments: &[&str], input: &str| rig.run_in("project", arguments, input, &[]);
        for input in ["", "{", "[]", "null", "{\"hook_event_name\": \"NoSuch\"}", "\u{feff}{}"] {
            refuses(&run(&["hook", host], input));
        }
        refuses(&run(&["hook", host, "--policy", "/no/such/policy.yaml"], &call));
        // Without a last good one.
        fs::remove_dir_all(rig.path("state")).unwrap();
        rig.write("user.yaml", "version: 1\nhooks: [{ name: x, on: nothing }]\n");
        let ran = run(&["hook", host], &call);
        refuses(&ran);
        assert!(ran.err.contains("bad_policy"), "{}", ran.err);
        assert!(ran.err.contains("user.yaml` does not load"), "{}", ran.err);
        // Neither a ledger nor a place for state.
        rig.write("user.yaml", POLICY);
        rig.write("state/ledger", "not a folder");
        let ran = run(&["hook", host], &call);
        refuses(&ran);
        assert!(ran.err.contains("ledger_unavailable"), "{}", ran.err);
        rig.write("file", "");
        let nowhere = rig.path("file/state");
        let policy = rig.path("user.yaml");
        let all = [
            "hook",
            host,
            "--policy",
            policy.to_str().unwrap(),
            "--state",
            nowhere.to_str().unwrap(),
        ];
        refuses(&crate::rig::run(&rig.path("project"), &all, &call, &[]));
    }
    refuses(&rig().run_in("project", &["hook", "no-such-host"], "{}", &[]));
}

#[test]
fn after_a_call_what_goes_wrong_withholds_what_came_back() {
    let rig = rig();
    rig.write("user.yaml", "version: 1\nhooks: [{ name: x, on: nothing }]\n");
    let mut call = before(&rig, "claude-code", "cat log");
    call["hook_event_name"] = "PostToolUse".into();
    call["tool_response"] = json!({"stdout": SECRET, "stderr": SECRET, "interrupted": false});
    let ran = hook(&rig, "claude-code", &call).expect(0);
    assert!(!ran.out.contains(SECRET));
    let output = &ran.json()["hookSpecificOutput"]["updatedToolOutput"];
    assert!(output["stdout"].as_str().unwrap().contains("bad_policy"), "{output}");
    call["tool_response"] = SECRET.into();
    let ran = hook(&rig, "codex", &call).expect(0);
    assert_eq!(ran.json()["decision"], "block");
    assert!(!ran.out.contains(SECRET));
}

/// A result as each host tells of it: the field that holds it, and what shows that it was replaced.
fn after(rig: &Rig, host: &str) -> (Value, &'static str) {
    let mut call = before(rig, host, "cat log");
    let (event, field, result, shows) = match host {
        "claude-code" => (
            "PostToolUse",
            "tool_response",
            json!({"stdout": SECRET, "stderr": "", "interrupted": false}),
            "updatedToolOutput",
        ),
        "gemini" => {
            ("AfterTool", "tool_response", json!({"llmContent": SECRET}), "\"decision\":\"deny\"")
        }
        "copilot" => {
            ("postToolUse", "toolResult", json!({"textResultForLlm": SECRET}), "modifiedResult")
        }
        "cursor" => ("postToolUse", "tool_output", json!(SECRET), "updated_mcp_tool_output"),
        _ => ("PostToolUse", "tool_response", json!(SECRET), "\"decision\":\"block\""),
    };
    call["hook_event_name"] = event.into();
    call[field] = result;
    (call, shows)
}

#[test]
fn a_result_that_cannot_be_read_is_withheld_in_the_words_of_each_host() {
    let rig = rig();
    for host in ["claude-code", "codex", "gemini", "copilot", "cursor"] {
        let (call, shows) = after(&rig, host);
        let good = call.to_string();
        let with = |more: &str| good.replacen(SECRET, &format!("{SECRET}{more}"), 1);
        let mut nobody = call.clone();
        nobody.as_object_mut().unwrap().remove("session_id");
        for (what, text) in [
            ("half a pair", with("\\ud83d").into_bytes()),
            (
                "no UTF-8",
                [
                    with("\u{1}").split('\u{1}').next().unwrap().as_bytes(),
                    b"\xff",
                    good.split(SECRET).nth(1).unwrap().as_bytes(),
                ]
                .concat(),
            ),
            ("a key twice", good.replacen('{', "{\"x\":1,\"x\":2,", 1).into_bytes()),
            (
                "too deep",
                good.replacen('{', &format!("{{\"x\":{}{},", "[".repeat(500), "]".repeat(500)), 1)
                    .into_bytes(),
            ),
            ("too large", with(&"x".repeat(17 << 20)).into_bytes()),
            ("of no session", nobody.to_string().into_bytes()),
        ] {
            let mut child = process(&rig, host).spawn().unwrap();
            child.stdin.take().unwrap().write_all(&text).unwrap();
            let ran = ran(child);
            assert_eq!(ran.code, 0, "{host}, {what}: {}", ran.err);
            assert!(ran.out.contains(shows), "{host}, {what}: {}", ran.out);
            assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{host}, {what}");
        }
        // Before a call it is refused, as ever.
        let before = before(&rig, host, "ls \u{1}").to_string().replace("\\u0001", "\\ud83d");
        let mut child = process(&rig, host).spawn().unwrap();
        child.stdin.take().unwrap().write_all(before.as_bytes()).unwrap();
        assert_eq!(ran(child).code, 2, "{host}");
    }
    // The shape is the tool's own, or Claude Code passes the replacement over.
    let (call, _) = after(&rig, "claude-code");
    let mut child = process(&rig, "claude-code").spawn().unwrap();
    let text = call.to_string().replacen(SECRET, "\\ud83d", 1);
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = ran(child).json()["hookSpecificOutput"]["updatedToolOutput"].clone();
    assert!(output["stdout"].as_str().unwrap().contains("bad_message"), "{output}");
    assert_eq!((&output["stderr"], &output["interrupted"]), (&json!(""), &json!(false)));
}

#[test]
fn only_who_is_in_charge_can_let_a_host_go_on_when_something_goes_wrong() {
    let rig = rig();
    let open = format!("on_internal_error: open\n{}", POLICY.trim_start());
    rig.write("user.yaml", &open);
    let call = before(&rig, "codex", "ls");
    rig.write("state/ledger", "not a folder");
    let ran = hook(&rig, "codex", &call).expect(0);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("it goes on, as the policy says"), "{}", ran.err);
    // A project cannot.
    rig.write("user.yaml", POLICY);
    rig.write("project/tollgate.yaml", "version: 1\non_internal_error: open\nhooks: []\n");
    rig.run(&["trust", "--yes"]);
    refuses(&hook(&rig, "codex", &call));
}

#[test]
fn a_policy_that_no_longer_loads_leaves_the_last_good_one_in_force() {
    let rig = rig();
    let production = before(&rig, "codex", "sh deploy.sh production");
    refuses(&hook(&rig, "codex", &production));
    rig.write("user.yaml", "version: 1\nhooks: [");
    let ran = hook(&rig, "codex", &production);
    refuses(&ran);
    assert!(ran.err.contains("nobody deploys from here"), "{}", ran.err);
    let ran = hook(&rig, "codex", &before(&rig, "codex", "ls")).expect(0);
    assert!(ran.err.contains("the last good one is in force (sha256:"), "{}", ran.err);
    let told = rig.run(&["status"]).expect(2).out;
    assert!(told.contains("go on with the last good one"), "{told}");
    let told = rig.run(&["doctor"]).expect(1).out;
    assert!(told.contains("the last good policy holds for hooks"), "{told}");
    fs::remove_dir_all(rig.path("state/snapshots")).unwrap();
    refuses(&hook(&rig, "codex", &before(&rig, "codex", "ls")));
    let told = rig.run(&["status"]).expect(2).out;
    assert!(told.contains("NO POLICY IS IN FORCE"), "{told}");
}

#[test]
fn files_of_sessions_that_nobody_has_heard_of_for_long_are_swept_when_one_begins() {
    let rig = rig();
    hook(&rig, "codex", &before(&rig, "codex", "ls")).expect(0);
    let folder = rig.path("state/hosts");
    let old = folder.join("old");
    fs::write(&old, "{}").unwrap();
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(40 * 24 * 60 * 60);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    let start = json!({"session_id": "s2", "cwd": rig.path("project"), "hook_event_name": "SessionStart",
        "source": "startup", "permission_mode": "default", "model": "m"});
    hook(&rig, "codex", &start);
    assert!(!old.exists());
    assert!(fs::read_dir(&folder).unwrap().count() >= 2, "others stay");
}

#[test]
fn a_policy_comes_into_force_once_for_all_the_processes_of_its_calls() {
    let rig = rig();
    for _ in 0..3 {
        hook(&rig, "codex", &before(&rig, "codex", "ls")).expect(0);
    }
    assert_eq!(rig.records("policy_load").len(), 1);
    rig.write("user.yaml", &format!("{POLICY}# changed\n"));
    hook(&rig, "codex", &before(&rig, "codex", "ls")).expect(0);
    assert_eq!(rig.records("policy_load").len(), 2);
}

#[test]
fn a_sub_agent_is_a_child_of_its_session() {
    let rig = rig();
    let mut call = before(&rig, "claude-code", "ls");
    call["agent_id"] = "a7".into();
    call["agent_type"] = "Explore".into();
    hook(&rig, "claude-code", &call).expect(0);
    let decision = &rig.records("decision")[0];
    assert_eq!((&decision["session"], &decision["agent"]), (&"s/a7".into(), &"Explore".into()));
    assert_eq!((&decision["parent"], &decision["root"]), (&"s".into(), &"s".into()));
}

#[test]
fn a_ledger_that_was_taken_away_refuses_calls_and_status_and_verification_say_so() {
    let rig = rig();
    hook(&rig, "claude-code", &before(&rig, "claude-code", "ls")).expect(0);
    fs::remove_dir_all(rig.path("state/ledger")).unwrap();
    for _ in 0..2 {
        let ran = hook(&rig, "claude-code", &before(&rig, "claude-code", "ls"));
        refuses(&ran);
        assert!(ran.err.contains("does not lead on"), "{}", ran.err);
        assert!(!ran.err.contains("bring it back"), "the agent hears no remedy: {}", ran.err);
    }
    let status = rig.run(&["status"]).expect(0).out;
    assert!(status.contains("THE LEDGER CANNOT GO ON"), "{status}");
    let status = rig.run(&["status", "--format", "json"]).expect(0).json();
    assert!(status["ledger_error"].as_str().unwrap().contains("bring it back"), "{status}");
    let verified = rig.run(&["audit", "verify"]).expect(1).out;
    assert!(verified.contains("cut "), "{verified}");
}

#[test]
fn a_ledger_whose_key_is_gone_refuses_calls_and_gets_no_other_key() {
    let rig = rig();
    hook(&rig, "claude-code", &before(&rig, "claude-code", "ls")).expect(0);
    fs::remove_file(rig.path("state/keys/ledger.key")).unwrap();
    let ran = hook(&rig, "claude-code", &before(&rig, "claude-code", "ls"));
    refuses(&ran);
    assert!(ran.err.contains("the key of the ledger cannot be used"), "{}", ran.err);
    assert!(!ran.err.contains("move"), "the agent hears no remedy: {}", ran.err);
    let status = rig.run(&["status"]).expect(0).out;
    assert!(status.contains("it is gone, and has signed this ledger"), "{status}");
    assert!(!rig.path("state/keys/ledger.key").exists());
}

#[test]
fn a_call_that_was_interrupted_is_unknown_when_its_session_ends() {
    let rig = rig();
    hook(&rig, "claude-code", &before(&rig, "claude-code", "ls")).expect(0);
    let mut below = before(&rig, "claude-code", "ls -l");
    (below["agent_id"], below["tool_use_id"]) = (json!("kid"), json!("c2"));
    hook(&rig, "claude-code", &below).expect(0);
    let mut other = before(&rig, "claude-code", "ls -a");
    other["session_id"] = json!("another");
    hook(&rig, "claude-code", &other).expect(0);
    let end = json!({
        "session_id": "s", "transcript_path": "/t", "cwd": rig.path("project"),
        "hook_event_name": "SessionEnd", "reason": "other"});
    hook(&rig, "claude-code", &end).expect(0);
    let outcomes = rig.records("outcome");
    let sessions: Vec<&str> = outcomes.iter().filter_map(|o| o["session"].as_str()).collect();
    assert_eq!(sessions, ["s", "s/kid"], "{outcomes:#?}");
    assert!(outcomes.iter().all(|outcome| outcome["executed"].is_null()), "{outcomes:#?}");
}

/// The hook of a host, to be run by hand.
fn process(rig: &Rig, host: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("--state").arg(rig.path("state"));
    command.arg("--policy").arg(rig.path("user.yaml")).args(["hook", host]);
    command.current_dir(rig.path("project"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ran(child: Child) -> Ran {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

/// Runs what is given for every live host at once, and says how long it took.
fn at_once(each: impl Fn(&'static str) + Sync) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        LIVE.iter().for_each(|host| {
            scope.spawn(|| each(host));
        });
    });
    started.elapsed()
}

#[test]
fn a_message_that_never_ends_is_refused_long_before_the_hosts_limit() {
    let took = at_once(|host| {
        let rig = rig();
        let mut child = process(&rig, host).spawn().unwrap();
        let mut open = child.stdin.take().unwrap();
        open.write_all(b"{\"session_id\": \"s\",").unwrap();
        let ran = ran(child);
        drop(open);
        refuses(&ran);
        assert!(ran.err.contains("hook_timeout"), "{}", ran.err);
    });
    assert!(took > Duration::from_secs(7) && took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn a_ledger_that_somebody_holds_for_ever_refuses_in_time() {
    let took = at_once(|host| {
        let rig = rig();
        hook(&rig, host, &before(&rig, host, "ls")).expect(0);
        let held = fs::File::open(rig.path("state/ledger/lock")).unwrap();
        held.lock().unwrap();
        let ran = hook(&rig, host, &before(&rig, host, "ls"));
        refuses(&ran);
        let is_known = ["ledger_unavailable", "hook_timeout"].iter().any(|at| ran.err.contains(at));
        assert!(is_known, "{}", ran.err);
        drop(held);
        hook(&rig, host, &before(&rig, host, "ls")).expect(0);
    });
    assert!(took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn an_answer_that_cannot_be_written_is_a_refusal_by_the_exit_code() {
    for host in LIVE {
        let rig = rig();
        // A rewrite, which would be lost.
        let call = before(&rig, host, "sh list.sh --max 5000").to_string();
        let fine = rig.run_in("project", &["hook", host], &call, &[]).expect(0);
        assert!(fine.out.contains("--max 10"), "{}", fine.out);
        let shell = |closing: &str| {
            let mut command = Command::new("sh");
            let line = format!("exec \"$0\" hook {host} --policy \"$1\" --state \"$2\" {closing}");
            command.args(["-c", &line]).arg(BINARY).arg(rig.path("user.yaml"));
            command.arg(rig.path("state")).current_dir(rig.path("project"));
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(call.as_bytes()).unwrap();
            child
        };
        refuses(&ran(shell(">&-")));
        refuses(&ran(shell(">/dev/full")));
        // The host reads no more: its end of the pipe is gone.
        let mut child = process(&rig, host).spawn().unwrap();
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(call.as_bytes()).unwrap();
        refuses(&ran(child));
    }
}

#[test]
fn an_answer_that_nobody_reads_ends_at_the_deadline() {
    let took = at_once(|host| {
        let rig = rig();
        // More than a pipe holds.
        let long = format!("echo {} --max 5000", "x".repeat(300 * 1024));
        let mut child = process(&rig, host).spawn().unwrap();
        let unread = child.stdout.take().unwrap();
        let message = before(&rig, host, &long).to_string();
        child.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(2));
        drop(unread);
    });
    assert!(took < Duration::from_secs(25), "{took:?}");
}

/// A hook process mostly starts from the snapshot of an earlier one, where actions are not compiled before they run.
#[test]
fn from_a_snapshot_records_are_masked_and_limits_speak_in_their_own_words() {
    let rig = Rig::new();
    rig.write(
        "user.yaml",
        r#"
version: 1
hooks:
  - { name: barrier, on: pre_tool, priority: 0, match: { args.command: "*forbidden*" }, deny: "no" }
  - name: few
    on: pre_tool
    match: { args.command: "echo *" }
    limit: { rate: 1/h, per: session, code: ENOUGH, reason: "one echo is enough" }
  - name: masked
    on: pre_tool
    redact: { find: [email] }
"#,
    );
    let run = |command: &str| hook(&rig, "claude-code", &before(&rig, "claude-code", command)).out;
    for _ in 0..2 {
        assert!(run("forbidden jane@corp.io").contains("deny"));
    }
    assert!(!run("echo 1").contains("deny"));
    let again = run("echo 2");
    assert!(again.contains("one echo is enough"), "{again}");
    let records = rig.records("decision");
    let asked = |at: usize| records[at]["asked"]["command"].as_str().unwrap();
    assert_eq!(asked(0), asked(1), "{records:?}");
    assert!(!asked(1).contains("jane") && asked(1).contains("corp.io"), "{}", asked(1));
    assert!(records.iter().any(|record| record["code"] == "ENOUGH"), "{records:?}");
}
