//! Arguments of `tollgate alerts`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct AlertsArguments {
    #[command(subcommand)]
    pub(crate) command: AlertsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AlertsCommand {
    /// Deliver the alerts of what the ledger has since the last run
    #[command(after_help = "\
The policy names alerts (`alerts:`), and without this command running nobody is told. The first run begins
at the end of the ledger. A webhook that is not there gets its alerts later.

Exit codes:
  0  delivered to the end of the ledger
  1  delivered, but records were pruned before they were looked at
  2  the policy, a file or the ledger is wrong
  3  a webhook cannot be reached or refuses; run it again

Examples:
  tollgate alerts run --follow
  * * * * *  tollgate alerts run        (a line of a crontab)")]
    Run(AlertsRunArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AlertsRunArguments {
    /// Go on with records as they are written, until it is stopped
    #[arg(long)]
    pub(crate) follow: bool,

    /// Begin again at the end of the ledger
    #[arg(long)]
    pub(crate) restart: bool,

    /// Take this ledger in place of the one that the policy names
    #[arg(long, value_name = "DIR")]
    pub(crate) ledger: Option<PathBuf>,
}
