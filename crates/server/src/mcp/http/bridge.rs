//! A client over standard input and output before a server behind a URL.
//!
//! Each message of the client is a POST; what comes back, at once or as events, is written to the
//! client line by line. Notifications and answers are posted one after the other, so that the server
//! hears them in the order in which they were said; requests run side by side.
//!
//! | what happens | what the relay does |
//! |---|---|
//! | the client's input ends | what is under way has [`CLOSE_MS`] to be answered; then the session is ended (DELETE) |
//! | the server cannot be reached, breaks off, or answers with an error page | the request is answered by an error; the relay goes on |
//! | a stream with ids breaks off (older revision) | it is taken up where it broke, at most [`RESUMES_MAX`] times in a row, ever later |
//! | the session is gone (404) | the request is answered by an error that says so |
//! | a request is cancelled | older revision: the server is told; later one: its POST is closed |

use super::hearing::{Ear, Hearing, Json as Said, Kind, StreamEnd, hear_own, kind};
use super::rules::{self, LAST_EVENT};
use super::sse::Event;
use super::upstream::{Unanswered, Upstream, of_own, of_session, session_of};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id, Shape};
use crate::mcp::limits::{
    CLOSE_MS, NOTIFY_MS, RESUME_MS, RESUMES_MAX, TAKE_BACK_MS, WAITING_MESSAGES_MAX,
};
use crate::mcp::lines::Line;
use crate::mcp::pipe::{Queue, read, within, write_messages};
use crate::mcp::relay::{Conversation, Fate, Outlet, Relay};
use crate::mcp::standard::{LinesOf, Sink, Source};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, InvalidHeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tollgate::gate::{Json, Session};

/// A client that is written to line by line, and the server that it speaks to.
#[derive(Clone)]
struct Bridge(Arc<Parts>);

struct Parts {
    talk: Arc<Conversation>,
    to_client: Queue,
    way: Arc<ToServer>,
    /// The requests that are posted.
    posts: Mutex<HashMap<Id, Post>>,
    listens: AtomicBool,
    over: Notify,
}

struct Post {
    is_modern: bool,
    stop: Arc<Notify>,
}

/// The way to the server.
struct ToServer {
    upstream: Upstream,
    session: OnceLock<HeaderValue>,
    version: OnceLock<HeaderValue>,
    talk: OnceLock<Weak<Conversation>>,
}

impl ToServer {
    fn headers(&self, own: HeaderMap) -> HeaderMap {
        let mut headers = of_session(of_own(), self.session.get(), self.version.get());
        headers.extend(own.into_iter().filter_map(|(name, value)| Some((name?, value))));
        headers
    }

    async fn post(&self, own: HeaderMap, text: String) -> Result<Response<Incoming>, Unanswered> {
        self.upstream.send(Method::POST, self.headers(own), Bytes::from(text)).await
    }
}

/// The relay's own words to the server.
struct Own(Arc<ToServer>);

impl Outlet for Own {
    fn send(&self, text: String) -> bool {
        let way = Arc::clone(&self.0);
        let Some(talk) = way.talk.get().and_then(Weak::upgrade) else { return false };
        let headers = Frame::read(text.as_str())
            .map(|frame| rules::made(&frame, talk.relay().definitions()))
            .unwrap_or_default();
        tokio::spawn(async move {
            if let Ok(answer) = way.post(headers, text).await {
                hear_own(talk, answer).await;
            }
        });
        true
    }
}

/// Relays between a client at `input` and `output` and the server behind a URL, until the client has
/// said all or `told_to_end`.
pub async fn bridge(
    relay: &Arc<Relay>,
    session: Session,
    upstream: Upstream,
    input: Source,
    output: Sink,
    told_to_end: impl Future<Output = ()>,
) {
    let (to_client, queue) = Queue::new();
    let writer = tokio::spawn(write_messages(output, queue));
    let lines = LinesOf::new(input);
    let (session_id, version) = (OnceLock::new(), OnceLock::new());
    let way = Arc::new(ToServer { upstream, session: session_id, version, talk: OnceLock::new() });
    let talk = relay.converse(session, Arc::new(Own(Arc::clone(&way))));
    let _ = way.talk.set(Arc::downgrade(&talk));
    talk.may_hear_again();
    let bridge = Bridge(Arc::new(Parts {
        talk,
        to_client,
        way,
        posts: Mutex::default(),
        listens: AtomicBool::new(false),
        over: Notify::new(),
    }));
    {
        let client = std::pin::pin!(bridge.pump(lines));
        let told = std::pin::pin!(told_to_end);
        tokio::select! {
            () = client => {}
            () = told => {
                let _ = within(TAKE_BACK_MS, relay.take_questions_back()).await;
            }
        }
    }
    bridge.end().await;
    bridge.0.to_client.end().await;
    let _ = writer.await;
}

impl Bridge {
    /// Takes what the client says, until it has said all.
    async fn pump(&self, mut lines: LinesOf) {
        let mut waiting = JoinSet::new();
        let mut held = VecDeque::new();
        while let Some(line) = next(&mut held, &mut lines).await {
            while waiting.try_join_next().is_some() {}
            let frame = match read(line) {
                Ok(frame) => frame,
                Err(refused) => {
                    self.0.to_client.put(answer::malformed(&refused)).await;
                    continue;
                }
            };
            if let Shape::Request { id, method } = frame.shape().clone() {
                let mut work: Work = Box::pin(self.clone().request(frame, id));
                if &*method == "initialize" {
                    // What comes behind it needs the session that it opens.
                    hold_until(work, &mut lines, &mut held).await;
                } else if is_pending(&mut work).await {
                    waiting.spawn(work);
                }
            } else {
                self.say(frame).await;
            }
        }
        let _ = within(CLOSE_MS, async { while waiting.join_next().await.is_some() {} }).await;
    }

    /// The session is over.
    async fn end(&self) {
        self.0.over.notify_waiters();
        let ends = async {
            if self.0.way.session.get().is_some() {
                let headers = self.0.way.headers(HeaderMap::new());
                let _ = self.0.way.upstream.send(Method::DELETE, headers, Bytes::new()).await;
            }
        };
        let _ = within(CLOSE_MS, ends).await;
        self.0.talk.client_is_gone();
        for (_, text) in self.0.talk.server_is_gone("the client has ended") {
            self.0.to_client.put(text).await;
        }
    }

    /// A notification, or an answer.
    async fn say(&self, frame: Frame) {
        let method = frame.get("method").and_then(Json::as_str).map(ToOwned::to_owned);
        let cancelled = (method.as_deref() == Some("notifications/cancelled"))
            .then(|| frame.param("requestId").and_then(Id::of))
            .flatten();
        let headers = rules::made(&frame, self.0.talk.relay().definitions());
        let way: Arc<dyn Outlet> = Arc::new(self.0.to_client.clone());
        let Fate::Pass(text) = self.0.talk.from_client(frame, &way).await else { return };
        if let Some(stop) = cancelled.and_then(|id| self.stopped(&id)) {
            stop.notify_one();
            return;
        }
        let sent = within(NOTIFY_MS, self.0.way.post(headers, text)).await;
        let trouble = match &sent {
            Some(Ok(answer)) if answer.status().is_success() => None,
            Some(Ok(answer)) => Some(format!("HTTP {}", answer.status().as_u16())),
            Some(Err(cause)) => Some(cause.to_string()),
            None => Some("it does not answer".to_owned()),
        };
        if let Some(trouble) = trouble {
            let line = format!("the server did not take what the client told it: {trouble}");
            self.0.talk.relay().tell(&line);
        }
        if method.as_deref() == Some("notifications/initialized")
            && !self.0.listens.swap(true, Ordering::AcqRel)
        {
            tokio::spawn(self.clone().listen());
        }
    }

    /// What stops a request of the revision in which closing its POST cancels it.
    fn stopped(&self, id: &Id) -> Option<Arc<Notify>> {
        let posts = lock(&self.0.posts);
        posts.get(id).filter(|post| post.is_modern).map(|post| Arc::clone(&post.stop))
    }

    /// A request.
    async fn request(self, frame: Frame, id: Id) {
        let is_modern = frame.is_modern();
        let opens = frame.get("method").and_then(Json::as_str) == Some("initialize");
        let way: Arc<dyn Outlet> = Arc::new(self.0.to_client.clone());
        let text = match self.0.talk.from_client(frame, &way).await {
            Fate::Pass(text) => text,
            Fate::Answer(text) => return self.0.to_client.put(text).await,
            Fate::Drop => return,
        };
        let stop = Arc::new(Notify::new());
        let post = Post { is_modern, stop: Arc::clone(&stop) };
        lock(&self.0.posts).insert(id.clone(), post);
        tokio::select! {
            () = self.exchange(text, &id, is_modern, opens) => {}
            () = stop.notified() => {
                let _ = self.0.talk.give_up(&id, "cancelled");
            }
        }
        lock(&self.0.posts).remove(&id);
    }

    async fn exchange(&self, text: String, id: &Id, is_modern: bool, opens: bool) {
        let headers = match Frame::read(text.as_str()) {
            Ok(frame) => rules::made(&frame, self.0.talk.relay().definitions()),
            Err(_) => HeaderMap::new(),
        };
        let answer = match self.0.way.post(headers, text).await {
            Ok(answer) => answer,
            Err(cause) => return self.unanswered(id, &cause).await,
        };
        let status = answer.status();
        if let Some(session) = session_of(answer.headers()).filter(|_| opens && status.is_success())
        {
            let _ = self.0.way.session.set(session.clone());
        }
        let mut ear = Writer { bridge: self, opens };
        let hearing = self.hearing(false);
        match kind(&answer) {
            Kind::Events if status.is_success() => {
                let end = hearing.stream(answer.into_body(), &mut ear).await;
                if !is_modern {
                    self.resume(id, end, &mut ear).await;
                }
                self.give_up(id, "the server's stream ended before it answered").await;
            }
            Kind::Json => match hearing.json(status, answer.into_body()).await {
                Ok(Said::Message(text)) => {
                    ear.hear(text, None).await;
                    let _ = self.0.talk.give_up(id, "answered otherwise");
                }
                Ok(Said::Page(text)) => self.page(id, status, text, &hearing).await,
                Ok(Said::Nothing) => self.give_up(id, "the server's answer says nothing").await,
                Err(cause) => self.unanswered(id, &cause).await,
            },
            Kind::Events | Kind::Other => {
                let text = hearing.text(answer.into_body()).await;
                self.page(id, status, text, &hearing).await;
            }
        }
    }

    /// The server answered with what is no message.
    async fn page(&self, id: &Id, status: StatusCode, text: Option<String>, hearing: &Hearing) {
        let status = status.as_u16();
        let what = format!("the server answered with HTTP {status}");
        let told = text.map_or_else(|| what.clone(), |text| format!("{what}: {text}"));
        let error = answer::error(Some(id), i64::from(status), &told, None);
        match hearing.message(error.into_bytes()).await {
            Some(text) => self.0.to_client.put(text).await,
            None => self.give_up(id, &what).await,
        }
    }

    async fn unanswered(&self, id: &Id, cause: &Unanswered) {
        if matches!(cause, Unanswered::Unreachable | Unanswered::Elsewhere) {
            // It did not run, and that is what is settled.
            let error = answer::error(Some(id), answer::INTERNAL, &cause.to_string(), None);
            if let Some(text) = self.hearing(false).message(error.into_bytes()).await {
                return self.0.to_client.put(text).await;
            }
        }
        self.give_up(id, &cause.to_string()).await;
    }

    async fn give_up(&self, id: &Id, why: &str) {
        if let Some(error) = self.0.talk.give_up(id, why) {
            self.0.to_client.put(error).await;
        }
    }

    /// Takes a stream up again until the request is answered.
    async fn resume(&self, id: &Id, mut end: StreamEnd, ear: &mut Writer<'_>) {
        let mut tries = 0;
        while self.0.talk.is_open(id) && tries < RESUMES_MAX {
            let Some(last) = end.last_id.clone() else { return };
            wait(end.retry_ms, tries).await;
            tries += 1;
            let Ok(answer) = self.get(Some(&last)).await else { continue };
            if !matches!(kind(&answer), Kind::Events) || !answer.status().is_success() {
                return;
            }
            let fresh = self.hearing(true).stream(answer.into_body(), ear).await;
            if fresh.said {
                tries = 0;
            }
            end = StreamEnd {
                last_id: fresh.last_id.or(Some(last)),
                retry_ms: fresh.retry_ms.or(end.retry_ms),
                ..fresh
            };
        }
    }

    /// Listens to what the server says unasked, until it says that it does not, or the client ends.
    async fn listen(self) {
        let over = self.0.over.notified();
        tokio::select! {
            () = over => {}
            () = self.hear_unasked() => {}
        }
    }

    async fn hear_unasked(&self) {
        let mut ear = Writer { bridge: self, opens: false };
        let (mut last, mut retry_ms, mut tries) = (None::<String>, None, 0);
        loop {
            match self.get(last.as_deref()).await {
                Ok(answer)
                    if answer.status().is_success() && matches!(kind(&answer), Kind::Events) =>
                {
                    let hearing = self.hearing(last.is_some());
                    let end = hearing.stream(answer.into_body(), &mut ear).await;
                    if end.said {
                        tries = 0;
                    }
                    last = end.last_id.or(last);
                    retry_ms = end.retry_ms.or(retry_ms);
                }
                // A server need not have one (405), or knows the session no more (404).
                Ok(answer) if answer.status() != StatusCode::SERVICE_UNAVAILABLE => return,
                Ok(_) | Err(_) => {}
            }
            wait(retry_ms, tries).await;
            tries = tries.saturating_add(1);
        }
    }

    async fn get(&self, last: Option<&str>) -> Result<Response<Incoming>, Unanswered> {
        let mut own = HeaderMap::new();
        let last: Option<Result<HeaderValue, InvalidHeaderValue>> = last.map(HeaderValue::from_str);
        if let Some(Ok(last)) = last {
            own.insert(LAST_EVENT, last);
        }
        self.0.way.upstream.send(Method::GET, self.0.way.headers(own), Bytes::new()).await
    }

    fn hearing(&self, is_again: bool) -> Hearing {
        let back: Arc<dyn Outlet> = Arc::new(Own(Arc::clone(&self.0.way)));
        Hearing { talk: Arc::clone(&self.0.talk), back, is_again }
    }
}

/// Writes what is heard to the client.
struct Writer<'b> {
    bridge: &'b Bridge,
    /// The answer to `initialize` says which revision is spoken.
    opens: bool,
}

impl Ear for Writer<'_> {
    async fn quiet(&mut self, _: Vec<u8>) -> bool {
        true
    }

    async fn hear(&mut self, text: String, _: Option<Event>) -> bool {
        if self.opens
            && let Ok(frame) = Frame::read(text.as_str())
            && let Some(version) =
                frame.get("result").and_then(|result| result.get("protocolVersion"))
            && let Some(Ok(version)) = version.as_str().map(HeaderValue::from_str)
        {
            let _ = self.bridge.0.way.version.set(version);
        }
        self.bridge.0.to_client.put(text).await;
        true
    }
}

async fn next(held: &mut VecDeque<Line>, lines: &mut LinesOf) -> Option<Line> {
    loop {
        match held.pop_front() {
            Some(line) => return Some(line),
            None => held.extend(lines.next().await?),
        }
    }
}

/// Does the work first; what the client says meanwhile is held. When it has said all, the work has
/// [`CLOSE_MS`].
async fn hold_until(mut work: Work, lines: &mut LinesOf, held: &mut VecDeque<Line>) {
    loop {
        tokio::select! {
            biased;
            () = &mut work => return,
            found = lines.next(), if held.len() < WAITING_MESSAGES_MAX => match found {
                Some(found) => held.extend(found),
                None => {
                    let _ = within(CLOSE_MS, work).await;
                    return;
                }
            },
        }
    }
}

/// What becomes of a request.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whether a piece of work has to wait. One that does not is done now, so that order is kept.
async fn is_pending(work: &mut Work) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_pending())).await
}

/// Waits before a stream is taken up again: as long as the server says, ever longer where that does
/// not help.
async fn wait(retry_ms: Option<u64>, tries: u32) {
    let (least, longest) = RESUME_MS;
    let ms = retry_ms.unwrap_or(1_000).max(least).saturating_mul(1 << tries.min(10)).min(longest);
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
