//! `tollgate audit`: reading the ledger, verifying it, passing it on, and taking away from it.
//!
//! What is shown is always read from the ledger's files; the index only says where. Whatever does not
//! need the ledger to be written works on a copy of the files as well.

mod export;
mod list;
mod proof;
mod remove;
mod row;
mod show;
mod stats;
mod verify;

pub(crate) use verify::{keys_of, own_keys};

use crate::args::{AuditArguments, AuditCommand, Globals, Moment, WhichRecords};
use crate::desk::{Desk, misplaced};
use crate::exit::{Exit, Failure};
use crate::ids;
use crate::output::tell_people;
use crate::past::{open, unreadable};
use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use tollgate::gate::{Json, Timestamp};
use tollgate::store::{Book, Entry, Filter, Index, IndexError};

pub(crate) fn run(globals: &Globals, arguments: &AuditArguments) -> Result<Exit, Failure> {
    let place = Place::new(globals, arguments.ledger.as_deref())?;
    match &arguments.command {
        AuditCommand::Tail(arguments) => list::tail(&place, arguments),
        AuditCommand::List(arguments) => list::list(&place, arguments),
        AuditCommand::Show(arguments) => show::run(&place, arguments),
        AuditCommand::Stats(arguments) => stats::run(&place, arguments),
        AuditCommand::Verify(arguments) => verify::run(&place, arguments),
        AuditCommand::Export(arguments) => export::run(&place, arguments),
        AuditCommand::Anchor(arguments) => verify::anchor(&place, arguments),
        AuditCommand::Proof(arguments) => proof::run(&place, &arguments.command),
        AuditCommand::Prune(arguments) => remove::prune(&place, arguments),
        AuditCommand::Erase(arguments) => remove::erase(&place, arguments),
    }
}

/// The ledger that is looked at.
pub(crate) struct Place {
    pub(crate) desk: Desk,
    pub(crate) folder: PathBuf,
    /// It is this user's own, so this user's keys count.
    pub(crate) is_own: bool,
}

impl Place {
    /// The named ledger, or the one of the policy in force.
    pub(crate) fn new(globals: &Globals, ledger: Option<&Path>) -> Result<Place, Failure> {
        let desk = Desk::new(globals)?;
        let own = own_ledger(&desk);
        let folder = match (ledger, own) {
            (Some(folder), own) => {
                let same = own.ok().and_then(|own| own.canonicalize().ok());
                let is_own = same.is_some() && same == folder.canonicalize().ok();
                return Ok(Place { desk, folder: folder.to_owned(), is_own });
            }
            (None, own) => own?,
        };
        Ok(Place { desk, folder, is_own: true })
    }

    /// Opens it for reading.
    pub(crate) fn book(&self) -> Result<Book, Failure> {
        open(&self.folder)
    }

    /// The folder of keys.
    pub(crate) fn keys(&self) -> Result<PathBuf, Failure> {
        self.desk.places.keys().map_err(|error| misplaced(&error))
    }

    /// The index, brought up to date; none when it cannot be used, which is told and costs time only.
    fn index(&self) -> Result<Option<Index>, Failure> {
        self.book()?;
        let opened = Index::open(&self.folder).and_then(|mut index| {
            let mut progress = Progress { is_shown: std::io::stderr().is_terminal(), any: false };
            let done = index.catch_up(&mut |records| progress.show(records));
            progress.end();
            done.map(|()| index)
        });
        match opened {
            Ok(index) => Ok(Some(index)),
            Err(IndexError::Book(error)) => Err(unreadable(&error)),
            Err(error) => {
                tell_people(format_args!("note: the ledger itself is read, for {error}"));
                Ok(None)
            }
        }
    }

    /// The newest records that are meant, the newest first.
    fn newest(&self, filter: &Filter, max: usize, no_index: bool) -> Result<Vec<Entry>, Failure> {
        let index = if no_index { None } else { self.index()? };
        match index {
            Some(mut index) => {
                let spots = index.newest(filter, max).map_err(Failure::internal)?;
                let mut found = Vec::with_capacity(spots.len());
                for spot in &spots {
                    let entry = index.read(spot).map_err(|error| unreadable(&error))?;
                    found.extend(entry.filter(|entry| filter.matches(&entry.line.json)));
                }
                Ok(found)
            }
            None => self.scan_newest(filter, max),
        }
    }

    fn scan_newest(&self, filter: &Filter, max: usize) -> Result<Vec<Entry>, Failure> {
        let book = self.book()?;
        let mut found = Vec::new();
        for segment in book.newest_first() {
            let mut here = Vec::new();
            for entry in segment {
                let entry = entry.map_err(|error| unreadable(&error))?;
                if filter.matches(&entry.line.json) {
                    here.push(entry);
                }
            }
            found.extend(here.into_iter().rev());
            if found.len() >= max {
                found.truncate(max);
                break;
            }
        }
        Ok(found)
    }

    /// The filter that the arguments say.
    fn filter(&self, which: &WhichRecords, no_index: bool) -> Result<Filter, Failure> {
        let now = self.desk.now();
        let session = which.session.as_deref();
        let session = session.map(|asked| self.session(asked, no_index)).transpose()?;
        Ok(Filter {
            since: which.since.map(|moment| at(moment, now)),
            until: which.until.map(|moment| at(moment, now)),
            kind: which.kind.clone(),
            session,
            user: which.user.clone(),
            tool: which.tool.clone(),
            verdict: which.verdict.clone(),
            code: which.code.clone(),
            hook: which.hook.clone(),
        })
    }

    /// The session that is meant: by its whole id, or by a part that fits no other.
    fn session(&self, asked: &str, no_index: bool) -> Result<String, Failure> {
        let only = Filter { session: Some(asked.to_owned()), ..Filter::default() };
        if !self.newest(&only, 1, no_index)?.is_empty() {
            return Ok(asked.to_owned());
        }
        let index = if no_index { None } else { self.index()? };
        let all: BTreeSet<String> = match index {
            Some(mut index) => index.sessions().map_err(Failure::internal)?.into_iter().collect(),
            None => {
                let mut all = BTreeSet::new();
                for entry in self.book()?.entries() {
                    let entry = entry.map_err(|error| unreadable(&error))?;
                    all.extend(text(&entry.line.json, "session").map(str::to_owned));
                }
                all
            }
        };
        let meant = ids::meant(asked, "session", all.iter().map(String::as_str))?;
        // Of one that is not there nothing is found, which is said where it is looked for.
        Ok(meant.unwrap_or(asked).to_owned())
    }
}

/// The ledger of the policy in force. One whose policy does not load is still read.
fn own_ledger(desk: &Desk) -> Result<PathBuf, Failure> {
    let store = match desk.load() {
        Ok(loaded) => loaded.settings.audit_store,
        Err(_) => {
            tell_people(format_args!(
                "note: the policy in force does not load; this is the default ledger"
            ));
            None
        }
    };
    let folder = desk.places.ledger(store.as_deref()).map_err(|error| misplaced(&error))?;
    folder.ok_or_else(|| {
        Failure::usage(
            "this policy keeps its ledger in memory, so nothing of it is left",
            "name another with --ledger DIR",
        )
    })
}

/// A moment as a time.
pub(crate) fn at(moment: Moment, now: Timestamp) -> Timestamp {
    match moment {
        Moment::At(at) => at,
        Moment::Ago(ms) => Timestamp::from_millis(now.millis().saturating_sub(ms)),
    }
}

/// The member of a record that is a text.
pub(crate) fn text<'a>(record: &'a Json, key: &str) -> Option<&'a str> {
    record.get(key).and_then(Json::as_str)
}

/// How far the index is, on a terminal.
struct Progress {
    is_shown: bool,
    any: bool,
}

impl Progress {
    fn show(&mut self, records: u64) {
        if self.is_shown {
            self.any = true;
            // Who closed standard error does not want to know.
            let _ = std::io::stderr().write_all(format!("\rindexed {records}").as_bytes());
        }
    }

    fn end(&self) {
        if self.any {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
