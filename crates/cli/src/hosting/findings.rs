//! What the doctor finds, each with a remedy: of the policy and the ledger, and of each host.

use super::codex_trust::{CONFIG, Said};
use super::doctor::{Case, Settings, program_of};
use super::self_test::Proof;
use super::traces::{has_called, used_since};
use super::{Known, settings_file};
use crate::commands::audit::own_keys;
use crate::commands::status::state_errors;
use crate::desk::{Desk, unloaded, unswitched};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tollgate::gate::{Mode, Timestamp};
use tollgate::ledger::LEDGER_KEY;
use tollgate::places::why_ignored;
use tollgate::policy::{LayerState, Loaded};
use tollgate::store::kept::look;
use tollgate::store::verify::{Trust, verify};
use tollgate::{PlacesError, PlacesLoadError, Switches};
use tollgate_hosts::settings::{Hook, Scope, Standing};

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grave {
    /// A call may pass the gate by, or none gets through.
    Wrong,
    /// To be known.
    Note,
}

/// A finding.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) host: Option<&'static str>,
    pub(super) code: &'static str,
    pub(super) grave: Grave,
    pub(super) what: String,
    pub(super) remedy: String,
}

impl Finding {
    pub(super) fn wrong(
        host: Option<&'static str>,
        code: &'static str,
        what: impl Display,
        remedy: impl Display,
    ) -> Finding {
        let (what, remedy) = (what.to_string(), remedy.to_string());
        Finding { host, code, grave: Grave::Wrong, what, remedy }
    }

    fn note(
        host: Option<&'static str>,
        code: &'static str,
        what: impl Display,
        remedy: impl Display,
    ) -> Finding {
        Finding { grave: Grave::Note, ..Finding::wrong(host, code, what, remedy) }
    }

    pub(super) fn as_json(&self) -> Value {
        let grave = if self.grave == Grave::Wrong { "wrong" } else { "note" };
        json!({
            "host": self.host, "code": self.code, "severity": grave,
            "what": self.what, "remedy": self.remedy,
        })
    }
}

/// What concerns every host: the policy in force and the ledger.
pub(super) fn common(desk: &Desk, cases: &[Case]) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Ok(state) = desk.places.state() {
        found.extend(state_errors(desk, &state).iter().map(|failure| {
            let (what, remedy) = failure.parts();
            let what = format!("what needs it is refused: {what}");
            Finding::wrong(None, "state-unusable", what, remedy)
        }));
    }
    match desk.places.load(desk.now()) {
        Ok(loaded) => {
            found.extend(of_policy(desk, &loaded));
            found.extend(of_ledger(desk, &loaded));
            found.extend(of_vault(&loaded, cases));
        }
        Err(PlacesLoadError::Policy(failure)) => {
            let until = match desk.places.last_good(desk.now()) {
                Some(_) => {
                    "until then the last good policy holds for hooks, and all else is refused"
                }
                None => "until then every call is refused",
            };
            found.push(Finding::wrong(
                None,
                "policy-broken",
                failure.to_string().lines().next().unwrap_or("the policy does not load"),
                format!("`tollgate check` says all of it; {until}"),
            ));
        }
        Err(error) => {
            let failure = unloaded(&error);
            let (what, remedy) = failure.parts();
            let what = format!("every call is refused: {what}");
            let code = match error {
                PlacesLoadError::Places(PlacesError::NotSafe { .. }) => "policy-writable",
                PlacesLoadError::Places(_)
                | PlacesLoadError::Trust(_)
                | PlacesLoadError::Policy(_) => "policy-unusable",
            };
            found.push(Finding::wrong(None, code, what, remedy));
        }
    }
    found.extend(doubled(cases));
    found
}

fn of_policy(desk: &Desk, loaded: &Loaded) -> Vec<Finding> {
    let mut found = Vec::new();
    for layer in loaded.layers.iter().filter(|layer| layer.state != LayerState::InForce) {
        let path = layer.path.display();
        found.push(Finding::wrong(
            None,
            "project-untrusted",
            format!("the {} policy `{path}` is ignored: {}", layer.kind, why_ignored(layer.state)),
            format!("look at it, then: tollgate trust {path}"),
        ));
    }
    let in_force = loaded.layers.iter().filter(|layer| layer.state == LayerState::InForce);
    let files = in_force.flat_map(|layer| std::iter::once(&layer.path).chain(&layer.includes));
    for path in files {
        let what = loose(path).into_iter().next();
        found.extend(what.map(|what| {
            let (at, what) = what;
            let what = format!("{what}: others could change what the agent may do");
            Finding::wrong(None, "policy-writable", what, closing(&at))
        }));
    }
    match loaded.settings.mode {
        Mode::Enforce => {}
        Mode::Off => found.push(Finding::wrong(
            None,
            "mode-off",
            "the policy's mode is off: everything passes untouched and unrecorded",
            "write `mode: enforce` into the policy",
        )),
        Mode::DryRun => found.push(Finding::note(
            None,
            "mode-dry-run",
            "the policy's mode is dry_run: it refuses nothing but what would change Tollgate itself",
            "write `mode: enforce` into the policy when you have seen enough",
        )),
    }
    let acts = loaded.hooks().filter(|hook| hook.enabled && !hook.dry_run).count();
    if acts == 0 && loaded.settings.mode == Mode::Enforce {
        found.push(Finding::note(
            None,
            "only-watches",
            "every hook of the policy is dry or off: it refuses nothing",
            "`tollgate hooks list` shows them; take `dry_run` out where you agree",
        ));
    }
    let state = desk.places.state().ok();
    match state.map(|state| Switches::read(&state)) {
        Some(Ok(switches)) if switches.paused(desk.now()).is_some() => found.push(Finding::note(
            None,
            "paused",
            "the gate is paused: hooks only watch",
            "`tollgate pause --resume` ends it",
        )),
        Some(Err(error)) => {
            let failure = unswitched(&error);
            let (what, remedy) = failure.parts();
            found.push(Finding::wrong(None, "switches-unreadable", what, remedy));
        }
        Some(Ok(_)) | None => {}
    }
    found
}

fn of_ledger(desk: &Desk, loaded: &Loaded) -> Option<Finding> {
    let folder = desk.places.ledger(loaded.settings.audit_store.as_deref()).ok()??;
    if !folder.is_dir() {
        return None;
    }
    let broken = |what: String| {
        let remedy = format!(
            "keep a copy of `{}`, then move it away: a new ledger is begun, and the gap is yours to explain",
            folder.display()
        );
        Some(Finding::wrong(None, "ledger-broken", what, remedy))
    };
    let keys = desk.places.keys().ok()?;
    let unusable = |what: String, remedy: &str| {
        let what = format!("the ledger cannot go on, so calls are refused: {what}");
        Some(Finding::wrong(None, "ledger-unusable", what, remedy))
    };
    if let Err(error) = look(&keys.join(LEDGER_KEY), &folder) {
        return unusable(error.to_string(), "mend that, or bring it back from a copy");
    }
    let keys = match own_keys(&keys) {
        Ok(keys) => keys,
        Err(failure) => {
            return unusable(failure.parts().0.to_owned(), "bring the key back from a copy");
        }
    };
    let trust = Trust { keys, ..Trust::default() };
    match verify(&folder, &trust) {
        Err(error) => broken(error.to_string()),
        Ok(done) => {
            let first = done.findings.first()?;
            let count = done.findings.len();
            broken(format!("the ledger does not hold together ({count} findings): {first}"))
        }
    }
}

/// Hosts that run the hooks in another's settings as well as their own.
fn doubled(cases: &[Case]) -> Vec<Finding> {
    let installed =
        |host: &str| cases.iter().any(|case| case.known.facts.name == host && case.is_installed());
    let readers = cases.iter().map(|case| case.known.facts).filter(|facts| {
        matches!(facts.name, "copilot" | "cursor")
            && installed(facts.name)
            && installed("claude-code")
    });
    readers
        .map(|facts| {
            Finding::wrong(
                Some(facts.name),
                "doubled",
                format!(
                    "{} also runs the hooks in Claude Code's settings, where Tollgate stands too: each \
                     call would be judged and counted twice",
                    facts.title
                ),
                format!("leave one: `tollgate uninstall {}`", facts.name),
            )
        })
        .collect()
}

/// What concerns one host.
pub(super) fn of_host(desk: &Desk, case: &Case) -> Vec<Finding> {
    let mut found = of_settings(case);
    found.extend(of_hooks(case));
    for (command, proof) in &case.proofs {
        found.extend(of_program(case.known, command));
        let what = match proof {
            Proof::Refused { .. } => continue,
            Proof::Open { what } => {
                format!("a call that must be refused would have run; the hook answered: {what}")
            }
            Proof::Closed { reason } => {
                format!("the hook refuses every call, whatever it is: {reason}")
            }
        };
        let name = case.known.facts.name;
        let remedy = format!(
            "mend what it says; if it says nothing: tollgate install {name}, which writes the hooks anew"
        );
        found.push(Finding::wrong(Some(name), "self-test-failed", what, remedy));
    }
    if case.is_installed() {
        found.extend(of_trust(desk, case));
        if found.iter().all(|finding| finding.code != UNTRUSTED) {
            found.extend(of_calls(desk, case));
        }
        found.extend(of_version(case.known));
    }
    found
}

fn of_settings(case: &Case) -> Vec<Finding> {
    let (name, mut found) = (case.known.facts.name, Vec::new());
    for settings in &case.settings {
        let path = settings.path.display();
        match &settings.standing {
            Err(error) => found.push(Finding::wrong(
                Some(name),
                "settings-broken",
                format!("`{path}`: {error}"),
                "mend it: the host reads no hook out of it",
            )),
            Ok(standing) if standing.all_off => found.push(Finding::wrong(
                Some(name),
                "hooks-off",
                format!("a switch in `{path}` turns all hooks off"),
                "take the switch out",
            )),
            Ok(_) => {}
        }
        for (at, what) in loose(&settings.path) {
            found.push(Finding::wrong(
                Some(name),
                "settings-writable",
                format!("{what}: others could take the hooks out"),
                closing(&at),
            ));
        }
    }
    found.extend(of_only_managed(case));
    let holding = case.standings().filter(|(_, standing)| !standing.ours.is_empty());
    let holding: Vec<String> = holding.map(|(at, _)| at.path.display().to_string()).collect();
    if holding.len() > 1 {
        found.push(Finding::wrong(
            Some(name),
            "twice",
            format!("the hooks stand in several settings: {}", holding.join(", ")),
            format!(
                "take them out of all but one with `tollgate uninstall {name} --scope user|project|managed`: each \
                 call is counted twice"
            ),
        ));
    }
    if holding.is_empty() {
        found.push(Finding::wrong(
            Some(name),
            "not-installed",
            "no hook of Tollgate stands in its settings",
            format!("tollgate install {name}"),
        ));
    }
    found
}

/// The machine's settings can say that no others' hooks run.
fn of_only_managed(case: &Case) -> Option<Finding> {
    let is_managed = |at: &Settings| at.scope == Scope::Managed;
    let (at, standing) =
        case.standings().find(|(at, found)| is_managed(at) && found.only_managed)?;
    if !standing.ours.is_empty() || case.standings().all(|(_, found)| found.ours.is_empty()) {
        return None;
    }
    let (name, path) = (case.known.facts.name, at.path.display());
    Some(Finding::wrong(
        Some(name),
        "hooks-off",
        format!("`{path}` says that only the hooks in it run, and Tollgate's stand elsewhere"),
        format!("as the administrator: tollgate install {name} --scope managed"),
    ))
}

/// Hooks that are missing, weakened, or have others beside them.
fn of_hooks(case: &Case) -> Vec<Finding> {
    let (facts, mut found) = (case.known.facts, Vec::new());
    let all: Vec<&Standing> = case.standings().map(|(_, standing)| standing).collect();
    let ours: Vec<&Hook> = all.iter().flat_map(|standing| &standing.ours).collect();
    if ours.is_empty() {
        return found;
    }
    let again = format!("tollgate install {}", facts.name);
    let wanted = facts.events.iter().filter(|event| event.is_wanted());
    let missing = wanted.filter(|event| ours.iter().all(|hook| hook.event != event.name));
    let missing: Vec<&str> = missing.map(|event| event.name).collect();
    if !missing.is_empty() {
        let what = format!("no hook of Tollgate at {}", missing.join(", "));
        found.push(Finding::wrong(Some(facts.name), "events-missing", what, &again));
    }
    // The same fault at many events is one finding.
    let mut faults: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (fault, hook) in ours.iter().flat_map(|hook| hook.faults.iter().map(move |f| (f, hook))) {
        faults.entry(fault).or_default().push(&hook.event);
    }
    for (fault, events) in faults {
        let what = format!("the hook at {}: {fault}", events.join(", "));
        found.push(Finding::wrong(Some(facts.name), "weakened", what, &again));
    }
    // A hook that calls otherwise than the others does not rest on the same policy.
    let without_event = |hook: &&Hook| {
        let end = hook.command.find(" --event ").unwrap_or(hook.command.len());
        hook.command.get(..end).unwrap_or_default().to_owned()
    };
    let mut calls: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for hook in ours.iter().filter(|hook| !hook.command.starts_with("sh -c ")) {
        calls.entry(without_event(hook)).or_default().push(&hook.event);
    }
    if let Some(odd) = calls.values().min_by_key(|events| events.len()).filter(|_| calls.len() > 1)
    {
        let what =
            format!("the hook at {} calls otherwise than those at other events", odd.join(", "));
        found.push(Finding::wrong(Some(facts.name), "weakened", what, &again));
    }
    found.extend(of_wrapping(case, &ours));
    let ours_at = |event: &str| ours.iter().any(|hook| hook.event == event);
    let others = all.iter().flat_map(|standing| &standing.others);
    for other in others.filter(|other| ours_at(&other.event)) {
        found.push(Finding::note(
            Some(facts.name),
            "other-hook",
            format!("another hook stands at {}: {}", other.event, other.command),
            "if it rewrites calls or results, whoever finishes last wins, and a masked result may come \
             back unmasked: let Tollgate be the only one that rewrites",
        ));
    }
    found
}

/// Hosts that show the model what a tool says that was given data of the vault and failed.
fn of_vault(loaded: &Loaded, cases: &[Case]) -> Vec<Finding> {
    let acts = |hook: &tollgate::gate::Hook| hook.is_enabled() && hook.reveals();
    if !loaded.ruleset.hooks().any(acts) {
        return Vec::new();
    }
    let stays = |case: &&Case| case.is_installed() && case.known.facts.errors_stay;
    let note = |case: &Case| {
        let facts = case.known.facts;
        let what = format!(
            "the policy gives data of the vault back to tools, and where one of them fails, {} shows the model \
             what it says, which may be the datum",
            facts.title
        );
        let remedy = "put the server behind `tollgate mcp`, which masks errors too, or reveal to tools only \
                      whose errors do not quote what they are given";
        Finding::note(Some(facts.name), "vault-errors", what, remedy)
    };
    cases.iter().filter(stays).map(note).collect()
}

/// What rewriting commands means for a host that needs it, on or off.
fn of_wrapping(case: &Case, ours: &[&Hook]) -> Option<Finding> {
    let facts = case.known.facts;
    if !case.known.form.wraps {
        return None;
    }
    let is_on =
        ours.iter().any(|hook| hook.command.split_whitespace().any(|word| word == "--wrap"));
    Some(match is_on {
        true => Finding::note(
            Some(facts.name),
            "rules-blind",
            format!(
                "shell commands are rewritten to mask their output, and {}'s own rules about commands \
                 do not see through that",
                facts.title
            ),
            "say in Tollgate's policy what those rules say, or install again without --wrap",
        ),
        false => Finding::note(
            Some(facts.name),
            "output-unmasked",
            format!(
                "some output of shell commands is out of a hook's reach ({}), and rewriting commands is \
                 off, because the host's own rules would not see them any more",
                why_wrap(facts.name)
            ),
            format!(
                "if Tollgate's policy says all that counts: tollgate install {} --wrap",
                facts.name
            ),
        ),
    })
}

fn why_wrap(host: &str) -> &'static str {
    match host {
        "codex" => "what is handed out before a command ends; raw copies in its session files",
        "copilot" => "what failing commands print",
        _ => "what shell commands print",
    }
}

fn of_program(known: Known, command: &str) -> Option<Finding> {
    let program = program_of(command)?;
    let shown = program.display();
    let again = format!("tollgate install {}", known.facts.name);
    let host = Some(known.facts.name);
    let Ok(metadata) = fs::metadata(&program) else {
        let what = format!("the hooks call `{shown}`, and there is no such program");
        return Some(Finding::wrong(host, "binary-missing", what, again));
    };
    if !metadata.is_file() || metadata.mode() & 0o111 == 0 {
        let what = format!("the hooks call `{shown}`, which cannot be run");
        return Some(Finding::wrong(host, "binary-unusable", what, again));
    }
    if let Some((at, what)) = loose(&program).into_iter().next() {
        return Some(Finding::wrong(host, "binary-writable", what, closing(&at)));
    }
    let own = std::env::current_exe().and_then(|own| own.canonicalize()).ok();
    if own.is_some() && own != program.canonicalize().ok() {
        let what = format!("the hooks call `{shown}`, and this is another `tollgate`");
        return Some(Finding::note(host, "binary-other", what, again));
    }
    None
}

/// What of a file and its folder others than its owner could write to, each with what is to be said of it.
fn loose(path: &Path) -> Vec<(PathBuf, String)> {
    let folder = path.parent().map(Path::to_owned);
    let writable = |metadata: &Metadata| {
        // A sticky folder lets others add, not exchange.
        metadata.mode() & 0o002 != 0 && !(metadata.is_dir() && metadata.mode() & 0o1000 != 0)
    };
    let of = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok().filter(writable)?;
        let kind = if metadata.is_dir() { "the folder" } else { "the file" };
        let what = format!("everybody can write to {kind} `{}`", path.display());
        Some((path, what))
    };
    [Some(path.to_owned()), folder].into_iter().flatten().filter_map(of).collect()
}

/// The command that closes a file or folder to others.
fn closing(path: &Path) -> String {
    format!("chmod go-w {}", path.display())
}

/// The code of hooks that nobody has trusted.
const UNTRUSTED: &str = "untrusted";

/// Hooks that the host skips because nobody has trusted them, or has switched them off.
fn of_trust(desk: &Desk, case: &Case) -> Vec<Finding> {
    let (facts, mut found) = (case.known.facts, Vec::new());
    if facts.name != "codex" {
        return found;
    }
    let own = settings_file(desk, case.known.form, Scope::User);
    let config = own.ok().and_then(|file| fs::read_to_string(file.with_file_name(CONFIG)).ok());
    let said = Said::read(&config.unwrap_or_default());
    if said.all_off {
        let what = format!("`hooks = false` in its {CONFIG} turns all hooks off");
        found.push(Finding::wrong(Some(facts.name), "hooks-off", what, "take the switch out"));
    }
    let (mut untrusted, mut off, mut trusted) = (Vec::new(), Vec::new(), 0);
    for (settings, standing) in case.standings().filter(|(at, _)| at.scope != Scope::Managed) {
        for event in standing.ours.iter().map(|hook| hook.event.as_str()) {
            if said.is_off(&settings.path, event) {
                off.push(event);
            }
            match said.is_trusted(&settings.path, event) {
                true => trusted += 1,
                false => untrusted.push(event),
            }
        }
    }
    if !off.is_empty() {
        let what = format!("switched off in `/hooks`: {}", off.join(", "));
        found.push(Finding::wrong(
            Some(facts.name),
            "hooks-off",
            what,
            "switch them on in `/hooks`",
        ));
    }
    // Where it calls all the same, somebody has told it to ask for no trust.
    let is_bypassed = trusted == 0 && has_called(desk, facts.name, since(case));
    if !untrusted.is_empty() && !is_bypassed {
        let what = format!(
            "{} skips hooks that nobody has trusted, without a word: {}",
            facts.title,
            untrusted.join(", ")
        );
        found.push(Finding::wrong(Some(facts.name), UNTRUSTED, what, case.known.form.then));
    }
    found
}

/// The moment of the last install.
fn since(case: &Case) -> Option<Timestamp> {
    case.installs.iter().filter_map(tollgate::installs::Install::moment).max()
}

/// Whether the host has called since the install.
fn of_calls(desk: &Desk, case: &Case) -> Option<Finding> {
    let (facts, since) = (case.known.facts, since(case));
    if has_called(desk, facts.name, since) {
        return None;
    }
    let used = since.is_some_and(|since| used_since(desk, case.known, since));
    let then = case.known.form.then;
    Some(if used {
        let what = format!("{} was used since the install and has not called once", facts.title);
        Finding::wrong(Some(facts.name), "not-called", what, then)
    } else {
        let what = format!("{} has not called yet", facts.title);
        Finding::note(Some(facts.name), "not-called-yet", what, then)
    })
}

/// Whether the host's version is the one that is known.
fn of_version(known: Known) -> Option<Finding> {
    let facts = known.facts;
    let program = match facts.name {
        "claude-code" => "claude",
        "cursor" => "cursor-agent",
        name => name,
    };
    let asked = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    let version =
        said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    if version == facts.evidence.version() {
        return None;
    }
    Some(Finding::note(
        Some(facts.name),
        "other-version",
        format!(
            "{} here is {version}; what is known of it is from {} {}",
            facts.title,
            facts.evidence.word(),
            facts.evidence.version()
        ),
        "the self-test shows what Tollgate answers, not what this version makes of it: try a refused call",
    ))
}
