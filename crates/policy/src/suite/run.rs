//! Running policy tests, and what they show: a table, JUnit XML, and which hooks no test reaches.

use super::{Case, Expect, Step, Suite};
use crate::explain::{Explainer, Explanation, Fate};
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
    /// What differs.
    Failed(Vec<Difference>),
}

/// What differs from what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The line of the step.
    pub line: usize,
    /// What it is: `verdict`, `code`, `payload` and so on.
    pub what: &'static str,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Why, as far as a hook can say: `protect: no match: tool: write_file`.
    pub why: Vec<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Difference { line, what, expected, found, .. } = self;
        write!(f, "line {line}: {what}: expected {expected}, found {found}")
    }
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
    let mut failed = Vec::with_capacity(case.steps.len());
    for step in &case.steps {
        clock.advance(step.wait);
        let decision = gate.judge(step.event.clone()).await;
        fired.extend(decision.votes.iter().map(|cast| cast.hook.to_string()));
        failed.push(compare(step, &decision));
    }
    if failed.iter().any(|differences| !differences.is_empty()) {
        say_why(case, loaded, &mut failed).await?;
    }
    let differences: Vec<Difference> = failed.into_iter().flatten().collect();
    let outcome =
        if differences.is_empty() { Outcome::Passed } else { Outcome::Failed(differences) };
    Ok(CaseResult { name: case.name.clone(), line: case.line, outcome })
}

/// Goes through the steps of a failed test once more, in a gate whose hooks say why.
async fn say_why(
    case: &Case,
    loaded: &Loaded,
    failed: &mut [Vec<Difference>],
) -> Result<(), SuiteError> {
    let clock = Arc::new(ManualClock::new(case.at));
    let explainer = Explainer::new(loaded, clock.clone());
    let explainer = explainer.map_err(|error| SuiteError(error.to_string()))?;
    for (step, differences) in case.steps.iter().zip(failed) {
        clock.advance(step.wait);
        let explanation = explainer.explain(step.event.clone()).await;
        for difference in differences {
            difference.why = why(&step.expect, difference, &explanation);
        }
    }
    Ok(())
}

/// What the hooks have to say about a difference: the one that was expected, and the one that decided.
fn why(expect: &Expect, difference: &Difference, explanation: &Explanation) -> Vec<String> {
    let meant: Vec<&str> = match difference.what {
        FIRED | NOT_FIRED => vec![difference.expected.trim_start_matches(NOT)],
        REWRITTEN_BY => expect.rewritten_by.iter().flatten().map(String::as_str).collect(),
        PAYLOAD => explanation.decision.rewritten_by().map(|name| &**name).collect(),
        _ => {
            expect.hook.as_deref().into_iter().chain(explanation.decision.hook.as_deref()).collect()
        }
    };
    let said = |name: &&str| {
        let Some(hook) = explanation.hooks.iter().find(|hook| hook.hook.name == **name) else {
            return Some(format!("{}: there is no such hook", shown(name, 100)));
        };
        let words = shown(&hook.fate.words(), 300).to_string();
        Some(format!("{} ({}): {words}", shown(name, 100), shown(&hook.hook.at, 200)))
    };
    let mut out: Vec<String> = meant.iter().filter_map(said).collect();
    out.dedup();
    if out.is_empty() && difference.what != PAYLOAD {
        let kind = explanation.kind;
        out.push(format!("no hook judged it; these did not match at {kind}:"));
        let missed = explanation.hooks.iter().filter_map(|hook| match &hook.fate {
            Fate::NoMatch { key } => {
                Some(format!("  {}: {}", shown(&hook.hook.name, 100), shown(key, 200)))
            }
            Fate::OtherKind
            | Fate::Disabled
            | Fate::NotRolledOut
            | Fate::NotReached
            | Fate::Excepted
            | Fate::Ran { .. } => None,
        });
        out.extend(missed.take(MISSED_MAX));
        if out.len() == 1 {
            out = vec![format!("no hook judged it, and none concerns it at {kind}")];
        }
    }
    out
}

/// Most hooks that are named because they did not match.
const MISSED_MAX: usize = 10;
const FIRED: &str = "fired";
const NOT_FIRED: &str = "not_fired";
const REWRITTEN_BY: &str = "rewritten_by";
const PAYLOAD: &str = "payload";
/// What stands before a hook that must not have run.
const NOT: &str = "not ";

fn compare(step: &Step, decision: &Decision) -> Vec<Difference> {
    let Expect { verdict, code, hook, reason, part, fired, not_fired, rewritten_by } = &step.expect;
    let mut out = Vec::new();
    let mut differs = |what: &'static str, expected: &str, found: &str| {
        let (expected, found) = (shown(expected, 300).to_string(), shown(found, 300).to_string());
        out.push(Difference { line: step.line, what, expected, found, why: Vec::new() });
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
            differs(PAYLOAD, &part.text(), &found.text());
        }
    }
    let ran = |name: &str| decision.votes.iter().any(|cast| &*cast.hook == name);
    for name in fired.iter().filter(|name| !ran(name)) {
        differs(FIRED, name, "not fired");
    }
    for name in not_fired.iter().filter(|name| ran(name)) {
        differs(NOT_FIRED, &format!("{NOT}{name}"), "fired");
    }
    if let Some(expected) = rewritten_by {
        let found: Vec<String> = decision.rewritten_by().map(ToString::to_string).collect();
        if *expected != found {
            let or_none = |names: &[String]| match names {
                [] => "none".to_owned(),
                names => names.join(", "),
            };
            differs(REWRITTEN_BY, &or_none(expected), &or_none(&found));
        }
    }
    out
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
                        for why in &difference.why {
                            let _ = writeln!(out, "            {why}");
                        }
                    }
                }
            }
        }
        let (all, failed) = (self.cases.len(), self.failed());
        let _ = writeln!(out, "{}: {} passed, {failed} failed", self.suite, all - failed);
        out
    }

    /// The results as an element of JUnit's XML, below [`junit`]'s.
    fn junit_suite(&self) -> String {
        let (all, failed) = (self.cases.len(), self.failed());
        let suite = escape(&self.suite);
        let mut out =
            format!("<testsuite name=\"{suite}\" tests=\"{all}\" failures=\"{failed}\">\n");
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
                    let lines = differences.iter().flat_map(|difference| {
                        std::iter::once(difference.to_string()).chain(difference.why.clone())
                    });
                    let text = escape(&lines.collect::<Vec<_>>().join("\n"));
                    let _ = writeln!(
                        out,
                        ">\n<failure message=\"not as expected\">{text}</failure>\n</testcase>"
                    );
                }
            }
        }
        out.push_str("</testsuite>\n");
        out
    }
}

impl Coverage {
    /// Takes over what other tests of the same policy reach.
    pub fn join(&mut self, other: &Coverage) {
        let fired: BTreeSet<String> = self.fired.drain(..).chain(other.fired.clone()).collect();
        self.never_fired.retain(|name| !fired.contains(name));
        self.fired = fired.into_iter().collect();
    }

    /// The coverage for people.
    pub fn text(&self) -> String {
        let Coverage { fired, never_fired } = self;
        let all = fired.len() + never_fired.len();
        let mut out = format!("{} of {all} hooks fire in some test\n", fired.len());
        for name in never_fired {
            let _ = writeln!(out, "  never   {}", shown(name, 100));
        }
        out
    }
}

/// The results of several files as one document of JUnit's XML. A file that could not be run counts as
/// one error: its name and what is wrong with it.
pub fn junit(reports: &[SuiteReport], broken: &[(String, String)]) -> String {
    let tests: usize =
        reports.iter().map(|report| report.cases.len()).sum::<usize>() + broken.len();
    let failed: usize = reports.iter().map(SuiteReport::failed).sum();
    let errors = broken.len();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ =
        writeln!(out, "<testsuites tests=\"{tests}\" failures=\"{failed}\" errors=\"{errors}\">");
    for report in reports {
        out.push_str(&report.junit_suite());
    }
    for (name, text) in broken {
        let (name, text) = (escape(name), escape(text));
        let _ = writeln!(
            out,
            "<testsuite name=\"{name}\" tests=\"1\" failures=\"0\" errors=\"1\">\n<testcase classname=\"{name}\" name=\"the file can be run\">\n<error message=\"cannot be run\">{text}</error>\n</testcase>\n</testsuite>"
        );
    }
    out.push_str("</testsuites>\n");
    out
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
