//! `tollgate alerts run`: delivers the alerts that the policy names, each behind a cursor of its own, so
//! that one webhook that is not there keeps no other from its alerts.

use crate::args::{AlertsArguments, AlertsCommand, AlertsRunArguments, Globals};
use crate::desk::{Desk, LINE_CHARS_MAX};
use crate::exit::{Exit, Failure};
use crate::output::{say, tell_people};
use crate::passing_on::{self, Known, ended, known, severities};
use std::thread;
use tollgate::gate::Json;
use tollgate::gate::text::shown;
use tollgate::policy::AlertInfo;
use tollgate::store::Book;
use tollgate_export::{
    AlertRule, Alerter, Cursor, Done, Endpoint, Severity, Until, run as pass_on,
};

pub(crate) fn run(globals: &Globals, arguments: &AlertsArguments) -> Result<Exit, Failure> {
    let AlertsCommand::Run(arguments) = &arguments.command;
    let desk = Desk::new(globals)?;
    // Unlike an export, this does what the policy says: one that does not load says nothing.
    let policy = desk.load()?;
    let alerts = &policy.settings.alerts;
    if alerts.is_empty() {
        return Err(Failure::usage(
            "the policy names no alerts",
            "add `alerts:` to the user's or the managed policy; docs/export.md has an example",
        ));
    }
    let known =
        Known { severities: severities(&policy), ..known(&desk, arguments.ledger.as_deref())? };
    let ended: Vec<Result<Done, Failure>> = thread::scope(|scope| {
        let known = &known;
        let runs: Vec<_> = alerts
            .iter()
            .map(|info| scope.spawn(move || deliver(known, info, arguments)))
            .collect();
        let lost = |_| Err(Failure::internal("a thread of an alert ended"));
        runs.into_iter().map(|run| run.join().unwrap_or_else(lost)).collect()
    });
    let mut exit = Exit::Done;
    for done in ended {
        if done?.lost > 0 {
            exit = Exit::No;
        }
    }
    Ok(exit)
}

fn deliver(
    known: &Known,
    info: &AlertInfo,
    arguments: &AlertsRunArguments,
) -> Result<Done, Failure> {
    let unusable = |error: &dyn std::fmt::Display| {
        let message = format!("the alert `{}`: {error}", info.name);
        Failure::usage(message, "mend the file that it names, or the policy")
    };
    let mut alerter =
        Alerter::new(rule(info), known.severities.clone()).map_err(|error| unusable(&error))?;
    let mut cursor = Cursor::open(&known.cursors, &known.ledger, &format!("alert {}", info.name))
        .map_err(|error| passing_on::cursor_failed(&error))?;
    if arguments.restart || cursor.mark().is_none() {
        let book = Book::open(&known.ledger).map_err(|error| unusable(&error))?;
        let end = book.end().ok_or_else(|| {
            Failure::usage("the ledger's head is missing", "it is made again with the next record")
        })?;
        say(&format!("{}: begins behind record {}\n", info.name, end.seq))?;
        cursor.save(end, Json::Null).map_err(|error| passing_on::cursor_failed(&error))?;
    }
    let until = if arguments.follow { Until::Stopped } else { Until::End };
    let done = pass_on(&known.ledger, &mut cursor, &mut alerter, until, &|| false, &mut |notice| {
        let text = passing_on::told(&notice);
        let name = shown(&info.name, LINE_CHARS_MAX);
        tell_people(format_args!("{name}: {}", shown(&text, LINE_CHARS_MAX * 2)));
    });
    let done = done.map_err(|error| ended(&error, "--restart"))?;
    let (sent, records) = (alerter.sent(), done.records);
    say(&format!("{}: sent {sent} alerts, looked at {records} records\n", info.name))?;
    Ok(done)
}

fn rule(info: &AlertInfo) -> AlertRule {
    AlertRule {
        name: info.name.clone(),
        endpoint: Endpoint {
            url: info.to.clone(),
            header_file: info.header_file.clone(),
            ca_file: info.ca_file.clone(),
        },
        severity: info.severity.as_deref().and_then(Severity::from_name),
        refusals_a_minute: info.refusals_per_minute,
    }
}
