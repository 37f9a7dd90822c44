//! Clients over HTTP before a server behind a URL.

use crate::web::{
    Far, Heard, NOTHING, Near, Step, Wire, accepted, before, before_with_tokens, chunk, end,
    eventually, json, stream, threads, whole,
};
use tollgate::gate::RecordKind;

const MASK: &str = "  - { name: mask, on: after_tool, redact: { find: [secrets, pii] } }";
const SESSION: [(&str, &str); 1] = [("mcp-session-id", "abc")];
/// With odd blanks, numbers and keys, as a typed relay would not write it.
const CALL: &str = "{ \"jsonrpc\" : \"2.0\",\"id\": 7,\r\n\"method\":\"tools/call\", \"params\":{\"name\":\"t\",\"arguments\":{\"n\":1.50},\"x\":null},\"extra\":[1e2] }";

fn result(id: &str, text: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\", \"id\":{id},\"result\": {{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"n\":1.0}} }}"
    )
}

fn modern(id: u32, method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
    )
}

fn headers<'h>(method: &'h str, name: &'h str) -> Vec<(&'h str, &'h str)> {
    vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)]
}

/// A server with one session, that opens it and answers calls like this.
async fn far(answers: impl Fn(&Heard) -> Vec<Step> + Send + Sync + 'static) -> Far {
    Far::start(move |heard| {
        if heard.body.contains("\"initialize\"") {
            let headers = "content-type: application/json\r\nmcp-session-id: abc\r\nx-other: 1\r\n";
            return whole("200 OK", headers, r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#);
        }
        answers(heard)
    })
    .await
}

async fn opened(near: &Near) {
    let answer = near.post(&[], r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#).await;
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, Some("abc")));
    assert_eq!(answer.header("x-other"), None);
}

#[test]
fn a_call_and_its_answer_pass_byte_for_byte_in_their_session() {
    threads(async {
        let far = far(|_| json(&result("7", "ran"))).await;
        let near = before(MASK, &far).await;
        opened(&near).await;
        let version = [SESSION[0], ("mcp-protocol-version", "2025-11-25")];
        let answer = near.post(&version, CALL).await;
        assert_eq!((answer.status, &*answer.body), (200, &*result("7", "ran")));
        let heard = &far.heard()[1];
        assert_eq!((&*heard.body, &*heard.headers["mcp-session-id"]), (CALL, "abc"));
        assert_eq!(heard.headers["mcp-protocol-version"], "2025-11-25");
        assert_eq!(heard.headers["accept"], "application/json, text/event-stream");
    });
}

#[test]
fn a_stream_passes_as_it_comes_and_only_what_a_hook_changed_is_another() {
    threads(async {
        let far = far(|_| {
            let secret = result("7", "mail a.b@example.com");
            let (first, rest) = secret.split_at(30);
            vec![
                stream(),
                chunk(": hello\n\nid: 1\nretry: 500\ndata:\n\n"),
                chunk("event: message\r\nid: 2\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\r\ndata: \"params\":{\"level\":\"info\",\"data\":1.0}}\r\n\r\n"),
                Step::Pause(50),
                chunk(&format!("id: 3\ndata: {first}")),
                Step::Pause(50),
                chunk(&format!("{rest}\nevent: message\n\n")),
                end(),
            ]
        })
        .await;
        let near = before(MASK, &far).await;
        opened(&near).await;
        let mut wire = Wire::to(near.address).await;
        wire.send("POST", &SESSION, CALL).await;
        assert_eq!(wire.head().await.header("content-type"), Some("text/event-stream"));
        let mut text = wire.until("data:\n\n").await;
        text.push_str(&wire.until("1.0").await);
        let before = ": hello\n\nid: 1\nretry: 500\ndata:\n\nevent: message\r\nid: 2\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\r\ndata: \"params\":{\"level\":\"info\",\"data\":1.0}}\r\n\r\n";
        assert_eq!(text, before);
        let masked = result("7", "mail a***@example.com");
        let last = format!("id: 3\ndata: {masked}\nevent: message\n\n");
        assert_eq!(wire.until("event: message\n\n").await, last);
        assert_eq!(wire.chunk().await, None);
    });
}

#[test]
fn headers_and_message_must_say_the_same_before_any_policy_is_asked() {
    threads(async {
        let far = far(|_| json(&result("1", "ran"))).await;
        let near = before(NOTHING, &far).await;
        let body = modern(1, "tools/call", r#""name":"delete","#);
        for bad in [headers("tools/call", "read"), headers("tools/list", "delete"), vec![]] {
            let answer = near.post(&bad, &body).await;
            assert_eq!(answer.status, 400);
            assert!(answer.body.contains("-32020") && answer.body.contains("\"id\":1"));
        }
        assert!(near.ledger.records().iter().all(|record| record.kind != RecordKind::Decision));
        assert!(far.heard().is_empty());
        assert_eq!(near.post(&headers("tools/call", "delete"), &body).await.status, 200);
    });
}

#[test]
fn headers_say_what_a_hook_made_of_the_message() {
    threads(async {
        let far = far(|_| json(&result("1", "ran"))).await;
        let clamp =
            "  - { name: clamp, on: pre_tool, match: { tool: t }, rewrite: { n: { max: 5 } } }";
        let near = before(clamp, &far).await;
        let tool = r#"{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}"#;
        near.definitions.learn(&[crate::rig::json(tool)]).unwrap();
        let mut all = headers("tools/call", "t");
        all.push(("mcp-param-n", "9"));
        let body = modern(1, "tools/call", r#""name":"t","arguments":{"n":9},"#);
        assert_eq!(near.post(&all, &body).await.status, 200);
        let heard = &far.heard()[0];
        assert_eq!(heard.headers["mcp-param-n"], "5");
        assert!(heard.body.contains("\"n\":5"));
    });
}

#[test]
fn a_hidden_tool_is_answered_with_the_status_and_on_the_stream_of_one_that_is_not_there() {
    threads(async {
        // A server that says so with a status of its own, on a stream.
        let far = far(|heard| {
            let name = &heard.headers["mcp-name"];
            let event = format!("id: 9\ndata: {}\n\n", result("1", &format!("no tool {name}")));
            vec![
                Step::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nmcp-x: 1\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()),
                chunk(&event),
                end(),
            ]
        })
        .await;
        let hidden = "  - { name: hidden, on: pre_tool, match: { tool: secret_tool }, deny: { hide: true } }";
        let near = before(hidden, &far).await;
        let mut answers = Vec::new();
        for name in ["secret_tool", "absent_tool"] {
            let body =
                modern(1, "tools/call", &format!(r#""name":"{name}","arguments":{{"a":1}},"#));
            let mut all = headers("tools/call", name);
            // A header of an argument that the relay does not know.
            all.push(("mcp-param-a", "1"));
            let answer = near.post(&all, &body).await;
            let head: Vec<&str> =
                answer.head.lines().filter(|line| !line.starts_with("date")).collect();
            answers.push((answer.status, head.join("\n"), answer.body.replace(name, "NAME")));
        }
        assert_eq!(answers[0], answers[1]);
        assert!(far.heard().iter().all(|heard| !heard.body.contains("secret_tool")));
    });
}

#[test]
fn nobody_from_elsewhere_comes_in() {
    threads(async {
        let far = far(|_| json(&result("7", "ran"))).await;
        let near = before(NOTHING, &far).await;
        for bad in [("host", "evil.example"), ("origin", "http://evil.example"), ("origin", "null")]
        {
            assert_eq!(near.post(&[bad], CALL).await.status, 403, "{bad:?}");
        }
        let mut wire = Wire::to(near.address).await;
        wire.raw("POST /other HTTP/1.1\r\nhost: localhost:1\r\n\r\n").await;
        assert_eq!(wire.answer().await.status, 403);
        let mut wire = Wire::to(near.address).await;
        wire.send("PUT", &[], "").await;
        assert_eq!(wire.answer().await.status, 405);
        for (body, code) in [
            ("[]", "-32600"),
            ("{", "-32700"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "-32600"),
        ] {
            let answer = near.post(&[], body).await;
            assert_eq!(answer.status, 400);
            assert!(answer.body.contains(code), "{}", answer.body);
        }
        assert_eq!(near.post(&[("content-encoding", "gzip")], CALL).await.status, 415);
        assert!(far.heard().is_empty());
    });
}

#[test]
fn a_body_over_the_cap_is_refused_and_the_connection_is_not_read_on() {
    threads(async {
        let far = far(|_| json(&result("7", "ran"))).await;
        let near = before(NOTHING, &far).await;
        let mut wire = Wire::to(near.address).await;
        let port = near.address.port();
        wire.raw(&format!("POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n")).await;
        // The head alone says that it is too long.
        assert_eq!(wire.answer().await.status, 413);
        assert!(far.heard().is_empty());
    });
}

#[test]
fn each_side_has_its_own_token_and_neither_reaches_the_other() {
    threads(async {
        let far = far(|_| json(&result("7", "ran"))).await;
        let near = before_with_tokens(&far, "server-token-server", "client-token-client").await;
        let answer = near.post(&[], CALL).await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
        let own = [
            ("authorization", "Bearer client-token-client"),
            ("cookie", "c=1"),
            ("x-api-key", "k"),
        ];
        assert_eq!(near.post(&own, CALL).await.status, 200);
        let heard = far.heard();
        assert_eq!(heard.len(), 1);
        assert_eq!(heard[0].headers["authorization"], "Bearer server-token-server");
        assert!(
            !heard[0].headers.contains_key("cookie") && !heard[0].headers.contains_key("x-api-key")
        );
        let told = near.lines.lock().unwrap().join("\n");
        assert!(!told.contains("token-server"), "{told}");
    });
}

#[test]
fn a_redirect_is_not_followed() {
    threads(async {
        let other = far(|_| json(&result("7", "elsewhere"))).await;
        let place = other.url();
        let far =
            far(move |_| whole("307 Temporary Redirect", &format!("location: {place}\r\n"), ""))
                .await;
        let near = before_with_tokens(&far, "server-token-server", "client-token-client").await;
        let answer = near.post(&[("authorization", "Bearer client-token-client")], CALL).await;
        assert_eq!(answer.status, 502);
        assert!(answer.body.contains("not followed") && answer.header("location").is_none());
        assert!(other.heard().is_empty());
    });
}

#[test]
fn a_server_that_fails_leaves_no_request_without_an_answer() {
    threads(async {
        let far = far(|heard| match &heard.headers["mcp-session-id"][..] {
            "break" => vec![Step::Break],
            "half" => vec![stream(), chunk("data: {\"jsonrpc\":\"2.0\",\"id\":7,"), Step::Break],
            "garbage" => json("starting up..."),
            "twice" => json(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#),
            "empty" => json(""),
            "page" => {
                whole("500 Oops", "content-type: text/html\r\n", "<p>ask a.b@example.com</p>")
            }
            "other" => json(&result("8", "for another")),
            _ => whole("404 Not Found", "content-type: text/plain\r\n", "Session not found"),
        })
        .await;
        let near = before(MASK, &far).await;
        for (session, status, said) in [
            ("break", 502, "broke before it answered"),
            ("half", 200, "ended before it answered"),
            ("garbage", 502, "says nothing"),
            ("twice", 200, "duplicate key"),
            ("empty", 502, "says nothing"),
            ("page", 500, "a***@example.com"),
            ("other", 502, "says nothing"),
            ("gone", 404, "Session not found"),
        ] {
            let answer = near.post(&[("mcp-session-id", session)], CALL).await;
            assert_eq!(answer.status, status, "{session}: {}", answer.body);
            let told = answer.body.contains("\"id\":7") && answer.body.contains("\"error\"");
            assert!(told && answer.body.contains(said), "{session}: {}", answer.body);
        }
        // Nobody is there at all.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nobody = Far { address: listener.local_addr().unwrap(), ..far.clone() };
        drop(listener);
        let near = before(MASK, &nobody).await;
        let answer = near.post(&SESSION, CALL).await;
        assert_eq!(answer.status, 502);
        assert!(answer.body.contains("cannot be reached"));
    });
}

#[test]
fn a_client_that_is_gone_takes_its_request_with_it() {
    threads(async {
        let far = far(|heard| {
            if heard.body.contains("hang") {
                vec![Step::UntilGone]
            } else {
                vec![stream(), chunk(": open\n\n"), Step::UntilGone]
            }
        })
        .await;
        let near = before(NOTHING, &far).await;
        for (at, name) in ["hang", "stream"].iter().enumerate() {
            let mut wire = Wire::to(near.address).await;
            let body = modern(1, "tools/call", &format!(r#""name":"{name}","#));
            wire.send("POST", &headers("tools/call", name), &body).await;
            eventually("the call", || far.heard().len() > at).await;
            if *name == "stream" {
                wire.until("open").await;
            }
            drop(wire);
            eventually("the end", || far.gone() > at).await;
        }
    });
}

#[test]
fn a_subscription_stays_open_and_its_messages_are_looked_at() {
    threads(async {
        let far = far(|_| vec![
            stream(),
            chunk("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1}}}\n\n"),
            Step::Pause(30),
            chunk("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"a.b@example.com\"}}\n\n"),
            Step::UntilGone,
        ])
        .await;
        let near = before(MASK, &far).await;
        let mut wire = Wire::to(near.address).await;
        wire.send(
            "POST",
            &headers("subscriptions/listen", ""),
            &modern(1, "subscriptions/listen", ""),
        )
        .await;
        wire.until("acknowledged").await;
        assert!(wire.until("example.com").await.contains("a***@"));
        drop(wire);
        eventually("the end", || far.gone() == 1).await;
    });
}

#[test]
fn a_stream_that_is_taken_up_again_is_looked_at_again() {
    threads(async {
        let far = far(|heard| {
            let event = format!("id: 5\ndata: {}\n\n", result("7", "mail a.b@example.com"));
            match (&*heard.method, heard.headers.get("last-event-id")) {
                ("GET", Some(last)) if last == "4" => vec![stream(), chunk(&event), end()],
                ("GET", _) => whole("405 Method Not Allowed", "allow: POST\r\n", ""),
                // It breaks behind an id, before the answer.
                _ => vec![stream(), chunk("id: 4\ndata:\n\n"), end()],
            }
        })
        .await;
        let near = before(MASK, &far).await;
        opened(&near).await;
        let answer = near.post(&SESSION, CALL).await;
        assert_eq!((answer.status, &*answer.body), (200, "id: 4\ndata:\n\n"));
        let masked = format!("id: 5\ndata: {}\n\n", result("7", "mail a***@example.com"));
        // The first time it settles the call; the second time it is said again.
        for _ in 0..2 {
            let mut wire = Wire::to(near.address).await;
            wire.send("GET", &[SESSION[0], ("last-event-id", "4")], "").await;
            assert_eq!(wire.answer().await.body, masked);
        }
        let mut wire = Wire::to(near.address).await;
        wire.send("GET", &SESSION, "").await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    });
}

#[test]
fn what_a_server_asks_over_a_stream_is_a_call_and_its_answer_finds_it() {
    threads(async {
        let far = far(|heard| {
            if !heard.body.contains("tools/call") {
                return accepted();
            }
            let ask = |id: u32, text: &str| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"sampling/createMessage\",\"params\":{{\"messages\":[{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":\"{text}\"}}}}],\"maxTokens\":9}}}}\n\n");
            vec![stream(), chunk(&ask(1, "hello")), chunk(&ask(2, "steal")), Step::Pause(400),
                 chunk(&format!("data: {}\n\n", result("7", "ran"))), end()]
        })
        .await;
        let deny = "  - { name: no, on: pre_model, keywords: { words: [steal], reason: \"not that\" } }\n  - { name: mask, on: post_model, redact: { find: [pii] } }";
        let near = before(deny, &far).await;
        opened(&near).await;
        let mut wire = Wire::to(near.address).await;
        wire.send("POST", &SESSION, CALL).await;
        let asked = wire.until("hello").await;
        assert!(!asked.contains("steal"));
        let reply = r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"a.b@example.com"},"model":"m"}}"#;
        assert_eq!(near.post(&SESSION, reply).await.status, 202);
        // Nobody asked that: it goes nowhere.
        assert_eq!(near.post(&SESSION, &reply.replace("\"id\":1", "\"id\":9")).await.status, 202);
        assert!(!wire.until("ran").await.contains("steal"));
        let heard = far.heard();
        let to_server: Vec<&str> = heard
            .iter()
            .map(|heard| &*heard.body)
            .filter(|body| !body.contains("method"))
            .collect();
        assert_eq!(to_server.len(), 2, "{to_server:?}");
        assert!(
            to_server
                .iter()
                .any(|body| body.contains("\"id\":1") && body.contains("a***@example.com"))
        );
        assert!(
            to_server.iter().any(|body| body.contains("\"id\":2") && body.contains("not that"))
        );
    });
}

#[test]
fn a_session_that_is_ended_is_forgotten() {
    threads(async {
        let far = far(|heard| {
            if heard.method == "DELETE" {
                whole("204 No Content", "", "")
            } else {
                json(&result("7", "ran"))
            }
        })
        .await;
        let near = before(NOTHING, &far).await;
        opened(&near).await;
        let mut wire = Wire::to(near.address).await;
        wire.send("DELETE", &SESSION, "").await;
        assert_eq!(wire.answer().await.status, 204);
        assert_eq!(far.heard()[1].headers["mcp-session-id"], "abc");
    });
}

#[test]
fn a_person_is_asked_on_the_stream_of_the_call() {
    threads(async {
        let far = far(|_| json(&result("7", "ran"))).await;
        let near = before(
            "  - { name: sure, on: pre_tool, match: { tool: t }, ask: \"it matters\" }",
            &far,
        )
        .await;
        opened(&near).await;
        let mut wire = Wire::to(near.address).await;
        wire.send("POST", &SESSION, CALL).await;
        let question = wire.until("elicitation/create").await;
        assert!(question.starts_with("event: message\ndata: "), "{question}");
        let id = question.split("\"id\":").nth(1).unwrap().split(',').next().unwrap().to_owned();
        let yes = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"approve":true}}}}}}"#
        );
        assert_eq!(near.post(&SESSION, &yes).await.status, 202);
        assert!(wire.until("ran").await.contains("\"id\":7"));
        assert_eq!(wire.chunk().await, None);
        assert_eq!(far.heard().len(), 2);
    });
}

#[test]
fn many_clients_may_use_the_same_ids_at_the_same_time() {
    threads(async {
        let far = far(|heard| {
            let who =
                heard.body.split("who-").nth(1).unwrap().split('"').next().unwrap().to_owned();
            [vec![Step::Pause(20)], json(&result("1", &who))].into_iter().flatten().collect()
        })
        .await;
        let near = std::sync::Arc::new(before(MASK, &far).await);
        let mut all = tokio::task::JoinSet::new();
        for who in 0..100 {
            let near = std::sync::Arc::clone(&near);
            all.spawn(async move {
                let body = modern(
                    1,
                    "tools/call",
                    &format!(r#""name":"t","arguments":{{"w":"who-{who}"}},"#),
                );
                let answer = near.post(&headers("tools/call", "t"), &body).await;
                assert!(answer.body.contains(&format!("\"{who}\"")), "{who}: {}", answer.body);
            });
        }
        while let Some(done) = all.join_next().await {
            done.unwrap();
        }
    });
}
