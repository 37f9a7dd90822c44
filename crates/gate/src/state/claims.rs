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
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How long a breaker that may be tried again is remembered when room is needed, in milliseconds.
pub(super) const BREAKER_KEPT_MS: u64 = 60 * 60 * 1_000;

/// What a limit or breaker wants reserved if the event goes through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The hook whose claim it is.
    pub hook: Name,
    /// Whom it limits: hook name and the values it counts by, as one text.
    pub key: Name,
    /// How much, of what, in which time.
    pub quota: Quota,
}

/// Which calls a count counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Calls that ran; a reservation is given back when the call did not run.
    #[default]
    Executed,
    /// Every call that was asked for, refused ones too.
    Attempts,
}

/// How much a key may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// Most moments that one account remembers: as many as the largest rate needs.
#[expect(clippy::cast_possible_truncation, reason = "100,000 fits every size of a pointer")]
const USED_MAX: usize = RATE_EVENTS_MAX as usize;

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
    pub(super) keys: HashMap<Name, Account>,
    /// By call; the oldest first, where several calls go by one key.
    pub(super) held: HashMap<CallKey, VecDeque<Held>>,
    /// Leases in the order in which they end, for sweeping, each with its reservation's number.
    pub(super) leases: VecDeque<(Timestamp, CallKey, u64)>,
    /// The number of the last reservation.
    pub(super) last: u64,
}

#[derive(Debug, Default)]
pub(super) struct Account {
    /// Moments (and amounts) that count within a window.
    pub(super) used: VecDeque<(Timestamp, u64)>,
    /// Sum of `used`.
    pub(super) used_sum: u64,
    /// Counted for ever.
    pub(super) total: u64,
    /// Calls that run now.
    pub(super) running: u64,
    /// Tokens or cost held for running calls.
    pub(super) estimated: u64,
    pub(super) breaker: BreakerState,
    /// The longest window that anything in `used` counts in, in milliseconds.
    pub(super) window_ms: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakerState {
    #[default]
    Closed,
    OpenUntil(Timestamp),
    /// The call of this reservation probes.
    Probing(u64),
}

#[derive(Debug)]
pub(super) struct Held {
    pub(super) number: u64,
    pub(super) claims: Vec<Claim>,
    pub(super) at: Timestamp,
}

impl ClaimTable {
    /// Reserves all claims or none. A key that holds something already (a host that repeats itself, a
    /// model that gives two calls one id) reserves again: what may run twice counts twice.
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
        if let Err(exceeded) = self.check(claims, now) {
            self.charge_attempts(claims, now)?;
            return Ok(Err(exceeded));
        }
        self.make_room(claims.iter(), now)?;
        self.last += 1;
        let number = self.last;
        for claim in claims {
            let account = self.keys.entry(Arc::clone(&claim.key)).or_default();
            account.take(&claim.quota, number, now);
        }
        self.leases.push_back((now.plus_millis(lease_ms), key.clone(), number));
        let held = Held { number, claims: claims.to_vec(), at: now };
        self.held.entry(key.clone()).or_default().push_back(held);
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
        let attempts = || claims.iter().filter(|claim| claim.quota.counts_attempts());
        self.make_room(attempts(), now)?;
        for claim in attempts() {
            let account = self.keys.entry(Arc::clone(&claim.key)).or_default();
            account.take(&claim.quota, 0, now);
        }
        Ok(())
    }

    /// Settles what a call reserved: the oldest reservation under its key.
    pub fn settle(&mut self, key: &CallKey, settlement: &Settlement, now: Timestamp) {
        self.release(key, None, settlement, now);
    }

    /// Settles the reservation of this number, or the oldest.
    fn release(&mut self, key: &CallKey, number: Option<u64>, came: &Settlement, now: Timestamp) {
        let Some(under_key) = self.held.get_mut(key) else { return };
        let place = match number {
            Some(number) => under_key.iter().position(|held| held.number == number),
            None => Some(0),
        };
        let held = place.and_then(|place| under_key.remove(place));
        if under_key.is_empty() {
            self.held.remove(key);
        }
        let Some(held) = held else { return };
        for claim in &held.claims {
            if let Some(account) = self.keys.get_mut(&claim.key) {
                account.settle(&claim.quota, &held, came, now);
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

    fn make_room<'a>(
        &mut self,
        claims: impl Iterator<Item = &'a Claim>,
        now: Timestamp,
    ) -> Result<(), StateError> {
        let new = claims.filter(|claim| !self.keys.contains_key(&claim.key)).count();
        if new > 0 && self.keys.len() + new > CLAIM_KEYS_MAX {
            self.keys.retain(|_, account| !account.is_idle(now));
            if self.keys.len() + new > CLAIM_KEYS_MAX {
                return Err(StateError::Full { what: "limit keys", max: CLAIM_KEYS_MAX });
            }
        }
        Ok(())
    }

    /// Frees what leases that have ended still hold: as calls of which nothing is known. What was
    /// counted stays counted (the call may have run); what ran at the same time is freed.
    fn sweep(&mut self, now: Timestamp) {
        while self.leases.front().is_some_and(|(end, ..)| *end <= now) {
            let Some((_, key, number)) = self.leases.pop_front() else { return };
            let unknown = Settlement { executed: true, ok: false, usage: Usage::default() };
            self.release(&key, Some(number), &unknown, now);
        }
    }
}

impl Account {
    fn forget_before(&mut self, now: Timestamp, window_ms: u64) {
        while self.used.front().is_some_and(|(at, _)| at.plus_millis(window_ms) <= now) {
            self.forget_oldest();
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
                if self.has_budget(*max, *window_ms, *estimate, before, now) {
                    return Ok(());
                }
                exceeded(
                    Code::LimitExceeded,
                    budget_text(&max.to_string(), "tokens", *window_ms),
                    None,
                )
            }
            Quota::Cost { micros_max, window_ms, estimate_micros } => {
                if self.has_budget(*micros_max, *window_ms, *estimate_micros, before, now) {
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
                BreakerState::Probing(_) => exceeded(
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
        before: u64,
        now: Timestamp,
    ) -> bool {
        let used = match window_ms {
            Some(window_ms) => {
                self.forget_before(now, window_ms);
                self.used_sum
            }
            None => self.total,
        };
        let wanted = estimate.max(1).saturating_mul(before.saturating_add(1));
        used.saturating_add(self.estimated).saturating_add(wanted) <= max
    }

    /// `number`: of the reservation.
    fn take(&mut self, quota: &Quota, number: u64, now: Timestamp) {
        match quota {
            Quota::Rate { max, window_ms, .. } => {
                self.use_up(1, *window_ms, now);
                // Attempts beyond the limit push the oldest out: the newest `max` decide.
                while self.used_sum > *max && self.used.len() > 1 {
                    self.forget_oldest();
                }
            }
            Quota::Count { .. } => self.total += 1,
            Quota::Concurrency { .. } => self.running += 1,
            Quota::Tokens { estimate, .. } => self.hold(*estimate),
            Quota::Cost { estimate_micros, .. } => self.hold(*estimate_micros),
            Quota::Breaker { .. } => {
                self.running += 1;
                if matches!(self.breaker, BreakerState::OpenUntil(_)) {
                    self.breaker = BreakerState::Probing(number);
                }
            }
        }
    }

    fn hold(&mut self, estimate: u64) {
        self.running += 1;
        self.estimated = self.estimated.saturating_add(estimate);
    }

    fn use_up(&mut self, amount: u64, window_ms: u64, now: Timestamp) {
        self.window_ms = self.window_ms.max(window_ms);
        self.used_sum = self.used_sum.saturating_add(amount);
        let is_full = self.used.len() >= USED_MAX;
        match self.used.back_mut() {
            // Full: the newest entry takes it in, and with it counts for longer.
            Some((at, sum)) if is_full => {
                *at = now;
                *sum = sum.saturating_add(amount);
            }
            Some(_) | None => self.used.push_back((now, amount)),
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, amount)) = self.used.pop_front() {
            self.used_sum = self.used_sum.saturating_sub(amount);
        }
    }

    fn settle(&mut self, quota: &Quota, held: &Held, came: &Settlement, now: Timestamp) {
        match quota {
            Quota::Rate { counted: Counted::Executed, .. } if !came.executed => {
                if let Some(place) = self.used.iter().position(|(at, _)| *at == held.at) {
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
                let is_probe = self.breaker == BreakerState::Probing(held.number);
                let opens_at = (*failures, *window_ms, *open_ms);
                self.settle_breaker(opens_at, is_probe, came, now);
            }
        }
    }

    fn spend(&mut self, estimate: u64, spent: u64, window_ms: Option<u64>, now: Timestamp) {
        self.running = self.running.saturating_sub(1);
        self.estimated = self.estimated.saturating_sub(estimate);
        self.total = self.total.saturating_add(spent);
        if let Some(window_ms) = window_ms.filter(|_| spent > 0) {
            self.use_up(spent, window_ms, now);
        }
    }

    /// While a breaker is open only its probe moves it: calls that began before tell of the past.
    fn settle_breaker(
        &mut self,
        (failures, window_ms, open_ms): (u32, u64, u64),
        was_probe: bool,
        came: &Settlement,
        now: Timestamp,
    ) {
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
            self.use_up(1, window_ms, now);
            let is_closed = self.breaker == BreakerState::Closed;
            if was_probe || (is_closed && self.used_sum >= u64::from(failures)) {
                self.breaker = BreakerState::OpenUntil(now.plus_millis(open_ms));
            }
        }
    }

    /// Whether forgetting this account changes nothing that matters: nothing runs, nothing counts.
    fn is_idle(&mut self, now: Timestamp) -> bool {
        self.forget_before(now, self.window_ms);
        self.running == 0
            && self.total == 0
            && self.used.is_empty()
            && match self.breaker {
                BreakerState::Closed => true,
                // Long ended: whoever comes next finds it closed instead of half open.
                BreakerState::OpenUntil(end) => end.plus_millis(BREAKER_KEPT_MS) < now,
                BreakerState::Probing(_) => false,
            }
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
