//! `tollgate backtest`: captured events through a new policy, and what would change.
//!
//! Input is read line by line, however long it is. A line that is no event is counted and named, and
//! the report covers the others: the exit code says that it is not the whole.

use crate::args::{BacktestArguments, Format, Globals};
use crate::commands::check::counted;
use crate::desk::Desk;
use crate::exit::{Exit, Failure};
use crate::output::{answer, tell_people};
use crate::past::{name, open, read, read_anew, source, unread, unreadable};
use serde_json::json;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, IsTerminal as _, Read, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tollgate::gate::limits::JSON_BYTES_MAX;
use tollgate::gate::text::shown;
use tollgate::gate::{Json, Mode};
use tollgate::policy::backtest::{Backtest, BacktestReport, read_line};
use tollgate::policy::replay::rebuild;
use tollgate::policy::{Layer, LayerKind, Loaded};

/// Largest file of labels, in bytes.
const LABELS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most lines that are no events of which each is named.
const NAMED_MAX: usize = 5;

pub(crate) fn run(globals: &Globals, arguments: &BacktestArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let load = |path: &Path| -> Result<Loaded, Failure> {
        desk.load_layers(&[Layer::named(LayerKind::User, path)])
    };
    let new = load(&arguments.new)?;
    let old = arguments.old.as_deref().map(load).transpose()?;
    let mut test = Backtest::new(&new, old.as_ref()).map_err(Failure::internal)?;
    if let Some(labels) = &arguments.labels {
        test = test.with_labels(read_labels(labels)?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(Failure::internal)?;
    let mut replay = Replay { test, runtime, bad: 0, others: 0, progress: Progress::new() };
    match arguments.against.is_dir() {
        true => replay.ledger(&arguments.against)?,
        false => replay.lines(&arguments.against, &desk)?,
    }
    replay.progress.end();
    let Replay { test, bad, others, .. } = replay;
    let mut notes = Vec::new();
    match new.settings.mode {
        Mode::Enforce => {}
        Mode::DryRun => notes.push("the new policy is in mode `dry_run`: it refuses nothing"),
        Mode::Off => notes.push("the new policy is in mode `off`: it decides nothing"),
    }
    if arguments.against.is_dir() {
        notes.push("a ledger holds no results: what hooks learn from them is not known here");
    }
    let report = test.report();
    answer(&match arguments.format {
        Format::Text => text(&report, others, &notes),
        Format::Json => format!("{:#}\n", as_json(&report, bad, others, &notes)),
    })?;
    if bad == 0 {
        return Ok(Exit::Done);
    }
    Err(Failure::usage(
        format!(
            "{} without an event in {}; the report covers the others",
            counted(bad, "line"),
            name(&arguments.against)
        ),
        "`tollgate schema event` says what an event looks like",
    ))
}

struct Replay {
    test: Backtest,
    runtime: Runtime,
    /// Lines that hold no event.
    bad: usize,
    /// Records that are about something else.
    others: usize,
    progress: Progress,
}

impl Replay {
    fn ledger(&mut self, folder: &Path) -> Result<(), Failure> {
        let book = open(folder)?;
        let size = book.files().filter_map(|file| file.metadata().ok()).map(|m| m.len()).sum();
        let mut done = 0;
        for entry in book.entries() {
            let entry = entry.map_err(|error| unreadable(&error))?;
            done += entry.text.len() as u64 + 1;
            self.progress.show(done, size);
            if entry.line.json.get("kind").and_then(Json::as_str) != Some("decision") {
                self.others += 1;
                continue;
            }
            match rebuild(&entry.line.json) {
                Ok(mut rebuilt) => {
                    read_anew(&mut rebuilt);
                    self.runtime.block_on(self.test.take(rebuilt.into()));
                }
                Err(error) => self.is_bad(entry.line.seq, &error),
            }
        }
        Ok(())
    }

    fn lines(&mut self, path: &Path, desk: &Desk) -> Result<(), Failure> {
        let size = path.metadata().map_or(0, |found| found.len());
        let mut input = BufReader::with_capacity(64 * 1024, source(path)?);
        let (mut line, mut number, mut done) = (Vec::new(), 0, 0);
        let failed = |error: std::io::Error| unread(path, &error);
        loop {
            line.clear();
            let limit = JSON_BYTES_MAX as u64 + 1;
            let read = input.by_ref().take(limit).read_until(b'\n', &mut line).map_err(failed)?;
            if read == 0 {
                return Ok(());
            }
            number += 1;
            done += read as u64;
            if line.last() != Some(&b'\n') {
                done += input.skip_until(b'\n').map_err(failed)? as u64;
            }
            self.progress.show(done, size);
            if line.trim_ascii().is_empty() {
                continue;
            }
            match read_line(&line, desk.now()) {
                Ok(captured) => self.runtime.block_on(self.test.take(captured)),
                Err(error) => self.is_bad(number, &error),
            }
        }
    }

    fn is_bad(&mut self, number: u64, error: &dyn std::fmt::Display) {
        self.bad += 1;
        if self.bad <= NAMED_MAX {
            self.progress.end();
            tell_people(format_args!(
                "line {number} holds no event: {}",
                shown(&error.to_string(), 200)
            ));
        }
    }
}

/// How far it is, on standard error, when that is a terminal.
struct Progress {
    is_shown: bool,
    next: Instant,
    is_open: bool,
}

impl Progress {
    /// The pause between two looks.
    const PAUSE: Duration = Duration::from_millis(200);

    fn new() -> Progress {
        let is_shown = std::io::stderr().is_terminal();
        Progress { is_shown, next: Instant::now() + Progress::PAUSE, is_open: false }
    }

    fn show(&mut self, done: u64, size: u64) {
        if !self.is_shown || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + Progress::PAUSE;
        self.is_open = true;
        let megabytes = done / 1_000_000;
        // A pipe has no size.
        let line = match (done * 100).checked_div(size) {
            Some(percent) => format!("\r{:>3}%  {megabytes} MB", percent.min(100)),
            None => format!("\r{megabytes} MB"),
        };
        // Who closed standard error does not want to know.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// Makes room for other lines.
    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

/// By the event's id, whether it was harmful.
fn read_labels(path: &Path) -> Result<HashMap<String, bool>, Failure> {
    const REMEDY: &str = "a label is a line {\"id\": \"EVENT\", \"harmful\": true}";
    let text = read(path, LABELS_BYTES_MAX)?;
    if text.len() > LABELS_BYTES_MAX {
        let message = format!("{} is larger than {LABELS_BYTES_MAX} bytes", name(path));
        return Err(Failure::usage(message, "split it"));
    }
    let mut labels = HashMap::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let bad =
            |why: &str| Failure::usage(format!("{} line {}: {why}", name(path), at + 1), REMEDY);
        let label = Json::read(line).map_err(|error| bad(&error.to_string()))?;
        let id = label.get("id").and_then(Json::as_str).ok_or_else(|| bad("there is no `id`"))?;
        let harmful = match label.get("harmful") {
            Some(Json::Bool(harmful)) => *harmful,
            _ => return Err(bad("`harmful` is neither true nor false")),
        };
        if labels.insert(id.to_owned(), harmful).is_some() {
            return Err(bad(&format!("a second label of `{}`", shown(id, 100))));
        }
    }
    Ok(labels)
}

fn text(report: &BacktestReport, others: usize, notes: &[&str]) -> String {
    let mut out = report.text();
    if report.changes.is_empty() && report.events > 0 {
        out.push_str("nothing would change\n");
    }
    if others > 0 || !notes.is_empty() {
        out.push('\n');
    }
    if others > 0 {
        out.push_str(&format!("note: {} about something else\n", counted(others, "record")));
    }
    for note in notes {
        out.push_str(&format!("note: {note}\n"));
    }
    out
}

fn as_json(
    report: &BacktestReport,
    bad: usize,
    others: usize,
    notes: &[&str],
) -> serde_json::Value {
    let mut out = json!({ "version": 1 });
    let whole = serde_json::to_value(report).unwrap_or_default();
    if let (Some(out), serde_json::Value::Object(whole)) = (out.as_object_mut(), whole) {
        out.extend(whole);
        out.insert("not_events".to_owned(), bad.into());
        out.insert("other_records".to_owned(), others.into());
        out.insert("notes".to_owned(), notes.into());
        if let Some(hits) = report.hits {
            out.insert("hit_rate".to_owned(), hits.hit_rate().into());
            out.insert("false_positive_rate".to_owned(), hits.false_positive_rate().into());
        }
    }
    out
}
