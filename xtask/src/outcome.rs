//! How a subcommand ends: done, "the answer is no", or not able to say.
//!
//! The three are kept apart so that a script can tell a finding from a broken machine; `main` maps
//! them to the exit codes that `--help` documents. Nothing else in here decides about exit codes.

use std::io;
use std::path::PathBuf;

/// What a subcommand that could do its work found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// All in order (exit code 0).
    Done,
    /// The work was done and the answer is "no": findings, failed tests, stale files (exit code 1).
    No,
}

/// Why a subcommand could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line makes no sense (exit code 2).
    #[error("{0}; see `cargo xtask --help`")]
    Usage(String),
    /// A program could not be started or waited for (exit code 3).
    #[error("could not run `{program}`: {source}")]
    Start {
        /// The program, as it was called.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file or folder could not be read or written (exit code 3).
    #[error("could not {verb} `{}`: {source}", path.display())]
    File {
        /// What was tried: `read`, `write`, `list`.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A tool that a subcommand needs is not installed (exit code 3).
    #[error("{what} is needed and not installed: `{remedy}` brings it")]
    Missing {
        /// The tool.
        what: &'static str,
        /// The command that installs it.
        remedy: &'static str,
    },
    /// What `cargo metadata` printed could not be understood (exit code 3).
    #[error("`cargo metadata` did not answer as expected: {0}")]
    Metadata(String),
}

impl Error {
    /// A usage error about arguments that a subcommand does not take.
    pub(crate) fn unexpected(argument: &str) -> Error {
        Error::Usage(format!("unexpected argument `{argument}`"))
    }
}
