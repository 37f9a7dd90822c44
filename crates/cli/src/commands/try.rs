//! `tollgate try`: what a command or call would do, and what the policy says about it. Nothing is run.
//!
//! The decision is that of a gate, not of a copy of its rules, with the guard of the gate itself; only
//! that it is neither recorded nor counted.

use crate::args::{Format, Globals, TryArguments};
use crate::commands::decide::quiet_gate;
use crate::desk::{Desk, run as block_on, unopened};
use crate::effects;
use crate::exit::{Exit, Failure};
use crate::hosting;
use crate::output::{answer, say};
use crate::past;
use crate::table::terminal_width;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::gate::{Code, Decision, Event, Json, Object, Session, ToolCall, Verdict};
use tollgate::places::user_name;
use tollgate::{Row, misread};

const CALL_REMEDY: &str =
    "{\"kind\": \"read\", \"path\": \"x\"}; `tollgate try --help` names the kinds";

pub(crate) fn run(globals: &Globals, arguments: &TryArguments) -> Result<Exit, Failure> {
    let cwd = folder(arguments.cwd.as_deref())?;
    if let (Some(host), Some(command)) = (&arguments.command, &arguments.by_host) {
        return hosting::trying::run(globals, host, command, &cwd, arguments.format);
    }
    let desk = Desk::starting_in(globals, &cwd)?;
    let loaded = past::policy(&desk, globals)?;
    let event = match &arguments.event {
        Some(path) => past::read_event(path, desk.now())?,
        None => Event::new(Arc::new(session(&desk, &cwd)), call(arguments)?, desk.now()),
    };
    let rows = effects::rows(&loaded.settings.tools, &event);
    let gate = quiet_gate(globals, &cwd).map_err(|error| unopened(&error))?;
    let decision = block_on(gate.gate().judge(event))?;
    let verdict = meant(&decision);
    match arguments.format {
        Format::Text => say(&text(&rows, &decision, verdict))?,
        Format::Json => {
            let whole = json!({
                "version": 1,
                "effects": rows,
                "verdict": verdict,
                "code": decision.code,
                "hook": decision.hook,
                "reason": decision.reason,
                "remedy": decision.remedy,
                "policy": decision.policy,
            });
            answer(&format!("{whole:#}\n"))?;
        }
    }
    Ok(if verdict == Verdict::Allow { Exit::Done } else { Exit::No })
}

/// The folder that the call is made in, absolute.
fn folder(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let named = named.unwrap_or(Path::new("."));
    named.canonicalize().map_err(|error| {
        let message = format!("`{}` cannot be found: {error}", named.display());
        Failure::usage(message, "name a folder that is there")
    })
}

fn session(desk: &Desk, cwd: &Path) -> Session {
    let root = desk.places.project_root();
    let mut session = Session::new("try").with_cwd(cwd.display().to_string());
    session.workspace = Some(root.display().to_string().into());
    session.user = Some(user_name().into());
    session
}

/// The call that the command line speaks of.
fn call(arguments: &TryArguments) -> Result<ToolCall, Failure> {
    if let Some(command) = &arguments.command {
        let canonical = Object::from_iter([("kind", "shell"), ("command", command)]);
        let mut call = ToolCall::new("shell", Object::from_iter([("command", command.as_str())]));
        call.call = Some(Arc::new(Json::from(canonical)));
        return Ok(call);
    }
    if let Some(text) = &arguments.call {
        let canonical = object("--call", text, CALL_REMEDY)?;
        let kind = canonical.get("kind").and_then(Json::as_str);
        let kind = kind.ok_or_else(|| Failure::usage("--call has no `kind`", CALL_REMEDY))?;
        if let Some(why) = misread(&canonical) {
            let message = format!("--call of kind `{kind}` is not understood: {why}");
            return Err(Failure::usage(message, form(kind).unwrap_or(CALL_REMEDY)));
        }
        let mut call = ToolCall::new(kind, canonical.clone());
        call.call = Some(Arc::new(canonical));
        return Ok(call);
    }
    let tool = arguments.tool.as_deref().unwrap_or_default();
    let remedy = "--args '{\"path\": \"x\"}'";
    let given = arguments.args.as_deref().map(|text| object("--args", text, remedy)).transpose()?;
    Ok(ToolCall::new(tool, given.unwrap_or_else(|| Json::from(Object::default()))))
}

/// What a call of a kind looks like.
fn form(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "shell" => r#"{"kind": "shell", "command": "ls", "cwd": "src"}"#,
        "read" => r#"{"kind": "read", "path": "x"}"#,
        "write" => r#"{"kind": "write", "path": "x", "content": "text"}"#,
        "edit" => r#"{"kind": "edit", "path": "x"}"#,
        "delete" => r#"{"kind": "delete", "path": "x"}"#,
        "fetch" => r#"{"kind": "fetch", "url": "https://example.com", "method": "GET"}"#,
        "search" => r#"{"kind": "search", "path": "src", "glob": "*.rs"}"#,
        "mcp" => r#"{"kind": "mcp", "server": "s", "tool": "t", "arguments": {}}"#,
        "task" => r#"{"kind": "task", "agent": "reviewer"}"#,
        "patch" => r#"{"kind": "patch", "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}"#,
        _ => return None,
    })
}

/// The object that an option holds.
fn object(option: &str, text: &str, remedy: &str) -> Result<Json, Failure> {
    match Json::read(text.as_bytes()) {
        Ok(json @ Json::Object(_)) => Ok(json),
        Ok(_) => Err(Failure::usage(format!("{option} must be a JSON object"), remedy)),
        Err(error) => Err(Failure::usage(format!("{option} is no JSON: {error}"), remedy)),
    }
}

/// The verdict as the policy means it: with nobody to ask, an ask has become a refusal.
fn meant(decision: &Decision) -> Verdict {
    match &decision.code {
        Some(Code::ApprovalRequired) => Verdict::Ask,
        _ => decision.verdict,
    }
}

fn text(rows: &[Row], decision: &Decision, verdict: Verdict) -> String {
    let mut out = effects::table(rows);
    let _ = write!(out, "\n{verdict}");
    if let Some(hook) = &decision.hook {
        let _ = write!(out, " by {hook}");
    }
    if let Some(code) = decision.code.as_ref().filter(|_| verdict != Verdict::Ask) {
        let _ = write!(out, " ({code})");
    }
    out.push('\n');
    if verdict != Verdict::Allow {
        if let Some(reason) = &decision.reason {
            out.push_str(&said("reason", reason));
        }
        if let Some(remedy) = &decision.remedy {
            out.push_str(&said("remedy", remedy));
        }
    }
    out
}

/// A word and what is said under it, in lines that fit the terminal; into a pipe in one.
fn said(word: &str, text: &str) -> String {
    let front = format!("  {word}: ");
    let width = terminal_width().map_or(usize::MAX, |width| width.max(front.len() + 20));
    let (mut out, mut at) = (front.clone(), front.len());
    for (index, piece) in text.split(' ').enumerate() {
        let long = piece.chars().count();
        if index > 0 && at + 1 + long > width {
            out.push('\n');
            out.push_str(&" ".repeat(front.len()));
            at = front.len();
        } else if index > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(piece);
        at += long;
    }
    out.push('\n');
    out
}
