//! One call of cargo as a step: what `check` is made of, and what a slow suite is.
//!
//! A step is data, so that a suite which is one cargo call needs a row in the menu and a value of
//! this type, and no code. It gets no standard input; what it prints goes where ours goes.

use std::path::Path;
use std::process::Stdio;

use crate::outcome::{Answer, Error};
use crate::workspace::cargo;

/// One call of cargo.
pub(crate) struct Step {
    /// What people call it.
    pub(crate) name: &'static str,
    /// What stands after `cargo`.
    pub(crate) arguments: &'static [&'static str],
    /// An environment variable that is set for this step only.
    pub(crate) environment: Option<(&'static str, &'static str)>,
}

impl Step {
    /// Runs it in the root of the workspace; a failing step is a "no".
    pub(crate) fn run(&self, root: &Path) -> Result<Answer, Error> {
        let command = format!("cargo {}", self.arguments.join(" "));
        eprintln!("xtask: {command}");
        let status = cargo()
            .current_dir(root)
            .args(self.arguments)
            .envs(self.environment)
            .stdin(Stdio::null())
            .status()
            .map_err(|source| Error::Start { program: command, source })?;
        Ok(if status.success() { Answer::Done } else { Answer::No })
    }
}
