//! Tables that fit the terminal: columns are as wide as what they hold, and where that is too much the
//! widest give way first. Into a pipe nothing is cut.

use crate::output::Style;
use std::fmt::Write as _;
use tollgate::gate::text::shown;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Between two columns.
const GAP: usize = 2;
/// Longest text of a cell that goes into a pipe, in characters.
const CELL_CHARS_MAX: usize = 400;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// It is not made narrower than this.
    pub(crate) least: usize,
    /// Numbers stand at the right.
    pub(crate) right: bool,
}

impl Column {
    pub(crate) const fn text(title: &'static str, least: usize) -> Column {
        Column { title, least, right: false }
    }

    pub(crate) const fn number(title: &'static str) -> Column {
        Column { title, least: usize::MAX, right: true }
    }
}

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Dim,
    Green,
    Red,
    Bold,
}

/// A cell: what it says, made fit for a terminal.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    look: Look,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>, look: Look) -> Cell {
        Cell { text: shown(text.as_ref(), CELL_CHARS_MAX).to_string(), look }
    }

    pub(crate) fn plain(text: impl AsRef<str>) -> Cell {
        Cell::new(text, Look::Plain)
    }
}

/// A table whose widths are set.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(Column, usize)>,
    /// Whether what is wider than its column is cut.
    cuts: bool,
    style: Style,
}

impl Table {
    /// Sets the widths by these rows, for a terminal of this width; nothing is cut without one.
    pub(crate) fn new(columns: &[Column], rows: &[Vec<Cell>], width: Option<usize>) -> Table {
        let widest = |at: usize, column: &Column| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
            cells.chain([column.title.width()]).max().unwrap_or_default()
        };
        let mut columns: Vec<(Column, usize)> =
            columns.iter().enumerate().map(|(at, column)| (*column, widest(at, column))).collect();
        let gaps = GAP * columns.len().saturating_sub(1);
        while let Some(width) = width
            && columns.iter().map(|(_, width)| width).sum::<usize>() + gaps > width
        {
            let spare = |(column, width): &(Column, usize)| width.saturating_sub(column.least);
            let Some(widest) = columns
                .iter_mut()
                .filter(|column| spare(column) > 0)
                .max_by_key(|(_, width)| *width)
            else {
                break;
            };
            widest.1 -= 1;
        }
        Table { columns, cuts: width.is_some(), style: Style::of_stdout() }
    }

    /// The line of titles.
    pub(crate) fn head(&self) -> String {
        let titles = self.columns.iter().map(|(column, _)| Cell::new(column.title, Look::Bold));
        self.row(&titles.collect::<Vec<_>>())
    }

    /// A row, with its newline.
    pub(crate) fn row(&self, cells: &[Cell]) -> String {
        let mut out = String::new();
        let last = self.columns.len().saturating_sub(1);
        for (at, ((column, width), cell)) in self.columns.iter().zip(cells).enumerate() {
            let text = if self.cuts { cut(&cell.text, *width) } else { cell.text.clone() };
            let pad = " ".repeat(width.saturating_sub(text.width()));
            let styled = match cell.look {
                Look::Plain => text.clone(),
                Look::Dim => self.style.dim(&text).to_string(),
                Look::Green => self.style.green(&text).to_string(),
                Look::Red => self.style.red(&text).to_string(),
                Look::Bold => self.style.bold(&text).to_string(),
            };
            // Writing to a string cannot fail.
            let _ = match (column.right, at == last) {
                (true, _) => write!(out, "{pad}{styled}"),
                (false, true) => write!(out, "{styled}"),
                (false, false) => write!(out, "{styled}{pad}"),
            };
            if at != last {
                out.push_str("  ");
            }
        }
        let mut out = out.trim_end().to_owned();
        out.push('\n');
        out
    }
}

/// A whole table.
pub(crate) fn table(columns: &[Column], rows: &[Vec<Cell>]) -> String {
    let table = Table::new(columns, rows, terminal_width());
    let mut out = table.head();
    rows.iter().for_each(|row| out.push_str(&table.row(row)));
    out
}

/// The columns of the terminal that standard output is; none if it is none.
pub(crate) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    // A terminal that does not know its size says 0.
    Some(match usize::from(size.ws_col) {
        0 => told().filter(|columns| *columns > 0).unwrap_or(80),
        columns => columns,
    })
}

/// A text in so many columns; what is missing shows.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        let wide = c.width().unwrap_or_default();
        if used + wide + 1 > width {
            break;
        }
        out.push(c);
        used += wide;
    }
    if width > 0 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Cell, Column, Table, cut};
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn a_table_is_never_wider_than_the_terminal_and_the_widest_column_gives_way() {
        let columns = [Column::text("NAME", 6), Column::text("WHAT", 8), Column::number("COUNT")];
        let rows = vec![
            vec![Cell::plain("short"), Cell::plain("x".repeat(200)), Cell::plain("12345")],
            vec![Cell::plain("表".repeat(40)), Cell::plain("y"), Cell::plain("1")],
        ];
        for width in [40, 80, 120] {
            let table = Table::new(&columns, &rows, Some(width));
            for row in &rows {
                assert!(table.row(row).trim_end().width() <= width, "{width}");
            }
            assert!(table.row(&rows[0]).contains("12345"), "numbers are never cut");
        }
        let whole = Table::new(&columns, &rows, None);
        assert!(whole.row(&rows[0]).contains(&"x".repeat(200)));
        let later = vec![Cell::plain("y".repeat(300)), Cell::plain(""), Cell::plain("")];
        assert!(whole.row(&later).contains(&"y".repeat(300)), "nothing is cut without a width");
    }

    #[test]
    fn a_cut_shows_and_never_halves_a_wide_character() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("表表表", 4), "表…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
