//! Arbitrary text: compiling never panics, hangs or runs away, and what compiles runs bounded.
//!
//! The number of cases is small here; `WHEN_CASES` sets another.

use crate::when_events::{ask, env, run, transfer};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof};
use proptest::test_runner::TestRunner;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tollgate_gate::{EventKind, Json};
use tollgate_policy::when::{Condition, WhenErrorKind, limits};

/// Far above what any input needs, even unoptimised on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Half of what a thread of Rust's standard library has; unoptimised frames are large.
const STACK_BYTES: usize = 1024 * 1024;

fn config() -> ProptestConfig {
    let cases = std::env::var("WHEN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Words of conditions in any order: what gets furthest into the parser and the check.
fn words() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(vec![
        "args",
        ".",
        "a",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "&&",
        "||",
        "!",
        "-",
        "==",
        "<",
        "in",
        "?",
        ":",
        ",",
        "'x'",
        "1",
        "0.5",
        "u",
        "has",
        "exists",
        "map",
        "size",
        "matches",
        "event",
        "kind",
        "session",
        "result",
        "error",
        "r'",
        "\\",
        "\"",
        "'''",
        "//",
        "\n",
        "`",
        "dyn",
        " ",
        "true",
        "null",
        "timestamp",
        "glob",
        "18446744073709551615",
        "1e999",
        "\u{0}",
        "ü",
    ]);
    proptest::collection::vec(word, 0..120).prop_map(|words| words.concat())
}

#[test]
fn arbitrary_text_compiles_or_is_refused_with_a_place_in_it() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..400)
        .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = prop_oneof![words(), bytes, any::<String>()];
    let env = env(EventKind::PreTool, &["transfer"]);
    let event = transfer(Json::read(br#"{"a":[1,"x",{"a":null}]}"#).unwrap());
    let outcome = TestRunner::new(config()).run(&text, |source| {
        let start = Instant::now();
        match Condition::compile(&source, &env) {
            Ok(condition) => drop(run(&condition, &event)),
            Err(error) => {
                proptest::prop_assert!(source.get(error.span.clone()).is_some(), "{error:?}");
                proptest::prop_assert!(!error.message.is_empty() && !error.remedy.is_empty());
            }
        }
        proptest::prop_assert!(start.elapsed() < PATIENCE, "{source:?}");
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// One kind of bracket, sign or call over and over: what overflows a parser's stack or memory.
#[test]
fn nesting_of_any_kind_is_refused_and_never_overflows_a_small_stack() {
    let openings = [
        "(",
        "[",
        "{",
        "!",
        "-",
        "!!(",
        "a.b(",
        "[[",
        "{1:",
        "has(",
        "size(",
        "1+",
        "1?",
        "1?1:",
        "a[",
        "args.l.all(x,",
        "x in [",
        "1==",
        "'a'+",
        "a.",
        "!-",
        "(-",
        "true&&(",
        "true||!(",
    ];
    let env = env(EventKind::PreTool, &["transfer"]);
    let test = move || {
        for opening in openings {
            for length in [64, 125, 1000, limits::SOURCE_BYTES_MAX] {
                let source = opening.repeat(length / opening.len());
                let start = Instant::now();
                eprintln!("{opening} {length}");
                assert!(Condition::compile(&source, &env).is_err(), "{opening}");
                assert!(start.elapsed() < PATIENCE, "{opening}");
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(test).unwrap().join().unwrap();
}

#[test]
fn a_deep_condition_that_is_allowed_also_runs_on_a_small_stack() {
    let test = || {
        let depth = limits::DEPTH_MAX - 3;
        let deep = format!("{}true{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(ask(&format!("{deep} == [1]"), Json::read(b"{}").unwrap()), Ok(false));
        let negated = format!("{}true", "!(".repeat(depth)) + &")".repeat(depth);
        assert!(ask(&negated, Json::read(b"{}").unwrap()).is_ok());
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(test).unwrap().join().unwrap();
}

#[test]
fn a_condition_over_its_length_is_refused_at_once() {
    let env = env(EventKind::PreTool, &[]);
    let source = "true || ".repeat(limits::SOURCE_BYTES_MAX);
    let error = Condition::compile(&source, &env).unwrap_err();
    assert_eq!(error.kind, WhenErrorKind::TooLarge);
}

#[test]
fn work_over_a_hostile_event_ends_with_a_fault() {
    let mut list = String::from("[0");
    for item in 1..limits::LIST_ITEMS_MAX {
        let _ = write!(list, ",{item}");
    }
    list.push(']');
    let event =
        |key: &str, value: &str| Json::read(format!("{{\"{key}\":{value}}}").as_bytes()).unwrap();
    let start = Instant::now();
    // A million inner steps.
    let nested = "args.l.all(a, args.l.all(b, a + b >= 0))";
    let fault = ask(nested, event("l", &list)).unwrap_err();
    assert!(fault.contains("steps"), "{fault}");
    // Running out of steps is not absorbed by the other side.
    assert!(ask(&format!("{nested} || true"), event("l", &list)).is_err());
    // One item more than comprehensions see.
    let longer = list.replace(']', ",0]");
    assert!(ask("args.l.all(a, a >= 0)", event("l", &longer)).unwrap_err().contains("items"));
    // Texts that grow: at most the cap, and each look at a long text counts.
    let long = format!("\"{}\"", "x".repeat(600_000));
    let doubled = "(args.t + args.t).contains('y')";
    assert!(ask(doubled, event("t", &long)).unwrap_err().contains("bytes"));
    let again = vec!["args.t.contains('y')"; 150].join(" || ");
    assert!(ask(&again, event("t", &long)).unwrap_err().contains("steps"));
    assert!(start.elapsed() < PATIENCE);
}
