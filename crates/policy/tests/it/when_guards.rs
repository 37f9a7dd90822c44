//! What loads without an error about guards never meets an absent field.
//!
//! CEL forgets the error of one side when the other decides, so the check lets each side rely on the
//! others wherever they stand. This holds that rule against random conditions.

use crate::when_events::{env, run, transfer};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;
use tollgate_gate::{EventKind, Json};
use tollgate_policy::when::{Condition, WhenErrorKind};

/// Conditions that state or need that `args.a` or `args.b` is there.
fn condition() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        5 => "[ab]".prop_map(|name| format!("has(args.{name})")),
        1 => "[ab]".prop_map(|name| format!("'{name}' in args")),
        4 => ("[ab]", 0u8..2).prop_map(|(name, n)| format!("args.{name} == {n}")),
        1 => Just("tenant == 'acme'".to_owned()),
        1 => Just("false".to_owned()),
    ];
    atom.prop_recursive(4, 16, 3, |inner| {
        let sides = || proptest::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            4 => sides().prop_map(|sides| format!("({})", sides.join(" && "))),
            4 => sides().prop_map(|sides| format!("({})", sides.join(" || "))),
            3 => inner.clone().prop_map(|inner| format!("!({inner})")),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
        ]
    })
}

#[test]
fn what_the_check_takes_for_guarded_never_meets_an_absent_field() {
    let cases = std::env::var("WHEN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let env = env(EventKind::PreTool, &[]);
    let events: Vec<_> = ["{}", r#"{"a":0}"#, r#"{"a":1}"#, r#"{"b":0}"#, r#"{"b":1}"#]
        .into_iter()
        .chain([r#"{"a":0,"b":0}"#, r#"{"a":1,"b":1}"#, r#"{"a":1,"b":0}"#, r#"{"a":0,"b":1}"#])
        .map(|arguments| transfer(Json::read(arguments.as_bytes()).unwrap_or_default()))
        .collect();
    let guarded = Cell::new(0u32);
    let outcome = TestRunner::new_with_rng(config, rng).run(&condition(), |source| {
        match Condition::compile(&source, &env) {
            Ok(condition) => {
                guarded.set(guarded.get() + u32::from(source.contains("==")));
                for event in &events {
                    let answer = run(&condition, event);
                    proptest::prop_assert!(answer.is_ok(), "{source}: {answer:?}");
                }
            }
            Err(error) => proptest::prop_assert_eq!(error.kind, WhenErrorKind::Unguarded),
        }
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    // A generator that guards nothing would prove nothing.
    assert!(guarded.get() > cases / 20, "{} guarded", guarded.get());
}
