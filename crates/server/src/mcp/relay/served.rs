//! What a server asks of its client: the client's model, a person's answer, the client's folders.
//!
//! A server that asks the client's model is an agent that calls a model; what it sends there and what
//! comes back passes the hooks of model calls. Everything else is a call of the gate like those in
//! the other direction.

use super::{Conversation, Fate, Served, lock};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id, Shape};
use crate::mcp::limits::IN_FLIGHT_MAX;
use std::sync::Arc;
use tokio::sync::Notify;
use tollgate::gate::payload::ModelCall;
use tollgate::gate::{
    Code, Decision, Failure, Json, ModelResult, Name, Object, Passage, Payload, Performed, Ruling,
    Settled, Ticket, ToolResult,
};

/// The name of a model that the server does not name.
const ANY_MODEL: &str = "sampling";

impl Conversation {
    /// A request of the server.
    pub(super) async fn serve(self: &Arc<Self>, frame: Frame, id: Id, method: Name) -> Fate {
        if &*method == "ping" {
            lock(&self.served).insert(id, Served::Plain);
            return Fate::Pass(frame.into_text());
        }
        let cancelled = Arc::new(Notify::new());
        if !self.enter_served(&id, &cancelled) {
            let message = "a request with this id is under way, or too many are";
            return Fate::Answer(answer::error(Some(&id), answer::INVALID, message, None));
        }
        let payload: Payload = match &*method {
            "sampling/createMessage" => model_call(&frame).into(),
            other => self.method_call(&frame, other).into(),
        };
        let event = self.event(payload.clone());
        let event_id = event.id.clone();
        let deciding = self.relay.gate.decide(event);
        let ruling = self.relay.asking.decided(&event_id, None, deciding, &cancelled).await;
        // The server wants no answer any more, and the client has not heard of it.
        let Some(Ruling { decision, passage }) = ruling else { return Fate::Drop };
        match passage {
            Passage::Open(permit) => {
                let (ran, ticket) = permit.redeem();
                let Some(text) = rewritten(frame, &payload, &ran) else {
                    drop(ticket);
                    lock(&self.served).remove(&id);
                    let message = "a hook changed this request in a way that cannot be sent on";
                    return Fate::Answer(answer::error(Some(&id), answer::INTERNAL, message, None));
                };
                match lock(&self.served).get_mut(&id) {
                    Some(served) => *served = Served::Call(ticket),
                    // Cancelled meanwhile: dropping the ticket records that nothing is known of it.
                    None => return Fate::Drop,
                }
                Fate::Pass(text)
            }
            Passage::Closed(closed) => {
                let is_wanted = lock(&self.served).remove(&id).is_some();
                let settled = self.relay.gate.settle_closed(closed).await;
                if !is_wanted {
                    return Fate::Drop;
                }
                Fate::Answer(closed_answer(&id, &decision, settled, &method))
            }
        }
    }

    /// Notes a request of the server, if it can be taken.
    fn enter_served(&self, id: &Id, cancelled: &Arc<Notify>) -> bool {
        let mut served = lock(&self.served);
        if served.len() >= IN_FLIGHT_MAX || served.contains_key(id) {
            return false;
        }
        served.insert(id.clone(), Served::Deciding(Arc::clone(cancelled)));
        true
    }

    /// The server takes a request back. Whether the client is to hear of it: what is still with the gate
    /// never came to it.
    pub(super) fn served_is_cancelled(&self, id: &Id) -> bool {
        match lock(&self.served).remove(id) {
            Some(Served::Deciding(cancelled)) => {
                cancelled.notify_one();
                false
            }
            // The client may have acted on it; its outcome is recorded as unknown.
            Some(Served::Call(_) | Served::Plain) | None => true,
        }
    }

    /// An answer of the client.
    pub(super) async fn client_answered(self: &Arc<Self>, frame: Frame, id: Option<Id>) -> Fate {
        let Some(id) = id else { return Fate::Pass(frame.into_text()) };
        if let Some(waiting) = self.take_own(&id, true) {
            let _ = waiting.send(frame);
            return Fate::Drop;
        }
        // Bound, so that the lock is free again before anything is awaited.
        let served = lock(&self.served).remove(&id);
        match served {
            None => {
                self.relay.tell("the client answered a request that nobody made; it is dropped");
                Fate::Drop
            }
            // It has not been asked yet, so this answers nothing.
            Some(deciding @ Served::Deciding(_)) => {
                lock(&self.served).insert(id, deciding);
                Fate::Drop
            }
            Some(Served::Plain) => Fate::Pass(frame.into_text()),
            Some(Served::Call(ticket)) => self.settle_served(frame, &id, ticket).await,
        }
    }

    async fn settle_served(self: &Arc<Self>, frame: Frame, id: &Id, ticket: Ticket) -> Fate {
        let is_model = frame.get("result").is_some_and(|result| result.get("model").is_some());
        let came = match frame.get("error") {
            Some(error) => failed(error),
            None => Came { content: frame.get("result").cloned().unwrap_or_default(), error: None },
        };
        let performed = if is_model { came.of_model() } else { came.of_tool() };
        let settled = self.relay.gate.settle(ticket, performed.clone()).await;
        if let Some(after) = settled.decision.as_ref().filter(|after| !after.goes_through()) {
            let code = after.code.clone().unwrap_or(Code::Withheld);
            let told = answer::told(Some(after), &code);
            let message = message_of(&settled.performed);
            let text = answer::error(Some(id), answer::error_code(&code), &message, Some(told));
            return Fate::Pass(text);
        }
        if settled.performed == performed {
            return Fate::Pass(frame.into_text());
        }
        Fate::Pass(written(frame, &settled.performed))
    }
}

/// What a client gave back.
pub(super) struct Came {
    pub(super) content: Json,
    pub(super) error: Option<Failure>,
}

impl Came {
    pub(super) fn of_tool(self) -> Performed {
        Performed::Tool(ToolResult {
            ok: self.error.is_none(),
            content: Arc::new(self.content),
            error: self.error,
            executed: true,
            ..ToolResult::default()
        })
    }

    pub(super) fn of_model(self) -> Performed {
        let reply =
            Object::from_iter([("reply", self.content), ("tool_calls", Json::Array(Vec::new()))]);
        Performed::Model(ModelResult {
            ok: self.error.is_none(),
            reply: Arc::new(reply.into()),
            error: self.error,
            executed: true,
            ..ModelResult::default()
        })
    }
}

fn failed(error: &Json) -> Came {
    let message = error.get("message").and_then(Json::as_str).unwrap_or_default();
    let failure =
        Failure { code: Code::ToolError, message: message.into(), tool: Name::from("client") };
    Came { content: error.get("data").cloned().unwrap_or_default(), error: Some(failure) }
}

pub(super) fn message_of(performed: &Performed) -> String {
    let failure = match performed {
        Performed::Tool(result) => result.error.as_ref(),
        Performed::Model(result) => result.error.as_ref(),
    };
    failure.map_or_else(|| "withheld".to_owned(), |failure| failure.message.to_string())
}

/// The client's answer as the hooks left it.
fn written(frame: Frame, performed: &Performed) -> String {
    let (content, error) = match performed {
        Performed::Tool(result) => ((*result.content).clone(), result.error.as_ref()),
        Performed::Model(result) => {
            (result.reply.get("reply").cloned().unwrap_or_default(), result.error.as_ref())
        }
    };
    let Shape::Answer { ok: false, .. } = frame.shape() else {
        return frame.with("result", content);
    };
    let mut object = frame.get("error").and_then(Json::as_object).cloned().unwrap_or_default();
    object.insert("message", error.map(|failure| &*failure.message).unwrap_or_default());
    if object.contains_key("data") {
        object.insert("data", content);
    }
    frame.with("error", object.into())
}

/// What the server wants from the client's model, as a call of a model.
pub(super) fn model_call(frame: &Frame) -> ModelCall {
    let params = frame.params().and_then(Json::as_object).cloned().unwrap_or_default();
    let hint = params.get("modelPreferences").and_then(|wants| wants.get("hints")?.as_array());
    let named = hint.and_then(|hints| hints.first()?.get("name")?.as_str());
    let mut request = Object::new();
    request.insert("model", named.unwrap_or(ANY_MODEL));
    for (key, value) in params.iter().filter(|(key, _)| !matches!(*key, "_meta" | "model")) {
        request.insert(key, value.clone());
    }
    if !request.contains_key("messages") {
        request.insert("messages", Json::Array(Vec::new()));
    }
    ModelCall {
        provider: Some(Name::from("mcp")),
        request: Arc::new(request.into()),
        ..ModelCall::default()
    }
}

/// The request with what the hooks changed; `None` where that cannot be said in this protocol.
pub(super) fn rewritten(frame: Frame, asked: &Payload, ran: &Payload) -> Option<String> {
    let (before, after) = (asked.part()?, ran.part()?);
    if before == after {
        return Some(frame.into_text());
    }
    // Which model it becomes is the client's to say.
    if asked.model_call().is_some() && before.get("model") != after.get("model") {
        return None;
    }
    let mut params = frame.params().and_then(Json::as_object).cloned().unwrap_or_default();
    for (key, value) in after.as_object()?.iter() {
        if key != "model" || asked.model_call().is_none() {
            params.insert(key, value.clone());
        }
    }
    let gone = |key: &str| before.get(key).is_some() && after.get(key).is_none();
    let removed: Vec<String> =
        params.iter().map(|(key, _)| key.to_owned()).filter(|key| gone(key)).collect();
    for key in removed {
        params.remove(&key);
    }
    Some(frame.with("params", params.into()))
}

/// The answer to a request of the server that does not go to the client.
fn closed_answer(id: &Id, decision: &Decision, settled: Settled, method: &str) -> String {
    let (content, failure) = match settled.performed {
        Performed::Tool(result) => (result.content, result.error),
        Performed::Model(result) => {
            (Arc::new(result.reply.get("reply").cloned().unwrap_or_default()), result.error)
        }
    };
    match failure {
        Some(failure) => {
            let told = answer::told(Some(decision), &failure.code);
            let code = answer::error_code(&failure.code);
            answer::error(Some(id), code, &failure.message, Some(told))
        }
        None if method == "sampling/createMessage" && content.as_str().is_some() => {
            let text =
                Object::from_iter([("type", Json::from("text")), ("text", (*content).clone())]);
            let message = Object::from_iter([
                ("role", Json::from("assistant")),
                ("content", text.into()),
                ("model", Json::from(ANY_MODEL)),
            ]);
            answer::result(id, &message.into())
        }
        None => answer::result(id, &content),
    }
}
