//! The listener: what a client sends over HTTP, up to the message in it.
//!
//! | what comes | what is answered |
//! |---|---|
//! | a name or a page of elsewhere | 403 |
//! | no token, where one is asked for | 401 |
//! | another path than `/mcp` | 404 |
//! | another method than POST, GET and DELETE | 405 |
//! | a body that is no JSON by its head | 415 |
//! | a body that is too long, or too slow | 413, 408 |
//! | no message, or headers that say something else than it | 400 and an error |
//! | more connections than [`CONNECTIONS_MAX`] | they wait |

use super::back::{Back, of_json};
use super::body::Body;
use super::guard::{Guard, Stopped};
use super::programs::Programs;
use super::rules;
use super::secret::Token;
use super::upstream::Upstream;
use super::urls::Urls;
use crate::mcp::answer;
use crate::mcp::child::Command;
use crate::mcp::frame::{Fault, Frame, Id, Malformed, Shape};
use crate::mcp::limits::{
    BODY_MS, CLOSE_MS, CONNECTIONS_MAX, HEAD_BYTES_MAX, HEAD_MS, HEADERS_MAX, MESSAGE_BYTES_MAX,
    TAKE_BACK_MS,
};
use crate::mcp::pipe::within;
use crate::mcp::relay::Relay;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::oneshot;
use tollgate::gate::Session;

/// Where clients speak to.
const PATH: &str = "/mcp";

/// What is behind a listener.
pub enum Behind {
    /// A server behind a URL.
    Url(Box<Upstream>),
    /// A program, started for each session of a client.
    Program(Command),
}

/// What a listener needs to know.
pub struct Listening {
    /// The relay.
    pub relay: Arc<Relay>,
    /// What is behind it.
    pub behind: Behind,
    /// Who acts where the protocol has no session; a session of a client gets one like it.
    pub session: Session,
    /// What clients must send.
    pub client_token: Option<Token>,
}

/// Those behind a listener, with their sessions.
enum Served {
    Urls(Urls),
    Programs(Box<Programs>),
}

struct Door {
    guard: Guard,
    served: Served,
    relay: Arc<Relay>,
}

/// A request without its body.
pub(super) struct Asked {
    pub(super) headers: HeaderMap,
    pub(super) frame: Frame,
}

/// Serves clients until `told_to_end`.
///
/// # Errors
/// When the address of the listener cannot be known.
pub async fn serve(
    listener: TcpListener,
    listening: Listening,
    told_to_end: impl Future<Output = ()>,
) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    let Listening { relay, behind, session, client_token } = listening;
    let of_relay = Arc::clone(&relay);
    let served = match behind {
        Behind::Url(upstream) => Served::Urls(Urls::new(of_relay, *upstream, session)),
        Behind::Program(command) => {
            Served::Programs(Box::new(Programs::new(of_relay, command, session)))
        }
    };
    let door = Arc::new(Door { guard: Guard { port, token: client_token }, served, relay });
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut told = std::pin::pin!(told_to_end);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut told => break,
        };
        let Ok((stream, from)) = accepted else {
            // No more files, or a client that is gone already: neither is cured by asking at once.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        if from.ip().is_loopback() {
            let door = Arc::clone(&door);
            tokio::spawn(async move {
                door.connection(stream).await;
                drop(place);
            });
        }
    }
    let _ = within(TAKE_BACK_MS, door.relay.take_questions_back()).await;
    match &door.served {
        Served::Urls(urls) => _ = within(CLOSE_MS, urls.end()).await,
        Served::Programs(programs) => programs.end().await,
    }
    Ok(())
}

impl Door {
    async fn connection(self: Arc<Self>, stream: TcpStream) {
        // Without it small answers wait for the client to say that it heard the last ones.
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |request| {
            let door = Arc::clone(&self);
            async move { Ok::<_, Infallible>(door.answer(request).await) }
        });
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(HEAD_MS))
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service);
        // How a connection ends is its client's business.
        let _ = served.await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Err(stopped) = self.guard.check(&head.uri, &head.headers) {
            return stopped_answer(stopped);
        }
        if head.uri.path() != PATH {
            return refused(
                StatusCode::NOT_FOUND,
                None,
                i64::from(404_u16),
                "clients speak to /mcp",
            );
        }
        match head.method {
            Method::POST => match message(&head.headers, body).await {
                Ok(frame) => self.post(Asked { headers: head.headers, frame }).await,
                Err(answer) => answer,
            },
            Method::GET => self.open(head.headers).await,
            Method::DELETE => match &self.served {
                Served::Urls(urls) => urls.delete(head.headers).await,
                Served::Programs(programs) => programs.delete(&head.headers).await,
            },
            _ => {
                let mut answer = refused(
                    StatusCode::METHOD_NOT_ALLOWED,
                    None,
                    405,
                    "clients speak by POST, GET and DELETE",
                );
                let allowed = HeaderValue::from_static("POST, GET, DELETE");
                answer.headers_mut().insert(header::ALLOW, allowed);
                answer
            }
        }
    }

    async fn post(&self, asked: Asked) -> Response<Body> {
        let definitions = self.relay.definitions();
        if let Err(mismatch) = rules::check(&asked.headers, &asked.frame, definitions) {
            let id = id_of(&asked.frame);
            let text = mismatch.to_string();
            return refused(StatusCode::BAD_REQUEST, id, rules::MISMATCH, &text);
        }
        let (back, answer) = Back::new();
        match &self.served {
            Served::Urls(urls) => urls.post(asked, back),
            Served::Programs(programs) => programs.post(asked, back).await,
        }
        answered(answer).await
    }

    async fn open(&self, headers: HeaderMap) -> Response<Body> {
        let (back, answer) = Back::new();
        match &self.served {
            Served::Urls(urls) => urls.open(headers, back),
            Served::Programs(programs) => programs.open(&headers, back).await,
        }
        answered(answer).await
    }
}

async fn answered(answer: oneshot::Receiver<Response<Body>>) -> Response<Body> {
    answer.await.unwrap_or_else(|_| {
        let text = "the relay gave no answer";
        refused(StatusCode::BAD_GATEWAY, None, answer::INTERNAL, text)
    })
}

/// The message in a body.
async fn message(headers: &HeaderMap, body: Incoming) -> Result<Frame, Response<Body>> {
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"));
    if !is_json || headers.contains_key(header::CONTENT_ENCODING) {
        let text = "a message is sent as application/json, and not packed";
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, 415, text));
    }
    // A length that is too much is refused before anything is read.
    if body.size_hint().lower() > MESSAGE_BYTES_MAX as u64 {
        return Err(too_long());
    }
    let read = Limited::new(body, MESSAGE_BYTES_MAX).collect();
    let bytes: Bytes = match tokio::time::timeout(Duration::from_millis(BODY_MS), read).await {
        Ok(Ok(read)) => read.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_long()),
        Ok(Err(_)) => {
            return Err(refused(StatusCode::BAD_REQUEST, None, 400, "the message is cut off"));
        }
        Err(_) => {
            return Err(refused(
                StatusCode::REQUEST_TIMEOUT,
                None,
                408,
                "the message came too slowly",
            ));
        }
    };
    Frame::read(Vec::from(bytes))
        .map_err(|malformed| whole(StatusCode::BAD_REQUEST, answer::malformed(&malformed)))
}

fn too_long() -> Response<Body> {
    let malformed = Malformed { id: None, fault: Fault::TooLong };
    whole(StatusCode::PAYLOAD_TOO_LARGE, answer::malformed(&malformed))
}

fn stopped_answer(stopped: Stopped) -> Response<Body> {
    let status = stopped.status();
    let mut answer = refused(status, None, i64::from(status.as_u16()), &stopped.to_string());
    if stopped == Stopped::Token {
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}

/// An error of the relay's own.
pub(super) fn refused(
    status: StatusCode,
    id: Option<&Id>,
    code: i64,
    text: &str,
) -> Response<Body> {
    whole(status, answer::error(id, code, text, None))
}

fn whole(status: StatusCode, text: String) -> Response<Body> {
    let mut answer = Response::new(Body::from(text));
    *answer.status_mut() = status;
    *answer.headers_mut() = of_json();
    answer
}

pub(super) fn id_of(frame: &Frame) -> Option<&Id> {
    match frame.shape() {
        Shape::Request { id, .. } => Some(id),
        Shape::Notification { .. } | Shape::Answer { .. } => None,
    }
}
