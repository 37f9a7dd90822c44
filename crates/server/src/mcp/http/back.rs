//! The way back of one HTTP request.
//!
//! Nobody knows beforehand whether an answer is one message or a stream of them. So nothing is said
//! until there is something to say: an answer that comes first is sent whole; anything else begins a
//! stream, and all that follows goes on it.

use super::body::Body;
use super::hearing::Ear;
use super::sse::{self, Event};
use crate::mcp::limits::{ALIVE_MS, CHUNKS_MAX};
use crate::mcp::pipe::{About, Message};
use crate::mcp::relay::Outlet;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use std::future::Future;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// What an own stream of events says from time to time.
const ALIVE: &[u8] = b": alive\n\n";

/// The way back.
pub(super) struct Back {
    head: Option<oneshot::Sender<Response<Body>>>,
    stream: Option<mpsc::Sender<Bytes>>,
    /// What the head of a stream that begins here says besides.
    pub(super) headers: HeaderMap,
}

/// A way to the client of one request, for what is to be said before its answer.
pub(super) struct Way {
    sender: mpsc::WeakSender<Message>,
    /// Held where nobody else does.
    _held: Option<mpsc::Sender<Message>>,
}

impl Outlet for Way {
    fn send(&self, text: String) -> bool {
        let message = Message { text, about: About::Nothing };
        self.sender.upgrade().is_some_and(|sender| sender.try_send(message).is_ok())
    }
}

impl Way {
    pub(super) fn new() -> (Way, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
        (Way { sender: sender.downgrade(), _held: Some(sender) }, receiver)
    }

    /// The way of a queue that another holds.
    pub(super) fn of(sender: mpsc::WeakSender<Message>) -> Way {
        Way { sender, _held: None }
    }
}

impl Back {
    pub(super) fn new() -> (Back, oneshot::Receiver<Response<Body>>) {
        let (head, answer) = oneshot::channel();
        (Back { head: Some(head), stream: None, headers: HeaderMap::new() }, answer)
    }

    /// Answers with this text: whole, or as the last of the stream that began.
    pub(super) async fn whole(&mut self, status: StatusCode, headers: HeaderMap, text: String) {
        if self.stream.is_some() {
            // A stream that has nothing more to say just ends.
            if !text.is_empty() {
                self.event(&text).await;
            }
            return;
        }
        let body = if text.is_empty() { Body::empty() } else { Body::from(text) };
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        answer
            .headers_mut()
            .extend(self.headers.drain().filter_map(|(name, value)| Some((name?, value))));
        if let Some(head) = self.head.take() {
            // A client that is gone is noticed by whoever waits for it.
            let _ = head.send(answer);
        }
    }

    /// Answers with one message.
    pub(super) async fn message(&mut self, status: StatusCode, text: String) {
        self.whole(status, of_json(), text).await;
    }

    /// Begins a stream with the head of another.
    pub(super) fn begin(&mut self, headers: HeaderMap) {
        let Some(head) = self.head.take() else { return };
        let (sender, chunks) = mpsc::channel(CHUNKS_MAX);
        let mut answer = Response::new(Body::Stream(chunks));
        *answer.headers_mut() = headers;
        answer
            .headers_mut()
            .extend(self.headers.drain().filter_map(|(name, value)| Some((name?, value))));
        let _ = head.send(answer);
        self.stream = Some(sender);
    }

    /// Sends a message as an event. Whether anybody still hears.
    pub(super) async fn event(&mut self, text: &str) -> bool {
        self.bytes(sse::event(text)).await
    }

    /// Sends a sign of life, where a stream began.
    pub(super) async fn alive(&mut self) -> bool {
        self.stream.is_none() || self.bytes(ALIVE.to_vec()).await
    }

    async fn bytes(&mut self, bytes: Vec<u8>) -> bool {
        if self.stream.is_none() {
            self.begin(of_stream());
        }
        match &self.stream {
            Some(stream) => stream.send(bytes.into()).await.is_ok(),
            None => false,
        }
    }

    /// Waits until the client of a stream is gone, whoever uses the stream meanwhile.
    pub(super) fn stream_gone(&self) -> impl Future<Output = ()> + Send + 'static {
        let stream = self.stream.clone();
        async move {
            match stream {
                Some(stream) => stream.closed().await,
                None => std::future::pending().await,
            }
        }
    }

    /// Waits until the client is gone.
    pub(super) async fn gone(&mut self) {
        match (&mut self.head, &self.stream) {
            (Some(head), _) => head.closed().await,
            (None, Some(stream)) => stream.closed().await,
            (None, None) => {}
        }
    }
}

impl Ear for Back {
    async fn quiet(&mut self, bytes: Vec<u8>) -> bool {
        self.bytes(bytes).await
    }

    async fn hear(&mut self, text: String, event: Option<Event>) -> bool {
        match event {
            Some(event) if event.data == text.as_bytes() => self.bytes(event.raw()).await,
            Some(event) => self.bytes(event.with(&text)).await,
            None => self.event(&text).await,
        }
    }
}

/// How long nothing is said before there is a sign of life.
pub(super) async fn silence() {
    tokio::time::sleep(Duration::from_millis(ALIVE_MS)).await;
}

pub(super) fn of_json() -> HeaderMap {
    let value = HeaderValue::from_static("application/json");
    HeaderMap::from_iter([(header::CONTENT_TYPE, value)])
}

pub(super) fn of_stream() -> HeaderMap {
    HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ])
}
