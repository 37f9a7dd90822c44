//! A program that runs for clients over HTTP, and which of their streams each of its messages goes to.

use crate::mcp::child::{Command, Server};
use crate::mcp::frame::{Frame, Id};
use crate::mcp::limits::{CHUNKS_MAX, CLOSE_MS, IN_FLIGHT_MAX, WAITING_MESSAGES_MAX};
use crate::mcp::pipe::{About, Both, Message, Queue, Queued, within, write_messages};
use crate::mcp::relay::{Conversation, Fate, Outlet, Relay};
use crate::mcp::standard::Sink;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};
use tollgate::gate::{Json, Object, Session};

/// A program that runs.
pub(super) struct Running {
    both: Both,
    streams: Mutex<Streams>,
    /// Whether clients without sessions share it.
    is_shared: bool,
    has_ended: AtomicBool,
    /// It is to end; and it has.
    end: Notify,
    over: Notify,
    next: AtomicU64,
}

#[derive(Default)]
struct Streams {
    /// By the id under which the program knows the request.
    requests: HashMap<Id, Open>,
    /// The order in which they came.
    order: VecDeque<Id>,
    /// The stream that the client opened.
    own: Option<mpsc::Sender<Message>>,
    /// What nobody could be told yet.
    waiting: VecDeque<Message>,
}

struct Open {
    sender: mpsc::Sender<Message>,
    progress: Option<Id>,
}

/// The way of one request.
pub(super) struct Route {
    /// The id under which the program knows it.
    pub(super) wire: Id,
    pub(super) sender: mpsc::WeakSender<Message>,
    id: Id,
    progress: Option<Id>,
    /// What stands in place of the client's own id and token.
    is_renamed: bool,
}

impl Running {
    /// Starts a program.
    pub(super) fn start(
        relay: &Arc<Relay>,
        command: &Command,
        session: Session,
        is_shared: bool,
    ) -> io::Result<Arc<Running>> {
        let (server, stdin, stdout) = command.start()?;
        let (to_client, said) = Queue::new();
        let (to_server, fed) = Queue::new();
        let conversation = relay.converse(session, Arc::new(to_server.clone()));
        let both = Both { conversation, to_client, to_server };
        let running = Arc::new(Running {
            both,
            streams: Mutex::default(),
            is_shared,
            has_ended: AtomicBool::new(false),
            end: Notify::new(),
            over: Notify::new(),
            next: AtomicU64::new(0),
        });
        tokio::spawn(write_messages(Sink::of_program(stdin), fed));
        tokio::spawn(Arc::clone(&running).deliver(said));
        let pump = tokio::spawn(running.both.clone().pump_server(stdout));
        tokio::spawn(Arc::clone(&running).watch(server, pump));
        Ok(running)
    }

    /// Waits for the end of the program, or ends it when it is told to.
    async fn watch(self: Arc<Self>, mut server: Server, mut pump: tokio::task::JoinHandle<()>) {
        let (by_itself, is_heard) = tokio::select! {
            _ = server.ended() => (true, true),
            () = self.end.notified() => (false, true),
            // Who closes its output can answer nobody.
            _ = &mut pump => (true, false),
        };
        if by_itself {
            self.both.conversation.relay().tell("the server ended");
        }
        if by_itself && is_heard {
            drop(server);
        } else {
            self.has_ended.store(!is_heard, Ordering::Release);
            self.both.to_server.end().await;
            let _ = server.end().await;
        }
        // What it had still written is passed on.
        if is_heard {
            let _ = within(CLOSE_MS, pump).await;
        }
        self.has_ended.store(true, Ordering::Release);
        self.both.conversation.client_is_gone();
        self.both.to_client.end().await;
        self.over.notify_waiters();
        self.over.notify_one();
    }

    /// Ends the program and waits until it has.
    pub(super) async fn end(&self) {
        self.end.notify_one();
        let over = self.over.notified();
        if !self.has_ended() {
            over.await;
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Whether anybody waits for it.
    pub(super) fn is_busy(&self) -> bool {
        let streams = lock(&self.streams);
        let listens = streams.own.as_ref().is_some_and(|own| !own.is_closed());
        !streams.requests.is_empty() || listens
    }

    pub(super) fn conversation(&self) -> &Arc<Conversation> {
        &self.both.conversation
    }

    pub(super) async fn put(&self, text: String) {
        self.both.to_server.put(text).await;
    }

    /// A message that is no request.
    pub(super) async fn give(&self, frame: Frame, way: &Arc<dyn Outlet>) {
        if let Fate::Pass(text) = self.conversation().from_client(frame, way).await {
            self.put(text).await;
        }
    }

    /// The stream of a session; `None` where it is open already.
    pub(super) fn open_stream(&self) -> Option<mpsc::Receiver<Message>> {
        let mut streams = lock(&self.streams);
        if streams.own.as_ref().is_some_and(|own| !own.is_closed()) {
            return None;
        }
        let (sender, messages) = mpsc::channel(WAITING_MESSAGES_MAX);
        for message in streams.waiting.drain(..) {
            let _ = sender.try_send(message);
        }
        streams.own = Some(sender);
        Some(messages)
    }

    /// Makes a way for a request; the request as it goes on, under another id where its own is taken.
    pub(super) fn route(
        &self,
        frame: Frame,
        id: &Id,
    ) -> Option<(Route, Frame, mpsc::Receiver<Message>)> {
        let mut streams = lock(&self.streams);
        if streams.requests.len() >= IN_FLIGHT_MAX || self.has_ended() {
            return None;
        }
        let progress = frame.param("_meta").and_then(|meta| Id::of(meta.get("progressToken")?));
        let same = |open: &Open| progress.is_some() && open.progress == progress;
        let is_taken = streams.requests.contains_key(id)
            || (self.is_shared && streams.requests.values().any(same));
        if is_taken && !self.is_shared {
            return None;
        }
        let (sender, messages) = mpsc::channel(CHUNKS_MAX);
        let mut route = Route {
            wire: id.clone(),
            sender: sender.downgrade(),
            id: id.clone(),
            progress: progress.clone(),
            is_renamed: false,
        };
        let (mut frame, mut token) = (frame, progress);
        if is_taken {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            route.wire = Id::own(&format!("tollgate-again-{number}"));
            route.is_renamed = true;
            token = token.is_some().then(|| route.wire.clone());
            frame = renamed(frame, &route.wire, token.is_some())?;
        }
        streams.requests.insert(route.wire.clone(), Open { sender, progress: token });
        streams.order.push_back(route.wire.clone());
        Some((route, frame, messages))
    }

    pub(super) fn leave(&self, wire: &Id) {
        let mut streams = lock(&self.streams);
        streams.requests.remove(wire);
        streams.order.retain(|one| one != wire);
    }

    /// A message to the client, with its own id and token.
    pub(super) fn restored(&self, text: String, route: &Route) -> String {
        if !route.is_renamed {
            return text;
        }
        let Ok(frame) = Frame::read(text.as_str()) else { return text };
        let json = |id: &Id| Json::read(id.as_json().as_bytes()).unwrap_or_default();
        if frame.get("id").and_then(Id::of).as_ref() == Some(&route.wire) {
            return frame.with("id", json(&route.id));
        }
        let Some(mut params) = frame.params().and_then(Json::as_object).cloned() else {
            return text;
        };
        if let Some(progress) =
            route.progress.as_ref().filter(|_| params.contains_key("progressToken"))
        {
            params.insert("progressToken", json(progress));
        }
        if let Some(Json::Object(meta)) = params.get_mut("_meta") {
            let key = "io.modelcontextprotocol/subscriptionId";
            if meta.contains_key(key) {
                meta.insert(key, json(&route.id));
            }
        }
        frame.with("params", params.into())
    }

    /// The client of a request is gone. In the revision without sessions that cancels it.
    pub(super) async fn client_of_request_is_gone(&self, route: &Route, was_asked: bool) {
        if !was_asked {
            let _ = self.conversation().give_up(&route.wire, "the client is gone");
            return;
        }
        if !self.is_shared {
            return;
        }
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#,
            route.wire.as_json()
        );
        if let Ok(frame) = Frame::read(text) {
            let nowhere: Arc<dyn Outlet> = Arc::new(self.both.to_client.clone());
            self.give(frame, &nowhere).await;
        }
    }

    /// Gives each message of the program to the stream that it belongs to.
    async fn deliver(self: Arc<Self>, mut said: Queued) {
        while let Some(Some(message)) = said.recv().await {
            lock(&self.streams).give(message, self.is_shared);
        }
        let mut streams = lock(&self.streams);
        *streams = Streams::default();
    }
}

impl Streams {
    fn give(&mut self, message: Message, is_shared: bool) {
        let target = match &message.about {
            About::Answer(id) | About::Subscription(id) => match self.requests.get(id) {
                Some(open) => Some(open.sender.clone()),
                // The client is gone, and with it the stream that this belongs to.
                None => return,
            },
            About::Progress(token) => {
                let mut open = self.requests.values();
                let open = open.find(|open| open.progress.as_ref() == Some(token));
                open.map(|open| open.sender.clone())
            }
            About::Nothing => self.unasked(is_shared),
        };
        match target {
            // A full queue: its client reads too slowly, and its stream ends with what is in it.
            Some(sender) => {
                if sender.try_send(message).is_err() {
                    self.requests.retain(|_, open| !open.sender.same_channel(&sender));
                    if self.own.as_ref().is_some_and(|own| own.same_channel(&sender)) {
                        self.own = None;
                    }
                }
            }
            None if is_shared || message.about != About::Nothing => {}
            None => {
                if self.waiting.len() >= WAITING_MESSAGES_MAX {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(message);
            }
        }
    }

    /// Where that goes which names no request: to the only request there is, which it must be about;
    /// otherwise to the stream that the client opened, and where there is none to the first request.
    /// Between clients that share a program nothing is guessed.
    fn unasked(&self, is_shared: bool) -> Option<mpsc::Sender<Message>> {
        if self.requests.len() == 1 || (is_shared && self.requests.len() > 1) {
            let only = self.requests.values().next().filter(|_| self.requests.len() == 1);
            return only.map(|open| open.sender.clone());
        }
        let own = self.own.as_ref().filter(|own| !own.is_closed()).cloned();
        let first = || self.order.front().and_then(|id| self.requests.get(id));
        own.or_else(|| first().map(|open| open.sender.clone()))
    }
}

/// A request under another id, and its progress under another token.
fn renamed(frame: Frame, wire: &Id, with_token: bool) -> Option<Frame> {
    let id = Json::read(wire.as_json().as_bytes()).ok()?;
    let mut text = frame.with("id", id.clone());
    if with_token {
        let frame = Frame::read(text).ok()?;
        let mut params: Object = frame.params()?.as_object()?.clone();
        if let Some(Json::Object(meta)) = params.get_mut("_meta") {
            meta.insert("progressToken", id);
        }
        text = frame.with("params", params.into());
    }
    Frame::read(text).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
