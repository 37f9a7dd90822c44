//! How peers end, stall and dawdle: what docs/mcp.md says of each, by a real connection or program.

use crate::rig::{self, Ground};
use crate::web::{
    Far, NOTHING, Near, Step, Wire, before, before_program, chunk, end, eventually, json, stream,
    threads, whole,
};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tollgate::gate::{RecordKind, Session};
use tollgate_server::mcp::limits::{BODY_MS, HEAD_MS, PAUSE_MS};
use tollgate_server::mcp::standard::{Sink, Source};
use tollgate_server::mcp::{Command, Ended, Relay, stdio};

const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

/// A program that answers at once, later, or with more than anybody reads.
const PROGRAM: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^.*"id":\([0-9]*\).*$/\1/p')
  case "$line" in
    *closes*) exec >&- ; sleep 600 ;;
    *killed*) kill -9 $$ ;;
    *floods*) awk 'BEGIN { t = sprintf("%20000s", ""); for (i = 0; i < 2000; i++) printf "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":%d,\"message\":\"%s\"}}\n", i, t }' ;;
    *later*) sleep 0.5 ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id"
done
"#;

fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":{id}}}}}}}"#
    )
}

fn modern(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
    )
}

fn headers(tool: &str) -> [(&str, &str); 3] {
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)]
}

async fn opened(near: &Near) -> String {
    let answer = near.post(&[], OPEN).await;
    answer.header("mcp-session-id").unwrap().to_owned()
}

/// A runtime whose clock runs on when everybody waits, so that long limits take no time.
fn on_a_fast_clock<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap().block_on(future)
}

#[test]
fn a_head_and_a_body_that_never_end_are_given_up_after_their_time() {
    on_a_fast_clock(async {
        let far = Far::start(|_| json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)).await;
        let near = before(NOTHING, &far).await;
        let port = near.address.port();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\n"
        );
        let began = tokio::time::Instant::now();
        let mut slow = Wire::to(near.address).await;
        slow.raw(&head).await;
        // Nothing but the end of the connection, or an answer that says so.
        let said = slow.rest().await;
        let took = began.elapsed();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{said}");
        assert!(
            took >= Duration::from_millis(HEAD_MS) && took < Duration::from_millis(2 * HEAD_MS)
        );

        let began = tokio::time::Instant::now();
        let mut slow = Wire::to(near.address).await.patient();
        slow.raw(&format!("{head}content-length: 100\r\n\r\n{{\"jsonrpc\"")).await;
        assert_eq!(slow.head().await.status, 408);
        let took = began.elapsed();
        assert!(
            took >= Duration::from_millis(BODY_MS) && took < Duration::from_millis(2 * BODY_MS)
        );
        assert!(far.heard().is_empty());
    });
}

#[test]
fn others_are_served_while_many_clients_dawdle() {
    threads(async {
        let far = Far::start(|_| json(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#)).await;
        let near = before(NOTHING, &far).await;
        let mut slow = Vec::new();
        for _ in 0..300 {
            let mut wire = Wire::to(near.address).await;
            wire.raw("POST /mcp HTTP/1.1\r\nhost: localhost\r\n").await;
            slow.push(wire);
        }
        let began = Instant::now();
        assert_eq!(near.post(&headers("t"), &modern(1, "t")).await.status, 200);
        assert!(began.elapsed() < Duration::from_secs(10));
    });
}

#[test]
fn a_server_that_pauses_within_an_answer_is_given_up_after_its_time() {
    on_a_fast_clock(async {
        let far = Far::start(|_| {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{";
            vec![Step::Write(head.into()), Step::UntilGone]
        })
        .await;
        let near = before(NOTHING, &far).await;
        let began = tokio::time::Instant::now();
        let mut wire = Wire::to(near.address).await.patient();
        wire.send("POST", &headers("t"), &modern(1, "t")).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, 502);
        assert!(answer.body.contains("\"id\":1,\"error\""), "{}", answer.body);
        assert!(began.elapsed() >= Duration::from_millis(PAUSE_MS));
    });
}

#[test]
fn a_client_that_closes_its_side_counts_as_gone() {
    threads(async {
        let far = Far::start(|_| vec![Step::UntilGone]).await;
        let near = before(NOTHING, &far).await;
        let mut wire = Wire::to(near.address).await;
        wire.send("POST", &headers("t"), &modern(1, "t")).await;
        eventually("the call", || far.heard().len() == 1).await;
        wire.half_close().await;
        eventually("the end", || far.gone() == 1).await;
        // Nobody knows what the call did.
        let _ = near.post(&headers("t"), "{}").await;
        let outcome =
            || near.ledger.records().into_iter().find(|one| one.kind == RecordKind::Outcome);
        let (name, next) = (headers("u"), modern(2, "u"));
        let _ = tokio::time::timeout(Duration::from_millis(300), near.post(&name, &next)).await;
        eventually("its outcome", || outcome().is_some_and(|one| one.executed.is_none())).await;
    });
}

#[test]
fn a_client_that_reads_nothing_is_cut_off_and_holds_up_nobody_else_of_a_shared_program() {
    threads(async {
        let near = before_program(NOTHING, PROGRAM).await;
        let id = opened(&near).await;
        let session = [("mcp-session-id", &*id)];
        let mut slow = Wire::to(near.address).await;
        slow.send("POST", &session, &call(1, "floods")).await;
        // 40 MB are more than sockets and queues hold.
        let mut other = Wire::to(near.address).await.patient();
        other.send("POST", &session, &call(2, "t")).await;
        assert_eq!(other.answer().await.status, 200);
        // What the slow one is given ends before the answer.
        let heard = slow.rest().await;
        assert!(heard.contains("\"progress\":0,"), "{}", heard.len());
        assert!(!heard.contains("\"id\":1,"), "{}", heard.len());
    });
}

#[test]
fn for_a_client_that_reads_slowly_nothing_more_is_read_from_a_server_behind_a_url() {
    threads(async {
        let wrote = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&wrote);
        let far = Far::start(move |heard| {
            if !heard.body.contains("floods") {
                return json(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
            }
            let text = "x".repeat(100_000);
            let note = format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"data\":\"{text}\"}}}}\n\n");
            let mut steps = vec![stream()];
            for _ in 0..1_000 {
                let count = Arc::clone(&count);
                steps.push(chunk(&note));
                steps.push(Step::Note(Box::new(move || _ = count.fetch_add(1, Ordering::Relaxed))));
            }
            steps.push(chunk("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n"));
            steps.push(end());
            steps
        })
        .await;
        let near = before(NOTHING, &far).await;
        let mut slow = Wire::to(near.address).await;
        slow.send("POST", &headers("floods"), &modern(1, "floods")).await;
        let seen = || wrote.load(Ordering::Relaxed);
        // It stands still: the server cannot write more.
        eventually("a full way", || seen() > 0).await;
        let mut before = seen();
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            if seen() == before {
                break;
            }
            before = seen();
        }
        assert!(before < 1_000, "all 100 MB are held somewhere");
        assert_eq!(near.post(&headers("t"), &modern(2, "t")).await.status, 200);
        // Nothing is lost.
        let mut heard = 0;
        while let Some(part) = slow.chunk().await {
            heard += part.matches("notifications/message").count();
        }
        assert_eq!(heard, 1_000);
    });
}

#[test]
fn a_client_of_the_older_revision_that_is_gone_leaves_its_session_as_it_was() {
    threads(async {
        let near = before_program(NOTHING, PROGRAM).await;
        let id = opened(&near).await;
        let session = [("mcp-session-id", &*id)];
        let mut wire = Wire::to(near.address).await;
        wire.send("POST", &session, &call(1, "later")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(wire);
        let answer = near.post(&session, &call(2, "t")).await;
        assert_eq!((answer.status, answer.body.contains("\"id\":2")), (200, true));
        // Its answer came, went nowhere, and is recorded.
        let done =
            |one: &tollgate::gate::Record| one.kind == RecordKind::Outcome && one.ok == Some(true);
        assert_eq!(near.ledger.records().iter().filter(|one| done(one)).count(), 2);
    });
}

#[test]
fn a_program_that_is_killed_or_closes_its_output_is_told_and_another_one_serves() {
    threads(async {
        for how in ["killed", "closes"] {
            let near = before_program(NOTHING, PROGRAM).await;
            let id = opened(&near).await;
            let answer = near.post(&[("mcp-session-id", &*id)], &call(1, how)).await;
            assert!(answer.body.contains("\"id\":1,\"error\""), "{how}: {}", answer.body);
            let near = &near;
            for _ in 0..200 {
                if near.post(&[("mcp-session-id", &*id)], &call(2, "t")).await.status == 404 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let gone = near.post(&[("mcp-session-id", &*id)], &call(3, "t")).await;
            assert_eq!(gone.status, 404, "{how}: {}", gone.body);
            let fresh = opened(near).await;
            assert_eq!(near.post(&[("mcp-session-id", &*fresh)], &call(4, "t")).await.status, 200);
        }
    });
}

/// What a client of lines says, then closes or keeps its side; and what it hears.
struct Says(std::sync::mpsc::Receiver<Vec<u8>>, Vec<u8>);

impl Read for Says {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            let Ok(bytes) = self.0.recv() else { return Ok(0) };
            self.1 = bytes;
        }
        let count = self.1.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

#[derive(Clone, Default)]
struct Hears {
    text: Arc<Mutex<Vec<u8>>>,
    /// While it is held nothing is read.
    gate: Arc<Mutex<()>>,
}

impl Write for Hears {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        drop(self.gate.lock().unwrap());
        self.text.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Hears {
    /// Waits until this holds of all that was heard.
    async fn until(&self, holds: impl Fn(&str) -> bool) {
        let until = Instant::now() + Duration::from_secs(120);
        while !holds(&self.text()) {
            assert!(Instant::now() < until, "{} bytes came", self.text().len());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
    }
}

type Saying = std::sync::mpsc::Sender<Vec<u8>>;

fn client(script: &str) -> (Saying, Hears, tokio::task::JoinHandle<Ended>) {
    let (says, said) = std::sync::mpsc::channel();
    let hears = Hears::default();
    let output = hears.clone();
    let arguments = ["-c", script].map(Into::into).to_vec();
    let command = Command { program: "sh".into(), arguments };
    let Ground { relay, .. } = rig::relay(NOTHING);
    let running = tokio::spawn(async move {
        let (input, never) = (Says(said, Vec::new()), std::future::pending());
        stdio::relay(
            &relay,
            Session::new("s"),
            &command,
            Source::read_by_thread(input),
            Sink::write_by_thread(output),
            never,
        )
        .await
        .unwrap()
    });
    (says, hears, running)
}

#[test]
fn what_is_under_way_when_a_client_closes_its_input_is_still_answered() {
    threads(async {
        let (says, hears, running) = client(PROGRAM);
        says.send(format!("{}\n{}\n", call(1, "later"), call(2, "later")).into()).unwrap();
        drop(says);
        assert!(matches!(running.await.unwrap(), Ended::Itself(_, false)));
        let text = hears.text();
        assert!(text.contains("\"id\":1,\"result\"") && text.contains("\"id\":2,\"result\""));
    });
}

#[test]
fn a_server_that_closes_its_output_or_is_killed_leaves_no_line_without_an_answer() {
    threads(async {
        for how in ["closes", "killed"] {
            let (says, hears, running) = client(PROGRAM);
            says.send(format!("{}\n", call(1, how)).into()).unwrap();
            // The client's side stays open: the relay ends by itself.
            let ended = tokio::time::timeout(Duration::from_secs(20), running).await;
            let ended = ended.unwrap_or_else(|_| panic!("{how}: it does not end")).unwrap();
            assert!(matches!(ended, Ended::Unheard | Ended::Itself(_, true)), "{how}: {ended:?}");
            let text = hears.text();
            assert!(text.contains("\"id\":1,\"error\""), "{how}: {text}");
            drop(says);
        }
    });
}

#[test]
fn while_a_client_of_lines_reads_nothing_no_more_is_read_for_it_and_nothing_is_lost() {
    threads(async {
        let (says, hears, running) = client(PROGRAM);
        let gate = Arc::clone(&hears.gate);
        let held = gate.lock().unwrap();
        says.send(format!("{}\n", call(1, "floods")).into()).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        drop(held);
        // The client's side stays open until it has heard all.
        hears.until(|text| text.ends_with("\"result\":{\"content\":[]}}\n")).await;
        assert_eq!(hears.text().matches("\"progress\":").count(), 2_000);
        drop(says);
        running.await.unwrap();
    });
}

/// Collects calls and answers them from the last to the first, each with its own id.
const BACKWARDS: &str = r#"awk '
  match($0, /"id":[0-9]+/) { ids[n++] = substr($0, RSTART + 5, RLENGTH - 5) }
  n == 10000 { for (i = n - 1; i >= 0; i--) printf "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"was\":%s}}\n", ids[i], ids[i]; fflush(); n = 0 }
'"#;

#[test]
fn ten_thousand_calls_under_way_before_one_program_are_each_given_their_own_answer() {
    threads(async {
        let (says, hears, running) = client(BACKWARDS);
        let all: String = (0..10_000).map(|id| call(id, "t") + "\n").collect();
        says.send(all.into()).unwrap();
        hears.until(|text| text.matches('\n').count() == 10_000).await;
        drop(says);
        running.await.unwrap();
        // Answers are looked at side by side, so they may pass each other.
        let text = hears.text();
        let given: BTreeSet<&str> = text.lines().collect();
        let one =
            |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"was":{id}}}}}"#);
        let expected: Vec<String> = (0..10_000).map(one).collect();
        assert_eq!(given, expected.iter().map(String::as_str).collect());
        assert_eq!(text.lines().count(), 10_000);
    });
}

/// A client before a program that only writes down what it hears.
fn writing_down(
    relay: Arc<Relay>,
    file: &std::path::Path,
) -> (Saying, tokio::task::JoinHandle<Ended>) {
    let (says, said) = std::sync::mpsc::channel();
    let arguments = vec!["-c".into(), "exec 3>&1; exec cat > \"$0\"".into(), file.into()];
    let command = Command { program: "sh".into(), arguments };
    let running = tokio::spawn(async move {
        let input = Source::read_by_thread(Says(said, Vec::new()));
        let output = Sink::write_by_thread(Hears::default());
        let never = std::future::pending();
        stdio::relay(&relay, Session::new("s"), &command, input, output, never).await.unwrap()
    });
    (says, running)
}

const ASKS: &str = "  - { name: sure, on: pre_tool, match: { tool: send }, ask: \"sure?\" }";

#[test]
fn a_server_hears_what_a_client_says_in_its_order_but_for_what_waits_for_a_person() {
    threads(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("heard");
        let people = Arc::new(rig::Silent::default());
        let (says, running) = writing_down(rig::relay_on_an_uneven_disk(&people, ASKS), &file);
        let note =
            |method: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}"}}"#);
        let mut lines = vec![OPEN.to_owned(), note("initialized"), call(1_000, "send")];
        for id in 1..=200 {
            lines.push(call(id, "t"));
            lines.push(note(&format!("said/{id}")));
        }
        says.send((lines.join("\n") + "\n").into()).unwrap();
        let heard = || std::fs::read_to_string(&file).unwrap_or_default();
        eventually("all but the one that waits", || heard().lines().count() >= 402).await;
        let expected: Vec<&String> = lines.iter().filter(|line| !line.contains("send")).collect();
        assert_eq!(heard().lines().collect::<Vec<_>>(), expected);
        // A call that is cancelled while it waits is never heard of.
        people.until_asked().await;
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1000}}"#;
        says.send(format!("{cancel}\n").into()).unwrap();
        eventually("the question is taken back", || people.has_nothing_open()).await;
        drop(says);
        running.await.unwrap();
        assert_eq!(heard().lines().count(), 402);
    });
}

#[test]
fn a_relay_that_is_told_to_end_takes_its_questions_back() {
    threads(async {
        let people = Arc::new(rig::Silent::default());
        let Ground { relay, .. } = rig::relay_before(&people, ASKS);
        let (says, said) = std::sync::mpsc::channel();
        let (tell, told) = tokio::sync::oneshot::channel::<()>();
        let command =
            Command { program: "sh".into(), arguments: ["-c", PROGRAM].map(Into::into).to_vec() };
        let running = tokio::spawn(async move {
            let input = Source::read_by_thread(Says(said, Vec::new()));
            let output = Sink::write_by_thread(Hears::default());
            let told = async { _ = told.await };
            stdio::relay(&relay, Session::new("s"), &command, input, output, told).await.unwrap()
        });
        says.send(format!("{}\n", call(1, "send")).into()).unwrap();
        people.until_asked().await;
        tell.send(()).unwrap();
        running.await.unwrap();
        assert!(people.has_nothing_open());
    });
}

#[test]
fn a_cancellation_does_not_overtake_its_request() {
    threads(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("heard");
        let people = Arc::new(rig::Silent::default());
        let (says, running) = writing_down(rig::relay_on_an_uneven_disk(&people, ASKS), &file);
        let mut lines = Vec::new();
        for id in 0..200 {
            lines.push(call(id, "t"));
            lines.push(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            ));
        }
        for pair in lines.chunks(2) {
            says.send(format!("{}\n", pair[0]).into()).unwrap();
            tokio::time::sleep(Duration::from_millis(3)).await;
            says.send(format!("{}\n", pair[1]).into()).unwrap();
        }
        drop(says);
        running.await.unwrap();
        // Each was either never heard of or first asked and then cancelled.
        let mut asked = BTreeSet::new();
        let heard = std::fs::read_to_string(&file).unwrap();
        for line in heard.lines() {
            match line.split_once("\"requestId\":") {
                Some((_, rest)) => assert!(asked.contains(rest.trim_end_matches('}')), "{line}"),
                None => {
                    let id = line.split_once("\"id\":").unwrap().1.split_once(',').unwrap().0;
                    asked.insert(id.to_owned());
                }
            }
        }
    });
}

#[test]
fn a_status_of_the_server_is_told_with_its_body_read_to_the_end() {
    threads(async {
        let far = Far::start(|_| whole("503 Busy", "retry-after: 7\r\n", "later")).await;
        let near = before(NOTHING, &far).await;
        let answer = near.post(&headers("t"), &modern(1, "t")).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("7")));
        assert!(answer.body.contains("later"));
    });
}

#[test]
fn a_server_that_wants_a_sign_in_is_heard_whatever_its_body_says() {
    threads(async {
        for (kind, body) in [
            ("application/json", "{}"),
            ("application/json", r#"{"error":"invalid_token"}"#),
            ("application/json", ""),
            ("text/plain", "sign in"),
        ] {
            let far = Far::start(move |_| {
                let headers = format!(
                    "content-type: {kind}\r\nwww-authenticate: Bearer resource_metadata=\"https://a.example/m\"\r\n"
                );
                whole("401 Unauthorized", &headers, body)
            })
            .await;
            let near = before(NOTHING, &far).await;
            let answer = near.post(&headers("t"), &modern(1, "t")).await;
            let wants = answer.header("www-authenticate").unwrap_or_default();
            assert!(wants.contains("https://a.example/m"), "{kind} {body}: {wants}");
            assert_eq!(answer.status, 401, "{kind} {body}");
            assert!(answer.body.contains("\"id\":1,\"error\""), "{body}: {}", answer.body);
        }
    });
}
