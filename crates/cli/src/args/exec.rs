//! Arguments of `tollgate exec`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Agents whose hooks cannot replace the output of a failing command, or are shown it too late, get the
command rewritten beforehand: it points the output of its own shell at this filter, and the policy's
`redact` hooks mask it line by line while the command runs. The command stays what it was: `cd`,
exports, jobs, `exit`, signals and the exit code are those of the shell.

Without an option this is a filter: `command 2>&1 | tollgate exec`.

Examples:
  tollgate exec --wrap 'cat .env; exit 3'                 shows the text that stands for it
  bash -c \"$(tollgate exec --wrap 'cat .env; exit 3')\"    runs it")]
pub(crate) struct ExecArguments {
    /// Print the text by which a host runs this command with its output masked
    #[arg(long, value_name = "COMMAND", conflicts_with = "open")]
    pub(crate) wrap: Option<String>,

    /// For wrapped commands: answer the shell with how to reach the filter, and serve it
    #[arg(long)]
    pub(crate) open: bool,

    /// With --wrap: the command reads nothing
    #[arg(long, requires = "wrap")]
    pub(crate) closed_stdin: bool,

    /// The agent program that runs the command, for hooks that name it
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,

    /// The tool that runs the command, for hooks that name it
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,

    /// The folder where work began, for the project's policy (default: this folder)
    #[arg(long = "in", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
