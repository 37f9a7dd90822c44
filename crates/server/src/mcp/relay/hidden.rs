//! Tools that a policy hides, and tools that a server does not list where only listed ones are called.
//!
//! A call of one must be answered exactly as the server answers for a tool that it does not have, by
//! whatever way it answers: a failed result or an error, at once or on a stream, with its status and
//! headers. So the request goes on, under a name that no tool has and without its arguments, and the
//! answer comes back the way that every answer comes, with the name that was asked for. The relay makes
//! up nothing that could be told from the server's own.

use super::{Conversation, Fate, What, lock};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id};
use std::sync::Arc;
use tollgate::gate::{Json, Name, Object, ToolCall};

/// A call under a name that no tool has.
#[derive(Clone)]
pub(super) struct Hidden {
    /// What was called.
    call: Arc<ToolCall>,
    /// As what it went on.
    nobody: Arc<str>,
}

impl Conversation {
    /// Passes a call on as one of a tool that does not exist.
    pub(super) fn pass_as_nobody(&self, frame: &Frame, id: &Id, call: &Arc<ToolCall>) -> Fate {
        let mut asked = lock(&self.asked);
        let Some(request) = asked.get_mut(id).filter(|request| !request.is_cancelled) else {
            asked.remove(id);
            return Fate::Drop;
        };
        let nobody = nobody(&call.tool);
        let mut params = frame.params().and_then(Json::as_object).cloned().unwrap_or_default();
        params.insert("name", &*nobody);
        params.insert("arguments", Object::new());
        for answers in ["inputResponses", "requestState"] {
            params.remove(answers);
        }
        request.what = What::Hidden(Hidden { call: Arc::clone(call), nobody });
        Fate::Pass(frame.with("params", params.into()))
    }

    /// What the server answers for a tool that it does not have, about the tool that was called.
    pub(super) async fn nobody_answered(
        self: &Arc<Self>,
        frame: Frame,
        id: &Id,
        hidden: &Hidden,
    ) -> Fate {
        let Hidden { call, nobody } = hidden;
        let text = frame.into_text().replace(&**nobody, &escaped(&call.tool));
        match Frame::read(text) {
            Ok(frame) if frame.get("error").is_some() => {
                self.review_error(frame, Some(Name::clone(&call.tool))).await
            }
            Ok(frame) => self.review_result(frame, call).await,
            Err(_) => Fate::Pass(answer::unknown_tool(id, &call.tool)),
        }
    }
}

/// A name as long as this one that no tool has: made of what nobody would call a tool.
fn nobody(tool: &str) -> Arc<str> {
    let id = tollgate::gate::EventId::made(tollgate::gate::Timestamp::from_millis(0)).to_string();
    let letters: String = id.chars().rev().filter(char::is_ascii_alphanumeric).collect();
    let length = tool.chars().count().max(12);
    letters.chars().cycle().take(length).collect::<String>().into()
}

/// A text as it stands inside of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Json::from(text).text();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}
