//! Claims: what limits and breakers reserve, and the table that reserves them.
//!
//! All claims of an event are taken in one step under one lock, or none is (law 9): N parallel calls
//! against a limit of K let exactly K through. What is reserved is leased: a call that never reports
//! back frees its place when the lease ends.

use super::{CallKey, StateError};
use crate::clock::Timestamp;
use crate::code::Code;
use crate::event::Name;
use crate::limits::{CLAIM_KEYS_MAX, RATE_EVENTS_MAX};
use crate::payload::Usage;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What a limit or breaker wants reserved if the event goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The hook whose claim it is.
    pub hook: Name,
    /// Whom it limits: hook name and the values it counts by, as one text.
    pub key: Name,
    /// How much, of what, in which time.
    pub quota: Quota,
}

/// Which calls a count counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counted {
    /// Calls that ran; a reservation is given back when the call did not run.
    #[default]
    Executed,
    /// Every call that was asked for, refused ones too.
    Attempts,
}

/// How much a key may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quota {
    /// At most `max` calls in any window of `window_ms`.
    Rate {
        /// Calls.
        max: u64,
        /// Window in milliseconds.
        window_ms: u64,
        /// Which calls count.
        counted: Counted,
    },
    /// At most `max` calls in all.
    Count {
        /// Calls.
        max: u64,
        /// Which calls count.
        counted: Counted,
    },
    /// At most `max` calls at the same time.
    Concurrency {
        /// Calls.
        max: u64,
    },
    /// At most `max` tokens, in a window or in all. `estimate` is held while a call runs.
    Tokens {
        /// Tokens.
        max: u64,
        /// Window in milliseconds; none: in all.
        window_ms: Option<u64>,
        /// Tokens held for a running call.
        estimate: u64,
    },
    /// At most `micros_max` of cost, in a window or in all. `estimate_micros` is held meanwhile.
    Cost {
        /// Millionths of the currency.
        micros_max: u64,
        /// Window in milliseconds; none: in all.
        window_ms: Option<u64>,
        /// Millionths held for a running call.
        estimate_micros: u64,
    },
    /// A circuit breaker: opens after `failures` failed calls within `window_ms`, stays open for
    /// `open_ms`, then lets one probe through, whose outcome closes or opens it.
    Breaker {
        /// Failures that open it.
        failures: u32,
        /// Window in milliseconds.
        window_ms: u64,
        /// How long it stays open, in milliseconds.
        open_ms: u64,
    },
}

/// A quota that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    /// The rate would have to remember too many calls.
    #[error("a rate of more than {RATE_EVENTS_MAX} calls a window cannot be kept exactly")]
    RateTooLarge,
    /// A window or number of zero.
    #[error("a limit needs a window and a number above zero")]
    Zero,
}

impl Quota {
    /// Checks that the quota can work.
    ///
    /// # Errors
    /// [`QuotaError`] says why not.
    pub fn check(&self) -> Result<(), QuotaError> {
        match self {
            Quota::Rate { max, .. } if *max > RATE_EVENTS_MAX => Err(QuotaError::RateTooLarge),
            Quota::Rate { window_ms: 0, .. }
            | Quota::Tokens { window_ms: Some(0), .. }
            | Quota::Cost { window_ms: Some(0), .. }
            | Quota::Breaker { failures: 0, .. }
            | Quota::Breaker { window_ms: 0, .. } => Err(QuotaError::Zero),
            Quota::Rate { .. }
            | Quota::Count { .. }
            | Quota::Concurrency { .. }
            | Quota::Tokens { .. }
            | Quota::Cost { .. }
            | Quota::Breaker { .. } => Ok(()),
        }
    }

    fn counts_attempts(&self) -> bool {
        matches!(
            self,
            Quota::Rate { counted: Counted::Attempts, .. }
                | Quota::Count { counted: Counted::Attempts, .. }
        )
    }
}

/// The claim that could not be reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exceeded {
    /// Whose.
    pub hook: Name,
    /// `limit_exceeded` or `circuit_open`.
    pub code: Code,
    /// In words, with the limit.
    pub reason: Arc<str>,
    /// When there may be room again, where that is known: milliseconds from now.
    pub retry_after_ms: Option<u64>,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settlement {
    /// Whether the effect took place.
    pub executed: bool,
    /// Whether it ended well.
    pub ok: bool,
    /// What it used.
    pub usage: Usage,
}

/// The claims of all keys, and what is reserved. Not locked by itself: its owner holds one lock over
/// each step, which is what makes a step atomic.
#[derive(Debug, Default)]
pub struct ClaimTable {
    keys: HashMap<Name, Account>,
    held: HashMap<CallKey, Held>,
    /// Leases in the order in which they end, for sweeping.
    leases: VecDeque<(Timestamp, CallKey)>,
}

#[derive(Debug, Default)]
struct Account {
    /// Moments (and amounts) that count within a window.
    used: VecDeque<(Timestamp, u64)>,
    /// Sum of `used`.
    used_sum: u64,
    /// Counted for ever.
    total: u64,
    /// Calls that run now.
    running: u64,
    /// Tokens or cost held for running calls.
    estimated: u64,
    breaker: BreakerState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum BreakerState {
    #[default]
    Closed,
    OpenUntil(Timestamp),
    /// One probe runs.
    Probing,
}

#[derive(Debug)]
struct Held {
    claims: Vec<Claim>,
    at: Timestamp,
    lease_end: Timestamp,
}

impl ClaimTable {
    /// Reserves all claims or none.
    ///
    /// # Errors
    /// [`StateError::Full`] when there are too many keys; nothing is reserved then.
    pub fn reserve(
        &mut self,
        key: &CallKey,
        claims: &[Claim],
        now: Timestamp,
        lease_ms: u64,
    ) -> Result<Result<(), Exceeded>, StateError> {
        self.sweep(now);
        if self.held.contains_key(key) {
            // The same call again (a host that repeats itself): it is held already.
            return Ok(Ok(()));
        }
        if let Err(exceeded) = self.check(claims, now) {
            self.charge_attempts(claims, now)?;
            return Ok(Err(exceeded));
        }
        self.make_room(claims)?;
        for claim in claims {
            let account = self.keys.entry(Arc::clone(&claim.key)).or_default();
            account.take(&claim.quota, now);
        }
        let lease_end = now.plus_millis(lease_ms);
        self.leases.push_back((lease_end, key.clone()));
        self.held.insert(key.clone(), Held { claims: claims.to_vec(), at: now, lease_end });
        Ok(Ok(()))
    }

    /// Says what `reserve` would say.
    pub fn peek(&mut self, claims: &[Claim], now: Timestamp) -> Result<(), Exceeded> {
        self.sweep(now);
        self.check(claims, now)
    }

    /// Counts the attempts among these claims.
    ///
    /// # Errors
    /// [`StateError::Full`] when there are too many keys.
    pub fn charge_attempts(&mut self, claims: &[Claim], now: Timestamp) -> Result<(), StateError> {
        self.make_room(claims)?;
        for claim in claims.iter().filter(|claim| claim.quota.counts_attempts()) {
            let account = self.keys.entry(Arc::clone(&claim.key)).or_default();
            account.take(&claim.quota, now);
        }
        Ok(())
    }

    /// Settles what a call reserved.
    pub fn settle(&mut self, key: &CallKey, settlement: &Settlement, now: Timestamp) {
        if let Some(held) = self.held.remove(key) {
            for claim in &held.claims {
                if let Some(account) = self.keys.get_mut(&claim.key) {
                    account.settle(&claim.quota, held.at, settlement, now);
                }
            }
        }
    }

    fn check(&mut self, claims: &[Claim], now: Timestamp) -> Result<(), Exceeded> {
        let mut fresh = Account::default();
        for (i, claim) in claims.iter().enumerate() {
            // The same key twice in one event takes twice; later claims see the earlier ones.
            let before = claims.iter().take(i).filter(|c| c.key == claim.key).count() as u64;
            let account = self.keys.get_mut(&claim.key).unwrap_or(&mut fresh);
            account.check(claim, before, now)?;
        }
        Ok(())
    }

    fn make_room(&mut self, claims: &[Claim]) -> Result<(), StateError> {
        if self.keys.len() + claims.len() > CLAIM_KEYS_MAX {
            self.keys.retain(|_, account| !account.is_idle());
            if self.keys.len() + claims.len() > CLAIM_KEYS_MAX {
                return Err(StateError::Full { what: "limit keys", max: CLAIM_KEYS_MAX });
            }
        }
        Ok(())
    }

    /// Frees what leases that have ended still hold: as calls of which nothing is known. What was
    /// counted stays counted (the call may have run); what ran at the same time is freed.
    fn sweep(&mut self, now: Timestamp) {
        while let Some((end, _)) = self.leases.front() {
            if *end > now {
                return;
            }
            let Some((end, key)) = self.leases.pop_front() else { return };
            if self.held.get(&key).is_some_and(|held| held.lease_end == end) {
                let unknown = Settlement { executed: true, ok: false, usage: Usage::default() };
                self.settle(&key, &unknown, now);
            }
        }
    }
}

impl Account {
    fn forget_before(&mut self, now: Timestamp, window_ms: u64) {
        while let Some((at, amount)) = self.used.front().copied() {
            if at.plus_millis(window_ms) > now {
                return;
            }
            self.used.pop_front();
            self.used_sum = self.used_sum.saturating_sub(amount);
        }
    }

    fn check(&mut self, claim: &Claim, before: u64, now: Timestamp) -> Result<(), Exceeded> {
        let exceeded = |code, reason: String, retry_after_ms| {
            let hook = Arc::clone(&claim.hook);
            Err(Exceeded { hook, code, reason: reason.into(), retry_after_ms })
        };
        match &claim.quota {
            Quota::Rate { max, window_ms, .. } => {
                self.forget_before(now, *window_ms);
                if self.used_sum + before < *max {
                    return Ok(());
                }
                let oldest = self.used.front().map(|(at, _)| at.plus_millis(*window_ms));
                let reason = format!("at most {max} calls in {}", window_text(*window_ms));
                exceeded(Code::LimitExceeded, reason, oldest.map(|at| millis_until(at, now)))
            }
            Quota::Count { max, .. } if self.total + before < *max => Ok(()),
            Quota::Count { max, .. } => {
                exceeded(Code::LimitExceeded, format!("at most {max} calls"), None)
            }
            Quota::Concurrency { max } if self.running + before < *max => Ok(()),
            Quota::Concurrency { max } => {
                exceeded(Code::LimitExceeded, format!("at most {max} calls at once"), None)
            }
            Quota::Tokens { max, window_ms, estimate } => {
                if self.has_budget(*max, *window_ms, *estimate, now) {
                    return Ok(());
                }
                exceeded(
                    Code::LimitExceeded,
                    budget_text(&max.to_string(), "tokens", *window_ms),
                    None,
                )
            }
            Quota::Cost { micros_max, window_ms, estimate_micros } => {
                if self.has_budget(*micros_max, *window_ms, *estimate_micros, now) {
                    return Ok(());
                }
                let max = micros_text(*micros_max);
                exceeded(Code::LimitExceeded, budget_text(&max, "of cost", *window_ms), None)
            }
            Quota::Breaker { failures, .. } => match self.breaker {
                BreakerState::Closed => Ok(()),
                BreakerState::OpenUntil(end) if end <= now => Ok(()),
                BreakerState::OpenUntil(end) => exceeded(
                    Code::CircuitOpen,
                    format!("the last {failures} calls failed; calls are paused"),
                    Some(millis_until(end, now)),
                ),
                BreakerState::Probing => exceeded(
                    Code::CircuitOpen,
                    "one call is probing whether this works again".to_owned(),
                    None,
                ),
            },
        }
    }

    /// A budget is open while what was used and what is held leave room for the estimate; with no
    /// estimate, while it is not yet used up.
    fn has_budget(
        &mut self,
        max: u64,
        window_ms: Option<u64>,
        estimate: u64,
        now: Timestamp,
    ) -> bool {
        let used = match window_ms {
            Some(window_ms) => {
                self.forget_before(now, window_ms);
                self.used_sum
            }
            None => self.total,
        };
        used.saturating_add(self.estimated).saturating_add(estimate.max(1)) <= max
    }

    fn take(&mut self, quota: &Quota, now: Timestamp) {
        match quota {
            Quota::Rate { .. } => {
                self.used.push_back((now, 1));
                self.used_sum += 1;
            }
            Quota::Count { .. } => self.total += 1,
            Quota::Concurrency { .. } => self.running += 1,
            Quota::Tokens { estimate, .. } => self.hold(*estimate),
            Quota::Cost { estimate_micros, .. } => self.hold(*estimate_micros),
            Quota::Breaker { .. } => {
                self.running += 1;
                if matches!(self.breaker, BreakerState::OpenUntil(_)) {
                    self.breaker = BreakerState::Probing;
                }
            }
        }
    }

    fn hold(&mut self, estimate: u64) {
        self.running += 1;
        self.estimated = self.estimated.saturating_add(estimate);
    }

    fn settle(&mut self, quota: &Quota, at: Timestamp, came: &Settlement, now: Timestamp) {
        match quota {
            Quota::Rate { counted: Counted::Executed, .. } if !came.executed => {
                if let Some(place) = self.used.iter().position(|(used_at, _)| *used_at == at) {
                    self.used.remove(place);
                    self.used_sum = self.used_sum.saturating_sub(1);
                }
            }
            Quota::Count { counted: Counted::Executed, .. } if !came.executed => {
                self.total = self.total.saturating_sub(1);
            }
            Quota::Rate { .. } | Quota::Count { .. } => {}
            Quota::Concurrency { .. } => self.running = self.running.saturating_sub(1),
            Quota::Tokens { estimate, window_ms, .. } => {
                self.spend(*estimate, came.usage.tokens(), *window_ms, now);
            }
            Quota::Cost { estimate_micros, window_ms, .. } => {
                self.spend(*estimate_micros, came.usage.cost_micros, *window_ms, now);
            }
            Quota::Breaker { failures, window_ms, open_ms } => {
                self.running = self.running.saturating_sub(1);
                self.settle_breaker(*failures, *window_ms, *open_ms, came, now);
            }
        }
    }

    fn spend(&mut self, estimate: u64, spent: u64, window_ms: Option<u64>, now: Timestamp) {
        self.running = self.running.saturating_sub(1);
        self.estimated = self.estimated.saturating_sub(estimate);
        self.total = self.total.saturating_add(spent);
        if window_ms.is_some() && spent > 0 {
            self.used.push_back((now, spent));
            self.used_sum = self.used_sum.saturating_add(spent);
        }
    }

    fn settle_breaker(
        &mut self,
        failures: u32,
        window_ms: u64,
        open_ms: u64,
        came: &Settlement,
        now: Timestamp,
    ) {
        let was_probe = self.breaker == BreakerState::Probing;
        if !came.executed {
            // The probe never ran: the next call may probe.
            if was_probe {
                self.breaker = BreakerState::OpenUntil(now);
            }
        } else if came.ok {
            if was_probe {
                self.used.clear();
                self.used_sum = 0;
                self.breaker = BreakerState::Closed;
            }
        } else {
            self.forget_before(now, window_ms);
            self.used.push_back((now, 1));
            self.used_sum += 1;
            if was_probe || self.used_sum >= u64::from(failures) {
                self.breaker = BreakerState::OpenUntil(now.plus_millis(open_ms));
            }
        }
    }

    /// Whether forgetting this account changes nothing that matters: nothing runs, nothing counts.
    fn is_idle(&self) -> bool {
        self.running == 0
            && self.total == 0
            && self.used.is_empty()
            && self.breaker == BreakerState::Closed
    }
}

fn millis_until(end: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(end.since(now).as_millis()).unwrap_or(u64::MAX)
}

fn window_text(window_ms: u64) -> String {
    let (count, unit) = match window_ms {
        ms if ms % 86_400_000 == 0 => (ms / 86_400_000, "day"),
        ms if ms % 3_600_000 == 0 => (ms / 3_600_000, "hour"),
        ms if ms % 60_000 == 0 => (ms / 60_000, "minute"),
        ms if ms % 1_000 == 0 => (ms / 1_000, "second"),
        ms => (ms, "millisecond"),
    };
    if count == 1 { format!("a {unit}") } else { format!("{count} {unit}s") }
}

fn budget_text(max: &str, unit: &str, window_ms: Option<u64>) -> String {
    match window_ms {
        Some(window_ms) => format!("at most {max} {unit} in {}", window_text(window_ms)),
        None => format!("at most {max} {unit}"),
    }
}

fn micros_text(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
