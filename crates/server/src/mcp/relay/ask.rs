//! Asking a person through the client they sit at.
//!
//! Where the client can show a form, the question is put there; a policy that names who must agree is
//! not served by that, for nobody knows who sits there, and such a question goes to the durable
//! approvals. So does every question of a client that shows no forms.

use super::{Conversation, Outlet, lock};
use crate::mcp::frame::{Frame, Id};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tollgate::gate::text::{shown, shown_block};
use tollgate::gate::{
    ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver, CallKey, EventId, Json, Name, Object,
    Ruling, Soon,
};

/// Longest text of arguments in a question, in characters.
const ARGUMENTS_CHARS_MAX: usize = 2_000;
/// How long a question stands in a client that a policy gives no time, in milliseconds.
const EXPIRES_MS: u64 = 10 * 60 * 1_000;

/// A decision that is under way.
struct Deciding {
    /// Who asks, and the way to its client, where a person can be asked there.
    way: Option<(Weak<Conversation>, Arc<dyn Outlet>)>,
    /// Whether a person is being asked.
    asks: bool,
    /// Nobody wants to know any more.
    over: Arc<Notify>,
}

/// The approver of a gate that relays stand before.
#[derive(Default)]
pub struct Asking {
    /// By the event that is decided.
    deciding: Mutex<HashMap<EventId, Deciding>>,
    durable: Option<Arc<dyn Approver>>,
    /// The yeses that the durable approvals gave: they are told what becomes of them.
    given: Mutex<HashSet<Name>>,
}

/// Forgets a decision when it is over, however it ends.
struct Decided<'a> {
    asking: &'a Asking,
    event: &'a EventId,
}

impl Drop for Decided<'_> {
    fn drop(&mut self) {
        lock(&self.asking.deciding).remove(self.event);
    }
}

impl Asking {
    /// Asks through clients, and where that cannot be, there.
    pub fn or_else(durable: Option<Arc<dyn Approver>>) -> Arc<Asking> {
        Arc::new(Asking { durable, ..Asking::default() })
    }

    /// Whether a person is being asked.
    pub(in crate::mcp) fn is_asking(&self) -> bool {
        lock(&self.deciding).values().any(|deciding| deciding.asks)
    }

    /// Takes back all that people are asked.
    pub(super) fn take_all_back(&self) {
        for known in lock(&self.deciding).values().filter(|known| known.asks) {
            known.over.notify_one();
        }
    }

    /// Waits for a decision; `client` is the way to who made the call. When it is cancelled, a question to a
    /// person is taken back, which is an answer like any other; any other wait just ends (`None`).
    pub(super) async fn decided(
        &self,
        event: &EventId,
        client: Option<(&Arc<Conversation>, &Arc<dyn Outlet>)>,
        deciding: impl Future<Output = Ruling>,
        cancelled: &Notify,
    ) -> Option<Ruling> {
        let over = Arc::new(Notify::new());
        let way = client.map(|(talk, way)| (Arc::downgrade(talk), Arc::clone(way)));
        let known = Deciding { way, asks: false, over: Arc::clone(&over) };
        lock(&self.deciding).insert(event.clone(), known);
        let _forgets = Decided { asking: self, event };
        let mut deciding = std::pin::pin!(deciding);
        tokio::select! {
            biased;
            ruling = &mut deciding => return Some(ruling),
            () = cancelled.notified() => {}
        }
        if !lock(&self.deciding).get(event).is_some_and(|known| known.asks) {
            return None;
        }
        over.notify_one();
        Some(deciding.await)
    }

    async fn put(&self, request: &ApprovalRequest) -> ApprovalReply {
        let known = lock(&self.deciding).get_mut(&request.event_id).map(|known| {
            known.asks = true;
            (known.way.clone(), Arc::clone(&known.over))
        });
        let (way, over) = known.unwrap_or_default();
        if let Some((_, client)) = &way {
            client.waits_for_a_person();
        }
        let mut asked = std::pin::pin!(self.ask_somebody(request, way.as_ref()));
        let reply = tokio::select! {
            biased;
            reply = &mut asked => reply,
            () = over.notified() => self.take_question_back(request).await,
        };
        if let Some(known) = lock(&self.deciding).get_mut(&request.event_id) {
            known.asks = false;
        }
        reply
    }

    async fn ask_somebody(
        &self,
        request: &ApprovalRequest,
        way: Option<&(Weak<Conversation>, Arc<dyn Outlet>)>,
    ) -> ApprovalReply {
        if let Some((conversation, client)) = way
            && let Some(conversation) = conversation.upgrade()
            && conversation.can_elicit()
            && request.who.is_empty()
        {
            return ApprovalReply::to(request, conversation.elicit(request, client).await);
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

    /// Nobody waits for the answer to this any more. The form that a client shows is taken back as soon as
    /// nobody waits for it.
    async fn take_question_back(&self, request: &ApprovalRequest) -> ApprovalReply {
        match &self.durable {
            Some(durable) => durable.take_back(request).await,
            None => ApprovalReply::to(request, ApprovalAnswer::Cancelled),
        }
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

    fn take_back<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        Soon::later(self.take_question_back(request))
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
        let asked = self.ask_peer(&**client, true, "elicitation/create", &form(request));
        let Some((id, answer)) = asked else { return ApprovalAnswer::Unreachable };
        let mut waiting = Shown { conversation: self, client, id, is_answered: false };
        let limit = Duration::from_millis(request.expires_ms.unwrap_or(EXPIRES_MS));
        match tokio::time::timeout(limit, answer).await {
            Err(_) => ApprovalAnswer::Expired,
            Ok(Err(_)) => ApprovalAnswer::Cancelled,
            Ok(Ok(frame)) => {
                waiting.is_answered = true;
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

/// A form that a client shows. It is taken back when nobody waits for its answer any more: the call was
/// cancelled, or its time has passed.
struct Shown<'a> {
    conversation: &'a Conversation,
    client: &'a Arc<dyn Outlet>,
    id: Id,
    is_answered: bool,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.conversation.forget_own(&self.id);
        self.client.send(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"no answer is waited for any more"}}}}"#,
            self.id.as_json()
        ));
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
