//! Formats: one record of the ledger as one line of text that a SIEM understands.
//!
//! A format is a function from a record to text: no I/O, no state. Texts come from agents and those
//! who talk to them, so each format escapes what could end a field or start another one, and every
//! format escapes characters that would hide or reorder text where it is read. An exported record is a
//! message about a line of the ledger, not the line: long texts are cut, and its number and hash lead
//! back to the book.

mod cef;
mod ecs;
mod ocsf;
mod told;

pub use told::{Severity, Told};

use crate::limits::{CONTENT_BYTES_MAX, LIST_MAX, NAME_BYTES_MAX};
use std::fmt::Write as _;
use tollgate_gate::text::{cut, is_deceptive};
use tollgate_gate::{Json, Object};

/// How a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OCSF 1.6, class API Activity (6003), one JSON object.
    Ocsf,
    /// ArcSight Common Event Format.
    Cef,
    /// Elastic Common Schema 8, one JSON object.
    Ecs,
}

impl Format {
    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Ocsf => "ocsf",
            Format::Cef => "cef",
            Format::Ecs => "ecs",
        }
    }

    /// A record as one line, without a line break.
    pub fn write(self, told: &Told<'_>) -> String {
        match self {
            Format::Ocsf => safe_json(&ocsf::object_of(told).into()),
            Format::Cef => cef::line(told),
            Format::Ecs => safe_json(&ecs::object_of(told).into()),
        }
    }

    /// A record as a JSON value, for a collector that takes structure; text for CEF.
    pub(crate) fn value(self, told: &Told<'_>) -> Json {
        match self {
            Format::Ocsf => ocsf::object_of(told).into(),
            Format::Cef => cef::line(told).into(),
            Format::Ecs => ecs::object_of(told).into(),
        }
    }
}

/// JSON in which characters that hide or reorder text are written as escapes. Outside of strings JSON
/// has none of them.
pub(crate) fn safe_json(value: &Json) -> String {
    let text = value.text();
    if !text.chars().any(|c| !c.is_ascii() && is_deceptive(c)) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if c.is_ascii() || !is_deceptive(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Puts a member there is something to say about.
fn put(out: &mut Object, key: &str, value: Option<impl Into<Json>>) {
    if let Some(value) = value {
        out.insert(key, value);
    }
}

/// An object of these members, those without a value left out.
fn object<const N: usize>(members: [(&str, Option<Json>); N]) -> Object {
    members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// A value as it is while it is short, otherwise the start of its text.
fn content(value: &Json) -> Json {
    let text = value.text();
    if text.len() <= CONTENT_BYTES_MAX { value.clone() } else { content_text(value).into() }
}

/// The first names of a list, and how many more there are.
fn names(value: &Json) -> Json {
    let items = value.as_array().unwrap_or_default();
    let mut names: Vec<String> = items
        .iter()
        .take(LIST_MAX)
        .map(|name| cut(name.as_str().unwrap_or_default(), NAME_BYTES_MAX).into_owned())
        .collect();
    if let Some(more) = items.len().checked_sub(LIST_MAX).filter(|more| *more > 0) {
        names.push(format!("... ({more} more)"));
    }
    names.into()
}

/// The text of a value, cut.
fn content_text(value: &Json) -> String {
    cut(&value.text(), CONTENT_BYTES_MAX).into_owned()
}

#[cfg(test)]
mod tests {
    use super::safe_json;
    use tollgate_gate::{Json, Object};

    #[test]
    fn hidden_and_reordering_characters_are_escaped_and_read_back_the_same() {
        let value = Json::from(Object::from_iter([("a\u{202e}", "x\u{e0041}\u{7f}\n\u{9f}é")]));
        let text = safe_json(&value);
        assert!(text.contains(r"\u202e") && text.contains(r"\udb40\udc41") && text.contains('é'));
        assert_eq!(Json::read(text.as_bytes()).unwrap(), value);
    }
}
