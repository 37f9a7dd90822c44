//! One corpus through every channel of the library: nothing of it leaves in plain text.
//!
//! A policy that redacts at every kind stands before them. Records are looked at under a policy without
//! a hook as well: they are scrubbed of secrets whatever the hooks say.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tollgate::Tollgate;
use tollgate::gate::{
    ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver, Channel, Decision, Event, Json,
    MemoryLedger, Object, Soon, Timestamp,
};

const REDACTS: &str = "version: 1
hooks:
  - name: masked
    on: [agent_start, prompt_build, memory_load, before, after, agent_end]
    priority: 0
    redact: { find: [secrets, pii], mask: label }
  - name: asked
    on: pre_tool
    match: { tool: asks }
    ask: true
  - name: barrier
    on: pre_tool
    priority: -10
    match: { tool: refused }
    deny: no
";

const REDACTS_NOTHING: &str = "version: 1
hooks: [{ name: idle, on: pre_tool, match: { tool: none }, deny: no }]
";

/// What must not leave, as it is looked for.
struct Corpus {
    secrets: Vec<String>,
    personal: Vec<String>,
}

impl Corpus {
    fn new() -> Corpus {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        Corpus {
            secrets: vec![token, "hunter2-and-more!".to_owned(), "MIIEvQIBADANBgkq".to_owned()],
            personal: ["13812345678", "zhangsan@x.com", "4111 1111 1111 1111", "536-22-1234"]
                .map(str::to_owned)
                .to_vec(),
        }
    }

    /// A value that holds all of it: as text, in a key, as a number, in JSON within a text, in lines.
    fn value(&self) -> Json {
        let [token, password, pem] = self.secrets.as_slice() else { panic!("three secrets") };
        let [phone, mail, card, ssn] = self.personal.as_slice() else { panic!("four data") };
        let text = format!("use {token}, call {phone}, write to {mail}, card {card}, SSN {ssn}");
        let key = format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n");
        let inner = Object::from_iter([("password", password.as_str()), ("mail", mail)]);
        let mut value = Object::from_iter([("text", text.as_str()), ("pem", key.as_str())]);
        value.insert("inner", Json::from(inner).text());
        value.insert("password", password.as_str());
        value.insert("number", Json::read(phone.as_bytes()).unwrap());
        value.insert(mail.as_str(), true);
        value.insert("list", Json::Array(vec![token.as_str().into(), mail.as_str().into()]));
        value.into()
    }

    #[track_caller]
    fn is_absent(&self, channel: Channel, text: &str) {
        assert!(!text.is_empty(), "{channel:?}: nothing left at all");
        self.secrets_are_absent(channel, text);
        for datum in &self.personal {
            assert!(!text.contains(datum), "{channel:?}: {datum} in {text}");
        }
    }

    #[track_caller]
    fn secrets_are_absent(&self, channel: Channel, text: &str) {
        for secret in &self.secrets {
            assert!(!text.contains(secret), "{channel:?}: {secret} in {text}");
        }
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a decision of inline hooks waits"),
    }
}

/// Keeps what people are shown.
#[derive(Default)]
struct Shown(Mutex<Vec<ApprovalRequest>>);

impl Approver for Shown {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        self.0.lock().unwrap().push(request.clone());
        Soon::now(ApprovalReply::to(request, ApprovalAnswer::Pending))
    }
}

struct Rig {
    corpus: Corpus,
    tollgate: Tollgate,
    ledger: Arc<MemoryLedger>,
    shown: Arc<Shown>,
}

impl Rig {
    fn new(policy: &str) -> Rig {
        let (ledger, shown) = (Arc::new(MemoryLedger::new()), Arc::new(Shown::default()));
        let tollgate = Tollgate::builder()
            .policy_text("tollgate.yaml", policy)
            .ledger(Arc::<MemoryLedger>::clone(&ledger))
            .approver(Arc::<Shown>::clone(&shown))
            .open();
        let tollgate = tollgate.unwrap_or_else(|error| panic!("{error}"));
        Rig { corpus: Corpus::new(), tollgate, ledger, shown }
    }

    /// Decides an event of this kind; `<corpus>` in the payload stands for the corpus.
    fn decide(&self, kind: &str, payload: &str) -> Decision {
        let session = format!(r#"{{"id":"s1","user":"bob","note":"{}"}}"#, self.corpus.secrets[0]);
        let payload = payload.replace("<corpus>", &self.corpus.value().text());
        let text = format!(r#"{{"kind":"{kind}","session":{session},"payload":{payload}}}"#);
        let event = Event::read(text.as_bytes(), Timestamp::from_millis(0)).unwrap();
        ready(self.tollgate.gate().judge(event))
    }

    fn part(&self, kind: &str, payload: &str) -> String {
        self.decide(kind, payload).payload.part().unwrap().text()
    }

    fn records(&self) -> String {
        let records = self.ledger.records();
        records.iter().map(|record| serde_json::to_string(record).unwrap()).collect()
    }
}

const CONTEXT: &str = r#"{"context":<corpus>}"#;
const CALL: &str = r#"{"tool":"t","arguments":<corpus>}"#;
const ASKS: &str = r#"{"tool":"asks","arguments":<corpus>}"#;
const ENDED: &str = r#"{"tool":"t","arguments":{},"result":{"ok":true,"content":<corpus>}}"#;
const REFUSED: &str = r#"{"tool":"refused","arguments":<corpus>}"#;
const ENDED_AS_CALLED: &str =
    r#"{"tool":"t","arguments":<corpus>,"result":{"ok":true,"content":"done"}}"#;
const MODEL: &str = r#"{"model":"m","messages":[{"role":"user","content":<corpus>}]}"#;
const REPLY: &str = r#"{"model":"m","messages":[],"reply":<corpus>}"#;
const ANSWER: &str = r#"{"answer":<corpus>}"#;

/// What left by a channel; `None` where another test looks.
fn left(rig: &Rig, channel: Channel) -> Option<String> {
    Some(match channel {
        Channel::Context => rig.part("agent_start", CONTEXT),
        Channel::Prompt => rig.part("prompt_build", r#"{"prompt":<corpus>}"#),
        Channel::Memory => rig.part("memory_load", r#"{"memory":<corpus>}"#),
        Channel::ModelRequest => rig.part("pre_model", MODEL),
        Channel::ModelReply => rig.part("post_model", REPLY),
        Channel::ToolArguments => rig.part("pre_tool", CALL),
        Channel::ToolResult => rig.part("post_tool", ENDED),
        Channel::ToolError => {
            // The message of an error is a text.
            let message = Json::from(rig.corpus.value().text()).text();
            let failed = r#"{"tool":"t","arguments":{},"result":{"ok":false,"error":#}}"#;
            rig.part("tool_error", &failed.replace('#', &message))
        }
        Channel::FinalAnswer => rig.part("agent_end", ANSWER),
        Channel::Decision => serde_json::to_string(&rig.decide("post_tool", ENDED)).unwrap(),
        Channel::Trace => serde_json::to_string(&*rig.decide("post_tool", ENDED).votes).unwrap(),
        Channel::Record => {
            for (kind, payload) in [
                ("agent_start", CONTEXT),
                ("pre_model", MODEL),
                ("pre_tool", CALL),
                ("pre_tool", REFUSED),
                ("post_tool", ENDED_AS_CALLED),
                ("agent_end", ANSWER),
            ] {
                rig.decide(kind, payload);
            }
            rig.records()
        }
        Channel::Approval => {
            rig.decide("pre_tool", ASKS);
            let shown = rig.shown.0.lock().unwrap();
            assert_eq!(shown.len(), 1, "one question was asked");
            format!("{} {} {}", shown[0].shown.text(), shown[0].reason, shown[0].subject)
        }
        Channel::ErrorMessage => {
            let broken = format!(r#"{{"kind":{},"payload":"#, rig.corpus.value().text());
            let wrong = format!(r#"{{"kind":"pre_tool","session":{}}}"#, rig.corpus.value().text());
            let read = |text: &str| Event::read(text.as_bytes(), Timestamp::from_millis(0));
            format!("{} {}", read(&broken).unwrap_err(), read(&wrong).unwrap_err())
        }
        Channel::Metrics => {
            rig.decide("post_tool", ENDED);
            rig.tollgate.gate().metrics_text()
        }
        // crates/cli/tests/it/channels.rs
        Channel::Explanation
        | Channel::TestReport
        | Channel::BacktestReport
        | Channel::ScanReport
        | Channel::FilteredText
        | Channel::AuditReport
        | Channel::Proof
        | Channel::Export
        | Channel::Alert
        | Channel::ApprovalReport
        | Channel::SessionReport
        | Channel::LimitReport
        | Channel::ReviewReport
        | Channel::Exception
        | Channel::HookAnswer
        | Channel::RelayMessage
        | Channel::CommandOutput => return None,
    })
}

#[test]
fn no_channel_lets_a_secret_or_a_personal_datum_out() {
    for channel in Channel::ALL {
        let rig = Rig::new(REDACTS);
        let Some(text) = left(&rig, channel) else { continue };
        rig.corpus.is_absent(channel, &text);
        if channel == Channel::Trace {
            assert!(text.contains(r#""rule":"github-pat""#), "{text}");
        }
    }
}

#[test]
fn records_and_questions_hold_no_secret_whatever_the_hooks_say() {
    let rig = Rig::new(REDACTS_NOTHING);
    for (kind, payload) in [
        ("agent_start", CONTEXT),
        ("pre_model", MODEL),
        ("pre_tool", CALL),
        ("post_tool", ENDED),
        ("agent_end", ANSWER),
    ] {
        let plain = rig.part(kind, payload);
        assert!(plain.contains(&rig.corpus.secrets[0]), "{kind}: the hooks mask nothing here");
    }
    rig.corpus.secrets_are_absent(Channel::Record, &rig.records());
    let asks = Rig::new(&REDACTS.replace("find: [secrets, pii]", "find: [mac]"));
    let text = left(&asks, Channel::Approval).unwrap();
    asks.corpus.secrets_are_absent(Channel::Approval, &text);
}
