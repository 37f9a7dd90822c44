//! Golden messages: for every event of every host, what is read of it and what each decision says.
//!
//! `fixtures/HOST/EVENT.json` is a message in the host's words; `--event` in it is the argument that
//! hosts need whose messages do not name their event. `EVENT.golden` beside it is what comes of it, and is
//! written anew by `TOLLGATE_BLESS=1 cargo test -p tollgate-hosts`; a person then reads the difference.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate_gate::{Event, Json, Object, Session, Timestamp};
use tollgate_hosts::{Answer, EventUse, HOSTS, Heard, Host, Wanted, host};

fn folder(host: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(host)
}

/// The messages of a host: the name of the file, the event, the message.
fn messages(host: &str) -> Vec<(PathBuf, Option<String>, Json)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder(host))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let Json::Object(mut message) = Json::read(&fs::read(&path).unwrap()).unwrap() else {
                panic!("{path:?}")
            };
            let event = message.remove("--event").and_then(|e| e.as_str().map(str::to_owned));
            (path, event, message.into())
        })
        .collect()
}

fn object(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

/// What a decision may want, each once.
fn all_wanted(heard: &Heard) -> Vec<(&'static str, Wanted)> {
    let call = heard.payload.as_ref().and_then(|payload| payload.tool_call());
    let mut arguments = call.map(|call| (*call.arguments).clone()).unwrap_or_default();
    if let Json::Object(object) = &mut arguments {
        object.insert("command", "ls");
    }
    let rewrite = |skip_prompt| Wanted::Rewrite { arguments: arguments.clone(), skip_prompt };
    vec![
        ("nothing", Wanted::Nothing),
        ("allow", Wanted::Allow),
        ("ask", Wanted::Ask("are you sure".into())),
        ("refuse", Wanted::Refuse("not here".into())),
        ("rewrite", rewrite(false)),
        ("rewrite, no prompt", rewrite(true)),
        ("append", Wanted::Append("and be careful".into())),
        ("replace", Wanted::Replace(object(r#"{"llmContent": "[MASKED]", "stdout": "[MASKED]"}"#))),
        ("replace error", Wanted::ReplaceError("[MASKED]".into())),
        ("withhold", Wanted::Withhold("withheld by policy".into())),
    ]
}

fn shown(answer: &Answer) -> String {
    let mut text = String::new();
    if answer.stdout.is_empty() && answer.stderr.is_empty() && answer.exit == 0 {
        text.push_str(" silence");
    }
    if answer.exit != 0 {
        write!(text, " exit {}", answer.exit).unwrap();
    }
    if !answer.stdout.is_empty() {
        write!(text, " {}", answer.stdout.trim_end()).unwrap();
    }
    if !answer.stderr.is_empty() {
        write!(text, " stderr: {}", answer.stderr.trim_end()).unwrap();
    }
    text
}

fn golden(host: &dyn Host, heard: &Heard) -> String {
    let mut text = format!("event: {}\n", heard.event.name);
    writeln!(text, "who: {:?}", heard.who).unwrap();
    match &heard.payload {
        None => writeln!(text, "payload: none").unwrap(),
        Some(payload) => {
            let session = Arc::new(Session::new("s"));
            let event = Event::new(session, payload.clone(), Timestamp::from_millis(0)).to_json();
            let part = |key: &str| event.get(key).cloned().unwrap_or_default().text();
            writeln!(text, "kind: {}\npayload: {}", part("kind"), part("payload")).unwrap();
        }
    }
    writeln!(text, "bounds: {:?}\ncan ask: {}", heard.bounds, heard.can_ask).unwrap();
    for (name, wanted) in all_wanted(heard) {
        writeln!(text, "{name}:{}", shown(&host.answer(heard, &wanted))).unwrap();
    }
    writeln!(text, "trouble:{}", shown(&host.refuse(Some(heard), "no policy"))).unwrap();
    text
}

#[test]
fn every_event_of_every_host_is_read_and_answered_as_its_golden_file_says() {
    let bless = std::env::var_os("TOLLGATE_BLESS").is_some();
    let mut stale = Vec::new();
    for host in HOSTS {
        for (path, event, message) in messages(host.facts().name) {
            let heard = host.read(message, event.as_deref());
            let heard = heard.unwrap_or_else(|error| panic!("{path:?}: {error}"));
            let text = golden(host, &heard);
            let beside = path.with_extension("golden");
            if bless {
                fs::write(&beside, &text).unwrap();
            } else if fs::read_to_string(&beside).unwrap_or_default() != text {
                stale.push(format!("{}\n{text}", beside.display()));
            }
        }
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[test]
fn every_event_that_is_used_has_a_message_here() {
    for host in HOSTS {
        let read: BTreeSet<&str> = messages(host.facts().name)
            .into_iter()
            .map(|(_, event, message)| host.read(message, event.as_deref()).unwrap().event.name)
            .collect();
        for event in host.facts().events {
            if event.is_wanted() {
                assert!(read.contains(event.name), "{} {}", host.facts().name, event.name);
            }
        }
    }
}

#[test]
fn an_event_that_is_ignored_is_answered_by_silence_whatever_is_wanted() {
    for host in HOSTS {
        for event in host.facts().events {
            if !matches!(event.used, EventUse::Ignored(_)) {
                continue;
            }
            let message = Object::from_iter([
                ("hook_event_name", event.name),
                ("session_id", "s"),
                ("conversation_id", "s"),
            ]);
            let heard = host.read(message.into(), None).unwrap();
            for (_, wanted) in all_wanted(&heard) {
                assert_eq!(host.answer(&heard, &wanted), Answer::silence(), "{}", event.name);
            }
            assert_eq!(host.refuse(Some(&heard), "no policy"), Answer::silence());
        }
    }
}

#[test]
fn an_answer_is_one_json_object_and_a_line_feed_or_nothing() {
    for host in HOSTS {
        for (path, event, message) in messages(host.facts().name) {
            let heard = host.read(message, event.as_deref()).unwrap();
            for (name, wanted) in all_wanted(&heard) {
                let answer = host.answer(&heard, &wanted);
                if answer.stdout.is_empty() {
                    continue;
                }
                let line = answer.stdout.strip_suffix('\n').unwrap();
                assert!(!line.contains('\n'), "{path:?} {name}");
                assert!(Json::read(line.as_bytes()).unwrap().as_object().is_some());
                // A refusal is said by the exit code too, and then always with a reason.
                let is_said_twice = answer.exit == 2 && !answer.stderr.trim().is_empty();
                assert!(answer.exit == 0 || is_said_twice, "{path:?} {name}");
            }
        }
    }
}

#[test]
fn codex_is_never_told_what_it_takes_for_a_mistake() {
    // A mistake lets the call run: `ask`, a bare `allow`, a denial without a reason, an unknown key.
    let codex = host("codex").unwrap();
    for (path, event, message) in messages("codex") {
        let heard = codex.read(message, event.as_deref()).unwrap();
        let mut all = all_wanted(&heard);
        all.push(("refuse without a word", Wanted::Refuse(" \n".into())));
        for (name, wanted) in all.into_iter().filter(|_| heard.event.name == "PreToolUse") {
            let answer = codex.answer(&heard, &wanted);
            let Ok(value) = Json::read(answer.stdout.as_bytes()) else { continue };
            let inner = value.get("hookSpecificOutput").unwrap();
            let word = inner.get("permissionDecision").and_then(Json::as_str).unwrap();
            let reason = inner.get("permissionDecisionReason").and_then(Json::as_str);
            match word {
                "deny" => assert!(!reason.unwrap().trim().is_empty(), "{path:?} {name}"),
                "allow" => assert!(inner.get("updatedInput").is_some(), "{path:?} {name}"),
                other => panic!("{path:?} {name}: {other}"),
            }
        }
    }
}

/// Seen with the real programs: each of these words beside a denial, or in its place, lets the call run.
#[test]
fn no_answer_to_a_call_holds_words_that_let_it_run() {
    const TRAPS: [&str; 7] = [
        "\"continue\"",
        "\"stopReason\"",
        "\"suppressOutput\"",
        "\"approve\"",
        "\"permissionDecision\":\"block\"",
        "\"defer\"",
        "\u{feff}",
    ];
    for host in HOSTS {
        for (path, event, message) in messages(host.facts().name) {
            let heard = host.read(message, event.as_deref()).unwrap();
            if heard.payload.as_ref().is_none_or(|payload| payload.tool_call().is_none()) {
                continue;
            }
            for (name, wanted) in all_wanted(&heard) {
                let answer = host.answer(&heard, &wanted);
                for trap in TRAPS {
                    assert!(!answer.stdout.contains(trap), "{path:?} {name}: {}", answer.stdout);
                }
            }
        }
    }
}

#[test]
fn who_really_speaks_is_answered_in_their_own_words() {
    let claude = host("claude-code").unwrap();
    for name in ["claude-code", "copilot", "cursor"] {
        for (path, _, message) in messages(name) {
            // Only its messages in Claude Code's form come by Claude Code's settings.
            if name != "copilot" || message.get("hook_event_name").is_some() {
                assert_eq!(
                    tollgate_hosts::speaker(claude, &message).facts().name,
                    name,
                    "{path:?}"
                );
            }
        }
    }
    let codex = host("codex").unwrap();
    for (_, _, message) in messages("codex") {
        assert_eq!(tollgate_hosts::speaker(codex, &message).facts().name, "codex");
    }
}

#[test]
fn a_message_that_is_not_understood_is_refused_and_never_answered_by_silence() {
    for host in HOSTS {
        for message in ["[]", "{}", r#"{"hook_event_name": "NoSuch", "session_id": "s"}"#] {
            assert!(host.read(object(message), None).is_err(), "{}", host.facts().name);
        }
        let answer = host.refuse(None, "no");
        assert_eq!((answer.exit, answer.stdout.as_str()), (2, ""));
        assert!(!answer.stderr.trim().is_empty());
    }
    assert!(!Answer::exit_2("").stderr.trim().is_empty(), "a blank reason is none");
}
