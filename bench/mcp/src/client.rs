//! The client: as many calls under way as it is told, and how long each took.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What a cell came to.
pub(super) struct Measured {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    /// Calls a second.
    pub(super) rate: f64,
    /// What a call cost what stands between in time of processors, which other programs do not change.
    pub(super) cpu: Duration,
}

/// A client of one way.
pub(super) struct Client {
    child: Option<Child>,
    talk: Talk,
    next: u64,
}

enum Talk {
    Lines { to: ChildStdin, from: BufReader<ChildStdout> },
    Http { port: u16, session: String },
}

const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// How long a program may take to listen.
const START: Duration = Duration::from_secs(60);

impl Client {
    /// Starts what is to be started, and opens a session.
    pub(super) fn open(command: &[String], port: Option<u16>) -> io::Result<Client> {
        let mut child = None;
        if let [program, arguments @ ..] = command {
            let mut process = Command::new(program);
            process.args(arguments).stderr(Stdio::null());
            if port.is_some() {
                process.stdin(Stdio::null()).stdout(Stdio::null());
            } else {
                process.stdin(Stdio::piped()).stdout(Stdio::piped());
            }
            child = Some(process.spawn()?);
        }
        let talk = match (port, &mut child) {
            (Some(port), _) => {
                let first = post(&mut connect(port)?, OPEN, "")?;
                let session = first.session.unwrap_or_default();
                post(&mut connect(port)?, OPENED, &session)?;
                Talk::Http { port, session }
            }
            (None, Some(child)) => {
                let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
                    return Err(io::Error::other("no standard input or output"));
                };
                let mut from = BufReader::with_capacity(1 << 16, from);
                writeln!(to, "{OPEN}")?;
                from.read_line(&mut String::new())?;
                writeln!(to, "{OPENED}")?;
                Talk::Lines { to, from }
            }
            (None, None) => return Err(io::Error::other("nothing to speak to")),
        };
        Ok(Client { child, talk, next: 1 })
    }

    pub(super) fn measure(
        &mut self,
        size: usize,
        concurrent: usize,
        time: Duration,
    ) -> io::Result<Measured> {
        let text = "the quick brown fox jumps over the lazy dog ".repeat(size / 44 + 1);
        let text = text.get(..size).unwrap_or_default();
        // A fifth of the time to get warm.
        self.calls(text, concurrent, time / 5)?;
        let (began, before) = (Instant::now(), self.cpu().unwrap_or_default());
        let mut took = self.calls(text, concurrent, time)?;
        let rate = took.len() as f64 / began.elapsed().as_secs_f64();
        let cpu = self.cpu().unwrap_or_default().saturating_sub(before);
        let cpu = cpu / u32::try_from(took.len().max(1)).unwrap_or(u32::MAX);
        took.sort_unstable();
        let at = |part: f64| {
            let place = (took.len() as f64 * part) as usize;
            took.get(place.min(took.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        Ok(Measured { p50: at(0.5), p99: at(0.99), rate, cpu })
    }

    fn calls(
        &mut self,
        text: &str,
        concurrent: usize,
        time: Duration,
    ) -> io::Result<Vec<Duration>> {
        let first = self.next;
        self.next += 1_000_000_000;
        match &mut self.talk {
            Talk::Lines { to, from } => over_lines(to, from, first, text, concurrent, time),
            Talk::Http { port, session } => {
                let (port, session) = (*port, &**session);
                std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..concurrent as u64)
                        .map(|at| {
                            let first = first + at * 1_000_000;
                            scope.spawn(move || over_http(port, session, first, text, time))
                        })
                        .collect();
                    let mut took = Vec::new();
                    for thread in threads {
                        let done =
                            thread.join().map_err(|_| io::Error::other("a client failed"))?;
                        took.extend(done?);
                    }
                    Ok(took)
                })
            }
        }
    }

    /// The time of processors that the program itself took so far, in ticks of 10 ms.
    fn cpu(&self) -> Option<Duration> {
        let id = self.child.as_ref()?.id();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let after_name = stat.rsplit_once(')')?.1;
        let mut ticks = after_name.split_whitespace().skip(11).map_while(|one| one.parse().ok());
        let (own, of_system): (u64, u64) = (ticks.next()?, ticks.next()?);
        Some(Duration::from_millis((own + of_system) * 10))
    }

    /// The most memory that the program itself took.
    pub(super) fn memory_mib(&self) -> Option<f64> {
        let id = self.child.as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kib / 1024.0)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn call(id: u64, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
    )
}

fn over_lines(
    to: &mut ChildStdin,
    from: &mut BufReader<ChildStdout>,
    first: u64,
    text: &str,
    concurrent: usize,
    time: Duration,
) -> io::Result<Vec<Duration>> {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel::<String>();
        // What is written must not wait for what is read, or both sides wait for ever.
        let writer = scope.spawn(move || -> io::Result<()> {
            for line in receiver {
                to.write_all(line.as_bytes())?;
            }
            Ok(())
        });
        let mut under_way = HashMap::new();
        let (mut took, mut next) = (Vec::new(), first);
        let began = Instant::now();
        let mut line = Vec::new();
        loop {
            while under_way.len() < concurrent && began.elapsed() < time {
                under_way.insert(next, Instant::now());
                let _ = sender.send(call(next, text) + "\n");
                next += 1;
            }
            if under_way.is_empty() {
                break;
            }
            line.clear();
            if from.read_until(b'\n', &mut line)? == 0 {
                return Err(io::Error::other("the program ended"));
            }
            if let Some(sent) = id_of(&line).and_then(|id| under_way.remove(&id)) {
                took.push(sent.elapsed());
            }
        }
        drop(sender);
        writer.join().map_err(|_| io::Error::other("the writer failed"))??;
        Ok(took)
    })
}

/// The id of an answer, wherever it stands: at one end of the line.
fn id_of(line: &[u8]) -> Option<u64> {
    let ends = [line.get(..line.len().min(200))?, line.get(line.len().saturating_sub(200)..)?];
    ends.iter().find_map(|part| {
        let text = String::from_utf8_lossy(part);
        let rest = text.split("\"id\":").nth(1)?.trim_start().to_owned();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

fn over_http(
    port: u16,
    session: &str,
    first: u64,
    text: &str,
    time: Duration,
) -> io::Result<Vec<Duration>> {
    let mut stream = connect(port)?;
    let (mut took, began) = (Vec::new(), Instant::now());
    for id in first.. {
        if began.elapsed() >= time {
            break;
        }
        let body = call(id, text);
        let sent = Instant::now();
        let answer = post(&mut stream, &body, session)?;
        if answer.status != 200 {
            return Err(io::Error::other(format!("HTTP {}", answer.status)));
        }
        took.push(sent.elapsed());
    }
    Ok(took)
}

fn connect(port: u16) -> io::Result<BufReader<TcpStream>> {
    let began = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(START))?;
                return Ok(BufReader::with_capacity(1 << 16, stream));
            }
            Err(error) if began.elapsed() > START => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

struct Heard {
    status: u16,
    session: Option<String>,
}

/// Posts a message and reads the whole answer.
fn post(stream: &mut BufReader<TcpStream>, body: &str, session: &str) -> io::Result<Heard> {
    let named =
        if session.is_empty() { String::new() } else { format!("mcp-session-id: {session}\r\n") };
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{named}content-length: {}\r\n\r\n",
        stream.get_ref().peer_addr()?,
        body.len()
    );
    let text = head + body;
    stream.get_mut().write_all(text.as_bytes())?;
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut heard = Heard { status, session: None };
    let (mut length, mut is_chunked) = (0_usize, false);
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => is_chunked = true,
            "mcp-session-id" => heard.session = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    if !is_chunked {
        io::copy(&mut stream.take(length as u64), &mut io::sink())?;
        return Ok(heard);
    }
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
        io::copy(&mut stream.take(size + 2), &mut io::sink())?;
        if size == 0 {
            return Ok(heard);
        }
    }
}
