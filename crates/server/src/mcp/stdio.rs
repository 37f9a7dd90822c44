//! A client and a server that speak over standard input and output, with the relay between.
//!
//! What each side says is looked at when it comes, and goes on in the order in which it came. A call that
//! waits for a person waits by itself, so the next one is not held up; one whose hooks are slow holds the
//! next one up for [`ORDER_MS`](super::limits::ORDER_MS) at most.
//!
//! | what happens | what the relay does |
//! |---|---|
//! | the client's input ends | what is under way goes on to the server, whose input is closed then; its answers are still passed; it has [`CLOSE_MS`] to end |
//! | the server ends, crashes or closes its output | every open request is answered by an error, then the relay ends |
//! | the server writes what is no message | the line is shown on standard error and dropped; if it names a request, that is answered by an error |
//! | the client writes what is no message | it is answered by an error |
//! | a peer reads slowly | at most [`WAITING_MESSAGES_MAX`](super::limits::WAITING_MESSAGES_MAX) messages wait, then nothing more is read for it |
//! | the relay is told to end (SIGTERM, SIGINT) | as if the client's input had ended |

use super::child::{Command, Ended};
use super::limits::{CLOSE_MS, TAKE_BACK_MS};
use super::pipe::{Both, Queue, within, write_messages};
use super::relay::Relay;
use super::standard::{LinesOf, Sink, Source};
use std::future::Future;
use std::sync::Arc;
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
    input: Source,
    output: Sink,
    told_to_end: impl Future<Output = ()>,
) -> Result<Ended, StdioError> {
    let started = command.start().map_err(|cause| StdioError::Start {
        program: command.program.to_string_lossy().into_owned(),
        cause,
    })?;
    let (mut server, stdin, stdout) = started;
    let (to_client, client_queue) = Queue::new();
    let (to_server, server_queue) = Queue::new();
    let writer = tokio::spawn(write_messages(output, client_queue));
    let mut feeding = tokio::spawn(write_messages(Sink::of_program(stdin), server_queue));
    let lines = LinesOf::new(input);
    let conversation = relay.converse(session, Arc::new(to_server.clone()));
    let both = Both { conversation, to_client, to_server };

    let mut from_server = tokio::spawn(both.clone().pump_server(stdout));
    let first = {
        let mut client = std::pin::pin!(both.pump_client(lines));
        let told = std::pin::pin!(told_to_end);
        tokio::select! {
            () = &mut client => First::Client,
            () = told => {
                both.conversation.client_is_gone();
                let taken_back = relay.take_questions_back();
                let _ = within(TAKE_BACK_MS, async { tokio::select! { () = client => {}, () = taken_back => {} } }).await;
                First::Client
            }
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
    let _ = writer.await;
    Ok(ended)
}
