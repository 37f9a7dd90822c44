//! `tollgate uninstall`: a host's settings as they were before, or, where others have changed them
//! since, without what is ours.

use super::diff::diff;
use super::file::{self, File};
use super::install::{unedited, unnoted};
use super::{known, settings_file};
use crate::args::{Globals, UninstallArguments};
use crate::desk::{Desk, misplaced};
use crate::exit::{Exit, Failure};
use crate::output::say;
use std::path::PathBuf;
use tollgate::installs::{Installs, digest};
use tollgate_hosts::settings::{Scope, without_hooks};

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
    let path = settings_file(&desk, known.form, Scope::from(arguments.scope))?;
    let file = file::read(&path)?;
    let state = desk.places.state().map_err(|error| misplaced(&error))?;
    let mut installs = Installs::read(&state).map_err(|error| unnoted(&error))?;
    let Some(text) = &file.text else {
        say(&format!("{}: there is no such file, so nothing to take out\n", path.display()))?;
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
        say(&format!("{}: no hook of Tollgate stands in it\n", file.path.display()))?;
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
    say(&format!("{path}: {what}\n{title} no longer passes Tollgate; policy and ledger stay\n"))?;
    Ok(Exit::Done)
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
