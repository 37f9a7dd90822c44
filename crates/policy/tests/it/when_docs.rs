//! The page on conditions: each of its examples runs, over the events that it shows.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test whose ground is missing has failed"
)]

use crate::when_events::env;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tollgate_gate::{Counters, Event, EventKind, SessionView, Subject, Test, Timestamp};
use tollgate_policy::when::Condition;

const PAGE: &str = include_str!("../../../../docs/policy-conditions.md");

/// The fenced blocks of a language: the words behind it, and the text.
fn blocks(language: &str) -> Vec<(Vec<&'static str>, &'static str)> {
    PAGE.split("\n```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| {
            let (head, text) = block.split_once('\n')?;
            let mut words = head.split(' ');
            (words.next() == Some(language)).then(|| (words.collect(), text))
        })
        .collect()
}

fn view() -> SessionView {
    let tree = Counters {
        tool_calls_attempted: 7,
        tool_calls_executed: 5,
        tool_calls_refused: 1,
        model_calls: 4,
        tokens_in: 900,
        tokens_out: 100,
        cost_micros: 25_000,
    };
    SessionView {
        tree,
        counters: Counters { tool_calls_attempted: 3, ..Counters::default() },
        root: "s0".into(),
        labels: Arc::new(BTreeSet::from(["pii".into()])),
        ..SessionView::default()
    }
}

/// The events of the page by kind and tool, the first of a kind also by the kind alone.
fn events() -> BTreeMap<String, Event> {
    let at = Timestamp::parse("2027-01-15T08:30:00Z").unwrap();
    let json = blocks("json");
    let session = json.iter().find(|(words, _)| words == &["session"]).unwrap().1;
    let mut events = BTreeMap::new();
    for (words, payload) in json.iter().filter(|(words, _)| words != &["session"]) {
        let kind = words[0];
        let event = format!(
            r#"{{"id":"e1","kind":"{kind}","tags":["tool_call"],"session":{session},"payload":{payload}}}"#
        );
        let event = Event::read(event.as_bytes(), at).unwrap();
        events.insert(words.join(" "), event.clone());
        events.entry(kind.to_owned()).or_insert(event);
    }
    events
}

/// What comes out of an example, in the words of the page.
fn outcome(words: &[&str], source: &str, event: &Event) -> String {
    let kind = EventKind::from_name(words[0]).unwrap();
    let condition = match Condition::compile(source, &env(kind, &words[1..])) {
        Ok(condition) => condition,
        Err(error) => return format!("error: {}", error.message),
    };
    let view = view();
    match condition.test(&Subject { event, payload: &event.payload, session: &view }) {
        Ok(answer) => answer.to_string(),
        Err(error) => format!("fault: {}", error.cause),
    }
}

#[test]
fn every_example_on_the_page_comes_out_as_it_says() {
    let (events, examples) = (events(), blocks("cel"));
    assert!(examples.len() > 40, "{} examples", examples.len());
    for (words, source) in examples {
        let event = events.get(&words.join(" ")).unwrap_or_else(|| panic!("no event {words:?}"));
        let (_, expected) = source.rsplit_once("// ").unwrap();
        let found = outcome(&words, source, event);
        match expected.split_once(": ") {
            Some((sort, part)) => {
                assert!(found.starts_with(sort) && found.contains(part), "{source}\n{found}");
            }
            None => assert_eq!(found, expected, "{source}"),
        }
    }
}
