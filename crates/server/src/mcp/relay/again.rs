//! What is heard a second time.
//!
//! A stream that breaks is taken up again, and the server then says again what its client may not have
//! heard. Such an answer belongs to a request that is settled already; it counts no second time, but
//! what it says passes the hooks of results like the first time.

use super::hidden::Hidden;
use super::{Asked, Conversation, Fate, What, lock};
use crate::mcp::frame::{Frame, Id, Shape};
use crate::mcp::limits::HEARD_AGAIN_MAX;
use std::collections::VecDeque;
use std::sync::Arc;
use tollgate::gate::ToolCall;

/// The last answers of a conversation.
#[derive(Default)]
pub(super) struct Heard(VecDeque<(Id, Kind)>);

/// As what an answer is looked at.
#[derive(Clone)]
enum Kind {
    Tools { is_modern: bool },
    Result(Arc<ToolCall>),
    Hidden(Hidden),
}

impl Conversation {
    /// From now on answers may come a second time.
    pub(in crate::mcp) fn may_hear_again(&self) {
        lock(&self.heard).get_or_insert_default();
    }

    pub(super) fn note_heard(&self, id: &Id, asked: &Asked) {
        let mut heard = lock(&self.heard);
        let Some(Heard(heard)) = &mut *heard else { return };
        let kind = match &asked.what {
            What::Hidden(hidden) => Kind::Hidden(hidden.clone()),
            What::Tools => Kind::Tools { is_modern: asked.is_modern },
            What::Call { call, .. } | What::Task(call) => Kind::Result(Arc::clone(call)),
            What::Texts | What::Nothing => Kind::Result(self.method_named(&asked.method)),
        };
        if heard.len() >= HEARD_AGAIN_MAX {
            heard.pop_front();
        }
        heard.push_back((id.clone(), kind));
    }

    /// What becomes of a message on a stream that was taken up again.
    pub(in crate::mcp) async fn from_server_again(self: Arc<Self>, frame: Frame) -> Fate {
        match frame.shape().clone() {
            Shape::Answer { id: Some(id), ok } if !self.is_open(&id) => {
                match (self.kind_heard(&id), ok) {
                    (Some(Kind::Tools { is_modern }), true) => {
                        self.list_tools(frame, is_modern).await
                    }
                    (Some(Kind::Result(call)), true) => self.review_result(frame, &call).await,
                    (Some(Kind::Hidden(hidden)), _) => {
                        self.nobody_answered(frame, &id, &hidden).await
                    }
                    (Some(_), false) => self.review_error(frame, None).await,
                    (None, _) => self.from_server(frame).await,
                }
            }
            Shape::Request { id, .. } => {
                // It was asked before, and the client may not have heard it: it is asked anew.
                let _ = lock(&self.served).remove(&id);
                self.from_server(frame).await
            }
            Shape::Answer { .. } | Shape::Notification { .. } => self.from_server(frame).await,
        }
    }

    fn kind_heard(&self, id: &Id) -> Option<Kind> {
        let heard = lock(&self.heard);
        let Heard(heard) = heard.as_ref()?;
        heard.iter().rev().find(|(one, _)| one == id).map(|(_, kind)| kind.clone())
    }
}
