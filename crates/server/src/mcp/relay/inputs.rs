//! What a server asks for inside of a result (revision 2026-07-28: `input_required`).
//!
//! Such a result says what the server needs before it can go on: the client's model, a person's
//! answer, the client's folders. Each is what an older server would have asked by a request of its
//! own, and passes the gate as that would. What the client brings with its next try settles it.

use super::served::{Came, message_of, model_call, rewritten};
use super::{Conversation, call, lock};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id};
use crate::mcp::limits::INPUTS_MAX;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tollgate::gate::{
    Code, Decision, Failure, Json, Name, Passage, Payload, Performed, Ruling, Ticket, ToolCall,
};

/// What servers wait for, by what names it.
#[derive(Default)]
pub(super) struct Pending(Mutex<HashMap<[u8; 32], Vec<Waiting>>>);

struct Waiting {
    ticket: Ticket,
    is_model: bool,
}

/// Something that a server asked for and does not get.
pub(super) struct Refused {
    pub(super) decision: Option<Box<Decision>>,
    pub(super) failure: Failure,
}

/// Whether a result asks for something.
pub(super) fn asks(frame: &Frame) -> bool {
    let result = frame.get("result");
    result.is_some_and(|result| result.get("inputRequests").is_some())
}

impl Conversation {
    /// Shows what a result asks for to the gate: the result as it may go on.
    pub(super) async fn govern_inputs(
        self: &Arc<Self>,
        text: String,
        call: &ToolCall,
    ) -> Result<String, Refused> {
        let Ok(frame) = Frame::read(text) else { return Err(unreadable(call)) };
        let Some(result) = frame.get("result").and_then(Json::as_object) else {
            return Ok(frame.into_text());
        };
        let Some(wanted) = result.get("inputRequests") else { return Ok(frame.into_text()) };
        let Some(wanted) = wanted.as_object() else { return Err(unreadable(call)) };
        let state = result.get("requestState").and_then(Json::as_str);
        let mut allowed = wanted.clone();
        for (key, request) in wanted.iter() {
            let place = self.place(call, state, key);
            let changed = self.govern_input(request, call, place).await?;
            allowed.insert(key, changed);
        }
        if &allowed == wanted {
            return Ok(frame.into_text());
        }
        let mut result = result.clone();
        result.insert("inputRequests", allowed);
        Ok(frame.with("result", result.into()))
    }

    async fn govern_input(
        self: &Arc<Self>,
        request: &Json,
        call: &ToolCall,
        place: [u8; 32],
    ) -> Result<Json, Refused> {
        let method = request.get("method").and_then(Json::as_str);
        let method = method.ok_or_else(|| unreadable(call))?;
        let frame = as_request(request).ok_or_else(|| unreadable(call))?;
        let is_model = method == "sampling/createMessage";
        let payload: Payload = if is_model {
            model_call(&frame).into()
        } else {
            self.method_call(&frame, method).into()
        };
        let ruling = self.relay.gate.decide(self.event(payload.clone())).await;
        let Ruling { decision, passage } = ruling;
        let permit = match passage {
            Passage::Open(permit) => permit,
            Passage::Closed(closed) => {
                let settled = self.relay.gate.settle_closed(closed).await;
                let message = message_of(&settled.performed);
                let code = decision.code.clone().unwrap_or(Code::HookDenied);
                let tool = Name::clone(&call.tool);
                let failure = Failure { code, message: message.into(), tool };
                return Err(Refused { decision: Some(Box::new(decision)), failure });
            }
        };
        let (ran, ticket) = permit.redeem();
        let text = rewritten(frame, &payload, &ran).ok_or_else(|| unreadable(call))?;
        self.relay.inputs.put(place, Waiting { ticket, is_model });
        let Ok(changed) = Frame::read(text) else { return Err(unreadable(call)) };
        let mut object = request.as_object().cloned().unwrap_or_default();
        if let Some(params) = changed.params().filter(|_| object.contains_key("params")) {
            object.insert("params", params.clone());
        }
        Ok(object.into())
    }

    /// What a client brings with its next try goes through the hooks of what it answers. The request
    /// as it may go on, or the answer in its place.
    pub(super) async fn settle_inputs(
        self: &Arc<Self>,
        frame: Frame,
        id: &Id,
    ) -> Result<Frame, String> {
        let invalid = |what: &str| answer::error(Some(id), answer::INVALID_PARAMS, what, None);
        let Some(brought) = frame.param("inputResponses").and_then(Json::as_object).cloned() else {
            return Err(invalid("`params.inputResponses` must be an object"));
        };
        let call = match frame.get("method").and_then(Json::as_str) {
            Some("tools/call") => self.tool_call(&frame).map_err(invalid)?,
            Some(other) => self.method_call(&frame, other),
            None => return Ok(frame),
        };
        let state = frame.param("requestState").and_then(Json::as_str);
        let mut settled = brought.clone();
        for (key, response) in brought.iter() {
            let waiting = self.relay.inputs.take(self.place(&call, state, key));
            let changed = match waiting {
                Some(waiting) => self.settle_input(waiting, response).await,
                // Nothing here asked for it (the relay was started anew): its text is looked at.
                None => {
                    let what = self.method_named("inputResponses");
                    let changed = self.reviewed(&what, response).await;
                    changed.map_err(|refused| {
                        let code = refused.code.clone().unwrap_or(Code::Withheld);
                        (refused, code, "withheld".to_owned())
                    })
                }
            };
            match changed {
                Ok(Some(changed)) => _ = settled.insert(key, changed),
                Ok(None) => {}
                Err((decision, code, message)) => {
                    let is_tool = frame.get("method").and_then(Json::as_str) == Some("tools/call");
                    let form = call::Form::new(is_tool, frame.is_modern());
                    let tool = Name::clone(&call.tool);
                    let failure = Failure { code, message: message.into(), tool };
                    return Err(call::refusal(id, &failure, Some(&decision), form));
                }
            }
        }
        if settled == brought {
            return Ok(frame);
        }
        let mut params = frame.params().and_then(Json::as_object).cloned().unwrap_or_default();
        params.insert("inputResponses", settled);
        Frame::read(frame.with("params", params.into()))
            .map_err(|_| invalid("what hooks made of `inputResponses` cannot be sent"))
    }

    async fn settle_input(
        &self,
        waiting: Waiting,
        response: &Json,
    ) -> Result<Option<Json>, (Box<Decision>, Code, String)> {
        let came = Came { content: response.clone(), error: None };
        let performed = if waiting.is_model { came.of_model() } else { came.of_tool() };
        let settled = self.relay.gate.settle(waiting.ticket, performed.clone()).await;
        if let Some(after) = settled.decision.filter(|after| !after.goes_through()) {
            let code = after.code.clone().unwrap_or(Code::Withheld);
            return Err((Box::new(after), code, message_of(&settled.performed)));
        }
        Ok((settled.performed != performed).then(|| match settled.performed {
            Performed::Tool(result) => (*result.content).clone(),
            Performed::Model(result) => result.reply.get("reply").cloned().unwrap_or_default(),
        }))
    }

    /// What names one thing that a server waits for: the session, the call, the server's own mark.
    fn place(&self, call: &ToolCall, state: Option<&str>, key: &str) -> [u8; 32] {
        let session = self.session();
        let mut digest = Sha256::new();
        for part in [&*session.id, &*call.tool, state.unwrap_or_default(), key] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        digest.finalize().into()
    }
}

impl Pending {
    /// Over the cap the ticket is dropped: what came of it is recorded as unknown.
    fn put(&self, place: [u8; 32], waiting: Waiting) {
        let mut all = lock(&self.0);
        if all.len() < INPUTS_MAX || all.contains_key(&place) {
            let one = all.entry(place).or_default();
            one.truncate(INPUTS_MAX);
            one.push(waiting);
        }
    }

    fn take(&self, place: [u8; 32]) -> Option<Waiting> {
        let mut all = lock(&self.0);
        let one = all.get_mut(&place)?;
        let first = (!one.is_empty()).then(|| one.remove(0));
        if one.is_empty() {
            all.remove(&place);
        }
        first
    }
}

/// What is asked for, as the request that an older server would have made.
fn as_request(wanted: &Json) -> Option<Frame> {
    let mut object = wanted.as_object()?.clone();
    object.insert("jsonrpc", "2.0");
    object.insert("id", 0);
    Frame::read(Json::from(object).text()).ok()
}

fn unreadable(call: &ToolCall) -> Refused {
    let message = "what the server asks for inside of its result cannot be read, and is refused";
    let tool = Name::clone(&call.tool);
    Refused {
        decision: None,
        failure: Failure { code: Code::HookError, message: message.into(), tool },
    }
}
