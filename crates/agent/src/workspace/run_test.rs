//! The test run: one configured command, in the workspace, under bounds.
//!
//! The model does not choose what runs, only that it runs. The command gets no environment but what
//! is configured, no input, and a process group of its own; when it ends, runs out of time or is
//! dropped, the whole group is killed. The group is killed while its leader has ended but has not been
//! collected, so that its number cannot have gone to another group meanwhile.
//!
//! What is not caught: a process that makes a session of its own has left the group. Its output is no
//! longer waited for, but it is not killed.

use crate::limits::{TEST_OUTPUT_BYTES_MAX, TEST_TIMEOUT_MS};
use crate::tool::ToolFailure;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;
use tokio::time::Instant;
use tollgate_gate::{Json, Object};

/// The command that `run_test` runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCommand {
    /// The program: a path, or a name that is looked for in the `PATH` of `environment`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Time that it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Output that is kept of each stream, in bytes.
    pub output_bytes_max: usize,
}

impl TestCommand {
    /// A command with the usual bounds and no environment but a plain `PATH`.
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> TestCommand {
        TestCommand {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            timeout_ms: TEST_TIMEOUT_MS,
            output_bytes_max: TEST_OUTPUT_BYTES_MAX,
        }
    }

    /// Runs it in `directory` and tells how it ended.
    pub(super) async fn run(&self, directory: &Path) -> Result<Json, ToolFailure> {
        let cannot = |error: &dyn std::fmt::Display| {
            let program = self.program.to_string_lossy();
            ToolFailure::new(format!("the test command `{program}` cannot be run: {error}"))
        };
        let mut group = self.start(directory).map_err(|error| cannot(&error))?;
        let mut stdout = Output::new(group.0.stdout.take(), self.output_bytes_max);
        let mut stderr = Output::new(group.0.stderr.take(), self.output_bytes_max);
        stdout.never_wait().and_then(|()| stderr.never_wait()).map_err(|error| cannot(&error))?;
        let end = Instant::now() + Duration::from_millis(self.timeout_ms);
        let mut pause = PAUSE_MIN;
        let in_time = loop {
            let read_some = stdout.read() | stderr.read();
            if group.has_ended().map_err(|error| cannot(&error))? {
                break true;
            }
            if Instant::now() >= end {
                break false;
            }
            pause = if read_some { PAUSE_MIN } else { (pause * 2).min(PAUSE_MAX) };
            tokio::time::sleep(pause).await;
        };
        let status = group.collect().map_err(|error| cannot(&error))?;
        stdout.read();
        stderr.read();
        Ok(self.report(status, in_time, stdout, stderr))
    }

    fn start(&self, directory: &Path) -> std::io::Result<Group> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        Ok(Group(child))
    }

    fn report(
        &self,
        status: ExitStatus,
        in_time: bool,
        stdout: Output<ChildStdout>,
        stderr: Output<ChildStderr>,
    ) -> Json {
        let mut out = Object::new();
        out.insert("passed", in_time && status.success());
        out.insert("exit_code", status.code());
        out.insert("signal", status.signal());
        out.insert("timed_out_after_ms", (!in_time).then_some(self.timeout_ms));
        out.insert("stdout", stdout.text());
        out.insert("stderr", stderr.text());
        out.into()
    }
}

/// The pause between two looks at a run: short while it is busy, longer while it is quiet.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(16);
/// Output that is taken in one look, in bytes, so that a flood cannot keep the loop from the clock.
const LOOK_BYTES_MAX: usize = 1024 * 1024;

/// A process and the group that it leads.
struct Group(Child);

impl Group {
    /// Whether the leader has ended. It stays uncollected, and its number taken.
    fn has_ended(&self) -> rustix::io::Result<bool> {
        let id = WaitId::Pid(Pid::from_child(&self.0));
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(id, look) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Kills the whole group, then collects the leader.
    fn collect(&mut self) -> std::io::Result<ExitStatus> {
        self.kill();
        self.0.wait()
    }

    fn kill(&self) {
        // An empty group is as good as a killed one.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
    }
}

impl Drop for Group {
    /// A run that is dropped halfway is killed: nothing else could do it any more.
    fn drop(&mut self) {
        // A leader that was collected is known as such, and its number is not used again.
        if let Ok(None) = self.0.try_wait() {
            self.kill();
            // It has been killed, so this is soon over.
            let _ = self.0.wait();
        }
    }
}

/// One stream of output, as far as it is kept.
struct Output<R> {
    stream: Option<R>,
    kept: Vec<u8>,
    bytes_max: usize,
    dropped_bytes: u64,
}

impl<R: Read + AsFd> Output<R> {
    fn new(stream: Option<R>, bytes_max: usize) -> Output<R> {
        Output { stream, kept: Vec::new(), bytes_max, dropped_bytes: 0 }
    }

    fn never_wait(&self) -> rustix::io::Result<()> {
        self.stream.as_ref().map_or(Ok(()), |stream| fcntl_setfl(stream, OFlags::NONBLOCK))
    }

    /// Takes what is there; says whether there was any.
    fn read(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        let mut taken = 0;
        while let Some(stream) = self.stream.as_mut().filter(|_| taken < LOOK_BYTES_MAX) {
            match stream.read(&mut piece) {
                Ok(0) => self.stream = None,
                Ok(bytes) => {
                    taken += bytes;
                    self.keep(piece.get(..bytes).unwrap_or_default());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.stream = None,
            }
        }
        taken > 0
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = self.bytes_max.saturating_sub(self.kept.len()).min(piece.len());
        let (kept, dropped) = piece.split_at_checked(room).unwrap_or((piece, &[]));
        self.kept.extend_from_slice(kept);
        self.dropped_bytes += dropped.len() as u64;
    }

    fn text(self) -> String {
        let mut text = String::from_utf8_lossy(&self.kept).into_owned();
        if self.dropped_bytes > 0 {
            text.push_str(&format!("\n... ({} more bytes)", self.dropped_bytes));
        }
        text
    }
}
