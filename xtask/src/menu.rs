//! The table of subcommands, and the help that is made from it.
//!
//! One row is one subcommand; adding one means adding a row and the function it names. Only what
//! really runs something that exists has a row: a suite that is not there yet is not listed.

use std::fmt::Write as _;

use crate::outcome::{Answer, Error};
use crate::{bench, bench_mcp, check, conformance, e2e, fuzz, generate, ner, soak, tidy};

/// One subcommand.
pub(crate) struct Command {
    /// What is typed after `cargo xtask`.
    pub(crate) name: &'static str,
    /// Its arguments as the help shows them.
    pub(crate) arguments: &'static str,
    /// One line: what it does.
    pub(crate) about: &'static str,
    /// Paragraphs for `cargo xtask NAME --help`: what it reads, writes and answers.
    pub(crate) details: &'static str,
    /// What runs; gets the arguments after the name.
    pub(crate) run: fn(&[String]) -> Result<Answer, Error>,
}

/// Every subcommand, in the order in which the help lists them.
pub(crate) const COMMANDS: &[Command] = &[
    check::COMMAND,
    tidy::COMMAND,
    generate::COMMAND,
    bench::COMMAND,
    fuzz::COMMAND,
    soak::COMMAND,
    e2e::COMMAND,
    conformance::COMMAND,
    bench_mcp::COMMAND,
    ner::COMMAND,
];

/// What the exit codes mean; part of every help text.
const EXIT_CODES: &str = "\
exit codes:
  0  done
  1  the answer is no: findings, failed tests, stale files
  2  the command line makes no sense
  3  something else went wrong: cargo could not be run, a file could not be read
";

/// Runs what the command line names.
pub(crate) fn run(arguments: &[String]) -> Result<Answer, Error> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Error::Usage("a subcommand is missing".into()));
    };
    if matches!(name.as_str(), "-h" | "--help" | "help") {
        return print_help(rest);
    }
    let command = find(name)?;
    if rest.iter().any(|argument| matches!(argument.as_str(), "-h" | "--help")) {
        print!("{}", command_help(command));
        return Ok(Answer::Done);
    }
    (command.run)(rest)
}

/// `--help` alone, or `help NAME`.
fn print_help(names: &[String]) -> Result<Answer, Error> {
    match names {
        [] => print!("{}", help()),
        [name] => print!("{}", command_help(find(name)?)),
        [_, second, ..] => return Err(Error::unexpected(second)),
    }
    Ok(Answer::Done)
}

fn find(name: &str) -> Result<&'static Command, Error> {
    COMMANDS
        .iter()
        .find(|command| command.name == name)
        .ok_or_else(|| Error::Usage(format!("there is no subcommand `{name}`")))
}

/// The whole menu as text.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "The developers' menu of Tollgate: everything one does to the tree itself.\n\n\
         usage: cargo xtask SUBCOMMAND [ARGUMENTS]\n\nsubcommands:\n",
    );
    let width = COMMANDS.iter().map(|c| call(c).len()).max().unwrap_or(0);
    for command in COMMANDS {
        let _ = writeln!(text, "  {:<width$}  {}", call(command), command.about);
    }
    let _ = write!(text, "\n`cargo xtask SUBCOMMAND --help` says more.\n\n{EXIT_CODES}");
    text
}

/// The help of one subcommand as text.
fn command_help(command: &Command) -> String {
    format!(
        "{}\n\nusage: cargo xtask {}\n\n{}\n{EXIT_CODES}",
        command.about,
        call(command),
        command.details
    )
}

/// Name and arguments, as typed.
fn call(command: &Command) -> String {
    format!("{} {}", command.name, command.arguments).trim_end().to_string()
}

/// `docs/xtask.md`: the menu as a page, so that one can read it without a checkout.
pub(crate) fn reference_page() -> String {
    let mut page = String::from(
        "<!-- Written by `cargo xtask gen` from the table in xtask/src/menu.rs; change that. -->\n\n\
         # cargo xtask\n\n\
         Everything one does to the tree itself goes through this menu.\n",
    );
    for command in COMMANDS {
        let _ = write!(
            page,
            "\n## `cargo xtask {}`\n\n{}.\n\n{}",
            call(command),
            command.about,
            command.details
        );
    }
    let _ = write!(page, "\n## Exit codes\n\n```text\n{EXIT_CODES}```\n");
    page
}
