//! What is wrong with a condition, found when the policy is loaded.

use std::ops::Range;

/// A condition that cannot be used: where, what and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WhenError {
    /// What kind of mistake it is.
    pub kind: WhenErrorKind,
    /// The bytes of the source that are meant.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// The kinds of mistakes in a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenErrorKind {
    /// Over a cap of [`super::limits`].
    TooLarge,
    /// No CEL.
    Syntax,
    /// CEL that conditions do not have.
    Unsupported,
    /// A name, field or function that does not exist (at this event kind).
    Unknown,
    /// A function with the wrong number of arguments.
    Arity,
    /// Values of types that do not go together.
    Type,
    /// A field that may be absent, read without `has()`.
    Unguarded,
    /// A regular expression, glob or network that cannot be read.
    Pattern,
}

impl WhenError {
    pub(super) fn new(
        kind: WhenErrorKind,
        span: &Range<usize>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> WhenError {
        WhenError { kind, span: span.clone(), message: message.into(), remedy: remedy.into() }
    }
}

/// `remedy`, with the closest of `known` put before it when there is a close one.
pub(super) fn suggest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    remedy: &str,
) -> String {
    let close = known
        .into_iter()
        .map(|known| (distance(name, known), known))
        .filter(|(distance, known)| *distance <= 2.max(known.len() / 4))
        .min();
    match close {
        Some((_, known)) => format!("did you mean `{known}`? {remedy}"),
        None => remedy.to_owned(),
    }
}

/// How many letters must change for `a` to become `b` (Levenshtein), case aside. Both are short.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = row.get(j).copied().unwrap_or(0) + usize::from(from != to);
            let removed = row.get(j + 1).copied().unwrap_or(0) + 1;
            let added = next.last().copied().unwrap_or(0) + 1;
            next.push(replaced.min(removed).min(added));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
