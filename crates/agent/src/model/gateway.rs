//! The model gateway: every model call passes the gate here.
//!
//! As a tool call: decided, performed with a permit, settled; the settled reply is what the loop
//! sees. Nothing of an answer gets out before `post_model` has judged the whole of it.

use crate::actor::Actor;
use crate::limits::{ERROR_BYTES_MAX, REPLY_BYTES_MAX, REPLY_CALLS_MAX};
use crate::model::{Delta, Message, ModelClient, ModelError, ModelRequest, Reply, RequestedCall};
use crate::panics::caught;
use crate::registry::{Declaration, failure};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tollgate_gate::limits::NAME_BYTES_MAX;
use tollgate_gate::payload::ModelCall;
use tollgate_gate::text::cut;
use tollgate_gate::{
    Aborted, Code, Failure, Json, ModelResult, Name, Object, Passage, Payload, Performed, Permit,
    Settled, Ticket, Usage,
};

/// Calls models for one actor.
pub struct ModelGateway {
    client: Arc<dyn ModelClient>,
    model: Name,
    actor: Actor,
    /// Further members of every request.
    extra: Object,
    used: Mutex<Usage>,
}

/// What came of a model call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The reply, or why there is none.
    pub reply: Result<Reply, Failure>,
    /// What the call used.
    pub usage: Usage,
    /// Set when the session has ended.
    pub aborted: Option<Aborted>,
}

impl ModelGateway {
    /// Asks `model` through `client`, for `actor` and before its gate.
    pub fn new(
        client: Arc<dyn ModelClient>,
        model: impl Into<Name>,
        actor: &Actor,
    ) -> ModelGateway {
        ModelGateway {
            client,
            model: model.into(),
            actor: actor.clone(),
            extra: Object::new(),
            used: Mutex::default(),
        }
    }

    /// Sets further members of every request: a temperature, a limit of tokens. Hooks see them and
    /// may rewrite them.
    #[must_use]
    pub fn with_extra(mut self, extra: Object) -> ModelGateway {
        self.extra = extra;
        self
    }

    /// What all calls have used.
    pub fn used(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the model to go on with a conversation.
    pub async fn call(&self, messages: &[Message], tools: &[&Declaration]) -> ModelAnswer {
        let request = ModelRequest {
            model: Name::clone(&self.model),
            messages: messages.to_vec(),
            tools: tools.iter().map(|tool| tool.to_json()).collect(),
            extra: self.extra.clone(),
        };
        let call = ModelCall {
            provider: Some(self.client.provider().into()),
            request: Arc::new(request.to_json()),
            ..ModelCall::default()
        };
        let gate = self.actor.gate();
        let event = self.actor.event(Payload::PreModel(call.into()));
        let ruling = gate.decide(event).await;
        self.actor.note_decision(&ruling.decision);
        let settled = match ruling.passage {
            Passage::Closed(closed) => gate.settle_closed(closed).await,
            Passage::Open(permit) => match self.perform_unless_ended(permit).await {
                Some((ticket, result)) => gate.settle(ticket, Performed::Model(result)).await,
                None => return self.dropped(),
            },
        };
        self.told(settled)
    }

    /// `None`: the session had ended or ended meanwhile. The ticket is dropped with the call, and
    /// its outcome recorded as unknown, for a request that is under way may have cost something.
    async fn perform_unless_ended(&self, permit: Permit) -> Option<(Ticket, ModelResult)> {
        if self.actor.aborted().is_some() {
            return None;
        }
        let (payload, ticket) = permit.redeem();
        let result = self.actor.unless_ended(self.perform(&payload)).await?;
        Some((ticket, result))
    }

    async fn perform(&self, payload: &Payload) -> ModelResult {
        let request = payload.model_call().map(|call| ModelRequest::from_json(&call.request));
        let request = match request {
            Some(Ok(request)) => request,
            Some(Err(error)) => {
                let message = format!("what was decided on is no request: {error}");
                return not_called(failure(&self.model, Code::HookError, &message));
            }
            None => {
                let message = format!("a permit for `{}` calls no model", payload.kind());
                return not_called(failure(&self.model, Code::HookError, &message));
            }
        };
        let mut gathered = Gathered::default();
        let outcome = caught(|| self.gather(request, &mut gathered)).await;
        let outcome = outcome.unwrap_or_else(|panic| Err(ModelError::Panicked(panic)));
        let usage = gathered.usage;
        self.count(usage);
        match outcome.and_then(|()| gathered.finish()) {
            Ok(reply) => ModelResult {
                ok: true,
                reply: Arc::new(reply.to_json()),
                error: None,
                executed: true,
                usage,
            },
            Err(error) => ModelResult {
                executed: true,
                usage,
                ..not_called(failure(&self.model, error.code(), &error.to_string()))
            },
        }
    }

    async fn gather(
        &self,
        request: ModelRequest,
        gathered: &mut Gathered,
    ) -> Result<(), ModelError> {
        let mut stream = self.client.start(request).await?;
        while let Some(delta) = stream.next().await {
            gathered.take(delta?)?;
        }
        Ok(())
    }

    fn count(&self, usage: Usage) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.tokens_in = used.tokens_in.saturating_add(usage.tokens_in);
        used.tokens_out = used.tokens_out.saturating_add(usage.tokens_out);
        used.cost_micros = used.cost_micros.saturating_add(usage.cost_micros);
    }

    fn told(&self, settled: Settled) -> ModelAnswer {
        self.actor.note(settled.aborted.as_ref());
        let (reply, usage) = match settled.performed {
            Performed::Model(result) => (self.reply_of(&result), result.usage),
            Performed::Tool(result) => {
                let failed = failure(&self.model, Code::HookError, "settled as a tool call");
                (Err(result.error.unwrap_or(failed)), result.usage)
            }
        };
        ModelAnswer { reply, usage, aborted: self.actor.ended() }
    }

    fn reply_of(&self, result: &ModelResult) -> Result<Reply, Failure> {
        if !result.ok {
            let unknown = || failure(&self.model, Code::HookError, "refused without a reason");
            return Err(result.error.clone().unwrap_or_else(unknown));
        }
        let reply = Reply::from_json(&result.reply).map_err(|error| {
            let message = format!("what the hooks left is no reply: {error}");
            failure(&self.model, Code::HookError, &message)
        })?;
        if reply.calls.len() > REPLY_CALLS_MAX {
            let message = format!("a reply may ask for at most {REPLY_CALLS_MAX} tool calls");
            return Err(failure(&self.model, Code::HookError, &message));
        }
        Ok(reply)
    }

    fn dropped(&self) -> ModelAnswer {
        let message = "the session was ended while the model was called";
        ModelAnswer {
            reply: Err(failure(&self.model, Code::SessionAborted, message)),
            usage: Usage::default(),
            aborted: self.actor.ended(),
        }
    }
}

fn not_called(failure: Failure) -> ModelResult {
    ModelResult { error: Some(failure), ..ModelResult::default() }
}

/// An answer, as far as it has come.
#[derive(Default)]
struct Gathered {
    text: String,
    calls: BTreeMap<usize, GatheredCall>,
    bytes: usize,
    usage: Usage,
}

#[derive(Default)]
struct GatheredCall {
    id: String,
    tool: String,
    arguments: String,
}

impl Gathered {
    fn take(&mut self, delta: Delta) -> Result<(), ModelError> {
        match delta {
            Delta::Text(text) => {
                self.grow(text.len())?;
                self.text.push_str(&text);
            }
            Delta::Call { index, id, tool, arguments } => {
                let (id, tool) = (id.unwrap_or_default(), tool.unwrap_or_default());
                self.grow(id.len() + tool.len() + arguments.len())?;
                let call = self.calls.entry(index).or_default();
                call.id.push_str(&id);
                call.tool.push_str(&tool);
                call.arguments.push_str(&arguments);
                if self.calls.len() > REPLY_CALLS_MAX {
                    let cause = format!("it asks for more than {REPLY_CALLS_MAX} tool calls");
                    return Err(ModelError::Malformed(cause));
                }
            }
            Delta::Usage(usage) => self.usage = usage,
        }
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > REPLY_BYTES_MAX {
            let cause = format!("it is larger than {REPLY_BYTES_MAX} bytes");
            return Err(ModelError::Malformed(cause));
        }
        Ok(())
    }

    fn finish(self) -> Result<Reply, ModelError> {
        let calls = self.calls.into_values().map(GatheredCall::finish).collect::<Result<_, _>>()?;
        Ok(Reply { text: self.text, calls })
    }
}

impl GatheredCall {
    /// Arguments that are no JSON stay what they are, a text: the tool's check then refuses them,
    /// and the model is told.
    fn finish(self) -> Result<RequestedCall, ModelError> {
        for (what, name) in [("id", &self.id), ("tool", &self.tool)] {
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                let cause = format!("a tool call's {what} must have 1 to {NAME_BYTES_MAX} bytes");
                return Err(ModelError::Malformed(cause));
            }
        }
        let arguments = if self.arguments.trim().is_empty() {
            Json::Object(Default::default())
        } else {
            Json::read(self.arguments.as_bytes())
                .unwrap_or_else(|_| cut(&self.arguments, ERROR_BYTES_MAX).into_owned().into())
        };
        let (id, tool) = (self.id.into(), self.tool.into());
        Ok(RequestedCall { id, tool, arguments: Arc::new(arguments) })
    }
}
