//! The relay: what becomes of each message.
//!
//! It knows no transport. A transport gives it one message after the other, in the order in which
//! they came, and does what it is told: pass a text on, answer, or drop it. Nothing is passed that was
//! not looked at, so an answer that belongs to no request is dropped.
//!
//! Requests that do something (`tools/call`, reading a resource, filling in a prompt, whatever is not
//! known here) are calls of the gate; what is asked of the client's model is a model call; what
//! else carries text (lists, instructions, log lines, progress) passes the hooks of results.

mod again;
mod ask;
mod call;
mod fit;
mod hidden;
mod inputs;
mod listing;
mod open;
mod served;
mod texts;

pub use ask::Asking;

use super::answer;
use super::definitions::Definitions;
use super::frame::{Frame, Id, Malformed, Shape};
use super::limits::{IN_FLIGHT_MAX, LOOK_MS, TASKS_MAX};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tollgate::gate::{Gate, Json, Name, Object, Session, Ticket, ToolCall};

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a message is to be passed, answered or dropped"]
pub enum Fate {
    /// This text goes on to the other side.
    Pass(String),
    /// This text goes back to where the message came from.
    Answer(String),
    /// Nothing goes anywhere.
    Drop,
}

/// A way to a peer for what the relay itself has to say.
pub trait Outlet: Send + Sync {
    /// Sends one message. Whether the peer can still be reached.
    fn send(&self, text: String) -> bool;

    /// The message that this is the way back of waits for a person from now on: nobody waits for it.
    fn waits_for_a_person(&self) {}
}

/// What all conversations with one server share.
pub struct RelayOptions {
    /// The gate.
    pub gate: Arc<Gate>,
    /// The server's name, as policies and the ledger know it.
    pub server: Name,
    /// What the server says its tools are. Its hook must be registered with the gate.
    pub definitions: Arc<Definitions>,
    /// What reaches people through the client; it must be the gate's approver.
    pub asking: Arc<Asking>,
    /// Tells the person who runs the relay something; the text is one line.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The relay in front of one server.
pub struct Relay {
    gate: Arc<Gate>,
    server: Name,
    definitions: Arc<Definitions>,
    asking: Arc<Asking>,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// What servers asked for inside of their results.
    inputs: inputs::Pending,
}

/// One client's conversation with the server.
pub struct Conversation {
    relay: Arc<Relay>,
    session: Mutex<Arc<Session>>,
    /// To the server, for what the relay asks it itself.
    server: Arc<dyn Outlet>,
    /// What the client asked the server.
    asked: Mutex<HashMap<Id, Asked>>,
    /// What the server asked the client.
    served: Mutex<HashMap<Id, Served>>,
    /// What the relay itself asked.
    own: Mutex<HashMap<Id, Own>>,
    /// The calls that tasks belong to, by the task's id.
    tasks: Mutex<HashMap<String, Arc<ToolCall>>>,
    /// Whether the client can show a question to a person.
    elicits: AtomicBool,
    next: AtomicU64,
    /// What was answered lately: a stream that broke says it again. `None` where none can.
    heard: Mutex<Option<again::Heard>>,
}

/// A request of the client that is under way.
struct Asked {
    method: Name,
    is_modern: bool,
    what: What,
    /// Under which the client wants to hear of progress.
    progress: Option<Id>,
    /// What it says of its client, in the later revision.
    meta: Object,
    cancelled: Arc<Notify>,
    is_cancelled: bool,
}

/// What an answer is looked at as.
enum What {
    /// The result of a call.
    Call { call: Arc<ToolCall>, ticket: Option<Ticket> },
    /// The result of a call that went on as one of a tool that nobody has.
    Hidden(hidden::Hidden),
    /// A list of tools.
    Tools,
    /// What a task has come to.
    Task(Arc<ToolCall>),
    /// Texts that describe or list something.
    Texts,
    /// The empty answer to a ping.
    Nothing,
}

/// A question of the relay's own.
struct Own {
    answer: oneshot::Sender<Frame>,
    /// Whether it is the client's to answer.
    is_clients: bool,
}

/// A request of the server that is under way.
enum Served {
    /// It is with the gate; this ends that.
    Deciding(Arc<Notify>),
    /// A call of the gate.
    Call(Ticket),
    /// A ping.
    Plain,
}

impl Relay {
    /// A relay in front of a server.
    pub fn new(options: RelayOptions) -> Arc<Relay> {
        let RelayOptions { gate, server, definitions, asking, tell } = options;
        Arc::new(Relay {
            gate,
            server,
            definitions,
            asking,
            tell,
            inputs: inputs::Pending::default(),
        })
    }

    /// A conversation of this session; `server` is the way to the server.
    pub fn converse(
        self: &Arc<Relay>,
        session: Session,
        server: Arc<dyn Outlet>,
    ) -> Arc<Conversation> {
        Arc::new(Conversation {
            relay: Arc::clone(self),
            session: Mutex::new(Arc::new(session)),
            server,
            asked: Mutex::default(),
            served: Mutex::default(),
            own: Mutex::default(),
            tasks: Mutex::default(),
            elicits: AtomicBool::new(false),
            next: AtomicU64::new(0),
            heard: Mutex::default(),
        })
    }

    /// What the server says its tools are.
    pub fn definitions(&self) -> &Arc<Definitions> {
        &self.definitions
    }

    /// Takes back all that people are asked: the relay ends. Waits until nobody is asked any more.
    pub(super) async fn take_questions_back(&self) {
        while self.asking.is_asking() {
            self.asking.take_all_back();
            tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
        }
    }

    pub(super) fn tell(&self, line: &str) {
        (self.tell)(line);
    }
}

impl Conversation {
    /// What becomes of a message of the client. `client` is the way back to it, for what has to be
    /// said before the answer: a question, a sign of life.
    pub async fn from_client(self: &Arc<Self>, frame: Frame, client: &Arc<dyn Outlet>) -> Fate {
        match frame.shape().clone() {
            Shape::Request { id, method } => self.request(frame, id, method, client).await,
            Shape::Notification { method } => self.notified(frame, &method),
            Shape::Answer { id, .. } => self.client_answered(frame, id).await,
        }
    }

    /// What becomes of a message of the server.
    pub async fn from_server(self: Arc<Self>, frame: Frame) -> Fate {
        match frame.shape().clone() {
            Shape::Request { id, method } => self.serve(frame, id, method).await,
            Shape::Notification { method } => self.server_notified(frame, method).await,
            Shape::Answer { id, ok } => self.server_answered(frame, id, ok).await,
        }
    }

    /// The server is gone: the answers to all that was asked of it and is still open. What those
    /// calls did is not known, and recorded so.
    pub fn server_is_gone(&self, why: &str) -> Vec<(Id, String)> {
        let asked: Vec<(Id, Asked)> = lock(&self.asked).drain().collect();
        lock(&self.own).clear();
        let open = asked.into_iter().filter(|(_, asked)| !asked.is_cancelled);
        open.map(|(id, _)| {
            let text = answer::error(Some(&id), answer::INTERNAL, why, None);
            (id, text)
        })
        .collect()
    }

    /// The server wrote what is no message. Nobody is given it; whoever waits for it is told.
    pub fn unreadable_from_server(&self, refused: &Malformed, id: Option<Id>) -> Option<String> {
        self.relay
            .tell(&format!("the server wrote what is no message, and it is dropped: {refused}"));
        let asked = id.as_ref().and_then(|id| lock(&self.asked).remove(id))?;
        // The call may well have run; its ticket is dropped, and its outcome recorded as unknown.
        if asked.is_cancelled {
            return None;
        }
        let message = format!("the server's answer cannot be passed on: {refused}");
        Some(answer::error(id.as_ref(), answer::INTERNAL, &message, None))
    }

    /// The client is gone: what it had asked is cancelled, questions to a person with it.
    pub fn client_is_gone(&self) {
        for asked in lock(&self.asked).values_mut() {
            asked.is_cancelled = true;
            asked.cancelled.notify_one();
        }
        lock(&self.served).clear();
        lock(&self.own).clear();
    }

    /// Nobody waits for the answer to this request any more. What it did is not known. Gives the
    /// error that answers it, unless it is answered or cancelled already.
    pub(super) fn give_up(&self, id: &Id, why: &str) -> Option<String> {
        let asked = lock(&self.asked).remove(id)?;
        asked.cancelled.notify_one();
        let is_open = !asked.is_cancelled;
        is_open.then(|| answer::error(Some(id), answer::INTERNAL, why, None))
    }

    /// Whether a request of the client is under way.
    pub(super) fn is_open(&self, id: &Id) -> bool {
        lock(&self.asked).contains_key(id)
    }

    /// Whether the server, or the relay, waits for the client's answer to this.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        lock(&self.served).contains_key(id) || lock(&self.own).contains_key(id)
    }

    /// The relay that this is a conversation of.
    pub(super) fn relay(&self) -> &Arc<Relay> {
        &self.relay
    }

    /// Who acts.
    pub fn session(&self) -> Arc<Session> {
        Arc::clone(&lock(&self.session))
    }

    /// How many requests of the client are under way.
    pub fn in_flight(&self) -> usize {
        lock(&self.asked).len()
    }

    /// A request of the client.
    async fn request(
        self: &Arc<Self>,
        frame: Frame,
        id: Id,
        method: Name,
        client: &Arc<dyn Outlet>,
    ) -> Fate {
        let what = match self.what(&frame, &method) {
            Ok(what) => what,
            Err(reason) => {
                return Fate::Answer(answer::error(
                    Some(&id),
                    answer::INVALID_PARAMS,
                    reason,
                    None,
                ));
            }
        };
        let is_call = matches!(what, What::Call { .. });
        let frame = if frame.param("inputResponses").is_some() {
            match self.settle_inputs(frame, &id).await {
                Ok(frame) => frame,
                Err(refused) => return Fate::Answer(refused),
            }
        } else {
            frame
        };
        let cancelled = Arc::new(Notify::new());
        let progress = frame.param("_meta").and_then(|meta| Id::of(meta.get("progressToken")?));
        let is_modern = frame.is_modern();
        let asked = Asked {
            method: Name::clone(&method),
            is_modern,
            meta: if is_modern { call::meta_of(&frame) } else { Object::new() },
            what,
            progress,
            cancelled: Arc::clone(&cancelled),
            is_cancelled: false,
        };
        if let Err(reason) = self.enter(&id, asked) {
            return Fate::Answer(answer::error(Some(&id), answer::INVALID, reason, None));
        }
        if &*method == "initialize" {
            return self.open(frame, id).await;
        }
        if is_call {
            self.call(frame, id, client, cancelled).await
        } else {
            Fate::Pass(frame.into_text())
        }
    }

    /// Notes a request, if it can be taken.
    fn enter(&self, id: &Id, request: Asked) -> Result<(), &'static str> {
        let mut asked = lock(&self.asked);
        if asked.len() >= IN_FLIGHT_MAX {
            return Err("too many requests are under way");
        }
        if asked.contains_key(id) {
            return Err("a request with this id is under way");
        }
        asked.insert(id.clone(), request);
        Ok(())
    }

    /// What the answer to a request will be looked at as.
    fn what(&self, frame: &Frame, method: &str) -> Result<What, &'static str> {
        Ok(match method {
            "tools/list" => What::Tools,
            "ping" => What::Nothing,
            "initialize"
            | "server/discover"
            | "resources/list"
            | "resources/templates/list"
            | "prompts/list"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "subscriptions/listen"
            | "tasks/list"
            | "tasks/cancel" => What::Texts,
            "tasks/result" | "tasks/get" | "tasks/update" => {
                let task = frame.param("taskId").and_then(Json::as_str).unwrap_or_default();
                match lock(&self.tasks).get(task) {
                    Some(call) => What::Task(Arc::clone(call)),
                    None => What::Texts,
                }
            }
            "tools/call" => What::Call { call: Arc::new(self.tool_call(frame)?), ticket: None },
            other => What::Call { call: Arc::new(self.method_call(frame, other)), ticket: None },
        })
    }

    /// A notification of the client. It says something to the server and asks nothing of it: a request
    /// that leaves its id out would be done by some servers, and nobody would hear what came of it.
    fn notified(&self, frame: Frame, method: &str) -> Fate {
        if !method.starts_with("notifications/") {
            self.relay.tell("the client sent a request without an id; it is dropped");
            return Fate::Drop;
        }
        if method != "notifications/cancelled" {
            return Fate::Pass(frame.into_text());
        }
        let Some(id) = frame.param("requestId").and_then(Id::of) else { return Fate::Drop };
        let mut asked = lock(&self.asked);
        match asked.get_mut(&id) {
            // Nothing that could be cancelled; a server has nothing to do with it.
            None => Fate::Drop,
            Some(request) => {
                request.is_cancelled = true;
                request.cancelled.notify_one();
                match &request.what {
                    // It is still with the gate, and the server has not heard of it.
                    What::Call { ticket: None, .. } => Fate::Drop,
                    What::Call { ticket: Some(_), .. }
                    | What::Hidden(_)
                    | What::Tools
                    | What::Task(_)
                    | What::Texts
                    | What::Nothing => Fate::Pass(frame.into_text()),
                }
            }
        }
    }

    /// An answer of the server.
    async fn server_answered(self: &Arc<Self>, frame: Frame, id: Option<Id>, ok: bool) -> Fate {
        // An error about a message that the server could not read: its text is looked at.
        let Some(id) = id else { return self.review_error(frame, None).await };
        if let Some(waiting) = self.take_own(&id, false) {
            let _ = waiting.send(frame);
            return Fate::Drop;
        }
        let Some(asked) = lock(&self.asked).remove(&id) else {
            self.relay
                .tell("the server answered a request that nobody made; the answer is dropped");
            return Fate::Drop;
        };
        self.note_heard(&id, &asked);
        let form = call::Form::of(&asked);
        let fate = match asked.what {
            What::Call { call, ticket: Some(ticket) } => {
                self.settle(frame, &id, &call, ticket, (form, asked.meta)).await
            }
            // The request never went to the server, so this cannot be its answer.
            What::Call { ticket: None, .. } => Fate::Drop,
            What::Hidden(hidden) => self.nobody_answered(frame, &id, &hidden).await,
            What::Nothing if ok => self.empty_or_reviewed(frame, Name::clone(&asked.method)).await,
            _ if !ok => self.review_error(frame, Some(Name::clone(&asked.method))).await,
            What::Tools => self.list_tools(frame, asked.is_modern).await,
            What::Task(call) => self.review_result(frame, &call).await,
            What::Texts | What::Nothing => {
                let call = self.method_named(&asked.method);
                self.review_result(frame, &call).await
            }
        };
        if asked.is_cancelled && matches!(fate, Fate::Answer(_)) { Fate::Drop } else { fate }
    }

    async fn empty_or_reviewed(self: &Arc<Self>, frame: Frame, method: Name) -> Fate {
        let is_empty =
            frame.get("result").and_then(Json::as_object).is_some_and(|result| result.is_empty());
        if is_empty {
            return Fate::Pass(frame.into_text());
        }
        let call = self.method_named(&method);
        self.review_result(frame, &call).await
    }

    /// What waits for the answer to a question of the relay's own, if it is this side's to answer.
    fn take_own(&self, id: &Id, is_clients: bool) -> Option<oneshot::Sender<Frame>> {
        let mut own = lock(&self.own);
        own.get(id).filter(|own| own.is_clients == is_clients)?;
        own.remove(id).map(|own| own.answer)
    }

    /// The client says nothing more: what it was asked stays without an answer.
    pub(super) fn client_says_no_more(&self) {
        lock(&self.own).retain(|_, own| !own.is_clients);
    }

    /// Asks a peer something in the relay's own name. `None` when it cannot be reached.
    fn ask_peer(
        &self,
        peer: &dyn Outlet,
        is_clients: bool,
        method: &str,
        params: &Json,
    ) -> Option<(Id, oneshot::Receiver<Frame>)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = Id::own(&format!("tollgate-{}-{number}", lock(&self.session).id));
        let (sender, receiver) = oneshot::channel();
        lock(&self.own).insert(id.clone(), Own { answer: sender, is_clients });
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":{},"params":{}}}"#,
            id.as_json(),
            Json::from(method).text(),
            params.text()
        );
        if peer.send(text) {
            return Some((id, receiver));
        }
        lock(&self.own).remove(&id);
        None
    }

    /// Nobody waits for this answer any more.
    fn forget_own(&self, id: &Id) {
        lock(&self.own).remove(id);
    }

    fn remember_task(&self, task: &str, call: &Arc<ToolCall>) {
        let mut tasks = lock(&self.tasks);
        if tasks.len() < TASKS_MAX {
            tasks.insert(task.to_owned(), Arc::clone(call));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
