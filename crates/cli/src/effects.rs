//! What a call would do, as a small table: the effect, its target, and the piece of text it comes from.

use std::fmt::Write as _;
use tollgate::Row;
use tollgate::gate::Event;
use tollgate::gate::text::shown;
use tollgate::policy::ToolFacts;

/// Widest column of targets and pieces, in characters; what is longer is cut.
const CELL_CHARS_MAX: usize = 60;

/// What the event's call would do, if it has one.
pub(crate) fn rows(facts: &ToolFacts, event: &Event) -> Vec<Row> {
    let call = event.payload.tool_call();
    call.map(|call| tollgate::effects_of(facts, call, &event.session)).unwrap_or_default()
}

/// The table.
pub(crate) fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "nothing is seen that this call would do\n".to_owned();
    }
    let lines: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            let piece = row.piece.split_whitespace().collect::<Vec<_>>().join(" ");
            [row.effect.to_owned(), cell(&row.target), cell(&piece)]
        })
        .collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let (effect, target) = (width(0).max(6), width(1).max(6));
    let mut out = String::new();
    let heading = ["effect", "target", "from"].map(str::to_owned);
    for [a, b, c] in std::iter::once(&heading).chain(&lines) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {a:<effect$}  {b:<target$}  {c}");
    }
    out
}

fn cell(text: &str) -> String {
    shown(text, CELL_CHARS_MAX).to_string()
}
