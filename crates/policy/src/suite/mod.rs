//! Policy tests: events, and what a policy must decide about them, in YAML beside the policy.
//!
//! Each test has a gate of its own with fresh state and a clock that stands still, so tests do not
//! depend on each other or on the day. A step is an event; its short form names a tool and its
//! arguments. What is not said in `expect` is not checked.
//!
//! ```yaml
//! version: 1
//! tests:
//!   - name: test files are protected
//!     steps:
//!       - tool: write_file
//!         args: { path: pkg/test_a.py }
//!         expect: { verdict: deny, hook: protect-tests }
//! ```

mod read;
mod run;

pub use run::{CaseResult, Coverage, Difference, Outcome, SuiteError, SuiteReport, junit, run};

use crate::diagnostic::{Report, SourceId};
use std::time::Duration;
use tollgate_gate::{Event, Json, Timestamp, Verdict};

/// Policy tests of one file.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The file.
    pub name: String,
    /// The policy that it tests, relative to its own folder; `None`: the caller knows.
    pub policy: Option<String>,
    /// The tests.
    pub cases: Vec<Case>,
}

/// One test.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The line of its name.
    pub line: usize,
    /// The moment at which it takes place.
    pub at: Timestamp,
    /// Its events, in order.
    pub steps: Vec<Step>,
}

/// An event and what is expected of it.
#[derive(Debug, Clone)]
pub struct Step {
    /// The line at which it starts.
    pub line: usize,
    /// The time that passes before it.
    pub wait: Duration,
    /// The event.
    pub event: Event,
    /// What must be decided.
    pub expect: Expect,
}

/// What must be decided; what is `None` is not checked.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// The code of a refusal.
    pub code: Option<String>,
    /// The deciding hook.
    pub hook: Option<String>,
    /// A glob of the reason.
    pub reason: Option<String>,
    /// The part of the payload as it goes on: arguments, content, request.
    pub part: Option<Json>,
    /// Hooks that must have run.
    pub fired: Vec<String>,
    /// Hooks that must not have run.
    pub not_fired: Vec<String>,
    /// Hooks that rewrote, in order.
    pub rewritten_by: Option<Vec<String>>,
}

impl Suite {
    /// Reads a file of policy tests.
    ///
    /// # Errors
    /// The report of everything that is wrong with it.
    pub fn read(name: &str, text: &str) -> Result<Suite, Report> {
        let mut report = Report::default();
        let source: SourceId = report.sources.add(name, text);
        let suite = read::suite(name, text, source, &mut report);
        report.sort();
        match suite {
            Some(suite) if !report.has_errors() => Ok(suite),
            _ => Err(report),
        }
    }
}
