//! The command that stands at a hook in a host's settings.

use super::Known;
use crate::args::Globals;
use crate::desk::{Desk, misplaced};
use crate::exit::Failure;
use std::path::{Path, PathBuf};
use tollgate_hosts::EventFacts;
use tollgate_hosts::settings::{Scope, portable};

/// How the hooks of an install call Tollgate.
#[derive(Debug)]
pub(super) enum Calling {
    /// This binary, and these flags.
    Pinned { program: PathBuf, flags: Vec<String> },
    /// Whatever `tollgate` is in the path.
    Portable,
}

impl Calling {
    /// For an install into these settings.
    pub(super) fn new(
        globals: &Globals,
        desk: &Desk,
        scope: Scope,
        wraps: bool,
    ) -> Result<Calling, Failure> {
        if scope == Scope::Project {
            if wraps {
                return Err(Failure::usage(
                    "a project's hooks rewrite no command: that is each person's to choose",
                    "leave --wrap out",
                ));
            }
            if globals.policy.is_empty() {
                return Ok(Calling::Portable);
            }
            return Err(Failure::usage(
                "a project's hooks name no policy: they hold for all its people",
                "leave --policy out; the project's policy is its `tollgate.yaml`",
            ));
        }
        let program = std::env::current_exe().and_then(|path| path.canonicalize());
        let program = program.map_err(Failure::internal)?;
        let mut flags = Vec::new();
        let named = !globals.policy.is_empty();
        if scope == Scope::User || named {
            for policy in desk.places.user_policies().map_err(|error| misplaced(&error))? {
                flags.extend(["--policy".to_owned(), absolute(&policy)?]);
            }
        }
        if let Some(state) = &globals.state {
            flags.extend(["--state".to_owned(), absolute(state)?]);
        }
        if wraps {
            flags.push("--wrap".to_owned());
        }
        Ok(Calling::Pinned { program, flags })
    }

    /// For a call that is only tried, where nothing is installed: with the policies that are in force
    /// here, so that one that is not there is not asked for.
    pub(super) fn trying(globals: &Globals) -> Result<Calling, Failure> {
        let program = std::env::current_exe().and_then(|path| path.canonicalize());
        let program = program.map_err(Failure::internal)?;
        let mut flags = Vec::new();
        for policy in &globals.policy {
            flags.extend(["--policy".to_owned(), absolute(policy)?]);
        }
        if let Some(state) = &globals.state {
            flags.extend(["--state".to_owned(), absolute(state)?]);
        }
        Ok(Calling::Pinned { program, flags })
    }

    /// The command at an event.
    pub(super) fn at(&self, known: Known, event: &EventFacts) -> String {
        let host = known.facts.name;
        let event_flag =
            if known.form.names_event { format!(" --event {}", event.name) } else { String::new() };
        match self {
            Calling::Pinned { program, flags } => {
                let mut command = format!("{} hook {host}", word(&program.display().to_string()));
                for flag in flags {
                    command.push(' ');
                    command.push_str(&word(flag));
                }
                command.push_str(&event_flag);
                command
            }
            Calling::Portable => portable(known.form, event),
        }
    }
}

fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path).map_err(Failure::internal)?;
    // The folder by its real name; the file itself may be a link, as dotfiles often are.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let path = match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        (None, _) | (Some(_), None) => path,
    };
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("`{}` is no text", path.display()), "rename it"))
}

/// A word as a shell reads it back.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
