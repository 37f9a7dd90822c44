//! The keeper of a relay's server: a process between the two that ends the server, and all that it has
//! started, when either of them is gone, however that comes about.
//!
//! The system tells it when its relay dies, by SIGTERM, also where the relay was killed. What the server
//! starts stays below it: a process that leaves its group or loses its parent becomes the keeper's child.
//! So nothing of a server outlives its relay but what the keeper itself is killed over, and of that the
//! server still ends, for it is bound to its keeper as the keeper is to the relay.

use crate::exit::{Exit, Failure};
use crate::output;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tollgate::gate::text::shown;

/// The code of a program that could not be run and has said why, as shells have it.
pub(super) const CANNOT_RUN: i32 = 126;
/// How long what was told to end may take, in milliseconds: less than the relay waits for its keeper.
const TERMINATE_MS: u64 = 2_000;
/// How long what a server leaves behind may take, in milliseconds.
const LEFTOVERS_MS: u64 = 500;
/// How often processes that were killed are looked for again; new ones may have been started meanwhile.
const KILL_ROUNDS: u32 = 200;
/// Pause between two looks, in milliseconds.
const LOOK_MS: u64 = 10;

/// The arguments with which this program becomes the keeper of a server.
pub(super) fn arguments(program: &[OsString]) -> Vec<OsString> {
    words(&["mcp", "child", "--"], program)
}

fn words(first: &[&str], program: &[OsString]) -> Vec<OsString> {
    first.iter().map(OsString::from).chain(program.iter().cloned()).collect()
}

/// Whether a program can be found and run, as far as that shows beforehand.
pub(super) fn find(program: &OsString) -> Result<(), Failure> {
    let is_program = |path: &Path| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    let path = Path::new(program);
    let why = if program.as_encoded_bytes().contains(&b'/') {
        match path.metadata() {
            Err(error) => error.to_string(),
            Ok(_) if is_program(path) => return Ok(()),
            Ok(_) => "it is no program that may be run".to_owned(),
        }
    } else {
        let places = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&places).map(|place: PathBuf| place.join(path));
        if places.any(|place| is_program(&place)) {
            return Ok(());
        }
        "it is in no folder of PATH".to_owned()
    };
    Err(cannot_start(program, &why))
}

fn cannot_start(program: &OsString, why: &str) -> Failure {
    let program = program.to_string_lossy();
    let message = format!("the server `{}` cannot be started: {why}", shown(&program, 200));
    Failure::usage(message, "check the command behind `--`")
}

/// Becomes the server's program, after asking the system to end it when its keeper is gone.
pub(super) fn become_server(program: &[OsString]) -> Result<Exit, Failure> {
    let Some((program, arguments)) = program.split_first() else { return Ok(Exit::Usage) };
    bind(Signal::KILL)?;
    let error = Command::new(program).args(arguments).exec();
    output::tell_people(cannot_start(program, &error.to_string()));
    std::process::exit(CANNOT_RUN);
}

/// Asks the system for this signal when the process that started this one is gone.
fn bind(signal: Signal) -> Result<(), Failure> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(signal)).map_err(|error| {
        Failure::internal(format!("the server cannot be bound to its relay: {error}"))
    })?;
    // It may have been gone before that took hold.
    match rustix::process::getppid() == parent {
        true => Ok(()),
        false => Err(Failure::internal("the relay has ended before its server was started")),
    }
}

/// Starts the server, and ends with it.
pub(super) fn keep(program: &[OsString]) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::internal(format!("the server has no keeper: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let status = runtime.map_err(failed)?.block_on(async {
        let mut signals = Signals::listen().map_err(failed)?;
        bind(Signal::TERM)?;
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).map_err(|error| failed(error.into()))?;
        let this = std::env::current_exe().map_err(failed)?;
        let server = Command::new(this)
            .args(words(&["mcp", "child", "--bound", "--"], program))
            .spawn()
            .map_err(failed)?;
        let server = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
        // Its ends are the server's alone, so that each side sees when the other closes its own.
        let_go().map_err(failed)?;
        let mut status = None;
        while status.is_none() {
            if signals.next().await {
                end(&mut signals, TERMINATE_MS, server, &mut status).await;
                break;
            }
            status = reap(server);
        }
        end(&mut signals, LEFTOVERS_MS, server, &mut status).await;
        Ok::<_, Failure>(status)
    })?;
    end_like(status)
}

/// What the keeper hears of.
struct Signals {
    child: tokio::signal::unix::Signal,
    term: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            child: signal(SignalKind::child())?,
            term: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next: whether it says that all is to end.
    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.child.recv() => false,
            _ = self.term.recv() => true,
            _ = self.interrupt.recv() => true,
            _ = self.hang_up.recv() => true,
        }
    }
}

fn let_go() -> io::Result<()> {
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(rustix::stdio::dup2_stdout(&nothing)?)
}

/// Takes in who has ended; the server's status, if it is among them.
fn reap(server: Option<Pid>) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((pid, ended))) = rustix::process::wait(WaitOptions::NOHANG) {
        if Some(pid) == server {
            status = Some(ended);
        }
    }
    status
}

/// Ends all that is below: tells it to, and kills what has not ended in its time.
async fn end(
    signals: &mut Signals,
    grace_ms: u64,
    server: Option<Pid>,
    status: &mut Option<WaitStatus>,
) {
    tell_all(Signal::TERM);
    let grace = async {
        while !is_alone() {
            let looks = tokio::time::sleep(Duration::from_millis(LOOK_MS));
            tokio::select! {
                _ = signals.child.recv() => {}
                () = looks => {}
            }
            *status = status.or_else(|| reap(server));
        }
    };
    let _ = tokio::time::timeout(Duration::from_millis(grace_ms), grace).await;
    for _ in 0..KILL_ROUNDS {
        *status = status.or_else(|| reap(server));
        if is_alone() {
            return;
        }
        tell_all(Signal::KILL);
        tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
    }
}

/// Whether nobody is left below. Who has ended counts until it is taken in.
fn is_alone() -> bool {
    below().is_empty()
}

fn tell_all(signal: Signal) {
    for pid in below() {
        // One that is gone has nothing to be told.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// All processes below this one, those nearest first.
fn below() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if let Some(parent) = parent.and_then(|parent| parent.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = children.remove(&own).unwrap_or_default();
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        found.extend(children.remove(pid).unwrap_or_default());
        at += 1;
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// Ends as the server did, for whoever asks how that was.
fn end_like(status: Option<WaitStatus>) -> Result<Exit, Failure> {
    let Some(status) = status else { std::process::exit(128 + 15) };
    if let Some(signal) = status.terminating_signal() {
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        // It was the server that crashed; one core is enough.
        let _: Result<(), Errno> = rustix::process::setrlimit(Resource::Core, nothing);
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
        }
        std::process::exit(128 + signal);
    }
    std::process::exit(status.exit_status().unwrap_or(1))
}
