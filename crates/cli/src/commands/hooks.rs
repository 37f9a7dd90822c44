//! `tollgate hooks`: which hooks there are, and switching one off for a while. Recorded first, then
//! done; a locked hook stays.

use crate::args::{Format, Globals, HooksArguments, HooksCommand};
use crate::desk::{Desk, LINE_CHARS_MAX};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use tollgate::gate::text::shown;
use tollgate::gate::{RecordKind, Timestamp};
use tollgate::places::user_name;
use tollgate::policy::{HookInfo, Loaded};
use tollgate::{Switch, Switches};

pub(crate) fn run(globals: &Globals, arguments: &HooksArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let loaded = desk.load()?;
    match &arguments.command {
        HooksCommand::List { format } => list(&desk, &loaded, *format),
        HooksCommand::Disable { name, reason, time } => {
            disable(&desk, &loaded, name, reason, *time)
        }
        HooksCommand::Enable { name, reason } => enable(&desk, &loaded, name, reason),
    }
}

/// What holds of a hook at this moment, in one word and with its end.
pub(crate) fn state(
    hook: &HookInfo,
    switches: &Switches,
    now: Timestamp,
) -> (&'static str, String) {
    let of_switch = |switch: &Switch| {
        let until = switch.until.map_or_else(String::new, |until| format!(" until {until}"));
        format!("{until} by {}: {}", shown(&switch.by, 40), shown(&switch.reason, LINE_CHARS_MAX))
    };
    if !hook.enabled {
        return ("off", " in the policy".to_owned());
    }
    if !hook.locked {
        if let Some((_, switch)) = switches.disabled(now).find(|(name, _)| *name == hook.name) {
            return ("disabled", of_switch(switch));
        }
        if let Some(pause) = switches.paused(now).filter(|_| hook.action != "allow") {
            return ("paused", of_switch(pause));
        }
    }
    if hook.dry_run {
        return ("dry", " in the policy".to_owned());
    }
    ("on", String::new())
}

fn list(desk: &Desk, loaded: &Loaded, format: Format) -> Result<Exit, Failure> {
    let (switches, now) = (desk.switches()?, desk.now());
    let hooks: Vec<HookInfo> = loaded.hooks().collect();
    if format == Format::Json {
        let hooks: Vec<Value> = hooks.iter().map(|hook| as_json(hook, &switches, now)).collect();
        let whole = json!({ "version": 1, "policy": *loaded.digest, "hooks": hooks });
        answer(&format!("{whole:#}\n"))?;
        return Ok(Exit::Done);
    }
    let name = |hook: &HookInfo| shown(&hook.name, 60).to_string();
    let width = hooks.iter().map(|hook| name(hook).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for hook in &hooks {
        let (word, more) = state(hook, &switches, now);
        let kinds = hook.on.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let locked = if hook.locked { ", locked" } else { "" };
        let _ = writeln!(
            out,
            "{:width$}  {word:8}  {:<12} {kinds}  ({}, {}{locked})",
            name(hook),
            hook.action,
            hook.layer,
            hook.at
        );
        if !more.is_empty() && word != "on" {
            let _ = writeln!(out, "{:width$}  {word}{more}", "");
        }
    }
    if hooks.is_empty() {
        out.push_str("the policy has no hooks\n");
    }
    say(&out)?;
    Ok(Exit::Done)
}

fn as_json(hook: &HookInfo, switches: &Switches, now: Timestamp) -> Value {
    let mut out = serde_json::to_value(hook).unwrap_or_default();
    let (word, _) = state(hook, switches, now);
    if let Some(object) = out.as_object_mut() {
        object.insert("state".to_owned(), word.into());
    }
    out
}

/// No policy has this hook and nothing tells of it; which there are.
pub(crate) fn unknown_hook(name: &str, loaded: &Loaded) -> Failure {
    let known: Vec<String> = loaded.hooks().map(|hook| format!("`{}`", hook.name)).collect();
    let known = match known.is_empty() {
        true => "the policy in force has no hooks".to_owned(),
        false => format!("the policy in force has {}", known.join(", ")),
    };
    Failure::usage(
        format!("nothing tells of a hook `{}`", shown(name, LINE_CHARS_MAX)),
        shown(&known, LINE_CHARS_MAX * 4).to_string(),
    )
}

fn find(loaded: &Loaded, name: &str) -> Result<HookInfo, Failure> {
    loaded.hooks().find(|hook| hook.name == name).ok_or_else(|| {
        Failure::usage(
            format!("there is no hook `{}` in force here", shown(name, LINE_CHARS_MAX)),
            "`tollgate hooks list` names them",
        )
    })
}

fn disable(
    desk: &Desk,
    loaded: &Loaded,
    name: &str,
    reason: &str,
    time: Option<Duration>,
) -> Result<Exit, Failure> {
    let hook = find(loaded, name)?;
    if hook.locked {
        return Err(Failure::usage(
            format!("the hook `{name}` is locked and cannot be disabled ({})", hook.at),
            format!("who may change the {} policy can take the lock out", hook.layer),
        ));
    }
    let since = desk.now();
    let until = time.map(|time| after(since, time));
    let switch = Switch { reason: reason.to_owned(), since, until, by: user_name() };
    desk.change(|switches| {
        switches.disable(name, switch)?;
        record(desk, loaded, name, "disable", reason, until)
    })?;
    let until = until.map_or("until it is enabled again".to_owned(), |u| format!("until {u}"));
    say(&format!("disabled `{name}` {until}\n"))?;
    Ok(Exit::Done)
}

fn enable(desk: &Desk, loaded: &Loaded, name: &str, reason: &str) -> Result<Exit, Failure> {
    // A hook that is gone can still stand among the switches.
    let known = find(loaded, name);
    let is_disabled = desk.switches()?.disabled(desk.now()).any(|(hook, _)| hook == name);
    if !is_disabled {
        let hook = known?;
        if !hook.enabled {
            return Err(Failure::usage(
                format!("the hook `{name}` is off in the policy ({})", hook.at),
                "change the policy: a switch only takes back a switch",
            ));
        }
        say(&format!("`{name}` is not disabled\n"))?;
        return Ok(Exit::Done);
    }
    desk.change(|switches| {
        switches.enable(name);
        record(desk, loaded, name, "enable", reason, None)
    })?;
    say(&format!("enabled `{name}`\n"))?;
    Ok(Exit::Done)
}

fn record(
    desk: &Desk,
    loaded: &Loaded,
    name: &str,
    what: &str,
    reason: &str,
    until: Option<Timestamp>,
) -> Result<(), Failure> {
    let until = until.map(|until| until.to_string());
    let detail =
        [("switch", Some(what.to_owned())), ("reason", Some(reason.to_owned())), ("until", until)];
    desk.record(loaded, RecordKind::Switch, Some(name), &detail)
}

/// The moment that is this much later.
pub(crate) fn after(since: Timestamp, time: Duration) -> Timestamp {
    since.plus_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
