//! How a conversation opens: who the client is, what it can show to a person, what the server says of
//! itself.

use super::{Conversation, Fate, lock};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tollgate::gate::payload::Opening;
use tollgate::gate::{Code, Json, Name, Object};

impl Conversation {
    /// The client's `initialize`: the session starts here.
    pub(super) async fn open(self: &Arc<Self>, frame: Frame, id: Id) -> Fate {
        self.know_client(&frame);
        let mut context = Object::new();
        context.insert("server", &*self.relay.server);
        for key in ["protocolVersion", "clientInfo"] {
            context.insert(key, frame.param(key).cloned());
        }
        let opening = Opening { context: Arc::new(context.into()), ..Opening::default() };
        let decision = self.relay.gate.judge(self.event(opening)).await;
        if decision.goes_through() {
            return Fate::Pass(frame.into_text());
        }
        lock(&self.asked).remove(&id);
        let code = decision.code.clone().unwrap_or(Code::HookDenied);
        let reason = decision.reason.clone().unwrap_or_default();
        let told = answer::told(Some(&decision), &code);
        Fate::Answer(answer::error(Some(&id), answer::error_code(&code), &reason, Some(told)))
    }

    /// Remembers what the client says of itself. Its name is what policies call the agent; it is a
    /// claim, as everything that a client says.
    fn know_client(&self, frame: &Frame) {
        let capabilities = frame.param("capabilities");
        let elicits = capabilities.and_then(|all| all.get("elicitation"));
        let forms = elicits.is_some_and(|how| {
            // Before there were two ways, an empty object meant forms.
            how.get("form").is_some() || how.as_object().is_some_and(Object::is_empty)
        });
        self.elicits.store(forms, Ordering::Release);
        let name = frame.param("clientInfo").and_then(|info| info.get("name")?.as_str());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let mut session = lock(&self.session);
            if session.agent.is_none() {
                let name: String = name.chars().take(200).collect();
                Arc::make_mut(&mut session).agent = Some(Name::from(name));
            }
        }
    }

    /// Whether a person can be asked through this client.
    pub(super) fn can_elicit(&self) -> bool {
        self.elicits.load(Ordering::Acquire)
    }

    /// The text of a value that is an object's member, for people.
    pub(super) fn told_text(value: Option<&Json>) -> String {
        value.map(Json::text).unwrap_or_default()
    }
}
