//! What the commands share that look at the policy in force or switch it: where things are, the policy,
//! and the ledger in which every switch is written before it has an effect.

use crate::args::Globals;
use crate::exit::Failure;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::gate::{
    BasicScrub, Clock, Durability, EventId, Json, Ledger, Object, Record, RecordKind, Scrub,
    Session, Timestamp,
};
use tollgate::ledger::ledger_options;
use tollgate::places::user_name;
use tollgate::policy::layers::TrustError;
use tollgate::policy::{Layer, Loaded, PrivateError};
use tollgate::store::{Committer, DiskState, FileLedger, SystemClock};
use tollgate::{OpenError, Places, PlacesError, PlacesLoadError, Switches, SwitchesError};

/// Longest text of a person or policy that a line shows, in characters.
pub(crate) const LINE_CHARS_MAX: usize = 200;

/// Where things are, and the time.
pub(crate) struct Desk {
    pub(crate) places: Places,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Desk {
    /// For work that starts in the current folder.
    pub(crate) fn new(globals: &Globals) -> Result<Desk, Failure> {
        Desk::starting_in(globals, Path::new("."))
    }

    /// For work that starts in this folder.
    pub(crate) fn starting_in(globals: &Globals, folder: &Path) -> Result<Desk, Failure> {
        let places = Places::of_user(folder).map_err(|error| misplaced(&error))?;
        let mut places = places.with_policies(globals.policy.clone());
        if let Some(state) = &globals.state {
            places = places.with_state(state);
        }
        Ok(Desk { places, clock: Arc::new(SystemClock::new()) })
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The policy in force.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        self.places.load(self.now()).map_err(|error| unloaded(&error))
    }

    /// The policy of these layers.
    pub(crate) fn load_layers(&self, layers: &[Layer]) -> Result<Loaded, Failure> {
        self.places.load_layers(layers, self.now()).map_err(|error| unloaded(&error))
    }

    /// The state folder.
    pub(crate) fn state(&self) -> Result<PathBuf, Failure> {
        self.places.state().map_err(|error| misplaced(&error))
    }

    /// What is switched.
    pub(crate) fn switches(&self) -> Result<Switches, Failure> {
        let state = self.places.state().map_err(|error| misplaced(&error))?;
        Switches::read(&state).map_err(|error| unswitched(&error))
    }

    /// Changes what is switched, whole or not at all.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Switches) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let state = self.places.state().map_err(|error| misplaced(&error))?;
        Switches::change(&state, self.now(), change)
    }

    /// Writes a record of this kind about a policy. What it tells is scrubbed of secrets first.
    pub(crate) fn record(
        &self,
        policy: &Loaded,
        kind: RecordKind,
        hook: Option<&str>,
        detail: &[(&str, Option<String>)],
    ) -> Result<(), Failure> {
        self.record_about(policy, kind, hook, None, detail)
    }

    /// As [`Desk::record`], about what happened in a session.
    pub(crate) fn record_about(
        &self,
        policy: &Loaded,
        kind: RecordKind,
        hook: Option<&str>,
        session: Option<&Arc<Session>>,
        detail: &[(&str, Option<String>)],
    ) -> Result<(), Failure> {
        let folder = self.ledger(policy)?;
        let now = self.now();
        let mut record = Record::new(EventId::made(now), now, kind);
        record.policy = Some(Arc::clone(&policy.digest));
        record.mode = Some(policy.settings.mode);
        record.hook = hook.map(Into::into);
        record.session = session.map(Arc::clone);
        let approval = detail.iter().find(|(key, _)| *key == "approval");
        record.approval = approval.and_then(|(_, id)| id.as_deref().map(Into::into));
        let scrub = BasicScrub::new();
        let mut told = Object::new();
        for (key, value) in detail {
            let clean = |value: &String| scrub.scrub(Some(key), value).unwrap_or(value.clone());
            told.insert(*key, value.as_ref().map(clean));
        }
        told.insert("by", user_name());
        record.detail = Some(Json::from(told));
        let keys = self.places.keys().map_err(|error| misplaced(&error))?;
        let options = ledger_options(Arc::clone(&self.clock), Committer::Caller, Some(&keys));
        let unwritten = |error: &dyn std::fmt::Display| {
            Failure::internal(format!("the switch is not recorded, so it does not happen: {error}"))
        };
        let ledger = FileLedger::open(&folder, options).map_err(|error| unwritten(&error))?;
        let appended = run(ledger.append(record, Durability::BeforeEffect))?;
        appended.map_err(|error| unwritten(&error))
    }

    /// Signs what was written to the ledger in this folder so far.
    pub(crate) fn sign(&self, folder: &Path) -> Result<(), Failure> {
        let keys = self.places.keys().map_err(|error| misplaced(&error))?;
        let options = ledger_options(Arc::clone(&self.clock), Committer::Thread, Some(&keys));
        let ledger = FileLedger::open(folder, options).map_err(Failure::internal)?;
        // A ledger with a thread signs its end when it is dropped.
        ledger.flush().map_err(Failure::internal)
    }

    /// The folder of the ledger. Where decisions are kept in memory only, switches are still written
    /// down.
    pub(crate) fn ledger(&self, policy: &Loaded) -> Result<PathBuf, Failure> {
        let audit_store = policy.settings.audit_store.as_deref();
        let folder = self.places.ledger(audit_store).map_err(|error| misplaced(&error))?;
        let default = self.places.ledger(None).map_err(|error| misplaced(&error))?;
        let folder = folder.or(default);
        folder.ok_or_else(|| Failure::internal("there is no place for the ledger"))
    }
}

/// Asks on the terminal; anything but a clear yes is a no.
pub(crate) fn agreed(question: &str) -> Result<bool, Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(Failure::usage(
            "nobody can be asked: standard input is no terminal",
            "read the above, then repeat with --yes",
        ));
    }
    let mut out = std::io::stderr();
    let asked = write!(out, "{question} [y/N] ").and_then(|()| out.flush());
    asked.map_err(Failure::internal)?;
    let mut line = String::new();
    input.read_line(&mut line).map_err(Failure::internal)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Refuses what an agent has started: it may not answer or switch what governs it.
pub(crate) fn refuse_governed(state: &DiskState) -> Result<(), Failure> {
    // A session that cannot be read may be the one.
    let all: Result<Vec<_>, _> =
        state.sessions().map_err(|fault| Failure::internal(&fault))?.into_iter().collect();
    let all = all.map_err(|fault| Failure::internal(&fault))?;
    match tollgate::person::governed_by(&all) {
        None => Ok(()),
        Some(session) => Err(Failure::usage(
            format!("an agent has started this: it runs below session `{}`", session.id),
            "a person does this, in a terminal that no agent has started",
        )),
    }
}

/// Runs a future to its end.
pub(crate) fn run<F: IntoFuture>(future: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    Ok(runtime.map_err(Failure::internal)?.block_on(future.into_future()))
}

pub(crate) fn misplaced(error: &PlacesError) -> Failure {
    Failure::usage(error, error.remedy())
}

pub(crate) fn unloaded(error: &PlacesLoadError) -> Failure {
    match error {
        PlacesLoadError::Places(error) => misplaced(error),
        PlacesLoadError::Trust(error) => untrusted(error),
        PlacesLoadError::Policy(failure) => Failure::policy(failure),
    }
}

pub(crate) fn unopened(error: &OpenError) -> Failure {
    match error {
        OpenError::Places(error) => misplaced(error),
        OpenError::Trust(error) => untrusted(error),
        OpenError::Policy(failure) => Failure::policy(failure),
        OpenError::NoPolicy => Failure::usage(error, "`tollgate init` writes one to start from"),
        OpenError::Hook(_) | OpenError::Store(_) => Failure::internal(error),
    }
}

fn untrusted(error: &TrustError) -> Failure {
    match error {
        TrustError::Private(error) => Failure::usage(error, private_remedy(error)),
        TrustError::Malformed { .. } => {
            Failure::usage(error, "take the file away, and trust the projects again")
        }
    }
}

/// What makes a private file one that is believed again. It can be the folder that is at fault, which nobody
/// should take away.
pub(crate) fn private_remedy(error: &PrivateError) -> String {
    match error {
        PrivateError::NotPrivate { path, why } => match path.is_dir() {
            true => format!(
                "look at what others have put there, then: chmod go-w {0} (and chown it, if it is not yours)",
                path.display()
            ),
            false if why.contains("mode") => {
                format!("look at what it says, then: chmod 600 {}", path.display())
            }
            false => {
                format!("look at `{}`, and make it a file of yours with mode 600", path.display())
            }
        },
        PrivateError::Io { path, .. } => {
            format!("make `{}` and its folders readable and writable for you", path.display())
        }
        PrivateError::TooLarge { path, .. } => format!("move `{}` away", path.display()),
    }
}

impl From<SwitchesError> for Failure {
    fn from(error: SwitchesError) -> Failure {
        unswitched(&error)
    }
}

pub(crate) fn unswitched(error: &SwitchesError) -> Failure {
    match error {
        SwitchesError::TooLong => {
            Failure::usage(error, "name a shorter time, and pause again later")
        }
        SwitchesError::Reason => Failure::usage(error, "say why: --reason \"...\""),
        SwitchesError::TooMany => Failure::usage(error, "change the policy instead"),
        SwitchesError::Private(cause) => Failure::usage(error, private_remedy(cause)),
        SwitchesError::Lock { path, .. } => Failure::usage(
            error,
            format!("make `{}` and its folder writable for you", path.display()),
        ),
        SwitchesError::Malformed { .. } => {
            Failure::usage(error, "take the file away: every hook is in force then")
        }
    }
}
