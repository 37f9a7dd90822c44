//! The page of measured numbers: one section a bench, with where and when it was measured.
//!
//! A section lies between two marker comments and is replaced as a whole, so that people may write
//! around it. The machine is described by its processors and system, never by the name of a host or
//! a person.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// The page before the first section.
pub(super) const EMPTY: &str = "\
# Performance

Measured by `cargo xtask bench --save`. Numbers of one section come from one run on one machine;
compare within a section, not across them.
";

/// The circumstances of one run.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    command: String,
    date: String,
    load: String,
    machine: String,
    rust: String,
}

impl Run {
    /// The circumstances now; `load` is that of before the run.
    pub(crate) fn of(cargo_arguments: &str, load: String) -> Run {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Run {
            command: format!("cargo {cargo_arguments}"),
            date: civil_date(seconds),
            load,
            machine: machine(),
            rust: first_line_of("rustc", &["--version"]),
        }
    }
}

/// The text of a section, markers included.
pub(super) fn section(name: &str, run: &Run, table: &str) -> String {
    let Run { command, date, load, machine, rust } = run;
    format!(
        "{}\n## {name}\n\n- command: `{command}`\n- date: {date}\n- load before the run: {load}\n\
         - machine: {machine}\n- compiler: {rust}\n\n```text\n{}\n```\n{}\n",
        begin(name),
        table.trim_end(),
        end(name)
    )
}

/// The page with a section replaced, or added at its end. The error is a reason for people: a page
/// with one marker and not the other is not guessed at.
pub(super) fn with_section(page: &str, name: &str, section: &str) -> Result<String, String> {
    let (begin, end) = (begin(name), end(name) + "\n");
    match (page.split_once(&begin), page.split_once(&end)) {
        (None, None) => Ok(format!("{}\n\n{section}", page.trim_end())),
        (Some((head, rest)), Some(_)) => match rest.split_once(&end) {
            Some((_, tail)) => Ok(format!("{head}{section}{tail}")),
            None => Err(format!("the markers of `{name}` stand in the wrong order")),
        },
        (Some(_), None) | (None, Some(_)) => Err(format!("one marker of `{name}` is missing")),
    }
}

fn begin(name: &str) -> String {
    format!("<!-- bench {name}: begin, written by cargo xtask bench --save -->")
}

fn end(name: &str) -> String {
    format!("<!-- bench {name}: end -->")
}

/// The load averages of the last 1, 5 and 15 minutes where the system tells them.
pub(crate) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let numbers: Vec<&str> = text.split_whitespace().take(3).collect();
    if numbers.is_empty() { "unknown".into() } else { numbers.join(" ") }
}

fn machine() -> String {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let (system, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{cpus} CPUs, {}, {system} {arch}", cpu_model())
}

fn cpu_model() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_string())
    });
    model.unwrap_or_else(|| first_line_of("sysctl", &["-n", "machdep.cpu.brand_string"]))
}

/// The first line that a program prints, or `unknown`.
fn first_line_of(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match text.unwrap_or_default().lines().next() {
        Some(line) if !line.trim().is_empty() => line.trim().to_string(),
        Some(_) | None => "unknown".into(),
    }
}

/// The UTC date of a time in seconds since 1970, as year-month-day. The count of days is turned into
/// a date by eras of 400 years that begin in March, so that the leap day is a year's last day (the
/// method of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn civil_date(seconds: u64) -> String {
    const DAYS_PER_ERA: u64 = 146_097;
    const DAYS_FROM_ERA_TO_1970: u64 = 719_468;
    let days = seconds / 86_400 + DAYS_FROM_ERA_TO_1970;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::{EMPTY, Run, civil_date, section, with_section};

    fn run(date: &str) -> Run {
        let text = |text: &str| text.to_string();
        Run {
            command: text("cargo bench"),
            date: text(date),
            load: text("0.1 0.2 0.3"),
            machine: text("2 CPUs"),
            rust: text("rustc 1"),
        }
    }

    #[test]
    fn a_section_is_replaced_and_what_people_wrote_stays() {
        let first = section("chain", &run("2026-01-01"), "a 1\n");
        let page = with_section(EMPTY, "chain", &first).unwrap() + "\nwritten by hand\n";
        let other = section("other", &run("2026-01-01"), "b 2\n");
        let page = with_section(&page, "other", &other).unwrap();
        let second = section("chain", &run("2026-02-02"), "a 3\n");
        let page = with_section(&page, "chain", &second).unwrap();
        assert!(page.contains("a 3") && page.contains("b 2") && page.contains("written by hand"));
        assert!(!page.contains("a 1"));
        assert_eq!(with_section(&page, "chain", &second).unwrap(), page);
    }

    #[test]
    fn a_page_with_half_a_section_is_not_guessed_at() {
        let whole = section("chain", &run("2026-01-01"), "a 1\n");
        let half = whole.replace(": end -->", "");
        assert!(with_section(&half, "chain", &whole).unwrap_err().contains("missing"));
    }

    #[test]
    fn a_section_says_where_the_numbers_come_from() {
        let text = section("chain", &run("2026-01-01"), "a 1\n");
        for part in ["cargo bench", "2026-01-01", "0.1 0.2 0.3", "2 CPUs", "rustc 1", "a 1"] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(civil_date(0), "1970-01-01");
        assert_eq!(civil_date(951_782_400), "2000-02-29");
        assert_eq!(civil_date(1_735_689_599), "2024-12-31");
        assert_eq!(civil_date(1_796_083_200), "2026-12-01");
        assert_eq!(civil_date(4_107_542_400), "2100-03-01");
    }
}
