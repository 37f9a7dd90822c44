//! What was measured, as a table, and what each way adds to calling directly.

use std::fmt::Write as _;

const HEAD: &str = "way                                  echo  under way     p50 us     p99 us    calls/s  cpu us  memory MiB  start ms";

/// One cell, as it was printed.
struct Cell<'t> {
    /// `HOP: WHAT`.
    way: &'t str,
    size: &'t str,
    under_way: &'t str,
    p50_us: f64,
    p99_us: f64,
    /// Calls a second.
    rate: f64,
    /// Time of processors of the relay or proxy, a call.
    cpu_us: f64,
    /// The most memory that the relay or proxy took so far; zero where nothing stands between.
    memory_mib: f64,
    /// Until it had answered `initialize`.
    start_ms: f64,
}

impl<'t> Cell<'t> {
    fn read(line: &'t str) -> Option<Cell<'t>> {
        let mut parts = line.split('\t');
        let (way, size, under_way) = (parts.next()?, parts.next()?, parts.next()?);
        let mut number = || parts.next()?.parse().ok();
        Some(Cell {
            way,
            size,
            under_way,
            p50_us: number()?,
            p99_us: number()?,
            rate: number()?,
            cpu_us: number()?,
            memory_mib: number()?,
            start_ms: number()?,
        })
    }

    fn row(&self) -> String {
        let Cell { way, size, under_way, p50_us, p99_us, rate, cpu_us, memory_mib, start_ms } =
            self;
        format!(
            "{way:<34} {size:>6} {under_way:>10} {p50_us:>10.0} {p99_us:>10.0} {rate:>10.0} {cpu_us:>7.0} {memory_mib:>11.0} {start_ms:>9.0}"
        )
    }
}

/// The table of all cells; behind it what each way adds: to the p50 of one small call, and its rate of small
/// calls, 16 under way, both beside calling directly over the client's transport.
pub(super) fn text(cells: &str) -> String {
    let cells: Vec<Cell<'_>> = cells.lines().filter_map(Cell::read).collect();
    let mut text = format!("{HEAD}\n");
    for cell in &cells {
        let _ = writeln!(text, "{}", cell.row());
    }
    text.push_str("\nway                                 added p50 us (100 B, 1)   rate of direct (100 B, 16)\n");
    let small = |way: &str, under_way: &str| {
        cells.iter().find(|c| c.way == way && c.size == "100 B" && c.under_way == under_way)
    };
    for cell in cells.iter().filter(|cell| cell.size == "100 B" && cell.under_way == "1") {
        let direct = if cell.way.starts_with("stdio to stdio") {
            "stdio to stdio: direct"
        } else {
            "HTTP to HTTP: direct"
        };
        if cell.way == direct {
            continue;
        }
        let (Some(one), Some(many), Some(own)) =
            (small(direct, "1"), small(direct, "16"), small(cell.way, "16"))
        else {
            continue;
        };
        let (added, rate) = (cell.p50_us - one.p50_us, own.rate / many.rate);
        let _ = writeln!(text, "{:<34} {added:>24.0} {rate:>28.2}", cell.way);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn what_is_added_is_told_beside_calling_directly_over_the_same_transport() {
        let text = text(
            "stdio to stdio: direct\t100 B\t1\t20\t30\t1000\t0\t0\t1\n\
             stdio to stdio: direct\t100 B\t16\t30\t40\t4000\t0\t0\t1\n\
             stdio to stdio: passes\t100 B\t1\t70\t80\t500\t5\t9\t2\n\
             stdio to stdio: passes\t100 B\t16\t90\t99\t1000\t5\t9\t2\n",
        );
        assert!(text.lines().nth(3).unwrap().split_whitespace().eq([
            "stdio", "to", "stdio:", "passes", "100", "B", "1", "70", "80", "500", "5", "9", "2"
        ]));
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["stdio", "to", "stdio:", "passes", "50", "0.25"]);
    }
}
