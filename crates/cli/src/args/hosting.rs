//! Arguments of the commands about agent programs: doctor, install, uninstall.

use super::Format;
use clap::{Args, ValueEnum};
use tollgate_hosts::settings::Scope;

const HOSTS: [&str; 5] = ["claude-code", "codex", "gemini", "copilot", "cursor"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeName {
    /// Yours, for all projects
    User,
    /// The project's, for all its people
    Project,
    /// The machine's, which no person can change
    Managed,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Scope {
        match name {
            ScopeName::User => Scope::User,
            ScopeName::Project => Scope::Project,
            ScopeName::Managed => Scope::Managed,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Edits the agent program's own settings and nothing else in them: comments, order and indentation stay.
What stood there before is kept in the state folder; `tollgate uninstall` gives it back byte for byte.
Where you have no policy, the preset for coding agents is written as yours. The hooks name this binary
and your policy by their absolute paths.

With --scope project the hooks name no path and no policy: whoever works in the project needs
`tollgate` in the path, and without it calls are refused with how to get it.

Exit codes: 0 installed, or so already; 2 the settings or the policy cannot be used.

Examples:
  tollgate install claude-code --dry-run
  tollgate install codex
  tollgate install claude-code --scope project")]
pub(crate) struct InstallArguments {
    /// The agent program
    #[arg(value_name = "HOST", value_parser = clap::builder::PossibleValuesParser::new(HOSTS))]
    pub(crate) host: String,

    /// Whose settings
    #[arg(long, value_enum, default_value_t = ScopeName::User)]
    pub(crate) scope: ScopeName,

    /// Let shell commands be rewritten so that their output is masked while they run. The program's own
    /// rules about commands do not see through it
    #[arg(long)]
    pub(crate) wrap: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Gives the settings back as they were, when nobody else has changed them since the install; otherwise
takes out what is Tollgate's and leaves all else. Your policy, state and ledger stay.")]
pub(crate) struct UninstallArguments {
    /// The agent program
    #[arg(value_name = "HOST", value_parser = clap::builder::PossibleValuesParser::new(HOSTS))]
    pub(crate) host: String,

    /// Whose settings
    #[arg(long, value_enum, default_value_t = ScopeName::User)]
    pub(crate) scope: ScopeName,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Looks at the settings of every agent program in which Tollgate's hooks stand (with HOST, at that one),
and runs the very command that stands there with a call that must be refused under every policy.

Exit codes: 0 nothing is wrong; 1 something is, and each finding says what to do.")]
pub(crate) struct DoctorArguments {
    /// The agent program
    #[arg(value_name = "HOST", value_parser = clap::builder::PossibleValuesParser::new(HOSTS))]
    pub(crate) host: Option<String>,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}
