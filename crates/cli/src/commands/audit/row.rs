//! A record as a row: when, who, what, how it ended, by whom.

use super::text;
use crate::table::{Cell, Column, Look};
use tollgate::gate::{Json, Timestamp};
use tollgate::store::Entry;
use tollgate::store::query::{is_unknown, uses};

/// The columns of lists of records.
pub(super) const COLUMNS: [Column; 7] = [
    Column::number("NO"),
    Column::text("TIME (UTC)", 14),
    Column::text("SESSION", 8),
    Column::text("USER", 6),
    Column::text("WHAT", 14),
    Column::text("RESULT", 7),
    Column::text("BY", 8),
];

/// The row of a record.
pub(super) fn row(entry: &Entry) -> Vec<Cell> {
    let record = &entry.line.json;
    let (result, look) = result(record);
    vec![
        Cell::new(entry.line.seq.to_string(), Look::Dim),
        Cell::new(when(record), Look::Dim),
        Cell::plain(text(record, "session").unwrap_or("-")),
        Cell::plain(text(record, "user").unwrap_or("-")),
        Cell::plain(what(record)),
        Cell::new(result, look),
        Cell::plain(by(record)),
    ]
}

/// Month, day and time.
fn when(record: &Json) -> String {
    let at = text(record, "at").unwrap_or_default();
    at.get(5..19).map_or_else(|| "?".to_owned(), |at| at.replacen('T', " ", 1))
}

/// When, to the millisecond.
pub(super) fn moment(record: &Json) -> Option<Timestamp> {
    tollgate::store::query::time_of(record)
}

/// What it is about: the call with its arguments, or the kind.
pub(super) fn what(record: &Json) -> String {
    let subject = text(record, "tool").or(text(record, "model"));
    match (text(record, "kind"), text(record, "event")) {
        (Some("decision"), event) => {
            let name = subject.or(event).unwrap_or("?");
            // A model's request is long and says little at its start.
            let asked = record.get("asked").filter(|_| text(record, "tool").is_some());
            asked.map_or_else(|| name.to_owned(), |asked| format!("{name} {}", asked.text()))
        }
        (Some("outcome"), _) => {
            let took = record.get("handler_us").and_then(Json::as_u64);
            let took = took.map_or_else(String::new, |us| format!(" ({})", duration(us)));
            format!("  -> {}{took}", subject.unwrap_or("?"))
        }
        (Some("switch"), _) => {
            let detail = |key| record.get("detail").and_then(|detail| detail.get(key)?.as_str());
            let what = detail("switch").unwrap_or_default();
            format!("switch: {what} {}", text(record, "hook").unwrap_or_default())
        }
        (Some(kind), _) => kind.to_owned(),
        (None, _) => "?".to_owned(),
    }
}

/// Microseconds as people read them.
pub(super) fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}

/// How it was decided, or how it ended.
pub(super) fn result(record: &Json) -> (String, Look) {
    if record.get("erased").is_some() {
        return ("erased".to_owned(), Look::Dim);
    }
    if text(record, "kind") == Some("outcome") {
        let is = |key| match record.get(key) {
            Some(Json::Bool(value)) => Some(*value),
            _ => None,
        };
        return match (is("executed"), is("ok")) {
            _ if is_unknown(record) => ("unknown".to_owned(), Look::Red),
            (Some(false), Some(true)) => ("answered".to_owned(), Look::Plain),
            (Some(false), _) => ("not run".to_owned(), Look::Dim),
            (_, Some(false)) => ("failed".to_owned(), Look::Red),
            (_, _) => ("ok".to_owned(), Look::Green),
        };
    }
    if let (Some("approval"), Some(state)) =
        (text(record, "kind"), record.get("detail").and_then(|detail| text(detail, "state")))
    {
        return (state.to_owned(), Look::Bold);
    }
    let Some(verdict) = text(record, "verdict") else { return ("-".to_owned(), Look::Dim) };
    if let Some(would) = text(record, "would").filter(|would| *would != verdict) {
        return (format!("{verdict} (dry: {would})"), Look::Bold);
    }
    let look = match verdict {
        "allow" => Look::Green,
        "deny" | "abort" => Look::Red,
        _ => Look::Bold,
    };
    (verdict.to_owned(), look)
}

/// Who decided; what would have; what failed.
fn by(record: &Json) -> String {
    let mut by: Vec<String> = Vec::new();
    match (text(record, "hook"), text(record, "code")) {
        (Some(hook), Some(code)) if code != "hook_denied" => by.push(format!("{hook} [{code}]")),
        (Some(hook), _) => by.push(hook.to_owned()),
        (None, Some(code)) => by.push(format!("[{code}]")),
        (None, None) => {}
    }
    let uses = uses(record);
    by.extend(uses.iter().filter(|seen| seen.would).map(|seen| format!("dry: {}", seen.hook)));
    by.extend(uses.iter().filter(|seen| seen.fault).map(|seen| format!("fault: {}", seen.hook)));
    if by.is_empty() && text(record, "verdict").is_some() {
        let rewrote = record.get("rewritten_by").and_then(Json::as_array).unwrap_or_default();
        by.extend(rewrote.iter().filter_map(Json::as_str).map(|hook| format!("rewrote: {hook}")));
    }
    by.join(", ")
}
