//! What a host left behind: whether it has called since the install, and whether it was used at all.

use super::self_test::OWN_SESSIONS;
use super::{Known, home};
use crate::desk::Desk;
use crate::past;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;
use tollgate::gate::{Json, Timestamp};

/// Most files of a host that are looked at for whether it was used.
const TRACES_MAX: usize = 5_000;
/// Deepest folder of them.
const TRACES_DEPTH_MAX: usize = 5;

/// Whether the host has called, since then where that is said; the doctor's own calls are not the host's.
pub(super) fn has_called(desk: &Desk, host: &str, since: Option<Timestamp>) -> bool {
    let loaded = desk.places.load(desk.now()).ok();
    let store = loaded.and_then(|loaded| loaded.settings.audit_store);
    let Ok(Some(folder)) = desk.places.ledger(store.as_deref()) else { return false };
    let Ok(book) = past::open(&folder) else { return false };
    let is_call = |record: &Json| {
        let text = |key: &str| record.get(key).and_then(Json::as_str);
        let at = text("at").and_then(Timestamp::parse);
        text("host") == Some(host)
            && text("session").is_some_and(|session| !session.starts_with(OWN_SESSIONS))
            && since.is_none_or(|since| at.is_some_and(|at| at >= since))
    };
    book.newest_first().any(|segment| segment.flatten().any(|entry| is_call(&entry.line.json)))
}

/// Whether the host has left anything behind in its own folder since then, beside its settings.
pub(super) fn used_since(desk: &Desk, known: Known, since: Timestamp) -> bool {
    let user = known.form.user;
    let named = user.variable.and_then(std::env::var_os).map(PathBuf::from);
    let folder = named.or_else(|| home(desk).map(|home| home.join(user.folder)));
    let Some(folder) = folder else { return false };
    let since = SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(since.nanos());
    let traces = ["sessions", "projects", "history.jsonl", "tmp", "chats", "session-state"];
    let mut left: Vec<(PathBuf, usize)> =
        traces.iter().map(|trace| (folder.join(trace), 0)).collect();
    let mut looked = 0;
    while let Some((path, depth)) = left.pop() {
        looked += 1;
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_file() && metadata.modified().is_ok_and(|modified| modified > since) {
            return true;
        }
        if metadata.is_dir() && depth < TRACES_DEPTH_MAX && looked < TRACES_MAX {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| (entry.path(), depth + 1)));
        }
    }
    false
}
