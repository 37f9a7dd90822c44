//! Running policy tests, and what they show: a table, JUnit XML, and which hooks no test reaches.

use super::{Case, Expect, Step, Suite};
use crate::judged;
use crate::load::Loaded;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use tollgate_gate::glob::Glob;
use tollgate_gate::text::shown;
use tollgate_gate::{Decision, Gate, ManualClock};

/// What came of the tests of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuiteReport {
    /// The file.
    pub suite: String,
    /// What came of each test, in order.
    pub cases: Vec<CaseResult>,
    /// Which hooks they reach.
    pub coverage: Coverage,
}

/// What came of one test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// The line of its name.
    pub line: usize,
    /// Whether it passed.
    pub outcome: Outcome,
}

/// Whether a test passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "differences")]
pub enum Outcome {
    /// All was decided as expected.
    Passed,
    /// What differs, each with the line of its step.
    Failed(Vec<String>),
}

/// Which hooks tests reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Hooks that ran in some test.
    pub fired: Vec<String>,
    /// Enabled hooks that ran in none.
    pub never_fired: Vec<String>,
}

/// The policy's hooks cannot be built once more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this policy cannot be tested: {0}")]
pub struct SuiteError(String);

/// Runs the tests of a file against a policy.
///
/// # Errors
/// [`SuiteError`] when a gate cannot be built with the policy.
pub async fn run(suite: &Suite, loaded: &Loaded) -> Result<SuiteReport, SuiteError> {
    let mut fired = BTreeSet::new();
    let mut cases = Vec::with_capacity(suite.cases.len());
    for case in &suite.cases {
        cases.push(run_case(case, loaded, &mut fired).await?);
    }
    let hooks: Vec<_> = loaded.hooks().filter(|hook| hook.enabled).map(|hook| hook.name).collect();
    let never_fired = hooks.into_iter().filter(|name| !fired.contains(name)).collect();
    let coverage = Coverage { fired: fired.into_iter().collect(), never_fired };
    Ok(SuiteReport { suite: suite.name.clone(), cases, coverage })
}

async fn run_case(
    case: &Case,
    loaded: &Loaded,
    fired: &mut BTreeSet<String>,
) -> Result<CaseResult, SuiteError> {
    let clock = Arc::new(ManualClock::new(case.at));
    let ruleset = loaded.another_ruleset().map_err(SuiteError)?;
    let gate = Gate::builder(Arc::<ManualClock>::clone(&clock)).ruleset(ruleset).build();
    let gate = gate.map_err(|error| SuiteError(error.to_string()))?;
    let mut differences = Vec::new();
    for step in &case.steps {
        clock.advance(step.wait);
        let decision = gate.judge(step.event.clone()).await;
        fired.extend(decision.votes.iter().map(|cast| cast.hook.to_string()));
        compare(step, &decision, &mut differences);
    }
    let outcome =
        if differences.is_empty() { Outcome::Passed } else { Outcome::Failed(differences) };
    Ok(CaseResult { name: case.name.clone(), line: case.line, outcome })
}

fn compare(step: &Step, decision: &Decision, out: &mut Vec<String>) {
    let Expect { verdict, code, hook, reason, part, fired, not_fired, rewritten_by } = &step.expect;
    let mut differs = |what: &str, expected: &str, found: &str| {
        let (expected, found) = (shown(expected, 300), shown(found, 300));
        out.push(format!("line {}: {what}: expected {expected}, found {found}", step.line));
    };
    let judged = judged::verdict(decision);
    if let Some(verdict) = verdict.filter(|verdict| *verdict != judged) {
        let by = decision.hook.as_deref().map(|hook| format!(" by {hook}")).unwrap_or_default();
        differs("verdict", verdict.name(), &format!("{judged}{by}"));
    }
    let found_code = decision.code.as_ref().map(|code| code.as_str().to_owned());
    let texts = [("code", code, found_code.as_deref()), ("hook", hook, decision.hook.as_deref())];
    for (what, expected, found) in texts {
        if let Some(expected) = expected.as_deref().filter(|expected| Some(*expected) != found) {
            differs(what, expected, found.unwrap_or("none"));
        }
    }
    if let Some(reason) = reason {
        let found = decision.reason.as_deref().unwrap_or_default();
        let matches = Glob::text(reason).is_ok_and(|glob| glob.matches(found)) || reason == found;
        if !matches {
            differs("reason", reason, found);
        }
    }
    if let Some(part) = part {
        let found = decision.payload.part().unwrap_or_default();
        if found.canonical_text() != part.canonical_text() {
            differs("payload", &part.text(), &found.text());
        }
    }
    let ran = |name: &str| decision.votes.iter().any(|cast| &*cast.hook == name);
    for name in fired.iter().filter(|name| !ran(name)) {
        differs("fired", name, "not");
    }
    for name in not_fired.iter().filter(|name| ran(name)) {
        differs("not_fired", &format!("not {name}"), "fired");
    }
    if let Some(expected) = rewritten_by {
        let found: Vec<String> = decision.rewritten_by().map(ToString::to_string).collect();
        if *expected != found {
            differs("rewritten_by", &expected.join(", "), &found.join(", "));
        }
    }
}

impl SuiteReport {
    /// How many tests failed.
    pub fn failed(&self) -> usize {
        self.cases.iter().filter(|case| case.outcome != Outcome::Passed).count()
    }

    /// The results as a table for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail, here and below.
        for case in &self.cases {
            let name = shown(&case.name, 100);
            match &case.outcome {
                Outcome::Passed => {
                    let _ = writeln!(out, "  ok      {name}");
                }
                Outcome::Failed(differences) => {
                    let _ = writeln!(out, "  FAILED  {name}");
                    for difference in differences {
                        let _ = writeln!(out, "          {}: {difference}", self.suite);
                    }
                }
            }
        }
        let (all, failed) = (self.cases.len(), self.failed());
        let _ = writeln!(out, "{}: {} passed, {failed} failed", self.suite, all - failed);
        out
    }

    /// The coverage for people.
    pub fn coverage_text(&self) -> String {
        let Coverage { fired, never_fired } = &self.coverage;
        let mut out = format!(
            "{} of {} hooks fire in some test\n",
            fired.len(),
            fired.len() + never_fired.len()
        );
        for name in never_fired {
            let _ = writeln!(out, "  never   {}", shown(name, 100));
        }
        out
    }

    /// The results as JUnit XML.
    pub fn junit(&self) -> String {
        let (all, failed) = (self.cases.len(), self.failed());
        let suite = escape(&self.suite);
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            out,
            "<testsuites tests=\"{all}\" failures=\"{failed}\">\n<testsuite name=\"{suite}\" tests=\"{all}\" failures=\"{failed}\">"
        );
        for case in &self.cases {
            let name = escape(&case.name);
            let line = case.line;
            let _ = write!(
                out,
                "<testcase classname=\"{suite}\" name=\"{name}\" file=\"{suite}\" line=\"{line}\""
            );
            match &case.outcome {
                Outcome::Passed => out.push_str("/>\n"),
                Outcome::Failed(differences) => {
                    let text = escape(&differences.join("\n"));
                    let _ = writeln!(
                        out,
                        ">\n<failure message=\"not as expected\">{text}</failure>\n</testcase>"
                    );
                }
            }
        }
        out.push_str("</testsuite>\n</testsuites>\n");
        out
    }
}

/// Text as XML shows it; what XML cannot hold is shown escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
