//! What stands between a client and an echo server of MCP, measured: `cargo xtask bench-mcp` starts this.
//!
//! One echo server of our own answers over either transport; one client of our own keeps as many calls
//! under way as a cell says. Both are built for release and do as little as they can, or their own time
//! would hide what is added. All cells are measured in one run, so that they share the machine's mood.
//!
//! `tollgate-bench-mcp measure TOLLGATE FOLDER PYTHON-FASTMCP PYTHON-MCP-PROXY SECONDS SIZES [WORD]` prints a line
//! a cell, its parts between tabs: way, size, calls under way, p50 and p99 in us, calls a second, us of
//! processors a call, MiB of memory (both of what stands between, 0 where nothing does), ms until the first
//! answer. SIZES says how many of the three sizes are measured; a WORD behind it, that only ways with it in
//! their name are.
//! `tollgate-bench-mcp echo stdio|PORT` is the echo server.

mod client;
mod echo;

use client::{Client, Measured};
use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const SIZES: [(&str, usize); 3] = [("100 B", 100), ("10 KB", 10_000), ("1 MB", 1_000_000)];
const CONCURRENT: [usize; 3] = [1, 16, 64];

/// A policy that concerns nothing that is called.
const PASSES: &str = "version: 1
audit: { store: memory, durability: buffered }
hooks:
  - { name: other, on: pre_tool, match: { tool: other }, deny: \"no\" }
";
/// Policy, redaction and the ledger.
const GOVERNS: &str = "version: 1
audit: { store: \"file:default\", durability: DURABILITY }
hooks:
  - { name: other, on: pre_tool, match: { tool: \"*delete*\" }, deny: \"no\" }
  - { name: long, on: pre_tool, when: \"size(event.tool) > 100\", deny: \"no\" }
  - { name: mask, on: after_tool, redact: { find: [secrets, pii] } }
";
/// The policies of the ways through Tollgate, by the name of their rows.
const POLICIES: [(&str, &str); 3] =
    [("passes", "passes.yaml"), ("governs", "buffered.yaml"), ("governs, synced", "synced.yaml")];

/// One way from the client to the echo server.
struct Way {
    name: String,
    /// What is started for it, and at which port it serves; without one it is spoken to over its input.
    command: Vec<String>,
    port: Option<u16>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match texts[..] {
        ["echo", place] => echo::serve(place).map_err(Into::into),
        ["measure", tollgate, folder, fastmcp, proxy, seconds, sizes, ref word @ ..] => {
            let stage = Stage {
                tollgate: tollgate.to_owned(),
                folder: PathBuf::from(folder),
                fastmcp: fastmcp.to_owned(),
                proxy: proxy.to_owned(),
            };
            measured(&stage, seconds, sizes, word.first().copied().unwrap_or_default())
        }
        _ => Err("`measure` and six arguments, or `echo` and a place".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What is measured with.
struct Stage {
    tollgate: String,
    /// For policies and states; it exists.
    folder: PathBuf,
    /// The interpreters that have the proxies.
    fastmcp: String,
    proxy: String,
}

/// Measures every cell.
fn measured(
    stage: &Stage,
    seconds: &str,
    sizes: &str,
    word: &str,
) -> Result<(), Box<dyn Error>> {
    let (time, sizes) = (Duration::from_secs(seconds.parse()?), sizes.parse()?);
    for (name, text) in [
        ("passes.yaml", PASSES.to_owned()),
        ("buffered.yaml", GOVERNS.replace("DURABILITY", "buffered")),
        ("synced.yaml", GOVERNS.replace("DURABILITY", "before_effect")),
    ] {
        let file = stage.folder.join(name);
        fs::write(&file, text)?;
        // Under a policy that does not hold nothing would be started.
        if !Command::new(&stage.tollgate).arg("check").arg(&file).status()?.success() {
            return Err(format!("the policy {name} does not hold").into());
        }
    }
    let server = Server::start()?;
    let mut failed = Vec::new();
    for way in ways(stage, server.port)?.iter().filter(|way| way.name.contains(word)) {
        if let Err(error) = measure(way, time, sizes) {
            failed.push(format!("{}: {error}", way.name));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

/// The echo server over HTTP.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> io::Result<Server> {
        let port = free_port()?;
        let mut command = Command::new(std::env::current_exe()?);
        let child = command.args(["echo", &port.to_string()]).stdin(Stdio::null()).spawn()?;
        Ok(Server { child, port })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All ways that can be had.
fn ways(stage: &Stage, far: u16) -> io::Result<Vec<Way>> {
    let this = std::env::current_exe()?.display().to_string();
    let echo: Vec<String> = vec![this, "echo".into(), "stdio".into()];
    let url = format!("http://127.0.0.1:{far}/mcp");
    let relay = |policy: &str, name: &str, rest: &[String]| -> Vec<String> {
        let policy = stage.folder.join(policy).display().to_string();
        let state = stage.folder.join(name).display().to_string();
        let own = ["--policy", &policy, "--state", &state, "mcp", "--server", "echo"];
        std::iter::once(stage.tollgate.clone())
            .chain(own.map(String::from))
            .chain(rest.to_vec())
            .collect()
    };
    let behind = [vec!["--".to_owned()], echo.clone()].concat();
    let before = |port: u16, rest: &[String]| -> Vec<String> {
        [vec!["--listen".to_owned(), format!("127.0.0.1:{port}")], rest.to_vec()].concat()
    };
    let to_url = ["--upstream".to_owned(), url];
    let named = |hop: &str, what: &str| format!("{hop}: {what}");
    let mut ways =
        vec![Way { name: named("stdio to stdio", "direct"), command: echo.clone(), port: None }];
    for (what, policy) in POLICIES {
        let command = relay(policy, &format!("stdio-{policy}"), &behind);
        ways.push(Way { name: named("stdio to stdio", what), command, port: None });
    }
    ways.push(Way { name: named("HTTP to HTTP", "direct"), command: vec![], port: Some(far) });
    for (hop, rest) in [("HTTP to HTTP", &to_url[..]), ("HTTP to stdio", &behind[..])] {
        for (what, policy) in POLICIES {
            let port = free_port()?;
            let command = relay(policy, &port.to_string(), &before(port, rest));
            ways.push(Way { name: named(hop, what), command, port: Some(port) });
        }
    }
    ways.extend(peers(stage, &echo)?);
    Ok(ways)
}

/// The proxies in Python. FastMCP before a URL is left out: it opens a session for each call.
fn peers(stage: &Stage, echo: &[String]) -> io::Result<Vec<Way>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fastmcp_proxy.py");
    let script = script.display().to_string();
    let fastmcp = |place: &str, behind: &[String]| -> Vec<String> {
        [vec![stage.fastmcp.clone(), script.clone(), place.to_owned()], behind.to_vec()].concat()
    };
    let stdio = fastmcp("stdio", echo);
    let mut ways =
        vec![Way { name: "stdio to stdio: FastMCP 4.2.3".into(), command: stdio, port: None }];
    let port = free_port()?;
    let module = ["-m", "mcp_proxy"].map(String::from);
    let own = [vec![stage.proxy.clone()], module.to_vec()].concat();
    let own = [own, vec![format!("--port={port}"), "--".into()]].concat();
    let command = [own, echo.to_vec()].concat();
    ways.push(Way { name: "HTTP to stdio: mcp-proxy 0.13.0".into(), command, port: Some(port) });
    let port = free_port()?;
    let command = fastmcp(&port.to_string(), echo);
    ways.push(Way { name: "HTTP to stdio: FastMCP 4.2.3".into(), command, port: Some(port) });
    Ok(ways)
}

/// Measures one way, every cell of it.
fn measure(way: &Way, time: Duration, sizes: usize) -> io::Result<()> {
    let began = Instant::now();
    let mut client = Client::open(&way.command, way.port)?;
    let start = began.elapsed();
    for (size, bytes) in SIZES.into_iter().take(sizes) {
        for concurrent in CONCURRENT {
            let Measured { p50, p99, rate, cpu } = client.measure(bytes, concurrent, time)?;
            let (us, memory) = (1e6, client.memory_mib().unwrap_or(0.0));
            writeln!(
                io::stdout(),
                "{}\t{size}\t{concurrent}\t{:.1}\t{:.1}\t{rate:.1}\t{:.1}\t{memory:.1}\t{:.1}",
                way.name,
                p50.as_secs_f64() * us,
                p99.as_secs_f64() * us,
                cpu.as_secs_f64() * us,
                start.as_secs_f64() * 1e3,
            )?;
        }
    }
    Ok(())
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
