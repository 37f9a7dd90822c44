//! What a call would do, as a small table: the effect, its target, and the piece of text it comes from.

use crate::table::{Cell, Column, Table, terminal_width};
use std::fmt::Write as _;
use tollgate::Row;
use tollgate::gate::Event;
use tollgate::gate::text::shown;
use tollgate::policy::ToolFacts;

/// Widest column of targets and pieces, in characters; what is longer is cut.
const CELL_CHARS_MAX: usize = 60;

const INDENT: &str = "  ";

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
    let columns =
        [Column::text("effect", usize::MAX), Column::text("target", 12), Column::text("from", 12)];
    let lines: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| {
            let piece = row.piece.split_whitespace().collect::<Vec<_>>().join(" ");
            [row.effect.to_owned(), cell(&row.target), cell(&piece)].map(Cell::plain).into()
        })
        .collect();
    // Into a pipe nothing is cut but what is long; a terminal gets lines that fit.
    let width = terminal_width().map(|width| width.saturating_sub(INDENT.len()));
    let table = Table::new(&columns, &lines, width);
    let mut out = format!("{INDENT}{}", table.head());
    for line in &lines {
        let _ = write!(out, "{INDENT}{}", table.row(line));
    }
    out
}

fn cell(text: &str) -> String {
    shown(text, CELL_CHARS_MAX).to_string()
}
