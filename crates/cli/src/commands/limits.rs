//! `tollgate limits`: what limits and breakers have counted, and forgetting it.

use crate::args::{Format, Globals, LimitsArguments, LimitsCommand};
use crate::commands::approvals::unusable;
use crate::commands::hooks::unknown_hook;
use crate::commands::sessions::{ago, state_of};
use crate::desk::Desk;
use crate::exit::{Exit, Failure};
use crate::ids;
use crate::output::{answer, say};
use crate::table::{Cell, Column, Look, table};
use serde_json::{Value, json};
use tollgate::gate::state::BreakerPart;
use tollgate::gate::{Name, RecordKind};
use tollgate::store::{DiskState, LimitShown};

pub(crate) fn run(globals: &Globals, arguments: &LimitsArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let state = state_of(&desk)?;
    match &arguments.command {
        LimitsCommand::Show { hook, form } => show(&desk, &state, hook.as_deref(), form.format()),
        LimitsCommand::Reset { hook, key, reason } => {
            reset(&desk, &state, hook, key.as_deref(), reason)
        }
    }
}

fn show(
    desk: &Desk,
    state: &DiskState,
    hook: Option<&str>,
    format: Format,
) -> Result<Exit, Failure> {
    let mut all = state.limits().map_err(|error| unusable(&error))?;
    all.retain(|limit| hook.is_none_or(|hook| is_of(hook, &limit.key)));
    if let (Some(hook), true, Ok(loaded)) = (hook, all.is_empty(), desk.load())
        && loaded.hooks().all(|known| known.name != hook)
    {
        return Err(unknown_hook(hook, &loaded));
    }
    if format == Format::Json {
        let all: Vec<Value> = all.iter().map(as_json).collect();
        answer(&format!("{}\n", json!({ "version": 1, "limits": all })))?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        say("nothing was counted\n")?;
        return Ok(Exit::Done);
    }
    let keys: Vec<(String, String)> = all.iter().map(|limit| readable(&limit.key)).collect();
    let columns = [
        Column::text("HOOK", 10),
        Column::text("KEY", ids::least(keys.iter().map(|(_, key)| &**key))),
        Column::text("COUNTED", 15),
        Column::text("LAST", 7),
    ];
    let rows: Vec<Vec<Cell>> = all
        .iter()
        .zip(&keys)
        .map(|(limit, (hook, key))| {
            vec![
                Cell::plain(hook),
                Cell::plain(key),
                Cell::plain(counted(limit)),
                Cell::new(ago(limit.touched_at, desk.now()), Look::Dim),
            ]
        })
        .collect();
    answer(&table(&columns, &rows))?;
    Ok(Exit::Done)
}

/// What counts now.
fn counted(limit: &LimitShown) -> String {
    let account = &limit.account;
    let mut said = Vec::new();
    let in_window: u64 = account.used.iter().map(|(_, amount)| *amount).sum();
    for (count, what) in
        [(in_window, "in the window"), (account.total, "in all"), (account.running, "running")]
    {
        if count > 0 {
            said.push(format!("{count} {what}"));
        }
    }
    match account.breaker {
        BreakerPart::Closed => {}
        BreakerPart::OpenUntil(until) => said.push(format!("open until {until}")),
        BreakerPart::Probing(_) => said.push("one call is probing".to_owned()),
    }
    if said.is_empty() { "nothing counts now".to_owned() } else { said.join(", ") }
}

/// A key as people read it: the hook, and the rest without the lengths that stand before names.
fn readable(key: &str) -> (String, String) {
    let (hook, mut rest) = named(key).unwrap_or(("", key));
    rest = rest.strip_prefix('/').unwrap_or(rest);
    let mut out = String::new();
    while let Some((before, behind)) = rest.split_once('=') {
        let (name, behind) = named(behind).unwrap_or(("", behind));
        out.extend([before, "=", name]);
        rest = behind;
    }
    out.push_str(rest);
    (hook.to_owned(), out)
}

/// A name behind its length, and what follows it.
fn named(text: &str) -> Option<(&str, &str)> {
    let (length, rest) = text.split_once(':')?;
    rest.split_at_checked(length.parse().ok()?)
}

fn reset(
    desk: &Desk,
    state: &DiskState,
    hook: &str,
    key: Option<&str>,
    reason: &str,
) -> Result<Exit, Failure> {
    if reason.trim().is_empty() {
        return Err(Failure::usage("a reason is wanted", "say why: --reason \"...\""));
    }
    let all = state.limits().map_err(|error| unusable(&error))?;
    let of_hook = all.into_iter().map(|limit| limit.key).filter(|known| is_of(hook, known));
    let keys = meant(of_hook.collect(), key)?;
    if keys.is_empty() {
        say("nothing was counted for it\n")?;
        return Ok(Exit::No);
    }
    let policy = desk.load()?;
    let detail = [
        ("action", Some("limits reset".to_owned())),
        ("keys", Some(keys.len().to_string())),
        ("key", key.and_then(|_| keys.first()).map(ToString::to_string)),
        ("reason", Some(reason.to_owned())),
    ];
    desk.record(&policy, RecordKind::Switch, Some(hook), &detail)?;
    let gone = state.reset_limits(&keys).map_err(|error| unusable(&error))?;
    say(&format!("forgotten: {gone} of its counts\n"))?;
    Ok(Exit::Done)
}

/// The keys that are meant: all, or the one that is asked for, as it is kept or as it is shown.
fn meant(all: Vec<Name>, asked: Option<&str>) -> Result<Vec<Name>, Failure> {
    let Some(asked) = asked else { return Ok(all) };
    if let Some(exact) = all.iter().find(|known| ***known == *asked) {
        return Ok(vec![Name::clone(exact)]);
    }
    let shown: Vec<String> = all.iter().map(|known| readable(known).1).collect();
    let meant = ids::meant(asked, "key", shown.iter().map(String::as_str))?;
    let is_meant = |known: &Name| meant.is_some_and(|meant| readable(known).1 == meant);
    Ok(all.into_iter().filter(is_meant).collect())
}

/// Whether a key is a hook's: it starts with the length of the hook's name and the name.
fn is_of(hook: &str, key: &str) -> bool {
    key.starts_with(&format!("{}:{hook}/", hook.len()))
}

fn as_json(limit: &LimitShown) -> Value {
    let account = &limit.account;
    let breaker = match account.breaker {
        BreakerPart::Closed => json!(null),
        BreakerPart::OpenUntil(until) => json!({ "open_until": until.to_string() }),
        BreakerPart::Probing(_) => json!("probing"),
    };
    json!({
        "key": &*limit.key,
        "in_window": account.used.iter().map(|(_, amount)| *amount).sum::<u64>(),
        "in_all": account.total,
        "running": account.running,
        "held": account.estimated,
        "breaker": breaker,
        "counted_at": limit.touched_at.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn a_key_is_read_without_the_lengths_that_tell_its_names_apart() {
        let key = "12:one-a-minute/rate session=4:a=5: tool=4:slow";
        let (hook, rest) = readable(key);
        assert_eq!((&*hook, &*rest), ("one-a-minute", "rate session=a=5: tool=slow"));
        assert_eq!(readable("odd"), (String::new(), "odd".to_owned()));
    }
}
