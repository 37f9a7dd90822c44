//! `tollgate review`: what hooks found or would have done, looked at by a person.

use super::audit::{Place, at};
use crate::args::{Globals, ListItems, MarkArguments, ReviewArguments, ReviewCommand};
use crate::desk::{LINE_CHARS_MAX, misplaced};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use crate::past::{resolve, unreadable};
use crate::table::{Cell, Column, Look, cut, table, terminal_width};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use tollgate::gate::text::shown;
use tollgate::gate::{Json, Timestamp};
use tollgate::places::user_name;
use tollgate::review::{Item, Mark, Marks, Rate, ReviewError, Score, Scores, items, sample};
use tollgate::store::query::time_of;

pub(crate) fn run(globals: &Globals, arguments: &ReviewArguments) -> Result<Exit, Failure> {
    let place = Place::new(globals, arguments.list.ledger.as_deref())?;
    let state = place.desk.places.state().map_err(|error| misplaced(&error))?;
    let mut marks = Marks::read(&state).map_err(|error| unmarked(&error))?;
    match &arguments.command {
        None => list(&place, &marks, &arguments.list),
        Some(ReviewCommand::True(which)) => mark(&place, &state, &mut marks, which, true),
        Some(ReviewCommand::False(which)) => mark(&place, &state, &mut marks, which, false),
        Some(ReviewCommand::Stats { since, json }) => {
            stats(&place, &marks, at(*since, place.desk.now()), *json)
        }
        Some(ReviewCommand::Labels) => {
            let label = |(id, harmful): (&str, bool)| {
                format!("{}\n", json!({ "id": id, "harmful": harmful }))
            };
            answer(&marks.labels().into_iter().map(label).collect::<String>())?;
            Ok(Exit::Done)
        }
    }
}

fn unmarked(error: &ReviewError) -> Failure {
    Failure::usage(error, "mend its owner and mode, or take the file away and review again")
}

/// All records from then on.
fn each(place: &Place, since: Timestamp, mut take: impl FnMut(&Json)) -> Result<(), Failure> {
    for entry in place.book()?.entries() {
        let entry = entry.map_err(|error| unreadable(&error))?;
        if time_of(&entry.line.json).is_some_and(|at| at >= since) {
            take(&entry.line.json);
        }
    }
    Ok(())
}

fn list(place: &Place, marks: &Marks, arguments: &ListItems) -> Result<Exit, Failure> {
    let is = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted == found)
    };
    let mut found = Vec::new();
    each(place, at(arguments.since, place.desk.now()), |record| {
        let new = items(record).into_iter().filter(|item| {
            is(&arguments.hook, &item.hook)
                && is(&arguments.rule, &item.rule)
                && marks.of(item).is_none()
        });
        found.extend(new);
    })?;
    let all = found.len();
    let taken = sample(found, arguments.sample);
    if arguments.json {
        answer(&taken.iter().map(|item| format!("{}\n", as_json(item))).collect::<String>())?;
        return Ok(Exit::Done);
    }
    if taken.is_empty() {
        say("nothing to review: no finding and no dry-run hit that is not marked\n")?;
        return Ok(Exit::Done);
    }
    let width = terminal_width().unwrap_or(usize::MAX);
    let mut out = format!("{} of {all} that nobody has marked\n", taken.len());
    for item in &taken {
        let what = if item.is_finding { "found" } else { "would have" };
        let head = format!("{}  {what} {}  {}", item.record, item.rule, item.hook);
        let context = shown(&item.context, 2_000).to_string();
        let _ = write!(out, "\n{}\n  {}\n", cut(&head, width), cut(&context, width - 2));
    }
    out.push_str("\nsay `tollgate review true ID` or `tollgate review false ID`;\n");
    out.push_str("with --rule where an ID has several\n");
    say(&out)?;
    Ok(Exit::Done)
}

fn as_json(item: &Item) -> Value {
    json!({
        "record": item.record,
        "hook": item.hook,
        "rule": item.rule,
        "finding": item.is_finding,
        "at": item.at.map(|at| at.to_string()),
        "context": item.context,
        "fingerprint": item.fingerprint,
        "prints": item.prints,
    })
}

fn mark(
    place: &Place,
    state: &Path,
    marks: &mut Marks,
    which: &MarkArguments,
    is_true: bool,
) -> Result<Exit, Failure> {
    let mut found = Vec::new();
    let meant = resolve(&place.book()?, &which.id)?.unwrap_or_else(|| which.id.clone());
    for entry in place.book()?.entries() {
        let entry = entry.map_err(|error| unreadable(&error))?;
        if entry.line.json.get("id").and_then(Json::as_str) == Some(&meant) {
            found.extend(items(&entry.line.json));
        }
    }
    found.retain(|item| {
        which.hook.as_ref().is_none_or(|hook| *hook == item.hook)
            && which.rule.as_ref().is_none_or(|rule| *rule == item.rule)
    });
    let id = shown(&which.id, LINE_CHARS_MAX);
    if found.is_empty() {
        return Err(Failure::usage(
            format!("the ledger has no finding and no dry-run hit of a record `{id}`"),
            "`tollgate review` lists them",
        ));
    }
    let word = if is_true { "right" } else { "a false alarm" };
    for item in &found {
        let mark = Mark {
            record: item.record.clone(),
            hook: item.hook.clone(),
            rule: item.rule.clone(),
            is_true,
            fingerprint: item.fingerprint.clone(),
            prints: item.prints.clone(),
            by: user_name(),
            at: place.desk.now(),
        };
        marks.add(state, mark).map_err(|error| unmarked(&error))?;
        say(&format!("{}: {} of `{}` was {word}\n", item.record, item.rule, item.hook))?;
    }
    Ok(Exit::Done)
}

fn stats(place: &Place, marks: &Marks, since: Timestamp, as_json: bool) -> Result<Exit, Failure> {
    let mut scores = Scores::default();
    each(place, since, |record| scores.take(record))?;
    let scores = scores.with(marks);
    if as_json {
        let rate = |rate: Rate| {
            json!({
                "part": rate.part,
                "whole": rate.whole,
                "share": rate.share(),
                "from": rate.interval().map(|(from, _)| from),
                "to": rate.interval().map(|(_, to)| to),
            })
        };
        let one = |((hook, rule), score): (&(String, String), &Score)| {
            json!({
                "hook": hook,
                "rule": rule,
                "hits": rate(score.hits),
                "false_positives": rate(score.false_positives),
            })
        };
        let rules: Vec<Value> = scores.iter().map(one).collect();
        answer(&format!("{:#}\n", json!({ "version": 1, "rules": rules })))?;
        return Ok(Exit::Done);
    }
    if scores.is_empty() {
        say("no finding and no dry-run hit in this time\n")?;
        return Ok(Exit::Done);
    }
    const COLUMNS: [Column; 6] = [
        Column::text("HOOK", 10),
        Column::text("RULE", 10),
        Column::number("HITS"),
        Column::number("OF ASKED"),
        Column::number("MARKED"),
        Column::text("WRONG (95 %)", 22),
    ];
    let rows: Vec<Vec<Cell>> = scores
        .iter()
        .map(|((hook, rule), score)| {
            let wrong = score.false_positives;
            vec![
                Cell::plain(hook),
                Cell::plain(rule),
                Cell::plain(score.hits.part.to_string()),
                Cell::plain(percent(score.hits.share())),
                Cell::plain(wrong.whole.to_string()),
                Cell::new(interval(wrong), Look::Bold),
            ]
        })
        .collect();
    answer(&table(&COLUMNS, &rows))?;
    Ok(Exit::Done)
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn interval(rate: Rate) -> String {
    match rate.interval() {
        None => "-".to_owned(),
        Some((from, to)) => {
            format!("{} ({:.1} to {:.1})", percent(rate.share()), from * 100.0, to * 100.0)
        }
    }
}
