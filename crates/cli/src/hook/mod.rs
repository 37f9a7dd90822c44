//! `tollgate hook HOST`: the process that a coding agent starts for one of its events.
//!
//! This is the product's hot path and its most exposed: it is started thousands of times a day, and
//! most hosts take everything but one well-formed answer for consent. So nothing runs here that the
//! event does not need, and whatever goes wrong (no policy, bad JSON, no ledger, a panic, the deadline)
//! becomes an answer that refuses. Silence is given only when a decision says so.
//!
//! Refused: waiting. A host whose time limit is open must be answered long before it.

mod answering;
mod asking;
mod fast;
mod memory;
mod wrapping;

use crate::args::{Globals, HookArguments};
use crate::hosting::OWN_SESSIONS;
use answering::{Answering, Openness};
use memory::Memory;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tollgate::gate::limits::JSON_BYTES_MAX;
use tollgate::gate::{
    Clock as _, Code, Decision, Event, EventId, Json, Name, Payload, Session, ToolCall, Verdict,
};
use tollgate::places::user_name;
use tollgate::policy::snapshot::Freshness;
use tollgate::policy::{Diagnostic, Severity};
use tollgate::store::{DiskState, StoreError, SystemClock};
use tollgate::{OpenError, Places, PlacesError, PlacesLoadError, Tollgate};
use tollgate_hosts::{Answer, EventUse, Heard, Host, Wanted, salvaged, speaker, wanted};

pub(crate) use asking::HostPrompt;
pub(crate) use fast::fast;

/// Most that is read of what is left of a message too large, for its shape only.
const UNREAD_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How an answer begins that is a refusal only because there is no decision.
pub(crate) const UNDECIDED: &str = "tollgate cannot decide";

/// Answers one event and ends the process.
pub(crate) fn run(globals: &Globals, arguments: &HookArguments) -> std::process::ExitCode {
    let answering = Answering::start();
    // A panic's own words are for developers: standard error may reach the model.
    std::panic::set_hook(Box::new(|_| {}));
    answering.give(&caught(&answering, || answer(globals, arguments, &answering)))
}

/// An answer, whatever happens while it is made.
fn caught(answering: &Answering, work: impl FnOnce() -> Answer) -> Answer {
    // What a panic leaves half done is not used again: the process ends with its answer.
    let answer = catch_unwind(AssertUnwindSafe(work));
    answer.unwrap_or_else(|_| answering.refusal("internal_error", "it panicked"))
}

/// Why there is no decision, for programs and for the model.
struct Trouble {
    code: &'static str,
    what: String,
}

impl Trouble {
    fn new(code: &'static str, what: impl std::fmt::Display) -> Trouble {
        Trouble { code, what: what.to_string() }
    }
}

fn answer(globals: &Globals, arguments: &HookArguments, answering: &Answering) -> Answer {
    match heard_answer(globals, arguments, answering) {
        Ok(answer) => answer,
        Err(trouble) => answering.refusal(trouble.code, &trouble.what),
    }
}

fn heard_answer(
    globals: &Globals,
    arguments: &HookArguments,
    answering: &Answering,
) -> Result<Answer, Trouble> {
    let Some(asked) = tollgate_hosts::host(&arguments.host) else {
        let names: Vec<&str> = tollgate_hosts::HOSTS.iter().map(|host| host.facts().name).collect();
        let what = format!("`{}` is no host: {}", arguments.host, names.join(", "));
        return Err(Trouble::new("usage", what));
    };
    let text = message()?;
    let message = match Json::read(&text) {
        Ok(message) => message,
        Err(error) => {
            // What the host cannot say well may still be let through by who is in charge.
            if let Ok(policy) = Policy::load(globals, None) {
                answering.opened(policy.openness());
            }
            half_heard(asked, &whole(text), arguments, answering);
            return Err(Trouble::new("bad_message", error));
        }
    };
    let host = speaker(asked, &message);
    let wrapping = match arguments.wrap {
        true => Some(wrapping::Calling::new(host, globals)?),
        false => None,
    };
    let message = match &wrapping {
        Some(wrapping) => wrapping.unwrapped(message),
        None => message,
    };
    let heard = host.read(message, arguments.event.as_deref()).map_err(|error| {
        half_heard(asked, &text, arguments, answering);
        Trouble::new("bad_message", error)
    })?;
    if matches!(heard.event.used, EventUse::Ignored(_)) {
        return Ok(Answer::silence());
    }
    let heard = Arc::new(heard);
    answering.heard(host, &heard);
    let mut memory = Memory::of(globals, host.facts().name, &heard.who)?;
    if let EventUse::Remembered(_) = heard.event.used {
        return remembered(globals, host, &heard, &mut memory);
    }
    let policy = Policy::load(globals, Some((&mut memory, &heard)))?;
    answering.opened(policy.openness());
    wrapping::leave_lines(host, &heard, globals, &policy.workspace)?;
    judged(host, &heard, memory, policy, answering, wrapping.as_ref())
}

/// From now on what cannot be read is refused in the words for its event, as far as that can be told.
fn half_heard(
    asked: &'static dyn Host,
    text: &[u8],
    arguments: &HookArguments,
    answering: &Answering,
) {
    let message = salvaged(text);
    let host = speaker(asked, &message.clone().into());
    if let Some(heard) = host.half_heard(message, arguments.event.as_deref()) {
        answering.heard(host, &Arc::new(heard));
    }
}

/// A message with what was left of it on standard input: its shape lies in all of it.
fn whole(mut message: Vec<u8>) -> Vec<u8> {
    // A failed read leaves what there is.
    let _ = std::io::stdin().lock().take(UNREAD_BYTES_MAX).read_to_end(&mut message);
    message
}

fn message() -> Result<Vec<u8>, Trouble> {
    let mut text = Vec::with_capacity(8 * 1024);
    let limit = JSON_BYTES_MAX as u64 + 1;
    let read = std::io::stdin().lock().take(limit).read_to_end(&mut text);
    read.map_err(|error| Trouble::new("bad_message", error))?;
    Ok(text)
}

/// An event that is answered from what was decided before.
fn remembered(
    globals: &Globals,
    host: &'static dyn Host,
    heard: &Heard,
    memory: &mut Memory,
) -> Result<Answer, Trouble> {
    let call = heard.payload.as_ref().and_then(Payload::tool_call);
    let Some(call) = call else {
        let policy = Policy::load(globals, Some((&mut *memory, heard)));
        memory.forget();
        end_answers(&places(globals)?, &heard.who.session)?;
        let Policy { places, loaded, .. } = policy?;
        let settled = tollgate::ledger::settle_tree(&places, &loaded, &heard.who.session);
        settled.map_err(|error| Trouble::new("ledger_unavailable", error))?;
        return Ok(host.answer(heard, &Wanted::Nothing));
    };
    let may_skip = memory.may_skip_prompt(call)?;
    Ok(host.answer(heard, if may_skip { &Wanted::Allow } else { &Wanted::Nothing }))
}

/// What a person answered for the session holds no longer.
fn end_answers(places: &Places, session: &str) -> Result<(), Trouble> {
    let state = places.state().map_err(|error| Trouble::new("internal_error", error))?;
    let ended = DiskState::new(&state, Arc::new(SystemClock::new()), None).end_answers(session);
    let why = "session state is not available; `tollgate status` says more";
    ended.map_err(|_| Trouble::new("state_unavailable", why))
}

/// Whether a session begins with this event, or is taken up again after its program had ended: its end
/// is not always told. One that goes on with less context is the same.
fn begins(heard: &Heard) -> bool {
    let source = heard.message.get("source").and_then(Json::as_str);
    matches!(heard.payload, Some(Payload::AgentStart(_)))
        && heard.who.agent_id.is_none()
        && source != Some("compact")
}

/// The policy in force, and where the session works.
struct Policy {
    places: Places,
    workspace: PathBuf,
    loaded: tollgate::policy::Loaded,
    freshness: Freshness,
}

impl Policy {
    /// Of the session's project, whose root is fixed when the session is first heard of.
    fn load(globals: &Globals, session: Option<(&mut Memory, &Heard)>) -> Result<Policy, Trouble> {
        let places = places(globals)?;
        let misplaced = |error: PlacesError| Trouble::new("bad_policy", error);
        let (places, workspace) = match session {
            None => (places, PathBuf::from("/")),
            Some((memory, heard)) => {
                if let Some(root) = memory.workspace() {
                    (places.starting_in(&root).map_err(misplaced)?, root)
                } else {
                    let cwd = heard.who.cwd.as_deref().unwrap_or(".");
                    let places = places.starting_in(Path::new(cwd)).map_err(misplaced)?;
                    let root = places.project_root();
                    memory.settle_in(&root)?;
                    (places.starting_in(&root).map_err(misplaced)?, root)
                }
            }
        };
        let loaded = places.load_for_a_call(SystemClock::new().now());
        let (loaded, freshness) = loaded.map_err(|error| unloaded(&error))?;
        Ok(Policy { places, workspace, loaded, freshness })
    }

    fn openness(&self) -> Openness {
        if self.loaded.settings.open_on_error { Openness::Open } else { Openness::Closed }
    }
}

/// Where things are, wherever the host has started this.
fn places(globals: &Globals) -> Result<Places, Trouble> {
    let places = Places::of_user(Path::new("/"));
    let places = places.map_err(|error| Trouble::new("internal_error", error))?;
    let places = places.with_policies(globals.policy.clone());
    Ok(match &globals.state {
        Some(state) => places.with_state(state),
        None => places,
    })
}

fn unloaded(error: &PlacesLoadError) -> Trouble {
    match error {
        PlacesLoadError::Policy(failure) => {
            let is_none = failure.report.diagnostics.iter().any(|found| found.code == "no-policy");
            if is_none {
                return Trouble::new("no_policy", "there is no policy in force");
            }
            let wrong = |found: &&Diagnostic| found.severity == Severity::Error;
            let places = failure.report.diagnostics.iter().filter(wrong);
            let mut sources =
                places.filter_map(|found| failure.report.sources.get(found.place.as_ref()?.source));
            match sources.next().map(|source| &source.name) {
                Some(file) => {
                    Trouble::new("bad_policy", format!("the policy `{file}` does not load"))
                }
                None => Trouble::new("bad_policy", "the policy does not load"),
            }
        }
        PlacesLoadError::Places(error) => Trouble::new("bad_policy", error),
        PlacesLoadError::Trust(error) => Trouble::new("bad_policy", error),
    }
}

/// An event that passes the gate.
fn judged(
    host: &'static dyn Host,
    heard: &Arc<Heard>,
    mut memory: Memory,
    policy: Policy,
    answering: &Answering,
    wrapping: Option<&wrapping::Calling>,
) -> Result<Answer, Trouble> {
    let openness = policy.openness();
    let is_last_good = policy.freshness == Freshness::LastGood;
    let session = session(host, heard, &policy.workspace);
    let variable = |name: &str| std::env::var(name).ok();
    // A question about a call that nobody made is put to nobody.
    let is_own = session.id.starts_with(OWN_SESSIONS);
    let can_ask = heard.can_ask && !host.is_unattended(&variable);
    if begins(heard) {
        memory.sweep();
        end_answers(&policy.places, &heard.who.session)?;
    }
    let mut builder = Tollgate::builder();
    if let Some(host) = tollgate::person::host_process() {
        builder = builder.host_process(host);
    }
    let tollgate = builder
        .approver_over(move |durable| {
            let durable = durable.filter(|_| !is_own);
            Arc::new(HostPrompt { can_ask, durable })
        })
        .loaded(policy.places, policy.loaded, policy.freshness)
        .wait_ms_max(answering::wait_ms_max(host, heard))
        .short_lived()
        .open()
        .map_err(|error| unopened(&error))?;
    let Some(payload) = heard.payload.clone() else { return Ok(Answer::silence()) };
    let payload = memory.correlate(host, payload)?;
    let now = tollgate.clock().now();
    let mut event = Event::new(session, payload, now);
    event.bounds = heard.bounds;
    event.tags = heard.who.mode.iter().map(|mode| format!("mode:{mode}").into()).collect();
    let decision = wait(tollgate.gate().judge(event));
    memory.remember(host, &decision)?;
    if decision.code == Some(Code::LedgerUnavailable) && openness == Openness::Open {
        return Ok(answering.refusal("ledger_unavailable", "the decision could not be recorded"));
    }
    let wanted = match wrapping {
        Some(wrapping) => wrapping.wrapped(host, heard, wanted(heard, &decision)),
        None => wanted(heard, &decision),
    };
    let mut answer = host.answer(&with_notices(heard, &tollgate), &wanted);
    // The decision is on disk, the process ends: taking the gate down would only take time.
    std::mem::forget(tollgate);
    if is_last_good && answer.stderr.is_empty() {
        answer.stderr = format!(
            "tollgate: the policy does not load; the last good one is in force ({})\n",
            decision.policy
        );
    }
    Ok(answer)
}

/// When a session starts, the person is told of policies that are ignored.
fn with_notices(heard: &Heard, tollgate: &Tollgate) -> Heard {
    let mut heard = heard.clone();
    if matches!(heard.payload, Some(Payload::AgentStart(_))) {
        let notices = tollgate.notices();
        heard.notice = (!notices.is_empty()).then(|| format!("tollgate: {}", notices.join("; ")));
    }
    heard
}

fn unopened(error: &OpenError) -> Trouble {
    match error {
        // The agent hears what is wrong and never the remedy; `status` tells a person that.
        OpenError::Store(StoreError::SetBack { .. }) => Trouble::new(
            "ledger_unavailable",
            "the ledger does not lead on from what its key has signed; `tollgate status` says more",
        ),
        OpenError::Store(StoreError::Key { .. }) => Trouble::new(
            "ledger_unavailable",
            "the key of the ledger cannot be used; `tollgate status` says more",
        ),
        OpenError::Store(StoreError::Busy { .. }) => {
            Trouble::new("ledger_unavailable", "another process has held the ledger for too long")
        }
        OpenError::Store(_) => Trouble::new(
            "ledger_unavailable",
            "the ledger cannot be used; `tollgate status` says more",
        ),
        OpenError::Policy(_) | OpenError::NoPolicy | OpenError::Places(_) | OpenError::Trust(_) => {
            Trouble::new("bad_policy", error)
        }
        OpenError::Hook(error) => Trouble::new("bad_policy", error),
    }
}

/// Who acts: the host's session, a sub-agent as its child, the person as the operating system knows
/// them.
fn session(host: &dyn Host, heard: &Heard, workspace: &Path) -> Arc<Session> {
    let who = &heard.who;
    let mut session = match &who.agent_id {
        None => Session::new(Name::clone(&who.session)),
        Some(agent) => Session {
            parent: Some(Name::clone(&who.session)),
            root: Some(Name::clone(&who.session)),
            ..Session::new(format!("{}/{agent}", who.session))
        },
    };
    session.user = Some(user_name().into());
    session.agent = Some(who.agent_type.clone().unwrap_or_else(|| host.facts().name.into()));
    session.host = Some(host.facts().name.into());
    session.cwd.clone_from(&who.cwd);
    session.workspace = workspace.to_str().map(Name::from);
    Arc::new(session)
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread. When every hook that matches is inline it is ready at
/// once; the deadline ends the process otherwise.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return done;
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::answering::{Answering, Openness};
    use super::caught;
    use std::sync::Arc;
    use tollgate::gate::Json;
    use tollgate_hosts::{HOSTS, host};

    #[test]
    fn a_panic_anywhere_is_a_refusal_in_the_hosts_words() {
        let before = |host: &str| match host {
            "gemini" => {
                r#"{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool",
                "tool_name":"run_shell_command","tool_input":{"command":"ls"}}"#
            }
            _ => {
                r#"{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash",
                "tool_use_id":"c","tool_input":{"command":"ls"},"permission_mode":"default"}"#
            }
        };
        for name in ["claude-code", "codex", "gemini"] {
            let answering = Answering::start();
            let unheard = caught(&answering, || panic!("in the adapter"));
            assert_eq!((unheard.exit, unheard.stdout.as_str()), (2, ""), "{name}");
            let message = Json::read(before(name).as_bytes()).unwrap();
            let host = host(name).unwrap();
            let heard = Arc::new(host.read(message, None).unwrap());
            answering.heard(host, &heard);
            let refused = caught(&answering, || panic!("in a handler"));
            assert_eq!(refused.exit, 2, "{name}");
            assert!(refused.stderr.contains("internal_error"), "{}", refused.stderr);
            answering.opened(Openness::Open);
            let open = caught(&answering, || panic!("in the ledger"));
            assert_eq!((open.exit, open.stdout.as_str()), (0, ""), "{name}");
            assert!(open.stderr.contains("as the policy says"), "{}", open.stderr);
        }
        assert!(HOSTS.len() >= 3);
    }
}
