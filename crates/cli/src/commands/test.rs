//! `tollgate test`: policy tests, for people, programs and build servers.
//!
//! A file that cannot be run never hides what the others say: all of them are run, then the exit code
//! names the worst.

use crate::args::{Globals, TestArguments, TestFormat};
use crate::desk::{Desk, run as block_on, unloaded};
use crate::exit::{Exit, Failure};
use crate::output::{Style, answer, told};
use crate::past::{name, read};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tollgate::policy::limits::POLICY_BYTES_MAX;
use tollgate::policy::suite::{Coverage, Suite, SuiteReport, junit, run as run_suite};
use tollgate::policy::{Layer, LayerKind, Loaded};

/// How the name of a file of policy tests ends.
const ENDING: &str = ".tests.yaml";
/// How often the files are looked at with `--watch`.
const POLL: Duration = Duration::from_millis(500);

pub(crate) fn run(globals: &Globals, arguments: &TestArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    if !arguments.watch {
        let round = Round::run(&desk, globals, &suites(&arguments.files)?)?;
        answer(&round.written(arguments))?;
        return Ok(round.exit(arguments));
    }
    watch(&desk, globals, arguments)
}

/// Runs the tests again whenever what they depend on has changed, until nobody reads any more.
fn watch(desk: &Desk, globals: &Globals, arguments: &TestArguments) -> Result<Exit, Failure> {
    let mut files = suites(&arguments.files)?;
    let mut before: Option<Seen> = None;
    loop {
        // Looked at before the round: what changes while it runs starts the next one.
        let now = seen(globals, &files);
        if before.as_ref() != Some(&now) {
            if before.is_some() && arguments.format == TestFormat::Text {
                answer(&format!("\n{} changed\n\n", changed(before.as_ref(), &now)))?;
            }
            let round = Round::run(desk, globals, &files)?;
            if !told(&round.written(arguments))? {
                return Ok(round.exit(arguments));
            }
            before = Some(now);
        }
        std::thread::sleep(POLL);
        // Files come and go while they are being saved.
        if let Ok(found) = suites(&arguments.files) {
            files = found;
        }
    }
}

/// The files of tests that are meant.
fn suites(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let here = [PathBuf::from(".")];
    let mut out = Vec::new();
    for path in if named.is_empty() { &here } else { named } {
        if !path.is_dir() {
            out.push(path.clone());
            continue;
        }
        let unreadable = |error: std::io::Error| {
            Failure::usage(format!("{} cannot be read: {error}", name(path)), "name another folder")
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.file_name();
            if file.to_string_lossy().ends_with(ENDING) {
                found.push(if named.is_empty() { file.into() } else { path.join(file) });
            }
        }
        if found.is_empty() {
            return Err(Failure::usage(
                format!("there are no policy tests (`*{ENDING}`) in {}", name(path)),
                "write some beside the policy: `tollgate test --help` shows one",
            ));
        }
        found.sort();
        out.extend(found);
    }
    Ok(out)
}

/// The policies that a file of tests is about.
fn policies(globals: &Globals, file: &Path, suite: Option<&Suite>) -> Vec<PathBuf> {
    if !globals.policy.is_empty() {
        return globals.policy.clone();
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    if let Some(policy) = suite.and_then(|suite| suite.policy.as_deref()) {
        return vec![folder.join(policy)];
    }
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = file_name.strip_suffix(ENDING);
    stem.map(|stem| folder.join(format!("{stem}.yaml"))).into_iter().collect()
}

fn read_suite(file: &Path) -> Result<Suite, String> {
    let failed = |failure: Failure| failure.to_string();
    let text = read(file, POLICY_BYTES_MAX).map_err(failed)?;
    if text.len() > POLICY_BYTES_MAX {
        return Err(format!("error: {} is larger than {POLICY_BYTES_MAX} bytes", name(file)));
    }
    let text = String::from_utf8(text)
        .map_err(|_| format!("error: {} holds no policy tests: it is no text", name(file)))?;
    let suite = Suite::read(&file.display().to_string(), &text);
    suite.map_err(|report| report.text().trim_end().to_owned())
}

/// What came of all files.
#[derive(Default)]
struct Round {
    reports: Vec<SuiteReport>,
    /// Files that could not be run, and why.
    broken: Vec<(String, String)>,
    /// By policy, which hooks any test reaches.
    coverage: BTreeMap<String, Coverage>,
}

impl Round {
    fn run(desk: &Desk, globals: &Globals, files: &[PathBuf]) -> Result<Round, Failure> {
        let mut round = Round::default();
        for file in files {
            match round.one(desk, globals, file)? {
                Ok(()) => {}
                Err(why) => round.broken.push((file.display().to_string(), why)),
            }
        }
        Ok(round)
    }

    fn one(
        &mut self,
        desk: &Desk,
        globals: &Globals,
        file: &Path,
    ) -> Result<Result<(), String>, Failure> {
        let suite = match read_suite(file) {
            Ok(suite) => suite,
            Err(why) => return Ok(Err(why)),
        };
        let paths = policies(globals, file, Some(&suite));
        if paths.is_empty() {
            let why = format!(
                "error: {} names no policy\nremedy: write `policy: FILE` into it, or name one with \
                 --policy",
                name(file)
            );
            return Ok(Err(why));
        }
        let loaded = match load(desk, &paths) {
            Ok(loaded) => loaded,
            Err(failure) => return Ok(Err(failure.to_string())),
        };
        let report = block_on(run_suite(&suite, &loaded))?.map_err(Failure::internal)?;
        let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        self.coverage
            .entry(shown.join(" + "))
            .and_modify(|coverage| coverage.join(&report.coverage))
            .or_insert_with(|| report.coverage.clone());
        self.reports.push(report);
        Ok(Ok(()))
    }

    fn failed(&self) -> usize {
        self.reports.iter().map(SuiteReport::failed).sum()
    }

    fn exit(&self, arguments: &TestArguments) -> Exit {
        let uncovered = self.coverage.values().any(|coverage| !coverage.never_fired.is_empty());
        if !self.broken.is_empty() {
            Exit::Usage
        } else if self.failed() > 0 || (arguments.require_coverage && uncovered) {
            Exit::No
        } else {
            Exit::Done
        }
    }

    fn written(&self, arguments: &TestArguments) -> String {
        match arguments.format {
            TestFormat::Text => self.text(arguments.coverage || arguments.require_coverage),
            TestFormat::Json => format!("{:#}\n", self.json()),
            TestFormat::Junit => junit(&self.reports, &self.broken),
        }
    }

    fn text(&self, coverage: bool) -> String {
        let style = Style::of_stdout();
        let mut out = String::new();
        for report in &self.reports {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(out, "{}", style.bold(&report.suite));
            let text = report.text();
            for line in text.lines() {
                let _ = match line.starts_with("  FAILED") {
                    true => writeln!(out, "{}", style.red(line)),
                    false => writeln!(out, "{line}"),
                };
            }
            out.push('\n');
        }
        for (file, why) in &self.broken {
            let _ = writeln!(out, "{}\n{why}\n", style.bold(file));
        }
        if coverage {
            for (policy, coverage) in &self.coverage {
                let _ = writeln!(out, "{}: {}", style.bold(policy), coverage.text());
            }
        }
        let cases: usize = self.reports.iter().map(|report| report.cases.len()).sum();
        let failed = self.failed();
        let summary = format!("{} passed, {failed} failed", cases - failed);
        let broken = match self.broken.len() {
            0 => String::new(),
            1 => ", 1 file cannot be run".to_owned(),
            more => format!(", {more} files cannot be run"),
        };
        let summary = format!("{summary}{broken}");
        let summary = match failed + self.broken.len() {
            0 => style.green(&summary),
            _ => style.red(&summary),
        };
        let _ = writeln!(out, "{summary}");
        out
    }

    fn json(&self) -> serde_json::Value {
        let cases: usize = self.reports.iter().map(|report| report.cases.len()).sum();
        let broken = self.broken.iter().map(|(file, why)| json!({ "file": file, "error": why }));
        json!({
            "version": 1,
            "passed": cases - self.failed(),
            "failed": self.failed(),
            "suites": self.reports,
            "broken": broken.collect::<Vec<_>>(),
            "coverage": self.coverage,
        })
    }
}

fn load(desk: &Desk, paths: &[PathBuf]) -> Result<Loaded, Failure> {
    let layers: Vec<Layer> = paths.iter().map(|path| Layer::named(LayerKind::User, path)).collect();
    desk.places.load_layers(&layers, desk.now()).map_err(|error| unloaded(&error))
}

/// The bytes of every file that a round depends on; none for one that cannot be read.
type Seen = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn seen(globals: &Globals, files: &[PathBuf]) -> Seen {
    let mut out = Seen::new();
    let mut look = |path: PathBuf| {
        let bytes = read(&path, POLICY_BYTES_MAX).ok();
        out.insert(path, bytes);
    };
    for file in files {
        look(file.clone());
        let suite = read_suite(file).ok();
        for policy in policies(globals, file, suite.as_ref()) {
            for include in includes(&policy) {
                look(include);
            }
            look(policy);
        }
    }
    out
}

/// The files that a policy includes, as far as it can be loaded.
fn includes(policy: &Path) -> Vec<PathBuf> {
    let layers = [Layer::named(LayerKind::User, policy)];
    let options = tollgate::policy::LoadOptions::new(tollgate::gate::Timestamp::default());
    let statuses = match tollgate::policy::load(&layers, &options) {
        Ok(loaded) => loaded.layers,
        Err(failure) => failure.layers,
    };
    statuses.into_iter().flat_map(|status| status.includes).collect()
}

fn changed(before: Option<&Seen>, now: &Seen) -> String {
    let is_other = |(path, bytes): &(&PathBuf, &Option<Vec<u8>>)| {
        before.is_none_or(|before| before.get(*path) != Some(*bytes))
    };
    let names: Vec<String> =
        now.iter().filter(is_other).map(|(path, _)| path.display().to_string()).collect();
    if names.is_empty() { "a file".to_owned() } else { names.join(", ") }
}
