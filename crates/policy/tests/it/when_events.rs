//! Events for the tests of conditions, and what CEL's reference evaluator sees of them.

#![expect(clippy::unwrap_used, reason = "a test whose ground is missing has failed")]

use cel::Value;
use cel::objects::Key;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;
use tollgate_gate::{
    Counters, Event, EventKind, Json, KindSet, Payload, Session, SessionView, Subject, Test,
    Timestamp, ToolCall,
};
use tollgate_policy::when::{Condition, Groups, WhenEnv};

/// Alice is in finance and ops, Bob in ops.
pub(crate) fn groups() -> Arc<Groups> {
    Arc::new(Groups::of_members([("finance", vec!["alice"]), ("ops", vec!["alice", "bob"])]))
}

/// A hook at these kinds that names the tools exactly, or none.
pub(crate) fn env(kinds: impl Into<KindSet>, tools: &[&str]) -> WhenEnv {
    WhenEnv {
        kinds: kinds.into(),
        tools: tools.iter().map(|tool| (*tool).into()).collect(),
        groups: groups(),
    }
}

/// A call of `transfer` by Alice with these arguments.
pub(crate) fn transfer(arguments: Json) -> Event {
    let mut session = Session::new("s1").with_tenant("acme").with_user("alice").with_cwd("/repo");
    session.agent = Some("coder".into());
    let call = ToolCall::new("transfer", arguments);
    Event::new(
        Arc::new(session),
        Payload::PreTool(call.into()),
        Timestamp::from_millis(1_800_000_000_000),
    )
    .with_tags(["tool_call", "bank"])
}

/// Seven tool calls in the tree, three of them here.
pub(crate) fn view() -> SessionView {
    SessionView {
        tree: Counters { tool_calls_attempted: 7, ..Counters::default() },
        counters: Counters { tool_calls_attempted: 3, ..Counters::default() },
        root: "s0".into(),
        labels: Arc::new(BTreeSet::from(["pii".into()])),
        ..SessionView::default()
    }
}

/// What a condition says of an event.
pub(crate) fn run(condition: &Condition, event: &Event) -> Result<bool, String> {
    let view = view();
    let subject = Subject { event, payload: &event.payload, session: &view };
    condition.test(&subject).map_err(|error| error.cause)
}

/// Compiles for an exactly named tool before it runs, and asks.
pub(crate) fn ask(source: &str, arguments: Json) -> Result<bool, String> {
    let env = env(EventKind::PreTool, &["transfer"]);
    let condition = Condition::compile(source, &env).map_err(|error| error.to_string())?;
    run(&condition, &transfer(arguments))
}

/// A JSON value as the reference evaluator holds it.
pub(crate) fn to_cel(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Int(value),
            (None, Some(value)) => Value::UInt(value),
            (None, None) => Value::Float(number.to_f64()),
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(items) => Value::List(Arc::new(items.iter().map(to_cel).collect())),
        Json::Object(object) => {
            let entries: HashMap<Key, Value> =
                object.iter().map(|(key, value)| (Key::from(key), to_cel(value))).collect();
            Value::Map(entries.into())
        }
    }
}

/// What `ask` sees, written out by hand as JSON: independent of how conditions read events.
pub(crate) fn seen(arguments: &Json) -> Vec<(&'static str, Json)> {
    let json = |text: &str| Json::read(text.as_bytes()).unwrap();
    vec![
        ("args", arguments.clone()),
        ("event", json(r#"{"kind":"pre_tool","tags":["tool_call","bank"],"tool":"transfer"}"#)),
        ("user", json(r#"{"name":"alice","groups":["finance","ops"]}"#)),
        (
            "session",
            json(
                r#"{"id":"s1","root":"s0","cwd":"/repo","tenant":"acme","user":"alice",
                "agent":"coder","labels":["pii"],"tool_calls":7,"own":{"tool_calls":3}}"#,
            ),
        ),
        ("tenant", json("\"acme\"")),
        ("call", json("{}")),
        ("original", Json::Object([("args", arguments.clone())].into_iter().collect())),
    ]
}
