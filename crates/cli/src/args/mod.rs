//! The arguments, as they are typed. What they mean is each command's business.

mod alerts;
mod audit;
mod detect;
mod exec;
mod export;
mod hook;
mod hosting;
mod mcp;
mod people;
mod policy;
mod replay;
mod review;
mod switch;

pub(crate) use alerts::{AlertsArguments, AlertsCommand, AlertsRunArguments};
pub(crate) use audit::{
    AnchorArguments, ApproverKeyCommand, AuditArguments, AuditCommand, EraseArguments,
    KeysArguments, KeysCommand, ListArguments, Moment, ProofCommand, PruneArguments, ShowArguments,
    StatsArguments, TailArguments, VerifyArguments, Which as WhichRecords,
};
pub(crate) use detect::{
    MaskForm, RedactArguments, RedactFormat, ScanArguments, ScanFormat, Wanted, WhatArguments,
};
pub(crate) use exec::ExecArguments;
pub(crate) use export::ExportArguments;
pub(crate) use hook::HookArguments;
pub(crate) use hosting::{DoctorArguments, InstallArguments, UninstallArguments};
pub(crate) use mcp::{McpArguments, McpCommand, PinsCommand};
pub(crate) use people::{
    AnswerArguments, ApprovalsArguments, ApprovalsCommand, LimitsArguments, LimitsCommand, NoFor,
    SessionsArguments, SessionsCommand, YesFor,
};
pub(crate) use policy::{
    CheckArguments, CheckAs, CheckFormat, DecideArguments, InitArguments, Preset, SchemaArguments,
    SchemaName, TrustArguments,
};
pub(crate) use replay::{
    AllowArguments, BacktestArguments, ExplainArguments, TestArguments, TestFormat, TryArguments,
    Which,
};
pub(crate) use review::{ListItems, MarkArguments, ReviewArguments, ReviewCommand};
pub(crate) use switch::{Format, HooksArguments, HooksCommand, PauseArguments, StatusArguments};

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Start with `tollgate demo` to see it work, or `tollgate init` to write a policy for this folder.

Exit codes:
  0  done
  1  the answer is \"no\": findings, failed tests, a failed verification
  2  the command line or a policy is wrong
  3  something went wrong inside

No environment variable changes what is decided or where anything is. Colour is used on a terminal,
and never when NO_COLOR is set.";

/// Governs what AI agents do: every tool call and model call passes one gate, is judged by your
/// policy, and is recorded.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where things are, for every command.
#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// Take this policy in place of the user's (~/.config/tollgate/policy.yaml); may be repeated
    #[arg(long, value_name = "FILE", global = true, help_heading = "Places")]
    pub(crate) policy: Vec<PathBuf>,

    /// Keep trust, switches and the ledger in this folder (default: ~/.local/state/tollgate)
    #[arg(long, value_name = "DIR", global = true, help_heading = "Places")]
    pub(crate) state: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the gate at work: three short scenes with a real agent, real tools and a real ledger
    Demo(DemoArguments),
    /// Write a policy to start from into this project, and trust it
    Init(InitArguments),
    /// Say all that is wrong with policies, and all that is odd about them
    Check(CheckArguments),
    /// Decide: an event as JSON on standard input, the decision as JSON on standard output
    Decide(DecideArguments),
    /// Answer a coding agent's hook: its event on standard input, its own form of answer on standard output
    Hook(HookArguments),
    /// Run policy tests: events, and what a policy must decide about them
    Test(TestArguments),
    /// Say why an event is decided as it is: every hook, what kept it from matching, what it said
    Explain(ExplainArguments),
    /// Say what a command would do, and what the policy says about it; nothing is run
    Try(TryArguments),
    /// Write the narrowest exception the language has for a refused call, after showing and asking
    Allow(AllowArguments),
    /// Replay captured events through a new policy and say what would change
    Backtest(BacktestArguments),
    /// Put Tollgate in front of an agent program: its hooks into the program's settings
    Install(InstallArguments),
    /// Take the hooks out of an agent program's settings again
    Uninstall(UninstallArguments),
    /// Say whether agent programs really pass the gate, and what keeps them from it
    Doctor(DoctorArguments),
    /// Mask what a command prints while it runs: the filter of wrapped commands
    Exec(ExecArguments),
    /// Say which policies are in force, and what is off, dry, disabled or paused
    Status(StatusArguments),
    /// List hooks, disable one for a while, enable it again
    Hooks(HooksArguments),
    /// Answer what hooks ask people, and see what was answered
    Approvals(ApprovalsArguments),
    /// See who acts, end a session, take that back
    Sessions(SessionsArguments),
    /// See what limits and breakers have counted, and forget it
    Limits(LimitsArguments),
    /// Let hooks only watch for a short while; it ends by itself
    Pause(PauseArguments),
    /// Read the ledger, verify it, send it to a SIEM, take away from it
    Audit(AuditArguments),
    /// Say of what hooks found or would have done whether it was right
    Review(ReviewArguments),
    /// The key that the ledger's checkpoints are signed with
    Keys(KeysArguments),
    /// Deliver the alerts that the policy names
    Alerts(AlertsArguments),
    /// Trust a project's policy as it is now, so that it counts
    Trust(TrustArguments),
    /// Stand between an MCP client and an MCP server, and govern every call
    Mcp(McpArguments),
    /// Find secrets and personal data in files, folders or standard input
    Scan(ScanArguments),
    /// Copy standard input to standard output with secrets and personal data masked
    Redact(RedactArguments),
    /// Print the JSON Schema of an event, a decision, a record or a policy
    Schema(SchemaArguments),
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
