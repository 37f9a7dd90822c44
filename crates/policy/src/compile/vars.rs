//! Declared environment variables, and `${NAME}` in the texts that use them.
//!
//! Only what the policy declares is ever read. A secret stays `${NAME}` in everything that is kept or
//! shown, and is filled in where a command, webhook or component is called; in any other place it is
//! an error. In a glob a value stands for itself: no value can widen a match.

use crate::diagnostic::{Diagnostic, Place};
use crate::file::{Node, Value};
use std::collections::BTreeMap;
use tollgate_gate::Json;

/// Actions whose values may use secrets.
pub(crate) const SECRET_ACTIONS: [&str; 3] = ["command", "webhook", "wasm"];

/// The declared variables with their values.
#[derive(Clone, Default)]
pub(crate) struct Vars {
    known: BTreeMap<String, Var>,
}

#[derive(Clone)]
enum Var {
    Open(String),
    Secret,
    /// Declared and not set; reported where it is declared.
    Unset,
}

/// A `${NAME}` that cannot be filled in.
pub(crate) enum VarError {
    Undeclared(String),
    Secret(String),
}

impl VarError {
    /// The problem at its place.
    pub(crate) fn at(self, place: Place) -> Diagnostic {
        match self {
            VarError::Undeclared(name) => {
                let message = format!("`${{{name}}}` names no declared variable");
                let remedy =
                    format!("declare it: env: {{ {name}: {{}} }}; a literal is `$${{{name}}}`");
                Diagnostic::error("env", place, message).with_remedy(remedy)
            }
            VarError::Secret(name) => {
                let message = format!("the secret `${{{name}}}` cannot be used here");
                let remedy = format!("secrets are only for {}", SECRET_ACTIONS.join(", "));
                Diagnostic::error("env", place, message).with_remedy(remedy)
            }
        }
    }
}

impl Vars {
    /// Declares a variable. `value`: as set, or its default.
    pub(crate) fn declare(&mut self, name: &str, value: Option<String>, secret: bool) {
        let var = match value {
            _ if secret => Var::Secret,
            Some(value) => Var::Open(value),
            None => Var::Unset,
        };
        self.known.insert(name.to_owned(), var);
    }

    pub(crate) fn is_declared(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// The values that are not secret, for the key of a snapshot.
    pub(crate) fn open(&self) -> impl Iterator<Item = (&str, &str)> {
        self.known.iter().filter_map(|(name, var)| match var {
            Var::Open(value) => Some((name.as_str(), value.as_str())),
            Var::Secret | Var::Unset => None,
        })
    }

    /// The first declared variable that a text says `${NAME}` of.
    pub(crate) fn named_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let bodies = text.split("${").skip(1);
        let mut names = bodies.filter_map(|body| body.split_once('}')).map(|(name, _)| name);
        names.find(|name| self.is_declared(name))
    }

    /// Fills a text in; in a glob, values stand for themselves.
    pub(crate) fn fill(&self, text: &str, is_glob: bool) -> Result<String, VarError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, behind) = rest.split_at(at);
            let body = behind.get(2..).unwrap_or_default();
            let name = body.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
            let Some(name) = name else {
                out.push_str(before);
                out.push_str("${");
                rest = body;
                continue;
            };
            rest = body.get(name.len() + 1..).unwrap_or_default();
            if let Some(before) = before.strip_suffix('$') {
                out.push_str(before);
                out.push_str("${");
                out.push_str(name);
                out.push('}');
                continue;
            }
            out.push_str(before);
            match self.known.get(name) {
                None => return Err(VarError::Undeclared(name.to_owned())),
                Some(Var::Secret) => return Err(VarError::Secret(name.to_owned())),
                Some(Var::Unset) => {}
                Some(Var::Open(value)) if is_glob => push_literal(&mut out, value),
                Some(Var::Open(value)) => out.push_str(value),
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Fills every text of an action's value in; secrets stay where the action may use them.
    pub(crate) fn fill_value(
        &self,
        node: &Node,
        action: &str,
        place: impl Fn(&Node) -> Place + Copy,
        problems: &mut Vec<Diagnostic>,
    ) -> Json {
        match &node.value {
            Value::Text(text) if text.contains("${") => match self.fill(text, false) {
                Ok(text) => Json::String(text),
                Err(VarError::Secret(_)) if SECRET_ACTIONS.contains(&action) => {
                    Json::String(text.clone())
                }
                Err(error) => {
                    problems.push(error.at(place(node)));
                    Json::String(text.clone())
                }
            },
            Value::List(items) => Json::Array(
                items.iter().map(|n| self.fill_value(n, action, place, problems)).collect(),
            ),
            Value::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|e| (e.key.clone(), self.fill_value(&e.node, action, place, problems)))
                    .collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Broken => {
                node.to_json()
            }
        }
    }
}

/// A name of an environment variable: capitals, digits, `_`. Others are left alone, for a
/// replacement text has its own `${1}`.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

fn push_literal(out: &mut String, value: &str) {
    for c in value.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::Vars;

    #[test]
    fn only_declared_variables_are_filled_in_and_no_value_widens_a_glob() {
        let mut vars = Vars::default();
        vars.declare("DOMAIN", Some("a*.net".into()), false);
        vars.declare("TOKEN", Some("hush".into()), true);
        assert_eq!(vars.fill("x.${DOMAIN}", false).ok().unwrap(), "x.a*.net");
        assert_eq!(vars.fill("*.${DOMAIN}", true).ok().unwrap(), r"*.a\*.net");
        assert_eq!(
            vars.fill("$${DOMAIN} ${1} ${name} $", false).ok().unwrap(),
            "${DOMAIN} ${1} ${name} $"
        );
        assert!(vars.fill("${OTHER}", false).is_err());
        assert!(vars.fill("${TOKEN}", false).is_err());
    }
}
