//! How a command ends: the exit codes, and the error that carries one.

use std::fmt;
use std::process::ExitCode;

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
    message: String,
    remedy: Option<String>,
}

impl Failure {
    /// The command line, a file or a policy is wrong: the person can mend it.
    pub(crate) fn usage(message: impl fmt::Display, remedy: impl fmt::Display) -> Failure {
        let remedy = Some(remedy.to_string());
        Failure { exit: Exit::Usage, message: message.to_string(), remedy }
    }

    /// Something went wrong inside, or the machine did not play along.
    pub(crate) fn internal(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Internal, message: message.to_string(), remedy: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\nremedy: {remedy}"),
            None => Ok(()),
        }
    }
}
