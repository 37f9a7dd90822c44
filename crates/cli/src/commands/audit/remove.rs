//! `tollgate audit prune` and `erase`: taking away, so that what is left still verifies.
//!
//! Each is asked for, and is a record of the ledger.

use super::{Place, at, text};
use crate::args::{EraseArguments, PruneArguments};
use crate::desk::{LINE_CHARS_MAX, agreed, misplaced, run};
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::past::unreadable;
use std::collections::BTreeSet;
use std::sync::Arc;
use tollgate::gate::text::shown;
use tollgate::gate::{Durability, EventId, Json, Ledger, Object, Record, RecordKind, VaultOwner};
use tollgate::ledger::{LEDGER_KEY, ledger_options};
use tollgate::places::user_name;
use tollgate::store::prune::prune as prune_book;
use tollgate::store::{Committer, FileLedger, FileVault, Filter, erase as erase_book};

pub(super) fn prune(place: &Place, arguments: &PruneArguments) -> Result<Exit, Failure> {
    let ours = own(place)?;
    let book = place.book()?;
    let before = book.tombstone().map_or(0, |tombstone| tombstone.size);
    let until = at(arguments.before, place.desk.now());
    let question = format!(
        "Take away what is older than {until}, whole segments of it, from `{}`?",
        place.folder.display()
    );
    if !arguments.yes && !agreed(&question)? {
        return Ok(Exit::No);
    }
    let now = place.desk.now();
    let stone = prune_book(&place.folder, &ours, until, now).map_err(Failure::internal)?;
    let pruned = stone.map_or(0, |stone| stone.size);
    if pruned == before {
        say("nothing to take away: no whole segment is older, signed, and not the last\n")?;
        return Ok(Exit::Done);
    }
    let many = pruned - before;
    let mut detail = Object::new();
    detail.insert("records", many);
    detail.insert("before", until.to_string());
    record(place, RecordKind::Pruned, detail)?;
    say(&format!("{many} records were taken away; the first {pruned} are gone now\n"))?;
    Ok(Exit::Done)
}

pub(super) fn erase(place: &Place, arguments: &EraseArguments) -> Result<Exit, Failure> {
    let ours = own(place)?;
    let whose = Whose::of(place, arguments)?;
    let (name, mut many) = (shown(&whose.shown, LINE_CHARS_MAX), 0_u64);
    let mut owners = Owners::new();
    for entry in place.book()?.entries() {
        let entry = entry.map_err(|error| unreadable(&error))?;
        if whose.is_meant(&entry.line.json) {
            many += 1;
            owners.extend(owners_of(&entry.line.json));
        }
    }
    if many == 0 {
        say(&format!("there is no record of `{name}`\n"))?;
        return Ok(Exit::Done);
    }
    let question = format!("Erase all {many} records of `{name}`? It cannot be undone.");
    if !arguments.yes && !agreed(&question)? {
        return Ok(Exit::No);
    }
    // First, for afterwards nothing says whose sessions they were. One call's data cannot be told from others.
    let vaults = if whose.ids.is_none() { forget(place, &owners)? } else { 0 };
    let is_meant = |record: &Json| whose.is_meant(record);
    let erased = erase_book(&place.folder, &ours, &is_meant, place.desk.now());
    let Some(erasure) = erased.map_err(Failure::internal)? else { return Ok(Exit::Done) };
    let mut detail = Object::new();
    detail.insert("erasure", erasure.number);
    detail.insert("records", erasure.lines());
    if vaults > 0 {
        detail.insert("vaults", vaults);
        say(&format!("what the vault kept of {vaults} of its sessions is gone\n"))?;
    }
    record(place, RecordKind::Erased, detail)?;
    say(&format!(
        "{} records of `{name}` were erased (erasure {}); `tollgate audit verify` still holds\n",
        erasure.lines(),
        erasure.number
    ))?;
    Ok(Exit::Done)
}

/// Tenants and sessions at the root: whose data the vault keeps together.
type Owners = BTreeSet<(String, String)>;

/// Whose vault a record's session may have used: its own, and that of the sessions above it.
fn owners_of(record: &Json) -> Owners {
    let Some(session) = record.get("session") else { return Owners::new() };
    let tenant = text(session, "tenant").unwrap_or_default();
    let ids = [text(session, "id"), text(session, "root"), text(record, "root")];
    ids.into_iter().flatten().map(|id| (tenant.to_owned(), id.to_owned())).collect()
}

/// Takes what the vault keeps of these away; of how many there was something.
fn forget(place: &Place, owners: &Owners) -> Result<u64, Failure> {
    let state = place.desk.places.state().map_err(|error| misplaced(&error))?;
    let vault = FileVault::in_folder(&state);
    let mut forgotten = 0;
    for (tenant, session) in owners {
        let owner = VaultOwner { tenant, session };
        forgotten += u64::from(vault.forget(owner).map_err(Failure::internal)?);
    }
    Ok(forgotten)
}

/// Whose records are erased.
struct Whose {
    shown: String,
    filter: Filter,
    /// Of one call: the ids of its decision and of its outcome.
    ids: Option<BTreeSet<String>>,
}

impl Whose {
    fn of(place: &Place, arguments: &EraseArguments) -> Result<Whose, Failure> {
        let EraseArguments { user, session, id, .. } = arguments;
        let filter = Filter { user: user.clone(), session: session.clone(), ..Filter::default() };
        let shown = [user, session, id].into_iter().flatten().next().cloned();
        let shown = shown.unwrap_or_default();
        if shown.is_empty() {
            let remedy = "name a user, a session or a record; `tollgate audit list` shows them";
            return Err(Failure::usage("nobody is named", remedy));
        }
        let ids = id.as_deref().map(|id| ids_of_call(place, id)).transpose()?;
        Ok(Whose { shown, filter, ids })
    }

    fn is_meant(&self, record: &Json) -> bool {
        let is_named = |ids: &BTreeSet<String>| {
            let mut of_call = ["id", "decision"].into_iter().filter_map(|key| text(record, key));
            of_call.any(|id| ids.contains(id))
        };
        self.filter.matches(record) && self.ids.as_ref().is_none_or(is_named)
    }
}

/// The ids by which the records of a call name each other: an outcome names its decision.
fn ids_of_call(place: &Place, id: &str) -> Result<BTreeSet<String>, Failure> {
    let mut ids = BTreeSet::from([id.to_owned()]);
    for entry in place.book()?.entries() {
        let record = entry.map_err(|error| unreadable(&error))?.line.json;
        if text(&record, "id") == Some(id) {
            ids.extend(text(&record, "decision").map(str::to_owned));
        }
    }
    Ok(ids)
}

/// The key file, for this user's own ledger.
fn own(place: &Place) -> Result<std::path::PathBuf, Failure> {
    if !place.is_own {
        return Err(Failure::usage(
            "this is not the ledger of the policy in force",
            "a copy is not changed: leave --ledger away, or name its --state and --policy",
        ));
    }
    Ok(place.keys()?.join(LEDGER_KEY))
}

fn record(place: &Place, kind: RecordKind, mut detail: Object) -> Result<(), Failure> {
    let now = place.desk.now();
    let mut record = Record::new(EventId::made(now), now, kind);
    detail.insert("by", user_name());
    record.detail = Some(Json::Object(detail));
    let clock = Arc::clone(&place.desk.clock);
    let options = ledger_options(clock, Committer::Caller, Some(&place.keys()?));
    let ledger = FileLedger::open(&place.folder, options).map_err(Failure::internal)?;
    run(ledger.append(record, Durability::BeforeEffect))?.map_err(Failure::internal)
}
