//! A server that is a program of this machine: how it is started, spoken to and ended.
//!
//! It gets a process group of its own, so that what it starts can be ended with it, and the relay's
//! standard error, so that a person sees what it says. It is ended in order: its input is closed,
//! then it is told to end, then it is killed, with its group. Nothing of it is left behind.

use super::http::{CLIENT_TOKEN, UPSTREAM_TOKEN};
use super::limits::{CLOSE_MS, TERMINATE_MS};
use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStdin, ChildStdout};

/// The program that is the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status; `true`: before the client had finished.
    Itself(ExitStatus, bool),
    /// It was told to.
    Terminated,
    /// It was killed.
    Killed,
    /// It closed its output, so nobody would hear an answer, and was ended.
    Unheard,
}

/// A server that runs.
pub(in crate::mcp) struct Server {
    child: Child,
    group: Option<rustix::process::Pid>,
}

impl Command {
    /// Starts it.
    pub(super) fn start(&self) -> io::Result<(Server, ChildStdin, ChildStdout)> {
        let mut child = tokio::process::Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // Tokens of the relay are not the program's.
            .env_remove(UPSTREAM_TOKEN)
            .env_remove(CLIENT_TOKEN)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let group = group.and_then(rustix::process::Pid::from_raw);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no standard input or output"));
        };
        Ok((Server { child, group }, stdin, stdout))
    }
}

impl Server {
    /// Waits for it to end by itself.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it; its input must be closed already.
    pub(super) async fn end(mut self) -> io::Result<Ended> {
        let wait = |ms| Duration::from_millis(ms);
        if let Ok(status) = tokio::time::timeout(wait(CLOSE_MS), self.child.wait()).await {
            let status = status?;
            self.signal(rustix::process::Signal::KILL);
            return Ok(Ended::Itself(status, false));
        }
        self.signal(rustix::process::Signal::TERM);
        let ended = tokio::time::timeout(wait(TERMINATE_MS), self.child.wait()).await;
        // What it started is in its group and ends with it.
        self.signal(rustix::process::Signal::KILL);
        if ended.is_ok() {
            return Ok(Ended::Terminated);
        }
        self.child.kill().await?;
        Ok(Ended::Killed)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // A group that is gone has nothing to be told.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}
