//! Veiling: what comes back holds placeholders where data of the vault stood (see [`crate::vault`]).
//!
//! It comes before the after-chain, so neither hooks nor records, limits or loop detection see the data that
//! went into a call. Refused: letting a result pass while the vault cannot be read, for nobody knows then what
//! it holds.

use super::Gate;
use crate::event::Event;
use crate::json::Json;
use crate::payload::{Payload, ToolCall};
use crate::vault::{Kept, VaultOwner};
use crate::veil::Veil;
use std::sync::{Arc, PoisonError};

/// What stands in place of a result that cannot be looked at.
const UNREAD: &str = "withheld: the vault cannot be read";

impl Gate {
    /// The event of something that came back, without the data of its session's vault.
    pub(super) fn veiled(&self, mut event: Event) -> Event {
        let Some(vault) = &self.vault else { return event };
        match vault.kept(VaultOwner::of(&event.session)) {
            Ok(kept) if kept.is_empty() => event,
            Ok(kept) => {
                let veil = self.veil_of(kept);
                event.payload = with_call_veiled(event.payload, &veil);
                let part = event.payload.part().and_then(|part| veil.json(&part));
                if let Some(Ok(payload)) = part.map(|part| event.payload.with_part(part)) {
                    event.payload = payload;
                }
                event
            }
            Err(_) => {
                if let Ok(payload) = event.payload.with_part(Json::from(UNREAD)) {
                    event.payload = payload;
                }
                event
            }
        }
    }

    /// The veil of these data, made once for as long as the same session has the same.
    fn veil_of(&self, kept: Arc<Vec<Kept>>) -> Arc<Veil> {
        let mut last = self.veil.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, veil)) = last.as_ref().filter(|(known, _)| Arc::ptr_eq(known, &kept)) {
            return Arc::clone(veil);
        }
        let veil = Arc::new(Veil::of(&kept));
        *last = Some((kept, Arc::clone(&veil)));
        veil
    }
}

/// The payload with the arguments of its call veiled: a host tells of the call as it ran.
fn with_call_veiled(mut payload: Payload, veil: &Veil) -> Payload {
    if let Payload::PostTool(outcome) | Payload::ToolError(outcome) = &mut payload
        && let Some(arguments) = veil.json(&outcome.call.arguments)
    {
        let outcome = Arc::make_mut(outcome);
        let mut call = ToolCall::clone(&outcome.call);
        if let Json::Object(arguments) = arguments {
            call.arguments = Arc::new(arguments.into());
        }
        outcome.call = Arc::new(call);
    }
    payload
}
