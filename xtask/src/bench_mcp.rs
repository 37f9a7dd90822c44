//! What the relay adds to a call, beside calling directly and beside two proxies in Python.
//!
//! The client, the echo server and the measuring are a package of their own (`bench/mcp`), so that they
//! are built for release in seconds; this builds, installs the proxies, and makes a table of what was
//! measured, with the ratios: one made from two runs says nothing.

mod ratios;

use crate::bench::{page, save_table, shown};
use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::workspace::{Workspace, cargo};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "bench-mcp",
    arguments: "[--seconds N] [--small] [--only WORD] [--save]",
    about: "Measure what the MCP relay adds to a call, beside two Python proxies",
    details: "\
Builds the binary and bench/mcp for release, installs the PyPI packages mcp-proxy and fastmcp into target/mcp, and
measures an echo of 100 B, 10 KB and 1 MB with 1, 16 and 64 calls under way: directly, through Tollgate with a
policy that passes everything, with policy, redaction and ledger (buffered, and synced before each effect), and
through the proxies. Each cell takes N seconds (2 unless set). Prints p50, p99, calls a second, the time of
processors and the most memory of the relay or proxy and its start time, and behind that what each adds to calling
directly. With `--small` only the 100 B are measured, with `--only` only the ways that have WORD in their name; with `--save` the table goes into docs/performance.md. Run it
on an otherwise idle machine.
",
    run,
};

fn run(arguments: &[String]) -> Result<Answer, Error> {
    let (mut seconds, mut small, mut save, mut only) = (2_u64, false, false, String::new());
    let mut rest = arguments;
    loop {
        rest = match rest {
            [] => break,
            [name, value, rest @ ..] if name == "--seconds" => {
                seconds = value.parse().map_err(|_| Error::unexpected(value))?;
                rest
            }
            [name, rest @ ..] if name == "--small" => {
                small = true;
                rest
            }
            [name, word, rest @ ..] if name == "--only" => {
                only.clone_from(word);
                rest
            }
            [name, rest @ ..] if name == "--save" => {
                save = true;
                rest
            }
            [other, ..] => return Err(Error::unexpected(other)),
        };
    }
    let root = Workspace::load()?.root;
    let mut build = cargo();
    build.args(["build", "--quiet", "--release", "--package", "tollgate-cli"]).current_dir(&root);
    wait(&mut build, "cargo build")?;
    let own = format!("xtask bench-mcp --seconds {seconds}{}", if small { " --small" } else { "" });
    let run = page::Run::of(&own, page::load_average());
    let Some(cells) = measured(&root, seconds, if small { "1" } else { "3" }, &only)? else {
        return Ok(Answer::No);
    };
    let table = ratios::text(&cells);
    print!("{table}");
    if save {
        save_table(&root, "mcp", &run, &table)?;
    }
    Ok(Answer::Done)
}

/// What was measured, a line a cell; `None` where a cell could not be.
fn measured(root: &Path, seconds: u64, sizes: &str, only: &str) -> Result<Option<String>, Error> {
    let fastmcp = python(root, "fastmcp", "fastmcp==4.2.3")?;
    let proxy = python(root, "mcp-proxy", "mcp-proxy==0.13.0")?;
    let folder = root.join(format!("target/bench-mcp-{}", std::process::id()));
    let failed = |source| Error::File { verb: "write", path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut measuring = cargo();
    measuring
        .args([
            "run",
            "--quiet",
            "--release",
            "--locked",
            "--manifest-path",
            "bench/mcp/Cargo.toml",
        ])
        .args(["--target-dir", "target/bench-mcp", "--", "measure"])
        .arg(root.join("target/release/tollgate"))
        .arg(&folder)
        .args([fastmcp, proxy])
        .args([&seconds.to_string(), sizes, only])
        .current_dir(root);
    let cells = shown(&mut measuring);
    let _ = fs::remove_dir_all(&folder);
    cells
}

/// Brings a package of Python into a place of its own; gives its interpreter.
fn python(root: &Path, name: &str, package: &str) -> Result<PathBuf, Error> {
    let place = root.join("target/mcp").join(name);
    if !place.join("bin/python").is_file() {
        wait(Process::new("python3").args(["-m", "venv"]).arg(&place), "python3 -m venv")?;
    }
    wait(Process::new(place.join("bin/pip")).args(["install", "--quiet", package]), "pip install")?;
    Ok(place.join("bin/python"))
}

fn wait(command: &mut Process, name: &str) -> Result<(), Error> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|source| Error::Start { program: name.into(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Usage(format!("`{name}` failed"))) }
}
