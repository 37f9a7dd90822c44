//! The binary `tollgate`: reads its arguments, runs one command, ends with a documented code.
//!
//! Standard output is the answer, standard error is for people. Errors are reported here, once.

mod args;
mod commands;
mod demo;
mod desk;
mod effects;
mod exec;
mod exit;
mod governed;
mod hook;
mod hosting;
mod ids;
mod looking;
mod output;
mod passing_on;
mod past;
mod scan;
mod table;

use args::{Arguments, Command};
use clap::Parser;
use clap::error::ErrorKind;
use exit::{Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some((globals, arguments)) = hook::fast(std::env::args_os()) {
        return hook::run(&globals, &arguments);
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let wanted = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Help that cannot be printed (a closed pipe) has nobody to tell.
            let _ = error.print();
            return if wanted { Exit::Done.into() } else { Exit::Usage.into() };
        }
    };
    if let Command::Hook(hook) = &arguments.command {
        return hook::run(&arguments.globals, hook);
    }
    match std::panic::catch_unwind(|| run(arguments)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => {
            output::tell_people(&failure);
            failure.exit.into()
        }
        // The panic's own message has been printed.
        Err(_) => Exit::Internal.into(),
    }
}

fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let globals = &arguments.globals;
    governed::refuse(globals, &arguments.command)?;
    match arguments.command {
        Command::Demo(arguments) => demo::run(globals, &arguments),
        Command::Init(arguments) => commands::init::run(globals, &arguments),
        Command::Check(arguments) => commands::check::run(globals, &arguments),
        Command::Decide(arguments) => commands::decide::run(globals, &arguments),
        Command::Test(arguments) => commands::test::run(globals, &arguments),
        Command::Explain(arguments) => commands::explain::run(globals, &arguments),
        Command::Allow(arguments) => commands::allow::run(globals, &arguments),
        Command::Try(arguments) => commands::r#try::run(globals, &arguments),
        Command::Backtest(arguments) => commands::backtest::run(globals, &arguments),
        Command::Install(arguments) => hosting::install::run(globals, &arguments),
        Command::Uninstall(arguments) => hosting::uninstall::run(globals, &arguments),
        Command::Doctor(arguments) => hosting::doctor::run(globals, &arguments),
        Command::Exec(arguments) => exec::run(globals, &arguments),
        Command::Status(arguments) => commands::status::run(globals, &arguments),
        Command::Hooks(arguments) => commands::hooks::run(globals, &arguments),
        Command::Pause(arguments) => commands::pause::run(globals, &arguments),
        Command::Alerts(arguments) => commands::alerts::run(globals, &arguments),
        Command::Audit(arguments) => commands::audit::run(globals, &arguments),
        Command::Review(arguments) => commands::review::run(globals, &arguments),
        Command::Keys(arguments) => commands::keys::run(globals, &arguments),
        Command::Approvals(arguments) => commands::approvals::run(globals, &arguments),
        Command::Sessions(arguments) => commands::sessions::run(globals, &arguments),
        Command::Limits(arguments) => commands::limits::run(globals, &arguments),
        Command::Trust(arguments) => commands::trust::run(globals, &arguments),
        Command::Mcp(arguments) => commands::mcp::run(globals, &arguments),
        Command::Scan(arguments) => scan::run(globals, &arguments),
        Command::Redact(arguments) => commands::redact::run(globals, &arguments),
        // Answered above: its exit codes are the host's.
        Command::Hook(_) => Ok(Exit::Internal),
        Command::Schema(arguments) => commands::schema::run(&arguments),
    }
}
