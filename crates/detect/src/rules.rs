//! The closed table of built-in rules.
//!
//! Formats are taken from the vendors' own documentation and from the tokens they issue; no rule, text
//! or list of another scanner is copied. To add one: one entry in the file of its trade, with examples.

mod chat;
mod cloud;
mod coded;
mod forge;
mod models;
mod pay;
mod saas;

use std::sync::OnceLock;

pub(crate) use coded::Coded;

use crate::pattern::Pattern;
use crate::rule::{Form, Rule};

const TABLES: [&[Rule]; 7] =
    [coded::RULES, cloud::RULES, forge::RULES, models::RULES, chat::RULES, pay::RULES, saas::RULES];

/// How many rules there are.
pub(crate) const COUNT: usize = {
    let (mut tables, mut count) = (TABLES.as_slice(), 0);
    while let [table, rest @ ..] = tables {
        (count, tables) = (count + table.len(), rest);
    }
    count
};

#[expect(clippy::indexing_slicing, reason = "checked when this is compiled")]
pub(crate) const RULES: [&Rule; COUNT] = {
    let mut rules = [&TABLES[0][0]; COUNT];
    let (mut table, mut count) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            rules[count] = &TABLES[table][row];
            (count, row) = (count + 1, row + 1);
        }
        table += 1;
    }
    rules
};

/// Each rule's pattern, once it has been needed: what a process never looks for costs it no memory.
static PATTERNS: [OnceLock<Option<Pattern>>; COUNT] = [const { OnceLock::new() }; COUNT];

static TABLE: [&Rule; COUNT] = RULES;

/// Every built-in rule. The position of a rule is its index in the engine.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    TABLE.iter().copied()
}

/// The rule of that index.
pub(crate) fn rule(index: usize) -> Option<&'static Rule> {
    TABLE.get(index).copied()
}

/// The index of the rule of that id.
pub(crate) fn index_of(id: &str) -> Option<usize> {
    TABLE.iter().position(|rule| rule.id == id)
}

/// The rule's pattern, parsed when it is first needed. Rules without a valid one never match; a
/// test holds every entry to a valid one.
pub(crate) fn pattern(index: usize) -> Option<&'static Pattern> {
    let (rule, pattern) = (rule(index)?, PATTERNS.get(index)?);
    if rule.form == Form::Code {
        return None;
    }
    pattern.get_or_init(|| Pattern::parse(rule.pattern, rule.keywords).ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::{Coded, all, pattern, rule};
    use crate::rule::Form;
    use std::collections::HashSet;

    #[test]
    fn every_rule_has_its_own_id_a_valid_pattern_and_keywords_it_can_be_found_by() {
        let mut ids = HashSet::new();
        let mut secrets = 0;
        for (index, rule) in all().enumerate() {
            assert!(ids.insert(rule.id), "{} is there twice", rule.id);
            assert!(!rule.about.is_empty());
            if rule.form == Form::Code {
                continue;
            }
            secrets += 1;
            assert!(pattern(index).is_some(), "{}: {}", rule.id, rule.pattern);
            assert!(
                !rule.keywords.is_empty() && rule.keywords.iter().all(|k| k.len() >= 3),
                "{}",
                rule.id
            );
        }
        assert!(secrets >= 150, "{secrets}");
    }

    #[test]
    fn the_coded_entries_stand_in_the_order_of_their_enum() {
        let id = |coded: Coded| rule(coded.index()).map(|rule| rule.id);
        assert_eq!(id(Coded::PrivateKey), Some("private-key"));
        assert_eq!(id(Coded::Email), Some("email"));
        assert_eq!(id(Coded::IdUsSsn), Some("id-us-ssn"));
        assert_eq!(id(Coded::Mac), Some("mac"));
        assert_eq!(id(Coded::PersonModel), Some("person-model"));
    }
}
