//! What the relay adds to a call, beside calling directly and beside two proxies in Python.
//!
//! One echo server of our own answers over either transport; one client of our own keeps as many calls
//! under way as a row says. All rows are measured in one run, so that they share the machine's mood; a
//! ratio from two runs says nothing, so the ratios are made here, behind the table. Client and echo
//! server are built for release too, or their own time would hide what is added. A proxy that is not
//! installed has no row.

mod client;
mod echo;
mod ratios;

use crate::bench::{page, save_table, shown};
use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::{Workspace, cargo};
use client::Client;
use ratios::Row;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "bench-mcp",
    arguments: "[--seconds N] [--save]",
    about: "Measure what the MCP relay adds to a call, beside two Python proxies",
    details: "\
Builds the binary and the bench for release, installs the PyPI packages mcp-proxy and fastmcp into target/mcp, and
measures an echo of 100 B, 10 KB and 1 MB with 1, 16 and 64 calls under way: directly, through Tollgate with a
policy that passes everything, with policy, redaction and ledger (buffered, and synced before each effect), and
through the proxies. Each cell takes N seconds (2 unless set). Prints p50, p99, calls a second, the most memory of
the relay or proxy so far and its start time, and behind that what each adds to calling directly. With `--save`
that goes into docs/performance.md. Run it on an otherwise idle machine.
",
    run,
};

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
  - { name: long, on: pre_tool, when: \"size(event.payload.tool) > 100\", deny: \"no\" }
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

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let (mut seconds, mut save, mut is_built) = (2, false, false);
    let mut rest = arguments;
    loop {
        rest = match rest {
            [] => break,
            [echo, rest @ ..] if echo == "--echo" => return echo::serve(rest),
            [name, value, rest @ ..] if name == "--seconds" => {
                seconds = value.parse().map_err(|_| Error::unexpected(value))?;
                rest
            }
            [name, rest @ ..] if name == "--save" => {
                save = true;
                rest
            }
            // What this command starts, once it is built for release.
            [name, rest @ ..] if name == "--built" => {
                is_built = true;
                rest
            }
            [other, ..] => return Err(Error::unexpected(other)),
        };
    }
    let root = Workspace::load()?.root;
    if is_built { measured(&root, seconds) } else { built(&root, seconds, save) }
}

/// Builds everything for release and measures with what was built.
fn built(root: &Path, seconds: u64, save: bool) -> Result<Answer, Error> {
    let mut build = cargo();
    build.args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "tollgate-cli",
        "--package",
        "xtask",
    ]);
    wait(build.current_dir(root), "cargo build")?;
    let own = format!("xtask bench-mcp --seconds {seconds}");
    let run = page::Run::of(&own, page::load_average());
    let mut measuring = Process::new(root.join("target/release/xtask"));
    measuring.args(["bench-mcp", "--built", "--seconds", &seconds.to_string()]).current_dir(root);
    let Some(table) = shown(&mut measuring)? else { return Ok(Answer::No) };
    if save {
        save_table(root, "mcp", &run, &table)?;
    }
    Ok(Answer::Done)
}

/// Measures every cell; the answer is no if one could not be.
fn measured(root: &Path, seconds: u64) -> Result<Answer, Error> {
    let folder = root.join(format!("target/bench-mcp-{}", std::process::id()));
    let failed = |source| Error::File { verb: "write", path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    for (name, text) in [
        ("passes.yaml", PASSES.to_owned()),
        ("buffered.yaml", GOVERNS.replace("DURABILITY", "buffered")),
        ("synced.yaml", GOVERNS.replace("DURABILITY", "before_effect")),
    ] {
        fs::write(folder.join(name), text).map_err(failed)?;
    }
    println!("{}", ratios::HEAD);
    let server = Server::start(root)?;
    let (mut rows, mut answer) = (Vec::new(), Answer::Done);
    for way in ways(root, &folder, server.port)? {
        if let Err(error) = measure(&way, Duration::from_secs(seconds), &mut rows) {
            println!("{}: {error}", way.name);
            answer = Answer::No;
        }
    }
    print!("{}", ratios::text(&rows));
    let _ = fs::remove_dir_all(&folder);
    Ok(answer)
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
    let to_url = ["--upstream".to_owned(), url.clone()];
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
    ways.extend(peers(root, &echo, &url)?);
    Ok(ways)
}

/// The proxies in Python.
fn peers(root: &Path, echo: &[String], url: &str) -> Result<Vec<Way>, Error> {
    let script = root.join("bench/mcp_fastmcp.py").display().to_string();
    let fast = python(root, "fastmcp", "fastmcp==4.2.3")?.join("python").display().to_string();
    let proxy = python(root, "mcp-proxy", "mcp-proxy==0.13.0")?.join("mcp-proxy");
    let fastmcp = |place: &str, behind: &[String]| -> Vec<String> {
        [vec![fast.clone(), script.clone(), place.to_owned()], behind.to_vec()].concat()
    };
    let stdio = fastmcp("stdio", echo);
    let mut ways =
        vec![Way { name: "stdio to stdio: FastMCP 4.2.3".into(), command: stdio, port: None }];
    for (hop, behind) in [("HTTP to HTTP", &[url.to_owned()][..]), ("HTTP to stdio", echo)] {
        let port = free_port()?;
        let command = fastmcp(&port.to_string(), behind);
        ways.push(Way { name: format!("{hop}: FastMCP 4.2.3"), command, port: Some(port) });
    }
    let port = free_port()?;
    let own = vec![proxy.display().to_string(), format!("--port={port}"), "--".into()];
    let command = [own, echo.to_vec()].concat();
    ways.push(Way { name: "HTTP to stdio: mcp-proxy 0.13.0".into(), command, port: Some(port) });
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
fn measure(way: &Way, time: Duration, rows: &mut Vec<Row>) -> std::io::Result<()> {
    let began = Instant::now();
    let mut client = Client::open(&way.command, way.port)?;
    let start = began.elapsed();
    for (size, bytes) in SIZES {
        for concurrent in CONCURRENT {
            let measured = client.measure(bytes, concurrent, time)?;
            let memory_mib = client.memory_mib();
            let way = way.name.clone();
            let row = Row { way, size, concurrent, measured, memory_mib, start };
            println!("{}", row.text());
            rows.push(row);
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
