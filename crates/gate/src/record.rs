//! The record: one line of the ledger. Scrubbed by the gate before any ledger sees it.

use crate::clock::Timestamp;
use crate::code::Code;
use crate::event::{EventId, Name, WIRE_VERSION};
use crate::json::Json;
use crate::kind::EventKind;
use crate::payload::Usage;
use crate::ruleset::Mode;
use crate::session::Session;
use crate::trace::{self, Cast};
use crate::vote::Verdict;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use std::sync::Arc;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A decision on a before-event or a lone event.
    Decision,
    /// How a tool or model call ended.
    Outcome,
    /// A ruleset came into force.
    PolicyLoad,
    /// The mode changed.
    ModeChange,
    /// A hook was added, removed, enabled, disabled or replaced.
    Switch,
    /// An approval changed its state.
    Approval,
    /// A policy file was trusted.
    Trust,
    /// A session was ended by a person or the program.
    SessionAbort,
    /// The ledger cut a torn end.
    Recovered,
    /// The oldest records were taken away.
    Pruned,
    /// Records of one person were erased.
    Erased,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [RecordKind; 11] = [
        RecordKind::Decision,
        RecordKind::Outcome,
        RecordKind::PolicyLoad,
        RecordKind::ModeChange,
        RecordKind::Switch,
        RecordKind::Approval,
        RecordKind::Trust,
        RecordKind::SessionAbort,
        RecordKind::Recovered,
        RecordKind::Pruned,
        RecordKind::Erased,
    ];

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            RecordKind::Decision => "decision",
            RecordKind::Outcome => "outcome",
            RecordKind::PolicyLoad => "policy_load",
            RecordKind::ModeChange => "mode_change",
            RecordKind::Switch => "switch",
            RecordKind::Approval => "approval",
            RecordKind::Trust => "trust",
            RecordKind::SessionAbort => "session_abort",
            RecordKind::Recovered => "recovered",
            RecordKind::Pruned => "pruned",
            RecordKind::Erased => "erased",
        }
    }
}

/// Arguments as records show them. Made once a call, for its decision and its outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShownArguments {
    /// As asked, scrubbed.
    pub asked: Option<Arc<Json>>,
    /// As run, scrubbed, where they differ.
    pub ran: Option<Arc<Json>>,
    /// Keyed digest of those asked.
    pub asked_digest: Option<Arc<str>>,
    /// Keyed digest of those run, where they differ.
    pub ran_digest: Option<Arc<str>>,
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id: that of the event for a decision.
    pub id: EventId,
    /// When.
    pub at: Timestamp,
    /// What it is about.
    pub kind: RecordKind,
    /// The event's kind, for decisions and outcomes.
    pub event: Option<EventKind>,
    /// The decision that an outcome belongs to; none for a call that never came to one.
    pub decision: Option<EventId>,
    /// Who acted.
    pub session: Option<Arc<Session>>,
    /// The first session of the tree.
    pub root: Option<Name>,
    /// The tool.
    pub tool: Option<Name>,
    /// The server that has the tool.
    pub server: Option<Name>,
    /// The model.
    pub model: Option<Name>,
    /// The call's id.
    pub call_id: Option<Name>,
    /// Arguments (or request), as asked and as run.
    pub arguments: ShownArguments,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// In mode `dry_run`: what would have been decided.
    pub would: Option<Verdict>,
    /// The code of a refusal or failure.
    pub code: Option<Code>,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// The hook that decided.
    pub hook: Option<Name>,
    /// What each hook that ran said.
    pub votes: Arc<Vec<Cast>>,
    /// The digest of the ruleset.
    pub policy: Option<Name>,
    /// The mode.
    pub mode: Option<Mode>,
    /// Whether the effect took place; `None` is unknown (an outcome that never came) or not asked.
    pub executed: Option<bool>,
    /// Whether it ended well; `None` as for `executed`.
    pub ok: Option<bool>,
    /// The error's text.
    pub error: Option<Arc<str>>,
    /// Time in hooks, in microseconds.
    pub hook_us: Option<u64>,
    /// Time in the tool or model, in microseconds.
    pub handler_us: Option<u64>,
    /// What it used.
    pub usage: Usage,
    /// The approval.
    pub approval: Option<Name>,
    /// Labels that the event gave the session.
    pub labels: Vec<Name>,
    /// What a record of another kind tells.
    pub detail: Option<Json>,
}

impl Record {
    /// An empty record of this kind.
    pub fn new(id: EventId, at: Timestamp, kind: RecordKind) -> Record {
        Record {
            id,
            at,
            kind,
            event: None,
            decision: None,
            session: None,
            root: None,
            tool: None,
            server: None,
            model: None,
            call_id: None,
            arguments: ShownArguments::default(),
            verdict: None,
            would: None,
            code: None,
            reason: None,
            hook: None,
            votes: Arc::default(),
            policy: None,
            mode: None,
            executed: None,
            ok: None,
            error: None,
            hook_us: None,
            handler_us: None,
            usage: Usage::default(),
            approval: None,
            labels: Vec::new(),
            detail: None,
        }
    }

    /// Whether this is the outcome of a call of which nothing is known.
    pub fn is_unknown_outcome(&self) -> bool {
        self.kind == RecordKind::Outcome && self.executed.is_none()
    }
}

/// One JSON object; what is not set is left out, except `executed` and `ok` of an outcome, where
/// `null` says that it is unknown.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Record", 32)?;
        out.serialize_field("version", &WIRE_VERSION)?;
        out.serialize_field("id", &self.id)?;
        out.serialize_field("at", &AtText(self.at))?;
        out.serialize_field("kind", &self.kind)?;
        macro_rules! some {
            ($($field:ident),+) => {$(
                if let Some(value) = &self.$field {
                    out.serialize_field(stringify!($field), value)?;
                }
            )+};
        }
        some!(event, decision);
        if let Some(session) = &self.session {
            serialize_session(&mut out, session)?;
        }
        some!(root, tool, server, model, call_id);
        let ShownArguments { asked, ran, asked_digest, ran_digest } = &self.arguments;
        if let Some(asked) = asked {
            out.serialize_field("asked", asked)?;
        }
        if let Some(ran) = ran {
            out.serialize_field("ran", ran)?;
        }
        if let Some(digest) = asked_digest {
            out.serialize_field("asked_digest", digest)?;
        }
        if let Some(digest) = ran_digest {
            out.serialize_field("ran_digest", digest)?;
        }
        some!(verdict, would, code, reason, hook);
        if matches!(self.kind, RecordKind::Decision | RecordKind::Outcome) {
            out.serialize_field("votes", &*self.votes)?;
        }
        let rewritten_by: Vec<_> = trace::rewritten_by(&self.votes).collect();
        if !rewritten_by.is_empty() {
            out.serialize_field("rewritten_by", &rewritten_by)?;
        }
        some!(policy, mode);
        if self.kind == RecordKind::Outcome {
            out.serialize_field("executed", &self.executed)?;
            out.serialize_field("ok", &self.ok)?;
        }
        some!(error, hook_us, handler_us);
        if !self.usage.is_zero() {
            out.serialize_field("tokens_in", &self.usage.tokens_in)?;
            out.serialize_field("tokens_out", &self.usage.tokens_out)?;
            out.serialize_field("cost_micros", &self.usage.cost_micros)?;
        }
        some!(approval);
        if !self.labels.is_empty() {
            out.serialize_field("labels", &self.labels)?;
        }
        some!(detail);
        out.end()
    }
}

fn serialize_session<S: SerializeStruct>(out: &mut S, session: &Session) -> Result<(), S::Error> {
    out.serialize_field("session", &session.id)?;
    macro_rules! some {
        ($($field:ident),+) => {$(
            if let Some(value) = &session.$field {
                out.serialize_field(stringify!($field), value)?;
            }
        )+};
    }
    some!(tenant, user, agent, parent, host, cwd);
    Ok(())
}

struct AtText(Timestamp);

impl Serialize for AtText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
