//! `tollgate audit list` and `tail`.

use super::Place;
use super::row::{COLUMNS, row};
use crate::args::{ListArguments, TailArguments};
use crate::commands::hooks::unknown_hook;
use crate::exit::{Exit, Failure};
use crate::output::{answer, tell_people, told};
use crate::past::{resolve, unreadable};
use crate::table::{Cell, Table, table, terminal_width};
use std::time::Duration;
use tollgate::gate::Json;
use tollgate::store::{Book, Entry, Filter, FollowError, Mark};

/// Pause between two looks for what comes.
const LOOK: Duration = Duration::from_millis(200);
/// How wide the columns usually are, for what is still to come.
const USUAL: [usize; 7] = [5, 14, 12, 8, 30, 8, 20];
/// Lines that are read at once.
const LINES_AT_ONCE: usize = 1_000;

pub(super) fn list(place: &Place, arguments: &ListArguments) -> Result<Exit, Failure> {
    let filter = place.filter(&arguments.which, arguments.no_index)?;
    let found = place.newest(&filter, arguments.limit, arguments.no_index)?;
    if arguments.json {
        answer(&found.iter().map(line).collect::<String>())?;
    } else if found.is_empty() {
        refuse_unknown_hook(place, arguments)?;
        answer("no record matches\n")?;
    } else {
        let rows: Vec<_> = found.iter().map(row).collect();
        answer(&table(&COLUMNS, &rows))?;
        if found.len() == arguments.limit {
            tell_people(format_args!("the newest {}; more with --limit", found.len()));
        }
    }
    Ok(Exit::Done)
}

/// A hook that no policy has and no record names is a slip of the pen, and not a hook that did nothing.
fn refuse_unknown_hook(place: &Place, arguments: &ListArguments) -> Result<(), Failure> {
    let Some(hook) = arguments.which.hook.as_deref() else { return Ok(()) };
    let Ok(loaded) = place.desk.load() else { return Ok(()) };
    if loaded.hooks().any(|known| known.name == hook) {
        return Ok(());
    }
    let only = Filter { hook: Some(hook.to_owned()), ..Filter::default() };
    match place.newest(&only, 1, arguments.no_index)?.is_empty() {
        true => Err(unknown_hook(hook, &loaded)),
        false => Ok(()),
    }
}

pub(super) fn tail(place: &Place, arguments: &TailArguments) -> Result<Exit, Failure> {
    let filter = place.filter(&arguments.which, true)?;
    // Where the book ends is looked at before what stands there is shown.
    let end = place.book()?.end();
    let mut found = place.scan_newest(&filter, arguments.count)?;
    if let Some(end) = &end {
        found.retain(|entry| entry.line.seq <= end.seq);
    }
    found.reverse();
    let rows: Vec<_> = found.iter().map(row).collect();
    let mut widths = rows.clone();
    if arguments.follow {
        // What comes may be longer than what is there.
        widths.push(USUAL.iter().map(|width| Cell::plain("x".repeat(*width))).collect());
    }
    let table = Table::new(&COLUMNS, &widths, terminal_width());
    let shown = match arguments.json {
        true => found.iter().map(line).collect(),
        false => rows.iter().fold(table.head(), |out, cells| out + &table.row(cells)),
    };
    if !told(&shown)? || !arguments.follow {
        return Ok(Exit::Done);
    }
    let Some(end) = end else {
        return Err(Failure::usage(
            "nobody writes to this ledger: it has no head",
            "leave --follow away",
        ));
    };
    let say = |entry: &Entry| match arguments.json {
        true => line(entry),
        false => table.row(&row(entry)),
    };
    follow(place, end, &filter, say)
}

/// Shows what comes, until nobody reads any more.
fn follow(
    place: &Place,
    mut mark: Mark,
    filter: &Filter,
    say: impl Fn(&Entry) -> String,
) -> Result<Exit, Failure> {
    loop {
        let book = Book::open(&place.folder).map_err(|error| unreadable(&error))?;
        match book.after(&mark, LINES_AT_ONCE) {
            Ok(lines) => {
                for (entry, behind) in &lines {
                    if filter.matches(&entry.line.json) && !told(&say(entry))? {
                        return Ok(Exit::Done);
                    }
                    mark = behind.clone();
                }
                if lines.is_empty() {
                    std::thread::sleep(LOOK);
                }
            }
            Err(FollowError::Pruned { rest, .. }) => mark = rest,
            Err(error) => {
                return Err(Failure::usage(
                    error,
                    "`tollgate audit verify` says what is wrong with it",
                ));
            }
        }
    }
}

/// The line as it stands in the ledger, as far as it can be shown.
pub(super) fn line(entry: &Entry) -> String {
    let mut line = String::from_utf8_lossy(&entry.text).trim_end().to_owned();
    line.push('\n');
    line
}

/// The records that are meant by an id or a part of it or by a number, and the outcomes of the decision.
/// The id that was meant stands with them.
pub(super) fn meant(
    place: &Place,
    asked: &str,
    no_index: bool,
) -> Result<(String, Vec<Entry>), Failure> {
    let found = with_id(place, asked, no_index)?;
    if found.is_empty()
        && let Some(id) = resolve(&place.book()?, asked)?
    {
        let found = with_id(place, &id, no_index)?;
        return Ok((id, found));
    }
    Ok((asked.to_owned(), found))
}

/// The records with an id, and the outcomes of the decision of this id.
fn with_id(place: &Place, id: &str, no_index: bool) -> Result<Vec<Entry>, Failure> {
    let is_meant = |json: &Json| {
        let is = |key: &str| json.get(key).and_then(Json::as_str) == Some(id);
        is("id") || is("decision")
    };
    let index = if no_index { None } else { place.index()? };
    let mut found = Vec::new();
    match index {
        Some(mut index) => {
            for spot in index.with_id(id).map_err(Failure::internal)? {
                let entry = index.read(&spot).map_err(|error| unreadable(&error))?;
                found.extend(entry.filter(|entry| is_meant(&entry.line.json)));
            }
        }
        None => {
            for entry in place.book()?.entries() {
                let entry = entry.map_err(|error| unreadable(&error))?;
                if is_meant(&entry.line.json) {
                    found.push(entry);
                }
            }
        }
    }
    Ok(found)
}
