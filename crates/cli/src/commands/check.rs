//! `tollgate check`: all that is wrong with policies, in one run, for people, programs and code hosts.

use crate::args::{CheckArguments, CheckAs, CheckFormat, Globals};
use crate::desk::{Desk, misplaced, unloaded};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tollgate::PlacesLoadError;
use tollgate::policy::{Layer, LayerKind, Origin, Report, Severity};

/// What was found in one policy.
struct Checked {
    name: String,
    report: Report,
    hooks: usize,
}

pub(crate) fn run(globals: &Globals, arguments: &CheckArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let kind = match arguments.kind {
        CheckAs::Managed => LayerKind::Managed,
        CheckAs::User => LayerKind::User,
        CheckAs::Project => LayerKind::Project,
    };
    let mut checked = Vec::new();
    if arguments.files.is_empty() {
        let mut layers = desk.places.layers().map_err(|error| misplaced(&error))?;
        // What is not trusted yet is checked before it is.
        for layer in &mut layers {
            if std::fs::symlink_metadata(&layer.path).is_ok_and(|found| found.is_file()) {
                layer.origin = Origin::Named;
            }
        }
        let name = match layers.as_slice() {
            [one] => one.path.display().to_string(),
            several => format!("{} policies", several.len()),
        };
        checked.push(check(&desk, name, &layers)?);
    }
    for file in &arguments.files {
        let layers = [Layer::named(kind, file)];
        checked.push(check(&desk, file.display().to_string(), &layers)?);
    }
    match arguments.format {
        CheckFormat::Text => say(&text(&checked))?,
        CheckFormat::Json => answer(&format!("{:#}\n", merged_json(&checked)))?,
        CheckFormat::Sarif => answer(&format!("{:#}\n", merged_sarif(&checked)))?,
    }
    Ok(if total(&checked, Severity::Error) > 0 {
        Exit::Usage
    } else if arguments.strict && total(&checked, Severity::Warning) > 0 {
        Exit::No
    } else {
        Exit::Done
    })
}

fn check(desk: &Desk, name: String, layers: &[Layer]) -> Result<Checked, Failure> {
    match desk.places.load_layers(layers, desk.now()) {
        Ok(loaded) => Ok(Checked { name, hooks: loaded.hooks().count(), report: loaded.report }),
        Err(PlacesLoadError::Policy(failure)) => {
            Ok(Checked { name, hooks: 0, report: failure.report })
        }
        Err(error) => Err(unloaded(&error)),
    }
}

fn total(checked: &[Checked], severity: Severity) -> usize {
    checked.iter().map(|one| one.report.count(severity)).sum()
}

fn text(checked: &[Checked]) -> String {
    let mut out = String::new();
    for one in checked {
        if !one.report.diagnostics.is_empty() {
            let _ = writeln!(out, "{}\n", one.report.text().trim_end());
        }
    }
    // The report of a single policy counts for itself.
    for one in checked.iter().filter(|one| checked.len() > 1 || one.report.diagnostics.is_empty()) {
        let (errors, warnings) =
            (one.report.count(Severity::Error), one.report.count(Severity::Warning));
        let _ = match (errors, warnings) {
            (0, 0) => writeln!(out, "{}: no problems, {}", one.name, counted(one.hooks, "hook")),
            (0, _) => writeln!(
                out,
                "{}: {}, {}",
                one.name,
                counted(warnings, "warning"),
                counted(one.hooks, "hook")
            ),
            (_, _) => writeln!(
                out,
                "{}: {}, {}",
                one.name,
                counted(errors, "error"),
                counted(warnings, "warning")
            ),
        };
    }
    out
}

/// A number of things: `1 hook`, `2 hooks`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// One object, whatever the number of files.
fn merged_json(checked: &[Checked]) -> Value {
    let diagnostics = joined(checked, |one| one.report.json(), "/diagnostics");
    json!({
        "version": 1,
        "errors": total(checked, Severity::Error),
        "warnings": total(checked, Severity::Warning),
        "diagnostics": diagnostics,
    })
}

/// One run, whatever the number of files.
fn merged_sarif(checked: &[Checked]) -> Value {
    let mut whole = Report::default().sarif();
    let rules = "/runs/0/tool/driver/rules";
    for (place, mut values) in [
        ("/runs/0/results", joined(checked, |one| one.report.sarif(), "/runs/0/results")),
        (rules, joined(checked, |one| one.report.sarif(), rules)),
    ] {
        if place == rules {
            values.sort_by_key(ToString::to_string);
            values.dedup();
        }
        if let Some(slot) = whole.pointer_mut(place) {
            *slot = Value::Array(values);
        }
    }
    whole
}

fn joined(checked: &[Checked], form: impl Fn(&Checked) -> Value, place: &str) -> Vec<Value> {
    let lists = checked.iter().map(|one| form(one).pointer_mut(place).map(Value::take));
    let lists = lists.map(|list| match list {
        Some(Value::Array(items)) => items,
        Some(_) | None => Vec::new(),
    });
    lists.flatten().collect()
}
