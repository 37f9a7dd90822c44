//! The faces of a report: text with excerpt and caret for people, JSON for programs, SARIF 2.1.0 for
//! code hosts.
//!
//! Whatever is quoted is escaped (control, bidi and invisible characters), cut to a window around
//! the caret, and secrets in it are taken out.

use super::{Diagnostic, Report, Severity, Source};
use crate::limits::{DIAGNOSTICS_MAX, EXCERPT_CHARS_MAX};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tollgate_gate::text::shown;
use tollgate_gate::{BasicScrub, Scrub};

impl Report {
    /// The report for people; empty when there is nothing to say.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            self.write_text(&mut out, diagnostic);
            out.push('\n');
        }
        let counts = [(Severity::Error, "error"), (Severity::Warning, "warning")];
        let words: Vec<String> = counts
            .iter()
            .map(|(severity, word)| (self.count(*severity), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
            .collect();
        if !words.is_empty() {
            out.push_str(&words.join(", "));
            if self.diagnostics.len() >= DIAGNOSTICS_MAX {
                out.push_str("; there may be more, behind these");
            }
            out.push('\n');
        }
        out
    }

    fn write_text(&self, out: &mut String, diagnostic: &Diagnostic) {
        let Diagnostic { severity, code, message, remedy, .. } = diagnostic;
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "{severity}[{code}]: {}", shown(message, usize::MAX));
        if let Some((source, place)) =
            diagnostic.place.and_then(|place| Some((self.sources.get(place.source)?, place)))
        {
            let at = source.line_column(place.span.start);
            let name = shown(&source.name, EXCERPT_CHARS_MAX * 4);
            let number = at.line.to_string();
            let margin = " ".repeat(number.len());
            if source.quotable {
                let excerpt = Excerpt::of(source, place.span.start, place.span.end);
                let _ = writeln!(out, "{margin}--> {name}:{}:{}", at.line, at.column);
                let _ = writeln!(out, "{margin} |\n{number} | {}", excerpt.line);
                let (indent, carets) = (" ".repeat(excerpt.indent), "^".repeat(excerpt.carets));
                let _ = writeln!(out, "{margin} | {indent}{carets}");
            } else {
                let _ = writeln!(out, "{margin}--> {name}");
            }
        }
        if let Some(remedy) = remedy {
            for line in remedy.lines() {
                let _ = writeln!(out, "  = help: {}", shown(line, usize::MAX));
            }
        }
    }

    /// The report for programs: one object a problem.
    pub fn json(&self) -> Value {
        let problems: Vec<Value> = self
            .diagnostics
            .iter()
            .map(|diagnostic| {
                let mut out = json!({
                    "severity": diagnostic.severity,
                    "code": diagnostic.code,
                    "message": diagnostic.message,
                    "remedy": diagnostic.remedy,
                });
                if let Some(place) = diagnostic.place
                    && let Some(source) = self.sources.get(place.source)
                {
                    let (start, end) =
                        (source.line_column(place.span.start), source.line_column(place.span.end));
                    if let Some(object) = out.as_object_mut() {
                        object.insert("file".to_owned(), json!(source.name));
                        object.insert("line".to_owned(), json!(start.line));
                        object.insert("column".to_owned(), json!(start.column));
                        object.insert("end_line".to_owned(), json!(end.line));
                        object.insert("end_column".to_owned(), json!(end.column));
                    }
                }
                out
            })
            .collect();
        json!({
            "version": 1,
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
            "diagnostics": problems,
        })
    }

    /// The report as SARIF 2.1.0 (OASIS standard), for code hosts.
    pub fn sarif(&self) -> Value {
        let mut codes: Vec<&str> = self.diagnostics.iter().map(|d| d.code).collect();
        codes.sort_unstable();
        codes.dedup();
        let rules: Vec<Value> = codes.iter().map(|code| json!({ "id": code })).collect();
        let results: Vec<Value> = self.diagnostics.iter().map(|d| self.sarif_result(d)).collect();
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": { "name": "tollgate", "rules": rules } },
                "columnKind": "unicodeCodePoints",
                "results": results,
            }],
        })
    }

    fn sarif_result(&self, diagnostic: &Diagnostic) -> Value {
        let level = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let text = match &diagnostic.remedy {
            Some(remedy) => format!("{}; {remedy}", diagnostic.message),
            None => diagnostic.message.clone(),
        };
        let locations: Vec<Value> = diagnostic
            .place
            .and_then(|place| {
                let source = self.sources.get(place.source)?;
                let start = source.line_column(place.span.start);
                let end = source.line_column(place.span.end.max(place.span.start));
                Some(json!({ "physicalLocation": {
                    "artifactLocation": { "uri": source.name },
                    "region": {
                        "startLine": start.line,
                        "startColumn": start.column,
                        "endLine": end.line,
                        "endColumn": end.column,
                    },
                } }))
            })
            .into_iter()
            .collect();
        json!({
            "ruleId": diagnostic.code,
            "level": level,
            "message": { "text": text },
            "locations": locations,
        })
    }
}

/// A line as it is shown, and where the caret stands under it.
struct Excerpt {
    line: String,
    indent: usize,
    carets: usize,
}

impl Excerpt {
    fn of(source: &Source, start: usize, end: usize) -> Excerpt {
        let text = &source.text;
        let start = start.min(text.len());
        let line_start = text.get(..start).and_then(|t| t.rfind('\n')).map_or(0, |at| at + 1);
        let rest = text.get(line_start..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        if let Some(clean) = BasicScrub::new().scrub(None, line) {
            // Columns no longer hold; the line is shown without the secret and marked as a whole.
            let line = shown(clean.trim_end(), EXCERPT_CHARS_MAX).to_string();
            let indent = line.chars().take_while(|c| c.is_whitespace()).count();
            let carets = line.chars().count().saturating_sub(indent).max(1);
            return Excerpt { line, indent, carets };
        }
        let before = text.get(line_start..start).unwrap_or_default();
        let marked = text.get(start..end.clamp(start, line_start + line.len())).unwrap_or_default();
        let behind = line.get(before.len() + marked.len()..).unwrap_or_default();
        let width = |text: &str| shown(text, usize::MAX).to_string().chars().count();
        // A window that starts so far left that the caret is in it.
        let skip = width(before).saturating_sub(EXCERPT_CHARS_MAX / 2);
        let head: String = shown(before, usize::MAX).to_string().chars().skip(skip).collect();
        let marked = shown(marked, EXCERPT_CHARS_MAX / 2).to_string();
        let room = EXCERPT_CHARS_MAX.saturating_sub(head.chars().count() + marked.chars().count());
        let tail: String = shown(behind, usize::MAX).to_string().chars().take(room).collect();
        Excerpt {
            indent: head.chars().count(),
            carets: marked.chars().count().max(1),
            line: format!("{head}{marked}{tail}").trim_end().to_owned(),
        }
    }
}
