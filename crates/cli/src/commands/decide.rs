//! `tollgate decide`: one event in, one decision out; or a stream of them, a line each.
//!
//! It is the contract for programs in any language, so every input line has one output line, also one
//! that is no event. What cannot be decided is no permission: the answer is an error, and the exit code
//! says so.

use crate::args::{DecideArguments, Globals};
use crate::desk::unopened;
use crate::exit::{Exit, Failure};
use crate::hook::HostPrompt;
use crate::output::{answer, tell_people, told};
use serde_json::json;
use std::io::{BufRead, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::gate::limits::JSON_BYTES_MAX;
use tollgate::gate::text::shown_block;
use tollgate::gate::{
    Durability, Event, EventError, Ledger, LedgerError, ManualClock, MemoryState, Name, Record,
    Soon,
};
use tollgate::policy::{Layer, LayerKind};
use tollgate::{Builder, OpenError, ReloadError, Reloaded, Tollgate};

const EVENT_REMEDY: &str = "`tollgate schema event` says what an event looks like";
const POLICY_REMEDY: &str = "name one with --policy FILE, or write one with `tollgate init`";
const CHECK_REMEDY: &str = "`tollgate check` says all that is wrong with it";

pub(crate) fn run(globals: &Globals, arguments: &DecideArguments) -> Result<Exit, Failure> {
    let gate = match open(globals, arguments) {
        Ok(gate) => gate,
        Err(OpenError::Policy(failure)) => {
            let none = failure.report.diagnostics.iter().any(|found| found.code == "no-policy");
            let (code, message, remedy) = match none {
                true => ("no_policy", "there is no policy in force", POLICY_REMEDY),
                false => ("bad_policy", "the policy does not load", CHECK_REMEDY),
            };
            answer(&error_line(None, code, message, remedy))?;
            return Err(Failure::policy(failure));
        }
        Err(error) => return Err(unopened(&error)),
    };
    for notice in gate.tollgate.notices() {
        warn(&notice);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(Failure::internal)?;
    // A stream can last: it follows its policy. A replay is about the policy that it began with.
    let watch = match arguments.jsonl && gate.by_hand.is_none() {
        true => Some(gate.tollgate.watch(tell).map_err(Failure::internal)?),
        false => None,
    };
    let done = runtime.block_on(async {
        match arguments.jsonl {
            true => decide_lines(&gate).await,
            false => decide_one(&gate).await,
        }
    });
    drop(watch);
    let recorded = runtime.block_on(gate.tollgate.gate().flush());
    recorded.map_err(Failure::internal)?;
    done
}

fn warn(text: &str) {
    tell_people(format_args!("warning: {}", shown_block(text.trim_end(), usize::MAX)));
}

/// Tells people what came into force while a stream goes on, and what did not.
fn tell(heard: Result<(Reloaded, Name), ReloadError>) {
    match heard {
        Ok((Reloaded::Policy, digest)) => {
            tell_people(format_args!("the policy was loaded again: {digest}"))
        }
        Ok((Reloaded::Switches, digest)) => {
            tell_people(format_args!("the switches changed: {digest}"))
        }
        Err(error) => warn(&format!("what was in force stays in force: {error}")),
    }
}

/// A gate that decides as `decide` does in this folder, and keeps nothing.
pub(crate) fn quiet_gate(globals: &Globals, folder: &Path) -> Result<Tollgate, OpenError> {
    let builder = builder(globals, folder)?.ledger(Arc::new(NoLedger));
    let nobody = HostPrompt { can_ask: false, durable: None };
    builder.state(Arc::new(MemoryState::new())).approver(Arc::new(nobody)).open()
}

/// The policies that count: the named files and nothing else, or what is in force in this folder.
fn builder(globals: &Globals, folder: &Path) -> Result<Builder, OpenError> {
    if !globals.policy.is_empty() {
        let named = |path: &PathBuf| Layer::named(LayerKind::User, path);
        let layers = globals.policy.iter().map(named).collect();
        let builder = Tollgate::builder().policy_layers(layers);
        return Ok(match &globals.state {
            Some(state) => builder.state_folder(state),
            None => builder,
        });
    }
    let mut places = tollgate::Places::of_user(folder)?;
    if let Some(state) = &globals.state {
        places = places.with_state(state);
    }
    Ok(Tollgate::builder().places(places))
}

/// A gate, and the clock where it is set by hand.
struct Opened {
    tollgate: Arc<Tollgate>,
    by_hand: Option<Arc<ManualClock>>,
}

fn open(globals: &Globals, arguments: &DecideArguments) -> Result<Opened, OpenError> {
    let by_hand = arguments.now.map(|now| Arc::new(ManualClock::new(now)));
    let mut builder = builder(globals, Path::new("."))?;
    builder = match &arguments.ledger {
        Some(folder) => builder.ledger_folder(folder),
        None => builder.ledger(Arc::new(NoLedger)),
    };
    if let Some(clock) = &by_hand {
        // A replay is about a time of its own; what is counted now is not its business.
        builder = builder.state(Arc::new(MemoryState::new()));
        builder = builder.clock(Arc::<ManualClock>::clone(clock));
    }
    Ok(Opened { tollgate: Arc::new(builder.open()?), by_hand })
}

/// This command only tells what would be decided; nothing is kept unless a ledger is named.
struct NoLedger;

impl Ledger for NoLedger {
    fn append(&self, _: Record, _: Durability) -> Soon<'_, Result<(), LedgerError>> {
        Soon::now(Ok(()))
    }
}

async fn decide_one(gate: &Opened) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    let limit = JSON_BYTES_MAX as u64 + 1;
    let read = std::io::stdin().lock().take(limit).read_to_end(&mut text);
    read.map_err(|error| Failure::internal(format!("standard input cannot be read: {error}")))?;
    match decide(gate, &text).await {
        Ok(decision) => {
            answer(&decision)?;
            Ok(Exit::Done)
        }
        Err(error) => {
            answer(&error_line(None, "invalid_event", &error.to_string(), EVENT_REMEDY))?;
            Err(Failure::usage(error, EVENT_REMEDY))
        }
    }
}

async fn decide_lines(gate: &Opened) -> Result<Exit, Failure> {
    let mut input = std::io::stdin().lock();
    let (mut number, mut bad) = (0_u64, 0_u64);
    let mut line = Vec::new();
    while next_line(&mut input, &mut line)? {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let reply = match decide(gate, &line).await {
            Ok(decision) => decision,
            Err(error) => {
                bad += 1;
                error_line(Some(number), "invalid_event", &error.to_string(), EVENT_REMEDY)
            }
        };
        if !told(&reply)? {
            // Nobody hears what would be decided any more, so nothing more is.
            break;
        }
    }
    if bad == 0 {
        return Ok(Exit::Done);
    }
    let message = format!("{bad} of {number} lines hold no event; the answers name them");
    Err(Failure::usage(message, EVENT_REMEDY))
}

async fn decide(gate: &Opened, text: &[u8]) -> Result<String, EventError> {
    let clock = gate.tollgate.clock();
    let event = Event::read(text, clock.now())?;
    if let Some(by_hand) = &gate.by_hand {
        by_hand.advance(event.at.since(clock.now()));
    }
    let decision = gate.tollgate.gate().judge(event).await;
    // A decision is made of texts, numbers and lists; it has a JSON form.
    let mut line = serde_json::to_string(&decision).unwrap_or_default();
    line.push('\n');
    Ok(line)
}

/// The next line, whole, but for what is beyond the cap: that is read past, and what is kept is too
/// long for an event.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Failure> {
    line.clear();
    let failed = |error| Failure::internal(format!("standard input cannot be read: {error}"));
    let limit = JSON_BYTES_MAX as u64 + 1;
    let read = input.by_ref().take(limit).read_until(b'\n', line).map_err(failed)?;
    if read > 0 && line.last() != Some(&b'\n') {
        input.skip_until(b'\n').map_err(failed)?;
    }
    Ok(read > 0)
}

fn error_line(line: Option<u64>, code: &str, message: &str, remedy: &str) -> String {
    let error = json!({ "line": line, "code": code, "message": message, "remedy": remedy });
    format!("{}\n", json!({ "version": 1, "error": error }))
}
