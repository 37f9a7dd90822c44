//! Texts that reach the model or a person beside the results of calls: log lines, progress,
//! instructions, descriptions, what a task has come to.

use super::{Conversation, Fate, What, lock};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id, Shape};
use std::sync::Arc;
use tollgate::gate::payload::ToolOutcome;
use tollgate::gate::{Code, Decision, Json, Name, Object, ToolCall, ToolResult};

impl Conversation {
    /// A notification of the server.
    pub(super) async fn server_notified(self: &Arc<Self>, frame: Frame, method: Name) -> Fate {
        if &*method == "notifications/cancelled"
            && let Some(id) = frame.param("requestId").and_then(Id::of)
            && !self.served_is_cancelled(&id)
        {
            return Fate::Drop;
        }
        let Some(params) = frame.params().filter(|params| says_anything(&method, params)) else {
            return Fate::Pass(frame.into_text());
        };
        let call = self.call_behind(&method, params);
        match self.reviewed(&call, params).await {
            Ok(None) => Fate::Pass(frame.into_text()),
            Ok(Some(changed)) => Fate::Pass(frame.with("params", changed)),
            // Nobody waits for it.
            Err(_) => Fate::Drop,
        }
    }

    /// The call that a notification belongs to; where it belongs to none, its method stands for one.
    fn call_behind(&self, method: &str, params: &Json) -> Arc<ToolCall> {
        if let Some(token) = params.get("progressToken").and_then(Id::of) {
            let asked = lock(&self.asked);
            let of_token = asked.values().find(|request| request.progress.as_ref() == Some(&token));
            if let Some(What::Call { call, .. }) = of_token.map(|request| &request.what) {
                return Arc::clone(call);
            }
        }
        let task = params.get("taskId").or_else(|| params.get("task")?.get("taskId"));
        if let Some(task) = task.and_then(Json::as_str)
            && let Some(call) = lock(&self.tasks).get(task)
        {
            return Arc::clone(call);
        }
        self.method_named(method)
    }

    /// The result of a request that is no call.
    pub(super) async fn review_result(
        self: &Arc<Self>,
        frame: Frame,
        call: &Arc<ToolCall>,
    ) -> Fate {
        let Some(result) = frame.get("result") else { return Fate::Pass(frame.into_text()) };
        match self.reviewed(call, result).await {
            Ok(None) => Fate::Pass(frame.into_text()),
            Ok(Some(changed)) => Fate::Pass(frame.with("result", changed)),
            Err(refused) => self.refused_review(&frame, &refused),
        }
    }

    /// An error that answers a request that is no call.
    pub(super) async fn review_error(self: &Arc<Self>, frame: Frame, method: Option<Name>) -> Fate {
        let Some(error) = frame.get("error").and_then(Json::as_object).cloned() else {
            return Fate::Pass(frame.into_text());
        };
        // The code is the protocol's and no text.
        let mut texts = error.clone();
        texts.remove("code");
        let call = self.method_named(method.as_deref().unwrap_or("error"));
        match self.reviewed(&call, &texts.into()).await {
            Ok(None) => Fate::Pass(frame.into_text()),
            Ok(Some(changed)) => {
                let mut error = error;
                for (key, value) in changed.as_object().into_iter().flat_map(Object::iter) {
                    error.insert(key, value.clone());
                }
                Fate::Pass(frame.with("error", error.into()))
            }
            Err(refused) => self.refused_review(&frame, &refused),
        }
    }

    /// Puts a text through the hooks of results: what they changed it to, `None` where they did not.
    pub(super) async fn reviewed(
        &self,
        call: &Arc<ToolCall>,
        content: &Json,
    ) -> Result<Option<Json>, Box<Decision>> {
        let result = ToolResult::success(content.clone());
        let outcome = ToolOutcome { call: Arc::clone(call), result };
        let decision = self.relay.gate.review(self.event(outcome)).await;
        if !decision.goes_through() {
            return Err(Box::new(decision));
        }
        let after = decision.payload.part();
        Ok(after.map(|after| (*after).clone()).filter(|after| after != content))
    }

    /// The answer in place of one that a hook withheld.
    pub(super) fn refused_review(&self, frame: &Frame, refused: &Decision) -> Fate {
        let Shape::Answer { id, .. } = frame.shape() else { return Fate::Drop };
        let code = refused.code.clone().unwrap_or(Code::Withheld);
        let message = refused.payload.tool_result().and_then(|result| result.error.as_ref());
        let message = message.map_or("withheld", |failure| &*failure.message);
        let told = answer::told(Some(refused), &code);
        Fate::Pass(answer::error(id.as_ref(), answer::error_code(&code), message, Some(told)))
    }
}

/// Whether a notification carries any text of its own.
fn says_anything(method: &str, params: &Json) -> bool {
    match method {
        "notifications/cancelled" => params.get("reason").is_some(),
        "notifications/progress" => params.as_object().is_some_and(|all| {
            all.iter().any(|(key, _)| !matches!(key, "progressToken" | "progress" | "total"))
        }),
        _ => params.as_object().is_some_and(|all| !all.is_empty()),
    }
}
