//! `tollgate limits`: what limits and breakers have counted, and forgetting it.

use crate::args::{Format, Globals, LimitsArguments, LimitsCommand};
use crate::commands::approvals::unusable;
use crate::commands::hooks::unknown_hook;
use crate::commands::sessions::{ago, state_of};
use crate::desk::{Desk, LINE_CHARS_MAX};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tollgate::gate::state::BreakerPart;
use tollgate::gate::text::shown;
use tollgate::gate::{Name, RecordKind};
use tollgate::store::{DiskState, LimitShown};

pub(crate) fn run(globals: &Globals, arguments: &LimitsArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let state = state_of(&desk)?;
    match &arguments.command {
        LimitsCommand::Show { hook, format } => show(&desk, &state, hook.as_deref(), *format),
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
    }
    let mut out = String::new();
    for limit in &all {
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
        if said.is_empty() {
            said.push("nothing counts now".to_owned());
        }
        let when = ago(limit.touched_at, desk.now());
        let _ = writeln!(out, "{}  {}  {when}", shown(&limit.key, LINE_CHARS_MAX), said.join(", "));
    }
    say(&out)?;
    Ok(Exit::Done)
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
    let keys: Vec<Name> = all
        .into_iter()
        .map(|limit| limit.key)
        .filter(|known| is_of(hook, known) && key.is_none_or(|key| **known == *key))
        .collect();
    if keys.is_empty() {
        say("nothing was counted for it\n")?;
        return Ok(Exit::No);
    }
    let policy = desk.load()?;
    let detail = [
        ("action", Some("limits reset".to_owned())),
        ("keys", Some(keys.len().to_string())),
        ("key", key.map(str::to_owned)),
        ("reason", Some(reason.to_owned())),
    ];
    desk.record(&policy, RecordKind::Switch, Some(hook), &detail)?;
    let gone = state.reset_limits(&keys).map_err(|error| unusable(&error))?;
    say(&format!("forgotten: {gone} of its counts\n"))?;
    Ok(Exit::Done)
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
