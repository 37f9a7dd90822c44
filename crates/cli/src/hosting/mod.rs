//! The commands that put Tollgate in front of agent programs: `install`, `uninstall`, `doctor`.
//!
//! What stands in which settings is `tollgate_hosts::settings`; here are the files: found, read with
//! care, and written whole or not at all.

mod codex_trust;
mod command;
mod diff;
pub(crate) mod doctor;
mod file;
mod findings;
pub(crate) mod install;
mod self_test;
mod traces;
pub(crate) mod trying;
pub(crate) mod uninstall;

use crate::desk::Desk;
use crate::exit::Failure;
use std::path::PathBuf;
use tollgate::gate::text::shown;
use tollgate_hosts::Facts;
use tollgate_hosts::settings::{FORMS, Form, Managed, Scope, form};

pub(crate) use self_test::OWN_SESSIONS;

/// A host, and how it writes hooks.
#[derive(Debug, Clone, Copy)]
struct Known {
    facts: &'static Facts,
    form: &'static Form,
}

/// The host of this name.
fn known(name: &str) -> Result<Known, Failure> {
    let facts = tollgate_hosts::host(name).map(|host| host.facts());
    match (facts, form(name)) {
        (Some(facts), Some(form)) => Ok(Known { facts, form }),
        (None | Some(_), _) => {
            let names: Vec<&str> = FORMS.iter().map(|form| form.host).collect();
            let message = format!("`{}` is no agent program", shown(name, 100));
            Err(Failure::usage(message, format!("it is one of {}", names.join(", "))))
        }
    }
}

/// Where a host's settings are.
///
/// The person's own are where the host looks for them: by its own variable, or below `HOME`.
fn settings_file(desk: &Desk, form: &Form, scope: Scope) -> Result<PathBuf, Failure> {
    match scope {
        Scope::User => {
            let named = form.user.variable.and_then(std::env::var_os).map(PathBuf::from);
            if let Some(folder) = named.filter(|folder| !folder.as_os_str().is_empty()) {
                let folder = std::path::absolute(folder).map_err(Failure::internal)?;
                return Ok(folder.join(form.user.file));
            }
            let home = home(desk).ok_or_else(|| {
                Failure::usage("there is no home folder", "set HOME to yours, as the host needs it")
            })?;
            Ok(home.join(form.user.folder).join(form.user.file))
        }
        Scope::Project => {
            let root = desk.places.project_root();
            if !desk.places.may_be_project(&root) {
                return Err(Failure::usage(
                    format!("`{}` is the home folder or above it, and no project", root.display()),
                    "change into a project's folder",
                ));
            }
            Ok(root.join(form.project))
        }
        Scope::Managed => match form.managed {
            Managed::File(path) => Ok(PathBuf::from(path)),
            Managed::ByHand(path) => Err(Failure::usage(
                format!("`{path}` is written by hand"),
                format!(
                    "`tollgate install {} --scope managed` says what belongs into it",
                    form.host
                ),
            )),
        },
    }
}

/// The home folder as the hosts see it.
fn home(desk: &Desk) -> Option<PathBuf> {
    let variable = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    variable.or_else(|| desk.places.home().map(PathBuf::from))
}
