//! Which event a command is about: one in a file, or one out of the ledger as far as its record holds
//! it.

use crate::args::{Globals, Which};
use crate::desk::{Desk, LINE_CHARS_MAX, misplaced};
use crate::exit::Failure;
use crate::ids;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::gate::limits::JSON_BYTES_MAX;
use tollgate::gate::text::shown;
use tollgate::gate::{Event, Json, Payload, Timestamp, Verdict};
use tollgate::is_guard;
use tollgate::policy::replay::{RebuildError, Rebuilt, rebuild};
use tollgate::policy::{Layer, LayerKind, Loaded};
use tollgate::store::{Book, BookError};

/// An event, and its record if it comes out of the ledger.
pub(crate) struct Past {
    pub(crate) event: Event,
    pub(crate) record: Option<Rebuilt>,
}

/// Which one `--last` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// The last decision.
    Decided,
    /// The last one that did not let the event through.
    Refused,
}

/// The policy that events are put through: the named files and nothing else, or what is in force.
pub(crate) fn policy(desk: &Desk, globals: &Globals) -> Result<Loaded, Failure> {
    if globals.policy.is_empty() {
        return desk.load();
    }
    let named = |path: &PathBuf| Layer::named(LayerKind::User, path);
    desk.load_layers(&globals.policy.iter().map(named).collect::<Vec<_>>())
}

/// Finds the event.
pub(crate) fn find(
    desk: &Desk,
    loaded: &Loaded,
    which: &Which,
    ledger: Option<&Path>,
    last: Last,
) -> Result<Past, Failure> {
    if let Some(path) = &which.event {
        let event = read_event(path, desk.now())?;
        return Ok(Past { event, record: None });
    }
    let folder = match ledger {
        Some(folder) => folder.to_owned(),
        None => default_ledger(desk, loaded)?,
    };
    let book = open(&folder)?;
    let record = match &which.id {
        Some(id) => by_id(&book, id)?,
        None => newest(&book, last)?,
    };
    let record = record.ok_or_else(|| nothing(which, &folder, last))?;
    let mut rebuilt = rebuild(&record).map_err(|error| {
        let remedy = match error {
            RebuildError::OtherKind(_) => "name the id of a decision, or take --last",
            RebuildError::Event(_) | RebuildError::Verdict(_) => {
                "the record was written by another version, or changed"
            }
        };
        Failure::usage(error, remedy)
    })?;
    read_anew(&mut rebuilt);
    Ok(Past { event: rebuilt.event.clone(), record: Some(rebuilt) })
}

/// Reads a host's call anew: what its tool's name and arguments come down to is in no record.
pub(crate) fn read_anew(rebuilt: &mut Rebuilt) {
    let host = rebuilt.event.session.host.as_deref().and_then(tollgate_hosts::host);
    if let (Some(host), Payload::PreTool(call)) = (host, &mut rebuilt.event.payload)
        && call.call.is_none()
        && let Some(reading) = host.reading_of(call)
    {
        Arc::make_mut(call).call = Some(Arc::new(reading));
        rebuilt.missing = &["tags", "extra fields"];
    }
}

fn default_ledger(desk: &Desk, loaded: &Loaded) -> Result<PathBuf, Failure> {
    let folder = desk.places.ledger(loaded.settings.audit_store.as_deref());
    folder.map_err(|error| misplaced(&error))?.ok_or_else(|| {
        Failure::usage(
            "this policy keeps its ledger in memory, so nothing of it is left",
            "name another with --ledger DIR, or give the event with --event FILE",
        )
    })
}

/// Opens a ledger for reading.
pub(crate) fn open(folder: &Path) -> Result<Book, Failure> {
    if !is_there(folder)? {
        return Err(no_ledger(folder));
    }
    let book = Book::open(folder).map_err(|error| unreadable(&error))?;
    if book.files().next().is_none() && book.tombstone().is_none() {
        return Err(no_ledger(folder));
    }
    Ok(book)
}

pub(crate) fn no_ledger(folder: &Path) -> Failure {
    Failure::usage(
        format!("there is no ledger in `{}`", folder.display()),
        "it comes into being with the first record; name another folder",
    )
}

/// Whether there is such a folder. One that may not be looked at is no folder that is not there.
pub(crate) fn is_there(folder: &Path) -> Result<bool, Failure> {
    match std::fs::read_dir(folder) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::usage(
            format!("`{}` cannot be read: {error}", folder.display()),
            "run it as the user whose ledger it is, or name another with --ledger DIR",
        )),
    }
}

/// A ledger that cannot be read on.
pub(crate) fn unreadable(error: &BookError) -> Failure {
    if let BookError::Io { .. } = error {
        return Failure::usage(error, "run it as the user whose ledger it is");
    }
    Failure::usage(error, "a ledger is a folder of its own, only its owner can write to it")
}

fn nothing(which: &Which, folder: &Path, last: Last) -> Failure {
    let folder = folder.display();
    match (&which.id, last) {
        (Some(id), _) => Failure::usage(
            format!("there is no record `{}` in `{folder}`", shown(id, LINE_CHARS_MAX)),
            "copy the id from the refusal or from the ledger's line",
        ),
        (None, Last::Decided) => Failure::usage(
            format!("the ledger in `{folder}` holds no decision"),
            "name another with --ledger DIR, or give the event with --event FILE",
        ),
        (None, Last::Refused) => Failure::usage(
            format!("the ledger in `{folder}` holds no refused call"),
            "name the call with --id ID, or give it with --event FILE",
        ),
    }
}

fn newest(book: &Book, last: Last) -> Result<Option<Json>, Failure> {
    let is_meant = |record: &Json| {
        let is = |key: &str, word: &str| record.get(key).and_then(Json::as_str) == Some(word);
        is("kind", "decision")
            && (last == Last::Decided
                || (!is("verdict", Verdict::Allow.name()) && is("event", "pre_tool")))
    };
    for segment in book.newest_first() {
        let mut found = None;
        for entry in segment {
            let json = entry.map_err(|error| unreadable(&error))?.line.json;
            if is_meant(&json) {
                found = Some(json);
            }
        }
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The record with an id; for an outcome the one of its decision.
/// The id of the record that is meant by its number, or by the beginning or end of its id. The whole book
/// is read for it.
pub(crate) fn resolve(book: &Book, asked: &str) -> Result<Option<String>, Failure> {
    let id_of = |json: &Json| json.get("id").and_then(Json::as_str).map(str::to_owned);
    let digits = asked.strip_prefix('#').unwrap_or(asked);
    let is_number = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(seq) = digits.parse().ok().filter(|_| is_number) {
        let entry = book.entry(seq).map_err(|error| unreadable(&error))?;
        return Ok(entry.and_then(|entry| id_of(&entry.line.json)));
    }
    let mut all = Vec::new();
    for entry in book.entries() {
        all.extend(id_of(&entry.map_err(|error| unreadable(&error))?.line.json));
    }
    let meant = ids::meant(asked, "record", all.iter().map(String::as_str))?;
    Ok(meant.map(str::to_owned))
}

fn by_id(book: &Book, asked: &str) -> Result<Option<Json>, Failure> {
    let found = match record_of(book, asked)? {
        Some(found) => Some(found),
        None => match resolve(book, asked)? {
            Some(id) => record_of(book, &id)?,
            None => None,
        },
    };
    let Some(found) = found else { return Ok(None) };
    let is_outcome = found.get("kind").and_then(Json::as_str) == Some("outcome");
    match found.get("decision").and_then(Json::as_str).filter(|_| is_outcome) {
        Some(decision) => Ok(record_of(book, decision)?.or(Some(found))),
        None => Ok(Some(found)),
    }
}

fn record_of(book: &Book, id: &str) -> Result<Option<Json>, Failure> {
    let mut other = None;
    for segment in book.newest_first() {
        for entry in segment {
            let json = entry.map_err(|error| unreadable(&error))?.line.json;
            if json.get("id").and_then(Json::as_str) != Some(id) {
                continue;
            }
            if json.get("kind").and_then(Json::as_str) == Some("decision") {
                return Ok(Some(json));
            }
            other = Some(json);
        }
    }
    Ok(other)
}

pub(crate) fn read_event(path: &Path, now: Timestamp) -> Result<Event, Failure> {
    let text = read(path, JSON_BYTES_MAX)?;
    Event::read(&text, now).map_err(|error| {
        let name = name(path);
        Failure::usage(
            format!("{name} holds no event: {error}"),
            "`tollgate schema event` says what an event looks like",
        )
    })
}

/// A file, or standard input for `-`, of at most one byte more than `max`: what reads it then says that
/// it is too long.
pub(crate) fn read(path: &Path, max: usize) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    source(path)?.take(limit).read_to_end(&mut text).map_err(|error| unread(path, &error))?;
    Ok(text)
}

/// Opens a file, or standard input for `-`.
pub(crate) fn source(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    Ok(Box::new(File::open(path).map_err(|error| unread(path, &error))?))
}

/// A file that cannot be read.
pub(crate) fn unread(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} cannot be read: {error}", name(path)), "name a readable file")
}

/// What a file is called in messages.
pub(crate) fn name(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => format!("`{}`", path.display()),
    }
}

impl Past {
    /// What to know of an event that comes out of the ledger, beside what its explanation says.
    pub(crate) fn notes(&self, loaded: &Loaded, verdict: Verdict) -> Vec<String> {
        let Some(record) = &self.record else { return Vec::new() };
        let mut notes = Vec::new();
        // The digest of a record covers hooks registered in code and switches too, so that it differs
        // from the policy's says nothing by itself.
        if record.baseline.verdict != verdict {
            notes.push(format!(
                "then it was decided otherwise: {}{}",
                record.baseline.verdict,
                record.baseline.hook.as_deref().map_or_else(String::new, |hook| {
                    let known = loaded.hooks().any(|known| known.name == hook);
                    let not = match known {
                        true => "",
                        false if is_guard(hook) => ", the gate's own guard, which no policy lifts",
                        false => ", which is no hook of this policy",
                    };
                    format!(" by {}{not}", shown(hook, LINE_CHARS_MAX))
                })
            ));
            let then = record.policy.as_deref().unwrap_or_default();
            notes.push(format!("what was in force then: {}", shown(then, 100)));
        }
        if !record.masked.is_empty() {
            let places: Vec<String> =
                record.masked.iter().map(|place| shown(place, 100).to_string()).collect();
            notes.push(format!(
                "masked in the ledger, so hooks that look there saw the mask: {}",
                places.join(", ")
            ));
        }
        notes.push(format!("records do not hold: {}", record.missing.join(", ")));
        notes
    }

    /// Where it comes from, for programs.
    pub(crate) fn origin(&self) -> Value {
        self.record.as_ref().map_or(Value::Null, |record| {
            json!({
                "id": record.event.id.to_string(),
                "at": record.event.at.to_string(),
                "verdict": record.baseline.verdict.name(),
                "code": record.baseline.code,
                "hook": record.baseline.hook,
                "policy": record.policy,
                "masked": record.masked,
                "missing": record.missing,
            })
        })
    }

    /// Where it comes from, for people; empty for an event out of a file.
    pub(crate) fn headline(&self) -> String {
        self.record.as_ref().map_or_else(String::new, |record| {
            let what = record.event.payload.subject().unwrap_or_default();
            let (id, at) = (record.event.id.to_string(), record.event.at);
            let kind = record.event.kind();
            format!("record {} of {at}: {kind} {}\n", shown(&id, 100), shown(what, 100))
        })
    }
}
