//! What differs between two JSON values, place by place.
//!
//! People look at differences, so no secret and no personal datum is in one: a redaction would otherwise
//! be told with what it hid.

use crate::detection::{concealed, concealed_text};
use serde::Serialize;
use tollgate_gate::Json;

/// Most differences that are listed.
const CHANGES_MAX: usize = 100;

/// One difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Where, such as `files[0].name`; empty for the value itself.
    pub path: String,
    /// What stood there; none where there was nothing.
    pub before: Option<Json>,
    /// What stands there now; none where it was taken out.
    pub after: Option<Json>,
}

/// What is shown in place of what a redaction hid.
const HIDDEN: &str = "(hidden)";

/// The differences, at most [`CHANGES_MAX`], without secrets and personal data.
pub(crate) fn diff(before: &Json, after: &Json) -> Vec<Change> {
    let mut out = Vec::new();
    walk(String::new(), Some(before), Some(after), &mut out);
    out.into_iter().map(Change::concealed).collect()
}

impl Change {
    fn concealed(self) -> Change {
        let key = self.path.rsplit('.').next().unwrap_or_default();
        let key = key.split('[').next().unwrap_or_default();
        let clean =
            |value: Option<Json>| value.map(|value| concealed(key, &value).unwrap_or(value));
        let (before, after) = (clean(self.before), clean(self.after));
        Change { path: concealed_text(&self.path).unwrap_or(self.path), before, after }
    }

    /// The same of a redaction: what was there is not told, whatever the policy's own rules found.
    pub(crate) fn hidden(self) -> Change {
        Change { before: self.before.map(|_| HIDDEN.into()), ..self }
    }
}

fn walk(path: String, before: Option<&Json>, after: Option<&Json>, out: &mut Vec<Change>) {
    if before == after || out.len() >= CHANGES_MAX {
        return;
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (before, after) {
        (Some(Json::Object(a)), Some(Json::Object(b))) => {
            for (key, value) in a.iter() {
                walk(below(key), Some(value), b.get(key), out);
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(key)) {
                walk(below(key), None, Some(value), out);
            }
        }
        (Some(Json::Array(a)), Some(Json::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                walk(format!("{path}[{at}]"), a.get(at), b.get(at), out);
            }
        }
        (before, after) => {
            out.push(Change { path, before: before.cloned(), after: after.cloned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::diff;
    use tollgate_gate::Json;

    #[test]
    fn differences_name_their_places() {
        let read = |text: &str| Json::read(text.as_bytes()).unwrap();
        let before = read(r#"{"a":1,"b":{"c":[1,2]},"d":true}"#);
        let after = read(r#"{"a":1,"b":{"c":[1,3,4]},"e":null}"#);
        let found: Vec<String> = diff(&before, &after)
            .iter()
            .map(|c| format!("{} {:?} {:?}", c.path, c.before.is_some(), c.after.is_some()))
            .collect();
        assert_eq!(
            found,
            ["b.c[1] true true", "b.c[2] false true", "d true false", "e false true"]
        );
        assert!(diff(&before, &before).is_empty());
    }

    #[test]
    fn a_difference_shows_no_datum() {
        let read = |text: &str| Json::read(text.as_bytes()).unwrap();
        let before =
            read(r#"{"13812345678":{"to":"zhangsan@x.com"},"password":"hunter2-and-more!"}"#);
        let after = read(r#"{"x":1,"password":"x"}"#);
        let shown = format!("{:?}", diff(&before, &after));
        for datum in ["13812345678", "zhangsan", "hunter2"] {
            assert!(!shown.contains(datum), "{shown}");
        }
        let hidden = diff(&before, &after).into_iter().map(super::Change::hidden);
        assert!(hidden.filter(|c| c.before.is_some()).all(|c| c.before == Some("(hidden)".into())));
    }
}
