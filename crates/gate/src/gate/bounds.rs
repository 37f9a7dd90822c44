//! What a host cannot do is done more strictly, or said plainly.
//!
//! An adapter tells with its event what the host lets a decision do. A rewrite that the host would not
//! follow refuses; a refusal that it would not hear ends the session, so that the next event, which it
//! does hear, is refused. Where an event only tells what is over, nothing stricter is left: then the
//! record says that the decision was not enforced.

use super::decide::Finding;
use crate::chain::Chain;
use crate::code::Code;
use crate::decision::Decision;
use crate::event::{Event, Rewriting};
use crate::json::{Json, Object};
use crate::kind::{EventKind, Phase};
use crate::payload::Payload;
use crate::vote::Verdict;

/// What holds where the host cannot do what was found.
pub(super) fn keep(mut finding: Finding, chain: &Chain<'_>) -> Finding {
    let event = chain.event;
    if tells_only(event) {
        return finding;
    }
    // A datum that goes back into a call changes it as a rewrite does.
    let gives_back = !chain.reveals.is_empty() && event.bounds.rewriting != Rewriting::Free;
    let changes = chain.is_rewritten() && !can_follow(event, &chain.current);
    if finding.goes_through() && (gives_back || changes) {
        let reason = "this would have to be changed first, and the host cannot do that here";
        finding = Finding::refuse(Code::HookDenied, reason, chain.last_rewriter());
    }
    if finding.verdict == Verdict::Deny && event.bounds.goes_on {
        finding.verdict = Verdict::Abort;
    }
    finding
}

/// Whether nothing that is decided about the event can stop anything any more.
fn tells_only(event: &Event) -> bool {
    event.kind().phase() == Phase::After || event.kind() == EventKind::AgentEnd
}

fn can_follow(event: &Event, current: &Payload) -> bool {
    match event.bounds.rewriting {
        Rewriting::Free => true,
        Rewriting::Nothing => false,
        Rewriting::Append => {
            let (was, is) = (event.payload.part(), current.part());
            let text = |part: &Option<std::sync::Arc<Json>>| {
                part.as_deref().and_then(Json::as_str).map(str::to_owned)
            };
            matches!((text(&was), text(&is)), (Some(was), Some(is)) if is.starts_with(&was))
        }
    }
}

/// For the record: what was decided and the host does not follow.
pub(super) fn not_enforced(event: &Event, decision: &Decision) -> Option<Json> {
    if !tells_only(event) || decision.would.is_some() {
        return None;
    }
    let changed = decision.goes_through()
        && decision.payload != event.payload
        && !can_follow(event, &decision.payload);
    let refused = !decision.goes_through() && event.bounds.goes_on;
    let what = match (changed, refused) {
        (true, _) => "rewrite",
        (_, true) => "withhold",
        (false, false) => return None,
    };
    Some(Object::from_iter([("not_enforced", what)]).into())
}
