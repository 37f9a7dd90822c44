//! Clients over HTTP before programs, and a client over standard input and output before a URL.

use crate::rig::{Ground, relay};
use crate::web::{
    Far, NOTHING, Near, Step, Wire, accepted, before_program, chunk, end, eventually, json,
    session, stream, threads, whole,
};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use tollgate_server::mcp::http::{Upstream, bridge};
use tollgate_server::mcp::standard::{Sink, Source};

/// Answers each request with what it was asked and by which process.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^.*"id":\("[^"]*"\|[0-9]*\).*$/\1/p')
  who=$(printf '%s' "$line" | sed -n 's/^.*"w":"\([^"]*\)".*$/\1/p')
  case "$line" in
    *crash*) exit 7 ;;
    *hang*) continue ;;
    *missing*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ; continue ;;
    *cancelled*) echo cancelled >&2; printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"was cancelled"}}\n' ; continue ;;
    *garbage*) echo 'starting up...' ;;
    *progress*) printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1.0}}\n' "$(printf '%s' "$line" | sed -n 's/^.*"progressToken":\("[^"]*"\|[0-9]*\).*$/\1/p')" ;;
    *unasked*) printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' ; continue ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":{"who":"%s","pid":%s}}\n' "$id" "$who" "$$"
done
"#;

const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
    )
}

fn modern(id: u32, tool: &str, who: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"{tool}","arguments":{{"w":"{who}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":{id}}}}},"id":{id}}}"#
    )
}

fn headers(tool: &str) -> [(&str, &str); 3] {
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)]
}

async fn opened(near: &Near) -> String {
    let answer = near.post(&[], OPEN).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.header("mcp-session-id").unwrap().to_owned()
}

fn pid(body: &str) -> String {
    body.split("\"pid\":").nth(1).unwrap().trim_end_matches('}').to_owned()
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn each_session_has_a_program_of_its_own_that_ends_with_it() {
    threads(async {
        let near = before_program(NOTHING, SERVER).await;
        let (first, second) = (opened(&near).await, opened(&near).await);
        assert_ne!(first, second);
        let one = near.post(&[("mcp-session-id", &first)], &call(1, "t")).await;
        let two = near.post(&[("mcp-session-id", &second)], &call(1, "t")).await;
        assert_ne!(pid(&one.body), pid(&two.body));
        let mut wire = Wire::to(near.address).await;
        wire.send("DELETE", &[("mcp-session-id", &first)], "").await;
        assert_eq!(wire.answer().await.status, 200);
        eventually("its end", || !lives(&pid(&one.body))).await;
        assert!(lives(&pid(&two.body)));
        for (headers, status) in [(vec![("mcp-session-id", &*first)], 404), (vec![], 400)] {
            let answer = near.post(&headers, &call(2, "t")).await;
            assert_eq!(answer.status, status);
            assert!(answer.body.contains("\"id\":2"), "{}", answer.body);
        }
        let old = [("mcp-session-id", &*second), ("mcp-protocol-version", "1999-01-01")];
        assert_eq!(near.post(&old, &call(3, "t")).await.status, 400);
    });
}

#[test]
fn a_program_that_crashes_is_told_and_its_session_is_gone() {
    threads(async {
        let near = before_program(NOTHING, SERVER).await;
        let id = opened(&near).await;
        let answer = near.post(&[("mcp-session-id", &id)], &call(1, "crash")).await;
        assert!(answer.body.contains("ended before it answered"), "{}", answer.body);
        assert!(answer.body.contains("\"id\":1"));
        let near = &near;
        for _ in 0..100 {
            if near.post(&[("mcp-session-id", &id)], &call(2, "t")).await.status == 404 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(near.post(&[("mcp-session-id", &id)], &call(2, "t")).await.status, 404);
        let fresh = opened(near).await;
        assert_eq!(near.post(&[("mcp-session-id", &fresh)], &call(3, "t")).await.status, 200);
    });
}

#[test]
fn what_comes_before_the_answer_is_on_its_stream_and_garbage_is_nowhere() {
    threads(async {
        let near = before_program(NOTHING, SERVER).await;
        let id = opened(&near).await;
        let session = [("mcp-session-id", &*id)];
        let body = call(5, "progress")
            .replace("\"arguments\"", "\"_meta\":{\"progressToken\":9},\"arguments\"");
        let answer = near.post(&session, &body).await;
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        let progress = answer.body.find("\"progressToken\":9,\"progress\":1.0").unwrap();
        assert!(answer.body.find("\"id\":5").unwrap() > progress, "{}", answer.body);
        assert!(near.post(&session, &call(6, "garbage")).await.body.contains("\"id\":6"));
        assert!(near.lines.lock().unwrap().join("\n").contains("no message"));
    });
}

#[test]
fn what_a_program_says_unasked_waits_for_the_stream_of_its_session() {
    threads(async {
        let near = before_program(NOTHING, SERVER).await;
        let id = opened(&near).await;
        let session = [("mcp-session-id", &*id)];
        let note = r#"{"jsonrpc":"2.0","method":"notifications/unasked"}"#;
        assert_eq!(near.post(&session, note).await.status, 202);
        let mut wire = Wire::to(near.address).await;
        wire.send("GET", &session, "").await;
        wire.until("list_changed").await;
        // One stream a session.
        let mut other = Wire::to(near.address).await;
        other.send("GET", &session, "").await;
        assert_eq!(other.answer().await.status, 409);
        let mut without = Wire::to(near.address).await;
        without.send("GET", &[], "").await;
        assert_eq!(without.answer().await.status, 405);
    });
}

#[test]
fn clients_without_sessions_share_a_program_and_are_not_mixed_up() {
    threads(async {
        let near = Arc::new(before_program(NOTHING, SERVER).await);
        let mut all = tokio::task::JoinSet::new();
        for who in 0..40 {
            let near = Arc::clone(&near);
            all.spawn(async move {
                let name = format!("who-{who}");
                let answer = near.post(&headers("progress"), &modern(1, "progress", &name)).await;
                assert!(answer.body.contains(&format!("\"{name}\"")), "{name}: {}", answer.body);
                assert!(
                    answer.body.contains("\"id\":1,")
                        && answer.body.contains("\"progressToken\":1,"),
                    "{}",
                    answer.body
                );
                let at = answer.body.find("\"pid\":").unwrap();
                answer.body[at..].split('}').next().unwrap().to_owned()
            });
        }
        let mut pids = std::collections::BTreeSet::new();
        while let Some(pid) = all.join_next().await {
            pids.insert(pid.unwrap());
        }
        assert_eq!(pids.len(), 1);
        assert_eq!(near.post(&headers("missing"), &modern(1, "missing", "")).await.status, 404);
    });
}

#[test]
fn a_message_that_does_not_say_what_the_later_revision_asks_for_is_a_bad_request() {
    threads(async {
        let refuses = r#"
while IFS= read -r line; do printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}\n'; done
"#;
        let near = before_program(NOTHING, refuses).await;
        let whole = modern(1, "t", "").replace(
            "\"progressToken\"",
            "\"io.modelcontextprotocol/clientCapabilities\":{},\"progressToken\"",
        );
        let partly = modern(1, "t", "");
        let nothing = call(1, "t");
        for (body, status) in [(whole, 200), (partly, 400), (nothing, 400)] {
            let answer = near.post(&headers("t"), &body).await;
            assert_eq!(answer.status, status, "{body}");
            assert!(answer.body.contains("-32602"), "{}", answer.body);
        }
    });
}

#[test]
fn closing_a_request_of_the_later_revision_cancels_it_in_the_program() {
    threads(async {
        let near = before_program(NOTHING, SERVER).await;
        let mut wire = Wire::to(near.address).await;
        wire.send("POST", &headers("hang"), &modern(1, "hang", "")).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        drop(wire);
        // What the program says of it reaches the only request that is open.
        let mut other = Wire::to(near.address).await;
        other.send("POST", &headers("hang"), &modern(2, "hang", "")).await;
        assert!(other.until("was cancelled").await.contains("notifications/message"));
    });
}

/// A client that says these lines when it is told to.
struct Says(std::sync::mpsc::Receiver<String>, Vec<u8>);

impl Read for Says {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            match self.0.recv() {
                Ok(line) => self.1 = format!("{line}\n").into_bytes(),
                Err(_) => return Ok(0),
            }
        }
        let count = self.1.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

#[derive(Clone, Default)]
struct Hears(Arc<Mutex<Vec<u8>>>);

impl Write for Hears {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Hears {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

type Says2 = std::sync::mpsc::Sender<String>;

fn client(far: &Far, hooks: &str) -> (Says2, Hears, tokio::task::JoinHandle<()>) {
    let (says, said) = std::sync::mpsc::channel();
    let hears = Hears::default();
    let Ground { relay, .. } = relay(hooks);
    let upstream = Upstream::new(&far.url(), None).unwrap();
    let output = hears.clone();
    let running = tokio::spawn(async move {
        let input = Says(said, Vec::new());
        let (input, output) = (Source::read_by_thread(input), Sink::write_by_thread(output));
        bridge(&relay, session(), upstream, input, output, std::future::pending()).await;
    });
    (says, hears, running)
}

#[test]
fn a_client_of_lines_speaks_to_a_server_behind_a_url() {
    threads(async {
        let far = Far::start(|heard| {
            if heard.body.contains("initialize\"") {
                let headers = "content-type: application/json\r\nmcp-session-id: abc\r\n";
                return whole("200 OK", headers, r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#);
            }
            match &*heard.method {
                "DELETE" => whole("200 OK", "", ""),
                "GET" if heard.headers.contains_key("last-event-id") => vec![stream(), chunk("id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a.b@example.com\"}]}}\n\n"), Step::UntilGone],
                "GET" => vec![stream(), chunk("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"), Step::UntilGone],
                _ if heard.body.contains("tools/call") => vec![stream(), chunk("id: 1\nretry: 200\ndata:\n\n"), end()],
                _ => accepted(),
            }
        })
        .await;
        let (says, hears, running) =
            client(&far, "  - { name: mask, on: after_tool, redact: { find: [pii] } }");
        // A client that does not wait for its session.
        says.send(OPEN.into()).unwrap();
        says.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into()).unwrap();
        says.send("not json".into()).unwrap();
        says.send(call(7, "t")).unwrap();
        eventually("the answer", || hears.text().contains("\"id\":7")).await;
        eventually("the note", || hears.text().contains("list_changed")).await;
        assert!(hears.text().contains("a***@example.com") && hears.text().contains("-32700"));
        drop(says);
        running.await.unwrap();
        let heard = far.heard();
        assert_eq!(heard.last().unwrap().method, "DELETE");
        for heard in &heard[1..] {
            assert_eq!(heard.headers["mcp-session-id"], "abc");
            assert_eq!(heard.headers["mcp-protocol-version"], "2025-06-18");
        }
        let again: Vec<_> =
            heard.iter().filter_map(|heard| heard.headers.get("last-event-id")).collect();
        assert_eq!(again, ["1"]);
    });
}

#[test]
fn lines_of_the_later_revision_are_given_their_headers() {
    threads(async {
        let far = Far::start(|heard| {
            if heard.body.contains("hang") {
                return vec![Step::UntilGone];
            }
            json(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#)
        })
        .await;
        let (says, hears, running) = client(&far, NOTHING);
        says.send(modern(1, "grüße", "")).unwrap();
        eventually("the answer", || hears.text().contains("\"id\":1")).await;
        let heard = &far.heard()[0];
        assert_eq!(heard.headers["mcp-protocol-version"], "2026-07-28");
        assert_eq!(heard.headers["mcp-method"], "tools/call");
        assert_eq!(heard.headers["mcp-name"], "=?base64?Z3LDvMOfZQ==?=");
        assert!(!heard.headers.contains_key("mcp-session-id"));
        // Cancelling it closes its POST, and the server is told nothing else.
        says.send(modern(2, "hang", "")).unwrap();
        eventually("the call", || far.heard().len() == 2).await;
        says.send(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#
                .into(),
        )
        .unwrap();
        eventually("the end", || far.gone() == 1).await;
        drop(says);
        running.await.unwrap();
        assert_eq!(far.heard().len(), 2);
    });
}

#[test]
fn a_server_that_is_not_there_is_told_and_the_client_goes_on() {
    threads(async {
        let far = Far::start(|heard| {
            if heard.body.contains("break") {
                return vec![Step::Break];
            }
            whole("500 Oops", "content-type: text/plain\r\n", "out of order")
        })
        .await;
        let (says, hears, running) = client(&far, NOTHING);
        for (id, tool) in [(1, "break"), (2, "page")] {
            says.send(call(id, tool)).unwrap();
            eventually("the answer", || hears.text().contains(&format!("\"id\":{id},\"error\"")))
                .await;
        }
        assert!(hears.text().contains("out of order") && hears.text().contains("broke before"));
        drop(says);
        running.await.unwrap();
    });
}
