//! `tollgate install`: the hooks into a host's settings, and a policy where there is none.

use super::command::Calling;
use super::diff::diff;
use super::file::{self, File};
use super::{Known, known, settings_file};
use crate::args::{Globals, InstallArguments, Preset};
use crate::commands::init;
use crate::desk::{Desk, misplaced, private_remedy};
use crate::exit::{Exit, Failure};
use crate::output::say;
use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tollgate::installs::{Install, Installs, InstallsError, digest};
use tollgate_hosts::settings::{Managed, Scope, SettingsError, standing, with_hooks};

/// What a person's policy starts from.
const PRESET: Preset = Preset::Coding;

pub(crate) fn run(globals: &Globals, arguments: &InstallArguments) -> Result<Exit, Failure> {
    let scope = Scope::from(arguments.scope);
    let known = known(&arguments.host)?;
    let desk = Desk::new(globals)?;
    if arguments.wrap && !known.form.wraps {
        return Err(Failure::usage(
            format!("commands of {} need no rewriting", known.facts.title),
            "leave --wrap out: what its hooks can reach is masked, failing commands too",
        ));
    }
    let calling = Calling::new(globals, &desk, scope, arguments.wrap)?;
    if let (Scope::Managed, Managed::ByHand(path)) = (scope, known.form.managed) {
        return Err(by_hand(known, &calling, path));
    }
    let path = settings_file(&desk, known.form, scope)?;
    let edited = || {
        let file = file::read(&path)?;
        let new =
            with_hooks(file.text(), known.form, known.facts, &|event| calling.at(known, event))
                .map_err(|error| unedited(&file, &error))?;
        Ok::<_, Failure>((file, new))
    };
    let (file, new) = edited()?;
    let policy = policy(globals, &desk, scope)?;
    if arguments.dry_run {
        say(&preview(&file, &new, &policy))?;
        return Ok(Exit::Done);
    }
    let mut out = String::new();
    if let Policy::Missing(path) = &policy {
        write_policy(path)?;
        let _ = writeln!(out, "wrote {}: your policy, to read and to change", path.display());
    }
    check_policy(&desk, scope)?;
    // Read anew when nobody else installs: what another has put in meanwhile stays.
    let state = desk.places.state().map_err(|error| misplaced(&error))?;
    let held = Installs::lock(&state).map_err(|error| unnoted(&error))?;
    let (file, new) = edited()?;
    if file.text.as_deref() == Some(new.as_str()) {
        let _ = writeln!(out, "{}: installed so already", file.path.display());
    } else {
        put(&desk, known, scope, &file, &new)?;
        let _ = writeln!(out, "{}: {}", file.path.display(), told(known, &new));
    }
    drop(held);
    out.push_str(&next(known, scope));
    say(&out)?;
    Ok(Exit::Done)
}

/// What belongs into settings that are no JSON.
fn by_hand(known: Known, calling: &Calling, path: &str) -> Failure {
    let mut text = format!("put this into {path}, as root; hooks there need nobody's trust");
    text.push_str(" (from its documents; not tried here):\n");
    for event in known.facts.events.iter().filter(|event| event.is_wanted()) {
        let command = calling.at(known, event).replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(
            text,
            "[[hooks.{0}]]\n[[hooks.{0}.hooks]]\ntype = \"command\"\ncommand = \"{command}\"\n\
             timeout = {1}\n",
            event.name,
            known.form.timeout_at(known.facts, event.name)
        );
    }
    Failure::usage("the machine's settings of this host are written by hand", text.trim_end())
}

/// The policy under which the host will run.
enum Policy {
    /// There is one.
    There,
    /// It is to be written here.
    Missing(PathBuf),
}

fn policy(globals: &Globals, desk: &Desk, scope: Scope) -> Result<Policy, Failure> {
    match scope {
        Scope::User => {
            let files = desk.places.user_policies().map_err(|error| misplaced(&error))?;
            let missing = files.into_iter().find(|file| !file.exists());
            match missing {
                None => Ok(Policy::There),
                Some(file) if globals.policy.is_empty() => Ok(Policy::Missing(file)),
                Some(file) => Err(Failure::usage(
                    format!("there is no policy `{}`", file.display()),
                    "name a policy that is there, or leave --policy out to have one written",
                )),
            }
        }
        Scope::Managed => {
            let file = desk.places.managed_policy();
            if file.exists() || !globals.policy.is_empty() {
                return Ok(Policy::There);
            }
            Err(Failure::usage(
                format!("the machine has no policy `{}`", file.display()),
                "write it first, as root: a person's own policy does not govern the machine",
            ))
        }
        // Whoever works in the project brings a policy, or is told to.
        Scope::Project => Ok(Policy::There),
    }
}

fn write_policy(path: &Path) -> Result<(), Failure> {
    let unwritable = |error: std::io::Error| {
        Failure::usage(
            format!("`{}` cannot be written: {error}", path.display()),
            "name a policy: --policy FILE",
        )
    };
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unwritable)?;
    }
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(path).map_err(unwritable)?;
    file.write_all(init::text(PRESET).as_bytes()).map_err(unwritable)
}

/// A policy that does not load would refuse every call: better said now.
fn check_policy(desk: &Desk, scope: Scope) -> Result<(), Failure> {
    match scope {
        Scope::User | Scope::Managed => desk.load().map(drop),
        Scope::Project => Ok(()),
    }
}

/// Keeps what stood there, notes the install, writes. What fails leaves all as it was.
fn put(desk: &Desk, known: Known, scope: Scope, file: &File, new: &str) -> Result<(), Failure> {
    file.check_writable()?;
    let state = desk.places.state().map_err(|error| misplaced(&error))?;
    let host = known.facts.name;
    let before = Installs::read(&state).map_err(|error| unnoted(&error))?;
    let mut after = before.clone();
    let folders = file.make_folders()?;
    // A second install on top of the first goes back to what stood there before both.
    let earlier = before.of(host, &file.path).filter(|earlier| {
        file.text.as_ref().is_some_and(|text| digest(text.as_bytes()) == earlier.written)
    });
    let (backup, folders) = match (earlier, &file.text) {
        (Some(earlier), _) => (earlier.backup.clone(), earlier.folders.clone()),
        (None, None) => (None, folders),
        (None, Some(text)) => {
            let kept = Installs::keep(&state, host, text.as_bytes());
            (Some(kept.map_err(|error| unnoted(&error))?), folders)
        }
    };
    after.put(Install {
        host: host.to_owned(),
        scope: scope.name().to_owned(),
        file: file.path.clone(),
        backup,
        folders,
        written: digest(new.as_bytes()),
        at: desk.now().to_string(),
    });
    after.write(&state).map_err(|error| unnoted(&error))?;
    file.replace(new).inspect_err(|_| {
        // What cannot be taken back is only a note of an install that is not there.
        let _ = before.write(&state);
    })
}

pub(super) fn unedited(file: &File, error: &SettingsError) -> Failure {
    let remedy = match error {
        SettingsError::Syntax { .. } => "mend it: the host cannot read it either",
        SettingsError::Shape { .. } => "the host wants another shape there: mend it",
        SettingsError::Twice { .. } => "leave one of them",
    };
    Failure::usage(format!("`{}`: {error}; nothing was changed", file.path.display()), remedy)
}

pub(super) fn unnoted(error: &InstallsError) -> Failure {
    let remedy = match error {
        InstallsError::Private(error) => private_remedy(error),
        InstallsError::Lock { path, .. } => {
            format!("make `{}` and its folder writable for you", path.display())
        }
        InstallsError::Malformed { path, .. } => format!(
            "move `{}` away: what stood in settings before an install is then known no more",
            path.display()
        ),
    };
    Failure::usage(format!("what is installed where cannot be known: {error}"), remedy)
}

/// What was put in, in a line.
fn told(known: Known, text: &str) -> String {
    let found = standing(text, known.form, known.facts).unwrap_or_default();
    let others = match found.others.len() {
        0 => String::new(),
        1 => "; 1 hook of others stays".to_owned(),
        count => format!("; {count} hooks of others stay"),
    };
    format!("{} hooks of Tollgate{others}", found.ours.len())
}

fn preview(file: &File, new: &str, policy: &Policy) -> String {
    let mut out = String::new();
    if let Policy::Missing(path) = policy {
        let _ = writeln!(out, "would write {}: your policy", path.display());
    }
    let changes = diff(file.text(), new);
    if changes.is_empty() {
        let _ = writeln!(out, "{}: nothing would change", file.path.display());
    } else {
        let _ = write!(out, "{} would change:\n{changes}", file.path.display());
    }
    out
}

fn next(known: Known, scope: Scope) -> String {
    let (host, title) = (known.facts.name, known.facts.title);
    let scope = match scope {
        Scope::User => String::new(),
        Scope::Project | Scope::Managed => format!(" --scope {}", scope.name()),
    };
    format!(
        "\nnext:\n  {title}: {}\n  prove it:  tollgate doctor {host}\n  undo:      tollgate \
         uninstall {host}{scope}\n",
        known.form.then
    )
}
