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

static TABLES: [&[Rule]; 7] =
    [coded::RULES, cloud::RULES, forge::RULES, models::RULES, chat::RULES, pay::RULES, saas::RULES];

/// Every built-in rule. The position of a rule is its index in the engine.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    TABLES.iter().copied().flatten()
}

/// Entries by index, with the pattern once it has been needed.
pub(crate) struct Catalog {
    rules: Vec<(&'static Rule, OnceLock<Option<Pattern>>)>,
}

impl Catalog {
    /// The one catalogue of the process.
    pub(crate) fn get() -> &'static Self {
        static CATALOG: OnceLock<Catalog> = OnceLock::new();
        CATALOG.get_or_init(|| Self { rules: all().map(|rule| (rule, OnceLock::new())).collect() })
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn rule(&self, index: usize) -> Option<&'static Rule> {
        self.rules.get(index).map(|(rule, _)| *rule)
    }

    /// The place of the rule of that id.
    pub(crate) fn index_of(&self, id: &str) -> Option<usize> {
        self.rules.iter().position(|(rule, _)| rule.id == id)
    }

    /// The rule's pattern, parsed when it is first needed. Rules without a valid one never match; a
    /// test holds every entry to a valid one.
    pub(crate) fn pattern(&self, index: usize) -> Option<&Pattern> {
        let (rule, pattern) = self.rules.get(index)?;
        if rule.form == Form::Code {
            return None;
        }
        pattern.get_or_init(|| Pattern::parse(rule.pattern, rule.keywords).ok()).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::{Catalog, Coded, all};
    use crate::rule::Form;
    use std::collections::HashSet;

    #[test]
    fn every_rule_has_its_own_id_a_valid_pattern_and_keywords_it_can_be_found_by() {
        let mut ids = HashSet::new();
        let catalog = Catalog::get();
        let mut secrets = 0;
        for (index, rule) in all().enumerate() {
            assert!(ids.insert(rule.id), "{} is there twice", rule.id);
            assert!(!rule.about.is_empty());
            if rule.form == Form::Code {
                continue;
            }
            secrets += 1;
            assert!(catalog.pattern(index).is_some(), "{}: {}", rule.id, rule.pattern);
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
        let catalog = Catalog::get();
        let id = |coded: Coded| catalog.rule(coded.index()).map(|rule| rule.id);
        assert_eq!(id(Coded::PrivateKey), Some("private-key"));
        assert_eq!(id(Coded::Email), Some("email"));
        assert_eq!(id(Coded::IdUsSsn), Some("id-us-ssn"));
        assert_eq!(id(Coded::Mac), Some("mac"));
        assert_eq!(id(Coded::PersonModel), Some("person-model"));
    }
}
