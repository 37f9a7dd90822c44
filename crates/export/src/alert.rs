//! Alerts: a message to a webhook when a hook of some severity decides, or when too much is refused.
//!
//! They are read from the ledger, like an export. So nothing is in the way of a decision, hook
//! processes need no outbox (the ledger is one), and a crash or a webhook that is not there delays an
//! alert and does not lose it. What the alert says comes from the record, which is scrubbed; arguments
//! are not in it.

use crate::format::{Severity, Told, safe_json};
use crate::http::{Client, Endpoint, EndpointError};
use crate::limits::ALERTS_A_MINUTE_MAX;
use crate::run::Work;
use crate::sink::SendError;
use std::collections::BTreeMap;
use tollgate_gate::text::shown;
use tollgate_gate::{Json, Name, Object};
use tollgate_store::Entry;

const MINUTE_MS: u64 = 60_000;
/// Longest part of an answer that is shown, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// When to alert whom.
#[derive(Debug, Clone)]
pub struct AlertRule {
    /// Its name.
    pub name: String,
    /// The webhook.
    pub endpoint: Endpoint,
    /// Alert at a decision of this severity or above.
    pub severity: Option<Severity>,
    /// Alert when as much is refused within a minute, over all sessions.
    pub refusals_a_minute: Option<u32>,
}

/// Watches lines by one rule and posts its alerts. Each rule has a cursor of its own, so that one
/// webhook that is not there does not keep another from its alerts.
pub struct Alerter {
    rule: AlertRule,
    client: Client,
    severities: BTreeMap<Name, Severity>,
    sent: u64,
}

/// What is known of a rule between two lines: times are those of the records, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Memory {
    /// Refusals of the last minute that no alert has told of.
    refusals: Vec<u64>,
    /// Alerts of the last minute.
    sent: Vec<u64>,
    /// Alerts that were left out since.
    left_out: u64,
}

/// Why a rule alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Severity(Severity),
    Refusals(u32),
}

impl Alerter {
    /// With the severities that a policy gives its hooks.
    ///
    /// # Errors
    /// [`EndpointError`] when the webhook cannot be used as it is described.
    pub fn new(
        rule: AlertRule,
        severities: BTreeMap<Name, Severity>,
    ) -> Result<Alerter, EndpointError> {
        let client = Client::new(&rule.endpoint)?;
        Ok(Alerter { rule, client, severities, sent: 0 })
    }

    /// How many alerts went out.
    pub const fn sent(&self) -> u64 {
        self.sent
    }
}

/// Lines are taken up to the first alert, so that it is not sent again when a later one fails.
impl Work for Alerter {
    fn take(&mut self, entries: &[Entry], notes: &mut Json) -> Result<usize, SendError> {
        let mut memory = Memory::read(notes);
        let mut taken = 0;
        for entry in entries {
            taken += 1;
            let told = Told::new(entry, &self.severities);
            let Some(cause) = memory.watch(&self.rule, &told) else { continue };
            if memory.may_send(told.at().millis()) {
                let message = message(&self.rule, cause, &told, memory.left_out);
                post(&self.client, &self.rule, &message)?;
                self.sent += 1;
                memory.left_out = 0;
                break;
            }
        }
        *notes = memory.written();
        Ok(taken)
    }
}

impl Memory {
    /// What a line means to a rule.
    fn watch(&mut self, rule: &AlertRule, told: &Told<'_>) -> Option<Cause> {
        let is_refusal = told.is_refusal();
        let at = told.at().millis();
        if let Some(max) = rule.refusals_a_minute.filter(|_| is_refusal) {
            self.refusals.retain(|earlier| at.saturating_sub(*earlier) < MINUTE_MS);
            self.refusals.push(at);
            if self.refusals.len() as u64 >= u64::from(max) {
                self.refusals.clear();
                return Some(Cause::Refusals(max));
            }
        }
        let severity = told.severity();
        let wanted = rule.severity.is_some_and(|least| severity >= least);
        (wanted && told.is_telling()).then_some(Cause::Severity(severity))
    }

    /// Whether an alert may go out at this time, counted either way.
    fn may_send(&mut self, at: u64) -> bool {
        self.sent.retain(|earlier| at.saturating_sub(*earlier) < MINUTE_MS);
        let may = self.sent.len() < ALERTS_A_MINUTE_MAX as usize;
        if may {
            self.sent.push(at)
        } else {
            self.left_out += 1
        }
        may
    }

    fn read(notes: &Json) -> Memory {
        let times = |key| -> Vec<u64> {
            let found = notes.get(key).and_then(Json::as_array).unwrap_or_default();
            found.iter().filter_map(Json::as_u64).collect()
        };
        let left_out = notes.get("left_out").and_then(Json::as_u64).unwrap_or_default();
        Memory { refusals: times("refusals"), sent: times("sent"), left_out }
    }

    fn written(&self) -> Json {
        let mut out = Object::new();
        out.insert("refusals", self.refusals.clone());
        out.insert("sent", self.sent.clone());
        out.insert("left_out", self.left_out);
        out.into()
    }
}

fn post(client: &Client, rule: &AlertRule, body: &Json) -> Result<(), SendError> {
    let failed = |what: String| format!("the webhook of the alert `{}`: {what}", rule.name);
    let answer =
        client.post(&safe_json(body)).map_err(|error| SendError::Unreachable(failed(error)))?;
    match answer.status {
        200..=299 => Ok(()),
        408 | 429 | 500..=599 => {
            Err(SendError::Unreachable(failed(format!("status {}", answer.status))))
        }
        status => {
            let said = shown(answer.body.trim(), SHOWN_CHARS_MAX);
            Err(SendError::Refused(failed(format!("status {status}: {said}"))))
        }
    }
}

/// The body: for programs, with one text that chat services show.
fn message(rule: &AlertRule, cause: Cause, told: &Told<'_>, left_out: u64) -> Json {
    let mut text = match cause {
        Cause::Severity(severity) => format!("[{}] {}", severity.name(), told.message()),
        Cause::Refusals(count) => {
            format!("{count} refusals within a minute; the last: {}", told.message())
        }
    };
    if left_out > 0 {
        text.push_str(&format!(" ({left_out} alerts before were left out)"));
    }
    let mut record = Object::new();
    record.insert("seq", told.seq);
    record.insert("line_sha256", told.line.to_string());
    for key in [
        "id", "at", "kind", "event", "tenant", "user", "agent", "session", "host", "tool",
        "server", "model", "verdict", "code", "hook", "reason", "policy", "mode",
    ] {
        if let Some(value) = told.text(key) {
            record.insert(key, value);
        }
    }
    let mut out = Object::new();
    out.insert("version", 1u32);
    out.insert("alert", rule.name.as_str());
    let (because, severity) = match cause {
        Cause::Severity(severity) => ("severity", severity),
        Cause::Refusals(_) => ("refusals", told.severity()),
    };
    out.insert("because", because);
    out.insert("severity", severity.name());
    out.insert("text", text);
    out.insert("left_out", left_out);
    out.insert("record", record);
    out.into()
}
