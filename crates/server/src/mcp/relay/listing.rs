//! Lists of tools: what is hidden is not in them, what changed is noticed, and what is said of the
//! tools passes the hooks of results like any text that reaches the model.

use super::{Conversation, Fate};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Shape};
use crate::mcp::limits::{LIST_PAGES_MAX, PROBE_MS};
use std::sync::Arc;
use std::time::Duration;
use tollgate::gate::{Json, Mode, Object, ToolCall};

impl Conversation {
    /// A page of the list of tools.
    pub(super) async fn list_tools(self: &Arc<Self>, frame: Frame, is_modern: bool) -> Fate {
        let Some(result) = frame.get("result").and_then(Json::as_object) else {
            return Fate::Pass(frame.into_text());
        };
        let Some(tools) = result.get("tools").and_then(Json::as_array) else {
            let call = self.method_named("tools/list");
            return self.review_result(frame, &call).await;
        };
        match self.relay.definitions.learn(tools) {
            Ok(noticed) => {
                for found in &noticed {
                    let does = if found.is_refused { "it is refused" } else { "it passes" };
                    let name = tollgate::gate::text::shown(&found.tool, 200);
                    let why = found.suspicion.reason();
                    self.relay.tell(&format!("tool `{name}`: {why}; {does}"));
                }
            }
            Err(cause) => {
                self.relay.tell(&format!("the definitions of tools cannot be checked: {cause}"));
                let message = "the definitions of tools cannot be checked";
                return self.failed(&frame, message);
            }
        }
        let mut kept = Vec::with_capacity(tools.len());
        for tool in tools {
            if self.is_shown(tool).await {
                kept.push(tool.clone());
            }
        }
        let is_filtered = kept.len() < tools.len();
        let mut listed = result.clone();
        if is_filtered {
            listed.insert("tools", Json::Array(kept));
        }
        let call = self.method_named("tools/list");
        self.review_list(frame, &call, listed, is_modern).await
    }

    /// Asks the server itself what its tools are, where that must be known and is not. `meta` is what the
    /// client says of itself, in the later revision.
    pub(super) async fn learn_list(self: &Arc<Self>, meta: Object, tool: &str) {
        let mut cursor: Option<Json> = None;
        for _ in 0..LIST_PAGES_MAX {
            let mut params = Object::new();
            if !meta.is_empty() {
                params.insert("_meta", meta.clone());
            }
            if let Some(cursor) = &cursor {
                params.insert("cursor", cursor.clone());
            }
            let asked = self.ask_peer(&*self.server, false, "tools/list", &params.into());
            let Some((id, answer)) = asked else { break };
            let wait = Duration::from_millis(PROBE_MS);
            let Ok(Ok(page)) = tokio::time::timeout(wait, answer).await else {
                self.forget_own(&id);
                break;
            };
            let Some(result) = page.get("result") else { break };
            let tools = result.get("tools").and_then(Json::as_array).unwrap_or_default();
            if let Err(cause) = self.relay.definitions.learn(tools) {
                self.relay.tell(&format!("the definitions of tools cannot be checked: {cause}"));
                break;
            }
            cursor = result.get("nextCursor").filter(|cursor| !cursor.is_null()).cloned();
            if cursor.is_none() || self.relay.definitions.is_known(tool) {
                break;
            }
        }
        if !self.relay.definitions.is_known(tool) {
            self.relay.definitions.note_unlisted(tool);
        }
    }

    /// The list as it may be seen, through the hooks of results.
    async fn review_list(
        self: &Arc<Self>,
        frame: Frame,
        call: &Arc<ToolCall>,
        mut listed: Object,
        is_modern: bool,
    ) -> Fate {
        match self.reviewed(call, &Json::from(listed.clone())).await {
            Err(refused) => self.refused_review(&frame, &refused),
            Ok(None) if frame.get("result").and_then(Json::as_object) == Some(&listed) => {
                Fate::Pass(frame.into_text())
            }
            Ok(changed) => {
                if let Some(Json::Object(object)) = changed {
                    listed = object;
                }
                if is_modern {
                    // It is made for this client and must not be given to another.
                    listed.insert("cacheScope", "private");
                    listed.insert("ttlMs", 0);
                }
                Fate::Pass(frame.with("result", listed.into()))
            }
        }
    }

    /// Whether a tool of a list may be seen.
    async fn is_shown(&self, tool: &Json) -> bool {
        let Some(name) = tool.get("name").and_then(Json::as_str) else { return true };
        // In the other modes nothing is refused, and so nothing is hidden.
        let enforces = self.relay.gate.ruleset().settings().mode == Mode::Enforce;
        if enforces && self.relay.definitions.refusal(name).is_some() {
            return false;
        }
        let call = self.method_named(name);
        !self.relay.gate.hides(&self.event((*call).clone())).await
    }

    /// An error in place of an answer of the server.
    pub(super) fn failed(&self, frame: &Frame, message: &str) -> Fate {
        let id = match frame.shape() {
            Shape::Answer { id, .. } => id.as_ref(),
            Shape::Request { .. } | Shape::Notification { .. } => None,
        };
        Fate::Pass(answer::error(id, answer::INTERNAL, message, None))
    }
}
