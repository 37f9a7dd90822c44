//! The gate: the engine that every event passes (law 1).
//!
//! `decide` before an effect, `settle` after it, `guard` around both, `judge` for a host that tells
//! of each by an event of its own. They are the only ways in; there is no fast path.
//!
//! A decision takes one ruleset and keeps it to its end. Rulesets are swapped whole, while other
//! decisions run, and every swap is a record before it has an effect.

mod ask;
mod bounds;
mod decide;
mod hides;
mod masks;
mod records;
mod settle;
mod switch;
mod veiling;

pub use decide::{Closed, Passage, Ruling};
pub use settle::{ModelResult, Performed, Settled};
pub use switch::{Grant, Registrar, Scope, SwitchError};

use crate::approval::Approver;
use crate::clock::Clock;
use crate::event::{Event, EventId, Name};
use crate::hook::Hook;
use crate::json::Object;
use crate::ledger::{Ledger, LedgerError, MemoryLedger};
use crate::limits::CLAIM_LEASE_MS;
use crate::metrics::{self, HookMetrics};
use crate::permit::{Abandoned, Permit, Ticket};
use crate::record::{Record, RecordKind};
use crate::ruleset::{Durability, HookError, Mode, Registry, Ruleset, Settings};
use crate::scrub::{BasicScrub, Scrub};
use crate::state::{MemoryState, State};
use crate::vault::{Kept, Vault};
use crate::veil::Veil;
use arc_swap::ArcSwap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The data of a vault, ready to be looked for, and the list that they were made of.
type LastVeil = (Arc<Vec<Kept>>, Arc<Veil>);

/// The gate.
pub struct Gate {
    ruleset: ArcSwap<Ruleset>,
    registry: Mutex<Registry>,
    state: Arc<dyn State>,
    ledger: Arc<dyn Ledger>,
    scrub: Arc<dyn Scrub>,
    clock: Arc<dyn Clock>,
    approver: Option<Arc<dyn Approver>>,
    vault: Option<Arc<dyn Vault>>,
    /// The data that were looked for last, ready to be looked for.
    veil: Mutex<Option<LastVeil>>,
    abandoned: Arc<Abandoned>,
    clean: records::CleanNames,
    /// Whether the record of the first ruleset has been written.
    opened: AtomicBool,
    lease_ms: u64,
}

/// Puts a gate together. What is not set is kept in memory.
pub struct GateBuilder {
    clock: Arc<dyn Clock>,
    hooks: Vec<Hook>,
    ruleset: Option<Ruleset>,
    settings: Settings,
    state: Option<Arc<dyn State>>,
    ledger: Option<Arc<dyn Ledger>>,
    scrub: Option<Arc<dyn Scrub>>,
    approver: Option<Arc<dyn Approver>>,
    vault: Option<Arc<dyn Vault>>,
    lease_ms: u64,
    is_known: bool,
}

impl Gate {
    /// A gate that takes its time from `clock`.
    pub fn builder(clock: Arc<dyn Clock>) -> GateBuilder {
        GateBuilder {
            clock,
            hooks: Vec::new(),
            ruleset: None,
            settings: Settings::default(),
            state: None,
            ledger: None,
            scrub: None,
            approver: None,
            vault: None,
            lease_ms: CLAIM_LEASE_MS,
            is_known: false,
        }
    }

    /// The ruleset in force.
    pub fn ruleset(&self) -> Arc<Ruleset> {
        self.ruleset.load_full()
    }

    /// The clock that this gate goes by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// What each registered hook has done, in order of registration.
    pub fn metrics(&self) -> Vec<HookMetrics> {
        self.registry().metrics()
    }

    /// The metrics as text, in the Prometheus exposition format.
    pub fn metrics_text(&self) -> String {
        metrics::text(&self.metrics())
    }

    /// Decides, performs and settles: `effect` is called with a permit if the event goes through.
    /// Gives back what the model is to see, whether or not the effect took place.
    pub async fn guard<F, P>(&self, event: Event, effect: F) -> Settled
    where
        F: FnOnce(Permit) -> P,
        P: Future<Output = (Ticket, Performed)>,
    {
        match self.decide(event).await.passage {
            Passage::Open(permit) => {
                let (ticket, performed) = effect(permit).await;
                self.settle(ticket, performed).await
            }
            Passage::Closed(closed) => self.settle_closed(closed).await,
        }
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what waits to be written: the record of the first ruleset, and outcomes of calls that
    /// were dropped. Cheap when there is nothing.
    async fn catch_up(&self) -> Result<(), LedgerError> {
        if !self.opened.load(Ordering::Acquire) && !self.opened.swap(true, Ordering::AcqRel) {
            let opening = Opening { opened: &self.opened, done: false };
            let ruleset = self.ruleset();
            let record = self.load_record(&ruleset, None);
            self.ledger.append(record, ruleset.settings().durability).await?;
            if ruleset.settings().mode != Mode::Enforce {
                let record = self.mode_record(None, ruleset.settings().mode, "as configured");
                self.ledger.append(record, ruleset.settings().durability).await?;
            }
            opening.finish();
        }
        while let Some(call) = self.abandoned.take() {
            // Until it is recorded it stays a ticket, which goes back into the list when dropped.
            let ticket = Ticket::new(Some(call), &self.abandoned);
            self.settle_unknown(&ticket).await?;
            ticket.settle();
        }
        Ok(())
    }

    /// Records what is still open: outcomes of calls that were dropped. Call it before the program
    /// ends.
    ///
    /// # Errors
    /// [`LedgerError`] when it could not be recorded.
    pub async fn flush(&self) -> Result<(), LedgerError> {
        self.catch_up().await
    }

    fn new_record(&self, kind: RecordKind) -> Record {
        let now = self.clock.now();
        Record::new(EventId::made(now), now, kind)
    }

    fn load_record(&self, ruleset: &Ruleset, before: Option<&Ruleset>) -> Record {
        let mut record = self.new_record(RecordKind::PolicyLoad);
        record.policy = Some(Arc::clone(ruleset.digest()));
        record.mode = Some(ruleset.settings().mode);
        let mut detail = Object::new();
        detail.insert("hooks", ruleset.hooks().count() as u64);
        if let Some(before) = before {
            detail.insert("before", &**before.digest());
        }
        record.detail = Some(detail.into());
        record
    }

    fn mode_record(&self, from: Option<Mode>, to: Mode, reason: &str) -> Record {
        let mut record = self.new_record(RecordKind::ModeChange);
        record.mode = Some(to);
        record.policy = Some(Arc::clone(self.ruleset().digest()));
        let mut detail = Object::new();
        detail.insert("from", from.map(Mode::name));
        detail.insert("to", to.name());
        detail.insert("reason", &*self.scrubbed(&reason.into()));
        record.detail = Some(detail.into());
        record
    }
}

/// The writing of the first record: one decision does it, and leaves it to the next if it fails or is
/// cancelled.
struct Opening<'a> {
    opened: &'a AtomicBool,
    done: bool,
}

impl Opening<'_> {
    fn finish(mut self) {
        self.done = true;
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.opened.store(self.done, Ordering::Release);
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("policy", self.ruleset().digest()).finish_non_exhaustive()
    }
}

impl GateBuilder {
    /// Registers a hook, behind those already there.
    #[must_use]
    pub fn hook(mut self, hook: Hook) -> GateBuilder {
        self.hooks.push(hook);
        self
    }

    /// Registers hooks, in this order.
    #[must_use]
    pub fn hooks(mut self, hooks: impl IntoIterator<Item = Hook>) -> GateBuilder {
        self.hooks.extend(hooks);
        self
    }

    /// Starts from a compiled ruleset; hooks of the builder come behind its own.
    #[must_use]
    pub fn ruleset(mut self, ruleset: Ruleset) -> GateBuilder {
        self.settings = ruleset.settings().clone();
        self.ruleset = Some(ruleset);
        self
    }

    /// Sets how it decides, beside its hooks.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> GateBuilder {
        self.settings = settings;
        self
    }

    /// Sets the mode.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> GateBuilder {
        self.settings.mode = mode;
        self
    }

    /// Sets where sessions, limits and breakers live.
    #[must_use]
    pub fn state(mut self, state: Arc<dyn State>) -> GateBuilder {
        self.state = Some(state);
        self
    }

    /// Sets the ledger.
    #[must_use]
    pub fn ledger(mut self, ledger: Arc<dyn Ledger>) -> GateBuilder {
        self.ledger = Some(ledger);
        self
    }

    /// Sets what scrubs records.
    #[must_use]
    pub fn scrub(mut self, scrub: Arc<dyn Scrub>) -> GateBuilder {
        self.scrub = Some(scrub);
        self
    }

    /// Sets what reaches people. Without one, what would be asked is refused.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> GateBuilder {
        self.approver = Some(approver);
        self
    }

    /// Sets the vault whose data are looked for in what comes back. The hooks that fill it and open it have
    /// it by themselves.
    #[must_use]
    pub fn vault(mut self, vault: Arc<dyn Vault>) -> GateBuilder {
        self.vault = Some(vault);
        self
    }

    /// Sets after which time a reservation that was never settled frees itself, in milliseconds.
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> GateBuilder {
        self.lease_ms = lease_ms;
        self
    }

    /// Whether its ruleset came into force in an earlier process, and that is recorded already: a
    /// process that lives for one call does not say so again.
    #[must_use]
    pub fn known_ruleset(mut self, is_known: bool) -> GateBuilder {
        self.is_known = is_known;
        self
    }

    /// Builds the gate.
    ///
    /// # Errors
    /// [`HookError`] names the hook that cannot work and why.
    pub fn build(self) -> Result<Gate, HookError> {
        let mut registry = match &self.ruleset {
            Some(ruleset) => Registry::of(ruleset),
            None => Registry::default(),
        };
        // What guards the gate itself is no part of the policy: its digest stays the policy's.
        let changes = self.hooks.iter().any(|hook| !hook.guards);
        let added = !self.hooks.is_empty();
        for hook in self.hooks {
            registry.add(hook)?;
        }
        let ruleset = match self.ruleset {
            Some(ruleset) if *ruleset.settings() == self.settings && !changes => {
                let digest = Name::clone(ruleset.digest());
                if added { registry.compile_as(self.settings, digest) } else { ruleset }
            }
            _ => registry.compile(self.settings),
        };
        Ok(Gate {
            ruleset: ArcSwap::from_pointee(ruleset),
            registry: Mutex::new(registry),
            state: self.state.unwrap_or_else(|| Arc::new(MemoryState::new())),
            ledger: self.ledger.unwrap_or_else(|| Arc::new(MemoryLedger::new())),
            scrub: self.scrub.unwrap_or_else(|| Arc::new(BasicScrub::new())),
            clock: self.clock,
            approver: self.approver,
            vault: self.vault,
            veil: Mutex::default(),
            abandoned: Arc::default(),
            clean: records::CleanNames::default(),
            opened: AtomicBool::new(self.is_known),
            lease_ms: self.lease_ms,
        })
    }
}

/// How durable an outcome must be: it follows a decision that already is, so it never waits.
const OUTCOME_DURABILITY: Durability = Durability::Buffered;
