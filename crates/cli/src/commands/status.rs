//! `tollgate status`: which policies are in force, in which mode, what does not hold at the moment, and
//! where everything is. What is ignored is said, with what to do about it.

use super::approvals::unusable;
use super::hooks::state;
use super::sessions::failed;
use crate::args::{Format, Globals, StatusArguments};
use crate::desk::{Desk, misplaced, unloaded, unswitched};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use rustix::fs::{Access, access};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tollgate::gate::Name;
use tollgate::gate::text::shown;
use tollgate::ledger::LEDGER_KEY;
use tollgate::places::why_ignored;
use tollgate::policy::{HookInfo, LayerKind, LayerState, LayerStatus, Loaded};
use tollgate::store::approvals::APPROVALS;
use tollgate::store::kept::look;
use tollgate::store::state::{LIMITS, SESSIONS};
use tollgate::store::{Approvals, DiskState};
use tollgate::{PlacesLoadError, Switches};

/// What is in force, or why nothing is.
struct Found {
    policy: Option<Loaded>,
    /// The digest of the policy that hooks go on with where the files do not load.
    last_good: Option<Name>,
    problems: Option<String>,
    layers: Vec<LayerStatus>,
    /// `Err`: they cannot be read, and nothing is switched; with what to do about it.
    switches: Result<Switches, Failure>,
    state: PathBuf,
    ledger: Option<PathBuf>,
    /// Why the ledger cannot go on.
    ledger_error: Option<String>,
    /// What of the state cannot be used, each with what to do about it.
    state_errors: Vec<String>,
}

pub(crate) fn run(globals: &Globals, arguments: &StatusArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let state = desk.places.state().map_err(|error| misplaced(&error))?;
    let state_folder = state.clone();
    let switches = Switches::read(&state).map_err(|error| unswitched(&error));
    let mut found = Found {
        policy: None,
        last_good: None,
        problems: None,
        layers: Vec::new(),
        switches,
        state,
        ledger: None,
        ledger_error: None,
        state_errors: state_errors(&desk, &state_folder).iter().map(Failure::to_string).collect(),
    };
    match desk.places.load(desk.now()) {
        Ok(loaded) => {
            let store = loaded.settings.audit_store.as_deref();
            found.ledger = desk.places.ledger(store).map_err(|error| misplaced(&error))?;
            found.layers.clone_from(&loaded.layers);
            found.policy = Some(loaded);
            let key = desk.places.keys().map_err(|error| misplaced(&error))?.join(LEDGER_KEY);
            let looked = found.ledger.as_ref().map_or(Ok(()), |folder| look(&key, folder));
            found.ledger_error = looked.err().map(|error| error.to_string());
        }
        Err(PlacesLoadError::Policy(failure)) => {
            found.layers.clone_from(&failure.layers);
            found.problems = Some(failure.to_string());
            found.last_good = desk.places.last_good(desk.now());
        }
        Err(error) => return Err(unloaded(&error)),
    }
    match arguments.format {
        Format::Text => say(&text(&desk, &found)?)?,
        Format::Json => answer(&format!("{:#}\n", as_json(&desk, &found)))?,
    }
    match found.problems {
        None => Ok(Exit::Done),
        Some(problems) => Err(Failure::policy(problems)),
    }
}

/// What events hear of as state that is not available: which file, and what to do about it.
/// What of the state cannot be used, each with what to do about it.
pub(crate) fn state_errors(desk: &Desk, folder: &Path) -> Vec<Failure> {
    let state = DiskState::new(folder, desk.clock.clone(), None);
    let mut errors = Vec::new();
    match state.sessions() {
        Ok(all) => errors.extend(all.iter().filter_map(|one| one.as_ref().err().map(failed))),
        Err(fault) => errors.push(failed(&fault)),
    }
    // What was never needed is not made by looking.
    if folder.join(LIMITS).exists() {
        errors.extend(state.limits().err().map(|error| unusable(&error)));
    }
    if folder.join(APPROVALS).exists() {
        errors.extend(Approvals::new(folder).list(desk.now()).err().map(|e| unusable(&e)));
    }
    for path in [folder.to_owned(), folder.join(SESSIONS)] {
        if path.exists() && access(&path, Access::WRITE_OK).is_err() {
            let message = format!("`{}` cannot be written to", path.display());
            errors.push(Failure::usage(message, "mend its owner and mode, or the file system's"));
        }
    }
    errors
}

fn text(desk: &Desk, found: &Found) -> Result<String, Failure> {
    let mut out = String::new();
    match &found.policy {
        Some(policy) => {
            let hooks = policy.hooks().count();
            let mode = policy.settings.mode.name();
            let _ = writeln!(out, "mode     {mode}\npolicy   {} ({hooks} hooks)", policy.digest);
        }
        None => match &found.last_good {
            Some(digest) => {
                let _ = writeln!(
                    out,
                    "mode     THE POLICY DOES NOT LOAD: hooks of agents go on with the last good one,\n         \
                     {digest}; whatever else needs a policy is refused"
                );
            }
            None => out.push_str("mode     NO POLICY IS IN FORCE: whatever needs one is refused\n"),
        },
    }
    let _ = writeln!(out, "\nlayers");
    layer_lines(&mut out, desk, found)?;
    let no_switches = Switches::default();
    let switches = found.switches.as_ref().unwrap_or(&no_switches);
    if let Some(pause) = switches.paused(desk.now()) {
        let (by, reason) = (shown(&pause.by, 40), shown(&pause.reason, 200));
        let until = pause.until.map(|until| until.to_string()).unwrap_or_default();
        let _ = writeln!(out, "\nPAUSED until {until} by {by}: {reason}");
    }
    hook_lines(&mut out, desk, found, switches);
    if let Err(error) = &found.switches {
        let (what, remedy) = error.parts();
        let _ = writeln!(out, "\nwarning: {what}\n  so nothing is switched; {remedy}");
    }
    let ledger = match (&found.ledger, &found.policy) {
        (Some(folder), _) => folder.display().to_string(),
        (None, Some(_)) => "in memory only, as the policy says".to_owned(),
        (None, None) => "unknown without a policy".to_owned(),
    };
    let _ = writeln!(out, "\nstate    {}\nledger   {ledger}", found.state.display());
    for error in &found.state_errors {
        let _ = writeln!(out, "\nSTATE THAT CANNOT BE USED, so what needs it is refused: {error}");
    }
    if let Some(error) = &found.ledger_error {
        let _ = writeln!(out, "\nTHE LEDGER CANNOT GO ON, so calls are refused: {error}");
    }
    Ok(out)
}

/// Every place where a policy is looked for, with what is there.
fn layer_lines(out: &mut String, desk: &Desk, found: &Found) -> Result<(), Failure> {
    let known = |kind: LayerKind| found.layers.iter().filter(move |layer| layer.kind == kind);
    if known(LayerKind::Managed).next().is_none() {
        let _ = writeln!(out, "  managed  {}: none", desk.places.managed_policy().display());
    }
    let any = found.policy.is_some();
    known(LayerKind::Managed).for_each(|layer| layer_line(out, layer, any));
    known(LayerKind::User).for_each(|layer| layer_line(out, layer, any));
    let users = desk.places.user_policies().map_err(|error| misplaced(&error))?;
    for path in users.iter().filter(|path| !known(LayerKind::User).any(|l| l.path == **path)) {
        let _ = writeln!(out, "  user     {}: none", path.display());
    }
    if known(LayerKind::Project).next().is_none() {
        let _ = writeln!(out, "  project  {}: none", desk.places.project_root().display());
    }
    known(LayerKind::Project).for_each(|layer| layer_line(out, layer, any));
    Ok(())
}

/// `any`: there is a policy in force, which a layer can be part of.
fn layer_line(out: &mut String, layer: &LayerStatus, any: bool) {
    let (kind, path) = (layer.kind.to_string(), layer.path.display());
    if layer.state == LayerState::InForce {
        let word = if any { "in force" } else { "not in force, for not every layer loads" };
        let _ = writeln!(out, "  {kind:8} {path}\n           {word}, {}", layer.digest);
    } else {
        let why = why_ignored(layer.state);
        let _ = writeln!(out, "  {kind:8} {path}\n           IGNORED: {why}");
        let _ = match layer.state {
            LayerState::Untrusted | LayerState::Changed => {
                writeln!(out, "           look at it, then: tollgate trust {path}")
            }
            LayerState::NoFile => writeln!(out, "           a project's policy is no link"),
            LayerState::Broken => writeln!(out, "           see: tollgate check {path}"),
            LayerState::InForce => Ok(()),
        };
    }
    for include in &layer.includes {
        let _ = writeln!(out, "           includes {}", include.display());
    }
}

/// Hooks that do not hold as the policy has them.
fn hook_lines(out: &mut String, desk: &Desk, found: &Found, switches: &Switches) {
    let Some(policy) = &found.policy else { return };
    let mut lines = String::new();
    for hook in policy.hooks() {
        let (word, more) = state(&hook, switches, desk.now());
        if word != "on" {
            let _ = writeln!(lines, "  `{}` {word}{more}", shown(&hook.name, 60));
        }
    }
    let unknown =
        switches.disabled(desk.now()).filter(|(name, _)| policy.hooks().all(|h| h.name != *name));
    for (name, _) in unknown {
        let _ =
            writeln!(lines, "  `{}` is disabled, and no hook of these policies", shown(name, 60));
    }
    if !lines.is_empty() {
        let _ = write!(out, "\nhooks that do not act\n{lines}");
    }
}

fn as_json(desk: &Desk, found: &Found) -> Value {
    let no_switches = Switches::default();
    let switches = found.switches.as_ref().unwrap_or(&no_switches);
    let now = desk.now();
    let state_of = |hook: &HookInfo| state(hook, switches, now).0;
    let hooks = found.policy.iter().flat_map(|policy| policy.hooks().collect::<Vec<_>>());
    let hooks: Vec<Value> = hooks
        .filter(|hook| state_of(hook) != "on")
        .map(|hook| json!({ "name": hook.name, "state": state_of(&hook) }))
        .collect();
    let paused = switches.paused(now).map(|pause| {
        let until = pause.until.map(|until| until.to_string());
        json!({ "until": until, "by": pause.by, "reason": pause.reason })
    });
    json!({
        "version": 1,
        "mode": found.policy.as_ref().map(|policy| policy.settings.mode),
        "policy": found.policy.as_ref().map(|policy| policy.digest.to_string()),
        "last_good_policy": found.last_good.as_ref().map(ToString::to_string),
        "layers": found.layers,
        "hooks_not_acting": hooks,
        "paused": paused,
        "switches_error": found.switches.as_ref().err().map(|error| error.parts().0),
        "state": found.state,
        "ledger": found.ledger,
        "ledger_error": found.ledger_error,
        "state_errors": found.state_errors,
        "problems": found.problems,
    })
}
