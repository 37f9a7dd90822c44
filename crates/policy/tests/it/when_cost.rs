//! What a condition costs in memory: nothing, unless it makes a text or a list.

#![expect(clippy::unwrap_used, reason = "a test whose ground is missing has failed")]

use crate::when_events::{env, transfer, view};
use allocation_counter::measure;
use tollgate_gate::{EventKind, Json, Subject, Test};
use tollgate_policy::when::Condition;

fn allocations(source: &str) -> u64 {
    let condition = Condition::compile(source, &env(EventKind::PreTool, &["transfer"])).unwrap();
    let arguments = br#"{"to":"bob@acme.com","amount":5,"list":[1,{"a":2}],"deep":{"er":"x"}}"#;
    let event = transfer(Json::read(arguments).unwrap());
    let view = view();
    let subject = Subject { event: &event, payload: &event.payload, session: &view };
    // A regular expression keeps a cache, which its first use makes.
    let first = condition.test(&subject);
    let mut second = None;
    let measured = measure(|| second = Some(condition.test(&subject)));
    assert_eq!(second, Some(first));
    measured.count_total
}

#[test]
fn a_condition_that_makes_nothing_allocates_nothing() {
    for source in [
        "args.amount > 1000 && !('finance' in user.groups)",
        "args.to.endsWith('@acme.com') && tenant == 'acme'",
        "args.deep.er == 'y' || args.list[1].a == 3 || has(args.none)",
        "tenant in ['a', 'b'] || args.amount in [1, 2.5, null]",
        "args.none == 1 || args.amount == 5",
        "args.list.exists(v, v == 7)",
        "event.kind == 'pre_tool' && 'pii' in session.labels && session.tool_calls > 100",
        "glob(args.to, '*@acme.*') && args.to.matches('^b.b@') && lower(args.to) == ''",
        "args == original.args && event.at > timestamp('2027-01-01')",
    ] {
        assert_eq!(allocations(source), 0, "{source}");
    }
    assert!(allocations("args.to + 'x' == 'y'") > 0);
}
