//! What the commands share that pass records on: where the ledger is, what its policy knows of
//! severities, and how it is told what happened.

use crate::desk::{Desk, misplaced};
use crate::exit::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tollgate::gate::Name;
use tollgate::policy::Loaded;
use tollgate::store::FollowError;
use tollgate_export::{CursorError, Notice, RunError, Severity};

/// Where cursors are, below the state folder.
const CURSORS: &str = "cursors";

/// A ledger, and what is known about it.
pub(crate) struct Known {
    pub(crate) ledger: PathBuf,
    pub(crate) cursors: PathBuf,
    pub(crate) severities: BTreeMap<Name, Severity>,
}

/// The ledger that is named, or the one of the policy in force. A policy that does not load keeps
/// nobody from a ledger in its usual place.
pub(crate) fn known(desk: &Desk, named: Option<&Path>) -> Result<Known, Failure> {
    let policy = desk.load().ok();
    let severities = policy.as_ref().map(severities).unwrap_or_default();
    let store = policy.as_ref().and_then(|policy| policy.settings.audit_store.as_deref());
    let ledger = match named {
        Some(ledger) => ledger.to_owned(),
        None => in_policy(desk, store)?,
    };
    let ledger = ledger.canonicalize().map_err(|error| {
        let message = format!("there is no ledger at `{}`: {error}", ledger.display());
        Failure::usage(message, "it is made with the first record; or name another: --ledger DIR")
    })?;
    let cursors = desk.places.state().map_err(|error| misplaced(&error))?.join(CURSORS);
    Ok(Known { ledger, cursors, severities })
}

fn in_policy(desk: &Desk, store: Option<&str>) -> Result<PathBuf, Failure> {
    let found = desk.places.ledger(store).map_err(|error| misplaced(&error))?;
    found.ok_or_else(|| {
        Failure::usage(
            "the policy keeps its ledger in memory, where no other program can read it",
            "set `audit: { store: \"file:default\" }`, or name a ledger: --ledger DIR",
        )
    })
}

/// The severities that a policy gives its hooks.
pub(crate) fn severities(policy: &Loaded) -> BTreeMap<Name, Severity> {
    let of = |hook: tollgate::policy::HookInfo| {
        let severity = Severity::from_name(hook.severity.as_deref()?)?;
        Some((Name::from(hook.name), severity))
    };
    policy.hooks().filter_map(of).collect()
}

/// What happened, for people.
pub(crate) fn told(notice: &Notice) -> String {
    match notice {
        Notice::Retry { why, pause } => {
            format!("{why}; trying again in {:.1} s", pause.as_secs_f32())
        }
        Notice::Recovered => "it works again".to_owned(),
        Notice::Lost { from, to } => {
            format!("records {from} to {to} were pruned before they were sent")
        }
        Notice::Partly(what) => format!("{what}; the ledger has them"),
    }
}

/// Why it ended early, with what to do about it.
pub(crate) fn ended(error: &RunError, restart: &str) -> Failure {
    match error {
        RunError::Follow(FollowError::NotThisBook { .. }) => Failure::usage(
            error,
            format!(
                "look at it with `tollgate audit verify`; to begin again with this book: {restart}"
            ),
        ),
        RunError::Follow(_) => {
            Failure::usage(error, "look at the ledger with `tollgate audit verify`")
        }
        RunError::Cursor(error) => cursor_failed(error),
        RunError::Send(_) | _ => Failure::internal(format!(
            "{error}\nnothing is lost: what was not sent is sent next time"
        )),
    }
}

pub(crate) fn cursor_failed(error: &CursorError) -> Failure {
    let remedy = match error {
        CursorError::Taken(_) => "let it go on, or stop it first",
        CursorError::Malformed(_) => "take the file away: everything is sent again then",
        CursorError::File(_) | _ => "mend its owner and mode",
    };
    Failure::usage(error, remedy)
}
