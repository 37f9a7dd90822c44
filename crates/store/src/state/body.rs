//! What is kept of one session, and its text.
//!
//! The text is JSON with a fixed set of fields; one that has another field was written by a program
//! that knows more, and is refused rather than read in part.

use crate::limits::{HOST_PROCESSES_MAX, OPEN_NOTES_MAX};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeSet, VecDeque};
use tollgate_gate::limits::{LABELS_MAX, RECENT_CALLS_MAX};
use tollgate_gate::state::Trace;
use tollgate_gate::{Aborted, Code, Counters, Name, Session, StateError, Timestamp};

/// A process, by its number and the moment it was started: numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProcess {
    /// Its number.
    pub pid: u32,
    /// When it was started, in the system's own count.
    pub started: u64,
}

/// What is kept of one session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    pub(super) id: Name,
    /// From the parent up to the root.
    pub(super) ancestors: Vec<Name>,
    pub(super) root: Name,
    pub(super) tenant: Option<Name>,
    pub(super) user: Option<Name>,
    pub(super) agent: Option<Name>,
    pub(super) host: Option<Name>,
    pub(super) workspace: Option<Name>,
    /// Milliseconds since 1970.
    pub(super) started_ms: u64,
    pub(super) seen_ms: u64,
    pub(super) counters: [u64; 7],
    pub(super) labels: BTreeSet<Name>,
    pub(super) aborted: Option<Ended>,
    pub(super) recent: VecDeque<(u64, bool)>,
    /// Digests of the calls that hold claims, or an approval.
    pub(super) open: Vec<u64>,
    /// Whether there were more than are kept.
    pub(super) more_open: bool,
    pub(super) hosts: Vec<HostProcess>,
    /// Digests of the calls that run by an approval.
    #[serde(default)]
    pub(super) approved: Vec<u64>,
    /// An answer for the session holds if it was given since then. Milliseconds since 1970.
    #[serde(default)]
    pub(super) answers_since_ms: u64,
}

/// How a session was ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ended {
    code: String,
    reason: String,
    hook: Option<Name>,
}

impl From<&Aborted> for Ended {
    fn from(aborted: &Aborted) -> Ended {
        Ended {
            code: aborted.code.as_str().to_owned(),
            reason: aborted.reason.to_string(),
            hook: aborted.hook.clone(),
        }
    }
}

impl From<&Ended> for Aborted {
    fn from(ended: &Ended) -> Aborted {
        Aborted {
            code: Code::from(ended.code.as_str()),
            reason: ended.reason.as_str().into(),
            hook: ended.hook.clone(),
        }
    }
}

impl Body {
    pub(super) fn new(session: &Session, ancestors: Vec<Name>, root: Name, now: Timestamp) -> Body {
        Body {
            id: Name::clone(&session.id),
            ancestors,
            root,
            tenant: session.tenant.clone(),
            user: session.user.clone(),
            agent: session.agent.clone(),
            host: session.host.clone(),
            workspace: session.workspace.clone().or_else(|| session.cwd.clone()),
            started_ms: now.millis(),
            seen_ms: now.millis(),
            counters: [0; 7],
            labels: BTreeSet::new(),
            aborted: None,
            recent: VecDeque::new(),
            open: Vec::new(),
            more_open: false,
            hosts: Vec::new(),
            approved: Vec::new(),
            answers_since_ms: now.millis(),
        }
    }

    /// What was answered for the session up to now holds no longer. The next millisecond counts: an
    /// answer of this one may have been given before.
    pub(super) fn end_answers(&mut self, now: Timestamp) {
        self.answers_since_ms = now.plus_millis(1).millis().max(self.answers_since_ms);
    }

    pub(super) fn read(text: &[u8]) -> Result<Body, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    pub(super) fn text(&self) -> Result<Vec<u8>, String> {
        serde_json::to_vec(self).map_err(|error| error.to_string())
    }

    pub(super) fn counters(&self) -> Counters {
        let [attempted, executed, refused, model_calls, tokens_in, tokens_out, cost] =
            self.counters;
        Counters {
            tool_calls_attempted: attempted,
            tool_calls_executed: executed,
            tool_calls_refused: refused,
            model_calls,
            tokens_in,
            tokens_out,
            cost_micros: cost,
        }
    }

    pub(super) fn count(&mut self, count: &Counters) {
        let mut sum = self.counters();
        sum.add(count);
        self.counters = [
            sum.tool_calls_attempted,
            sum.tool_calls_executed,
            sum.tool_calls_refused,
            sum.model_calls,
            sum.tokens_in,
            sum.tokens_out,
            sum.cost_micros,
        ];
    }

    /// Takes in what an event leaves behind; whether a label came to it. The call is remembered by the
    /// session itself only.
    pub(super) fn take(&mut self, trace: &Trace, own: bool) -> Result<bool, StateError> {
        self.count(&trace.count);
        let before = self.labels.len();
        self.labels.extend(trace.labels.iter().cloned());
        if self.labels.len() > LABELS_MAX {
            return Err(StateError::Full { what: "labels", max: LABELS_MAX });
        }
        if let Some(call) = trace.call.filter(|_| own) {
            if self.recent.len() >= RECENT_CALLS_MAX {
                self.recent.pop_front();
            }
            self.recent.push_back(call);
        }
        Ok(self.labels.len() > before)
    }

    /// Notes a call that holds something.
    pub(super) fn note(&mut self, call: &str) {
        if self.open.len() < OPEN_NOTES_MAX {
            self.open.push(digest(call));
        } else {
            self.more_open = true;
        }
    }

    /// Whether a call may hold something.
    pub(super) fn may_hold(&self, call: &str) -> bool {
        self.more_open || self.open.contains(&digest(call))
    }

    /// Takes one note of a call back; whether there was one.
    pub(super) fn forget(&mut self, call: &str) -> bool {
        let place = self.open.iter().position(|open| *open == digest(call));
        place.map(|place| self.open.swap_remove(place)).is_some()
    }

    /// Notes a call that runs by an approval; beyond the cap its end is not told to the approval.
    pub(super) fn note_approved(&mut self, call: &str) {
        if self.approved.len() < OPEN_NOTES_MAX {
            self.approved.push(digest(call));
        }
    }

    /// Whether a call runs by an approval.
    pub(super) fn is_approved(&self, call: &str) -> bool {
        self.approved.contains(&digest(call))
    }

    /// Takes the note of a call that ran by an approval back.
    pub(super) fn forget_approved(&mut self, call: &str) {
        self.approved.retain(|noted| *noted != digest(call));
    }

    /// Notes the process of the host; whether it was new.
    pub(super) fn note_host(&mut self, host: Option<HostProcess>) -> bool {
        let Some(host) = host.filter(|host| !self.hosts.contains(host)) else { return false };
        if self.hosts.len() >= HOST_PROCESSES_MAX {
            self.hosts.remove(0);
        }
        self.hosts.push(host);
        true
    }
}

fn digest(call: &str) -> u64 {
    let hash = Sha256::digest(call.as_bytes());
    hash.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
