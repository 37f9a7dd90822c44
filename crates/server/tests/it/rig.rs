//! A conversation with a policy, and peers that remember what they were sent.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tollgate::Tollgate;
use tollgate::gate::{
    ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver, Durability, Json, Ledger,
    LedgerError, MemoryLedger, Record, Session, Soon,
};
use tollgate_server::mcp::{
    Asking, Conversation, Definitions, Fate, Frame, Outlet, Relay, RelayOptions,
};

/// A peer that remembers what the relay itself told it.
#[derive(Default)]
pub(crate) struct Told(Mutex<Vec<String>>);

impl Outlet for Told {
    fn send(&self, text: String) -> bool {
        self.0.lock().unwrap().push(text);
        true
    }
}

impl Told {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until something was said; gives it.
    pub(crate) async fn next(&self, at: usize) -> Json {
        loop {
            if let Some(text) = self.all().get(at) {
                return json(text);
            }
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) struct Rig {
    pub(crate) talk: Arc<Conversation>,
    pub(crate) client: Arc<Told>,
    pub(crate) server: Arc<Told>,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    pub(crate) ledger: Arc<MemoryLedger>,
    pub(crate) definitions: Arc<Definitions>,
}

/// What a relay stands on.
pub(crate) struct Ground {
    pub(crate) relay: Arc<Relay>,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    pub(crate) ledger: Arc<MemoryLedger>,
    pub(crate) definitions: Arc<Definitions>,
}

/// A relay before the server `srv` under these hooks.
pub(crate) fn relay(hooks: &str) -> Ground {
    relay_asking(hooks, None)
}

/// The same, before people who are asked like this.
fn relay_asking(hooks: &str, people: Option<Arc<dyn Approver>>) -> Ground {
    let ledger = Arc::new(MemoryLedger::new());
    let definitions = Arc::new(Definitions::new("srv", None));
    let asking = Asking::or_else(people);
    let opened = Tollgate::builder()
        .policy_text("policy.yaml", format!("version: 1\nhooks:\n{hooks}"))
        .ledger(Arc::<MemoryLedger>::clone(&ledger))
        .hook(definitions.hook())
        .approver(Arc::<Asking>::clone(&asking))
        .open()
        .unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let relay = Relay::new(RelayOptions {
        gate: Arc::clone(opened.gate()),
        server: "srv".into(),
        definitions: Arc::clone(&definitions),
        asking,
        tell: Arc::new(move |line: &str| log.lock().unwrap().push(line.to_owned())),
    });
    Ground { relay, lines, ledger, definitions }
}

/// A conversation under these hooks.
pub(crate) fn rig(hooks: &str) -> Rig {
    on(relay(hooks))
}

/// People who never answer, and note which questions were taken back.
#[derive(Default)]
pub(crate) struct Silent {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) taken_back: Mutex<Vec<String>>,
}

impl Approver for Silent {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        self.asked.lock().unwrap().push(request.id.to_string());
        Soon::later(std::future::pending())
    }

    fn take_back<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        self.taken_back.lock().unwrap().push(request.id.to_string());
        Soon::now(ApprovalReply::to(request, ApprovalAnswer::Cancelled))
    }
}

impl Silent {
    /// Waits until somebody is asked.
    pub(crate) async fn until_asked(&self) {
        while self.asked.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// Whether all that was asked was taken back.
    pub(crate) fn has_nothing_open(&self) -> bool {
        *self.asked.lock().unwrap() == *self.taken_back.lock().unwrap()
    }
}

/// A relay before people who never answer.
pub(crate) fn relay_before(people: &Arc<Silent>, hooks: &str) -> Ground {
    relay_asking(hooks, Some(Arc::<Silent>::clone(people)))
}

/// A conversation under these hooks, with people who never answer.
pub(crate) fn rig_before_silent_people(hooks: &str) -> (Rig, Arc<Silent>) {
    let people = Arc::new(Silent::default());
    (on(relay_before(&people, hooks)), people)
}

/// A disk that takes another time for each record that is waited for.
struct Uneven(AtomicU64);

impl Ledger for Uneven {
    fn append(&self, _: Record, durability: Durability) -> Soon<'_, Result<(), LedgerError>> {
        if durability == Durability::Buffered {
            return Soon::now(Ok(()));
        }
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        Soon::later(async move {
            tokio::time::sleep(std::time::Duration::from_millis((number * 7) % 13)).await;
            Ok(())
        })
    }
}

/// A relay before people who never answer, whose records take another time each.
pub(crate) fn relay_on_an_uneven_disk(people: &Arc<Silent>, hooks: &str) -> Arc<Relay> {
    let asking = Asking::or_else(Some(Arc::<Silent>::clone(people) as Arc<dyn Approver>));
    let definitions = Arc::new(Definitions::new("srv", None));
    let opened = Tollgate::builder()
        .policy_text("policy.yaml", format!("version: 1\nhooks:\n{hooks}"))
        .ledger(Arc::new(Uneven(AtomicU64::new(1))))
        .hook(definitions.hook())
        .approver(Arc::<Asking>::clone(&asking))
        .open()
        .unwrap();
    Relay::new(RelayOptions {
        gate: Arc::clone(opened.gate()),
        server: "srv".into(),
        definitions,
        asking,
        tell: Arc::new(|_: &str| {}),
    })
}

fn on(ground: Ground) -> Rig {
    let Ground { relay, lines, ledger, definitions } = ground;
    let client = Arc::new(Told::default());
    let server = Arc::new(Told::default());
    let way = Arc::<Told>::clone(&server);
    let talk = relay.converse(Session::new("s1").with_user("alice"), way);
    Rig { talk, client, server, lines, ledger, definitions }
}

impl Rig {
    pub(crate) async fn client_says(&self, text: &str) -> Fate {
        let way: Arc<dyn Outlet> = Arc::<Told>::clone(&self.client);
        self.talk.from_client(Frame::read(text).unwrap(), &way).await
    }

    pub(crate) async fn server_says(&self, text: &str) -> Fate {
        Arc::clone(&self.talk).from_server(Frame::read(text).unwrap()).await
    }

    /// A call of a tool goes to the server; what the server is sent.
    pub(crate) async fn call(&self, id: &str, tool: &str, arguments: &str) -> Fate {
        self.client_says(&call(id, tool, arguments)).await
    }

    /// A request, and the server's result of it; what the client is given.
    pub(crate) async fn exchange(&self, method: &str, params: &str, result: &str) -> Fate {
        let asked = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
        assert_eq!(self.client_says(&asked).await, Fate::Pass(asked));
        self.server_says(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)).await
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.ledger.records()
    }
}

pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

pub(crate) fn json(text: &str) -> Json {
    Json::read(text.as_bytes()).unwrap()
}

/// The message of a fate that passes one.
pub(crate) fn passed(fate: Fate) -> Json {
    match fate {
        Fate::Pass(text) => json(&text),
        other @ (Fate::Answer(_) | Fate::Drop) => panic!("{other:?}"),
    }
}

/// The message of a fate that answers with one.
pub(crate) fn answered(fate: Fate) -> Json {
    match fate {
        Fate::Answer(text) => json(&text),
        other @ (Fate::Pass(_) | Fate::Drop) => panic!("{other:?}"),
    }
}

/// A value by its way of keys.
pub(crate) fn at<'j>(value: &'j Json, way: &str) -> &'j Json {
    way.split('.').fold(value, |value, key| match key.parse::<usize>() {
        Ok(index) => &value.as_array().unwrap()[index],
        Err(_) => value.get(key).unwrap_or(&Json::Null),
    })
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}
