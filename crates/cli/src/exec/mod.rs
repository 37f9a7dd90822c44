//! `tollgate exec`: the filter through which a wrapped command's output passes.
//!
//! A wrapped command (`tollgate_hosts::wrap`) starts it with `--open`: the filter makes its doors,
//! answers with a few lines of shell that point the shell's output at them, and from then on masks what
//! comes by the policy in force. Whatever goes wrong before that answer ends the shell, with nothing
//! run; whatever goes wrong after it withholds the output, and the command runs on.
//!
//! Where no hook masks the output of this tool, the answer changes nothing and no filter stays.

mod door;
mod filter;
mod script;

use crate::args::{ExecArguments, Globals};
use crate::desk::{Desk, unloaded};
use crate::exit::{Exit, Failure};
use crate::output::answer;
use door::Doors;
use filter::Filter;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;
use tollgate::Switches;
use tollgate::gate::Mode;
use tollgate::places::user_name;
use tollgate::policy::stream::{OutputRedaction, StreamOrigin};
use tollgate_hosts::wrap::{Stdin, Wrapping, wrap};

pub(crate) fn run(globals: &Globals, arguments: &ExecArguments) -> Result<Exit, Failure> {
    // A panic's own words may quote what was being looked at.
    std::panic::set_hook(Box::new(|_| {}));
    match (&arguments.wrap, arguments.open) {
        (Some(command), _) => print_wrapped(globals, arguments, command),
        (None, true) => open(globals, arguments),
        (None, false) => pass(globals, arguments),
    }
}

/// Shows the text that stands for a command.
fn print_wrapped(
    globals: &Globals,
    arguments: &ExecArguments,
    command: &str,
) -> Result<Exit, Failure> {
    let program = std::env::current_exe().map_err(Failure::internal)?;
    let program = program.to_str().ok_or_else(|| Failure::internal("its own path is no text"))?;
    let mut words = Vec::new();
    let mut push = |flag: &str, value: Option<&str>| {
        if let Some(value) = value {
            words.extend([flag.to_owned(), value.to_owned()]);
        }
    };
    push("--host", arguments.host.as_deref());
    push("--tool", arguments.tool.as_deref());
    push("--in", arguments.folder.as_deref().and_then(Path::to_str));
    for policy in &globals.policy {
        push("--policy", policy.to_str());
    }
    push("--state", globals.state.as_deref().and_then(Path::to_str));
    let stdin = if arguments.closed_stdin { Stdin::Closed } else { Stdin::Kept };
    let text = wrap(command, &Wrapping { program, words: &words, stdin });
    answer(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

/// The redaction of standard output and that of standard error, or none where nothing masks.
type Redactions = Option<(OutputRedaction, OutputRedaction)>;

fn redactions(globals: &Globals, arguments: &ExecArguments) -> Result<Redactions, Failure> {
    let folder = arguments.folder.as_deref().unwrap_or(Path::new("."));
    let desk = Desk::starting_in(globals, folder)?;
    let policy = desk.places.load_for_a_call(desk.now()).map_err(|error| unloaded(&error))?.0;
    if policy.settings.mode != Mode::Enforce {
        return Ok(None);
    }
    let hooks: Vec<_> = policy.hooks().collect();
    // Switches that cannot be read switch nothing.
    let state = desk.places.state().ok();
    let switches = state.and_then(|state| Switches::read(&state).ok()).unwrap_or_default();
    let acts = |name: &str| {
        let hook = hooks.iter().find(|hook| hook.name == name);
        hook.is_none_or(|hook| crate::commands::hooks::state(hook, &switches, desk.now()).0 == "on")
    };
    let user = user_name();
    let (tool, host) = (arguments.tool.as_deref(), arguments.host.as_deref());
    let origin = StreamOrigin { tool, host, user: Some(&user) };
    let one = || policy.output_redaction(&origin, &acts).map_err(Failure::internal);
    Ok(one()?.zip(one()?))
}

/// Standard input to standard output, masked: `command | tollgate exec`.
fn pass(globals: &Globals, arguments: &ExecArguments) -> Result<Exit, Failure> {
    let redaction = redactions(globals, arguments)?.map(|(first, _)| first);
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(Failure::internal)?;
    let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(Failure::internal)?;
    Filter::of_pipe(input, output, redaction).run().map_err(Failure::internal)?;
    Ok(Exit::Done)
}

/// Answers the shell on standard input, which is a pipe of its own, and serves it.
fn open(globals: &Globals, arguments: &ExecArguments) -> Result<Exit, Failure> {
    let made = redactions(globals, arguments).and_then(|redactions| {
        let Some(redactions) = redactions else { return Ok(None) };
        let doors = Doors::new().map_err(Failure::internal)?;
        Ok(Some((doors, redactions)))
    });
    let script = match &made {
        Ok(Some((doors, _))) => script::through(doors),
        Ok(None) => script::UNCHANGED.to_owned(),
        Err(_) => script::REFUSED.to_owned(),
    };
    tell(&script).map_err(Failure::internal)?;
    if let Some((doors, (output, error))) = made? {
        Filter::of_doors(doors, output, error).and_then(Filter::run).map_err(Failure::internal)?;
    }
    Ok(Exit::Done)
}

/// Writes the answer and lets go of the pipe, so that the shell does not wait for more.
fn tell(script: &str) -> std::io::Result<()> {
    let pipe = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut pipe = File::from(pipe);
    pipe.write_all(script.as_bytes())?;
    drop(pipe);
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(())
}
