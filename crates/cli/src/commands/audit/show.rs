//! `tollgate audit show`: one record with its outcome, or a session as a timeline.

use super::list::{line, meant};
use super::row::{duration, moment, result, what};
use super::{Place, text};
use crate::args::ShowArguments;
use crate::desk::LINE_CHARS_MAX;
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use crate::table::{Cell, Column, Look, table};
use std::collections::HashMap;
use std::fmt::Write as _;
use tollgate::gate::Json;
use tollgate::gate::text::shown;
use tollgate::store::{Entry, Filter};

/// Most records of a session that are shown.
const RECORDS_MAX: usize = 10_000;
/// Longest value of a record that is shown, in characters.
const VALUE_CHARS_MAX: usize = 2_000;

pub(super) fn run(place: &Place, arguments: &ShowArguments) -> Result<Exit, Failure> {
    let found = match (&arguments.id, &arguments.session) {
        (Some(id), _) => meant(place, id, arguments.no_index)?.1,
        (None, None) => last(place, arguments.no_index)?,
        (None, session) => {
            let asked = session.as_deref();
            let session =
                asked.map(|asked| place.session(asked, arguments.no_index)).transpose()?;
            let filter = Filter { session, ..Filter::default() };
            let mut found = place.newest(&filter, RECORDS_MAX, arguments.no_index)?;
            found.reverse();
            found
        }
    };
    if found.is_empty() {
        let (what, name) = match (&arguments.id, &arguments.session) {
            (Some(id), _) => ("record", id.as_str()),
            (None, Some(session)) => ("session", session.as_str()),
            (None, None) => ("kind of record", "decision"),
        };
        let name = shown(name, LINE_CHARS_MAX);
        let folder = place.folder.display();
        return Err(Failure::usage(
            format!("there is no {what} `{name}` in `{folder}`"),
            "`tollgate audit list` shows what there is",
        ));
    }
    if arguments.json {
        answer(&found.iter().map(line).collect::<String>())?;
    } else if arguments.session.is_some() {
        answer(&timeline(&found))?;
    } else {
        let records: Vec<String> = found.iter().map(|entry| record(&entry.line.json)).collect();
        say(&records.join("\n"))?;
    }
    Ok(Exit::Done)
}

/// The last decision, with its outcome where there is one.
fn last(place: &Place, no_index: bool) -> Result<Vec<Entry>, Failure> {
    let filter = Filter { kind: Some("decision".to_owned()), ..Filter::default() };
    let found = place.newest(&filter, 1, no_index)?;
    match found.first().and_then(|entry| text(&entry.line.json, "id")) {
        Some(id) => Ok(meant(place, id, no_index)?.1),
        None => Ok(found),
    }
}

/// One record, member by member.
fn record(record: &Json) -> String {
    let mut out = String::new();
    let (ended, _) = result(record);
    let one = |key: &str| text(record, key).unwrap_or_default();
    let _ = writeln!(out, "{} {}  {}", one("kind"), one("id"), one("at"));
    let mut member = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name:<10} {}", shown(value, VALUE_CHARS_MAX));
        }
    };
    member("event", one("event"));
    member("result", [&ended, one("code")].join("  ").trim_end());
    member("hook", one("hook"));
    member("reason", one("reason"));
    member("error", one("error"));
    for key in ["user", "tenant", "agent", "host", "session", "parent", "root", "cwd"] {
        member(key, one(key));
    }
    for key in ["tool", "server", "model", "call_id", "approval", "decision"] {
        member(key, one(key));
    }
    for key in ["asked", "ran", "labels", "detail"] {
        member(key, &record.get(key).map(Json::text).unwrap_or_default());
    }
    for key in ["asked_digest", "ran_digest"] {
        member(key, one(key));
    }
    let number = |key: &str| record.get(key).and_then(Json::as_u64);
    for (name, key) in [("in hooks", "hook_us"), ("in call", "handler_us")] {
        member(name, &number(key).map(duration).unwrap_or_default());
    }
    if let (Some(read), Some(written)) = (number("tokens_in"), number("tokens_out")) {
        member("tokens", &format!("{read} in, {written} out"));
    }
    member("mode", one("mode"));
    member("policy", one("policy"));
    votes(record, &mut out);
    out
}

/// What each hook said.
fn votes(record: &Json, out: &mut String) {
    for vote in record.get("votes").and_then(Json::as_array).unwrap_or_default() {
        let one = |key: &str| vote.get(key).and_then(Json::as_str).unwrap_or_default();
        let is = |key: &str| matches!(vote.get(key), Some(Json::Bool(true)));
        let mut said = one("vote").to_owned();
        for (key, word) in [("rewrote", "rewrote"), ("dry_run", "(dry)")] {
            if is(key) {
                said = format!("{said} {word}");
            }
        }
        let said = if said.trim().is_empty() { "-" } else { said.trim() };
        let us = vote.get("us").and_then(Json::as_u64).map(duration).unwrap_or_default();
        let _ = write!(out, "  {:<10} {}: {said}, {us}", "vote", shown(one("hook"), 100));
        for (name, value) in [("reason", one("reason")), ("fault", one("fault"))] {
            if !value.is_empty() {
                let _ = write!(out, ", {name}: {}", shown(value, LINE_CHARS_MAX));
            }
        }
        if let Some(found) = vote.get("findings") {
            let _ = write!(out, ", found {}", shown(&found.text(), LINE_CHARS_MAX));
        }
        out.push('\n');
    }
}

/// The records of a session and of those that it started, by the time since its start.
fn timeline(found: &[Entry]) -> String {
    const COLUMNS: [Column; 4] = [
        Column::text("AFTER", 10),
        Column::text("WHAT", 20),
        Column::text("RESULT", 7),
        Column::text("WHY", 10),
    ];
    let start = found.first().and_then(|entry| moment(&entry.line.json));
    let depths = depths(found);
    let rows: Vec<Vec<Cell>> = found
        .iter()
        .map(|entry| {
            let record = &entry.line.json;
            let ms = match (start, moment(record)) {
                (Some(start), Some(at)) => at.millis().saturating_sub(start.millis()),
                (_, _) => 0,
            };
            let after = format!("+{}.{:03}s", ms / 1_000, ms % 1_000);
            let session = text(record, "session").unwrap_or_default();
            let depth = depths.get(session).copied().unwrap_or_default();
            let inner = if depth > 0 { format!("{session}: ") } else { String::new() };
            let what = format!("{}{inner}{}", "  ".repeat(depth), what(record));
            let (result, look) = result(record);
            let why = text(record, "reason").or(text(record, "error")).or(text(record, "hook"));
            vec![
                Cell::new(after, Look::Dim),
                Cell::plain(what),
                Cell::new(result, look),
                Cell::plain(why.unwrap_or_default()),
            ]
        })
        .collect();
    let first = found.first().map(|entry| &entry.line.json);
    let one = |key| first.and_then(|first| text(first, key)).unwrap_or("-");
    let head = Cell::plain(format!(
        "session {} of {} (agent {}, host {}), from {}",
        one("session"),
        one("user"),
        one("agent"),
        one("host"),
        one("at")
    ));
    let title = crate::table::Table::new(
        &[Column::text("", 20)],
        &[vec![head.clone()]],
        crate::table::terminal_width(),
    );
    format!("{}\n{}", title.row(&[head]), table(&COLUMNS, &rows))
}

/// How deep each session stands below the first one.
fn depths(found: &[Entry]) -> HashMap<&str, usize> {
    let mut depths: HashMap<&str, usize> = HashMap::new();
    for entry in found {
        let record = &entry.line.json;
        let Some(session) = text(record, "session") else { continue };
        if depths.contains_key(session) {
            continue;
        }
        let parent = text(record, "parent").and_then(|parent| depths.get(parent));
        depths.insert(session, parent.map_or(0, |depth| depth + 1));
    }
    depths
}
