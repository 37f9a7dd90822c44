//! A server that is spoken to over its standard input and output, and the two queues of a conversation
//! with it.
//!
//! Both hops that end at a program use it. What the server says is looked at in the order in which it
//! comes; a message that has to wait waits by itself, and what the server says without being asked
//! keeps its order. Each message goes on with what it belongs to, so that a hop with several streams
//! knows which one it goes to without reading it again.

use super::frame::{Frame, Id, Malformed, Shape};
use super::limits::WAITING_MESSAGES_MAX;
use super::lines::{Line, Lines, id_of_unreadable};
use super::relay::{Conversation, Fate, Outlet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How much is read at once, in bytes.
pub(super) const READ_BYTES: usize = 64 * 1024;

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

    /// What was put is written, and nothing after it.
    pub(super) async fn end(&self) {
        let _ = self.0.send(None).await;
    }
}

pub(super) async fn within<T>(ms: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(ms), future).await.ok()
}

/// What becomes of one message.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The two directions of one conversation.
#[derive(Clone)]
pub(super) struct Both {
    pub(super) conversation: Arc<Conversation>,
    pub(super) to_client: Queue,
    pub(super) to_server: Queue,
}

impl Both {
    /// Passes what the server says on, until it has said all.
    pub(super) async fn pump_server(self, mut stdout: ChildStdout) {
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
        for (id, text) in self.conversation.server_is_gone("the server ended before it answered") {
            self.to_client.put(Message { text, about: About::Answer(id) }).await;
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
                let answer = self.conversation.unreadable_from_server(&refused, id.clone());
                if let Some(text) = answer {
                    let about = id.map_or(About::Nothing, About::Answer);
                    self.to_client.put(Message { text, about }).await;
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
    pub(super) async fn ask(self, frame: Frame, way: Arc<dyn Outlet>) {
        match self.conversation.from_client(frame, &way).await {
            Fate::Pass(text) => self.to_server.put(text).await,
            Fate::Answer(text) => self.to_client.put(text).await,
            Fate::Drop => {}
        }
    }

    /// A message of the server.
    async fn serve(self, frame: Frame) {
        let about = about(&frame);
        match self.conversation.from_server(frame).await {
            Fate::Pass(text) => self.to_client.put(Message { text, about }).await,
            Fate::Answer(text) => self.to_server.put(text).await,
            Fate::Drop => {}
        }
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

pub(super) fn read(line: Line) -> Result<Frame, Malformed> {
    match line {
        Line::Whole(text) => Frame::read(text),
        Line::TooLong(id) => Err(Malformed::too_long(id)),
    }
}

/// Whether a piece of work has to wait. One that does not is done now, so that order is kept.
pub(super) async fn is_pending(work: &mut Work) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_pending())).await
}

/// Writes messages to the server, each a line.
pub(super) async fn feed(mut stdin: ChildStdin, mut queue: Queued) {
    while let Some(Some(first)) = queue.recv().await {
        let (text, is_last) = lines_of(first, &mut queue);
        // A server that reads no more is noticed by its end; what is left has nowhere to go.
        if stdin.write_all(text.as_bytes()).await.is_err() || is_last {
            return;
        }
    }
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
