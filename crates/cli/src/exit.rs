//! How a command ends: the exit codes, and the error that carries one.

use std::fmt;
use std::process::ExitCode;
use tollgate::gate::text::shown_block;

/// The exit codes of all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The answer is "no".
    No,
    /// The command line or a policy is wrong.
    Usage,
    /// Something went wrong inside.
    Internal,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    text: String,
}

impl Failure {
    /// The command line, a file or a policy is wrong: the person can mend it.
    pub(crate) fn usage(message: impl fmt::Display, remedy: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Usage, text: format!("error: {message}\nremedy: {remedy}") }
    }

    /// What is wrong, and what to do about it where that is known.
    pub(crate) fn parts(&self) -> (&str, &str) {
        let text = self.text.strip_prefix("error: ").unwrap_or(&self.text);
        text.split_once("\nremedy: ").unwrap_or((text, ""))
    }

    /// A policy is wrong; the report names every problem with its place and its remedy.
    pub(crate) fn policy(report: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Usage, text: report.to_string().trim_end().to_owned() }
    }

    /// Something went wrong inside, or the machine did not play along.
    pub(crate) fn internal(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Internal, text: format!("error: {message}") }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown_block(&self.text, usize::MAX).fmt(f)
    }
}
