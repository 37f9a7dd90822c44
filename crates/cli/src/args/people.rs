//! Arguments of the commands about approvals, sessions and limits.

use super::switch::Form;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArguments {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the questions that wait for an answer
    List {
        /// Those that are closed, too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        form: Form,
    },
    /// Show a question: who asks for what, and what the call would do
    Show {
        /// The approval, or the beginning or end of its id
        id: String,
        #[command(flatten)]
        form: Form,
    },
    /// Say yes to a question, after it was shown
    #[command(after_help = "\
An answer needs a terminal of its own, and is refused to whatever an agent has started. Where the policy
names approvers, it is signed: with the key that `tollgate keys approver new` made, or elsewhere:

  tollgate approvals approve ID --as alice --reason ok --print > question
  ... sign the bytes of `question` with Ed25519 ...
  tollgate approvals approve ID --as alice --reason ok --signature FILE")]
    Approve {
        #[command(flatten)]
        answer: AnswerArguments,
        /// For how much the yes holds
        #[arg(long = "for", value_enum, default_value_t = YesFor::Once)]
        scope: YesFor,
    },
    /// Say no to a question
    Deny {
        #[command(flatten)]
        answer: AnswerArguments,
        /// For how much the no holds
        #[arg(long = "for", value_enum, default_value_t = NoFor::Once)]
        scope: NoFor,
    },
    /// Take a question back, or an answer that stands
    Cancel {
        /// The approval, or the beginning or end of its id
        id: String,
        /// Why, for the ledger
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The approval, or the beginning or end of its id
    pub(crate) id: String,
    /// Why; the agent hears it of a no
    #[arg(long)]
    pub(crate) reason: String,
    /// In whose name (default: the user who runs this)
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// The sealed key to sign with (default: approver.key in the folder of keys)
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// A signature made elsewhere: 128 hexadecimal digits in a file for its owner only, or - for
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) signature: Option<PathBuf>,
    /// Print what is to be signed, and do nothing else
    #[arg(long, conflicts_with = "signature")]
    pub(crate) print: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesFor {
    /// This call, once
    Once,
    /// Calls of this session with the same effects
    Session,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoFor {
    /// This call
    Once,
    /// Calls in this folder with the same effects, until it is cancelled
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the last used first
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Show a session: who acts, what was counted, what it is labelled with
    Show {
        /// The session, or the beginning or end of its id
        id: String,
        #[command(flatten)]
        form: Form,
    },
    /// End a session and its children: every later event of theirs is refused
    Abort {
        /// The session, or the beginning or end of its id
        id: String,
        /// Why, for the ledger and the agent
        #[arg(long)]
        reason: String,
    },
    /// Take back that a session was ended
    Resume {
        /// The session, or the beginning or end of its id
        id: String,
        /// Why, for the ledger
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LimitsArguments {
    #[command(subcommand)]
    pub(crate) command: LimitsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LimitsCommand {
    /// Show what limits and breakers have counted
    Show {
        /// Of this hook only
        #[arg(long, value_name = "NAME")]
        hook: Option<String>,
        #[command(flatten)]
        form: Form,
    },
    /// Forget what a limit or breaker has counted
    Reset {
        /// The hook
        #[arg(long, value_name = "NAME")]
        hook: String,
        /// Only this key of it, as `limits show` writes it, or its beginning
        #[arg(long)]
        key: Option<String>,
        /// Why, for the ledger
        #[arg(long)]
        reason: String,
    },
}
