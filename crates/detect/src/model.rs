//! The seam for a real model of names: what an opt-in crate implements.
//!
//! The detector asks the model about one unit of text at a time (about a line, never more than the unit
//! cap) and only where the text could hold a name, so that a stream and a whole text agree and the cost
//! follows the prose. What a model costs is the model's to bound: an overrun is an error, and an error
//! makes the scan incomplete, which a redactor answers by withholding the text.

use std::ops::Range;

use crate::finding::Kind;

/// A name that a model found.
#[derive(Debug, Clone, PartialEq)]
pub struct NameSpan {
    /// Bytes of the text that was given.
    pub range: Range<usize>,
    /// [`Kind::Person`], [`Kind::Organization`] or [`Kind::Place`]; others are ignored.
    pub kind: Kind,
    /// How sure, from 0 to 1.
    pub score: f32,
}

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameModelError {
    /// Its budget of bytes or time is used up.
    #[error("the name model's budget is used up")]
    Budget,
    /// It failed.
    #[error("the name model failed: {reason}")]
    Failed {
        /// What happened.
        reason: String,
    },
}

/// A model that finds names.
pub trait NameModel: Send + Sync {
    /// The names in a text. Must give the same answer for the same text.
    ///
    /// # Errors
    /// When there is no answer; the scan then counts as incomplete.
    fn names(&self, text: &str) -> Result<Vec<NameSpan>, NameModelError>;
}

/// Whether a text could hold a name at all: prose has a capital letter or an ideograph and mostly
/// letters and blanks.
pub(crate) fn is_prose(text: &str) -> bool {
    let mut letters = 0usize;
    let mut total = 0usize;
    let mut name = false;
    for char in text.chars() {
        total += 1;
        letters += usize::from(char.is_alphabetic() || char == ' ');
        name |= char.is_uppercase() || ('\u{4E00}'..='\u{9FFF}').contains(&char);
    }
    name && total >= 4 && letters * 10 >= total * 7
}
