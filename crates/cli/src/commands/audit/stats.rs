//! `tollgate audit stats`: how many records there are, and what each hook did in them.

use super::Place;
use super::row::duration;
use crate::args::StatsArguments;
use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::past::unreadable;
use crate::table::{Cell, Column, table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tollgate::gate::text::shown;
use tollgate::store::{Counts, HookCounts};

pub(super) fn run(place: &Place, arguments: &StatsArguments) -> Result<Exit, Failure> {
    let filter = place.filter(&arguments.which, arguments.no_index)?;
    let index = if arguments.no_index { None } else { place.index()? };
    let counts = match index {
        Some(mut index) => index.counts(&filter).map_err(Failure::internal)?,
        None => {
            let mut counts = Counts::default();
            for entry in place.book()?.entries() {
                let entry = entry.map_err(|error| unreadable(&error))?;
                if filter.matches(&entry.line.json) {
                    counts.take(&entry.line.json);
                }
            }
            counts
        }
    };
    answer(&match arguments.json {
        true => format!("{:#}\n", as_json(&counts)),
        false => as_text(&counts),
    })?;
    Ok(Exit::Done)
}

fn as_json(counts: &Counts) -> Value {
    let hook = |hook: &HookCounts| {
        json!({
            "asked": hook.asked,
            "hits": hook.hits,
            "would": hook.would,
            "faults": hook.faults,
            "failed_open": hook.failed_open,
            "us": hook.us,
        })
    };
    let hooks: serde_json::Map<String, Value> =
        counts.hooks.iter().map(|(name, counts)| (name.clone(), hook(counts))).collect();
    json!({
        "version": 1,
        "records": counts.records,
        "erased": counts.erased,
        "from": counts.span.map(|(from, _)| from.to_string()),
        "to": counts.span.map(|(_, to)| to.to_string()),
        "kinds": counts.kinds,
        "verdicts": counts.verdicts,
        "codes": counts.codes,
        "unknown_outcomes": counts.unknown,
        "hooks": hooks,
    })
}

fn as_text(counts: &Counts) -> String {
    let mut out = format!("{} records", counts.records);
    if let Some((from, to)) = counts.span {
        let _ = write!(out, " from {from} to {to}");
    }
    out.push('\n');
    let mut line = |name: &str, counts: &BTreeMap<String, u64>| {
        if !counts.is_empty() {
            let each = counts.iter().map(|(what, many)| format!("{} {many}", shown(what, 60)));
            let _ = writeln!(out, "  {name:<10} {}", each.collect::<Vec<_>>().join(", "));
        }
    };
    line("kinds", &counts.kinds);
    line("verdicts", &counts.verdicts);
    line("codes", &counts.codes);
    if counts.unknown > 0 {
        let _ = writeln!(out, "  outcomes that never came: {}", counts.unknown);
    }
    if counts.erased > 0 {
        let _ = writeln!(out, "  erased: {}", counts.erased);
    }
    if counts.hooks.is_empty() {
        return out;
    }
    const COLUMNS: [Column; 7] = [
        Column::text("HOOK", 12),
        Column::number("ASKED"),
        Column::number("HITS"),
        Column::number("WOULD"),
        Column::number("FAULTS"),
        Column::number("OPEN"),
        Column::number("MEAN"),
    ];
    let mut hooks: Vec<_> = counts.hooks.iter().collect();
    hooks.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.hits + counts.would + counts.faults));
    let rows: Vec<Vec<Cell>> = hooks
        .into_iter()
        .map(|(name, hook)| {
            let mean = duration(hook.us.checked_div(hook.asked).unwrap_or_default());
            let numbers = [hook.asked, hook.hits, hook.would, hook.faults, hook.failed_open];
            let numbers = numbers.into_iter().map(|number| Cell::plain(number.to_string()));
            let row = std::iter::once(Cell::plain(name)).chain(numbers);
            row.chain([Cell::plain(mean)]).collect()
        })
        .collect();
    format!("{out}\n{}", table(&COLUMNS, &rows))
}
