//! The one answer of a hook process, and the deadline by which it is given.
//!
//! Whoever is first gives it: the decision, or the thread that watches the time. What is given when
//! something went wrong is a refusal in the host's own words, or silence where the person in charge has
//! said `on_internal_error: open`.

use super::UNDECIDED;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tollgate_hosts::settings::ANSWER_MS;
use tollgate_hosts::{Answer, Crash, Heard, Host};

/// By when an answer is given, in milliseconds, whatever happens; far below every host's own limit.
const DEADLINE_MS: u64 = ANSWER_MS;
/// The share of a host's own time limit that is used at most, where that is shorter.
const SHARE_OF_LIMIT: u64 = 2;
/// How much of the time until then a call may wait for a person: three quarters.
const WAIT_SHARE: (u64, u64) = (3, 4);
/// The stack of the thread that watches the time, in bytes.
const WATCH_STACK_BYTES: usize = 128 * 1024;

/// What an internal error does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Openness {
    /// It refuses.
    Closed,
    /// The host goes on.
    Open,
}

/// The answer that is still to be given.
#[derive(Clone)]
pub(super) struct Answering {
    slot: Arc<Mutex<Slot>>,
}

struct Slot {
    given: bool,
    openness: Openness,
    heard: Option<(&'static dyn Host, Arc<Heard>)>,
}

/// The share of the host's own time limit at this event that is used.
fn limit_ms(host: &dyn Host, heard: &Heard) -> u64 {
    host.facts().timeout_ms_at(heard.event.name) / SHARE_OF_LIMIT
}

/// How long a call may wait for a person's answer, in milliseconds. The question must be refused before the
/// time is over: what is over time is answered as the policy says of internal errors, and that can be open.
/// Nobody is waited for where the host lets the call run when its own limit is over, whatever is configured.
pub(super) fn wait_ms_max(host: &dyn Host, heard: &Heard) -> u64 {
    if matches!(host.facts().on_timeout, Crash::Open) {
        return 0;
    }
    let (part, whole) = WAIT_SHARE;
    limit_ms(host, heard).min(DEADLINE_MS) * part / whole
}

impl Answering {
    /// Begins to watch the time.
    pub(super) fn start() -> Answering {
        let slot = Slot { given: false, openness: Openness::Closed, heard: None };
        let answering = Answering { slot: Arc::new(Mutex::new(slot)) };
        answering.watch(DEADLINE_MS);
        answering
    }

    /// Gives the refusal after this time, if nothing was given by then. Without a thread there is no
    /// deadline of our own; the host's then holds.
    fn watch(&self, after_ms: u64) {
        let watching = self.clone();
        let _ = std::thread::Builder::new().stack_size(WATCH_STACK_BYTES).spawn(move || {
            std::thread::sleep(Duration::from_millis(after_ms));
            let answer = watching.refusal("hook_timeout", "it took too long");
            // An answer that was given by now and has not ended the process is one that the host does
            // not read: it is cut short, and the code says that it is none.
            let exit = watching.give_once(&answer).unwrap_or(2);
            std::process::exit(i32::from(exit));
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on refusals are in the host's words.
    pub(super) fn heard(&self, host: &'static dyn Host, heard: &Arc<Heard>) {
        self.lock().heard = Some((host, Arc::clone(heard)));
        let limit_ms = limit_ms(host, heard);
        if limit_ms < DEADLINE_MS {
            self.watch(limit_ms);
        }
    }

    /// From now on this is what an internal error does.
    pub(super) fn opened(&self, openness: Openness) {
        self.lock().openness = openness;
    }

    /// The answer when there is no decision. If even its words panic, the one that every host knows.
    pub(super) fn refusal(&self, code: &str, what: &str) -> Answer {
        let said = catch_unwind(AssertUnwindSafe(|| self.said_refusal(code, what)));
        said.unwrap_or_else(|_| Answer::exit_2(&format!("{UNDECIDED} ({code}): {what}")))
    }

    fn said_refusal(&self, code: &str, what: &str) -> Answer {
        let slot = self.lock();
        if slot.openness == Openness::Open {
            let stderr = format!("tollgate: {code}: {what}; it goes on, as the policy says\n");
            return Answer { stderr, ..Answer::default() };
        }
        let why = format!(
            "{UNDECIDED} ({code}): {what}. So this is refused; a person has to look at it, \
             it is no error to work around"
        );
        match &slot.heard {
            Some((host, heard)) => host.refuse(Some(heard), &why),
            None => Answer::exit_2(&why),
        }
    }

    /// Gives the answer, unless the deadline has given one.
    pub(super) fn give(&self, answer: &Answer) -> ExitCode {
        match self.give_once(answer) {
            Some(exit) => exit.into(),
            // The other thread is about to end the process; whatever it says holds.
            None => loop {
                std::thread::park();
            },
        }
    }

    fn give_once(&self, answer: &Answer) -> Option<u8> {
        if std::mem::replace(&mut self.lock().given, true) {
            return None;
        }
        let mut out = std::io::stdout().lock();
        let written = match answer.stdout.is_empty() {
            true => Ok(()),
            false if is_nowhere(&out) => Err(std::io::ErrorKind::BrokenPipe.into()),
            false => out.write_all(answer.stdout.as_bytes()).and_then(|()| out.flush()),
        };
        let mut exit = answer.exit;
        let mut stderr = answer.stderr.clone();
        if written.is_err() {
            // Half an answer is none: this one every host knows.
            exit = 2;
            stderr = "tollgate could not write its answer\n".to_owned();
        }
        // Nobody hears it then; the exit code stands.
        let _ = std::io::stderr().lock().write_all(stderr.as_bytes());
        Some(exit)
    }
}

/// Whether standard output is the null device: so it is when the host has closed it, for the runtime
/// opens that in its place, and what is written there is heard by nobody.
fn is_nowhere(out: &std::io::StdoutLock<'_>) -> bool {
    let of = |found: std::io::Result<std::fs::Metadata>| {
        found.ok().map(|found| (found.file_type().is_char_device(), found.rdev()))
    };
    let own = out.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let own = of(own.and_then(|own| own.metadata()));
    own.is_some_and(|(is_device, _)| is_device) && own == of(std::fs::metadata("/dev/null"))
}
