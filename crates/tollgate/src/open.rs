//! Opening: from a policy and a place for the ledger to a gate that is ready, and reloading it.

use crate::approver::DiskApprover;
use crate::error::{OpenError, ReloadError};
use crate::guard::{self, Whereabouts};
use crate::kept::Keeping;
use crate::knowledge;
use crate::ledger::{KeptLedger, Trouble, scrub_with};
use crate::places::{Places, PlacesLoadError};
use crate::switches::{Effect, Switches, SwitchesError};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tollgate_gate::{
    Approver, Clock, Gate, GateBuilder, Hook, HookError, Ledger, LedgerError, Mode, Name, Ruleset,
    Scrub, Settings, State,
};
use tollgate_policy::snapshot::Freshness;
use tollgate_policy::{
    HookInfo, Layer, LayerKind, LayerState, LayerStatus, Loaded, Pinning, PolicySettings,
    TrustStore, load, load_text,
};
use tollgate_store::{HostProcess, SystemClock};

/// A gate under a policy, with its ledger.
pub struct Tollgate {
    gate: Arc<Gate>,
    clock: Arc<dyn Clock>,
    source: Source,
    trust: Option<TrustStore>,
    mode: Option<Mode>,
    /// What asks people by way of the disk: it goes by the policy in force.
    approver: Option<Arc<DiskApprover>>,
    in_force: Mutex<InForce>,
    trouble: Trouble,
}

/// The policy in force, as it was loaded, and what is switched.
#[derive(Default)]
struct InForce {
    layers: Vec<LayerStatus>,
    hooks: Vec<HookInfo>,
    /// The digest of the policy as it was loaded.
    digest: Option<Name>,
    base: Option<Base>,
    effect: Effect,
    notices: Vec<String>,
    pinning: Pinning,
}

/// The hooks of a policy before anything is switched: what switches are applied to anew.
#[derive(Clone)]
struct Base {
    settings: Settings,
    hooks: Vec<Hook>,
    digest: Name,
}

/// Where the policy comes from.
#[derive(Debug, Clone)]
enum Source {
    /// No policy: hooks registered in code are all there is.
    Code,
    /// A text, under the name that errors call it by.
    Text(String, String),
    /// Files, in the order managed, user, project.
    Layers(Vec<Layer>),
    /// What is in force for the operating-system user.
    Places(Box<Places>),
}

/// Makes what reaches people of what asks them by way of the disk.
type Over = dyn FnOnce(Option<Arc<dyn Approver>>) -> Arc<dyn Approver>;

/// Puts a [`Tollgate`] together.
#[derive(Default)]
pub struct Builder {
    source: Option<Source>,
    hooks: Vec<Hook>,
    mode: Option<Mode>,
    trust: Option<TrustStore>,
    loaded: Option<(Loaded, Freshness)>,
    ledger_folder: Option<PathBuf>,
    keys: Option<PathBuf>,
    short_lived: bool,
    ledger: Option<Arc<dyn Ledger>>,
    state: Option<Arc<dyn State>>,
    keeping: Keeping,
    scrub: Option<Arc<dyn Scrub>>,
    approver: Option<Box<Over>>,
    clock: Option<Arc<dyn Clock>>,
}

impl Tollgate {
    /// Opens under a policy file, with the ledger in memory.
    ///
    /// # Errors
    /// [`OpenError`]; for a policy with every problem, its place and its remedy.
    pub fn open(policy: impl Into<PathBuf>) -> Result<Tollgate, OpenError> {
        Tollgate::builder().policy_file(policy).open()
    }

    /// Puts one together piece by piece.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The gate, to be handed to whatever is to be governed.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The clock that it goes by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// What became of each policy file.
    pub fn layers(&self) -> Vec<LayerStatus> {
        self.in_force().layers.clone()
    }

    /// The hooks of the policy, as people look at them, before anything is switched.
    pub fn hooks(&self) -> Vec<HookInfo> {
        self.in_force().hooks.clone()
    }

    /// What the policy in force does about changed definitions of tools.
    pub fn pinning(&self) -> Pinning {
        self.in_force().pinning
    }

    /// What the person who runs this should know: a policy that is ignored, switches that cannot be
    /// read, a ledger whose open calls cannot be settled.
    pub fn notices(&self) -> Vec<String> {
        let mut notices = self.in_force().notices.clone();
        notices.extend(self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone());
        notices
    }

    fn in_force(&self) -> MutexGuard<'_, InForce> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the policy files again and swaps the ruleset whole, with what is switched. Hooks that were
    /// registered in code stay. Calls in flight end under the policy that they began with. The load is
    /// a record.
    ///
    /// # Errors
    /// [`ReloadError`]; the policy that was in force stays in force.
    pub async fn reload(&self) -> Result<(), ReloadError> {
        let Some(mut loaded) = self.load_again()? else { return Ok(()) };
        if let Some(mode) = self.mode {
            loaded.ruleset = with_mode(loaded.ruleset, mode)?;
        }
        let base = Base::of(&loaded.ruleset);
        let hooks: Vec<HookInfo> = loaded.hooks().collect();
        let (effect, trouble) = self.switched(&hooks);
        self.swap(&base, &effect).await?;
        if let Some(approver) = &self.approver {
            approver.go_by(&loaded.settings);
        }
        let mut notices = notices(&loaded);
        notices.extend(trouble.map(|error| error.to_string()));
        let (layers, digest) = (loaded.layers, Some(loaded.digest));
        let (base, pinning) = (Some(base), loaded.settings.pinning);
        *self.in_force() = InForce { layers, hooks, digest, base, effect, notices, pinning };
        Ok(())
    }

    /// Applies the switches as they are now to the policy in force. Whether anything changed.
    ///
    /// # Errors
    /// [`ReloadError`]; what was in force stays in force.
    pub(crate) async fn apply_switches(&self) -> Result<bool, ReloadError> {
        let (base, hooks, before) = {
            let in_force = self.in_force();
            (in_force.base.clone(), in_force.hooks.clone(), in_force.effect.clone())
        };
        let (effect, trouble) = self.switched(&hooks);
        let changed = effect != before;
        if let Some(base) = base.filter(|_| changed) {
            self.swap(&base, &effect).await?;
            self.in_force().effect = effect;
        }
        trouble.map_or(Ok(changed), |error| Err(error.into()))
    }

    /// What is switched now. Nothing, when it cannot be known: every hook is in force then.
    fn switched(&self, hooks: &[HookInfo]) -> (Effect, Option<SwitchesError>) {
        switched(&self.source, &*self.clock, hooks)
    }

    /// Whether the files hold another policy than the one in force, or none.
    pub(crate) fn is_stale(&self) -> bool {
        match self.load_again() {
            Ok(loaded) => loaded.map(|loaded| loaded.digest) != self.in_force().digest,
            Err(_) => true,
        }
    }

    fn load_again(&self) -> Result<Option<Loaded>, ReloadError> {
        let Some(loaded) = read(&self.source, &*self.clock, self.trust.as_ref())? else {
            return Ok(None);
        };
        let before = self.layers();
        for layer in before.iter().filter(|layer| layer.state == LayerState::InForce) {
            let now = loaded.layers.iter().find(|now| now.path == layer.path);
            let state = now.map(|now| now.state);
            if state != Some(LayerState::InForce) {
                let (kind, path) = (layer.kind, layer.path.clone());
                return Err(ReloadError::Missing { kind, path, state });
            }
        }
        Ok(Some(loaded))
    }

    /// Puts a policy into force, and behind it what was registered in code.
    async fn swap(&self, base: &Base, effect: &Effect) -> Result<(), ReloadError> {
        let mut ruleset = effect.apply(base.ruleset()?)?;
        let in_force = self.gate.ruleset();
        let own: HashSet<Name> = {
            let before = self.in_force();
            let names = before.base.iter().flat_map(|base| &base.hooks);
            names.map(|hook| Name::clone(hook.name())).collect()
        };
        let code: Vec<Hook> =
            in_force.hooks().filter(|hook| !own.contains(hook.name())).cloned().collect();
        if !code.is_empty() {
            let hooks = ruleset.hooks().cloned().chain(code);
            ruleset = Ruleset::new(ruleset.settings().clone(), hooks)?;
        }
        Ok(self.gate.swap(ruleset).await?)
    }

    /// The source of the policy, for whoever watches it.
    pub(crate) fn watched(&self) -> Watched {
        let includes = self.layers().into_iter().flat_map(|layer| layer.includes);
        let mut watched = Watched { policies: includes.collect(), switches: Vec::new() };
        match &self.source {
            Source::Code | Source::Text(..) => {}
            Source::Layers(layers) => {
                watched.policies.extend(layers.iter().map(|layer| layer.path.clone()));
            }
            Source::Places(places) => {
                watched.policies.push(places.managed_policy().to_owned());
                watched.policies.extend(places.user_policies().unwrap_or_default());
                watched.policies.extend(places.project_policies());
                watched.policies.extend(self.layers().into_iter().map(|layer| layer.path));
                if let Ok(state) = places.state() {
                    watched.policies.push(state.join("trust.json"));
                    watched.switches.push(state.join(crate::switches::FILE));
                }
            }
        }
        watched.policies.sort();
        watched.policies.dedup();
        watched
    }

    /// Records what is still open and closes. A ledger of its own is written out when it is dropped.
    ///
    /// # Errors
    /// [`LedgerError`] when it could not be recorded.
    pub async fn close(self) -> Result<(), LedgerError> {
        self.gate.flush().await
    }
}

impl std::fmt::Debug for Tollgate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tollgate").field("gate", &self.gate).finish_non_exhaustive()
    }
}

/// The files that a policy and its switches come from.
pub(crate) struct Watched {
    pub(crate) policies: Vec<PathBuf>,
    pub(crate) switches: Vec<PathBuf>,
}

fn read(
    source: &Source,
    clock: &dyn Clock,
    trust: Option<&TrustStore>,
) -> Result<Option<Loaded>, PlacesLoadError> {
    let environment = |name: &str| std::env::var(name).ok();
    let state = state_of(source);
    let sources = knowledge::sources(state.as_deref());
    let options = knowledge::options(&environment, trust, clock.now(), &sources);
    Ok(match source {
        Source::Code => None,
        Source::Text(name, text) => Some(load_text(name, text, &options)?),
        Source::Layers(layers) => Some(load(layers, &options)?),
        Source::Places(places) => Some(places.load(clock.now())?),
    })
}

/// The state folder of what a policy is read from: a program without places of its own shares the user's.
fn state_of(source: &Source) -> Option<PathBuf> {
    match source {
        Source::Places(places) => places.state().ok(),
        Source::Code | Source::Text(..) | Source::Layers(_) => {
            Places::of_user(Path::new("/")).ok().and_then(|places| places.state().ok())
        }
    }
}

/// The vault of the folder that the policy's hooks have theirs from: the same, so that it is read once.
fn with_vault(builder: GateBuilder, source: &Source) -> GateBuilder {
    match state_of(source) {
        Some(state) => builder.vault(knowledge::vault_in(&state)),
        None => builder,
    }
}

fn switched(
    source: &Source,
    clock: &dyn Clock,
    hooks: &[HookInfo],
) -> (Effect, Option<SwitchesError>) {
    let Source::Places(places) = source else { return (Effect::default(), None) };
    // Without a state folder there is nothing that could be switched.
    let Ok(state) = places.state() else { return (Effect::default(), None) };
    match Switches::read(&state) {
        Ok(switches) => (switches.at(clock.now(), hooks), None),
        Err(error) => (Effect::default(), Some(error)),
    }
}

/// Policies that are ignored.
fn notices(loaded: &Loaded) -> Vec<String> {
    let ignored = loaded.layers.iter().filter(|layer| layer.state != LayerState::InForce);
    ignored
        .map(|layer| {
            let path = layer.path.display();
            format!(
                "the {} policy `{path}` is ignored: {}",
                layer.kind,
                crate::places::why_ignored(layer.state)
            )
        })
        .collect()
}

/// The policy with what is switched, and what is known of it.
fn put_in_force(
    loaded: Loaded,
    source: &Source,
    clock: &dyn Clock,
) -> Result<(Ruleset, InForce), HookError> {
    let hooks: Vec<HookInfo> = loaded.hooks().collect();
    let (effect, trouble) = switched(source, clock, &hooks);
    let mut notices = notices(&loaded);
    notices.extend(trouble.map(|error| error.to_string()));
    let pinning = loaded.settings.pinning;
    let (layers, base) = (loaded.layers, Some(Base::of(&loaded.ruleset)));
    let ruleset = effect.apply(loaded.ruleset)?;
    let digest = Some(loaded.digest);
    Ok((ruleset, InForce { layers, hooks, digest, base, effect, notices, pinning }))
}

fn with_mode(ruleset: Ruleset, mode: Mode) -> Result<Ruleset, HookError> {
    let mut settings = ruleset.settings().clone();
    if settings.mode == mode {
        return Ok(ruleset);
    }
    settings.mode = mode;
    Ruleset::new(settings, ruleset.hooks().cloned())
}

impl Base {
    fn of(ruleset: &Ruleset) -> Base {
        Base {
            settings: ruleset.settings().clone(),
            hooks: ruleset.hooks().cloned().collect(),
            digest: Name::clone(ruleset.digest()),
        }
    }

    fn ruleset(&self) -> Result<Ruleset, HookError> {
        let ruleset = Ruleset::new(self.settings.clone(), self.hooks.iter().cloned())?;
        Ok(ruleset.with_digest(Name::clone(&self.digest)))
    }
}

impl Builder {
    /// The policy: one file, as a user's own.
    #[must_use]
    pub fn policy_file(self, path: impl Into<PathBuf>) -> Builder {
        self.policy_layers(vec![Layer::named(LayerKind::User, path)])
    }

    /// The policy: files of several owners, in the order managed, user, project.
    #[must_use]
    pub fn policy_layers(mut self, layers: Vec<Layer>) -> Builder {
        self.source = Some(Source::Layers(layers));
        self
    }

    /// The policy: what is in force for the operating-system user in these places, with what the person
    /// has trusted and switched. The ledger is where the policy says, or in the state folder.
    #[must_use]
    pub fn places(mut self, places: Places) -> Builder {
        self.source = Some(Source::Places(Box::new(places)));
        self
    }

    /// The policy in force in these places, loaded already, for a process that lives for one call: it
    /// appends to the ledger by itself, without a thread, and does not record again that a policy came
    /// into force which an earlier process has loaded.
    #[must_use]
    pub fn loaded(mut self, places: Places, loaded: Loaded, freshness: Freshness) -> Builder {
        self.loaded = Some((loaded, freshness));
        self.places(places)
    }

    /// The policy: a text, under the name that errors call it by.
    #[must_use]
    pub fn policy_text(mut self, name: impl Into<String>, text: impl Into<String>) -> Builder {
        self.source = Some(Source::Text(name.into(), text.into()));
        self
    }

    /// What a person has trusted; a project's file that was found counts only then.
    #[must_use]
    pub fn trust(mut self, trust: TrustStore) -> Builder {
        self.trust = Some(trust);
        self
    }

    /// Registers a hook in code, behind those of the policy.
    #[must_use]
    pub fn hook(mut self, hook: Hook) -> Builder {
        self.hooks.push(hook);
        self
    }

    /// Overrules the policy's mode.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Builder {
        self.mode = Some(mode);
        self
    }

    /// Keeps the ledger in this folder.
    #[must_use]
    pub fn ledger_folder(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.ledger_folder = Some(folder.into());
        self
    }

    /// Keeps the keys in this folder, which only its owner may write to: the one that signs the ledger's
    /// checkpoints, and the one of the digests in records. With [`Builder::places`] it is `keys` in the
    /// state folder, for the ledger that belongs there; without either, the ledger is not signed and records hold no digests.
    #[must_use]
    pub fn keys_folder(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.keys = Some(folder.into());
        self
    }

    /// For a process that decides an event or two and ends: no threads are started, whoever appends a
    /// record writes it.
    #[must_use]
    pub fn short_lived(mut self) -> Builder {
        self.short_lived = true;
        self
    }

    /// Keeps the ledger where you want.
    #[must_use]
    pub fn ledger(mut self, ledger: Arc<dyn Ledger>) -> Builder {
        self.ledger = Some(ledger);
        self
    }

    /// Keeps sessions and limits where you want.
    #[must_use]
    pub fn state(mut self, state: Arc<dyn State>) -> Builder {
        self.state = Some(state);
        self
    }

    /// Keeps sessions and limits on disk in this folder, for all processes that name it. With
    /// [`Builder::places`] that is the state folder, without any of these they are kept in memory.
    #[must_use]
    pub fn state_folder(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.keeping.folder = Some(folder.into());
        self
    }

    /// The process of the agent program, where this one runs as its hook: it is noted in its sessions
    /// on disk, so that nothing that it has started can answer for a person.
    #[must_use]
    pub fn host_process(mut self, host: HostProcess) -> Builder {
        self.keeping.host = Some(host);
        self
    }

    /// A call waits no longer than this for an answer, whatever its policy says, in milliseconds: the
    /// time that its host waits, with some to spare.
    #[must_use]
    pub fn wait_ms_max(mut self, wait_ms: u64) -> Builder {
        self.keeping.wait_ms_max = Some(wait_ms);
        self
    }

    /// Scrubs records with this. Without one, the detector's rules for secrets do it.
    #[must_use]
    pub fn scrub(mut self, scrub: Arc<dyn Scrub>) -> Builder {
        self.scrub = Some(scrub);
        self
    }

    /// Reaches people with this. Without one they are asked by way of the state folder, and where there
    /// is none, what would be asked is refused.
    #[must_use]
    pub fn approver(self, approver: Arc<dyn Approver>) -> Builder {
        self.approver_over(|_| approver)
    }

    /// Reaches people with what this makes; it is given what asks them by way of the state folder, if
    /// sessions are kept there.
    #[must_use]
    pub fn approver_over(
        mut self,
        over: impl FnOnce(Option<Arc<dyn Approver>>) -> Arc<dyn Approver> + 'static,
    ) -> Builder {
        self.approver = Some(Box::new(over));
        self
    }

    /// Goes by this clock instead of the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Builder {
        self.clock = Some(clock);
        self
    }

    /// Opens.
    ///
    /// # Errors
    /// [`OpenError`]; for a policy with every problem, its place and its remedy.
    pub fn open(self) -> Result<Tollgate, OpenError> {
        let code = (!self.hooks.is_empty()).then_some(Source::Code);
        let source = self.source.or(code).ok_or(OpenError::NoPolicy)?;
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let mut builder = Gate::builder(Arc::clone(&clock));
        let short_lived = self.short_lived || self.loaded.is_some();
        let loaded = match self.loaded {
            None => read(&source, &*clock, self.trust.as_ref())?,
            Some((loaded, freshness)) => {
                builder = builder.known_ruleset(freshness != Freshness::Compiled);
                Some(loaded)
            }
        };
        let mut in_force = InForce::default();
        let (mut ledger_folder, mut keys) = (self.ledger_folder, self.keys);
        let mut whereabouts = Whereabouts::default();
        let mut settings = PolicySettings::default();
        if let Some(mut loaded) = loaded {
            if let Some(lease) = loaded.settings.session_lease {
                builder = builder.lease_ms(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
            }
            if let Source::Places(places) = &source
                && self.ledger.is_none()
                && ledger_folder.is_none()
            {
                ledger_folder = places.ledger(loaded.settings.audit_store.as_deref())?;
                // A ledger that is named is not signed with this user's key.
                keys = keys.or(ledger_folder.is_some().then(|| places.keys()).transpose()?);
            }
            if let Some(mode) = self.mode {
                loaded.ruleset = with_mode(loaded.ruleset, mode)?;
            }
            whereabouts.layers(&loaded.layers);
            settings.clone_from(&loaded.settings);
            let ruleset;
            (ruleset, in_force) = put_in_force(loaded, &source, &*clock)?;
            builder = builder.ruleset(ruleset);
        } else if let Some(mode) = self.mode {
            builder = builder.mode(mode);
        }
        let places = if let Source::Places(places) = &source { Some(&**places) } else { None };
        places.into_iter().for_each(|places| whereabouts.places(places));
        let state_folder = self.keeping.folder_for(places, &settings, self.state.is_some())?;
        let kept = [&keys, &ledger_folder, &state_folder];
        kept.into_iter().flatten().for_each(|folder| whereabouts.folder(folder));
        let mut trouble = Trouble::default();
        if let Some(folder) = &ledger_folder {
            let keys = keys.as_deref();
            let ledger = KeptLedger::open(folder, keys, Arc::clone(&clock), short_lived)?;
            trouble = ledger.trouble();
            builder = builder.ledger(Arc::new(ledger));
        }
        if let Some(ledger) = self.ledger {
            builder = builder.ledger(ledger);
        }
        let scrub = self.scrub.map_or_else(|| scrub_with(keys.as_deref()), Ok)?;
        builder = builder.scrub(Arc::clone(&scrub));
        let folder = state_folder.as_deref();
        let (mut builder, approver) = self.keeping.open(builder, folder, &clock, &scrub, &settings);
        if let Some(state) = self.state {
            builder = builder.state(state);
        }
        if let Some(over) = self.approver {
            builder = builder.approver(over(approver.clone().map(|asking| asking as _)));
        }
        builder = with_vault(builder, &source);
        let guards = guard::hooks(whereabouts, &settings.tools);
        let gate = Arc::new(builder.hooks(guards).hooks(self.hooks).build()?);
        let (trust, mode, in_force) = (self.trust, self.mode, Mutex::new(in_force));
        Ok(Tollgate { gate, clock, source, trust, mode, approver, in_force, trouble })
    }
}
