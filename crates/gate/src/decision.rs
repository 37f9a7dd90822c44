//! The decision: what was decided for an event, by whom, and what will run.

use crate::clock::Timestamp;
use crate::code::Code;
use crate::event::{EventId, Name, WIRE_VERSION};
use crate::payload::{Payload, ToolResult};
use crate::ruleset::Mode;
use crate::trace::{self, Cast};
use crate::vault::{Hidden, Reveal};
use crate::vote::Verdict;
use crate::wire;
use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::sync::Arc;

/// What was decided for an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The event.
    pub event_id: EventId,
    /// When it was decided.
    pub at: Timestamp,
    /// The verdict that holds.
    pub verdict: Verdict,
    /// The code of a refusal.
    pub code: Option<Code>,
    /// Why, for the model and the person.
    pub reason: Option<Arc<str>>,
    /// What a person can do about it; the model never hears it.
    pub remedy: Option<Arc<str>>,
    /// The hook whose vote decides.
    pub hook: Option<Name>,
    /// The payload as it was judged and is recorded. What runs is [`Decision::runs`].
    pub payload: Payload,
    /// The payload as it runs, where data of the vault went back into it. Never printed.
    pub revealed: Hidden<Option<Payload>>,
    /// What the model is given in place of the effect, for a refusal or an answer.
    pub result: Option<ToolResult>,
    /// The approval that let it pass, or that is open.
    pub approval: Option<Name>,
    /// The host's own prompt is to be skipped.
    pub skip_host_prompt: bool,
    /// The digest of the ruleset that decided.
    pub policy: Name,
    /// The mode it was decided in.
    pub mode: Mode,
    /// In mode `dry_run`: what would have been decided.
    pub would: Option<Verdict>,
    /// What each hook that ran said.
    pub votes: Arc<Vec<Cast>>,
    /// Time in the chain, in microseconds.
    pub us: u32,
}

impl Decision {
    /// The hooks that rewrote the payload, in order.
    pub fn rewritten_by(&self) -> impl Iterator<Item = &Name> {
        trace::rewritten_by(&self.votes)
    }

    /// The payload as it will run or go on.
    pub fn runs(&self) -> &Payload {
        self.revealed.0.as_ref().unwrap_or(&self.payload)
    }

    /// Puts data of the vault in the place of their placeholders, if the effect takes place.
    pub(crate) fn reveal(&mut self, reveals: &[Reveal]) {
        let Some(part) = self.payload.part().filter(|_| self.goes_through() && !reveals.is_empty())
        else {
            return;
        };
        let mut part = (*part).clone();
        // Each once: a datum that looks like another's placeholder stays what it is.
        let mut applied = 0;
        for reveal in reveals {
            applied += usize::from(reveal.apply(&mut part));
        }
        if applied > 0 {
            self.revealed = Hidden(self.payload.with_part(part).ok());
        }
    }

    /// Whether the effect takes place (or the lone event goes on).
    pub fn goes_through(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Decision", 16)?;
        out.serialize_field("version", &WIRE_VERSION)?;
        out.serialize_field("event_id", &self.event_id)?;
        out.serialize_field("kind", &self.payload.kind())?;
        out.serialize_field("verdict", &self.verdict)?;
        out.serialize_field("code", &self.code)?;
        out.serialize_field("reason", &self.reason)?;
        out.serialize_field("hook", &self.hook)?;
        out.serialize_field("payload", &wire::payload_json(&self.payload, self.result.as_ref()))?;
        out.serialize_field("rewritten_by", &self.rewritten_by().collect::<Vec<_>>())?;
        out.serialize_field("approval", &self.approval)?;
        if self.skip_host_prompt {
            out.serialize_field("skip_host_prompt", &true)?;
        }
        out.serialize_field("policy", &self.policy)?;
        out.serialize_field("mode", &self.mode)?;
        if let Some(would) = &self.would {
            out.serialize_field("would", would)?;
        }
        if let Some(remedy) = &self.remedy {
            out.serialize_field("remedy", remedy)?;
        }
        out.serialize_field("votes", &*self.votes)?;
        out.end()
    }
}
