//! Opening: from a policy and a place for the ledger to a gate that is ready, and reloading it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tollgate_gate::{
    Approver, Clock, Gate, Hook, HookError, Ledger, LedgerError, Mode, Scrub, State, SwitchError,
};
use tollgate_policy::{
    Layer, LayerKind, LayerStatus, LoadFailure, LoadOptions, Loaded, TrustStore, load, load_text,
};
use tollgate_store::{FileLedger, LedgerOptions, StoreError, SystemClock};

/// A gate under a policy, with its ledger.
pub struct Tollgate {
    gate: Arc<Gate>,
    clock: Arc<dyn Clock>,
    source: Source,
    trust: Option<TrustStore>,
    layers: Mutex<Vec<LayerStatus>>,
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
}

/// Why Tollgate does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Neither a policy nor a hook was given.
    #[error("no policy: name a policy file, or register hooks in code")]
    NoPolicy,
    /// The policy does not load; the text names every problem with its place and its remedy.
    #[error("{0}")]
    Policy(#[from] LoadFailure),
    /// A hook registered in code cannot work.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a reload did not happen. The policy that was in force stays in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The policy does not load.
    #[error("{0}")]
    Policy(#[from] LoadFailure),
    /// The load could not be recorded.
    #[error(transparent)]
    Switch(#[from] SwitchError),
}

/// Puts a [`Tollgate`] together.
#[derive(Default)]
pub struct Builder {
    source: Option<Source>,
    hooks: Vec<Hook>,
    mode: Option<Mode>,
    trust: Option<TrustStore>,
    ledger_folder: Option<PathBuf>,
    ledger: Option<Arc<dyn Ledger>>,
    state: Option<Arc<dyn State>>,
    scrub: Option<Arc<dyn Scrub>>,
    approver: Option<Arc<dyn Approver>>,
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
        self.layers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads the policy files again and swaps the ruleset whole. Calls in flight end under the policy
    /// that they began with. The load is a record.
    ///
    /// # Errors
    /// [`ReloadError`]; the policy that was in force stays in force.
    pub async fn reload(&self) -> Result<(), ReloadError> {
        let Some(loaded) = read(&self.source, &*self.clock, self.trust.as_ref())? else {
            return Ok(());
        };
        let layers = loaded.layers.clone();
        self.gate.swap(loaded.ruleset).await?;
        *self.layers.lock().unwrap_or_else(PoisonError::into_inner) = layers;
        Ok(())
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

fn read(
    source: &Source,
    clock: &dyn Clock,
    trust: Option<&TrustStore>,
) -> Result<Option<Loaded>, LoadFailure> {
    let environment = |name: &str| std::env::var(name).ok();
    let options = LoadOptions { env: &environment, trust, ..LoadOptions::new(clock.now()) };
    match source {
        Source::Code => Ok(None),
        Source::Text(name, text) => load_text(name, text, &options).map(Some),
        Source::Layers(layers) => load(layers, &options).map(Some),
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

    /// Scrubs records with this.
    #[must_use]
    pub fn scrub(mut self, scrub: Arc<dyn Scrub>) -> Builder {
        self.scrub = Some(scrub);
        self
    }

    /// Reaches people with this. Without one, what would be asked is refused.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Builder {
        self.approver = Some(approver);
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
        let source = match self.source {
            Some(source) => source,
            None if self.hooks.is_empty() => return Err(OpenError::NoPolicy),
            None => Source::Code,
        };
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let loaded = read(&source, &*clock, self.trust.as_ref())?;
        let mut builder = Gate::builder(Arc::clone(&clock));
        let mut layers = Vec::new();
        if let Some(loaded) = loaded {
            if let Some(lease) = loaded.settings.session_lease {
                let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
                builder = builder.lease_ms(lease_ms);
            }
            layers = loaded.layers;
            builder = builder.ruleset(loaded.ruleset);
        }
        if let Some(mode) = self.mode {
            builder = builder.mode(mode);
        }
        if let Some(folder) = &self.ledger_folder {
            let options = LedgerOptions::new(Arc::clone(&clock));
            builder = builder.ledger(Arc::new(FileLedger::open(folder, options)?));
        }
        if let Some(ledger) = self.ledger {
            builder = builder.ledger(ledger);
        }
        if let Some(state) = self.state {
            builder = builder.state(state);
        }
        if let Some(scrub) = self.scrub {
            builder = builder.scrub(scrub);
        }
        if let Some(approver) = self.approver {
            builder = builder.approver(approver);
        }
        let gate = Arc::new(builder.hooks(self.hooks).build()?);
        Ok(Tollgate { gate, clock, source, trust: self.trust, layers: Mutex::new(layers) })
    }
}
