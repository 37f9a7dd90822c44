//! The page of the language: every policy on it loads, without an error or a trap.

use super::rig::now;
use tollgate_policy::suite::{Suite, run};
use tollgate_policy::{LoadOptions, load_text};

const PAGE: &str = include_str!("../../../../../docs/policy.md");

fn policies() -> Vec<&'static str> {
    PAGE.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_policy_of_the_page_loads() {
    let policies = policies();
    assert!(policies.len() >= 4);
    for text in policies {
        assert!(text.starts_with("version: 1"), "{text}");
        if let Err(failure) = load_text("docs/policy.md", text, &LoadOptions::new(now())) {
            panic!("{text}\n{failure}");
        }
    }
}

#[test]
fn the_policy_tests_of_the_page_pass() {
    let (_, rest) = PAGE.split_once("    version: 1\n").unwrap();
    let lines = rest.lines().take_while(|line| line.starts_with("    "));
    let text: String = lines.map(|line| format!("{}\n", &line[4..])).collect();
    let suite = Suite::read("docs/policy.md", &format!("version: 1\n{text}"));
    let suite = suite.unwrap_or_else(|report| panic!("{}", report.text()));
    let policy = policies().into_iter().find(|text| text.contains("tests-stay")).unwrap();
    let loaded = load_text("docs/policy.md", policy, &LoadOptions::new(now())).unwrap();
    let report = super::rig::block_on(run(&suite, &loaded)).unwrap();
    assert_eq!(report.failed(), 0, "{}", report.text());
}

#[test]
fn the_page_names_every_key() {
    let schema = tollgate_policy::policy_schema();
    for place in ["/properties", "/$defs/hook/properties", "/$defs/match/properties"] {
        let keys = schema.pointer(place).and_then(|keys| keys.as_object()).unwrap();
        for key in keys.keys().filter(|key| tollgate_policy::actions::find(key).is_none()) {
            assert!(PAGE.contains(&format!("`{key}`")), "`{key}` is not on the page");
        }
    }
}
