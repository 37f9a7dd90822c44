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
use super::limits::{CLOSE_MS, WAITING_MESSAGES_MAX};
use super::lines::{Line, Lines};
use super::pipe::{
    Both, Queue, Queued, READ_BYTES, Work, feed, is_pending, lines_of, read, within,
};
use super::relay::{Outlet, Relay};
use std::future::Future;
use std::io::{Read, Write};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tollgate::gate::Session;

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

/// Who was finished first.
enum First {
    Client,
    Server(std::process::ExitStatus),
    /// The server, as far as one can hear it: its output is closed.
    Output,
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

    let mut from_server = tokio::spawn(both.clone().pump_server(stdout));
    let first = {
        let client = std::pin::pin!(pump_client(&both, lines));
        let told = std::pin::pin!(told_to_end);
        tokio::select! {
            () = client => First::Client,
            () = told => First::Client,
            status = server.ended() => First::Server(status.map_err(StdioError::Wait)?),
            _ = &mut from_server => First::Output,
        }
    };
    let ended = match first {
        First::Server(status) => {
            drop(server);
            Ended::Itself(status, true)
        }
        First::Client => {
            both.to_server.end().await;
            // What waits to be written is written first, if the server takes it.
            if within(CLOSE_MS, &mut feeding).await.is_none() {
                feeding.abort();
            }
            server.end().await.map_err(StdioError::Wait)?
        }
        First::Output => {
            feeding.abort();
            match server.end().await.map_err(StdioError::Wait)? {
                Ended::Itself(status, _) => Ended::Itself(status, true),
                Ended::Terminated | Ended::Killed | Ended::Unheard => Ended::Unheard,
            }
        }
    };
    // What the server had still written is passed on.
    if !from_server.is_finished() {
        let _ = within(CLOSE_MS, from_server).await;
    }
    both.conversation.client_is_gone();
    both.to_client.end().await;
    let _ = tokio::task::spawn_blocking(move || writer.join()).await;
    Ok(ended)
}

/// Takes what the client says, until it has said all.
async fn pump_client(both: &Both, mut lines: mpsc::Receiver<Line>) {
    let way: Arc<dyn Outlet> = Arc::new(both.to_client.clone());
    let mut waiting = JoinSet::new();
    while let Some(line) = lines.recv().await {
        while waiting.try_join_next().is_some() {}
        let frame = match read(line) {
            Ok(frame) => frame,
            Err(refused) => {
                both.to_client.put(answer::malformed(&refused)).await;
                continue;
            }
        };
        let mut work: Work = Box::pin(both.clone().ask(frame, Arc::clone(&way)));
        if is_pending(&mut work).await {
            waiting.spawn(work);
        }
    }
    while waiting.join_next().await.is_some() {}
}

/// Writes messages to the client, each a line, from a thread of its own: a client that reads slowly
/// holds up nobody else.
pub(super) fn write_messages(mut output: impl Write, mut queue: Queued) {
    while let Some(Some(first)) = queue.blocking_recv() {
        let (text, is_last) = lines_of(first, &mut queue);
        if output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err() || is_last {
            return;
        }
    }
}

/// Reads lines in a thread of its own: standard input has no way to be waited for without one that
/// would change it for every program that shares it.
pub(super) fn read_in_thread(mut input: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
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
