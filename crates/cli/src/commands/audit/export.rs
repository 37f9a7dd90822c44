//! `tollgate audit export`: the ledger's records to a SIEM.

use super::Place;
use crate::args::ExportArguments;
use crate::desk::LINE_CHARS_MAX;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell_people};
use crate::passing_on::{self, ended, known};
use std::path::Path;
use tollgate::gate::text::shown;
use tollgate_export::{
    Cursor, Exporter, Notice, SinkError, SinkOptions, Target, Until, run as pass_on, sink,
};

pub(super) fn run(place: &Place, arguments: &ExportArguments) -> Result<Exit, Failure> {
    let to = Target::parse(&arguments.to).map_err(|error| {
        Failure::usage(error, "`tollgate audit export --help` lists the destinations")
    })?;
    let to = whole(to)?;
    let known = known(&place.desk, Some(&place.folder))?;
    refuse_own_file(&to, &known.ledger)?;
    let options =
        SinkOptions { ca_file: arguments.ca.clone(), header_file: arguments.header_file.clone() };
    let sink = sink::open(&to, &options).map_err(|error| unusable(&error))?;
    let format = arguments.format.into();
    let mut exporter = Exporter::new(format, sink, known.severities);
    let purpose = format!("{} to {to}", format.name());
    let mut cursor = Cursor::open(&known.cursors, &known.ledger, &purpose)
        .map_err(|error| passing_on::cursor_failed(&error))?;
    if arguments.restart {
        cursor.restart();
    }
    let until = if arguments.follow { Until::Stopped } else { Until::End };
    let done =
        pass_on(&known.ledger, &mut cursor, &mut exporter, until, &|| false, &mut |notice| {
            tell(&to, &notice);
        });
    let done = done.map_err(|error| ended(&error, "--restart"))?;
    let to = to.to_string();
    let to = shown(&to, LINE_CHARS_MAX);
    say(&format!("sent {} records to {to}, up to number {}\n", done.records, done.seq))?;
    Ok(if done.lost > 0 { Exit::No } else { Exit::Done })
}

/// A destination that means the same from every folder: its cursor is known by it.
fn whole(to: Target) -> Result<Target, Failure> {
    let Target::File(path) = to else { return Ok(to) };
    let whole = std::path::absolute(&path).map_err(|error| {
        Failure::usage(format!("`{}` is no file: {error}", path.display()), "name it from /")
    })?;
    // A folder that is reached by a link is the same folder.
    let folder = whole.parent().and_then(|folder| folder.canonicalize().ok());
    let named = folder.zip(whole.file_name()).map(|(folder, name)| folder.join(name));
    Ok(Target::File(named.unwrap_or(whole)))
}

fn tell(to: &Target, notice: &Notice) {
    let text = passing_on::told(notice);
    tell_people(format_args!(
        "{}: {}",
        shown(&to.to_string(), LINE_CHARS_MAX),
        shown(&text, LINE_CHARS_MAX * 2)
    ));
}

/// A ledger is no place for an export of itself.
fn refuse_own_file(to: &Target, ledger: &Path) -> Result<(), Failure> {
    let Target::File(path) = to else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    if folder.ok().is_some_and(|folder| ledger.canonicalize().is_ok_and(|own| own == folder)) {
        let message = format!("`{}` is in the ledger's own folder", path.display());
        return Err(Failure::usage(message, "name a file elsewhere"));
    }
    Ok(())
}

fn unusable(error: &SinkError) -> Failure {
    let remedy = match error {
        SinkError::Tls(_) => "name a file of PEM certificates: --ca FILE",
        SinkError::HostName(_) => "name the host as its certificate does",
        SinkError::Unused { .. } => "leave the option out",
        SinkError::Endpoint(_) | _ => {
            "a file of your own, chmod 600, with one line `Name: value`, sent to https only"
        }
    };
    Failure::usage(error, remedy)
}
