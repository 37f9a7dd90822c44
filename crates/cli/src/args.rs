//! The arguments, as they are typed. What they mean is each command's business.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the answer is \"no\": findings, failed tests, a failed verification
  2  the command line or a policy is wrong
  3  something went wrong inside

Colour is used on a terminal, and never when NO_COLOR is set.";

/// Governs what AI agents do: every tool call and model call passes one gate, is judged by your
/// policy, and is recorded.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the gate at work: three short scenes with a real agent, real tools and a real ledger
    Demo(DemoArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each scene runs an agent with a scripted model in a workspace of its own. What is printed at its end
is read back from the files, the ledger and the messages. Nothing outside of the demo's own folder
is touched.")]
pub(crate) struct DemoArguments {
    /// Print one JSON object instead of the transcript
    #[arg(long)]
    pub(crate) json: bool,

    /// Leave the workspaces, ledgers and traces in this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}
