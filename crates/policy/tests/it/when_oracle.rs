//! Conditions against the `cel` crate: random expressions over random events have the same outcome,
//! or fail in both.
//!
//! Where the two differ on purpose, the generator leaves it out, and a test of its own says which
//! reading of the CEL language definition holds here.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test whose ground is missing has failed")]

use crate::when_events::{ask, seen, to_cel};
use cel::{Context, Program, Value};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;
use tollgate_gate::Json;

/// What the reference evaluator says.
fn oracle(source: &str, arguments: &Json) -> Result<bool, String> {
    let program = Program::compile(source).map_err(|error| format!("parse: {error}"))?;
    let mut context = Context::default();
    for (name, value) in seen(arguments) {
        context.add_variable_from_value(name, to_cel(&value));
    }
    match program.execute(&context) {
        Ok(Value::Bool(value)) => Ok(value),
        Ok(other) => Err(format!("no boolean: {other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-3i64..12).prop_map(|value| value.to_string()),
        1 => Just("9223372036854775807".to_owned()),
        1 => (0u64..5).prop_map(|value| format!("{value}u")),
        2 => prop_oneof![Just("0.5"), Just("2.0"), Just("-1.25")].prop_map(str::to_owned),
        4 => prop_oneof![Just("''"), Just("'a'"), Just("\"abc\""), Just("'b\\n'"), Just("r'k'")]
            .prop_map(str::to_owned),
        1 => prop_oneof![Just("true"), Just("false"), Just("null")].prop_map(str::to_owned),
    ]
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-e]".prop_map(|name| format!("args.{name}")),
        2 => "[a-e]".prop_map(|name| format!("args.m.{name}")),
        1 => "[a-e]".prop_map(|name| format!("args['{name}']")),
        1 => "[a-e]".prop_map(|name| format!("original.args.{name}")),
        2 => prop_oneof![
            Just("tenant"), Just("user.name"), Just("event.kind"), Just("session.tool_calls"),
            Just("session.own.tool_calls"), Just("event.tags"), Just("user.groups"),
            Just("session.labels"), Just("session.root"), Just("args"), Just("args.l"),
        ].prop_map(str::to_owned),
    ]
}

/// Types are checked at load, which would refuse most random expressions; `dyn` puts that off.
fn late(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (value, proptest::bool::weighted(0.9)).prop_map(|(value, late)| match late {
        true => format!("dyn({value})"),
        false => value,
    })
}

fn value() -> impl Strategy<Value = String> {
    late(prop_oneof![literal(), field()]).prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            2 => (inner.clone(), "[-+*/%]", inner.clone())
                .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            1 => inner.clone().prop_map(|a| format!("size({a})")),
            1 => (inner.clone(), 0u8..3).prop_map(|(a, at)| format!("dyn({a})[{at}]")),
            1 => (inner.clone(), "[a-e]").prop_map(|(a, key)| format!("dyn({a}).{key}")),
            1 => proptest::collection::vec(inner.clone(), 0..3)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            1 => ("[a-c]", inner.clone()).prop_map(|(key, a)| format!("{{'{key}': {a}}}")),
            1 => inner.clone().prop_map(|a| format!("args.l.map(v, v == {a})")),
            1 => inner.prop_map(|a| format!("args.l.filter(v, v != {a})")),
        ]
        .prop_flat_map(|value| late(Just(value)))
        .boxed()
    })
}

fn condition() -> impl Strategy<Value = String> {
    let simple = prop_oneof![
        4 => (value(), prop_oneof![
                Just("=="), Just("!="), Just("<"), Just("<="), Just(">"), Just(">="), Just("in"),
            ], value())
            .prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
        2 => (value(), prop_oneof![Just("contains"), Just("startsWith"), Just("endsWith"),
                Just("matches")], prop_oneof![Just("'a'"), Just("'ab'"), Just("''")])
            .prop_map(|(a, name, b)| format!("{a}.{name}({b})")),
        1 => "[a-e]".prop_map(|name| format!("has(args.{name})")),
        1 => "[a-e]".prop_map(|name| format!("has(args.m.{name})")),
        1 => value(),
    ];
    simple.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            3 => proptest::collection::vec(inner.clone(), 2..4)
                .prop_map(|sides| format!("({})", sides.join(" && "))),
            3 => proptest::collection::vec(inner.clone(), 2..4)
                .prop_map(|sides| format!("({})", sides.join(" || "))),
            1 => inner.clone().prop_map(|a| format!("!({a})")),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("(({a}) ? ({b}) : ({c}))")),
            2 => (prop_oneof![Just("args.l"), Just("args.m"), Just("event.tags"), Just("args.a")],
                  prop_oneof![Just("all"), Just("exists"), Just("exists_one")], value(), inner)
                .prop_map(|(range, name, a, b)| format!("{range}.{name}(v, v == {a} || ({b}))")),
        ]
    })
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => (-3i64..12).prop_map(|value| value.to_string()),
        2 => prop_oneof![Just("0.5"), Just("2.0"), Just("1e3"), Just("18446744073709551615")]
            .prop_map(str::to_owned),
        4 => prop_oneof![Just("\"\""), Just("\"a\""), Just("\"abc\""), Just("\"k\\n\"")]
            .prop_map(str::to_owned),
        1 => prop_oneof![Just("true"), Just("false"), Just("null")].prop_map(str::to_owned),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::btree_map("[a-e]", inner, 0..3).prop_map(|map| {
                let members: Vec<_> = map.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn arguments() -> impl Strategy<Value = String> {
    let map = proptest::collection::btree_map("[a-e]", json(), 0..3);
    let list = proptest::collection::vec(json(), 0..4);
    (proptest::collection::btree_map("[a-e]", json(), 0..5), list, map).prop_map(
        |(members, list, map)| {
            let member = |(k, v): (&String, &String)| format!("\"{k}\":{v}");
            let map: Vec<_> = map.iter().map(member).collect();
            let mut all: Vec<_> = members.iter().map(member).collect();
            all.push(format!("\"l\":[{}]", list.join(",")));
            all.push(format!("\"m\":{{{}}}", map.join(",")));
            format!("{{{}}}", all.join(","))
        },
    )
}

/// Faults of ours where the `cel` crate goes on, though the language definition has no such
/// overload: [`where_the_crate_departs_from_the_language_the_language_holds`].
const DEPARTURES: [&str; 1] = ["`+` does not go with a list and"];

#[test]
fn where_the_crate_departs_from_the_language_the_language_holds() {
    let arguments = Json::read(br#"{"l":[1],"m":{"a":1}}"#).unwrap();
    let source = "args.l + args.m == args.l";
    assert!(ask(source, arguments.clone()).is_err());
    assert!(oracle(source, &arguments).is_ok(), "the crate has changed: compare it here again");
}

/// The reference's parser overflows the stack of a test's thread on expressions that are allowed
/// here, so it gets a large one.
const ORACLE_STACK_BYTES: usize = 256 * 1024 * 1024;

#[test]
fn a_condition_says_what_the_reference_evaluator_says() {
    let thread = std::thread::Builder::new().stack_size(ORACLE_STACK_BYTES);
    thread.spawn(compare_with_the_reference).unwrap().join().unwrap();
}

fn compare_with_the_reference() {
    let cases = std::env::var("WHEN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 3_000,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let (judged, refused) = (Cell::new(0u32), Cell::new(0u32));
    let outcome = runner.run(&(condition(), arguments()), |(source, arguments)| {
        let arguments = Json::read(arguments.as_bytes()).unwrap();
        let env = crate::when_events::env(tollgate_gate::EventKind::PreTool, &["transfer"]);
        if tollgate_policy::when::Condition::compile(&source, &env).is_err() {
            // Stricter than the reference, which has no types at load.
            refused.set(refused.get() + 1);
            return Ok(());
        }
        judged.set(judged.get() + 1);
        let (ours, theirs) = (ask(&source, arguments.clone()), oracle(&source, &arguments));
        let same = match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            (Err(_), Err(_)) => true,
            (Err(fault), _) if DEPARTURES.iter().any(|part| fault.contains(part)) => true,
            _ => false,
        };
        proptest::prop_assert!(same, "{source}\n{arguments}\nours {ours:?}\ntheirs {theirs:?}");
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // A generator that makes only what is refused would prove nothing.
    assert!(judged.get() > cases / 4, "{} judged, {} refused", judged.get(), refused.get());
}
