//! What a server behind a URL says, message by message.
//!
//! Both hops that end at a URL hear it here: each message is read, shown to the relay, and given to
//! where it belongs; what the relay answers in the client's place goes back.

use super::sse::{Event, Events, Piece};
use super::upstream::{Unanswered, whole};
use crate::mcp::frame::Frame;
use crate::mcp::lines::id_of_unreadable;
use crate::mcp::relay::{Conversation, Fate, Outlet};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header;
use hyper::{Response, StatusCode};
use std::future::Future;
use std::sync::Arc;

/// Who hears it.
pub(super) trait Ear: Send {
    /// What says nothing and keeps a stream open. Whether anybody still hears.
    fn quiet(&mut self, bytes: Vec<u8>) -> impl Future<Output = bool> + Send;
    /// A message that goes on; `event` is the event that it came in. Whether anybody still hears.
    fn hear(&mut self, text: String, event: Option<Event>) -> impl Future<Output = bool> + Send;
}

/// How a stream ended.
#[derive(Debug, Default)]
pub(super) struct StreamEnd {
    /// The last event's id: there the stream can be taken up again.
    pub(super) last_id: Option<String>,
    pub(super) retry_ms: Option<u64>,
    /// Whether it said anything.
    pub(super) said: bool,
    /// Whether nobody hears it any more.
    pub(super) is_unheard: bool,
}

/// A conversation, and the way back to its server.
#[derive(Clone)]
pub(super) struct Hearing {
    pub(super) talk: Arc<Conversation>,
    pub(super) back: Arc<dyn Outlet>,
    /// Whether this stream was taken up again, and says what it may have said before.
    pub(super) is_again: bool,
}

/// What an answer of a server is, by its head.
pub(super) enum Kind {
    Events,
    Json,
    Other,
}

pub(super) fn kind(answer: &Response<Incoming>) -> Kind {
    let value = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("text/event-stream") {
        Kind::Events
    } else if essence.eq_ignore_ascii_case("application/json") {
        Kind::Json
    } else {
        Kind::Other
    }
}

impl Hearing {
    /// A stream of events, as they come.
    pub(super) async fn stream(&self, mut body: Incoming, ear: &mut impl Ear) -> StreamEnd {
        let mut events = Events::default();
        let mut end = StreamEnd::default();
        'stream: while let Some(Ok(frame)) = body.frame().await {
            let Some(bytes) = frame.data_ref() else { continue };
            let Ok(pieces) = events.take(bytes) else {
                self.talk
                    .relay()
                    .tell("the server sent an event that is too long; its stream is closed");
                break;
            };
            for piece in pieces {
                end.said |= matches!(piece, Piece::Event(_));
                if !self.piece(piece, ear).await {
                    end.is_unheard = true;
                    break 'stream;
                }
            }
        }
        (end.last_id, end.retry_ms) = (events.last_id, events.retry_ms);
        end
    }

    async fn piece(&self, piece: Piece, ear: &mut impl Ear) -> bool {
        match piece {
            Piece::Quiet(raw) => ear.quiet(raw).await,
            Piece::Event(event) => match self.message(event.data.clone()).await {
                Some(text) => ear.hear(text, Some(event)).await,
                None => true,
            },
        }
    }

    /// What is in an answer that is no stream. With a status that is an error, a text that is no message
    /// says why, as a page does.
    pub(super) async fn json(
        &self,
        status: StatusCode,
        body: Incoming,
    ) -> Result<Json, Unanswered> {
        let text = whole(body).await?;
        if !status.is_success() && Frame::read(text.clone()).is_err() {
            return Ok(Json::Page(shortened(&text)));
        }
        let message = if text.is_empty() { None } else { self.message(text.into()).await };
        Ok(message.map_or(Json::Nothing, Json::Message))
    }

    /// One message: what goes on of it.
    pub(super) async fn message(&self, text: Vec<u8>) -> Option<String> {
        let frame = match Frame::read_or_keep(text) {
            Ok(frame) => frame,
            Err((refused, text)) => {
                let id = refused.id.clone().or_else(|| id_of_unreadable(&text));
                return self.talk.unreadable_from_server(&refused, id);
            }
        };
        self.frame(frame).await
    }

    async fn frame(&self, frame: Frame) -> Option<String> {
        let talk = Arc::clone(&self.talk);
        let fate = if self.is_again {
            talk.from_server_again(frame).await
        } else {
            talk.from_server(frame).await
        };
        match fate {
            Fate::Pass(text) => Some(text),
            Fate::Answer(text) => {
                self.back.send(text);
                None
            }
            Fate::Drop => None,
        }
    }

    /// What a server says that is no message (an error page): it passes the hooks of results as a
    /// text, and is told as the error of the request that it answers.
    pub(super) async fn text(&self, body: Incoming) -> Option<String> {
        shortened(&whole(body).await.unwrap_or_default())
    }
}

/// What is in an answer that is no stream.
pub(super) enum Json {
    /// A message that goes on.
    Message(String),
    /// What is no message and says why there is none, if it says anything.
    Page(Option<String>),
    /// Nothing that goes on.
    Nothing,
}

/// The text of a page, as far as it is told.
fn shortened(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok().map(str::trim)?;
    let text: String = text.chars().take(TEXT_CHARS_MAX).collect();
    (!text.is_empty()).then_some(text)
}

/// How much of an error page is told, in characters.
const TEXT_CHARS_MAX: usize = 2_000;

/// Hears the answer to what the relay itself asked. Nothing of it goes on.
pub(super) async fn hear_own(talk: Arc<Conversation>, answer: Response<Incoming>) {
    let hearing = Hearing { talk, back: Arc::new(Nowhere), is_again: false };
    match kind(&answer) {
        Kind::Json => _ = hearing.json(answer.status(), answer.into_body()).await,
        Kind::Events => _ = hearing.stream(answer.into_body(), &mut Nobody).await,
        Kind::Other => {}
    }
}

/// Where nothing goes.
struct Nowhere;

impl Outlet for Nowhere {
    fn send(&self, _: String) -> bool {
        false
    }
}

/// Who hears nothing.
struct Nobody;

impl Ear for Nobody {
    async fn quiet(&mut self, _: Vec<u8>) -> bool {
        true
    }

    async fn hear(&mut self, _: String, _: Option<Event>) -> bool {
        true
    }
}
