//! Clients over HTTP before a server behind a URL.
//!
//! What the client sends goes to the server with its headers, what the server answers comes back with
//! its own: status, session, events with their ids. The relay keeps no stream and no session for the
//! server; it remembers what was asked in a session, so that an answer finds its request on whatever
//! stream it comes.
//!
//! | what happens | what the relay does |
//! |---|---|
//! | the server cannot be reached | 502 and an error; the call is recorded as failed |
//! | it breaks off before it answered | the error is the stream's last event, unless the stream can be taken up again |
//! | it answers with an error page | its status, and the text as an error, through the hooks of results |
//! | it does not know the session (404) | 404 and an error; the session is forgotten |
//! | it redirects | 502: a redirect is not followed |
//! | the client is gone | the request to the server is closed, as the client closed its own |

use super::back::{Back, Way, of_json};
use super::body::Body;
use super::hearing::{Hearing, Json, Kind, StreamEnd, hear_own, kind};
use super::listen::{Asked, id_of, refused};
use super::rules::{self, LAST_EVENT, VERSION};
use super::upstream::{Unanswered, Upstream, of_own, of_session, session_of, to_client, to_server};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id, Shape};
use crate::mcp::limits::{CLOSE_MS, SESSION_BYTES_MAX, SESSIONS_MAX};
use crate::mcp::pipe::{Message, within};
use crate::mcp::relay::{Conversation, Fate, Outlet, Relay};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Method, Response, StatusCode};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;
use tokio::sync::mpsc;
use tollgate::gate::{Name, Session};

/// Clients before a server behind a URL.
#[derive(Clone)]
pub(super) struct Urls(Arc<Shared>);

struct Shared {
    relay: Arc<Relay>,
    upstream: Upstream,
    session: Session,
    sessions: Mutex<Sessions>,
    next: AtomicU64,
}

#[derive(Default)]
struct Sessions {
    by_id: HashMap<Vec<u8>, Known>,
    /// Requests without a session that may still be answered to.
    without: Vec<Weak<Talk>>,
}

struct Known {
    talk: Arc<Talk>,
    used: Instant,
}

/// One conversation, and the way to its server.
struct Talk {
    conversation: Arc<Conversation>,
    server: Arc<ToServer>,
}

/// The way to the server for what the relay itself has to say in a session.
struct ToServer {
    shared: Weak<Shared>,
    conversation: OnceLock<Weak<Conversation>>,
    session: OnceLock<HeaderValue>,
    version: OnceLock<HeaderValue>,
}

impl Outlet for ToServer {
    fn send(&self, text: String) -> bool {
        let (Some(shared), Some(talk)) =
            (self.shared.upgrade(), self.conversation.get().and_then(Weak::upgrade))
        else {
            return false;
        };
        let mut headers = of_session(of_own(), self.session.get(), self.version.get());
        if let Ok(frame) = Frame::read(text.as_str()) {
            headers.extend(rules::made(&frame, shared.relay.definitions()));
        }
        tokio::spawn(async move {
            let sent = shared.upstream.send(Method::POST, headers, Bytes::from(text)).await;
            if let Ok(answer) = sent {
                hear_own(talk, answer).await;
            }
        });
        true
    }
}

impl Urls {
    pub(super) fn new(relay: Arc<Relay>, upstream: Upstream, session: Session) -> Urls {
        let (sessions, next) = (Mutex::default(), AtomicU64::new(1));
        Urls(Arc::new(Shared { relay, upstream, session, sessions, next }))
    }

    /// A message of a client.
    pub(super) fn post(&self, asked: Asked, back: Back) {
        let Asked { headers, frame } = asked;
        let talk = self.talk(&headers, &frame);
        let exchange = Exchange { urls: self.clone(), talk, headers: to_server(&headers), back };
        tokio::spawn(exchange.run(frame));
    }

    /// A client opens the stream of a session.
    pub(super) fn open(&self, headers: HeaderMap, back: Back) {
        let talk = self.of_session(&headers);
        let exchange = Exchange { urls: self.clone(), talk, headers: to_server(&headers), back };
        tokio::spawn(exchange.listen());
    }

    /// A client ends its session.
    pub(super) async fn delete(&self, headers: HeaderMap) -> Response<Body> {
        let session = session_of(&headers).cloned();
        let sent = self.0.upstream.send(Method::DELETE, to_server(&headers), Bytes::new()).await;
        let answer = match sent {
            Ok(answer) => answer,
            Err(cause) => {
                let status = StatusCode::BAD_GATEWAY;
                return refused(status, None, answer::INTERNAL, &cause.to_string());
            }
        };
        if let Some(session) = session.filter(|_| is_over(answer.status())) {
            self.forget(session.as_bytes());
        }
        let mut ended = Response::new(Body::empty());
        *ended.status_mut() = answer.status();
        ended
    }

    /// Ends all sessions.
    pub(super) async fn end(&self) {
        let all: Vec<Known> =
            lock(&self.0.sessions).by_id.drain().map(|(_, known)| known).collect();
        for known in all {
            known.talk.end();
        }
    }

    /// The conversation that a message belongs to.
    fn talk(&self, headers: &HeaderMap, frame: &Frame) -> Arc<Talk> {
        let opens = frame.get("method").and_then(|method| method.as_str()) == Some("initialize");
        if opens && session_of(headers).is_none() {
            let number = self.0.next.fetch_add(1, Ordering::Relaxed);
            let id = format!("{}-{number}", self.0.session.id);
            return self.converse(Session { id: Name::from(id), ..self.0.session.clone() });
        }
        if frame.is_modern() {
            return self.converse(self.0.session.clone());
        }
        if let (Shape::Answer { id: Some(id), .. }, None) = (frame.shape(), session_of(headers))
            && let Some(talk) = self.waiting_for(id)
        {
            return talk;
        }
        self.of_session(headers)
    }

    /// The conversation of the session that a client names. One that is not known (the relay was
    /// started anew) is the server's to refuse.
    fn of_session(&self, headers: &HeaderMap) -> Arc<Talk> {
        let named = session_of(headers).filter(|id| id.len() <= SESSION_BYTES_MAX);
        let Some(id) = named else {
            let talk = self.converse(self.0.session.clone());
            let mut sessions = lock(&self.0.sessions);
            sessions.without.retain(|one| one.strong_count() > 0);
            sessions.without.push(Arc::downgrade(&talk));
            return talk;
        };
        if let Some(known) = lock(&self.0.sessions).by_id.get_mut(id.as_bytes()) {
            known.used = Instant::now();
            return Arc::clone(&known.talk);
        }
        let talk = self.converse(self.0.session.clone());
        self.remember(id, &talk);
        talk
    }

    /// The one request without a session that this answers, if it is one.
    fn waiting_for(&self, id: &Id) -> Option<Arc<Talk>> {
        let sessions = lock(&self.0.sessions);
        let mut waiting = sessions.without.iter().filter_map(Weak::upgrade);
        let first = waiting.find(|talk| talk.conversation.awaits(id))?;
        // Two that wait for the same: nobody knows whose it is.
        (!waiting.any(|talk| talk.conversation.awaits(id))).then_some(first)
    }

    fn converse(&self, session: Session) -> Arc<Talk> {
        let server = Arc::new(ToServer {
            shared: Arc::downgrade(&self.0),
            conversation: OnceLock::new(),
            session: OnceLock::new(),
            version: OnceLock::new(),
        });
        let way: Arc<dyn Outlet> = Arc::<ToServer>::clone(&server);
        let conversation = self.0.relay.converse(session, way);
        let _ = server.conversation.set(Arc::downgrade(&conversation));
        Arc::new(Talk { conversation, server })
    }

    fn remember(&self, id: &HeaderValue, talk: &Arc<Talk>) {
        let _ = talk.server.session.set(id.clone());
        talk.conversation.may_hear_again();
        let mut sessions = lock(&self.0.sessions);
        if sessions.by_id.len() >= SESSIONS_MAX {
            let oldest = sessions.by_id.iter().min_by_key(|(_, known)| known.used);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                sessions.by_id.remove(&oldest);
            }
        }
        let known = Known { talk: Arc::clone(talk), used: Instant::now() };
        sessions.by_id.insert(id.as_bytes().to_vec(), known);
    }

    fn forget(&self, id: &[u8]) {
        if let Some(known) = lock(&self.0.sessions).by_id.remove(id) {
            known.talk.end();
        }
    }
}

impl Talk {
    fn end(&self) {
        self.conversation.client_is_gone();
        let _ = self.conversation.server_is_gone("the session has ended");
    }
}

/// One HTTP request and its answer.
struct Exchange {
    urls: Urls,
    talk: Arc<Talk>,
    /// What goes to the server.
    headers: HeaderMap,
    back: Back,
}

impl Exchange {
    async fn run(mut self, frame: Frame) {
        if let Some(version) = self.headers.get(&VERSION) {
            let _ = self.talk.server.version.set(version.clone());
        }
        let id = id_of(&frame).cloned();
        let text = frame.text().to_owned();
        let (way, mut texts) = Way::new();
        let Some(fate) = self.ask(frame, &id, Arc::new(way), &mut texts).await else { return };
        match fate {
            Fate::Answer(text) => self.back.message(StatusCode::OK, text).await,
            Fate::Drop if id.is_some() => {
                // Cancelled: nobody waits for an answer.
                self.back.whole(StatusCode::ACCEPTED, HeaderMap::new(), String::new()).await;
            }
            Fate::Drop => {
                self.back.whole(StatusCode::ACCEPTED, HeaderMap::new(), String::new()).await
            }
            Fate::Pass(passed) => {
                if passed != text && !self.renew(&passed) {
                    let why = "a hook changed this request in a way that its headers cannot repeat";
                    self.fail(id.as_ref(), StatusCode::BAD_REQUEST, why).await;
                    return;
                }
                self.pass(id.as_ref(), passed).await;
            }
        }
    }

    /// Shows the message to the gate, and tells the client what is to be told meanwhile. `None`: it is
    /// gone.
    async fn ask(
        &mut self,
        frame: Frame,
        id: &Option<Id>,
        way: Arc<dyn Outlet>,
        texts: &mut mpsc::Receiver<Message>,
    ) -> Option<Fate> {
        let conversation = Arc::clone(&self.talk.conversation);
        let mut asking = std::pin::pin!(conversation.from_client(frame, &way));
        loop {
            tokio::select! {
                biased;
                fate = &mut asking => {
                    while let Ok(message) = texts.try_recv() {
                        self.back.event(&message.text).await;
                    }
                    return Some(fate);
                }
                Some(message) = texts.recv() => {
                    self.back.event(&message.text).await;
                }
                () = super::back::silence() => {
                    self.back.alive().await;
                }
                () = self.back.gone() => break,
            }
        }
        if let Some(id) = id {
            let _ = self.talk.conversation.give_up(id, "the client is gone");
            // What was asked of people is taken back.
            let _ = within(CLOSE_MS, asking).await;
        }
        None
    }

    /// The headers of a message that a hook changed. Whether they could be made.
    fn renew(&mut self, text: &str) -> bool {
        let Ok(frame) = Frame::read(text) else { return false };
        if frame.get("method").is_none() {
            return true;
        }
        let headers = std::mem::take(&mut self.headers);
        let renewed = rules::renewed(headers, &frame, self.urls.0.relay.definitions());
        let is_made = renewed.is_some();
        self.headers = renewed.unwrap_or_default();
        is_made
    }

    /// Sends the message on, and its answer back.
    async fn pass(&mut self, id: Option<&Id>, text: String) {
        let headers = std::mem::take(&mut self.headers);
        let session = session_of(&headers).cloned();
        let upstream = self.urls.0.upstream.clone();
        let sent = tokio::select! {
            biased;
            sent = upstream.send(Method::POST, headers, Bytes::from(text)) => sent,
            () = self.back.gone() => {
                self.abandon(id);
                return;
            }
        };
        let answer = match sent {
            Ok(answer) => answer,
            Err(cause) => return self.unanswered(id, &cause).await,
        };
        if let Some(named) = session_of(answer.headers()).filter(|_| session.is_none()) {
            self.urls.remember(named, &self.talk);
        }
        let (status, is_session) = (answer.status(), session.is_some());
        self.give(id, answer, is_session).await;
        if let Some(session) = session.filter(|_| status == StatusCode::NOT_FOUND) {
            self.urls.forget(session.as_bytes());
        }
    }

    /// Gives the client what the server answered.
    async fn give(&mut self, id: Option<&Id>, answer: Response<Incoming>, is_session: bool) {
        let (status, headers) = (answer.status(), to_client(answer.headers()));
        let hearing = self.hearing(false);
        match kind(&answer) {
            Kind::Events if status.is_success() => {
                self.back.begin(headers);
                let gone = self.back.stream_gone();
                let end = tokio::select! {
                    end = hearing.stream(answer.into_body(), &mut self.back) => end,
                    () = gone => StreamEnd { is_unheard: true, ..StreamEnd::default() },
                };
                if end.is_unheard || (is_session && end.last_id.is_some()) {
                    // What comes of it is heard when the stream is taken up again, or never.
                    if !is_session {
                        self.abandon(id);
                    }
                    return;
                }
                let why = "the server's stream ended before it answered";
                let error = id.and_then(|id| self.talk.conversation.give_up(id, why));
                if let Some(error) = error {
                    self.back.event(&error).await;
                }
            }
            Kind::Json => match hearing.json(status, answer.into_body()).await {
                Ok(Json::Message(text)) => {
                    self.settle_leftover(id);
                    self.back.whole(status, headers, text).await;
                }
                Ok(Json::Page(text)) => self.page(id, status, headers, text).await,
                Ok(Json::Nothing) => self.nothing(id, status).await,
                Err(cause) => self.unanswered(id, &cause).await,
            },
            Kind::Events | Kind::Other => {
                let text = hearing.text(answer.into_body()).await;
                match text {
                    None if status.is_success() => self.nothing(id, status).await,
                    text => self.page(id, status, headers, text).await,
                }
            }
        }
    }

    /// An answer that names no request, or another one's, leaves this one without.
    fn settle_leftover(&self, id: Option<&Id>) {
        if let Some(id) = id {
            let _ = self.talk.conversation.give_up(id, "answered otherwise");
        }
    }

    /// The server says nothing: right for what asks nothing, and no answer to a request.
    async fn nothing(&mut self, id: Option<&Id>, status: StatusCode) {
        match id {
            None => self.back.whole(status, HeaderMap::new(), String::new()).await,
            Some(id) => {
                let why = "the server's answer says nothing";
                self.fail(Some(id), StatusCode::BAD_GATEWAY, why).await;
            }
        }
    }

    /// The server answered with what is no message.
    async fn page(
        &mut self,
        id: Option<&Id>,
        status: StatusCode,
        mut headers: HeaderMap,
        text: Option<String>,
    ) {
        let what = format!("the server answered with HTTP {}", status.as_u16());
        let told = text.map_or_else(|| what.clone(), |text| format!("{what}: {text}"));
        let error = answer::error(id, i64::from(status.as_u16()), &told, None);
        let shown = if status.is_success() { StatusCode::BAD_GATEWAY } else { status };
        match self.hearing(false).message(error.into_bytes()).await {
            Some(text) => {
                headers.extend(of_json());
                self.back.whole(shown, headers, text).await;
            }
            None => self.fail(id, shown, &what).await,
        }
    }

    /// The server did not answer.
    async fn unanswered(&mut self, id: Option<&Id>, cause: &Unanswered) {
        let is_known = matches!(cause, Unanswered::Unreachable | Unanswered::Elsewhere);
        if let (Some(id), true) = (id, is_known) {
            // It did not run, and that is what is settled.
            let error = answer::error(Some(id), answer::INTERNAL, &cause.to_string(), None);
            if let Some(text) = self.hearing(false).message(error.into_bytes()).await {
                self.back.message(StatusCode::BAD_GATEWAY, text).await;
                return;
            }
        }
        self.fail(id, StatusCode::BAD_GATEWAY, &cause.to_string()).await;
    }

    /// An error of the relay's own; what the call did is not known.
    async fn fail(&mut self, id: Option<&Id>, status: StatusCode, why: &str) {
        let open = id.and_then(|id| self.talk.conversation.give_up(id, why));
        let text = open.unwrap_or_else(|| answer::error(id, answer::INTERNAL, why, None));
        self.back.message(status, text).await;
    }

    fn abandon(&self, id: Option<&Id>) {
        if let Some(id) = id {
            let _ = self.talk.conversation.give_up(id, "the client is gone");
        }
    }

    /// The stream of a session.
    async fn listen(mut self) {
        let headers = std::mem::take(&mut self.headers);
        let session = session_of(&headers).cloned();
        let is_again = headers.contains_key(&LAST_EVENT);
        let upstream = self.urls.0.upstream.clone();
        let sent = tokio::select! {
            sent = upstream.send(Method::GET, headers, Bytes::new()) => sent,
            () = self.back.gone() => return,
        };
        let answer = match sent {
            Ok(answer) => answer,
            Err(cause) => return self.unanswered(None, &cause).await,
        };
        let status = answer.status();
        if let (Kind::Events, true) = (kind(&answer), status.is_success()) {
            self.back.begin(to_client(answer.headers()));
            let (hearing, gone) = (self.hearing(is_again), self.back.stream_gone());
            tokio::select! {
                _ = hearing.stream(answer.into_body(), &mut self.back) => {}
                () = gone => {}
            }
            return;
        }
        if let Some(session) = session.filter(|_| status == StatusCode::NOT_FOUND) {
            self.urls.forget(session.as_bytes());
        }
        self.give(None, answer, false).await;
    }

    fn hearing(&self, is_again: bool) -> Hearing {
        let back: Arc<dyn Outlet> = Arc::<ToServer>::clone(&self.talk.server);
        Hearing { talk: Arc::clone(&self.talk.conversation), back, is_again }
    }
}

fn is_over(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::NOT_FOUND
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
