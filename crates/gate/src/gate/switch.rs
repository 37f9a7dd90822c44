//! Switches: hooks added, removed, enabled, disabled and replaced, rulesets swapped and modes changed
//! while the gate runs (laws 10 and 11).
//!
//! Each is recorded before it takes effect; if it cannot be recorded it does not happen. Calls in
//! flight keep the ruleset they began with.

use super::Gate;
use crate::code::Code;
use crate::event::Name;
use crate::glob::GlobError;
use crate::hook::{DryRun, Hook, Roles};
use crate::json::Object;
use crate::ledger::LedgerError;
use crate::matcher::{Matcher, Patterns};
use crate::record::{Record, RecordKind};
use crate::ruleset::{Durability, HookError, Mode, Registered, Registry, Ruleset};
use crate::session::Session;
use crate::state::{Aborted, StateError};
use std::sync::Arc;

/// Why a switch did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// The hook cannot be registered.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The switch could not be recorded.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The session could not be reached.
    #[error(transparent)]
    State(#[from] StateError),
}

/// What a registrar may register (law 11).
#[derive(Debug, Clone, Default)]
pub struct Grant {
    /// The roles that its hooks may have.
    pub roles: Roles,
    /// The events that its hooks may concern.
    pub scope: Scope,
    /// The lowest (first) priority that its hooks may have.
    pub priority_min: Option<i32>,
}

/// The events that a registrar's hooks may concern: its hooks match nothing outside of it.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Globs of tenants; none: any.
    pub tenants: Vec<String>,
    /// Globs of agents; none: any.
    pub agents: Vec<String>,
    /// Globs of tools; none: any, and events without a tool.
    pub tools: Vec<String>,
}

impl Scope {
    fn matcher(&self) -> Result<Matcher, GlobError> {
        let mut matcher = Matcher::Always;
        for (globs, make) in [
            (&self.tenants, Matcher::Tenant as fn(Patterns) -> Matcher),
            (&self.agents, Matcher::Agent),
            (&self.tools, Matcher::Tool),
        ] {
            if !globs.is_empty() {
                let patterns = Patterns::globs(globs.iter().map(String::as_str))?;
                matcher = matcher.and(make(patterns));
            }
        }
        Ok(matcher)
    }
}

/// Registers hooks within a grant. Hand one to code that may not do everything.
#[derive(Debug, Clone)]
pub struct Registrar {
    gate: Arc<Gate>,
    grant: Grant,
    scope: Matcher,
}

impl Registrar {
    /// Registers a hook, narrowed to the grant's scope.
    ///
    /// # Errors
    /// [`HookError::NotGranted`] for a role or priority beyond the grant, and as [`Gate::attach`].
    pub async fn attach(&self, hook: Hook) -> Result<Registered, SwitchError> {
        let not_granted = |what: String| {
            Err(SwitchError::Hook(HookError::NotGranted { hook: Name::clone(&hook.name), what }))
        };
        if !self.grant.roles.include(hook.roles) {
            return not_granted(format!("{} (it may: {})", hook.roles, self.grant.roles));
        }
        if let Some(priority_min) = self.grant.priority_min.filter(|min| hook.priority < *min) {
            return not_granted(format!("take a priority before {priority_min}"));
        }
        let matcher = self.scope.clone().and(hook.matcher.clone());
        self.gate.attach(hook.matching(matcher)).await
    }
}

impl Gate {
    /// A registrar that may register what the grant allows.
    ///
    /// # Errors
    /// [`GlobError`] of a bad glob in the scope.
    pub fn registrar(self: &Arc<Gate>, grant: Grant) -> Result<Registrar, GlobError> {
        let scope = grant.scope.matcher()?;
        Ok(Registrar { gate: Arc::clone(self), grant, scope })
    }

    /// Registers a hook. The same hook again changes nothing.
    ///
    /// # Errors
    /// [`HookError`] when the hook cannot work or its name is taken; [`LedgerError`] when the switch
    /// cannot be recorded. Nothing has changed then.
    pub async fn attach(&self, hook: Hook) -> Result<Registered, SwitchError> {
        let name = Name::clone(&hook.name);
        let (registered, ruleset) = self.try_change(|registry| registry.add(hook.clone()))?;
        if registered == Registered::New {
            self.commit(&name, "attach", None, ruleset, |registry| registry.add(hook).map(drop))
                .await?;
        }
        Ok(registered)
    }

    /// Removes a hook.
    ///
    /// # Errors
    /// [`HookError::Unknown`], or [`LedgerError`] when the switch cannot be recorded.
    pub async fn detach(&self, name: &str) -> Result<(), SwitchError> {
        let change = |registry: &mut Registry| registry.remove(name).map(drop);
        let ((), ruleset) = self.try_change(change)?;
        self.commit(&name.into(), "detach", None, ruleset, change).await
    }

    /// Enables a hook.
    ///
    /// # Errors
    /// As [`Gate::detach`].
    pub async fn enable(&self, name: &str, reason: &str) -> Result<(), SwitchError> {
        self.change_hook(name, "enable", reason, |hook| hook.with_enabled(true)).await
    }

    /// Disables a hook.
    ///
    /// # Errors
    /// As [`Gate::detach`].
    pub async fn disable(&self, name: &str, reason: &str) -> Result<(), SwitchError> {
        self.change_hook(name, "disable", reason, |hook| hook.with_enabled(false)).await
    }

    /// Makes a hook dry, or makes it act again.
    ///
    /// # Errors
    /// As [`Gate::detach`].
    pub async fn set_dry_run(
        &self,
        name: &str,
        dry_run: DryRun,
        reason: &str,
    ) -> Result<(), SwitchError> {
        self.change_hook(name, "dry_run", reason, |hook| hook.with_dry_run(dry_run)).await
    }

    /// Puts another hook in the place of the one of its name, in the same order of registration.
    ///
    /// # Errors
    /// As [`Gate::attach`], and [`HookError::Unknown`].
    pub async fn replace(&self, hook: Hook, reason: &str) -> Result<(), SwitchError> {
        let name = Name::clone(&hook.name);
        self.change_hook(&name, "replace", reason, |_| hook.clone()).await
    }

    /// Swaps the whole ruleset. Counts of hooks that keep their name go on.
    ///
    /// # Errors
    /// [`LedgerError`] when the load cannot be recorded; the old ruleset stays.
    pub async fn swap(&self, ruleset: Ruleset) -> Result<(), SwitchError> {
        let before = self.ruleset();
        let record = self.load_record(&ruleset, Some(&before));
        self.catch_up().await?;
        self.ledger.append(record, Durability::BeforeEffect).await?;
        if before.settings().mode != ruleset.settings().mode {
            let (from, to) = (before.settings().mode, ruleset.settings().mode);
            let record = self.mode_record(Some(from), to, "with a new ruleset");
            self.ledger.append(record, Durability::BeforeEffect).await?;
        }
        let digest = Name::clone(ruleset.digest());
        let mut registry = self.registry();
        let mut fresh = Registry::of(&ruleset);
        fresh.keep_counts(&registry);
        let settings = ruleset.settings().clone();
        *registry = fresh;
        self.ruleset.store(Arc::new(registry.compile_as(settings, digest)));
        Ok(())
    }

    /// Changes the mode.
    ///
    /// # Errors
    /// [`LedgerError`] when the change cannot be recorded; the old mode stays.
    pub async fn set_mode(&self, mode: Mode, reason: &str) -> Result<(), SwitchError> {
        let before = self.ruleset().settings().mode;
        if before == mode {
            return Ok(());
        }
        self.catch_up().await?;
        let record = self.mode_record(Some(before), mode, reason);
        self.ledger.append(record, Durability::BeforeEffect).await?;
        let registry = self.registry();
        let mut settings = self.ruleset().settings().clone();
        settings.mode = mode;
        self.ruleset.store(Arc::new(registry.compile(settings)));
        Ok(())
    }

    /// Ends a session and its children: every later event of theirs is refused.
    ///
    /// # Errors
    /// [`LedgerError`] or [`StateError`] when it could not be recorded or written.
    pub async fn abort_session(
        &self,
        session: &Arc<Session>,
        code: impl Into<Code>,
        reason: &str,
    ) -> Result<(), SwitchError> {
        self.catch_up().await?;
        let code = code.into();
        let reason: Arc<str> = reason.into();
        let mut record = self.new_record(RecordKind::SessionAbort);
        record.session = Some(self.scrubbed_session(session));
        record.code = Some(code.clone());
        record.reason = Some(self.scrubbed(&reason));
        self.ledger.append(record, Durability::BeforeEffect).await?;
        self.state.abort(session, Aborted { code, reason, hook: None }).await?;
        Ok(())
    }

    async fn change_hook(
        &self,
        name: &str,
        what: &'static str,
        reason: &str,
        change: impl Fn(Hook) -> Hook,
    ) -> Result<(), SwitchError> {
        let change = |registry: &mut Registry| {
            let hook = registry.get(name).cloned();
            registry.replace(change(hook.ok_or_else(|| HookError::Unknown(name.into()))?))
        };
        let ((), ruleset) = self.try_change(change)?;
        self.commit(&name.into(), what, Some(reason), ruleset, change).await
    }

    /// Tries a change on a copy: it is known to work before it is recorded.
    fn try_change<T>(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<T, HookError>,
    ) -> Result<(T, Ruleset), HookError> {
        let mut copy = self.registry().clone();
        let done = change(&mut copy)?;
        Ok((done, copy.compile(self.ruleset().settings().clone())))
    }

    /// Records a change, then makes it.
    async fn commit(
        &self,
        hook: &Name,
        what: &'static str,
        reason: Option<&str>,
        tried: Ruleset,
        change: impl FnOnce(&mut Registry) -> Result<(), HookError>,
    ) -> Result<(), SwitchError> {
        self.catch_up().await?;
        let mut record: Record = self.new_record(RecordKind::Switch);
        record.hook = Some(Name::clone(hook));
        record.policy = Some(Arc::clone(tried.digest()));
        let mut detail = Object::new();
        detail.insert("switch", what);
        detail.insert("reason", reason.map(|reason| self.scrubbed(&reason.into()).to_string()));
        record.detail = Some(detail.into());
        self.ledger.append(record, Durability::BeforeEffect).await?;
        let mut registry = self.registry();
        change(&mut registry)?;
        self.ruleset.store(Arc::new(registry.compile(self.ruleset().settings().clone())));
        Ok(())
    }
}
