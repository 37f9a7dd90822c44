//! What holds of every host's facts.

use std::collections::BTreeSet;
use tollgate_gate::EventKind;
use tollgate_hosts::{EventUse, HOSTS, host};

#[test]
fn every_host_is_found_by_its_name_and_has_each_event_once() {
    let mut names = BTreeSet::new();
    for each in HOSTS {
        let facts = each.facts();
        assert!(names.insert(facts.name));
        assert_eq!(host(facts.name).unwrap().facts().title, facts.title);
        let events: BTreeSet<&str> = facts.events.iter().map(|event| event.name).collect();
        assert_eq!(events.len(), facts.events.len(), "{}", facts.name);
    }
    assert!(host("none").is_none());
}

#[test]
fn every_host_shows_calls_before_and_after_they_run() {
    for each in HOSTS {
        let facts = each.facts();
        for kind in [EventKind::PreTool, EventKind::PostTool] {
            let shows = facts.events.iter().any(
                |event| matches!(event.used, EventUse::Judged(kinds) if kinds.contains(&kind)),
            );
            assert!(shows, "{} {kind}", facts.name);
        }
    }
}
