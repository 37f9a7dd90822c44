//! `tollgate allow`: the narrowest exception that lets a refused call through, shown, agreed to, written.
//!
//! Nothing is written before the new text has loaded beside all other policies and the call passes
//! under it. The file is exchanged whole; what a person wrote in it stays byte for byte. A locked hook
//! has no exceptions, and a call of which the ledger masked a part cannot be pinned.

use crate::args::{AllowArguments, Globals};
use crate::commands::hooks::after;
use crate::desk::{Desk, LINE_CHARS_MAX, agreed, misplaced, run as block_on, unloaded};
use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::past::{self, Last, Past};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use tollgate::gate::text::shown;
use tollgate::gate::{Event, RecordKind, Timestamp, Verdict};
use tollgate::places::user_name;
use tollgate::policy::explain::{
    Exception, NoException, exception_for, with_exception, with_unless,
};
use tollgate::policy::limits::POLICY_BYTES_MAX;
use tollgate::policy::{Explanation, HookInfo, Layer, LayerKind, Loaded, Origin, explain};
use tollgate::{PlacesLoadError, refused_always};

/// Most hooks against which one call gets exceptions.
const EXCEPTIONS_MAX: usize = 16;
/// Lines around a change that are shown.
const AROUND: usize = 3;

pub(crate) fn run(globals: &Globals, arguments: &AllowArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let layers = desk.places.layers().map_err(|error| misplaced(&error))?;
    let loaded = desk.load_layers(&layers)?;
    let ledger = arguments.ledger.as_deref();
    let past = past::find(&desk, &loaded, &arguments.which, ledger, Last::Refused)?;
    unmasked(&past)?;
    let work = Work {
        desk: &desk,
        layers,
        reason: arguments.reason.clone().unwrap_or_else(|| default_reason(&past)),
        until: arguments.time.map(|time| after(desk.now(), time)),
        event: past.event.clone(),
    };
    let first = work.judge(&loaded)?;
    if first.decision.verdict == Verdict::Allow {
        answer(&goes_through(&past, &loaded))?;
        return Ok(Exit::No);
    }
    if let Some(guard) =
        refused_always(&desk.places, &loaded, &work.event).map_err(Failure::internal)?
    {
        return Err(Failure::usage(
            format!(
                "no exception lets this call through: `{guard}` refuses it under every policy, for it would \
                 change or take along what guards the agent"
            ),
            "do it yourself, outside of the agent, or let the agent do less: single files, not the whole folder",
        ));
    }
    let hook = work.exception(&loaded, &first)?.1;
    let mut target = Target::of(&work, arguments.into.as_deref(), &hook)?;
    let amended = work.amend(&target, loaded, first)?;
    answer(&format!(
        "{}{}\nnote: the same call with further arguments would pass by it too\n",
        past.headline(),
        amended.diff
    ))?;
    let question = format!("Write this into {}?", target.path.display());
    if !arguments.yes && !agreed(&question)? {
        answer("nothing was written\n")?;
        return Ok(Exit::No);
    }
    for hook in &amended.hooks {
        work.record(&amended.loaded, hook, &target)?;
    }
    target.write(&amended.text)?;
    answer(&target.last_words())?;
    Ok(Exit::Done)
}

/// What to say of a call that nothing refuses.
fn goes_through(past: &Past, loaded: &Loaded) -> String {
    let mut out = past.headline();
    out.push_str("this call goes through as it is; there is nothing to write\n");
    let then = past.record.as_ref().filter(|then| then.baseline.verdict != Verdict::Allow);
    if let Some(then) = then {
        let by = then.baseline.hook.as_deref().unwrap_or("the gate");
        let code = then.baseline.code.as_deref().unwrap_or("no code");
        let known = loaded.hooks().any(|hook| hook.name == by);
        let why = match known {
            true => "counters, labels and policies change",
            false => "that is no hook of the policies in force, so no policy can except from it",
        };
        let _ = writeln!(
            out,
            "it was refused then by {} ({}): {why}",
            shown(by, 100),
            shown(code, 100)
        );
    }
    out
}

fn default_reason(past: &Past) -> String {
    let what = past
        .record
        .as_ref()
        .map_or("this call".to_owned(), |record| format!("the call of record {}", record.event.id));
    format!("{what}, let through by {}", user_name())
}

fn unmasked(past: &Past) -> Result<(), Failure> {
    let masked = past.record.as_ref().map_or(&[] as &[String], |record| &record.masked);
    if masked.is_empty() {
        return Ok(());
    }
    let places: Vec<String> = masked.iter().map(|place| shown(place, 100).to_string()).collect();
    Err(Failure::usage(
        format!(
            "the ledger masks a part of this call, so it cannot be pinned: {}",
            places.join(", ")
        ),
        "give the call itself with --event FILE, or write the exception by hand",
    ))
}

/// What an exception is made from.
struct Work<'a> {
    desk: &'a Desk,
    layers: Vec<Layer>,
    reason: String,
    until: Option<Timestamp>,
    event: Event,
}

/// A policy's text with what was added.
struct Amended {
    text: String,
    /// The hooks that got an exception.
    hooks: Vec<String>,
    /// All policies, with this one in the place of the old.
    loaded: Loaded,
    diff: String,
}

impl Work<'_> {
    fn judge(&self, loaded: &Loaded) -> Result<Explanation, Failure> {
        let explanation = block_on(explain(loaded, self.event.clone(), self.event.at))?;
        explanation.map_err(Failure::internal)
    }

    /// The exception against what refused the call, and the hook that it is against.
    fn exception(
        &self,
        loaded: &Loaded,
        explanation: &Explanation,
    ) -> Result<(Exception, HookInfo), Failure> {
        let made =
            exception_for(loaded, &self.event, &explanation.decision, &self.reason, self.until);
        let exception = made.map_err(|error| {
            let remedy = match error {
                NoException::Locked(_) => "whoever locked it can change the policy",
                NoException::NoHook => "change the policy itself: `default`, or a limit",
                NoException::NoCall => "write the exception by hand, for what it shall hold",
                NoException::TooLarge => "write the exception by hand, with fewer arguments",
                NoException::GoesThrough => "there is nothing to do",
            };
            Failure::usage(error, remedy)
        })?;
        let hook = loaded.hooks().find(|hook| hook.name == exception.hook);
        hook.map(|hook| (exception, hook)).ok_or_else(|| Failure::internal("the hook is gone"))
    }

    /// Adds exceptions until the call passes, each checked by loading all policies anew.
    fn amend(
        &self,
        target: &Target,
        loaded: Loaded,
        explanation: Explanation,
    ) -> Result<Amended, Failure> {
        let text = target.before.clone().unwrap_or_default();
        let mut amended = Amended { text, hooks: Vec::new(), loaded, diff: String::new() };
        let mut explanation = explanation;
        while explanation.decision.verdict != Verdict::Allow {
            let (exception, hook) = self.exception(&amended.loaded, &explanation)?;
            if amended.hooks.contains(&hook.name) || amended.hooks.len() == EXCEPTIONS_MAX {
                return Err(Failure::usage(
                    format!(
                        "with an exception to `{}` the call would still be refused; nothing was \
                         written",
                        shown(&hook.name, LINE_CHARS_MAX)
                    ),
                    format!("write it by hand, for example:\n{exception}"),
                ));
            }
            let text = target.added(&amended.text, &exception, &hook)?;
            amended.diff.push_str(&diff(&target.path, &amended.text, &text));
            amended.loaded = self.load_with(target, &text)?;
            amended.text = text;
            amended.hooks.push(hook.name);
            explanation = self.judge(&amended.loaded)?;
        }
        Ok(amended)
    }

    /// All policies with this text in the place of the target's.
    fn load_with(&self, target: &Target, text: &str) -> Result<Loaded, Failure> {
        let file = target.candidate(text)?;
        let mut layers = self.layers.clone();
        match layers.iter_mut().find(|layer| real(&layer.path) == target.real) {
            Some(layer) => {
                layer.path = file.path().to_owned();
                // What is looked at here is what the person would trust again.
                layer.origin = Origin::Named;
            }
            None => layers.push(Layer::named(LayerKind::User, file.path())),
        }
        self.desk.places.load_layers(&layers, self.desk.now()).map_err(|error| {
            let PlacesLoadError::Policy(failure) = &error else { return unloaded(&error) };
            let candidate = file.path().display().to_string();
            let report = failure.to_string().replace(&candidate, &target.path.display().to_string());
            Failure::policy(format!(
                "error: with this exception the policies would not load; nothing was written\n\n{report}"
            ))
        })
    }

    fn record(&self, loaded: &Loaded, hook: &str, target: &Target) -> Result<(), Failure> {
        let detail = [
            ("switch", Some("allow".to_owned())),
            ("reason", Some(self.reason.clone())),
            ("until", self.until.map(|until| until.to_string())),
            ("file", Some(target.real.display().to_string())),
            ("event", Some(self.event.id.to_string())),
        ];
        self.desk.record(loaded, RecordKind::Switch, Some(hook), &detail)
    }
}

/// The file that is written into.
struct Target {
    /// As the person knows it.
    path: PathBuf,
    /// With its links followed.
    real: PathBuf,
    /// What stands in it; none when there is no such file yet.
    before: Option<String>,
    /// Whose policy it is; none when it is not in force here.
    layer: Option<LayerKind>,
}

impl Target {
    fn of(work: &Work<'_>, into: Option<&Path>, hook: &HookInfo) -> Result<Target, Failure> {
        let path = match into {
            Some(path) => path.to_owned(),
            None => default_target(work, hook)?,
        };
        let real = real(&path);
        let before = match fs::metadata(&real) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => Some(text_of(&path)?),
        };
        let of = work.layers.iter().find(|layer| self::real(&layer.path) == real);
        let mut layer = of.map(|layer| layer.kind);
        let users = work.desk.places.user_policies().map_err(|error| misplaced(&error))?;
        if layer.is_none() && users.iter().any(|user| self::real(user) == real) {
            layer = Some(LayerKind::User);
        }
        if layer == Some(LayerKind::Managed) {
            return Err(Failure::usage(
                format!("`{}` is the machine's policy", path.display()),
                "its administrator changes it; take your own policy",
            ));
        }
        Ok(Target { path, real, before, layer })
    }

    /// The text with an exception more.
    fn added(&self, text: &str, exception: &Exception, hook: &HookInfo) -> Result<String, Failure> {
        let file = hook.at.rsplit_once(':').map_or("", |(file, _)| file);
        let is_own = real(Path::new(file)) == self.real || file.ends_with(CANDIDATE_ENDING);
        let by_hand = |error: &dyn std::fmt::Display, what: String| {
            Failure::usage(
                format!("{} cannot be added to: {error}", past::name(&self.path)),
                format!("add it by hand:\n{what}"),
            )
        };
        if !is_own {
            if hook.layer == LayerKind::Project {
                return Err(projects(hook));
            }
            let fresh = "version: 1\nhooks: []\n";
            let text = if text.trim().is_empty() { fresh } else { text };
            let added = with_exception(text, exception);
            return added.map_err(|error| by_hand(&error, exception.to_string()));
        }
        if exception.until.is_some() {
            return Err(Failure::usage(
                format!(
                    "the hook `{}` stands in this policy itself, where an exception cannot end",
                    shown(&hook.name, LINE_CHARS_MAX)
                ),
                "leave out --for, or name a policy behind it: --policy NEXT --into NEXT",
            ));
        }
        let added = with_unless(text, exception, &exception.reason);
        let what = format!(
            "# the hook `{}` shall not concern this call; join it with its `unless`\n{}",
            shown(&hook.name, LINE_CHARS_MAX),
            exception.matching()
        );
        added.map_err(|error| by_hand(&error, what))
    }

    /// The text beside the target, so that what it includes is found; gone when dropped.
    fn candidate(&self, text: &str) -> Result<NamedTempFile, Failure> {
        let folder = self.real.parent().unwrap_or(Path::new("/"));
        let failed = |error: std::io::Error| {
            Failure::usage(
                format!("`{}` cannot be written to: {error}", folder.display()),
                "name another policy with --into FILE",
            )
        };
        if self.before.is_none() && !folder.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let file =
            tempfile::Builder::new().prefix(".").suffix(CANDIDATE_ENDING).tempfile_in(folder);
        let mut file = file.map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        Ok(file)
    }

    /// Exchanges the file, unless it was changed meanwhile.
    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let now = if self.real.exists() { Some(text_of(&self.path)?) } else { None };
        if now != self.before {
            return Err(Failure::usage(
                format!("`{}` was changed meanwhile; nothing was written", self.path.display()),
                "repeat the command",
            ));
        }
        let file = self.candidate(text)?;
        let failed = |error: std::io::Error| {
            Failure::internal(format!("`{}` cannot be written: {error}", self.path.display()))
        };
        if let Ok(found) = fs::metadata(&self.real) {
            file.as_file().set_permissions(found.permissions()).map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&self.real).map_err(|error| failed(error.error))?;
        Ok(())
    }

    fn last_words(&self) -> String {
        let path = self.path.display();
        let mut out = format!("written into {path}\n");
        match self.layer {
            Some(LayerKind::Project) => {
                let _ = writeln!(out, "it counts once you trust it again: tollgate trust {path}");
            }
            Some(LayerKind::User | LayerKind::Managed) => {}
            None => {
                let _ =
                    writeln!(out, "it counts where it is named behind the others: --policy {path}");
            }
        }
        out
    }
}

/// How the name of a text ends that is only loaded to see whether it does.
const CANDIDATE_ENDING: &str = ".tollgate-candidate.yaml";

/// The policy that an exception to a hook goes into when nobody says which.
fn default_target(work: &Work<'_>, hook: &HookInfo) -> Result<PathBuf, Failure> {
    let users = work.desk.places.user_policies().map_err(|error| misplaced(&error))?;
    let last = users.last().cloned().ok_or_else(|| Failure::internal("there is no user policy"))?;
    let file = hook.at.rsplit_once(':').map_or("", |(file, _)| file);
    match hook.layer {
        LayerKind::Managed => Ok(last),
        LayerKind::Project => Err(projects(hook)),
        LayerKind::User if users.iter().any(|user| real(user) == real(Path::new(file))) => Ok(last),
        LayerKind::User => Err(Failure::usage(
            format!(
                "the hook `{}` stands in a file that your policy includes ({})",
                shown(&hook.name, LINE_CHARS_MAX),
                hook.at
            ),
            "add to its `unless` there by hand, or name a policy behind it: --policy NEXT --into NEXT",
        )),
    }
}

fn projects(hook: &HookInfo) -> Failure {
    Failure::usage(
        format!(
            "the hook `{}` is the project's ({}); no other policy can except from it",
            shown(&hook.name, LINE_CHARS_MAX),
            hook.at
        ),
        "add to its `unless` there by hand, then `tollgate trust`",
    )
}

fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    // The file may be new; its folder may not.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        (_, _) => path.to_owned(),
    }
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let bytes = past::read(path, POLICY_BYTES_MAX)?;
    let no_policy = || {
        let message = format!("{} is no policy", past::name(path));
        Failure::usage(message, "name a policy with --into FILE")
    };
    if bytes.len() > POLICY_BYTES_MAX {
        return Err(no_policy());
    }
    String::from_utf8(bytes).map_err(|_| no_policy())
}

/// What one insertion changes, with some lines around it.
fn diff(path: &Path, before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let tail_max = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(tail_max).take_while(same).count();
    let mut out = format!("--- {}\n", path.display());
    let mut lines = |sign: char, from: usize, to: usize, of: &[&str]| {
        for line in of.iter().take(to).skip(from) {
            let _ = writeln!(out, "{sign} {}", shown(line, 400));
        }
    };
    lines(' ', head.saturating_sub(AROUND), head, &old);
    lines('-', head, old.len() - tail, &old);
    lines('+', head, new.len() - tail, &new);
    lines(' ', old.len() - tail, old.len().min(old.len() - tail + AROUND), &old);
    out.push('\n');
    out
}
