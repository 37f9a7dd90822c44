//! What is wrong with a policy: each problem with its place, a stable code and a way out.
//!
//! All problems of a load are gathered and reported in one run, so nobody mends a file one error at
//! a time. Spans are plain byte ranges; rendering (`render.rs`) is apart. A file that is not a policy
//! is never quoted: a mistyped path must not print what stands in it.

mod render;

use crate::limits::DIAGNOSTICS_MAX;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::OnceLock;

/// A range of bytes in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

impl Span {
    /// From `start` up to `end`.
    pub const fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }
}

/// Which source of a load: its place in [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct SourceId(pub usize);

/// A place in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Place {
    /// The source.
    pub source: SourceId,
    /// The bytes in it.
    pub span: Span,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The policy does not load.
    Error,
    /// It loads, and probably does not do what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable word for programs, such as `unknown-key`.
    pub code: &'static str,
    /// Where; `None` when the problem has no place in a text.
    pub place: Option<Place>,
    /// What is wrong: lower case, without full stop, user input in backticks.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Diagnostic {
    /// An error at this place.
    pub fn error(code: &'static str, place: Place, message: impl Into<String>) -> Diagnostic {
        let place = Some(place);
        let message = message.into();
        Diagnostic { severity: Severity::Error, code, place, message, remedy: None }
    }

    /// A warning at this place.
    pub fn warning(code: &'static str, place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, place, message) }
    }

    /// Sets what to do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Diagnostic {
        self.remedy = Some(remedy.into());
        self
    }

    /// Takes the place away: the problem belongs to no line.
    #[must_use]
    pub fn without_place(mut self) -> Diagnostic {
        self.place = None;
        self
    }
}

/// One text of a load.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The path as it is shown.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether lines of it may be shown: only once it is known to be a policy.
    pub quotable: bool,
    /// Where its lines start, once somebody asked.
    starts: OnceLock<Vec<usize>>,
}

/// The texts of a load.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a source that may not be quoted yet.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let (name, text) = (name.into(), text.into());
        self.0.push(Source { name, text, ..Source::default() });
        SourceId(self.0.len() - 1)
    }

    /// The source of this id.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.0.get(id.0)
    }

    /// Says that a source is a policy, so that its lines may be shown.
    pub(crate) fn allow_quotes(&mut self, id: SourceId) {
        if let Some(source) = self.0.get_mut(id.0) {
            source.quotable = true;
        }
    }

    /// All of them, in the order in which they were read.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }
}

/// A place as people count: line and column from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LineColumn {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Source {
    /// The line and column of a byte.
    pub fn line_column(&self, byte: usize) -> LineColumn {
        let byte = byte.min(self.text.len());
        let starts = self.starts.get_or_init(|| {
            let behind = self.text.match_indices('\n').map(|(at, _)| at + 1);
            std::iter::once(0).chain(behind).collect()
        });
        let line = starts.partition_point(|start| *start <= byte);
        let line_start = line.checked_sub(1).and_then(|at| starts.get(at)).copied().unwrap_or(0);
        let column = self.text.get(line_start..byte).unwrap_or_default().chars().count() + 1;
        LineColumn { line, column }
    }
}

/// The problems of a load, with the texts they are about.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The texts.
    pub sources: Sources,
    /// The problems.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Adds a problem, unless it is there already or there are too many. Its place is widened to
    /// whole characters, and narrowed to the text.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if let Some(place) = &mut diagnostic.place
            && let Some(source) = self.sources.get(place.source)
        {
            let start = source.text.floor_char_boundary(place.span.start);
            let end = source.text.ceil_char_boundary(place.span.end.max(start));
            place.span = Span::new(start, end);
        }
        if self.diagnostics.len() < DIAGNOSTICS_MAX && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether anything keeps the policy from loading.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// How many problems of this severity there are.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == severity).count()
    }

    /// Sorts by file, then place, then severity; problems without a place come first.
    pub fn sort(&mut self) {
        self.diagnostics.sort_by_key(|d| {
            (d.place.map(|place| (place.source, place.span.start)), d.severity, d.code)
        });
    }
}
