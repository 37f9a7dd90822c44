//! The ledger and the traces of a scene, read back from their files.

use crate::exit::Failure;
use std::path::Path;
use tollgate::gate::{Json, Object};
use tollgate::store::Book;

/// What a scene has left in its folder.
pub(crate) struct Records {
    /// All records of the ledger, in order.
    ledger: Vec<Json>,
    /// All lines of the agents' traces.
    traces: Vec<Json>,
}

impl Records {
    pub(crate) fn read(folder: &Path) -> Result<Records, Failure> {
        let book = Book::open(&folder.join("ledger")).map_err(Failure::internal)?;
        let mut records = Records { ledger: Vec::new(), traces: Vec::new() };
        for entry in book.entries() {
            let entry = entry.map_err(Failure::internal)?;
            records.ledger.push(Json::read(&entry.text).map_err(Failure::internal)?);
        }
        for file in std::fs::read_dir(folder).map_err(Failure::internal)? {
            let path = file.map_err(Failure::internal)?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(&path).map_err(Failure::internal)?;
                for line in text.lines() {
                    records.traces.push(Json::read(line.as_bytes()).map_err(Failure::internal)?);
                }
            }
        }
        Ok(records)
    }

    /// Records of this kind about this kind of event.
    pub(crate) fn of<'a>(
        &'a self,
        kind: &'a str,
        event: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a Json> {
        self.ledger
            .iter()
            .filter(move |record| is(record, "kind", kind) && is(record, "event", event))
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

    /// Whether the call of this id ran: as its outcome record says, or, where the gate was off and there
    /// is none, as the agent's own trace says.
    pub(crate) fn executed(&self, session: &str, call_id: &str) -> Option<bool> {
        let of_call = |line: &&Json| is(line, "session", session) && is(line, "call_id", call_id);
        let mut outcomes = self.ledger.iter().filter(|record| is(record, "kind", "outcome"));
        let mut traced = self.traces.iter().filter(|line| is(line, "event", "tool_call"));
        let said = outcomes.rfind(of_call).or_else(|| traced.rfind(of_call));
        said.and_then(|line| line.get("executed")).and_then(Json::as_bool)
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
