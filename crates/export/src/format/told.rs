//! What a record tells, as the formats ask for it.
//!
//! It reads the line's JSON and not the gate's types: a book may hold records of other versions, and
//! one that lacks something is exported all the same.

use crate::limits::TEXT_BYTES_MAX;
use std::collections::BTreeMap;
use tollgate_gate::text::cut;
use tollgate_gate::{Json, Name, Timestamp};
use tollgate_store::{Entry, HashValue};

/// How much a record matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing to do.
    Informational,
    /// To be seen some time.
    Low,
    /// To be looked at.
    Medium,
    /// To be looked at soon.
    High,
    /// To be looked at now.
    Critical,
}

impl Severity {
    /// The word in a policy.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Informational => "informational",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    /// From the word in a policy.
    pub fn from_name(word: &str) -> Option<Severity> {
        let all = [Severity::Low, Severity::Medium, Severity::High, Severity::Critical];
        all.into_iter().find(|severity| severity.name() == word)
    }
}

/// What became of an event, in the words that SIEM formats share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    Allowed,
    Approved,
    Corrected,
    Logged,
    Answered,
    Asked,
    Blocked,
    Rejected,
    Unauthorized,
    Failed,
}

impl Disposition {
    /// Whether the event went through.
    pub(crate) const fn is_allowed(self) -> bool {
        matches!(
            self,
            Disposition::Allowed
                | Disposition::Approved
                | Disposition::Corrected
                | Disposition::Logged
        )
    }
}

/// A line of the ledger, and what is known beyond it.
#[derive(Debug, Clone)]
pub struct Told<'a> {
    /// Its number.
    pub seq: u64,
    /// The hash of the line.
    pub line: HashValue,
    json: &'a Json,
    severities: &'a BTreeMap<Name, Severity>,
}

impl<'a> Told<'a> {
    /// Of a line; `severities` are those that a policy gives its hooks.
    pub fn new(entry: &'a Entry, severities: &'a BTreeMap<Name, Severity>) -> Told<'a> {
        let (seq, line) = (entry.line.seq, HashValue::of_line(&entry.text));
        Told { seq, line, json: &entry.line.json, severities }
    }

    /// A member.
    pub fn get(&self, key: &str) -> Option<&'a Json> {
        self.json.get(key).filter(|value| !value.is_null())
    }

    /// A member that is a text; long ones are cut.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.as_str().map(|text| cut(text, TEXT_BYTES_MAX).into_owned())
    }

    /// A member that is a short word.
    pub(crate) fn word(&self, key: &str) -> &'a str {
        self.json.get(key).and_then(Json::as_str).unwrap_or_default()
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// When it was written.
    pub fn at(&self) -> Timestamp {
        Timestamp::parse(self.word("at")).unwrap_or_default()
    }

    /// What the record is about: the event, or the kind of the record.
    pub(crate) fn subject(&self) -> &'a str {
        if self.word("event").is_empty() { self.word("kind") } else { self.word("event") }
    }

    /// The tool or model that was called.
    pub(crate) fn called(&self) -> Option<String> {
        self.text("tool").or_else(|| self.text("model"))
    }

    /// The arguments as run, or as asked where they were not changed.
    pub(crate) fn arguments(&self) -> Option<&'a Json> {
        self.get("ran").or_else(|| self.get("asked"))
    }

    pub(crate) fn votes(&self) -> &'a [Json] {
        self.get("votes").and_then(Json::as_array).unwrap_or_default()
    }

    fn has_fault(&self) -> bool {
        self.votes().iter().any(|vote| vote.get("fault").is_some_and(|fault| !fault.is_null()))
    }

    /// Whether this is the decision of an event or the outcome of a call.
    pub(crate) fn is_of_event(&self) -> bool {
        matches!(self.word("kind"), "decision" | "outcome")
    }

    /// Whether something was refused: once a call, at its decision.
    pub fn is_refusal(&self) -> bool {
        let word = self.word("kind");
        (word == "decision" && matches!(self.word("verdict"), "deny" | "abort"))
            || word == "session_abort"
    }

    /// Whether this is where something was decided or went wrong. An outcome repeats what its decision
    /// said, unless what came back was withheld.
    pub(crate) fn is_telling(&self) -> bool {
        match self.word("kind") {
            "decision" | "session_abort" | "recovered" | "mode_change" => true,
            "outcome" => self.word("code") == "withheld",
            _ => false,
        }
    }

    fn is_not_executed(&self) -> bool {
        self.get("executed").and_then(Json::as_bool) == Some(false)
    }

    /// What the decision of a call said that did not take place, as its outcome has it: by its code.
    fn of_unexecuted(&self) -> Disposition {
        match self.word("code") {
            "" => Disposition::Answered,
            // Nobody refused it: it could not be made, or the host did not make it.
            "unknown_tool" | "invalid_arguments" | "tool_error" => Disposition::Allowed,
            code => refused_by(code),
        }
    }

    pub(crate) fn disposition(&self) -> Disposition {
        match self.word("verdict") {
            "deny" | "abort" => refused_by(self.word("code")),
            "ask" => Disposition::Asked,
            "respond" => Disposition::Answered,
            // The after-chain has let the answer of a call through that did not take place.
            _ if self.word("kind") == "outcome" && self.is_not_executed() => self.of_unexecuted(),
            _ if !matches!(self.word("would"), "" | "allow") => Disposition::Logged,
            _ if self.get("approval").is_some() => Disposition::Approved,
            _ if self.get("rewritten_by").is_some() => Disposition::Corrected,
            _ => Disposition::Allowed,
        }
    }

    /// How much it matters: by the policy, for a hook that it gives a severity and that did something;
    /// otherwise by what happened.
    pub fn severity(&self) -> Severity {
        let verdict = match self.word("would") {
            "" => self.word("verdict"),
            would => would,
        };
        let acted = matches!(verdict, "deny" | "abort" | "ask" | "respond");
        if let Some(severity) = self.severities.get(self.word("hook")).filter(|_| acted) {
            return *severity;
        }
        match (self.word("kind"), verdict) {
            ("session_abort" | "recovered", _) | (_, "abort") => Severity::High,
            (_, "deny") => Severity::Medium,
            _ if self.has_fault() => Severity::Medium,
            ("policy_load" | "mode_change" | "switch" | "trust" | "approval", _) => Severity::Low,
            (_, "ask") => Severity::Low,
            _ => Severity::Informational,
        }
    }

    /// Whether the record was erased, so that little of it is left.
    pub fn is_erased(&self) -> bool {
        self.get("erased").is_some()
    }

    /// One line for people.
    pub fn message(&self) -> String {
        let mut message = self.subject().to_owned();
        if self.is_erased() {
            message.push_str(" (erased)");
        }
        let verdict = self.word("verdict");
        for (before, part) in [
            (" of ", self.called().unwrap_or_default()),
            (": ", verdict.to_owned()),
            (" by ", self.text("hook").unwrap_or_default()),
            (": ", self.text("reason").or_else(|| self.text("error")).unwrap_or_default()),
        ] {
            if !part.is_empty() {
                message.push_str(before);
                message.push_str(&part);
            }
        }
        message
    }
}

/// What became of an event that was refused with this code.
fn refused_by(code: &str) -> Disposition {
    match code {
        "hook_error" | "hook_timeout" | "ledger_unavailable" => Disposition::Failed,
        "approval_denied" => Disposition::Rejected,
        "approval_required" | "approval_expired" | "approval_cancelled" => {
            Disposition::Unauthorized
        }
        _ => Disposition::Blocked,
    }
}
