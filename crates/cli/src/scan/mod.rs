//! `tollgate scan`: the detector over files, folders and standard input.
//!
//! The walk lists the files (`walk`), threads look at them (`work`), and this file takes what they find in
//! the order of the list, so that the answer does not depend on who was quicker. Memory is bounded: a file is
//! read whole up to a cap and as a stream above it, and a thread that is ahead waits.

mod progress;
mod report;
mod walk;
pub(crate) mod wide;
mod work;

use crate::args::{Globals, ScanArguments};
use crate::exit::{Exit, Failure};
use crate::looking::detectors;
use crate::output::tell_people;
use progress::Progress;
use report::Report;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tollgate::gate::text::shown;
use walk::Target;
use work::{Crew, Heard};

/// How many files may be in work or wait for their turn to be told.
const AHEAD_FILES_MAX: usize = 64;
/// How often the progress is drawn while nothing is heard.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// What a scan came to.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) findings: u64,
    pub(crate) files_with_findings: u64,
    pub(crate) binary_files: u64,
    /// Paths that could not be looked at, or not wholly.
    pub(crate) problems: u64,
}

pub(crate) fn run(globals: &Globals, arguments: &ScanArguments) -> Result<Exit, Failure> {
    let detectors: Arc<[_]> = detectors(globals, &arguments.what)?.into();
    let mut progress = Progress::of_stderr();
    let mut totals = Totals::default();
    let targets = walk::targets(&arguments.paths, arguments.no_ignore, |listed| match listed {
        Ok(count) => progress.listing(count),
        Err(problem) => complain(&mut progress, &mut totals, &problem),
    });
    progress.expect(targets.len(), targets.iter().map(|target| target.bytes).sum());
    let mut report = Report::new(arguments.format);
    let mut wanted = report.begin()?;
    let threads = arguments
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    std::thread::scope(|scope| -> Result<(), Failure> {
        let mut crew = Crew::start(scope, &detectors, threads.min(targets.len()));
        let mut waiting = VecDeque::with_capacity(AHEAD_FILES_MAX);
        let mut ahead = targets.iter();
        while wanted {
            while waiting.len() < AHEAD_FILES_MAX
                && let Some(target) = ahead.next()
            {
                waiting.push_back((target, crew.look_at(target)));
            }
            let Some((target, heard)) = waiting.pop_front() else { break };
            wanted = tell(target, &heard, &mut report, &mut progress, &mut totals)?;
        }
        Ok(())
    })?;
    progress.clear();
    report.end(&totals)?;
    Ok(match (totals.problems, totals.findings) {
        (1.., _) => Exit::Usage,
        (0, 1..) => Exit::No,
        (0, 0) => Exit::Done,
    })
}

/// Tells all about one file; whether anybody still reads.
fn tell(
    target: &Target,
    heard: &Receiver<Heard>,
    report: &mut Report,
    progress: &mut Progress,
    totals: &mut Totals,
) -> Result<bool, Failure> {
    let before = totals.findings;
    loop {
        match heard.recv_timeout(DRAW_EVERY) {
            Ok(Heard::Findings(findings)) => {
                totals.findings += findings.len() as u64;
                progress.clear();
                if !report.findings(target, &findings)? {
                    return Ok(false);
                }
            }
            Ok(Heard::Going { bytes }) => progress.going(bytes),
            Ok(Heard::Read { bytes }) => {
                progress.going(0);
                totals.bytes += bytes;
                totals.files += 1;
            }
            Ok(Heard::Binary) => totals.binary_files += 1,
            Ok(Heard::Problem(problem)) => {
                let problem = format!("{}: {problem}", target.shown);
                complain(progress, totals, &problem);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        progress.draw(totals);
    }
    totals.files_with_findings += u64::from(totals.findings > before);
    progress.done(target.bytes);
    progress.draw(totals);
    Ok(true)
}

fn complain(progress: &mut Progress, totals: &mut Totals, problem: &str) {
    progress.clear();
    totals.problems += 1;
    tell_people(format_args!("error: {}", shown(problem, usize::MAX)));
}
