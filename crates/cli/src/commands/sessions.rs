//! `tollgate sessions`: who acts and what was counted; ending a session, and taking that back.

use crate::args::{Format, Globals, SessionsArguments, SessionsCommand};
use crate::desk::{Desk, LINE_CHARS_MAX, misplaced};
use crate::exit::{Exit, Failure};
use crate::ids;
use crate::output::{answer, say, tell_people};
use crate::table::{Cell, Column, Look, table};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tollgate::gate::text::shown;
use tollgate::gate::{Aborted, Code, RecordKind, Timestamp};
use tollgate::places::user_name;
use tollgate::store::{DiskState, SessionFault, SessionShown};

pub(crate) fn run(globals: &Globals, arguments: &SessionsArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let state = state_of(&desk)?;
    match &arguments.command {
        SessionsCommand::List { form } => list(&desk, &state, form.format()),
        SessionsCommand::Show { id, form } => show(&state, id, form.format()),
        SessionsCommand::Abort { id, reason } => abort(&desk, &state, id, reason),
        SessionsCommand::Resume { id, reason } => resume(&desk, &state, id, reason),
    }
}

/// The state on disk.
pub(crate) fn state_of(desk: &Desk) -> Result<DiskState, Failure> {
    let folder = desk.places.state().map_err(|error| misplaced(&error))?;
    Ok(DiskState::new(&folder, desk.clock.clone(), None))
}

/// The sessions that can be read; the others are told of.
pub(crate) fn readable(state: &DiskState) -> Result<Vec<SessionShown>, Failure> {
    let (mut all, mut unread) = (Vec::new(), None);
    for session in state.sessions().map_err(|fault| failed(&fault))? {
        match session {
            Ok(session) => all.push(session),
            Err(fault) => {
                tell_people(format_args!("warning: {}", shown(&fault.to_string(), usize::MAX)));
                unread = Some(fault);
            }
        }
    }
    match unread.filter(|_| all.is_empty()) {
        // What cannot be read is not the same as nothing.
        Some(fault) => Err(failed(&fault)),
        None => Ok(all),
    }
}

fn list(desk: &Desk, state: &DiskState, format: Format) -> Result<Exit, Failure> {
    let mut all = readable(state)?;
    all.sort_by_key(|session| std::cmp::Reverse(session.seen_at));
    if format == Format::Json {
        let all: Vec<Value> = all.iter().map(as_json).collect();
        answer(&format!("{}\n", json!({ "version": 1, "sessions": all })))?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        say("no sessions are known here\n")?;
        return Ok(Exit::Done);
    }
    let now = desk.now();
    let columns = [
        Column::text("SESSION", ids::least(all.iter().map(|session| &*session.id))),
        Column::text("STATE", 5),
        Column::text("WHO", 10),
        Column::number("CALLS"),
        Column::number("REFUSED"),
        Column::text("LAST", 7),
    ];
    let rows: Vec<Vec<Cell>> = all
        .iter()
        .map(|session| {
            let (state, look) = if session.aborted.is_some() {
                ("ended", Look::Red)
            } else {
                ("open", Look::Plain)
            };
            let who = [session.user.as_deref(), session.agent.as_deref(), session.host.as_deref()];
            let who: Vec<&str> = who.into_iter().flatten().collect();
            vec![
                Cell::plain(&*session.id),
                Cell::new(state, look),
                Cell::plain(who.join("/")),
                Cell::plain(session.counters.tool_calls_attempted.to_string()),
                Cell::plain(session.counters.tool_calls_refused.to_string()),
                Cell::new(ago(session.seen_at, now), Look::Dim),
            ]
        })
        .collect();
    answer(&table(&columns, &rows))?;
    Ok(Exit::Done)
}

fn show(state: &DiskState, id: &str, format: Format) -> Result<Exit, Failure> {
    let session = known(state, id)?;
    if format == Format::Json {
        answer(&format!("{}\n", json!({ "version": 1, "session": as_json(&session) })))?;
        return Ok(Exit::Done);
    }
    let mut out = format!("{}\n", shown(&session.id, LINE_CHARS_MAX));
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "  {key:<10} {}", shown(value, LINE_CHARS_MAX));
        }
    };
    let text =
        |value: &Option<tollgate::gate::Name>| value.as_deref().unwrap_or_default().to_owned();
    line("user", &text(&session.user));
    line("agent", &text(&session.agent));
    line("host", &text(&session.host));
    line("tenant", &text(&session.tenant));
    line("workspace", &text(&session.workspace));
    line("below", &session.ancestors.join(", "));
    line("labels", &session.labels.join(", "));
    line("started", &session.started_at.to_string());
    line("last", &session.seen_at.to_string());
    let counted = &session.counters;
    let calls = format!(
        "{} asked for, {} ran, {} refused",
        counted.tool_calls_attempted, counted.tool_calls_executed, counted.tool_calls_refused
    );
    line("calls", &calls);
    let models = format!(
        "{} calls, {} tokens in, {} out",
        counted.model_calls, counted.tokens_in, counted.tokens_out
    );
    line("models", &models);
    match &session.aborted {
        Some(ended) => line("ended", &format!("{}: {}", ended.code, ended.reason)),
        None => line("ended", "no"),
    }
    say(&out)?;
    Ok(Exit::Done)
}

fn abort(desk: &Desk, state: &DiskState, asked: &str, reason: &str) -> Result<Exit, Failure> {
    if asked.trim().is_empty() {
        return Err(Failure::usage("a session is wanted", "`tollgate sessions list` names them"));
    }
    let known = find(state, asked)?;
    let is_known = known.is_some();
    let id = known.as_ref().map_or(asked, |known| &*known.id);
    if known.as_ref().is_some_and(|known| known.aborted.is_some()) {
        say("it was ended before: the first reason stays\n")?;
        return Ok(Exit::No);
    }
    record(desk, "abort", id, reason)?;
    let reason = format!("{} ended it: {reason}", user_name());
    let aborted = Aborted { code: Code::SessionAborted, reason: reason.into(), hook: None };
    state.end(id, &aborted).map_err(|fault| failed(&fault))?;
    let id = shown(id, LINE_CHARS_MAX);
    say(&format!("`{id}` is ended: every later event of it and of its children is refused\n"))?;
    if !is_known {
        tell_people(format_args!(
            "note: session `{id}` has not been seen yet; `tollgate sessions list` names those that \
             were; to take it back: tollgate sessions resume"
        ));
    }
    Ok(Exit::Done)
}

fn resume(desk: &Desk, state: &DiskState, asked: &str, reason: &str) -> Result<Exit, Failure> {
    let known = known(state, asked)?;
    if known.aborted.is_none() {
        say("it was not ended\n")?;
        return Ok(Exit::No);
    }
    record(desk, "resume", &known.id, reason)?;
    state.resume(&known.id).map_err(|fault| failed(&fault))?;
    say(&format!("`{}` is resumed\n", shown(&known.id, LINE_CHARS_MAX)))?;
    Ok(Exit::Done)
}

fn record(desk: &Desk, action: &str, id: &str, reason: &str) -> Result<(), Failure> {
    if reason.trim().is_empty() {
        return Err(Failure::usage("a reason is wanted", "say why: --reason \"...\""));
    }
    let policy = desk.load()?;
    let detail = [
        ("action", Some(action.to_owned())),
        ("session", Some(id.to_owned())),
        ("reason", Some(reason.to_owned())),
    ];
    desk.record(&policy, RecordKind::SessionAbort, None, &detail)
}

fn known(state: &DiskState, asked: &str) -> Result<SessionShown, Failure> {
    find(state, asked)?.ok_or_else(|| {
        let message = format!("there is no session `{}`", shown(asked, LINE_CHARS_MAX));
        Failure::usage(message, "`tollgate sessions list` names them")
    })
}

/// The session that is meant. The whole id is looked up by itself: another's file may be damaged.
fn find(state: &DiskState, asked: &str) -> Result<Option<SessionShown>, Failure> {
    if let Some(found) = state.session(asked).map_err(|fault| failed(&fault))? {
        return Ok(Some(found));
    }
    let all = readable(state)?;
    let id = ids::meant(asked, "session", all.iter().map(|session| &*session.id))?;
    Ok(id.and_then(|id| all.iter().find(|session| &*session.id == id)).cloned())
}

pub(crate) fn failed(fault: &SessionFault) -> Failure {
    match fault {
        SessionFault::Damaged { file } | SessionFault::Unreadable { file, .. } => Failure::usage(
            fault,
            format!(
                "its events are refused; take the file away to begin it anew, unended and uncounted: \
                 {}",
                file.display()
            ),
        ),
        SessionFault::Newer { .. } => Failure::usage(fault, "use the newer program"),
        SessionFault::Gone
        | SessionFault::Io { .. }
        | SessionFault::Busy { .. }
        | SessionFault::TooLarge { .. }
        | SessionFault::Full(_)
        | SessionFault::Folder(_) => Failure::internal(fault),
    }
}

/// How long ago.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    match now.since(at).as_secs() {
        s if s < 60 => format!("{s}s ago"),
        s if s < 3_600 => format!("{}m ago", s / 60),
        s if s < 86_400 => format!("{}h ago", s / 3_600),
        s => format!("{}d ago", s / 86_400),
    }
}

fn as_json(session: &SessionShown) -> Value {
    let counted = &session.counters;
    json!({
        "id": &*session.id,
        "root": &*session.root,
        "ancestors": session.ancestors.iter().map(|id| &**id).collect::<Vec<_>>(),
        "tenant": session.tenant.as_deref(),
        "user": session.user.as_deref(),
        "agent": session.agent.as_deref(),
        "host": session.host.as_deref(),
        "workspace": session.workspace.as_deref(),
        "started_at": session.started_at.to_string(),
        "seen_at": session.seen_at.to_string(),
        "labels": session.labels.iter().map(|label| &**label).collect::<Vec<_>>(),
        "counters": {
            "tool_calls_attempted": counted.tool_calls_attempted,
            "tool_calls_executed": counted.tool_calls_executed,
            "tool_calls_refused": counted.tool_calls_refused,
            "model_calls": counted.model_calls,
            "tokens_in": counted.tokens_in,
            "tokens_out": counted.tokens_out,
            "cost_micros": counted.cost_micros,
        },
        "aborted": session.aborted.as_ref().map(|ended| json!({
            "code": ended.code.as_str(),
            "reason": &*ended.reason,
            "hook": ended.hook.as_deref(),
        })),
        "open_calls": session.open_calls,
    })
}
