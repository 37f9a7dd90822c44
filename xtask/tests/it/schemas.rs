//! The published schemas against what the gate really reads and writes, for every event kind.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use tollgate_gate::{
    Event, EventKind, Gate, Hook, ManualClock, MemoryLedger, Opinion, Roles, Timestamp, inline,
    schema,
};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        // Everything here is inline, so the first poll is the last.
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
    }
}

/// One event of a kind, with every field that the kind has.
fn event(kind: EventKind) -> Value {
    let call = json!({"tool": "t", "server": "s", "call_id": "c1", "arguments": {"a": 1},
        "call": {"kind": "read", "path": "x"}});
    let error = json!({"code": "tool_error", "message": "m", "tool": "t"});
    let with = |mut base: Value, more: Value| {
        base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        base
    };
    let model =
        json!({"provider": "p", "call_id": "m1", "model": "gpt", "messages": [], "tools": []});
    let payload = match kind {
        EventKind::AgentStart => json!({"context": {"x": 1}}),
        EventKind::PromptBuild => json!({"prompt": "hello"}),
        EventKind::MemoryLoad => json!({"memory": "m", "source": "notes"}),
        EventKind::PreModel => model,
        EventKind::PostModel => with(
            model,
            json!({"reply": "r", "tool_calls": [], "ok": true, "executed": true, "error": null,
                "usage": {"tokens_in": 1, "tokens_out": 2, "cost_micros": 3}}),
        ),
        EventKind::PreTool => call,
        EventKind::PostTool => with(
            call,
            json!({"result": {"ok": true, "content": "x", "error": null, "executed": true,
                "usage": {"tokens_in": 1, "tokens_out": 2, "cost_micros": 3}}}),
        ),
        EventKind::ToolError => with(
            call,
            json!({"result": {"ok": false, "content": null, "error": error, "executed": false}}),
        ),
        EventKind::AgentEnd => json!({"answer": "done"}),
        EventKind::AgentAbort => json!({"code": "COST_LIMIT", "reason": "r"}),
        EventKind::Error => json!({"source": "loop", "message": "m"}),
    };
    json!({"version": 1, "id": "e1", "at": "2026-11-30T12:00:00Z", "kind": kind.name(),
        "tags": ["x"], "payload": payload,
        "session": {"id": "s1", "tenant": "t", "user": "u", "agent": "a", "parent": "p",
            "root": "r", "cwd": "/repo", "workspace": "/repo", "host": "h"}})
}

#[track_caller]
fn check(schema: &Value, value: &Value, what: &str) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{what}: {errors:?}\n{value:#}");
}

/// Every key that is written must be described.
#[track_caller]
fn check_keys(described: &Value, value: &Value, what: &str) {
    let described: BTreeSet<&String> = described.as_object().unwrap().keys().collect();
    for key in value.as_object().unwrap().keys() {
        assert!(described.contains(key), "{what}: field `{key}` is not in the schema");
    }
}

#[test]
fn what_the_gate_reads_and_writes_is_what_the_schemas_say() {
    let event_schema = schema::event().to_value();
    let decision_schema = schema::decision().to_value();
    let record_schema = schema::record().to_value();
    for kind in EventKind::ALL {
        let ledger = Arc::new(MemoryLedger::new());
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000)));
        let mut gate = Gate::builder(clock).ledger(ledger.clone());
        if kind.may_vote(tollgate_gate::VoteKind::Deny) {
            let deny = inline(|_| Ok(Opinion::deny("no")));
            gate = gate.hook(Hook::new("deny", kind, Roles::JUDGE, deny));
        }
        let gate = gate.build().unwrap();
        let text = event(kind);
        check(&event_schema, &text, kind.name());
        let read = Event::read(text.to_string().as_bytes(), Timestamp::default()).unwrap();
        let written: Value = serde_json::from_str(&read.to_json().text()).unwrap();
        check(&event_schema, &written, kind.name());
        for (key, value) in text["payload"].as_object().unwrap() {
            assert_eq!(&written["payload"][key], value, "{kind}: payload.{key} is lost");
        }
        assert_eq!(written["session"], text["session"], "{kind}");

        let decision = block_on(gate.judge(read));
        let decision = serde_json::to_value(&decision).unwrap();
        check(&decision_schema, &decision, kind.name());
        check_keys(&decision_schema["properties"], &decision, kind.name());
        let records = ledger.take();
        assert!(records.len() >= 2, "{kind}: the load and at least one more");
        for record in records {
            let record = serde_json::to_value(&record).unwrap();
            check(&record_schema, &record, kind.name());
            check_keys(&record_schema["properties"], &record, kind.name());
            for vote in record["votes"].as_array().into_iter().flatten() {
                check_keys(&record_schema["$defs"]["Vote"]["properties"], vote, kind.name());
            }
        }
    }
}

#[test]
fn every_field_says_since_which_version_it_is() {
    for schema in [schema::event(), schema::decision(), schema::record()] {
        let schema = schema.to_value();
        let defs = schema["$defs"].as_object().unwrap().values();
        for object in defs.chain([&schema]) {
            for (name, field) in object["properties"].as_object().into_iter().flatten() {
                let text = field["description"].as_str().unwrap_or_default();
                assert!(text.contains("Since 0."), "field `{name}`: {field}");
            }
        }
    }
}
