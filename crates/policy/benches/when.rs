//! What a condition costs, ours against the `cel` crate, side by side in one run.
//!
//! `cargo bench -p tollgate-policy --bench when`. Each number is the median of many batches, in
//! nanoseconds for one evaluation. The `cel` crate gets its best case: a context that is built once,
//! with the event's values already in it.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench stops at what does not work")]

use cel::objects::Key;
use cel::{Context, Program, Value};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use tollgate_gate::{
    Event, EventKind, Json, KindSet, Payload, Session, SessionView, Subject, Test, Timestamp,
    ToolCall,
};
use tollgate_policy::when::{Condition, ConditionSnapshot, Groups, WhenEnv};

const ARGUMENTS: &str = r#"{"command":"cd /tmp/build && rm -rf target && make all","amount":2500,
    "to":"bob@acme.com","files":["a.rs","b.rs","c.toml"]}"#;

/// Name, condition.
const CASES: [(&str, &str); 8] = [
    (
        "hit, three terms",
        "event.tool == 'bash' && args.command.contains('rm -rf') && tenant in ['a', 'acme']",
    ),
    ("miss at the first term", "event.tool == 'fish' && args.command.contains('rm -rf')"),
    ("one comparison", "args.amount > 1000"),
    ("contains", "args.command.contains('curl')"),
    ("has and endsWith", "has(args.to) && !args.to.endsWith('@acme.com')"),
    ("groups", "args.amount > 1000 && !('finance' in user.groups)"),
    ("exists over three", "args.files.exists(f, f.endsWith('.toml'))"),
    ("matches", "args.command.matches(r'\\brm\\s+-[rf]+\\b')"),
];

fn to_cel(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Int(number.as_i64().unwrap()),
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(items) => Value::List(Arc::new(items.iter().map(to_cel).collect())),
        Json::Object(object) => {
            let entries: HashMap<Key, Value> =
                object.iter().map(|(key, value)| (Key::from(key), to_cel(value))).collect();
            Value::Map(entries.into())
        }
    }
}

/// Nanoseconds of one call: the median of batches.
fn median(mut f: impl FnMut()) -> f64 {
    const BATCHES: usize = 101;
    let start = Instant::now();
    let mut calls = 0u32;
    while start.elapsed().as_millis() < 20 {
        f();
        calls += 1;
    }
    let batch = (calls / 20).max(1);
    let mut times: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..batch {
                f();
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(batch)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(BATCHES / 2).copied().unwrap()
}

fn main() {
    let arguments = Json::read(ARGUMENTS.as_bytes()).unwrap();
    let session = Session::new("s1").with_tenant("acme").with_user("alice");
    let call = ToolCall::new("bash", arguments.clone());
    let event =
        Event::new(Arc::new(session), Payload::PreTool(call.into()), Timestamp::from_millis(0));
    let view = SessionView::default();
    let subject = Subject { event: &event, payload: &event.payload, session: &view };
    // No exact tools: `event.tool` may then be compared with any.
    let env = |pinned: bool| WhenEnv {
        kinds: KindSet::from(EventKind::PreTool),
        tools: if pinned { vec!["bash".into(), "fish".into()] } else { Vec::new() },
        groups: Arc::new(Groups::of_members([("finance", ["alice"])])),
    };
    let mut context = Context::default();
    let seen = [
        ("args", arguments),
        ("event", Json::read(br#"{"tool":"bash"}"#).unwrap()),
        ("user", Json::read(br#"{"groups":["finance"]}"#).unwrap()),
        ("tenant", Json::from("acme")),
    ];
    for (name, value) in &seen {
        context.add_variable_from_value(*name, to_cel(value));
    }
    println!("{:<28}{:>10}{:>12}{:>8}", "condition", "ours ns", "cel ns", "ratio");
    let row = |name: &str, ours: f64, theirs: f64| {
        println!("{name:<28}{ours:>10.1}{theirs:>12.1}{:>7.1}x", theirs / ours);
    };
    for (name, source) in CASES {
        let ours = Condition::compile(source, &env(true)).unwrap();
        let theirs = Program::compile(source).unwrap();
        let expected = theirs.execute(&context).unwrap();
        assert_eq!(Value::Bool(ours.test(&subject).unwrap()), expected, "{source}");
        let our_time = median(|| drop(black_box(ours.test(black_box(&subject)))));
        let their_time = median(|| drop(black_box(theirs.execute(black_box(&context)))));
        row(name, our_time, their_time);
    }
    let sources: Vec<String> = (0..100)
        .map(|n| format!("args.amount > {} && args.command.contains('tool{n}')", 100_000 + n))
        .collect();
    let ours: Vec<_> =
        sources.iter().map(|source| Condition::compile(source, &env(true)).unwrap()).collect();
    let theirs: Vec<_> = sources.iter().map(|source| Program::compile(source).unwrap()).collect();
    let our_time = median(|| {
        for condition in &ours {
            let _ = black_box(condition.test(black_box(&subject)));
        }
    });
    let their_time = median(|| {
        for program in &theirs {
            let _ = black_box(program.execute(black_box(&context)));
        }
    });
    row("100 conditions, none hits", our_time, their_time);
    let source = CASES[0].1;
    let our_time = median(|| drop(black_box(Condition::compile(black_box(source), &env(true)))));
    let their_time = median(|| drop(black_box(Program::compile(black_box(source)))));
    row("compile three terms", our_time, their_time);
    let stored =
        serde_json::to_string(&**Condition::compile(source, &env(true)).unwrap().snapshot());
    let stored = stored.unwrap();
    let groups = env(true).groups;
    let restore = median(|| {
        let snapshot: ConditionSnapshot = serde_json::from_str(black_box(&stored)).unwrap();
        black_box(Condition::from_snapshot(snapshot, Arc::clone(&groups)));
    });
    println!("{:<28}{restore:>10.1}", "restore it from JSON");
}
