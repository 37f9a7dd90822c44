//! A server and a client that speak HTTP by hand, so that each byte and each way to fail can be had.

use crate::rig::{Ground, relay};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tollgate::gate::{MemoryLedger, Session};
use tollgate_server::mcp::http::{Behind, Listening, Token, Upstream, serve};
use tollgate_server::mcp::{Command, Definitions};

/// A request as the server heard it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard {
    pub(crate) method: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What a server does with a request.
pub(crate) enum Step {
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Waits until the client is gone.
    UntilGone,
    /// Waits.
    Pause(u64),
    /// Breaks the connection.
    Break,
    /// Says that it came this far.
    Note(Box<dyn Fn() + Send + Sync>),
}

pub(crate) type Script = Arc<dyn Fn(&Heard) -> Vec<Step> + Send + Sync>;

/// A server.
#[derive(Clone)]
pub(crate) struct Far {
    pub(crate) address: SocketAddr,
    pub(crate) heard: Arc<Mutex<Vec<Heard>>>,
    pub(crate) gone: Arc<Mutex<usize>>,
}

impl Far {
    pub(crate) async fn start(script: impl Fn(&Heard) -> Vec<Step> + Send + Sync + 'static) -> Far {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let far = Far { address, heard: Arc::default(), gone: Arc::default() };
        let (server, script): (Far, Script) = (far.clone(), Arc::new(script));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(server.clone().connection(stream, Arc::clone(&script)));
            }
        });
        far
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// How many clients went away while they were waited for.
    pub(crate) fn gone(&self) -> usize {
        *self.gone.lock().unwrap()
    }

    async fn connection(self, mut stream: TcpStream, script: Script) {
        let mut held = Vec::new();
        loop {
            let Some(heard) = request(&mut stream, &mut held).await else { return };
            self.heard.lock().unwrap().push(heard.clone());
            for step in script(&heard) {
                match step {
                    Step::Write(bytes) => {
                        if stream.write_all(&bytes).await.is_err() {
                            return;
                        }
                    }
                    Step::Pause(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                    Step::Break => return,
                    Step::Note(tell) => tell(),
                    Step::UntilGone => {
                        let mut byte = [0];
                        let _ = stream.read(&mut byte).await;
                        *self.gone.lock().unwrap() += 1;
                        return;
                    }
                }
            }
        }
    }
}

async fn request(stream: &mut TcpStream, held: &mut Vec<u8>) -> Option<Heard> {
    let head = loop {
        if let Some(end) = find(held, b"\r\n\r\n") {
            break held.drain(..end + 4).collect::<Vec<u8>>();
        }
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        held.extend_from_slice(&chunk[..read]);
    };
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let method = lines.next()?.split(' ').next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    while held.len() < length {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        held.extend_from_slice(&chunk[..read]);
    }
    let body = String::from_utf8(held.drain(..length).collect()).unwrap();
    Some(Heard { method, headers, body })
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// A whole answer.
pub(crate) fn whole(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    vec![Step::Write([head.as_bytes(), body.as_bytes()].concat())]
}

pub(crate) fn json(body: &str) -> Vec<Step> {
    whole("200 OK", "content-type: application/json\r\n", body)
}

pub(crate) fn accepted() -> Vec<Step> {
    whole("202 Accepted", "", "")
}

/// The head of a stream.
pub(crate) fn stream() -> Step {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    Step::Write(head.as_bytes().to_vec())
}

pub(crate) fn chunk(text: &str) -> Step {
    Step::Write(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

pub(crate) fn end() -> Step {
    Step::Write(b"0\r\n\r\n".to_vec())
}

/// A relay that listens.
pub(crate) struct Near {
    pub(crate) address: SocketAddr,
    pub(crate) ledger: Arc<MemoryLedger>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

pub(crate) fn session() -> Session {
    Session::new("s").with_user("alice")
}

async fn listen(hooks: &str, behind: Behind, client_token: Option<Token>) -> Near {
    let Ground { relay, lines, ledger, definitions } = relay(hooks);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let listening = Listening { relay, behind, session: session(), client_token };
    tokio::spawn(serve(listener, listening, std::future::pending()));
    Near { address, ledger, definitions, lines }
}

/// A relay before a server behind a URL.
pub(crate) async fn before(hooks: &str, far: &Far) -> Near {
    listen(hooks, Behind::Url(Box::new(Upstream::new(&far.url(), None).unwrap())), None).await
}

/// The same with a token for the server, and one that clients send.
pub(crate) async fn before_with_tokens(far: &Far, server: &str, client: &str) -> Near {
    let token = |text: &str| Token::of_environment("T", text.to_owned()).unwrap();
    let upstream = Upstream::new(&far.url(), Some(token(server))).unwrap();
    listen(NOTHING, Behind::Url(Box::new(upstream)), Some(token(client))).await
}

/// A relay before programs of this script.
pub(crate) async fn before_program(hooks: &str, script: &str) -> Near {
    let arguments = ["-c", script].map(Into::into).to_vec();
    listen(hooks, Behind::Program(Command { program: "sh".into(), arguments }), None).await
}

/// A hook that concerns nothing here.
pub(crate) const NOTHING: &str =
    "  - { name: nothing, on: pre_tool, match: { tool: nothing }, deny: \"no\" }";

/// What a client was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&start))
    }
}

/// A connection of a client.
pub(crate) struct Wire {
    stream: TcpStream,
    held: Vec<u8>,
    in_body: bool,
    /// How long an answer may take.
    patience: Duration,
}

impl Wire {
    pub(crate) async fn to(address: SocketAddr) -> Wire {
        Wire {
            stream: TcpStream::connect(address).await.unwrap(),
            held: Vec::new(),
            in_body: false,
            patience: Duration::from_secs(10),
        }
    }

    pub(crate) async fn raw(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &str) {
        let mut text = format!("{method} /mcp HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            let port = self.stream.peer_addr().unwrap().port();
            text.push_str(&format!("host: localhost:{port}\r\n"));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if method == "POST" {
            text.push_str("content-type: application/json\r\n");
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        self.raw(&format!("{text}accept: application/json, text/event-stream\r\n\r\n{body}")).await;
    }

    /// More of what comes; false at the end.
    async fn more(&mut self) -> bool {
        let mut chunk = [0; 16 * 1024];
        let read = tokio::time::timeout(self.patience, self.stream.read(&mut chunk));
        let read = read.await.unwrap().unwrap_or(0);
        self.held.extend_from_slice(&chunk[..read]);
        read > 0
    }

    /// All that still comes, as bytes of a text, until the end of the connection.
    pub(crate) async fn rest(&mut self) -> String {
        let mut chunk = [0; 64 * 1024];
        while let Ok(read) = self.stream.read(&mut chunk).await {
            if read == 0 {
                break;
            }
            self.held.extend_from_slice(&chunk[..read]);
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }

    /// Says that nothing more will be said.
    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    pub(crate) async fn head(&mut self) -> Answer {
        loop {
            if let Some(end) = find(&self.held, b"\r\n\r\n") {
                self.in_body = true;
                let head: Vec<u8> = self.held.drain(..end + 4).collect();
                let head = String::from_utf8(head).unwrap();
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return Answer { status, head, body: String::new() };
            }
            assert!(self.more().await, "the connection ended without an answer");
        }
    }

    /// One chunk of a body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        if !self.in_body {
            self.head().await;
        }
        loop {
            if let Some(end) = find(&self.held, b"\r\n") {
                let size = std::str::from_utf8(&self.held[..end]).unwrap();
                let size = usize::from_str_radix(size, 16).unwrap();
                if self.held.len() >= end + 4 + size {
                    let chunk: Vec<u8> = self.held.drain(..end + 4 + size).collect();
                    let text = String::from_utf8(chunk[end + 2..end + 2 + size].to_vec()).unwrap();
                    return (size > 0).then_some(text);
                }
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// The chunks of a body until one of them has this in it.
    pub(crate) async fn until(&mut self, part: &str) -> String {
        let mut text = String::new();
        while !text.contains(part) {
            text.push_str(&self.chunk().await.unwrap_or_else(|| panic!("no {part} in {text}")));
        }
        text
    }

    /// Waits for minutes, which a fast clock makes short.
    pub(crate) fn patient(mut self) -> Wire {
        self.patience = Duration::from_secs(600);
        self
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        let mut answer = self.head().await;
        if answer.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk().await {
                answer.body.push_str(&chunk);
            }
            return answer;
        }
        let length: usize = answer.header("content-length").unwrap_or("0").parse().unwrap();
        while self.held.len() < length {
            assert!(self.more().await, "the body is cut off");
        }
        answer.body = String::from_utf8(self.held.drain(..length).collect()).unwrap();
        answer
    }
}

impl Near {
    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut wire = Wire::to(self.address).await;
        wire.send("POST", headers, body).await;
        wire.answer().await
    }
}

/// Waits until this holds, for ten seconds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it did not come: {what}");
}

pub(crate) fn threads<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
