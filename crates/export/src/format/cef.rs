//! CEF: `CEF:0|vendor|product|version|id|name|severity|key=value ...`.
//!
//! In the header `\` and `|` are escaped, in the extension `\`, `=` and line breaks; a header has no
//! line breaks. Keys are those of the CEF dictionary; what has none is in the labelled custom fields.

use super::content_text;
use super::told::{Disposition, Severity, Told};
use crate::limits::CEF_CONTENT_BYTES_MAX;
use std::fmt::Write as _;
use tollgate_gate::text::{cut, is_deceptive};

pub(super) fn line(told: &Told<'_>) -> String {
    let mut out = String::from("CEF:0");
    let id = match told.word("verdict") {
        "" => told.word("kind").to_owned(),
        verdict => format!("{}.{verdict}", told.word("kind")),
    };
    let name = match told.called() {
        Some(called) => format!("{} {called}", told.subject()),
        None => told.subject().to_owned(),
    };
    let header = ["Tollgate", "Tollgate", env!("CARGO_PKG_VERSION"), &id, &name];
    for part in header {
        out.push('|');
        header_text(&mut out, part);
    }
    // Writing to a string cannot fail.
    let _ = write!(out, "|{}|", severity(told.severity()));
    extension(&mut out, told);
    out
}

const fn severity(severity: Severity) -> u8 {
    match severity {
        Severity::Informational => 1,
        Severity::Low => 3,
        Severity::Medium => 5,
        Severity::High => 8,
        Severity::Critical => 10,
    }
}

fn extension(out: &mut String, told: &Told<'_>) {
    let is_of_event = told.is_of_event();
    let outcome = match told.get("ok").and_then(tollgate_gate::Json::as_bool) {
        Some(true) => Some("success"),
        Some(false) => Some("failure"),
        None => None,
    };
    let arguments = told.arguments().or_else(|| told.get("detail")).map(content_text);
    let arguments = arguments.map(|text| cut(&text, CEF_CONTENT_BYTES_MAX).into_owned());
    let fields = [
        ("rt", None, Some(told.at().millis().to_string())),
        ("externalId", None, told.text("id")),
        ("cat", None, Some(told.subject().to_owned())),
        ("act", None, is_of_event.then(|| action(told.disposition()).to_owned())),
        ("outcome", None, outcome.map(str::to_owned)),
        ("reason", None, told.text("code")),
        ("msg", None, message(told)),
        ("suser", None, told.text("user")),
        ("app", None, told.text("server")),
        ("sourceServiceName", None, told.text("host")),
        ("cs1", Some("session"), told.text("session")),
        ("cs2", Some("hook"), told.text("hook")),
        ("cs3", Some("policy"), told.text("policy")),
        ("cs4", Some("tool or model"), told.called()),
        ("cs5", Some("tenant"), told.text("tenant")),
        ("cs6", Some("agent"), told.text("agent")),
        ("cn1", Some("ledger number"), Some(told.seq.to_string())),
        ("cn2", Some("hook time us"), told.number("hook_us").map(|us| us.to_string())),
        ("flexString1", Some("arguments"), arguments),
        ("flexString2", Some("ledger line sha256"), Some(told.line.to_string())),
    ];
    let mut is_first = true;
    for (key, label, value) in fields {
        let Some(value) = value else { continue };
        for (key, value) in [(key.to_owned(), Some(value.as_str())), (format!("{key}Label"), label)]
        {
            let Some(value) = value else { continue };
            if !std::mem::take(&mut is_first) {
                out.push(' ');
            }
            out.push_str(&key);
            out.push('=');
            extension_text(out, value);
        }
    }
}

fn message(told: &Told<'_>) -> Option<String> {
    let erased = || told.is_erased().then(|| "the record was erased".to_owned());
    told.text("reason").or_else(|| told.text("error")).or_else(erased)
}

const fn action(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Allowed => "allowed",
        Disposition::Approved => "approved",
        Disposition::Corrected => "corrected",
        Disposition::Logged => "logged",
        Disposition::Answered => "answered",
        Disposition::Asked => "challenged",
        Disposition::Blocked => "blocked",
        Disposition::Rejected => "rejected",
        Disposition::Unauthorized => "unauthorized",
        Disposition::Failed => "error",
    }
}

fn header_text(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str(r"\\"),
            '|' => out.push_str(r"\|"),
            '\n' | '\r' => out.push(' '),
            c => push(out, c),
        }
    }
}

fn extension_text(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str(r"\\"),
            '=' => out.push_str(r"\="),
            '\n' => out.push_str(r"\n"),
            '\r' => out.push_str(r"\r"),
            c => push(out, c),
        }
    }
}

/// A character that could hide or reorder text is named, its backslash escaped.
fn push(out: &mut String, c: char) {
    if is_deceptive(c) {
        // Writing to a string cannot fail.
        let _ = write!(out, r"\\u{{{:x}}}", u32::from(c));
    } else {
        out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::{extension_text, header_text};

    fn both(text: &str) -> (String, String) {
        let (mut header, mut extension) = (String::new(), String::new());
        header_text(&mut header, text);
        extension_text(&mut extension, text);
        (header, extension)
    }

    #[test]
    fn nothing_in_a_text_ends_its_field_or_starts_another() {
        let (header, extension) = both("a|b\\c=d\r\ne");
        assert_eq!(header, r"a\|b\\c=d  e");
        assert_eq!(extension, r"a|b\\c\=d\r\ne");
        let (header, extension) = both("x\u{202e}\0");
        assert_eq!(
            (header.as_str(), extension.as_str()),
            (r"x\\u{202e}\\u{0}", r"x\\u{202e}\\u{0}")
        );
    }
}
