//! The event: one point in an agent's life, as a host shows it to the gate.

use crate::clock::Timestamp;
use crate::json::Object;
use crate::kind::EventKind;
use crate::payload::Payload;
use crate::session::Session;
use serde::{Serialize, Serializer};
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// A short text that is copied often: a tool's name, a session's id.
pub type Name = Arc<str>;

/// The version of event, decision and record that this code writes.
pub const WIRE_VERSION: u32 = 1;

/// One point in an agent's life.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its id: given by the sender, or made by the gate.
    pub id: EventId,
    /// When it happened.
    pub at: Timestamp,
    /// Who acts.
    pub session: Arc<Session>,
    /// What the event carries; this also is its kind.
    pub payload: Payload,
    /// Words for matching, set by the host.
    pub tags: Vec<Name>,
    /// What the host lets a decision do here; everything, unless an adapter says otherwise.
    pub bounds: Bounds,
    /// Unknown fields, kept.
    pub extra: Object,
}

/// What a host lets a decision do at an event. What it does not becomes the stricter thing, or, where
/// nothing is left to refuse, is recorded as not enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// How the payload may be changed.
    pub rewriting: Rewriting,
    /// The host goes on whatever is decided about this event.
    pub goes_on: bool,
}

/// How the payload of an event may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rewriting {
    /// In any way.
    #[default]
    Free,
    /// A text may be continued, not changed.
    Append,
    /// Not at all.
    Nothing,
}

impl Event {
    /// An event that happened at `at`, with an id of its own and no tags.
    pub fn new(session: Arc<Session>, payload: impl Into<Payload>, at: Timestamp) -> Event {
        let id = EventId::made(at);
        Event {
            id,
            at,
            session,
            payload: payload.into(),
            tags: Vec::new(),
            bounds: Bounds::default(),
            extra: Object::new(),
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> EventKind {
        self.payload.kind()
    }

    /// Sets the tags.
    #[must_use]
    pub fn with_tags<T: Into<Name>>(mut self, tags: impl IntoIterator<Item = T>) -> Event {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }
}

/// The id of an event, and of its decision and record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventId {
    /// Made here: a UUID of version 7 (RFC 9562 section 5.7), kept as a number until it is shown.
    Made(u128),
    /// Given by the sender.
    Given(Name),
}

impl EventId {
    /// A new id for this moment. Ids of one process are distinct; the random bits that set
    /// processes apart come from the seed of the standard library's hasher.
    pub fn made(at: Timestamp) -> EventId {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let random = mix(SEED.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let version_and_count = 0x7000 | u128::from(count & 0xfff);
        let variant_and_random = (0b10 << 62) | (random >> 2);
        EventId::Made(
            (u128::from(at.millis()) << 80)
                | (version_and_count << 64)
                | u128::from(variant_and_random),
        )
    }
}

/// The finaliser of splitmix64: distinct inputs give distinct outputs.
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventId::Given(id) => f.write_str(id),
            EventId::Made(id) => write!(
                f,
                "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                id >> 96,
                (id >> 80) & 0xffff,
                (id >> 64) & 0xffff,
                (id >> 48) & 0xffff,
                id & 0xffff_ffff_ffff
            ),
        }
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::EventId;
    use crate::clock::Timestamp;
    use std::collections::BTreeSet;

    #[test]
    fn made_ids_are_uuids_of_version_7_distinct_and_ordered_by_time() {
        let at = Timestamp::from_millis(1_700_000_000_000);
        let ids: Vec<String> = (0..10_000).map(|_| EventId::made(at).to_string()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        for id in &ids {
            assert_eq!(id.len(), 36);
            assert_eq!(&id[14..15], "7");
            assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
        }
        assert!(EventId::made(at.plus_millis(1)).to_string() > ids[0]);
    }
}
