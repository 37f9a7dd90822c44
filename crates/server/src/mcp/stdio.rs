//! A client and a server that speak over standard input and output, with the relay between.
//!
//! Messages of each side are looked at in the order in which they come. A request that has to wait (a
//! person is asked, a handler is slow) waits by itself, so the next one is not held up; what the
//! server says without being asked keeps its order.
//!
//! | what happens | what the relay does |
//! |---|---|
//! | the client's input ends | what is under way goes on to the server, whose input is closed then; its answers are still passed; it has [`CLOSE_MS`] to end |
//! | the server ends, crashes or closes its output | every open request is answered by an error, then the relay ends |
//! | the server writes what is no message | the line is shown on standard error and dropped; if it names a request, that is answered by an error |
//! | the client writes what is no message | it is answered by an error |
//! | a peer reads slowly | at most [`WAITING_MESSAGES_MAX`] messages wait, then nothing more is read for it |
//! | the relay is told to end (SIGTERM, SIGINT) | as if the client's input had ended |

use super::answer;
use super::child::{Command, Ended};
use super::frame::{Frame, Malformed, Shape};
use super::limits::{CLOSE_MS, WAITING_MESSAGES_MAX};
use super::lines::{Line, Lines, id_of_unreadable};
use super::relay::{Conversation, Fate, Outlet, Relay};
use std::future::Future;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tollgate::gate::Session;

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// Why a relay over standard input and output does not run.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The server cannot be started.
    #[error("the server `{program}` cannot be started: {cause}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        cause: std::io::Error,
    },
    /// The server cannot be waited for.
    #[error("the server cannot be waited for: {0}")]
    Wait(std::io::Error),
}

/// A queue of messages to a peer; `None` is its end.
#[derive(Clone)]
struct Queue(mpsc::Sender<Option<String>>);

impl Outlet for Queue {
    fn send(&self, text: String) -> bool {
        self.0.try_send(Some(text)).is_ok()
    }
}

impl Queue {
    fn new() -> (Queue, mpsc::Receiver<Option<String>>) {
        let (sender, receiver) = mpsc::channel(WAITING_MESSAGES_MAX);
        (Queue(sender), receiver)
    }

    async fn put(&self, text: String) {
        // Whoever would read it is gone; the other tasks notice that.
        let _ = self.0.send(Some(text)).await;
    }

    /// What was put is written, and nothing after it.
    async fn end(&self) {
        let _ = self.0.send(None).await;
    }
}

/// Relays between a client at `input` and `output` and the server that `command` starts, until one
/// of them is finished. `told_to_end` ends it before.
///
/// # Errors
/// [`StdioError`] when the server cannot be started or waited for.
pub async fn relay(
    relay: &Arc<Relay>,
    session: Session,
    command: &Command,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    told_to_end: impl Future<Output = ()>,
) -> Result<Ended, StdioError> {
    let started = command.start().map_err(|cause| StdioError::Start {
        program: command.program.to_string_lossy().into_owned(),
        cause,
    })?;
    let (mut server, stdin, stdout) = started;
    let (to_client, client_queue) = Queue::new();
    let (to_server, server_queue) = Queue::new();
    let writer = std::thread::spawn(move || write_messages(output, client_queue));
    let mut feeding = tokio::spawn(feed(stdin, server_queue));
    let lines = read_in_thread(input);
    let conversation = relay.converse(session, Arc::new(to_server.clone()));
    let both = Both { conversation, to_client, to_server };

    let from_server = tokio::spawn(both.clone().pump_server(stdout));
    let gone_first = {
        let client = std::pin::pin!(both.pump_client(lines));
        let told = std::pin::pin!(told_to_end);
        tokio::select! {
            () = client => None,
            () = told => None,
            status = server.ended() => Some(status.map_err(StdioError::Wait)?),
        }
    };
    let ended = match gone_first {
        Some(status) => {
            drop(server);
            Ended::Itself(status, true)
        }
        None => {
            both.to_server.end().await;
            // What waits to be written is written first, if the server takes it.
            if within(CLOSE_MS, &mut feeding).await.is_none() {
                feeding.abort();
            }
            server.end().await.map_err(StdioError::Wait)?
        }
    };
    // What the server had still written is passed on.
    let _ = within(CLOSE_MS, from_server).await;
    both.conversation.client_is_gone();
    both.to_client.end().await;
    let _ = tokio::task::spawn_blocking(move || writer.join()).await;
    Ok(ended)
}

async fn within<T>(ms: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(ms), future).await.ok()
}

/// What becomes of one message.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The two directions of one conversation.
#[derive(Clone)]
struct Both {
    conversation: Arc<Conversation>,
    to_client: Queue,
    to_server: Queue,
}

impl Both {
    /// Takes what the client says, until it has said all.
    async fn pump_client(&self, mut lines: mpsc::Receiver<Line>) {
        let way: Arc<dyn Outlet> = Arc::new(self.to_client.clone());
        let mut waiting = JoinSet::new();
        while let Some(line) = lines.recv().await {
            while waiting.try_join_next().is_some() {}
            let frame = match read(line) {
                Ok(frame) => frame,
                Err(refused) => {
                    self.to_client.put(answer::malformed(&refused)).await;
                    continue;
                }
            };
            let mut work: Work = Box::pin(self.clone().ask(frame, Arc::clone(&way)));
            if is_pending(&mut work).await {
                waiting.spawn(work);
            }
        }
        while waiting.join_next().await.is_some() {}
    }

    /// Passes what the server says on, until it has said all.
    async fn pump_server(self, mut stdout: ChildStdout) {
        let mut lines = Lines::default();
        let mut buffer = vec![0; READ_BYTES];
        let mut waiting = JoinSet::new();
        loop {
            let read = stdout.read(&mut buffer).await.unwrap_or(0);
            let found = match buffer.get(..read) {
                Some(bytes) if read > 0 => lines.take(bytes),
                _ => lines.end().into_iter().collect(),
            };
            for line in found {
                while waiting.try_join_next().is_some() {}
                self.take_from_server(line, &mut waiting).await;
            }
            if read == 0 {
                break;
            }
        }
        while waiting.join_next().await.is_some() {}
        for answer in self.conversation.server_is_gone("the server ended before it answered") {
            self.to_client.put(answer).await;
        }
    }

    async fn take_from_server(&self, line: Line, waiting: &mut JoinSet<()>) {
        let unreadable = match &line {
            Line::Whole(text) => id_of_unreadable(text),
            Line::TooLong(id) => id.clone(),
        };
        let frame = match read(line) {
            Ok(frame) => frame,
            Err(refused) => {
                let id = refused.id.clone().or(unreadable);
                let answer = self.conversation.unreadable_from_server(&refused, id);
                if let Some(answer) = answer {
                    self.to_client.put(answer).await;
                }
                return;
            }
        };
        let is_said_in_order = matches!(frame.shape(), Shape::Notification { .. });
        let mut work: Work = Box::pin(self.clone().serve(frame));
        if is_said_in_order {
            work.await;
        } else if is_pending(&mut work).await {
            waiting.spawn(work);
        }
    }

    /// A message of the client.
    async fn ask(self, frame: Frame, way: Arc<dyn Outlet>) {
        let fate = self.conversation.from_client(frame, &way).await;
        deliver(fate, self.to_server, self.to_client).await;
    }

    /// A message of the server.
    async fn serve(self, frame: Frame) {
        let fate = self.conversation.from_server(frame).await;
        deliver(fate, self.to_client, self.to_server).await;
    }
}

async fn deliver(fate: Fate, onward: Queue, back: Queue) {
    match fate {
        Fate::Pass(text) => onward.put(text).await,
        Fate::Answer(text) => back.put(text).await,
        Fate::Drop => {}
    }
}

fn read(line: Line) -> Result<Frame, Malformed> {
    match line {
        Line::Whole(text) => Frame::read(text),
        Line::TooLong(id) => Err(Malformed::too_long(id)),
    }
}

/// Whether a piece of work has to wait. One that does not is done now, so that order is kept.
async fn is_pending(work: &mut Work) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_pending())).await
}

/// Writes messages to the server, each a line.
async fn feed(mut stdin: ChildStdin, mut queue: mpsc::Receiver<Option<String>>) {
    while let Some(Some(text)) = queue.recv().await {
        // A server that reads no more is noticed by its end; what is left has nowhere to go.
        if stdin.write_all(one_line(text).as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Writes messages to the client, each a line, from a thread of its own: a client that reads slowly
/// holds up nobody else.
fn write_messages(mut output: impl Write, mut queue: mpsc::Receiver<Option<String>>) {
    while let Some(Some(text)) = queue.blocking_recv() {
        if output.write_all(one_line(text).as_bytes()).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// The message on a line of its own. A line feed in a message stands between its members only, where
/// a blank says the same.
fn one_line(mut text: String) -> String {
    if text.contains(['\n', '\r']) {
        text = text.replace(['\n', '\r'], " ");
    }
    text.push('\n');
    text
}

/// Reads lines in a thread of its own: standard input has no way to be waited for without one that
/// would change it for every program that shares it.
fn read_in_thread(mut input: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel(WAITING_MESSAGES_MAX);
    std::thread::spawn(move || {
        let mut lines = Lines::default();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let read = match input.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let found = match buffer.get(..read) {
                Some(bytes) if read > 0 => lines.take(bytes),
                _ => lines.end().into_iter().collect(),
            };
            for line in found {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
            if read == 0 {
                return;
            }
        }
    });
    receiver
}
