//! Whether there is a person: a terminal of one's own, and no agent among the processes above.
//!
//! What one user's processes can prove to each other is little, and docs/threat-model.md says how
//! little. This refuses the plain ways: an agent that runs the answering command, and one that pipes a
//! yes into it.

use nix::sys::termios::{FlushArg, LocalFlags, SetArg, tcflush, tcgetattr, tcsetattr};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};
use tollgate_store::{HostProcess, SessionShown};

/// Processes above this one that are looked at.
const ABOVE_MAX: usize = 256;
/// Programs that only start another one, with the command in their arguments.
const STARTERS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "env", "timeout"];
/// Room for a file of `/proc`, in bytes.
const PROC_BYTES: usize = 1024;
/// Longest line that is read from a terminal, in bytes.
const LINE_BYTES_MAX: u64 = 4096;

/// A process as the system tells of it.
struct Process {
    name: String,
    parent: u32,
    started: u64,
}

/// What a file of `/proc` says. The system gives it no length, and a buffer that starts empty would take a read for
/// each of its sizes.
fn told(path: &str) -> Option<String> {
    let mut text = String::with_capacity(PROC_BYTES);
    File::open(path).and_then(|mut file| file.read_to_string(&mut text)).ok()?;
    Some(text)
}

/// Looks at a process; `None` where the system does not tell.
fn process(pid: u32) -> Option<Process> {
    let stat = told(&format!("/proc/{pid}/stat"))?;
    // The name stands in brackets and may itself hold some.
    let (before, rest) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = rest.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(Process { name, parent, started })
}

/// The processes above this one, the nearest first.
fn above() -> impl Iterator<Item = (u32, Process)> {
    let mut next = process(std::process::id()).map_or(0, |own| own.parent);
    std::iter::from_fn(move || {
        let pid = Some(next).filter(|pid| *pid > 0)?;
        let found = process(pid)?;
        next = found.parent;
        Some((pid, found))
    })
    .take(ABOVE_MAX)
}

/// The agent program that started this process as its hook: the nearest process above that is no mere
/// starter of commands. `None` where the system does not tell.
pub fn host_process() -> Option<HostProcess> {
    let is_starter = |pid: u32, process: &Process| {
        let has_command = || {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            arguments.split(|byte| *byte == 0).any(|word| word == b"-c")
        };
        STARTERS.contains(&&*process.name) && (process.name == "env" || has_command())
    };
    let host = above().find(|(pid, process)| !is_starter(*pid, process));
    host.map(|(pid, process)| HostProcess { pid, started: process.started })
}

/// The session whose host is among the processes above this one.
pub fn governed_by(sessions: &[SessionShown]) -> Option<&SessionShown> {
    let above: Vec<HostProcess> =
        above().map(|(pid, process)| HostProcess { pid, started: process.started }).collect();
    sessions.iter().find(|session| session.hosts.iter().any(|host| above.contains(host)))
}

/// A person's terminal.
pub struct Terminal {
    read: BufReader<File>,
    write: File,
}

impl Terminal {
    /// The terminal that controls this process, which standard input is as well.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open() -> io::Result<Terminal> {
        if !io::stdin().is_terminal() {
            return Err(io::Error::other("standard input is no terminal"));
        }
        let open = || OpenOptions::new().read(true).write(true).open("/dev/tty");
        Ok(Terminal { read: BufReader::new(open()?), write: open()? })
    }

    /// Asks; what was typed before the question is thrown away, and all but a clear yes is a no.
    ///
    /// # Errors
    /// [`io::Error`] of the terminal.
    pub fn agrees(&mut self, question: &str) -> io::Result<bool> {
        let line = self.line(&format!("{question} [y/N] "))?;
        Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Reads a line that is not shown.
    ///
    /// # Errors
    /// [`io::Error`] of the terminal.
    pub fn secret(&mut self, question: &str) -> io::Result<String> {
        let shown = tcgetattr(&self.write)?;
        let mut hidden = shown.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        hidden.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(&self.write, SetArg::TCSAFLUSH, &hidden)?;
        let line = self.line(question);
        tcsetattr(&self.write, SetArg::TCSANOW, &shown)?;
        line.map(|line| line.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn line(&mut self, question: &str) -> io::Result<String> {
        tcflush(&self.write, FlushArg::TCIFLUSH)?;
        self.write.write_all(question.as_bytes())?;
        self.write.flush()?;
        let mut line = String::new();
        self.read.by_ref().take(LINE_BYTES_MAX).read_line(&mut line)?;
        Ok(line)
    }
}
