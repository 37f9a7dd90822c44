//! `tollgate doctor`: whether agent programs really pass the gate, and what keeps them from it.
//!
//! Nothing is believed that can be tried: the command in the settings is run, the policy is loaded, the
//! ledger is read. What only the host knows (whether a person has trusted a hook) is told from what it
//! left behind: it was used since the install, and never called.

use super::findings::{Finding, Grave, common, of_host};
use super::install::unnoted;
use super::self_test::{Proof, prove};
use super::{Known, home, known, settings_file};
use crate::args::{DoctorArguments, Format, Globals};
use crate::desk::{Desk, misplaced};
use crate::exit::{Exit, Failure};
use crate::output::{answer, say};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tollgate::gate::text::shown;
use tollgate::installs::{Install, Installs};
use tollgate_hosts::settings::{FORMS, Managed, Scope, SettingsError, Standing, standing};

/// Longest text of a hook or answer that a line shows, in characters.
const SHOWN_CHARS_MAX: usize = 300;

/// What stands in one settings file.
pub(super) struct Settings {
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    pub(super) standing: Result<Standing, SettingsError>,
}

/// What is known of one host.
pub(super) struct Case {
    pub(super) known: Known,
    pub(super) settings: Vec<Settings>,
    pub(super) installs: Vec<Install>,
    /// The command at the event before a call, and what came of running it.
    pub(super) proofs: Vec<(String, Proof)>,
}

pub(crate) fn run(globals: &Globals, arguments: &DoctorArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let state = desk.places.state().map_err(|error| misplaced(&error))?;
    let installs = Installs::read(&state);
    let hosts: Vec<&str> = match &arguments.host {
        Some(host) => vec![host],
        None => FORMS.iter().map(|form| form.host).collect(),
    };
    let mut cases = Vec::new();
    for host in hosts {
        let case = case(&desk, known(host)?, installs.as_ref().ok())?;
        if arguments.host.is_some() || case.is_installed() {
            cases.push(case);
        }
    }
    let mut findings = common(&desk, &cases);
    if let Err(error) = &installs {
        let failure = unnoted(error);
        let (what, remedy) = failure.parts();
        findings.push(Finding::wrong(None, "installs-unreadable", what, remedy));
    }
    for case in &cases {
        findings.extend(of_host(&desk, case));
    }
    match arguments.format {
        Format::Text => say(&text(&cases, &findings))?,
        Format::Json => answer(&format!("{:#}\n", as_json(&cases, &findings)))?,
    }
    let wrong = findings.iter().any(|finding| finding.grave == Grave::Wrong);
    Ok(if wrong { Exit::No } else { Exit::Done })
}

impl Case {
    pub(super) fn standings(&self) -> impl Iterator<Item = (&Settings, &Standing)> {
        let read = |settings| Some((settings, Settings::standing(settings)?));
        self.settings.iter().filter_map(read)
    }

    pub(super) fn is_installed(&self) -> bool {
        !self.installs.is_empty() || self.standings().any(|(_, standing)| !standing.ours.is_empty())
    }
}

impl Settings {
    fn standing(&self) -> Option<&Standing> {
        self.standing.as_ref().ok()
    }
}

/// Where the home folder is a project, one file has two names.
fn is_new(seen: &[Settings], found: &Settings) -> bool {
    seen.iter().all(|seen| seen.path != found.path)
}

fn case(desk: &Desk, known: Known, installs: Option<&Installs>) -> Result<Case, Failure> {
    let mut settings = Vec::new();
    for scope in Scope::ALL {
        if scope == Scope::Managed && matches!(known.form.managed, Managed::ByHand(_)) {
            continue;
        }
        // No project here, or no home: no settings of that kind.
        let Ok(path) = settings_file(desk, known.form, scope) else { continue };
        let found = looked(known, scope, path)?;
        settings.extend(found.filter(|found| is_new(&settings, found)));
    }
    let folders = [Some(desk.places.project_root()), home(desk)];
    for folder in folders.into_iter().flatten() {
        for file in known.form.further.iter().filter(|file| file.ends_with(".json")) {
            let found = looked(known, Scope::Project, folder.join(file))?;
            settings.extend(found.filter(|found| is_new(&settings, found)));
        }
    }
    let host = known.facts.name;
    let installs = installs.into_iter().flat_map(Installs::iter);
    let installs = installs.filter(|install| install.host == host).cloned().collect();
    let mut case = Case { known, settings, installs, proofs: Vec::new() };
    let before =
        known.facts.events.iter().find(|event| tollgate_hosts::settings::stops_a_call(event));
    let mut commands: Vec<String> = case
        .standings()
        .flat_map(|(_, standing)| &standing.ours)
        .filter(|hook| before.is_some_and(|event| hook.event == event.name))
        .map(|hook| hook.command.clone())
        .collect();
    commands.sort();
    commands.dedup();
    let root = desk.places.project_root();
    case.proofs = commands
        .into_iter()
        .map(|command| {
            let proof = prove(known, &command, &root);
            (command, proof)
        })
        .collect();
    Ok(case)
}

/// What stands in a file; `None` where there is none.
fn looked(known: Known, scope: Scope, path: PathBuf) -> Result<Option<Settings>, Failure> {
    let file = super::file::read(&path)?;
    let Some(text) = &file.text else { return Ok(None) };
    let standing = standing(text, known.form, known.facts);
    let path = file.path.clone();
    Ok(Some(Settings { scope, path, standing }))
}

fn text(cases: &[Case], findings: &[Finding]) -> String {
    let mut out = String::new();
    if cases.is_empty() {
        out.push_str("no agent program passes Tollgate here: `tollgate install HOST`\n");
    }
    for case in cases {
        let facts = case.known.facts;
        let evidence = facts.evidence;
        let _ = writeln!(
            out,
            "{} ({}: known from {} {})",
            facts.title,
            facts.name,
            if evidence.word() == "live" { "running version" } else { "documents of version" },
            evidence.version()
        );
        for (settings, standing) in case.standings() {
            if !standing.ours.is_empty() {
                let (scope, path) = (settings.scope.name(), settings.path.display());
                let _ = writeln!(out, "  {} hooks in {path} ({scope})", standing.ours.len());
            }
        }
        for (command, proof) in &case.proofs {
            let command = shown(command, SHOWN_CHARS_MAX);
            let _ = match proof {
                Proof::Refused { took, reason } => writeln!(
                    out,
                    "  self-test: refused as it must be, in {} ms\n    {command}\n    the agent hears: {}",
                    took.as_millis(),
                    shown(reason, SHOWN_CHARS_MAX)
                ),
                Proof::Closed { .. } | Proof::Open { .. } => {
                    writeln!(out, "  self-test: FAILED\n    {command}")
                }
            };
        }
    }
    for finding in findings {
        let mark = match finding.grave {
            Grave::Wrong => "WRONG",
            Grave::Note => "note",
        };
        let host = finding.host.map(|host| format!("{host}: ")).unwrap_or_default();
        let what = shown(&finding.what, 1_000);
        let _ = writeln!(out, "\n{mark}  {host}{what} [{}]", finding.code);
        let _ = writeln!(out, "  remedy: {}", finding.remedy);
    }
    let wrong = findings.iter().filter(|finding| finding.grave == Grave::Wrong).count();
    let _ = match wrong {
        0 => writeln!(out, "\nnothing is wrong"),
        1 => writeln!(out, "\n1 thing is wrong"),
        count => writeln!(out, "\n{count} things are wrong"),
    };
    out
}

fn as_json(cases: &[Case], findings: &[Finding]) -> Value {
    let host = |case: &Case| {
        let facts = case.known.facts;
        let settings: Vec<Value> = case
            .standings()
            .map(|(settings, standing)| {
                json!({
                    "scope": settings.scope.name(),
                    "file": settings.path,
                    "hooks": standing.ours.len(),
                    "others": standing.others.len(),
                })
            })
            .collect();
        let proofs: Vec<Value> = case
            .proofs
            .iter()
            .map(|(command, proof)| match proof {
                Proof::Refused { took, reason } => json!({
                    "command": command, "refused": true, "ms": took.as_millis(), "reason": reason,
                }),
                Proof::Closed { reason: what } | Proof::Open { what } => {
                    json!({ "command": command, "refused": false, "what": what })
                }
            })
            .collect();
        json!({
            "host": facts.name,
            "evidence": facts.evidence.word(),
            "version": facts.evidence.version(),
            "settings": settings,
            "self_tests": proofs,
        })
    };
    json!({
        "version": 1,
        "ok": findings.iter().all(|finding| finding.grave != Grave::Wrong),
        "hosts": cases.iter().map(host).collect::<Vec<_>>(),
        "findings": findings.iter().map(Finding::as_json).collect::<Vec<_>>(),
    })
}

/// Whether a file is there that a command names as its program.
pub(super) fn program_of(command: &str) -> Option<PathBuf> {
    let first = match command.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next(),
        None => command.split_whitespace().next(),
    };
    first.map(Path::new).filter(|path| path.is_absolute()).map(Path::to_owned)
}
