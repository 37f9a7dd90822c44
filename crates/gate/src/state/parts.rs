//! A claim table in parts: what a store keeps of it, and loads of it for one step.
//!
//! The rules of limits and breakers stand once, in [`ClaimTable`]. A store on disk loads the accounts
//! and reservations that one step can touch, lets the table take the step, and writes back what the
//! table then holds; so every store counts alike.

use super::claims::{Account, BREAKER_KEPT_MS, BreakerState, Held};
use super::{CallKey, Claim, ClaimTable};
use crate::clock::Timestamp;
use crate::event::Name;
use std::collections::BTreeMap;

/// A claim table, or those of its parts that one step can touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimParts {
    /// The number of the last reservation; of the whole table.
    pub last: u64,
    /// What each key has used.
    pub accounts: BTreeMap<Name, AccountPart>,
    /// Reservations by their numbers.
    pub held: BTreeMap<u64, HeldPart>,
}

/// What one key has used and holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountPart {
    /// Moments and amounts that count within a window, oldest first.
    pub used: Vec<(Timestamp, u64)>,
    /// Counted for ever.
    pub total: u64,
    /// Calls that run now.
    pub running: u64,
    /// Tokens, or millionths of cost, held for running calls.
    pub estimated: u64,
    /// The circuit breaker.
    pub breaker: BreakerPart,
    /// The longest window that anything counts in, in milliseconds.
    pub window_ms: u64,
}

/// Where a circuit breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BreakerPart {
    /// Calls pass.
    #[default]
    Closed,
    /// Calls are refused until then.
    OpenUntil(Timestamp),
    /// The call of the reservation with this number probes.
    Probing(u64),
}

/// A reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldPart {
    /// Whose.
    pub key: CallKey,
    /// What it reserved.
    pub claims: Vec<Claim>,
    /// When.
    pub at: Timestamp,
    /// When it frees itself.
    pub lease_end: Timestamp,
}

impl AccountPart {
    /// From when on forgetting this account changes nothing; `None` while something runs or counts for
    /// ever.
    pub fn idle_at(&self) -> Option<Timestamp> {
        let last_use = self.used.last().map(|(at, _)| at.plus_millis(self.window_ms));
        let breaker = match self.breaker {
            BreakerPart::Closed => None,
            BreakerPart::OpenUntil(end) => Some(end.plus_millis(BREAKER_KEPT_MS)),
            BreakerPart::Probing(_) => return None,
        };
        let is_idle = self.running == 0 && self.total == 0;
        is_idle.then(|| last_use.max(breaker).unwrap_or_default())
    }
}

impl From<AccountPart> for Account {
    fn from(part: AccountPart) -> Account {
        Account {
            used_sum: part.used.iter().fold(0, |sum: u64, (_, amount)| sum.saturating_add(*amount)),
            used: part.used.into(),
            total: part.total,
            running: part.running,
            estimated: part.estimated,
            breaker: match part.breaker {
                BreakerPart::Closed => BreakerState::Closed,
                BreakerPart::OpenUntil(end) => BreakerState::OpenUntil(end),
                BreakerPart::Probing(number) => BreakerState::Probing(number),
            },
            window_ms: part.window_ms,
        }
    }
}

impl From<Account> for AccountPart {
    fn from(account: Account) -> AccountPart {
        AccountPart {
            used: account.used.into(),
            total: account.total,
            running: account.running,
            estimated: account.estimated,
            breaker: match account.breaker {
                BreakerState::Closed => BreakerPart::Closed,
                BreakerState::OpenUntil(end) => BreakerPart::OpenUntil(end),
                BreakerState::Probing(number) => BreakerPart::Probing(number),
            },
            window_ms: account.window_ms,
        }
    }
}

impl From<ClaimParts> for ClaimTable {
    fn from(parts: ClaimParts) -> ClaimTable {
        let mut table = ClaimTable { last: parts.last, ..ClaimTable::default() };
        let accounts = parts.accounts.into_iter();
        table.keys = accounts.map(|(key, account)| (key, account.into())).collect();
        let mut leases = Vec::with_capacity(parts.held.len());
        for (number, HeldPart { key, claims, at, lease_end }) in parts.held {
            leases.push((lease_end, key.clone(), number));
            table.held.entry(key).or_default().push_back(Held { number, claims, at });
        }
        leases.sort_by_key(|(end, _, number)| (*end, *number));
        table.leases = leases.into();
        table
    }
}

impl From<ClaimTable> for ClaimParts {
    fn from(mut table: ClaimTable) -> ClaimParts {
        let mut parts = ClaimParts { last: table.last, ..ClaimParts::default() };
        // A lease without its reservation was settled before it ended.
        for (lease_end, key, number) in table.leases {
            let Some(under_key) = table.held.get_mut(&key) else { continue };
            let Some(place) = under_key.iter().position(|held| held.number == number) else {
                continue;
            };
            if let Some(Held { claims, at, .. }) = under_key.remove(place) {
                parts.held.insert(number, HeldPart { key, claims, at, lease_end });
            }
        }
        let accounts = table.keys.into_iter();
        parts.accounts = accounts.map(|(key, account)| (key, account.into())).collect();
        parts
    }
}
