//! Arguments of the commands about policies: check, decide, init, schema, trust.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tollgate::gate::Timestamp;

#[derive(Debug, Args)]
#[command(after_help = "\
Without FILE the policies that are in force here are checked together: the machine's, yours, and the
project's, trusted or not. With FILE each file is checked by itself.

Exit codes:
  0  no errors
  1  warnings, with --strict
  2  errors

Examples:
  tollgate check
  tollgate check policies/*.yaml --strict
  tollgate check --as project tollgate.yaml
  tollgate check --format sarif tollgate.yaml > findings.sarif")]
pub(crate) struct CheckArguments {
    /// Policies to check; without any, those that are in force here
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Whose policy the files are: a project's may only tighten
    #[arg(long = "as", value_enum, default_value_t = CheckAs::User)]
    pub(crate) kind: CheckAs,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub(crate) format: CheckFormat,

    /// Let warnings be a "no" (exit code 1)
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckAs {
    Managed,
    User,
    Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The event and the decision are those of `tollgate schema event` and `tollgate schema decision`, so a
program in any language can ask. A before-event that goes through leaves the effect to the program,
which then sends the after-event. With --jsonl, limits, labels, counters and ended sessions live on
from line to line, and a changed policy is followed within about a second (not with --now): a policy
that does not load leaves the last good one in force, and standard error says so. Switches are
followed too, unless --policy names the files.

With --policy only the named files count; without it, the policies that are in force here.
Who acts is what the event claims: this command works offline. Nothing is recorded without --ledger.
Where nobody can be asked, an `ask` is a refusal (`approval_required`).

What cannot be decided is answered by an object {\"version\": 1, \"error\": {\"line\", \"code\", \"message\",
\"remedy\"}} with the code `invalid_event`, `no_policy` or `bad_policy`, and exit code 2 at the end.

Example:
  echo '{\"kind\": \"pre_tool\", \"session\": {\"id\": \"s1\", \"user\": \"alice\"},
         \"payload\": {\"tool\": \"delete_file\", \"arguments\": {\"path\": \"a\"}}}' |
    tollgate decide --policy policy.yaml")]
pub(crate) struct DecideArguments {
    /// Read one event a line and write one decision a line, as they come
    #[arg(long)]
    pub(crate) jsonl: bool,

    /// Record decisions and outcomes in the ledger of this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) ledger: Option<PathBuf>,

    /// Take this as the present moment, for replays: 2026-01-15 or 2026-01-15T08:30:00Z. The clock
    /// then stands still, but for events that name a later `at`
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) now: Option<Timestamp>,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .ok_or_else(|| "write a date or a time of RFC 3339, as in 2026-01-15T08:30:00Z".to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = "\
Looks at the project (is it a git repository, which agents are set up), writes `tollgate.yaml` into
its root, and trusts what it wrote. A file that is there is never written over.")]
pub(crate) struct InitArguments {
    /// What to start from; observe-only refuses nothing and shows what would have been decided
    #[arg(long, value_enum, default_value_t = Preset::ObserveOnly)]
    pub(crate) preset: Preset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Every hook is dry: nothing changes, the ledger says what would have been decided
    ObserveOnly,
    /// An agent that looks up customers, writes to them and refunds
    SupportDesk,
    /// An agent that writes code: refuses destruction and leaking, asks for what is risky
    Coding,
    /// Tools of MCP servers
    Mcp,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Which one; without it, says which there are
    #[arg(value_enum)]
    pub(crate) name: Option<SchemaName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    /// What a host tells the gate
    Event,
    /// What the gate answers
    Decision,
    /// A line of the ledger
    Record,
    /// A policy file, for editors
    Policy,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A project's policy counts only after a person has looked at it, byte for byte, and again after each
change. It can only tighten: it cannot switch anything off, allow, run or call anything. Trust it if
you agree to what it refuses.

Exit codes: 0 trusted, 1 you said no, 2 it cannot be trusted.")]
pub(crate) struct TrustArguments {
    /// The policy; without it, the ones of the project that this folder is in
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}
