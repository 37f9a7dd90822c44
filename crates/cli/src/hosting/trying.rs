//! `tollgate try HOST COMMAND`: a shell command as this agent program would tell its hook of it, through
//! the hook's own way: by the very command that stands in its settings, where one does. The command
//! itself is not run. The decision is recorded like any other, under a session of its own, so that
//! `explain --last` and `allow --last` speak of it.

use super::command::Calling;
use super::self_test::{Asked, OWN_SESSIONS, ask};
use super::{Known, file, known, settings_file};
use crate::args::{Format, Globals, Which};
use crate::desk::Desk;
use crate::exit::{Exit, Failure};
use crate::hook::UNDECIDED;
use crate::output::{answer, say};
use crate::past::{self, Last};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use tollgate::gate::text::shown;
use tollgate::{GUARD, refused_always};
use tollgate_hosts::Crash;
use tollgate_hosts::settings::{Scope, standing, stops_a_call};

/// Sends the command through the host's hook, and says what the agent would hear.
pub(crate) fn run(
    globals: &Globals,
    host: &str,
    command: &str,
    cwd: &Path,
    format: Format,
) -> Result<Exit, Failure> {
    let known = known(host)?;
    let desk = Desk::starting_in(globals, cwd)?;
    let (hook, is_installed) = hook(globals, &desk, known)?;
    let session = format!("{OWN_SESSIONS}try-{}", std::process::id());
    let asked = ask(known, &hook, cwd, &session, command).map_err(Failure::internal)?;
    let refusal = asked.refusal(known);
    // Nothing at all, or an object: all else is no answer of a hook that works.
    let answers = asked.code == Some(0)
        && (asked.out.trim().is_empty()
            || serde_json::from_str::<serde_json::Map<_, _>>(asked.out.trim()).is_ok());
    if refusal.is_none() && !answers {
        return Err(broken(known, &asked));
    }
    if format == Format::Json {
        let whole = json!({
            "version": 1,
            "host": host,
            "hook_command": hook,
            "installed": is_installed,
            "ms": asked.took.as_millis(),
            "refused": refusal.is_some(),
            "reason": refusal,
            "exit_code": asked.code,
            "stdout": asked.out,
            "stderr": asked.err,
        });
        answer(&format!("{whole:#}\n"))?;
        return Ok(if refusal.is_some() { Exit::No } else { Exit::Done });
    }
    let title = known.facts.title;
    let mut out = String::new();
    if !is_installed {
        let _ =
            writeln!(out, "note: {title} does not pass Tollgate yet: tollgate install {host}\n");
    }
    let _ = match &refusal {
        Some(reason) if reason.starts_with(UNDECIDED) => writeln!(
            out,
            "REFUSED: nothing could be decided, so {title} runs nothing, and the agent hears\n  {}\n\n\
             why:     tollgate doctor {host}",
            shown(reason, 2_000)
        ),
        Some(reason) => {
            let unless = match reason.contains(GUARD) || is_always_refused(&desk) {
                true => {
                    "no policy lets an agent do this; you can do it yourself, outside of the agent"
                }
                false => "tollgate allow --last",
            };
            writeln!(
                out,
                "REFUSED: {title} does not run it, and the agent hears\n  {}\n\nwhy:     tollgate \
                 explain --last\nunless:  {unless}",
                shown(reason, 2_000)
            )
        }
        None if asked.out.trim().is_empty() && asked.code == Some(0) => {
            writeln!(out, "{title} goes on by its own rules: nothing in the policy is against it")
        }
        None => writeln!(out, "{title} is told\n  {}", shown(asked.out.trim(), 2_000)),
    };
    say(&out)?;
    Ok(if refusal.is_some() { Exit::No } else { Exit::Done })
}

/// Whether the call that was just refused is so under every policy. Where that cannot be told, `allow` says more.
fn is_always_refused(desk: &Desk) -> bool {
    let looked = || {
        let loaded = desk.load().ok()?;
        let past = past::find(desk, &loaded, &Which::default(), None, Last::Refused).ok()?;
        refused_always(&desk.places, &loaded, &past.event).ok()?
    };
    looked().is_some()
}

/// What the host does with a hook that does not work.
fn broken(known: Known, asked: &Asked) -> Failure {
    let facts = known.facts;
    let (crash, switch) = match if asked.overran { facts.on_timeout } else { facts.on_crash } {
        Crash::Open => ("runs the call then", String::new()),
        Crash::OpenUnless(switch) => {
            ("runs the call then", format!(", unless {switch} stands at the hook"))
        }
        Crash::Closed => ("refuses the call then", String::new()),
    };
    Failure::usage(
        format!(
            "the hook does not work, and {} {crash}{switch}: {}",
            facts.title,
            shown(&asked.told(), 2_000)
        ),
        format!("tollgate doctor {}", facts.name),
    )
}

/// The command at the event before a call, and whether it stands in the host's settings.
fn hook(globals: &Globals, desk: &Desk, known: Known) -> Result<(String, bool), Failure> {
    let Some(event) = known.facts.events.iter().find(|event| stops_a_call(event)) else {
        return Err(Failure::internal("a host without an event before a call"));
    };
    for scope in Scope::ALL {
        let Ok(path) = settings_file(desk, known.form, scope) else { continue };
        let file = file::read(&path)?;
        let found = standing(file.text(), known.form, known.facts).unwrap_or_default();
        let ours = found.ours.into_iter().find(|hook| hook.event == event.name);
        if let Some(hook) = ours {
            return Ok((hook.command, true));
        }
    }
    // What keeps the policy from loading is told to the person here; the hook tells the agent less.
    desk.load()?;
    Ok((Calling::trying(globals)?.at(known, event), false))
}
