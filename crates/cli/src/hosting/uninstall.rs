//! `tollgate uninstall`: a host's settings as they were before, or, where others have changed them
//! since, without what is ours.

use super::diff::diff;
use super::file::{self, File};
use super::install::{unedited, unnoted};
use super::{Known, home, known, settings_file};
use crate::args::{Globals, UninstallArguments};
use crate::desk::{Desk, misplaced};
use crate::exit::{Exit, Failure};
use crate::output::say;
use std::fmt::Write as _;
use std::path::PathBuf;
use tollgate::installs::{Installs, digest};
use tollgate_hosts::settings::{Scope, standing, without_hooks};

/// What becomes of the file.
enum End {
    /// This text stands in it.
    Text(String),
    /// It goes, and so do these folders, which were made for it.
    Gone(Vec<PathBuf>),
}

pub(crate) fn run(globals: &Globals, arguments: &UninstallArguments) -> Result<Exit, Failure> {
    let known = known(&arguments.host)?;
    let desk = Desk::new(globals)?;
    let scope = Scope::from(arguments.scope);
    let path = settings_file(&desk, known.form, scope)?;
    let state = desk.places.state().map_err(|error| misplaced(&error))?;
    let _held = match arguments.dry_run || !state.exists() {
        true => None,
        false => Some(Installs::lock(&state).map_err(|error| unnoted(&error))?),
    };
    let file = file::read(&path)?;
    let mut installs = Installs::read(&state).map_err(|error| unnoted(&error))?;
    let Some(text) = &file.text else {
        let left = elsewhere(&desk, known, scope);
        say(&format!("{}: there is no such file, so nothing to take out\n{left}", path.display()))?;
        return Ok(Exit::Done);
    };
    let (end, how) = match before(&installs, known.facts.name, &file)? {
        Some(end) => (end, "as it was before the install, byte for byte"),
        None => {
            let rest = without_hooks(text, known.form, known.facts)
                .map_err(|error| unedited(&file, &error))?;
            (End::Text(rest), "Tollgate's hooks taken out, all else left: it was changed since")
        }
    };
    let after = if let End::Text(text) = &end { text.as_str() } else { "" };
    if after == text {
        let left = elsewhere(&desk, known, scope);
        say(&format!("{}: no hook of Tollgate stands in it\n{left}", file.path.display()))?;
        return Ok(Exit::Done);
    }
    if arguments.dry_run {
        say(&format!("{} would change:\n{}", file.path.display(), diff(text, after)))?;
        return Ok(Exit::Done);
    }
    file.check_writable()?;
    match &end {
        End::Text(text) => file.replace(text)?,
        End::Gone(folders) => file.remove(folders)?,
    }
    if installs.remove(known.facts.name, &file.path) {
        installs.write(&state).map_err(|error| unnoted(&error))?;
    }
    let (path, title) = (file.path.display(), known.facts.title);
    let what = match &end {
        End::Text(_) => how,
        End::Gone(_) => "taken away, for it was not there before the install",
    };
    let left = elsewhere(&desk, known, scope);
    let then = match left.is_empty() {
        true => format!("{title} no longer passes Tollgate; policy and ledger stay\n"),
        false => left,
    };
    say(&format!("{path}: {what}\n{then}"))?;
    Ok(Exit::Done)
}

/// Where else hooks of ours stand, each with the command that takes them out.
fn elsewhere(desk: &Desk, known: Known, but: Scope) -> String {
    let mut out = String::new();
    for scope in Scope::ALL.into_iter().filter(|scope| *scope != but) {
        let Ok(path) = settings_file(desk, known.form, scope) else { continue };
        let found = file::read(&path).ok();
        let found = found.and_then(|file| standing(file.text(), known.form, known.facts).ok());
        if found.is_some_and(|found| !found.ours.is_empty()) {
            let _ = writeln!(
                out,
                "{} still passes Tollgate, by {}: tollgate uninstall {} --scope {}",
                known.facts.title,
                path.display(),
                known.facts.name,
                scope.name()
            );
        }
    }
    let folders = [Some(desk.places.project_root()), home(desk)];
    for folder in folders.into_iter().flatten() {
        for further in known.form.further.iter().filter(|file| file.ends_with(".json")) {
            let path = folder.join(further);
            let found = file::read(&path).ok();
            let found = found.and_then(|file| standing(file.text(), known.form, known.facts).ok());
            if found.is_some_and(|found| !found.ours.is_empty()) {
                let (title, path) = (known.facts.title, path.display());
                let _ = writeln!(
                    out,
                    "{title} still passes Tollgate, by {path}: take the hooks out by hand"
                );
            }
        }
    }
    out
}

/// What stood there before the install, when nothing has changed since.
fn before(installs: &Installs, host: &str, file: &File) -> Result<Option<End>, Failure> {
    let Some(install) = installs.of(host, &file.path) else { return Ok(None) };
    if digest(file.text().as_bytes()) != install.written {
        return Ok(None);
    }
    let Some(backup) = &install.backup else {
        return Ok(Some(End::Gone(install.folders.clone())));
    };
    // A backup that is gone, or that others could have written, is not what stood there.
    let kept = Installs::kept(backup).ok().flatten();
    Ok(kept.and_then(|bytes| String::from_utf8(bytes).ok()).map(End::Text))
}
