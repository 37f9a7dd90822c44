//! The answer of a scan: for people, for programs, for code hosts. Written as it comes, so that its length
//! costs no memory.

use super::Totals;
use super::walk::Target;
use crate::args::ScanFormat;
use crate::commands::check::counted;
use crate::exit::Failure;
use crate::output::{Style, told};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use tollgate::detect::{Finding, Kind, Severity};
use tollgate::gate::text::shown;
use tollgate::policy;

/// Longest preview that is shown to people, in characters.
const PREVIEW_CHARS_MAX: usize = 60;

pub(crate) struct Report {
    format: ScanFormat,
    style: Style,
    /// The rules that found something, for SARIF.
    rules: BTreeMap<String, (Kind, Severity)>,
    first: bool,
}

/// A finding as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    start: usize,
    end: usize,
    line: usize,
    rule: &'a str,
    r#type: &'static str,
    severity: &'static str,
    score: f32,
    masked: &'a str,
}

impl Report {
    pub(crate) fn new(format: ScanFormat) -> Report {
        Report { format, style: Style::of_stdout(), rules: BTreeMap::new(), first: true }
    }

    /// Writes what stands before all findings; whether anybody reads.
    pub(crate) fn begin(&mut self) -> Result<bool, Failure> {
        match self.format {
            ScanFormat::Text | ScanFormat::Json => Ok(true),
            ScanFormat::Sarif => {
                let frame = policy::Report::default().sarif();
                let part = |place: &str| frame.pointer(place).cloned().unwrap_or_default();
                told(&format!(
                    "{{\"$schema\":{},\"version\":{},\"runs\":[{{\"columnKind\":{},\"results\":[",
                    part("/$schema"),
                    part("/version"),
                    part("/runs/0/columnKind"),
                ))
            }
        }
    }

    /// Writes findings; whether anybody still reads.
    pub(crate) fn findings(
        &mut self,
        target: &Target,
        findings: &[Finding],
    ) -> Result<bool, Failure> {
        let mut text = String::new();
        for finding in findings {
            match self.format {
                ScanFormat::Text => self.say(target, finding, &mut text),
                ScanFormat::Json => text.push_str(&json_line(target, finding)),
                ScanFormat::Sarif => {
                    let rule = finding.rule.as_str().to_owned();
                    self.rules.insert(rule, (finding.kind, finding.severity));
                    let comma = if std::mem::take(&mut self.first) { "" } else { "," };
                    let _ = write!(text, "{comma}\n{}", result(target, finding));
                }
            }
        }
        told(&text)
    }

    /// Writes what stands behind all findings.
    pub(crate) fn end(&self, totals: &Totals) -> Result<(), Failure> {
        let text = match self.format {
            ScanFormat::Text => summary(totals),
            ScanFormat::Json => return Ok(()),
            ScanFormat::Sarif => {
                let mut frame = policy::Report::default().sarif();
                let rules: Vec<Value> = self.rules.iter().map(|one| rule(one.0, *one.1)).collect();
                if let Some(slot) = frame.pointer_mut("/runs/0/tool/driver/rules") {
                    *slot = Value::Array(rules);
                }
                let tool = frame.pointer("/runs/0/tool").cloned().unwrap_or_default();
                format!("\n],\"tool\":{tool}}}]}}\n")
            }
        };
        told(&text).map(drop)
    }

    fn say(&self, target: &Target, finding: &Finding, out: &mut String) {
        let severity = format!("{:<8}", finding.severity.name());
        let severity = match finding.severity {
            Severity::Critical | Severity::High => self.style.red(&severity),
            Severity::Medium => self.style.bold(&severity),
            Severity::Low => self.style.dim(&severity),
        };
        let path = shown(&target.shown, usize::MAX).to_string();
        let _ = writeln!(
            out,
            "{}:{}: {severity} {}  {}  {:.2}",
            self.style.bold(&path),
            finding.line,
            shown(finding.rule.as_str(), usize::MAX),
            shown(&finding.masked, PREVIEW_CHARS_MAX),
            finding.score,
        );
    }
}

fn json_line(target: &Target, finding: &Finding) -> String {
    let line = Line {
        path: &target.shown,
        start: finding.start,
        end: finding.end,
        line: finding.line,
        rule: finding.rule.as_str(),
        r#type: finding.kind.name(),
        severity: finding.severity.name(),
        score: finding.score,
        masked: &finding.masked,
    };
    // Texts and numbers have a JSON form.
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    text.push('\n');
    text
}

/// A finding as a result of SARIF. A region holds a line: byte offsets beside it would have to mean the
/// same bytes, so they are properties.
fn result(target: &Target, finding: &Finding) -> Value {
    let level = match finding.severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    };
    json!({
        "ruleId": finding.rule.as_str(),
        "level": level,
        "message": { "text": format!("{}: {}", finding.kind, finding.masked) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": target.bare_path().map_or_else(|| "stdin".to_owned(), uri) },
            "region": { "startLine": finding.line },
        } }],
        "properties": {
            "start": finding.start,
            "end": finding.end,
            "type": finding.kind.name(),
            "severity": finding.severity.name(),
            "score": (f64::from(finding.score) * 100.0).round() / 100.0,
        },
    })
}

fn rule(id: &str, (kind, severity): (Kind, Severity)) -> Value {
    // Code hosts sort findings by this number.
    let severity = match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.0",
        Severity::Low => "2.0",
    };
    json!({
        "id": id,
        "properties": { "tags": ["security", kind.name()], "security-severity": severity },
    })
}

/// A path as a URI reference.
fn uri(path: &Path) -> String {
    let mut uri = String::from(if path.is_absolute() { "file://" } else { "" });
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

fn summary(totals: &Totals) -> String {
    let files = counted(totals.files as usize, "file");
    let mut text = match totals.findings {
        0 => format!("nothing found in {files}, {}", size(totals.bytes)),
        found => format!(
            "{} in {} of {files}, {}",
            counted(found as usize, "finding"),
            totals.files_with_findings,
            size(totals.bytes)
        ),
    };
    if totals.binary_files > 0 {
        let _ = write!(text, "; {} left out", counted(totals.binary_files as usize, "binary file"));
    }
    if totals.problems > 0 {
        let _ = write!(text, "; {} not looked at", counted(totals.problems as usize, "path"));
    }
    text.push('\n');
    text
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        1_000_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::{size, uri};
    use std::path::Path;

    #[test]
    fn a_path_is_a_uri_reference() {
        assert_eq!(uri(Path::new("a b/ü%.txt")), "a%20b/%C3%BC%25.txt");
        assert_eq!(uri(Path::new("/etc/x:y")), "file:///etc/x%3Ay");
    }

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!([size(999), size(1_500), size(2_000_000)], ["999 B", "1.5 kB", "2.0 MB"]);
    }
}
