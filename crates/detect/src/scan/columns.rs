//! Cells of tables, each read behind the name of its column.

use crate::ascii::cut_str;
use crate::columns::{Table, heads_column};
use crate::hit::Hit;
use crate::limits::DECODE_DEPTH_MAX;
use crate::scan::{Scanner, scan};

impl Scanner<'_> {
    /// Remembers a name that may be that of a column.
    pub(super) fn head(&mut self, text: &[u8], name: (usize, usize)) {
        if self.depth < DECODE_DEPTH_MAX && heads_column(text, name) {
            self.heads.push(name.0);
        }
    }

    /// Remembers where a statement about a table begins.
    pub(super) fn statement(&mut self, place: usize) {
        if self.depth < DECODE_DEPTH_MAX {
            self.heads.push(place);
        }
    }

    /// Reads the cells of tables, each behind the name of its column.
    pub(super) fn columns(&mut self, table: &mut Table) {
        let heads = std::mem::take(&mut self.heads);
        let mut rows = Vec::new();
        table.read(self.text, self.origin, &heads, &mut rows, |cell| {
            self.named(cell.head, cell.start, cell.end);
        });
        // What stands beside a name in a row of names is no value.
        let named = |hit: &Hit| rows.iter().any(|row| row.start <= hit.start && hit.end <= row.end);
        self.raw.hits.retain(|hit| hit.rank != 1 || !named(hit));
    }

    /// Reads a stretch as if a name stood before it.
    pub(super) fn named(&mut self, name: &str, start: usize, end: usize) {
        let lead = format!("{name}: ");
        let text = [&lead, cut_str(self.text, start, end)].concat();
        for hit in scan(self.detector, &text, 0, "", self.depth + 1).hits {
            if let Some((from, to)) =
                hit.start.checked_sub(lead.len()).zip(hit.end.checked_sub(lead.len()))
            {
                self.raw.hits.push(Hit { start: start + from, end: start + to, ..hit });
            }
        }
    }
}
