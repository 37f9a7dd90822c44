//! Asking a person through the client they sit at.
//!
//! Where the client can show a form, the question is put there; a policy that names who must agree is
//! not served by that, for nobody knows who sits there, and such a question goes to the durable
//! approvals. So does every question of a client that shows no forms.

use super::{Conversation, Outlet, lock};
use crate::mcp::frame::Frame;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tollgate::gate::text::{shown, shown_block};
use tollgate::gate::{
    ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver, CallKey, EventId, Json, Name, Object,
    Soon,
};

/// Longest text of arguments in a question, in characters.
const ARGUMENTS_CHARS_MAX: usize = 2_000;
/// How long a question stands in a client that a policy gives no time, in milliseconds.
const EXPIRES_MS: u64 = 10 * 60 * 1_000;

/// A conversation and the way to its client.
type AskedBy = (Weak<Conversation>, Arc<dyn Outlet>);

/// The approver of a gate that relays stand before.
#[derive(Default)]
pub struct Asking {
    /// Who asks, and the way to its client, by the event that asks.
    ways: Mutex<HashMap<EventId, AskedBy>>,
    durable: Option<Arc<dyn Approver>>,
    /// The yeses that the durable approvals gave: they are told what becomes of them.
    given: Mutex<HashSet<Name>>,
}

impl Asking {
    /// Asks through clients, and where that cannot be, there.
    pub fn or_else(durable: Option<Arc<dyn Approver>>) -> Arc<Asking> {
        Arc::new(Asking { durable, ..Asking::default() })
    }

    /// A call is being decided: this is the way to who made it.
    pub(super) fn reach(
        &self,
        event: &EventId,
        conversation: &Arc<Conversation>,
        client: &Arc<dyn Outlet>,
    ) {
        let way = (Arc::downgrade(conversation), Arc::clone(client));
        lock(&self.ways).insert(event.clone(), way);
    }

    pub(super) fn leave(&self, event: &EventId) {
        lock(&self.ways).remove(event);
    }

    async fn put(&self, request: &ApprovalRequest) -> ApprovalReply {
        let way = lock(&self.ways).get(&request.event_id).cloned();
        if let Some((conversation, way)) = way
            && let Some(conversation) = conversation.upgrade()
            && conversation.can_elicit()
            && request.who.is_empty()
        {
            return ApprovalReply::to(request, conversation.elicit(request, &way).await);
        }
        let Some(durable) = &self.durable else {
            return ApprovalReply::to(request, ApprovalAnswer::Unreachable);
        };
        let reply = durable.ask(request).await;
        if matches!(reply.answer, ApprovalAnswer::Approved { .. }) {
            lock(&self.given).insert(Name::clone(&reply.approval));
        }
        reply
    }

    /// The durable approvals, if this yes was theirs.
    fn giver(&self, approval: &Name) -> Option<&Arc<dyn Approver>> {
        self.durable.as_ref().filter(|_| lock(&self.given).remove(approval))
    }
}

impl Approver for Asking {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        Soon::later(self.put(request))
    }

    fn run<'a>(&'a self, approval: &'a Name, call: &'a CallKey) -> Soon<'a, Result<(), Arc<str>>> {
        match self.giver(approval) {
            Some(durable) => durable.run(approval, call),
            None => Soon::now(Ok(())),
        }
    }

    fn release<'a>(&'a self, approval: &'a Name, call: &'a CallKey) -> Soon<'a, ()> {
        match self.giver(approval) {
            Some(durable) => durable.release(approval, call),
            None => Soon::now(()),
        }
    }
}

impl Conversation {
    async fn elicit(&self, request: &ApprovalRequest, client: &Arc<dyn Outlet>) -> ApprovalAnswer {
        let asked = self.ask_peer(&**client, "elicitation/create", &form(request));
        let Some((id, answer)) = asked else { return ApprovalAnswer::Unreachable };
        let waiting = Forget { conversation: self, id };
        let limit = Duration::from_millis(request.expires_ms.unwrap_or(EXPIRES_MS));
        match tokio::time::timeout(limit, answer).await {
            Err(_) => ApprovalAnswer::Expired,
            Ok(Err(_)) => ApprovalAnswer::Cancelled,
            Ok(Ok(frame)) => {
                drop(waiting);
                self.agreed(&frame)
            }
        }
    }

    fn agreed(&self, frame: &Frame) -> ApprovalAnswer {
        let result = frame.get("result");
        let user = self.session().user.clone().unwrap_or_else(|| Name::from("client"));
        let action = result.and_then(|result| result.get("action")?.as_str());
        let approve = result.and_then(|result| result.get("content")?.get("approve")?.as_bool());
        let no =
            |reason: &str| ApprovalAnswer::Denied { by: Name::clone(&user), reason: reason.into() };
        match (action, approve) {
            (Some("accept"), Some(true)) => {
                ApprovalAnswer::Approved { by: BTreeSet::from([Name::clone(&user)]) }
            }
            (Some("accept"), _) => no("not confirmed"),
            (Some("decline"), _) => no("declined"),
            _ => ApprovalAnswer::Cancelled,
        }
    }
}

/// Takes a question back when nobody waits for its answer any more, cancelled calls included.
struct Forget<'a> {
    conversation: &'a Conversation,
    id: crate::mcp::frame::Id,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.conversation.forget_own(&self.id);
    }
}

/// The form: the call as it will run, masked and escaped, and one box that is not ticked.
fn form(request: &ApprovalRequest) -> Json {
    let arguments = Conversation::told_text(Some(&request.shown));
    let message = format!(
        "Tollgate: {reason}\nThe agent wants to call `{tool}` with {arguments}",
        reason = shown(&request.reason, 400),
        tool = shown(&request.subject, 200),
        arguments = shown_block(&arguments, ARGUMENTS_CHARS_MAX),
    );
    let approve = Object::from_iter([
        ("type", Json::from("boolean")),
        ("title", Json::from("Let this call through")),
        ("default", Json::from(false)),
    ]);
    let schema = Object::from_iter([
        ("type", Json::from("object")),
        ("properties", Object::from_iter([("approve", approve)]).into()),
        ("required", vec![Json::from("approve")].into()),
    ]);
    Object::from_iter([("message", Json::from(message)), ("requestedSchema", schema.into())]).into()
}
