//! Clients over HTTP before programs.
//!
//! A program speaks with one client. So each session of a client has a program of its own, started by
//! its `initialize` and ended with it. Messages of the revision without sessions share one, for there
//! the program keeps nothing of its clients; two of them that use the same id at the same time are
//! told apart by an id of the relay's own in place of the second.
//!
//! | what happens | what the relay does |
//! |---|---|
//! | the program ends | every open request is answered by an error; its session is gone (404), and the client may open another |
//! | the client of a request is gone | older revision: nothing, its answer goes nowhere; later one: the request is cancelled |
//! | no stream is open for what the program says unasked | up to [`WAITING_MESSAGES_MAX`] messages wait for one |
//! | a client reads too slowly | its stream is closed; nobody else waits for it |
//! | a session too many | the one that was silent longest makes room, if it was for [`IDLE_MS`]; otherwise 503 |

use super::back::{Back, Way, of_stream};
use super::body::Body;
use super::listen::{Asked, id_of, refused};
use super::rules::{self, SESSION, VERSION};
use super::running::{Route, Running};
use crate::mcp::answer;
use crate::mcp::child::Command;
use crate::mcp::frame::Frame;
use crate::mcp::limits::{CLOSE_MS, IDLE_MS, PROGRAMS_MAX};
use crate::mcp::pipe::{About, Message, within};
use crate::mcp::relay::{Fate, Outlet, Relay};
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Response, StatusCode};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tollgate::gate::{Json, Name, Session};

/// The revisions that have sessions.
const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The one that has none.
const LATER: &str = "2026-07-28";

/// Clients before programs.
pub(super) struct Programs {
    relay: Arc<Relay>,
    command: Command,
    session: Session,
    sessions: Mutex<HashMap<Vec<u8>, Known>>,
    /// The program of messages without a session.
    shared: tokio::sync::Mutex<Option<Arc<Running>>>,
    next: AtomicU64,
}

struct Known {
    running: Arc<Running>,
    used: Instant,
}

/// Why a message does not reach a program.
enum Unserved {
    NoSession,
    UnknownSession,
    /// Its headers say that it is of the later revision, and it does not say so itself.
    NoMetadata,
    Revision,
    TooMany,
    NotStarted(std::io::Error),
}

impl Programs {
    pub(super) fn new(relay: Arc<Relay>, command: Command, session: Session) -> Programs {
        Programs {
            relay,
            command,
            session,
            sessions: Mutex::default(),
            shared: tokio::sync::Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// A message of a client.
    pub(super) async fn post(&self, asked: Asked, mut back: Back) {
        let Asked { headers, frame } = asked;
        let found = self.running(&headers, &frame).await;
        let running = match found {
            Ok((running, session)) => {
                if let Some(session) = session {
                    back.headers.insert(SESSION, session);
                }
                running
            }
            Err(unserved) => {
                let (status, code, text) = unserved.told();
                let text = answer::error(id_of(&frame), code, &text, None);
                back.message(status, text).await;
                return;
            }
        };
        tokio::spawn(Exchange { running, back }.run(frame));
    }

    /// A client opens the stream of its session.
    pub(super) async fn open(&self, headers: &HeaderMap, mut back: Back) {
        let running = match self.of_session(headers) {
            Ok(running) => running,
            Err(Unserved::NoSession) => {
                let text = "there is no stream without a session";
                let text = answer::error(None, 405, text, None);
                back.message(StatusCode::METHOD_NOT_ALLOWED, text).await;
                return;
            }
            Err(unserved) => {
                let (status, code, text) = unserved.told();
                back.message(status, answer::error(None, code, &text, None)).await;
                return;
            }
        };
        let Some(mut messages) = running.open_stream() else {
            let text = answer::error(None, 409, "the stream of this session is open already", None);
            back.message(StatusCode::CONFLICT, text).await;
            return;
        };
        back.begin(of_stream());
        tokio::spawn(async move {
            loop {
                let hears = tokio::select! {
                    message = messages.recv() => match message {
                        Some(message) => back.event(&message.text).await,
                        None => false,
                    },
                    () = super::back::silence() => back.alive().await,
                    () = back.gone() => false,
                };
                if !hears {
                    return;
                }
            }
        });
    }

    /// A client ends its session.
    pub(super) async fn delete(&self, headers: &HeaderMap) -> Response<Body> {
        let known = headers.get(SESSION).and_then(|id| lock(&self.sessions).remove(id.as_bytes()));
        let Some(known) = known else {
            let (status, code, text) = Unserved::UnknownSession.told();
            return refused(status, None, code, &text);
        };
        known.running.end().await;
        Response::new(Body::empty())
    }

    /// Ends all programs, side by side.
    pub(super) async fn end(&self) {
        let all: Vec<Known> = lock(&self.sessions).drain().map(|(_, known)| known).collect();
        let mut ending = tokio::task::JoinSet::new();
        for known in all {
            ending.spawn(async move { known.running.end().await });
        }
        if let Some(shared) = self.shared.lock().await.take() {
            ending.spawn(async move { shared.end().await });
        }
        while ending.join_next().await.is_some() {}
    }

    /// The program that a message goes to, and the session that it opens.
    async fn running(
        &self,
        headers: &HeaderMap,
        frame: &Frame,
    ) -> Result<(Arc<Running>, Option<HeaderValue>), Unserved> {
        if frame.is_modern() {
            return Ok((self.shared().await?, None));
        }
        let opens = frame.get("method").and_then(Json::as_str) == Some("initialize");
        if opens && !headers.contains_key(SESSION) {
            let (running, id) = self.start().await?;
            return Ok((running, Some(id)));
        }
        match headers.get(VERSION).and_then(|version| version.to_str().ok()) {
            Some(LATER) => return Err(Unserved::NoMetadata),
            Some(version) if !REVISIONS.contains(&version) => return Err(Unserved::Revision),
            Some(_) | None => {}
        }
        Ok((self.of_session(headers)?, None))
    }

    fn of_session(&self, headers: &HeaderMap) -> Result<Arc<Running>, Unserved> {
        let id = headers.get(SESSION).ok_or(Unserved::NoSession)?;
        let mut sessions = lock(&self.sessions);
        let known = sessions.get_mut(id.as_bytes()).ok_or(Unserved::UnknownSession)?;
        if known.running.has_ended() {
            sessions.remove(id.as_bytes());
            return Err(Unserved::UnknownSession);
        }
        known.used = Instant::now();
        Ok(Arc::clone(&known.running))
    }

    async fn shared(&self) -> Result<Arc<Running>, Unserved> {
        let mut shared = self.shared.lock().await;
        if let Some(running) = shared.as_ref().filter(|running| !running.has_ended()) {
            return Ok(Arc::clone(running));
        }
        let started = Running::start(&self.relay, &self.command, self.session.clone(), true);
        let running = started.map_err(Unserved::NotStarted)?;
        *shared = Some(Arc::clone(&running));
        Ok(running)
    }

    /// Starts a program for a new session.
    async fn start(&self) -> Result<(Arc<Running>, HeaderValue), Unserved> {
        self.make_room().await?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = Name::from(format!("{}-{number}", self.session.id));
        let session = Session { id, ..self.session.clone() };
        let started = Running::start(&self.relay, &self.command, session, false);
        let running = started.map_err(Unserved::NotStarted)?;
        let id = random_id().map_err(Unserved::NotStarted)?;
        let known = Known { running: Arc::clone(&running), used: Instant::now() };
        lock(&self.sessions).insert(id.as_bytes().to_vec(), known);
        Ok((running, id))
    }

    async fn make_room(&self) -> Result<(), Unserved> {
        let gone = {
            let mut sessions = lock(&self.sessions);
            sessions.retain(|_, known| !known.running.has_ended());
            if sessions.len() < PROGRAMS_MAX {
                return Ok(());
            }
            let idle = |known: &Known| known.used.elapsed() >= Duration::from_millis(IDLE_MS);
            let silent =
                sessions.iter().filter(|(_, known)| idle(known) && !known.running.is_busy());
            let longest = silent.min_by_key(|(_, known)| known.used).map(|(id, _)| id.clone());
            longest.and_then(|id| sessions.remove(&id))
        };
        match gone {
            Some(known) => {
                tokio::spawn(async move { known.running.end().await });
                Ok(())
            }
            None => Err(Unserved::TooMany),
        }
    }
}

impl Unserved {
    fn told(self) -> (StatusCode, i64, String) {
        match self {
            Unserved::NoSession => (
                StatusCode::BAD_REQUEST,
                400,
                "this message needs a session: send `initialize` first".to_owned(),
            ),
            Unserved::UnknownSession => {
                (StatusCode::NOT_FOUND, 404, "there is no such session".to_owned())
            }
            Unserved::NoMetadata => (
                StatusCode::BAD_REQUEST,
                answer::INVALID_PARAMS,
                format!("a message of {LATER} says so in its `_meta`"),
            ),
            Unserved::Revision => (
                StatusCode::BAD_REQUEST,
                rules::UNSUPPORTED,
                "this revision of the protocol is not spoken here".to_owned(),
            ),
            Unserved::TooMany => (
                StatusCode::SERVICE_UNAVAILABLE,
                503,
                format!("{PROGRAMS_MAX} sessions are open, and none is idle"),
            ),
            Unserved::NotStarted(error) => (
                StatusCode::BAD_GATEWAY,
                answer::INTERNAL,
                format!("the server cannot be started: {error}"),
            ),
        }
    }
}

/// One HTTP request and its answer.
struct Exchange {
    running: Arc<Running>,
    back: Back,
}

impl Exchange {
    async fn run(mut self, frame: Frame) {
        let Some(id) = id_of(&frame).cloned() else {
            // What asks nothing has nothing to wait for.
            let (way, _texts) = Way::new();
            self.running.give(frame, &(Arc::new(way) as Arc<dyn Outlet>)).await;
            self.back.whole(StatusCode::ACCEPTED, HeaderMap::new(), String::new()).await;
            return;
        };
        let (is_modern, says_all) = (frame.is_modern(), says_all(&frame));
        let Some((route, frame, mut messages)) = self.running.route(frame, &id) else {
            let text = "a request with this id is under way, or too many are";
            let text = answer::error(Some(&id), answer::INVALID, text, None);
            self.back.message(StatusCode::BAD_REQUEST, text).await;
            return;
        };
        let way: Arc<dyn Outlet> = Arc::new(Way::of(route.sender.clone()));
        if let Some(text) = self.ask(frame, way, &mut messages, &route).await {
            let status = if is_modern { status_of(&text, says_all) } else { StatusCode::OK };
            self.back.message(status, text).await;
        }
        self.running.leave(&route.wire);
    }

    /// The text of the answer; `None` where there is nobody left to give it to.
    async fn ask(
        &mut self,
        frame: Frame,
        way: Arc<dyn Outlet>,
        messages: &mut mpsc::Receiver<Message>,
        route: &Route,
    ) -> Option<String> {
        let running = Arc::clone(&self.running);
        let mut asking = std::pin::pin!(running.conversation().from_client(frame, &way));
        let mut asked = false;
        loop {
            tokio::select! {
                biased;
                message = messages.recv() => {
                    let Some(message) = message else { break };
                    let text = self.running.restored(message.text, route);
                    if message.about == About::Answer(route.wire.clone()) {
                        return Some(text);
                    }
                    if !self.back.event(&text).await {
                        break;
                    }
                }
                fate = &mut asking, if !asked => {
                    asked = true;
                    match fate {
                        Fate::Pass(text) => self.running.put(text).await,
                        Fate::Answer(text) => return Some(self.running.restored(text, route)),
                        Fate::Drop => {}
                    }
                }
                () = super::back::silence() => {
                    if !self.back.alive().await {
                        break;
                    }
                }
                () = self.back.gone() => break,
            }
        }
        self.running.client_of_request_is_gone(route, asked).await;
        if !asked {
            // What was asked of people is taken back.
            let _ = within(CLOSE_MS, asking).await;
        }
        None
    }
}

/// Whether a message of the revision 2026-07-28 says of itself what it must.
fn says_all(frame: &Frame) -> bool {
    let meta = frame.param("_meta");
    meta.is_some_and(|meta| meta.get("io.modelcontextprotocol/clientCapabilities").is_some())
}

/// The status that goes with an answer (revision 2026-07-28). Bad parameters have one of their own only
/// where they are those that every request must have.
fn status_of(text: &str, says_all: bool) -> StatusCode {
    // A result is by far the most there is, and may be long.
    if !text.contains("\"error\"") {
        return StatusCode::OK;
    }
    let code = Frame::read(text).ok().and_then(|frame| frame.get("error")?.get("code")?.as_i64());
    match code {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        Some(answer::INVALID_PARAMS) if !says_all => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// An id that nobody can guess.
fn random_id() -> Result<HeaderValue, std::io::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&text).map_err(std::io::Error::other)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
