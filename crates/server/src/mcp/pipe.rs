//! The two directions of a conversation with a server that is a program, and the queues to the peers.
//!
//! Both hops that end at a program use it. What each side says is looked at when it comes and goes on in
//! the order in which it came ([`Lane`]). Each message goes on with what it belongs to, so that a hop with
//! several streams knows which one it goes to without reading it again. All that one read brings is
//! looked at before anything else is done, and what comes of it is written at once.

use super::answer;
use super::frame::{Frame, Id, Malformed, Shape};
use super::lane::{Lane, Turn};
use super::limits::{IN_FLIGHT_MAX, WAITING_MESSAGES_MAX};
use super::lines::{Line, id_of_unreadable};
use super::relay::{Conversation, Fate, Outlet};
use super::standard::{LinesOf, READ_BYTES, Sink, Source};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::ChildStdout;
use tokio::sync::mpsc;

/// What a message belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    /// It answers this request.
    Answer(Id),
    /// It tells of the progress of the request with this token.
    Progress(Id),
    /// It belongs to the subscription that this request opened.
    Subscription(Id),
    /// To none that it names.
    Nothing,
}

/// A message on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) about: About,
}

/// A queue of messages to a peer; `None` is its end.
#[derive(Clone)]
pub(super) struct Queue(mpsc::Sender<Option<Message>>);

pub(super) type Queued = mpsc::Receiver<Option<Message>>;

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message { text, about: About::Nothing }
    }
}

impl Outlet for Queue {
    fn send(&self, text: String) -> bool {
        self.0.try_send(Some(text.into())).is_ok()
    }
}

impl Queue {
    pub(super) fn new() -> (Queue, Queued) {
        let (sender, receiver) = mpsc::channel(WAITING_MESSAGES_MAX);
        (Queue(sender), receiver)
    }

    pub(super) async fn put(&self, message: impl Into<Message>) {
        // Whoever would read it is gone; the other tasks notice that.
        let _ = self.0.send(Some(message.into())).await;
    }

    /// Puts a message where there is room; gives it back where there is none.
    fn try_put(&self, message: Message) -> Result<(), Message> {
        match self.0.try_send(Some(message)) {
            Err(mpsc::error::TrySendError::Full(Some(message))) => Err(message),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// What was put is written, and nothing after it.
    pub(super) async fn end(&self) {
        let _ = self.0.send(None).await;
    }
}

pub(super) async fn within<T>(ms: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(ms), future).await.ok()
}

/// The two directions of one conversation.
#[derive(Clone)]
pub(super) struct Both {
    pub(super) conversation: Arc<Conversation>,
    pub(super) to_client: Queue,
    pub(super) to_server: Queue,
}

/// What goes on, and to whom.
enum Said {
    Client(Message),
    Server(Message),
    Nothing,
}

/// The way back to the client of one message.
struct WayBack {
    to_client: Queue,
    turn: Turn,
}

impl Outlet for WayBack {
    fn send(&self, text: String) -> bool {
        self.to_client.send(text)
    }

    fn waits_for_a_person(&self) {
        self.turn.stand_aside();
    }
}

impl Both {
    /// Passes what the client says on, until it has said all.
    pub(super) async fn pump_client(&self, mut lines: LinesOf) {
        let plain: Arc<dyn Outlet> = Arc::new(self.to_client.clone());
        let mut lane = Lane::new();
        let no_more = || self.conversation.client_says_no_more();
        while let Some(found) = self.next(&mut lane, &mut lines, &no_more).await {
            for line in found {
                let said = match read(line) {
                    Ok(frame) => self.ask(&mut lane, frame, &plain),
                    Err(refused) => Some(Said::Client(answer::malformed(&refused).into())),
                };
                self.put(said).await;
            }
        }
    }

    /// Passes what the server says on, until it has said all.
    pub(super) async fn pump_server(self, stdout: ChildStdout) {
        let mut lines = LinesOf::new(Source::of_program(stdout));
        let mut lane = Lane::new();
        while let Some(found) = self.next(&mut lane, &mut lines, &|| {}).await {
            for line in found {
                let said = match read_of_server(line) {
                    Ok(frame) => lane.add(Box::pin(self.clone().serve(frame)), false),
                    Err(refused) => self.unreadable(&refused),
                };
                self.put(said).await;
            }
        }
        for (id, text) in self.conversation.server_is_gone("the server ended before it answered") {
            self.to_client.put(Message { text, about: About::Answer(id) }).await;
        }
    }

    /// The lines that come next; what stands in the lane goes on meanwhile, and before the end.
    async fn next(
        &self,
        lane: &mut Lane<Said>,
        lines: &mut LinesOf,
        no_more: &(dyn Fn() + Sync),
    ) -> Option<Vec<Line>> {
        loop {
            let found = tokio::select! {
                biased;
                said = lane.next(), if !lane.is_empty() => Err(said),
                found = lines.next(), if lane.len() < IN_FLIGHT_MAX => Ok(found),
            };
            match found {
                Ok(Some(found)) => return Some(found),
                Ok(None) if lane.is_empty() => return None,
                Ok(None) => {
                    no_more();
                    let said = lane.next().await;
                    self.put(Some(said)).await;
                }
                Err(said) => self.put(Some(said)).await,
            }
        }
    }

    /// Sends on what goes on. What the relay answers in the place of a peer that reads nothing must not
    /// hold up what that peer says.
    async fn put(&self, said: Option<Said>) {
        match said {
            Some(Said::Client(message)) => self.to_client.put(message).await,
            Some(Said::Server(message)) => self.to_server.put(message).await,
            Some(Said::Nothing) | None => {}
        }
    }

    /// A message of the client.
    fn ask(&self, lane: &mut Lane<Said>, frame: Frame, plain: &Arc<dyn Outlet>) -> Option<Said> {
        let (way, opens) = match frame.shape() {
            Shape::Request { method, .. } => {
                let back = WayBack { to_client: self.to_client.clone(), turn: lane.turn() };
                (Arc::new(back) as Arc<dyn Outlet>, &**method == "initialize")
            }
            Shape::Notification { .. } | Shape::Answer { .. } => (Arc::clone(plain), false),
        };
        let conversation = Arc::clone(&self.conversation);
        let asked = async move {
            match conversation.from_client(frame, &way).await {
                Fate::Pass(text) => Said::Server(text.into()),
                Fate::Answer(text) => Said::Client(text.into()),
                Fate::Drop => Said::Nothing,
            }
        };
        lane.add(Box::pin(asked), opens)
    }

    /// A message of the server.
    async fn serve(self, frame: Frame) -> Said {
        let about = about(&frame);
        match self.conversation.from_server(frame).await {
            Fate::Pass(text) => Said::Client(Message { text, about }),
            Fate::Answer(text) => {
                // A server that reads nothing before it has said all must not be held up by an answer to it.
                if let Err(message) = self.to_server.try_put(text.into()) {
                    tokio::spawn(async move { self.to_server.put(message).await });
                }
                Said::Nothing
            }
            Fate::Drop => Said::Nothing,
        }
    }

    /// What the server wrote and is no message: what whoever waits for it is told.
    fn unreadable(&self, refused: &Malformed) -> Option<Said> {
        let id = refused.id.clone();
        let text = self.conversation.unreadable_from_server(refused, id.clone())?;
        let about = id.map_or(About::Nothing, About::Answer);
        Some(Said::Client(Message { text, about }))
    }
}

/// What a message of a server belongs to.
pub(super) fn about(frame: &Frame) -> About {
    match frame.shape() {
        Shape::Answer { id: Some(id), .. } => About::Answer(id.clone()),
        Shape::Notification { .. } => {
            let subscription = || {
                let meta = frame.param("_meta")?;
                Id::of(meta.get("io.modelcontextprotocol/subscriptionId")?)
            };
            let progress = frame.param("progressToken").and_then(Id::of).map(About::Progress);
            progress.or_else(|| subscription().map(About::Subscription)).unwrap_or(About::Nothing)
        }
        Shape::Answer { id: None, .. } | Shape::Request { .. } => About::Nothing,
    }
}

/// The message on a line of a client.
pub(super) fn read(line: Line) -> Result<Frame, Malformed> {
    match line {
        Line::Whole(text) => Frame::read(text),
        Line::TooLong(id) => Err(Malformed::too_long(id)),
    }
}

/// The message on a line of a server. What is none is told to whoever waits for it, if that can be found.
fn read_of_server(line: Line) -> Result<Frame, Malformed> {
    match line {
        Line::Whole(text) => Frame::read_or_keep(text).map_err(|(refused, text)| {
            let id = refused.id.clone().or_else(|| id_of_unreadable(&text));
            Malformed { id, ..refused }
        }),
        Line::TooLong(id) => Err(Malformed::too_long(id)),
    }
}

/// Writes messages to a peer, each a line.
pub(super) async fn write_messages(mut sink: Sink, mut queue: Queued) {
    while let Some(Some(first)) = queue.recv().await {
        let (text, is_last) = lines_of(first, &mut queue);
        // A peer that reads no more is noticed by its end; what is left has nowhere to go.
        if sink.write(text).await.is_err() || is_last {
            break;
        }
    }
    sink.close().await;
}

/// This message and those that wait behind it, each a line, so that many small ones are written at
/// once; whether the end of the queue stands behind them.
pub(super) fn lines_of(first: Message, queue: &mut Queued) -> (String, bool) {
    let mut text = one_line(first.text);
    while text.len() < READ_BYTES {
        match queue.try_recv() {
            Ok(Some(message)) => text.push_str(&one_line(message.text)),
            Ok(None) => return (text, true),
            Err(_) => break,
        }
    }
    (text, false)
}

/// The message on a line of its own. A line feed in a message stands between its members only, where
/// a blank says the same.
fn one_line(mut text: String) -> String {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        text = text.replace(['\n', '\r'], " ");
    }
    text.reserve_exact(1);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{Queue, READ_BYTES, lines_of};

    #[test]
    fn messages_that_wait_are_written_at_once_each_on_a_line_up_to_a_size() {
        let (queue, mut queued) = Queue::new();
        let put = |text: &str| queue.0.try_send(Some(text.to_owned().into())).unwrap();
        let long = "x".repeat(READ_BYTES);
        for text in ["{\"a\":\n1}", "b", &long, "c"] {
            put(text);
        }
        queue.0.try_send(None).unwrap();
        let mut next = || {
            let first = queued.try_recv().unwrap().unwrap();
            lines_of(first, &mut queued)
        };
        assert_eq!(next(), (format!("{{\"a\": 1}}\nb\n{long}\n"), false));
        assert_eq!(next(), ("c\n".to_owned(), true));
    }
}
