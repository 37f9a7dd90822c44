//! The public wire form: golden files, unknown fields kept, numbers that survive, errors with a place.

use crate::rig::{Rig, block_on, event, hook, json, judge, start};
use std::path::PathBuf;
use tollgate_gate::{
    Event, EventError, EventKind, Json, KindSet, Mode, Opinion, RecordKind, Roles, Verdict,
};

/// Compares with `tests/golden/NAME`; with `BLESS=1` in the environment it writes the file.
fn golden(name: &str, lines: &[String]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = lines.join("\n") + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    for (at, (known, now)) in known.lines().zip(text.lines()).enumerate() {
        assert_eq!(known, now, "{name} line {}", at + 1);
    }
    assert_eq!(known.lines().count(), text.lines().count(), "{name}");
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

/// One event of each kind, as a sender writes it, with fields that this version does not know.
const EVENTS: [(EventKind, &str); 11] = [
    (EventKind::AgentStart, r#""context":{"rules":["be kind"]},"x":1"#),
    (EventKind::PromptBuild, r#""prompt":"hello","x":1"#),
    (EventKind::MemoryLoad, r#""source":"notes","memory":"m","x":1"#),
    (
        EventKind::PreModel,
        r#""provider":"p","call_id":"m1","model":"big","messages":[{"role":"user"}],"tools":[],"x":1"#,
    ),
    (
        EventKind::PostModel,
        r#""call_id":"m1","model":"big","messages":[],"reply":"hi","tool_calls":[],"ok":true,"executed":true,"error":null,"usage":{"tokens_in":3,"tokens_out":4,"cost_micros":5},"x":1"#,
    ),
    (
        EventKind::PreTool,
        r#""tool":"read","server":"fs","call_id":"c1","arguments":{"path":"a","n":1.10,"big":123456789012345678901234567890},"call":{"kind":"read","path":"a"},"x":1"#,
    ),
    (
        EventKind::PostTool,
        r#""tool":"read","call_id":"c1","arguments":{},"result":{"ok":true,"content":"text","error":null,"executed":true},"x":1"#,
    ),
    (
        EventKind::ToolError,
        r#""tool":"read","call_id":"c1","arguments":{},"result":{"ok":false,"content":null,"error":{"code":"tool_error","message":"no such file","tool":"read"},"executed":true},"x":1"#,
    ),
    (EventKind::AgentEnd, r#""answer":"done","x":1"#),
    (EventKind::AgentAbort, r#""code":"stop","reason":"by hand","x":1"#),
    (EventKind::Error, r#""source":"loop","message":"lost","x":1"#),
];

fn full(kind: EventKind, fields: &str) -> String {
    format!(
        r#"{{"version":1,"id":"e1","at":"2026-11-30T12:00:00.000Z","kind":"{kind}","tags":["t1","t2"],"session":{{"id":"s1","tenant":"acme","user":"alice","agent":"coder","parent":"s0","root":"s0","cwd":"/repo","workspace":"/repo","host":"h","later":[1]}},"payload":{{{fields}}},"since":"1.1"}}"#
    )
}

#[test]
fn events_of_every_kind_are_written_as_they_were_read() {
    let mut lines = Vec::new();
    for (kind, fields) in EVENTS {
        let text = full(kind, fields);
        let read = Event::read(text.as_bytes(), start()).unwrap();
        assert_eq!(read.kind(), kind);
        let written = read.to_json();
        assert_eq!(Event::from_json(written.clone(), start()).unwrap(), read);
        // Everything that was sent is still there, whatever its order.
        for (key, value) in json(&text).as_object().unwrap().iter() {
            let now = written.get(key).unwrap();
            if let (Json::Object(sent), Json::Object(now)) = (value, now) {
                for (key, value) in sent.iter() {
                    assert_eq!(now.get(key), Some(value), "{kind} {key}");
                }
            } else {
                assert_eq!(now, value, "{kind} {key}");
            }
        }
        lines.push(written.text());
    }
    golden("events.jsonl", &lines);
}

fn deciding() -> Rig {
    let only = |hook: tollgate_gate::Hook, tool| {
        hook.matching(tollgate_gate::Matcher::tool(tool).unwrap())
    };
    let clamp = hook("clamp", EventKind::PreTool, Roles::REWRITE, |view| {
        let mut part = (*view.payload.part().unwrap()).clone();
        if let Json::Object(object) = &mut part {
            object.insert("max", 10u64);
        }
        Ok(Opinion::rewrite(part))
    });
    let deny = judge("deny", |_| {
        let refusal = tollgate_gate::Refusal::because("not here").with_remedy("ask ops");
        Opinion::vote(tollgate_gate::Vote::Deny(refusal))
    });
    let mask = hook("mask", KindSet::AFTER, Roles::REWRITE, |view| {
        let is_tool = view.kind() == EventKind::PostTool;
        Ok(if is_tool { Opinion::rewrite("masked") } else { Opinion::none() })
    });
    let broken = hook("broken", KindSet::BEFORE, Roles::WATCH, |_| panic!("boom"));
    Rig::of([
        only(clamp, "clamped"),
        only(deny, "denied"),
        only(judge("cached", |_| Opinion::respond("from the cache")), "cached"),
        only(judge("asks", |_| Opinion::ask(["bob"], "sure?")), "asked"),
        only(judge("ends", |_| Opinion::abort("enough")), "ended"),
        broken,
        mask,
    ])
}

fn calls() -> Vec<Event> {
    let mut events: Vec<Event> = EVENTS
        .iter()
        .map(|(kind, fields)| Event::read(full(*kind, fields).as_bytes(), start()).unwrap())
        .collect();
    for tool in ["clamped", "denied", "cached", "asked", "ended"] {
        let fields = format!(r#""tool":"{tool}","call_id":"c-{tool}","arguments":{{"max":100}}"#);
        events.push(Event::read(full(EventKind::PreTool, &fields).as_bytes(), start()).unwrap());
    }
    events
}

#[test]
fn decisions_and_records_of_every_kind_have_their_golden_form() {
    let rig = deciding();
    let mut decisions = Vec::new();
    for event in calls() {
        let decision = block_on(rig.gate.judge(event));
        decisions.push(pretty(&decision));
    }
    block_on(rig.gate.attach(judge("late", |_| Opinion::allow()))).unwrap();
    block_on(rig.gate.disable("late", "trial")).unwrap();
    block_on(rig.gate.set_mode(Mode::DryRun, "trial")).unwrap();
    block_on(rig.gate.abort_session(&crate::rig::session("s9"), "stop", "by hand")).unwrap();
    golden("decisions.json", &decisions.iter().map(|text| settled(text)).collect::<Vec<_>>());
    let records = rig.ledger.records();
    let lines: Vec<String> = records.iter().map(|record| settled(&pretty(record))).collect();
    golden("records.json", &lines);
    for kind in [
        RecordKind::Decision,
        RecordKind::Outcome,
        RecordKind::PolicyLoad,
        RecordKind::ModeChange,
        RecordKind::Switch,
        RecordKind::SessionAbort,
    ] {
        assert!(records.iter().any(|record| record.kind == kind), "{}", kind.name());
    }
}

/// A text without what differs from run to run: made ids; and without digests.
fn settled(text: &str) -> String {
    let is_id = |word: &str| {
        word.len() == 36
            && word.bytes().enumerate().all(|(at, b)| match at {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
    };
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let clean = words.map(|word| {
        let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let tail = &word[end.len()..];
        match end {
            end if is_id(end) => format!("<id>{tail}"),
            end if is_digest(end) => format!("<digest>{tail}"),
            _ => word.to_owned(),
        }
    });
    clean.collect()
}

#[test]
fn numbers_survive_from_the_event_to_the_decision() {
    let rig = Rig::of([judge("look", |_| Opinion::allow())]);
    let arguments = r#"{"big":123456789012345678901234567890,"price":1.10,"tiny":1e-400,"neg":-0}"#;
    let read = event(EventKind::PreTool, &format!(r#"{{"tool":"t","arguments":{arguments}}}"#));
    let decision = rig.decide(read).decision;
    let text = serde_json::to_string(&decision).unwrap();
    assert!(text.contains(arguments), "{text}");
    let record = serde_json::to_string(&rig.records(RecordKind::Decision)[0]).unwrap();
    assert!(record.contains(arguments), "{record}");
}

#[test]
fn unknown_fields_reach_the_decision() {
    let rig = Rig::of([]);
    let read = event(EventKind::PreTool, r#"{"tool":"t","later":{"a":[1]}}"#);
    let text = serde_json::to_string(&rig.decide(read).decision).unwrap();
    assert!(text.contains(r#""later":{"a":[1]}"#), "{text}");
}

fn refused(text: &str) -> String {
    Event::read(text.as_bytes(), start()).unwrap_err().to_string()
}

#[test]
fn what_is_missing_or_wrong_is_named_with_its_place() {
    let with = |rest: &str| {
        format!(r#"{{"kind":"pre_tool","session":{{"id":"s"}},"payload":{{"tool":"t"}}{rest}}}"#)
    };
    for (text, expected) in [
        ("{}".to_owned(), "event field `kind` is missing"),
        ("[]".to_owned(), "event field `event` must be an object, found array"),
        (r#"{"kind":"PreTool"}"#.to_owned(), "event field `kind` must be an event kind, found `PreTool`"),
        (r#"{"kind":"pre_tool"}"#.to_owned(), "event field `session` is missing"),
        (r#"{"kind":"pre_tool","session":{}}"#.to_owned(), "event field `session.id` is missing"),
        (r#"{"kind":"pre_tool","session":{"id":7}}"#.to_owned(), "event field `session.id` must be a text, found number"),
        (r#"{"kind":"pre_tool","session":{"id":"s"}}"#.to_owned(), "event field `payload.tool` is missing"),
        (r#"{"kind":"post_tool","session":{"id":"s"},"payload":{"tool":"t"}}"#.to_owned(), "event field `payload.result` is missing"),
        (r#"{"kind":"post_tool","session":{"id":"s"},"payload":{"tool":"t","result":{"ok":false}}}"#.to_owned(), "event field `payload.result.ok` must be true at post_tool, found boolean"),
        (r#"{"kind":"tool_error","session":{"id":"s"},"payload":{"tool":"t","result":{}}}"#.to_owned(), "event field `payload.result.error` is missing"),
        (r#"{"kind":"pre_model","session":{"id":"s"},"payload":{}}"#.to_owned(), "event field `payload.model` is missing"),
        (r#"{"kind":"pre_tool","session":{"id":"s"},"payload":{"tool":"t","arguments":[]}}"#.to_owned(), "event field `payload.arguments` must be an object, found array"),
        (r#"{"kind":"bogus ghp_16C7e42F292c6912E7710c838347Ae178B4a"}"#.to_owned(), "event field `kind` must be an event kind, found a text of 46 bytes"),
        (with(r#","at":"yesterday""#), "event field `at` must be a time of RFC 3339, found a text of 9 bytes"),
        (with(r#","tags":"x""#), "event field `tags` must be an array of texts, found a text of 1 bytes"),
        (with(&format!(r#","id":"{}""#, "x".repeat(1025))), "event field `id` must be a text of at most 1024 bytes, found a text of 1025 bytes"),
        (with(&format!(r#","tags":[{}]"#, vec!["\"x\""; 65].join(","))), "event field `tags` must be at most 64 tags, found 65 tags"),
    ] {
        assert_eq!(refused(&text), expected, "{text}");
    }
}

#[test]
fn a_later_version_is_refused_and_no_version_is_this_one() {
    let with = |version: &str| format!(r#"{{{version}"kind":"error","session":{{"id":"s"}}}}"#);
    let later = Event::read(with(r#""version":2,"#).as_bytes(), start());
    assert_eq!(later, Err(EventError::Version(2)));
    assert!(Event::read(with("").as_bytes(), start()).is_ok());
    assert!(refused(&with(r#""version":1.0,"#)).contains("`version`"));
    assert!(refused(&with(r#""version":1,"version":1,"#)).contains("duplicate key"));
}

#[test]
fn what_stands_in_a_field_is_in_no_error() {
    for (kind, found) in [("\\u001b[2J\\u202eabc", "10 bytes"), (&*"x".repeat(1000), "1000 bytes")]
    {
        let message = refused(&format!(r#"{{"kind":"{kind}"}}"#));
        assert!(message.ends_with(&format!("found a text of {found}")), "{message}");
    }
}

#[test]
fn many_unknown_fields_are_written_in_linear_time() {
    let fields: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\":{n}")).collect();
    let read = event(EventKind::PreTool, &format!("{{\"tool\":\"t\",{}}}", fields.join(",")));
    let rig = Rig::of([]);
    let ruling = rig.decide(read);
    assert_eq!(ruling.decision.verdict, Verdict::Allow);
    assert!(serde_json::to_string(&ruling.decision).unwrap().ends_with('}'));
}
