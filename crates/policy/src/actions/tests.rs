//! Laws of the table, and of how actions are read.

use super::{ActionContext, find, table};
use tollgate_gate::{EventKind, Json, KindSet, OnFailure, Roles};

#[test]
fn names_are_distinct_and_every_action_is_found_by_its_own() {
    for (at, spec) in table().iter().enumerate() {
        assert!(std::ptr::eq(find(spec.name).unwrap(), *spec));
        assert!(table().iter().skip(at + 1).all(|other| other.name != spec.name));
        assert!(!spec.summary.is_empty() && !spec.kinds.is_empty() && !spec.roles.is_empty());
    }
    assert!(find("alow").is_none());
}

#[test]
fn only_watchers_fail_open() {
    for spec in table() {
        assert_eq!(spec.on_failure == OnFailure::Open, spec.roles == Roles::WATCH, "{}", spec.name);
    }
}

#[test]
fn no_action_can_be_at_a_kind_that_does_not_allow_its_roles() {
    for spec in table() {
        for kind in spec.kinds.iter() {
            assert!(!spec.roles.include(Roles::REWRITE) || kind.may_rewrite(), "{}", spec.name);
        }
    }
}

#[test]
fn a_kind_at_which_an_action_is_not_possible_is_refused_with_those_at_which_it_is() {
    let ask = find("ask").unwrap();
    let kinds = KindSet::BEFORE.with(EventKind::PostTool);
    let error = ask.hook(&Json::from(true), &ActionContext::new("h", kinds)).unwrap_err();
    assert_eq!(error.message, "`ask` is not possible at `post_tool`");
    assert_eq!(error.remedy.unwrap(), "it is possible at pre_model, pre_tool");
}

#[test]
fn every_schema_is_an_object_that_documents_its_keys() {
    for spec in table() {
        let schema = (spec.schema)();
        assert!(schema.is_object() || schema.is_boolean(), "{}", spec.name);
        if let Some(properties) = schema.get("properties").and_then(|p| p.as_object()) {
            for (key, property) in properties {
                assert!(property.get("description").is_some(), "{}.{key}", spec.name);
            }
        }
    }
}
