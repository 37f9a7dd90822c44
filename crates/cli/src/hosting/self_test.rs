//! The proof: the very command that stands in a host's settings is run, with a call that must be refused
//! under every policy and in every mode but off, and the answer is read as the host reads it.
//!
//! The call would pause the gate; the guard refuses it (law 13). Its record stands in the ledger under a
//! session of its own, so that it is not taken for a call of the host.

use super::Known;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tollgate::GUARD;
use tollgate_hosts::canned::{refusal, shell_call};
use tollgate_hosts::settings::TIMEOUT_MS;

/// Sessions that are no host's begin so.
pub(crate) const OWN_SESSIONS: &str = "tollgate-";
/// The call that must be refused.
const CALL: &str = "tollgate pause --for 1h --reason 'the doctor asks whether this is refused'";
/// Most bytes that are read of an answer.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// What came of it.
pub(super) enum Proof {
    /// It was refused, in this time, for this reason.
    Refused {
        /// How long the hook took.
        took: Duration,
        /// What the agent would hear.
        reason: String,
    },
    /// It was refused, but not for what it is: so is every call then.
    Closed {
        /// What the agent would hear.
        reason: String,
    },
    /// It would have run.
    Open {
        /// What the hook did instead of refusing.
        what: String,
    },
}

/// What a hook left behind.
pub(super) struct Asked {
    pub(super) took: Duration,
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
    /// Whether it had to be ended.
    pub(super) overran: bool,
}

impl Asked {
    /// The reason, if the host takes this for a refusal.
    pub(super) fn refusal(&self, known: Known) -> Option<String> {
        if self.overran {
            return None;
        }
        refusal(known.facts.name, self.code, &self.out, &self.err)
    }

    /// What it did, in a line.
    pub(super) fn told(&self) -> String {
        if self.overran {
            return format!("no answer in {} s", self.took.as_secs());
        }
        told(self.code, &self.out, &self.err)
    }
}

/// Runs the command as the host would, with the call that must be refused.
pub(super) fn prove(known: Known, command: &str, cwd: &Path) -> Proof {
    let session = format!("{OWN_SESSIONS}doctor-{}", std::process::id());
    let asked = match ask(known, command, cwd, &session, CALL) {
        Ok(asked) => asked,
        Err(error) => return Proof::Open { what: format!("it cannot be run: {error}") },
    };
    match asked.refusal(known) {
        Some(reason) if reason.contains(GUARD) => Proof::Refused { took: asked.took, reason },
        Some(reason) => Proof::Closed { reason },
        None => Proof::Open { what: asked.told() },
    }
}

/// Runs a hook's command as its host would, for a shell call of this session.
pub(super) fn ask(
    known: Known,
    command: &str,
    cwd: &Path,
    session: &str,
    call: &str,
) -> std::io::Result<Asked> {
    let cwd_text = cwd.display().to_string();
    let call = shell_call(known.facts.name, session, &cwd_text, call).unwrap_or_default();
    let began = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not read the call answers all the same.
        let _ = stdin.write_all(call.as_bytes());
    }
    let out = reader(child.stdout.take());
    let err = reader(child.stderr.take());
    let limit = Duration::from_millis(TIMEOUT_MS);
    let (code, overran) = loop {
        if let Some(status) = child.try_wait()? {
            break (status.code(), false);
        }
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break (None, true);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ok(Asked { took: began.elapsed(), code, out: joined(out), err: joined(err), overran })
}

type Reader = std::thread::JoinHandle<String>;

fn reader(pipe: Option<impl std::io::Read + Send + 'static>) -> Reader {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What came before an error counts.
            let _ = pipe.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn joined(reader: Reader) -> String {
    reader.join().unwrap_or_default()
}

fn told(code: Option<i32>, out: &str, err: &str) -> String {
    let code = code.map_or_else(|| "it was killed".to_owned(), |code| format!("exit code {code}"));
    let first = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
    match (first(out), first(err)) {
        (out, err) if out.is_empty() && err.is_empty() => format!("{code}, and not a word"),
        (out, err) if err.is_empty() => format!("{code}, and this: {out}"),
        (_, err) => format!("{code}, and this: {err}"),
    }
}
