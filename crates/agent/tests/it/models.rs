//! The model gateway, the deltas that a client gives, and scripts.

use crate::rig::{Rig, decisions, gate, json, judge, scripted};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tollgate_agent::{
    Actor, Delta, Message, ModelAnswer, ModelClient, ModelError, ModelGateway, ModelRequest,
    ModelStream, Reply, ScriptError, ScriptedClient,
};
use tollgate_gate::{
    Code, EventKind, Hook, Json, Opinion, RecordKind, Roles, Session, Soon, Usage, inline,
};

/// A client that gives these deltas and keeps what it was asked.
#[derive(Default)]
struct Canned {
    deltas: Mutex<VecDeque<Result<Delta, ModelError>>>,
    asked: Mutex<Vec<ModelRequest>>,
}

struct CannedStream(VecDeque<Result<Delta, ModelError>>);

impl ModelClient for Canned {
    fn provider(&self) -> &str {
        "canned"
    }

    fn start(&self, request: ModelRequest) -> Soon<'_, Result<Box<dyn ModelStream>, ModelError>> {
        self.asked.lock().unwrap().push(request);
        let deltas = std::mem::take(&mut *self.deltas.lock().unwrap());
        Soon::later(async move { Ok(Box::new(CannedStream(deltas)) as Box<dyn ModelStream>) })
    }
}

impl ModelStream for CannedStream {
    fn next(&mut self) -> Soon<'_, Option<Result<Delta, ModelError>>> {
        Soon::later(async {
            tokio::task::yield_now().await;
            self.0.pop_front()
        })
    }
}

fn canned(deltas: impl IntoIterator<Item = Result<Delta, ModelError>>) -> Arc<Canned> {
    Arc::new(Canned { deltas: Mutex::new(deltas.into_iter().collect()), ..Canned::default() })
}

fn piece(index: usize, id: Option<&str>, tool: Option<&str>, arguments: &str) -> Delta {
    let (id, tool) = (id.map(str::to_owned), tool.map(str::to_owned));
    Delta::Call { index, id, tool, arguments: arguments.into() }
}

async fn ask(client: Arc<Canned>, hooks: Vec<Hook>) -> (ModelAnswer, Usage) {
    let (gate, _ledger) = gate(hooks);
    let actor = Actor::gated(gate, Session::new("s1"));
    let gateway = ModelGateway::new(client, "m1", &actor);
    let answer = gateway.call(&[Message::User("hi".into())], &[]).await;
    (answer, gateway.used())
}

#[tokio::test]
async fn deltas_become_one_reply() {
    let usage = |tokens_out| Usage { tokens_in: 7, tokens_out, cost_micros: 1 };
    let client = canned([
        Ok(Delta::Text("I ".into())),
        Ok(piece(1, Some("b"), Some("read"), r#"{"n": 1"#)),
        Ok(piece(0, Some("a"), Some("list"), "")),
        Ok(Delta::Usage(usage(1))),
        Ok(Delta::Text("look".into())),
        Ok(piece(1, None, None, "0}")),
        Ok(piece(2, Some("c"), Some("bad"), "{no json")),
        Ok(Delta::Usage(usage(9))),
    ]);
    let (answer, used) = ask(client, vec![]).await;
    let reply = answer.reply.unwrap();
    assert_eq!(reply.text, "I look");
    let calls: Vec<_> =
        reply.calls.iter().map(|c| (&*c.id, &*c.tool, c.arguments.text())).collect();
    assert_eq!(
        calls,
        [
            ("a", "list", "{}".to_owned()),
            ("b", "read", r#"{"n":10}"#.to_owned()),
            ("c", "bad", r#""{no json""#.to_owned()),
        ]
    );
    assert_eq!((answer.usage, used), (usage(9), usage(9)));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_and_what_it_used_counts() {
    let usage = Usage { tokens_in: 5, tokens_out: 2, cost_micros: 0 };
    let broke = ModelError::Interrupted("connection reset".into());
    let client = canned([Ok(Delta::Text("half of".into())), Ok(Delta::Usage(usage)), Err(broke)]);
    let (answer, used) = ask(client, vec![]).await;
    let failure = answer.reply.unwrap_err();
    assert_eq!(failure.code, Code::from("model_interrupted"));
    assert_eq!(&*failure.message, "the model's answer broke off: connection reset");
    assert_eq!(used, usage);
}

#[tokio::test]
async fn a_panic_of_a_client_is_an_error() {
    struct Broken;
    impl ModelClient for Broken {
        fn provider(&self) -> &str {
            "broken"
        }
        fn start(&self, _: ModelRequest) -> Soon<'_, Result<Box<dyn ModelStream>, ModelError>> {
            panic!("no such field")
        }
    }
    let (gate, ledger) = gate([]);
    let actor = Actor::gated(gate, Session::new("s1"));
    let gateway = ModelGateway::new(Arc::new(Broken), "m1", &actor);
    let failure = gateway.call(&[], &[]).await.reply.unwrap_err();
    assert_eq!(failure.code, Code::from("model_client_panicked"));
    let outcome = ledger.records().pop().unwrap();
    assert_eq!((outcome.ok, outcome.executed), (Some(false), Some(true)));
}

#[tokio::test]
async fn replies_are_bounded() {
    use tollgate_agent::limits::{REPLY_BYTES_MAX, REPLY_CALLS_MAX};
    let flood = canned((0..9).map(|_| Ok(Delta::Text("x".repeat(REPLY_BYTES_MAX / 8)))));
    let calls = canned((0..=REPLY_CALLS_MAX).map(|n| Ok(piece(n, Some("a"), Some("t"), ""))));
    let name = "n".repeat(tollgate_gate::limits::NAME_BYTES_MAX + 1);
    let long = canned([Ok(piece(0, Some("a"), Some(&name), ""))]);
    let nameless = canned([Ok(piece(0, None, Some("t"), ""))]);
    for client in [flood, calls, long, nameless] {
        let (answer, _) = ask(client, vec![]).await;
        assert_eq!(answer.reply.unwrap_err().code, Code::from("model_malformed"));
    }
}

#[tokio::test]
async fn the_model_is_asked_what_was_judged_and_answers_what_the_hooks_leave() {
    let client = canned([Ok(Delta::Text("call 13812345678".into()))]);
    let part = |from: &'static str, to: &'static str| {
        inline(move |view| {
            let text = view.payload.part().unwrap().text().replace(from, to);
            Ok(Opinion::rewrite(json(&text)))
        })
    };
    let before =
        Hook::new("before", EventKind::PreModel, Roles::REWRITE, part("\"hi\"", "\"hello\""));
    let after =
        Hook::new("after", EventKind::PostModel, Roles::REWRITE, part("13812345678", "138***"));
    let (answer, _) = ask(Arc::clone(&client), vec![before, after]).await;
    assert_eq!(client.asked.lock().unwrap()[0].messages, [Message::User("hello".into())]);
    assert_eq!(answer.reply.unwrap().text, "call 138***");
}

#[tokio::test]
async fn further_members_of_a_request_are_judged_and_reach_the_client() {
    let client = canned([Ok(Delta::Text("hi".into()))]);
    let cap = inline(|view| {
        let part = view.payload.part().unwrap();
        let mut request = part.as_object().cloned().unwrap();
        request.insert("max_tokens", 100u64);
        Ok(Opinion::rewrite(request))
    });
    let hook = Hook::new("cap", EventKind::PreModel, Roles::REWRITE, cap);
    let (gate, _ledger) = gate([hook]);
    let actor = Actor::gated(gate, Session::new("s1"));
    let asked = json(r#"{"max_tokens": 9000, "seed": 1, "model": "another"}"#);
    let gateway = ModelGateway::new(Arc::clone(&client) as _, "m1", &actor)
        .with_extra(asked.as_object().cloned().unwrap());
    gateway.call(&[], &[]).await.reply.unwrap();
    let request = client.asked.lock().unwrap()[0].clone();
    assert_eq!(&*request.model, "m1");
    assert_eq!(Json::from(request.extra), json(r#"{"max_tokens": 100, "seed": 1}"#));
}

#[tokio::test]
async fn a_model_call_can_be_answered_in_its_place() {
    let client = canned([Ok(Delta::Text("real".into()))]);
    let respond = judge("cached", EventKind::PreModel, || Opinion::respond("from the cache"));
    let (answer, _) = ask(Arc::clone(&client), vec![respond]).await;
    assert_eq!(answer.reply, Ok(Reply { text: "from the cache".into(), calls: vec![] }));
    assert!(client.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_rewrite_that_leaves_no_request_calls_no_model() {
    let client = canned([Ok(Delta::Text("real".into()))]);
    let spoil = inline(|_| {
        Ok(Opinion::rewrite(json(r#"{"model": "m1", "messages": [{"role": "user"}]}"#)))
    });
    let hook = Hook::new("spoil", EventKind::PreModel, Roles::REWRITE, spoil);
    let (answer, _) = ask(Arc::clone(&client), vec![hook]).await;
    assert_eq!(answer.reply.unwrap_err().code, Code::HookError);
    assert!(client.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn model_calls_and_what_they_used_are_recorded_and_counted() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let watch = Hook::new(
        "watch",
        EventKind::PreModel,
        Roles::WATCH,
        inline(move |view| {
            let counters = view.session.counters;
            note.lock().unwrap().push((counters.model_calls, counters.tokens_in));
            Ok(Opinion::none())
        }),
    );
    let (gate, ledger) = gate([watch]);
    let actor = Actor::gated(gate, Session::new("s1"));
    let script = r#"{"turns": [
        {"text": "a", "usage": {"tokens_in": 11}}, {"text": "b", "usage": {"tokens_in": 4}}]}"#;
    let gateway = ModelGateway::new(Arc::new(scripted(script)), "scripted", &actor);
    for _ in 0..2 {
        gateway.call(&[], &[]).await.reply.unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), [(1, 0), (2, 11)]);
    assert_eq!(gateway.used().tokens_in, 15);
    let failed = gateway.call(&[], &[]).await.reply.unwrap_err();
    assert_eq!(failed.code, Code::from("model_script_ended"));
    assert_eq!(decisions(&ledger, EventKind::PreModel).len(), 3);
    let outcomes: Vec<_> =
        ledger.records().into_iter().filter(|r| r.kind == RecordKind::Outcome).collect();
    let told: Vec<_> = outcomes.iter().map(|r| (r.ok, r.usage.tokens_in)).collect();
    assert_eq!(told, [(Some(true), 11), (Some(true), 4), (Some(false), 0)]);
}

#[test]
fn messages_survive_their_json_form() {
    let reply = Reply::from_json(&json(
        r#"{"reply": "x", "tool_calls": [{"id": "a", "tool": "t",
            "arguments": {"n": 123456789012345678901234567890}}]}"#,
    ));
    let result = Message::Tool {
        call_id: Some("a".into()),
        tool: "t".into(),
        ok: true,
        content: Arc::new(json("[1.10]")),
    };
    let messages = vec![
        Message::System("s".into()),
        Message::User("u".into()),
        Message::Assistant(reply.unwrap()),
        result,
    ];
    let text = Message::list_to_json(&messages).text();
    assert!(text.contains("123456789012345678901234567890") && text.contains("1.10"));
    assert_eq!(Message::list_from_json(&json(&text)), Ok(messages));
}

#[test]
fn a_script_is_read_strictly() {
    for (script, expected) in [
        ("[]", "at `script`: must be an object, not array"),
        ("{}", "at `turns`: must be a list"),
        (r#"{"turns": []}"#, "at `turns`: must have at least one turn"),
        (r#"{"turns": [{}]}"#, "at `turns[0]`: must have `text` or `tool_calls`"),
        (
            r#"{"turns": [{"text": "a"}, {"txt": "b"}]}"#,
            "at `turns[1]`: unknown key `txt`; known: text, tool_calls, usage",
        ),
        (r#"{"turns": [{"text": 1}]}"#, "at `turns[0].text`: must be a text, not empty"),
        (
            r#"{"turns": [{"tool_calls": [{"id": "a"}]}]}"#,
            "at `turns[0].tool_calls[0].tool`: must be a text, not empty",
        ),
        (
            r#"{"turns": [{"tool_calls": [{"id": "a", "tool": "t", "args": {}}]}]}"#,
            "at `turns[0].tool_calls[0]`: unknown key `args`; known: id, tool, arguments",
        ),
        (
            r#"{"turns": [{"tool_calls": [{"id": "a", "tool": "t"}, {"id": "a", "tool": "t"}]}]}"#,
            "at `turns[0].tool_calls[1]`: the id `a` is used twice",
        ),
        (
            r#"{"turns": [{"text": "a", "usage": {"tokens_in": -1}}]}"#,
            "at `turns[0].usage.tokens_in`: must be a whole number, not negative",
        ),
    ] {
        let error = ScriptedClient::from_json(&json(script)).unwrap_err();
        assert!(matches!(error, ScriptError::Malformed { .. }));
        assert_eq!(error.to_string(), format!("script, {expected}"), "{script}");
    }
}

#[test]
fn a_script_file_that_cannot_be_read_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("script.json");
    assert!(matches!(ScriptedClient::from_file(&path), Err(ScriptError::Unreadable { .. })));
    std::fs::write(&path, r#"{"turns": [{"text": "a"}], "turns": []}"#).unwrap();
    assert!(matches!(ScriptedClient::from_file(&path), Err(ScriptError::NotJson(_))));
    std::fs::write(&path, vec![b' '; 4 * 1024 * 1024 + 1]).unwrap();
    assert!(matches!(ScriptedClient::from_file(&path), Err(ScriptError::TooMuch { .. })));
    std::fs::write(&path, r#"{"turns": [{"text": "a"}]}"#).unwrap();
    ScriptedClient::from_file(&path).unwrap();
}

#[tokio::test]
async fn a_model_call_is_dropped_when_its_session_ends() {
    let rig = Rig::new([judge("abort", EventKind::PreTool, || Opinion::abort("over"))]);
    struct Never;
    impl ModelClient for Never {
        fn provider(&self) -> &str {
            "never"
        }
        fn start(&self, _: ModelRequest) -> Soon<'_, Result<Box<dyn ModelStream>, ModelError>> {
            Soon::later(std::future::pending())
        }
    }
    let gateway = ModelGateway::new(Arc::new(Never), "m1", rig.tools.actor());
    let call = tokio::spawn(async move { gateway.call(&[], &[]).await });
    tokio::task::yield_now().await;
    let abort = crate::rig::call("c1", "list_files", "{}");
    tollgate_agent::Dispatch::dispatch(&rig.tools, abort).await;
    let answer = call.await.unwrap();
    assert_eq!(answer.reply.unwrap_err().code, Code::SessionAborted);
    assert!(answer.aborted.is_some());
    rig.gate.flush().await.unwrap();
    let unknown = rig.outcomes().into_iter().filter(|record| record.is_unknown_outcome()).count();
    assert_eq!(unknown, 1);
}
