//! The settings of hosts, text to text: our hooks put in, looked for, and taken out.
//!
//! A person's settings stay what they are: comments, order, indentation and every byte that is not
//! ours. What is put in is found again by the command it runs, so that it can be put in twice without
//! standing there twice, and taken out without a memory of it.
//!
//! Refused: a text that is not JSON (comments and a comma at the end of a list are let pass), a name
//! that stands twice, and a value of another shape where hooks belong. Nothing is edited then.

mod edit;
mod form;
mod look;
mod portable;

pub use edit::{with_hooks, without_hooks};
pub use form::{ANSWER_MS, FORMS, Form, Managed, Place, Scope, TIMEOUT_MS, form, stops_a_call};
pub use look::{Hook, Standing, standing};
pub use portable::portable;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};
use std::collections::HashSet;

/// Why settings cannot be read or edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The text is no JSON.
    #[error("no JSON: {what}")]
    Syntax {
        /// What is wrong, and where.
        what: String,
    },
    /// A value is not what the host wants there.
    #[error("`{place}` is {found}, and not {wanted}")]
    Shape {
        /// The way to the value.
        place: String,
        /// What stands there.
        found: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// One object has a name twice: which of them the host reads is its secret.
    #[error("`{name}` stands twice in `{place}`")]
    Twice {
        /// The way to the object.
        place: String,
        /// The name.
        name: String,
    },
}

/// The text as a tree that keeps every byte. An empty text is an empty object.
fn read(text: &str) -> Result<(CstRootNode, CstObject), SettingsError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options)
        .map_err(|error| SettingsError::Syntax { what: error.to_string() })?;
    let object = match root.value() {
        None => root.object_value_or_set(),
        Some(value) => value.as_object().ok_or(SettingsError::Shape {
            place: "the whole file".to_owned(),
            found: "something else",
            wanted: "an object",
        })?,
    };
    check_names("the whole file", &object)?;
    Ok((root, object))
}

/// The object of all hooks, if there is one.
fn hooks_of(root: &CstObject) -> Result<Option<CstObject>, SettingsError> {
    let Some(property) = root.get("hooks") else { return Ok(None) };
    let hooks = property.object_value().ok_or(SettingsError::Shape {
        place: "hooks".to_owned(),
        found: "something else",
        wanted: "an object",
    })?;
    check_names("hooks", &hooks)?;
    Ok(Some(hooks))
}

fn check_names(place: &str, object: &CstObject) -> Result<(), SettingsError> {
    let mut seen = HashSet::new();
    for property in object.properties() {
        let name = property.decoded_name().unwrap_or_default();
        if !seen.insert(name.clone()) {
            return Err(SettingsError::Twice { place: place.to_owned(), name });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
