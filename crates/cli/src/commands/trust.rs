//! `tollgate trust`: shows what a project's policy is and does, asks, and pins it byte for byte.

use crate::args::{Globals, TrustArguments};
use crate::desk::{Desk, LINE_CHARS_MAX, agreed, misplaced, unloaded};
use crate::exit::{Exit, Failure};
use crate::output::say;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tollgate::gate::RecordKind;
use tollgate::gate::text::shown;
use tollgate::places::PROJECT_POLICY;
use tollgate::policy::layers::Trust;
use tollgate::policy::{LayerKind, LayerStatus, Loaded, Origin};

pub(crate) fn run(globals: &Globals, arguments: &TrustArguments) -> Result<Exit, Failure> {
    let files = match &arguments.file {
        Some(file) => vec![file.clone()],
        None => Desk::new(globals)?.places.project_policies(),
    };
    if files.is_empty() {
        return Err(Failure::usage(
            format!("there is no `{PROJECT_POLICY}` in this project"),
            "name the file, or write one with `tollgate init`",
        ));
    }
    for file in &files {
        if trust_file(globals, file, arguments.yes)? == Exit::No {
            return Ok(Exit::No);
        }
    }
    Ok(Exit::Done)
}

fn trust_file(globals: &Globals, file: &Path, yes: bool) -> Result<Exit, Failure> {
    let file = regular(file)?;
    let desk = Desk::starting_in(globals, file.parent().unwrap_or(Path::new("/")))?;
    let (loaded, layer) = as_trusted(&desk, &file)?;
    let store = desk.places.trust().map_err(|error| unloaded(&error))?;
    let trust = store.look(&file, &layer.digest);
    if trust == Trust::Trusted {
        say(&format!("{} is trusted as it is\n", file.display()))?;
        return Ok(Exit::Done);
    }
    say(&shown_policy(&loaded, &layer, trust == Trust::Changed))?;
    if !yes && !agreed("Trust it?")? {
        say("not trusted: it stays ignored
")?;
        return Ok(Exit::No);
    }
    pin(&desk, &loaded, &layer)?;
    say("trusted, as long as not a byte of it changes\n")?;
    Ok(Exit::Done)
}

/// A project's policy as it would be in force, beside the other policies.
pub(crate) fn as_trusted(desk: &Desk, file: &Path) -> Result<(Loaded, LayerStatus), Failure> {
    let mut layers = desk.places.layers().map_err(|error| misplaced(&error))?;
    let found = layers.iter_mut().find(|layer| layer.origin == Origin::Found && layer.path == file);
    let Some(layer) = found else {
        return Err(Failure::usage(
            format!("`{}` is not where a project's policy is looked for", file.display()),
            format!(
                "a project's policy is a file `{PROJECT_POLICY}` between the project's root and the \
                 folder of work, and not in the home folder; take another with --policy"
            ),
        ));
    };
    layer.origin = Origin::Named;
    let loaded = desk.load_layers(&layers)?;
    let layer = loaded.layers.iter().find(|layer| layer.path == file).cloned();
    let layer = layer.ok_or_else(|| Failure::internal("the policy was not loaded"))?;
    Ok((loaded, layer))
}

/// Records that a policy is trusted, then trusts it.
pub(crate) fn pin(desk: &Desk, loaded: &Loaded, layer: &LayerStatus) -> Result<(), Failure> {
    let detail =
        [("file", Some(layer.path.display().to_string())), ("digest", Some(layer.digest.clone()))];
    desk.record(loaded, RecordKind::Trust, None, &detail)?;
    let mut store = desk.places.trust().map_err(|error| unloaded(&error))?;
    let trusted = store.trust(&layer.path, &layer.digest, desk.now());
    trusted.map_err(|error| unloaded(&error.into()))
}

/// The file by its real name; a link is not followed, as it is not when the policy is looked for.
fn regular(file: &Path) -> Result<PathBuf, Failure> {
    let unreachable = |error: std::io::Error| {
        Failure::usage(
            format!("`{}` cannot be looked at: {error}", file.display()),
            "name a project's policy",
        )
    };
    let found = std::fs::symlink_metadata(file).map_err(unreachable)?;
    if !found.is_file() {
        return Err(Failure::usage(
            format!("`{}` is no regular file", file.display()),
            "a project's policy is a file of its own; put the text itself there",
        ));
    }
    file.canonicalize().map_err(unreachable)
}

fn shown_policy(loaded: &Loaded, layer: &LayerStatus, changed: bool) -> String {
    let mut out = String::new();
    let again = if changed { ", changed since it was trusted" } else { "" };
    let _ = writeln!(out, "{}{again}\n  {}", layer.path.display(), layer.digest);
    for include in &layer.includes {
        let _ = writeln!(out, "  includes {}", include.display());
    }
    let _ = writeln!(
        out,
        "\nIt may refuse, ask, answer, limit, mask and end sessions. It may not allow, rewrite, run or \
         contact\nanything, and cannot switch off what other policies say. Its hooks:"
    );
    for hook in loaded.hooks().filter(|hook| hook.layer == LayerKind::Project) {
        let kinds = hook.on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let dry = if hook.dry_run { " (dry: only recorded)" } else { "" };
        let name = shown(&hook.name, LINE_CHARS_MAX);
        let _ = writeln!(out, "  {name}: {} on {kinds}{dry}", hook.action);
        if let Some(description) = &hook.description {
            let _ = writeln!(out, "      {}", shown(description, LINE_CHARS_MAX));
        }
    }
    if !loaded.report.diagnostics.is_empty() {
        let _ = writeln!(out, "\n{}", loaded.report.text().trim_end());
    }
    out.push('\n');
    out
}
