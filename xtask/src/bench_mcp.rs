//! What the relay adds to a call, beside calling directly and beside two proxies in Python.
//!
//! One echo server of our own answers over either transport; one client of our own keeps as many calls
//! under way as a row says. All rows are measured in one run, so that they share the machine's mood; a
//! ratio from two runs says nothing. A proxy that is not installed has no row.

mod client;
mod echo;

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::{Workspace, cargo};
use client::{Client, Measured};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "bench-mcp",
    arguments: "[--seconds N]",
    about: "Measure what the MCP relay adds to a call, beside two Python proxies",
    details: "\
Builds the binary for release, installs the PyPI packages mcp-proxy and fastmcp into target/mcp, and measures an
echo of 100 B, 10 KB and 1 MB with 1, 16 and 64 calls under way: directly, through Tollgate with a policy that
passes everything, with policy, redaction and ledger, and through the proxies. Each cell takes N seconds (2 unless
set). Prints p50, p99, calls a second, memory and start time. Run it on an otherwise idle machine.
",
    run,
};

const SIZES: [(&str, usize); 3] = [("100 B", 100), ("10 KB", 10_000), ("1 MB", 1_000_000)];
const CONCURRENT: [usize; 3] = [1, 16, 64];

/// A policy that concerns nothing that is called.
const PASSES: &str = "version: 1\naudit: { store: memory, durability: buffered }\nhooks:\n  - { name: other, on: pre_tool, match: { tool: other }, deny: \"no\" }\n";
/// Policy, redaction and the buffered ledger.
const GOVERNS: &str = "version: 1\naudit: { store: \"file:default\", durability: buffered }\nhooks:\n  - { name: other, on: pre_tool, match: { tool: \"*delete*\" }, deny: \"no\" }\n  - { name: long, on: pre_tool, when: \"size(event.payload.tool) > 100\", deny: \"no\" }\n  - { name: mask, on: after_tool, redact: { find: [secrets, pii] } }\n";

/// One way from the client to the echo server.
struct Way {
    name: &'static str,
    /// What is started for it, and at which port it serves; without one it is spoken to over its input.
    command: Vec<String>,
    port: Option<u16>,
}

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let seconds = match arguments {
        [] => 2,
        [echo, rest @ ..] if echo == "--echo" => return echo::serve(rest),
        [name, value] if name == "--seconds" => {
            value.parse().map_err(|_| Error::unexpected(value))?
        }
        [other, ..] => return Err(Error::unexpected(other)),
    };
    let root = Workspace::load()?.root;
    let mut build = cargo();
    build.args(["build", "--quiet", "--release", "--package", "tollgate-cli"]).current_dir(&root);
    wait(&mut build, "cargo build")?;
    let folder = root.join(format!("target/bench-mcp-{}", std::process::id()));
    let failed = |source| Error::File { verb: "write", path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::write(folder.join("passes.yaml"), PASSES).map_err(failed)?;
    fs::write(folder.join("governs.yaml"), GOVERNS).map_err(failed)?;
    println!(
        "| way | echo | calls under way | p50 us | p99 us | calls/s | memory MiB | start ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let server = Server::start(&root)?;
    for way in ways(&root, &folder, server.port)? {
        if let Err(error) = measure(&way, Duration::from_secs(seconds)) {
            println!("| {} | could not be measured: {error} | | | | | | |", way.name);
        }
    }
    let _ = fs::remove_dir_all(&folder);
    Ok(Answer::Done)
}

/// The echo server over HTTP.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(root: &Path) -> Result<Server, Error> {
        let port = free_port()?;
        let mut command = Process::new(this()?);
        command.args(["bench-mcp", "--echo", &port.to_string()]).current_dir(root);
        let child = command.stdin(Stdio::null()).spawn();
        let child = child.map_err(|source| Error::Start { program: "echo".into(), source })?;
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
fn ways(root: &Path, folder: &Path, far: u16) -> Result<Vec<Way>, Error> {
    let this = this()?.display().to_string();
    let echo: Vec<String> = vec![this, "bench-mcp".into(), "--echo".into(), "stdio".into()];
    let url = format!("http://127.0.0.1:{far}/mcp");
    let binary = root.join("target/release/tollgate").display().to_string();
    let relay = |policy: &str, name: &str, rest: &[String]| -> Vec<String> {
        let policy = folder.join(policy).display().to_string();
        let state = folder.join(name).display().to_string();
        let own = ["--policy", &policy, "--state", &state, "mcp", "--server", "echo"];
        std::iter::once(binary.clone()).chain(own.map(String::from)).chain(rest.to_vec()).collect()
    };
    let behind = [vec!["--".to_owned()], echo.clone()].concat();
    let before = |port: u16, rest: &[String]| -> Vec<String> {
        [vec!["--listen".to_owned(), format!("127.0.0.1:{port}")], rest.to_vec()].concat()
    };
    let to_url = ["--upstream".to_owned(), url];
    let mut ways = vec![
        Way { name: "stdio: direct", command: echo.clone(), port: None },
        Way { name: "stdio: passes", command: relay("passes.yaml", "a", &behind), port: None },
        Way { name: "stdio: governs", command: relay("governs.yaml", "b", &behind), port: None },
        Way { name: "HTTP: direct", command: Vec::new(), port: Some(far) },
    ];
    for (name, policy, rest) in [
        ("HTTP to HTTP: passes", "passes.yaml", &to_url[..]),
        ("HTTP to HTTP: governs", "governs.yaml", &to_url[..]),
        ("HTTP to stdio: passes", "passes.yaml", &behind[..]),
        ("HTTP to stdio: governs", "governs.yaml", &behind[..]),
    ] {
        let port = free_port()?;
        let command = relay(policy, &port.to_string(), &before(port, rest));
        ways.push(Way { name, command, port: Some(port) });
    }
    ways.extend(peers(root, &echo)?);
    Ok(ways)
}

/// The proxies in Python.
fn peers(root: &Path, echo: &[String]) -> Result<Vec<Way>, Error> {
    let mut ways = Vec::new();
    let script = root.join("bench/mcp_fastmcp.py").display().to_string();
    let fast = python(root, "fastmcp", "fastmcp==4.2.3")?.join("python").display().to_string();
    let stdio = [vec![fast.clone(), script.clone(), "stdio".into()], echo.to_vec()].concat();
    ways.push(Way { name: "stdio: FastMCP proxy 4.2.3", command: stdio, port: None });
    let port = free_port()?;
    let http = [vec![fast, script, port.to_string()], echo.to_vec()].concat();
    ways.push(Way { name: "HTTP to stdio: FastMCP proxy 4.2.3", command: http, port: Some(port) });
    let port = free_port()?;
    let proxy = python(root, "mcp-proxy", "mcp-proxy==0.13.0")?.join("mcp-proxy");
    let own = vec![proxy.display().to_string(), format!("--port={port}"), "--".into()];
    let command = [own, echo.to_vec()].concat();
    ways.push(Way { name: "HTTP to stdio: mcp-proxy 0.13.0", command, port: Some(port) });
    Ok(ways)
}

/// Brings a package of Python into a place of its own; gives the folder of its programs.
fn python(root: &Path, name: &str, package: &str) -> Result<PathBuf, Error> {
    let place = root.join("target/mcp").join(name);
    if !place.join("bin/python").is_file() {
        wait(Process::new("python3").args(["-m", "venv"]).arg(&place), "python3 -m venv")?;
    }
    wait(Process::new(place.join("bin/pip")).args(["install", "--quiet", package]), "pip install")?;
    Ok(place.join("bin"))
}

/// Measures one way, every cell of it.
fn measure(way: &Way, time: Duration) -> std::io::Result<()> {
    let began = Instant::now();
    let mut client = Client::open(&way.command, way.port)?;
    let start = began.elapsed();
    for (shown, size) in SIZES {
        for concurrent in CONCURRENT {
            let Measured { p50, p99, rate } = client.measure(size, concurrent, time)?;
            let memory =
                client.memory_mib().map_or_else(|| "-".to_owned(), |mib| format!("{mib:.0}"));
            println!(
                "| {} | {shown} | {concurrent} | {:.0} | {:.0} | {rate:.0} | {memory} | {:.0} |",
                way.name,
                p50.as_secs_f64() * 1e6,
                p99.as_secs_f64() * 1e6,
                start.as_secs_f64() * 1e3,
            );
        }
    }
    Ok(())
}

fn this() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|source| Error::Start { program: "xtask".into(), source })
}

fn free_port() -> Result<u16, Error> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|one| Ok(one.local_addr()?.port()));
    port.map_err(|source| Error::Start { program: "a listener".into(), source })
}

fn wait(command: &mut Process, name: &str) -> Result<(), Error> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|source| Error::Start { program: name.into(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Usage(format!("`{name}` failed"))) }
}
