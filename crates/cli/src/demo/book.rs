//! The ledger of a scene, read back from its files.

use crate::exit::Failure;
use std::path::Path;
use tollgate::gate::{Json, Object};
use tollgate::store::Book;

/// All records of a scene's ledger, in order.
pub(crate) struct Records(Vec<Json>);

impl Records {
    pub(crate) fn read(folder: &Path) -> Result<Records, Failure> {
        let book = Book::open(folder).map_err(Failure::internal)?;
        let mut records = Vec::new();
        for entry in book.entries() {
            let entry = entry.map_err(Failure::internal)?;
            records.push(Json::read(&entry.text).map_err(Failure::internal)?);
        }
        Ok(Records(records))
    }

    /// Records of this kind about this kind of event.
    pub(crate) fn of<'a>(
        &'a self,
        kind: &'a str,
        event: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a Json> {
        self.0.iter().filter(move |record| is(record, "kind", kind) && is(record, "event", event))
    }

    /// Decision records of tool calls.
    pub(crate) fn tool_decisions(&self) -> impl DoubleEndedIterator<Item = &Json> {
        self.of("decision", "pre_tool")
    }

    /// The tools that the decision records of tool calls name.
    pub(crate) fn decided_tools(&self) -> Vec<String> {
        self.tool_decisions().filter_map(|record| text(record, "tool")).map(str::to_owned).collect()
    }

    /// How many tool calls were refused, and the first reason.
    pub(crate) fn refusals(&self) -> (u64, Option<String>) {
        let refused: Vec<&Json> =
            self.tool_decisions().filter(|record| !is(record, "verdict", "allow")).collect();
        let reason = refused.first().and_then(|record| text(record, "reason"));
        (refused.len() as u64, reason.map(str::to_owned))
    }

    /// Whether the call of this id ran, as its outcome record says.
    pub(crate) fn executed(&self, session: &str, call_id: &str) -> Option<bool> {
        let outcomes = self.0.iter().filter(|record| is(record, "kind", "outcome"));
        let mut of_call =
            outcomes.filter(|r| is(r, "session", session) && is(r, "call_id", call_id));
        of_call.next_back().and_then(|record| record.get("executed")).and_then(Json::as_bool)
    }
}

/// A text field of a record.
pub(crate) fn text<'a>(record: &'a Json, field: &str) -> Option<&'a str> {
    record.get(field).and_then(Json::as_str)
}

/// Whether a text field of a record has this value.
pub(crate) fn is(record: &Json, field: &str, value: &str) -> bool {
    text(record, field) == Some(value)
}

/// The entries of a record's trace.
pub(crate) fn votes(record: &Json) -> impl Iterator<Item = &Object> {
    record.get("votes").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_object)
}
