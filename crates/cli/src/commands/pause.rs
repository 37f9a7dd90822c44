//! `tollgate pause`: hooks only watch for a while. It ends by itself; locked hooks stay in force.

use super::hooks::after;
use crate::args::{Globals, PauseArguments};
use crate::desk::Desk;
use crate::exit::{Exit, Failure};
use crate::output::say;
use std::fmt::Write as _;
use tollgate::gate::{DefaultVote, EventKind, RecordKind};
use tollgate::places::user_name;
use tollgate::policy::{HookInfo, Loaded};
use tollgate::{Switch, SwitchesError};

pub(crate) fn run(globals: &Globals, arguments: &PauseArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let loaded = desk.load()?;
    let reason = arguments.reason.as_str();
    let Some(time) = arguments.time else { return end(&desk, &loaded, reason) };
    let since = desk.now();
    let until = after(since, time);
    let switch = Switch { reason: reason.to_owned(), since, until: Some(until), by: user_name() };
    desk.change(|switches| {
        switches.pause(switch)?;
        record(&desk, &loaded, "pause", reason, Some(until.to_string()))
    })?;
    let mut out = format!("paused until {until}: hooks only watch, the ledger goes on\n");
    let locked: Vec<HookInfo> = loaded.hooks().filter(|hook| hook.locked).collect();
    for hook in &locked {
        let _ = writeln!(out, "  stays in force: `{}` (locked, {})", hook.name, hook.at);
    }
    for kind in EventKind::ALL {
        let word = match loaded.ruleset.settings().default_at(kind) {
            DefaultVote::Allow => continue,
            DefaultVote::Ask => "asked for",
            DefaultVote::Deny => "refused",
        };
        let _ = writeln!(out, "  stays in force: a {kind} that no hook allows is {word}");
    }
    say(&out)?;
    Ok(Exit::Done)
}

fn end(desk: &Desk, loaded: &Loaded, reason: &str) -> Result<Exit, Failure> {
    if reason.trim().is_empty() {
        return Err(SwitchesError::Reason.into());
    }
    if desk.switches()?.paused(desk.now()).is_none() {
        say("no pause holds\n")?;
        return Ok(Exit::Done);
    }
    desk.change(|switches| {
        switches.resume();
        record(desk, loaded, "resume", reason, None)
    })?;
    say("the pause has ended: hooks are in force\n")?;
    Ok(Exit::Done)
}

fn record(
    desk: &Desk,
    loaded: &Loaded,
    what: &str,
    reason: &str,
    until: Option<String>,
) -> Result<(), Failure> {
    let detail =
        [("switch", Some(what.to_owned())), ("reason", Some(reason.to_owned())), ("until", until)];
    desk.record(loaded, RecordKind::Switch, None, &detail)
}
