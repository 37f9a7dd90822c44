//! What was measured, as rows, and what each way adds to calling directly.

use super::client::Measured;
use std::fmt::Write as _;
use std::time::Duration;

/// The head of the rows, with their units.
pub(super) const HEAD: &str = "way                                  echo  under way     p50 us     p99 us    calls/s  memory MiB  start ms";

/// One cell.
pub(super) struct Row {
    /// `HOP: WHAT`.
    pub(super) way: String,
    pub(super) size: &'static str,
    pub(super) concurrent: usize,
    pub(super) measured: Measured,
    /// The most memory that the relay or proxy took so far; none where nothing stands between.
    pub(super) memory_mib: Option<f64>,
    /// Until it had answered `initialize`.
    pub(super) start: Duration,
}

impl Row {
    pub(super) fn text(&self) -> String {
        let Measured { p50, p99, rate } = &self.measured;
        let memory = self.memory_mib.map_or_else(|| "-".to_owned(), |mib| format!("{mib:.0}"));
        format!(
            "{:<34} {:>6} {:>10} {:>10.0} {:>10.0} {rate:>10.0} {memory:>11} {:>9.0}",
            self.way,
            self.size,
            self.concurrent,
            us(*p50),
            us(*p99),
            self.start.as_secs_f64() * 1e3,
        )
    }

    fn is_cell(&self, size: &str, concurrent: usize) -> bool {
        self.size == size && self.concurrent == concurrent
    }
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// What each way adds: the p50 of one small call, and its rate of small calls, 16 under way, both beside
/// calling directly over the client's transport.
pub(super) fn text(rows: &[Row]) -> String {
    let mut text = String::from(
        "\nway                                 added p50 us (100 B, 1)   rate of direct (100 B, 16)\n",
    );
    let of = |way: &str, concurrent: usize| {
        rows.iter().find(|row| row.way == way && row.is_cell("100 B", concurrent))
    };
    for row in rows.iter().filter(|row| row.is_cell("100 B", 1)) {
        let direct = match row.way.split(':').next() {
            Some("stdio to stdio") => "stdio to stdio: direct",
            _ => "HTTP to HTTP: direct",
        };
        let (Some(one), Some(many), Some(own)) = (of(direct, 1), of(direct, 16), of(&row.way, 16))
        else {
            continue;
        };
        if row.way == direct {
            continue;
        }
        let added = us(row.measured.p50) - us(one.measured.p50);
        let rate = own.measured.rate / many.measured.rate;
        let _ = writeln!(text, "{:<34} {added:>24.0} {rate:>28.2}", row.way);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Row, text};
    use crate::bench_mcp::client::Measured;
    use std::time::Duration;

    fn row(way: &str, concurrent: usize, p50_us: u64, rate: f64) -> Row {
        let p50 = Duration::from_micros(p50_us);
        let measured = Measured { p50, p99: p50, rate };
        let (way, start) = (way.to_owned(), Duration::ZERO);
        Row { way, size: "100 B", concurrent, measured, memory_mib: None, start }
    }

    #[test]
    fn what_is_added_is_told_beside_calling_directly_over_the_same_transport() {
        let rows = [
            row("stdio to stdio: direct", 1, 20, 1000.0),
            row("stdio to stdio: direct", 16, 30, 4000.0),
            row("stdio to stdio: passes", 1, 70, 500.0),
            row("stdio to stdio: passes", 16, 90, 1000.0),
        ];
        let text = text(&rows);
        let lines: Vec<Vec<&str>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines, [["stdio", "to", "stdio:", "passes", "50", "0.25"]]);
    }
}
