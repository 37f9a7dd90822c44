//! A rule: what a datum looks like, how it is proved, and examples that hold the rule to its word.
//!
//! Rules are data in closed tables (`rules/`); the engine has no vendor names in it. A rule's examples
//! are templates: `{token}` stands for a value made from the pattern, so that the tree holds no text
//! that looks like a live key.

use crate::finding::{Kind, Severity};
use crate::sample::Maker;

/// One built-in rule.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Its id, unique and stable.
    pub id: &'static str,
    /// What it finds, in a few words.
    pub about: &'static str,
    /// What sort of datum it finds.
    pub kind: Kind,
    /// How bad such a finding is.
    pub severity: Severity,
    /// Words one of which must stand in the text before the rule is tried.
    pub keywords: &'static [&'static str],
    /// The token's pattern; empty where the format is read by code.
    pub pattern: &'static str,
    /// Least Shannon entropy of the varying part, in bits a character.
    pub entropy_min: f32,
    /// How sure a match is before its validator and context speak, from 0 to 1.
    pub score: f32,
    /// Templates that must be found.
    pub hits: &'static [&'static str],
    /// Texts in which it must find nothing.
    pub misses: &'static [&'static str],
    pub(crate) form: Form,
    pub(crate) check: Check,
}

/// How a rule is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The keyword is part of the pattern.
    Token,
    /// The keyword is a vendor's word; the pattern is the value assigned nearby.
    Near,
    /// Read by code of its own (assignments, PEM, personal data); the table entry describes it.
    Code,
}

/// What proves a token beyond its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    None,
    /// Last six characters are the base-62 CRC-32 of the thirty before them (GitHub, npm).
    Crc32Base62,
    /// Last eight characters, after `_`, are the hex CRC-32 of what precedes (Grafana).
    Crc32Hex,
    /// First segment decodes to a JSON object with `alg`.
    Jwt,
    /// Bech32 checksum (age).
    Bech32,
}

impl Rule {
    pub(crate) const fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }

    pub(crate) const fn entropy(mut self, bits: f32) -> Self {
        self.entropy_min = bits;
        self
    }

    /// An invented token of this form with its checksum right, the same for the same seed; `None` for
    /// what code reads. For tests, benches and rehearsals: no service ever issued it.
    #[must_use]
    pub fn sample(&self, seed: u64) -> Option<String> {
        Maker::new(seed).token(self)
    }

    /// A text made from a template of [`Rule::hits`], the same for the same seed.
    #[must_use]
    pub fn example(&self, template: &str, seed: u64) -> String {
        Maker::new(seed).fill(self, template)
    }

    pub(crate) const fn scored(mut self, score: f32) -> Self {
        self.score = score;
        self
    }
}

/// A token that carries its own mark.
pub(crate) const fn token(
    id: &'static str,
    about: &'static str,
    severity: Severity,
    keywords: &'static [&'static str],
    pattern: &'static str,
    hits: &'static [&'static str],
    misses: &'static [&'static str],
) -> Rule {
    Rule {
        id,
        about,
        kind: Kind::Secret,
        severity,
        keywords,
        pattern,
        entropy_min: 2.5,
        score: 0.9,
        hits,
        misses,
        form: Form::Token,
        check: Check::None,
    }
}

/// A token without a mark of its own, known by the vendor's word before it.
pub(crate) const fn near(
    id: &'static str,
    about: &'static str,
    severity: Severity,
    keywords: &'static [&'static str],
    pattern: &'static str,
    hits: &'static [&'static str],
    misses: &'static [&'static str],
) -> Rule {
    Rule {
        entropy_min: 2.8,
        score: 0.75,
        form: Form::Near,
        ..token(id, about, severity, keywords, pattern, hits, misses)
    }
}

/// A datum that code reads.
pub(crate) const fn code(
    id: &'static str,
    about: &'static str,
    kind: Kind,
    severity: Severity,
    score: f32,
    hits: &'static [&'static str],
    misses: &'static [&'static str],
) -> Rule {
    Rule {
        kind,
        entropy_min: 0.0,
        score,
        form: Form::Code,
        ..token(id, about, severity, &[], "", hits, misses)
    }
}
