//! Arguments of `tollgate review`.

use super::audit::{Moment, moment};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
What is listed comes from the ledger and is as masked as its records. Marks are kept in the state
folder: `review stats` says by them how good each rule is, `review labels` hands them to
`tollgate backtest --labels`, and a `redact` with `allow: { reviewed: true }` leaves alone what was marked
as its false alarm. Nothing else changes.

Examples:
  tollgate review
  tollgate review false 01a22e6a-43c5-7097-a4eb-9b027e4f3674 --rule jwt
  tollgate review stats --since 30d
  tollgate review labels > labels.jsonl"
)]
pub(crate) struct ReviewArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ReviewCommand>,

    #[command(flatten)]
    pub(crate) list: ListItems,
}

/// What is listed.
#[derive(Debug, Args)]
pub(crate) struct ListItems {
    /// Of this hook
    #[arg(long, value_name = "NAME")]
    pub(crate) hook: Option<String>,

    /// Of this rule
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: Option<String>,

    /// From then on: 2h, 7d, a date or a time
    #[arg(long, value_name = "TIME", value_parser = moment, default_value = "30d")]
    pub(crate) since: Moment,

    /// So many of each hook and rule
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) sample: usize,

    /// Print each as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Look at the ledger in this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) ledger: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// It was right: harmful, or really what the rule finds
    True(MarkArguments),
    /// It was wrong: a false alarm
    False(MarkArguments),
    /// How often each hook hits, and how often it is wrong when it does
    Stats {
        /// From then on: 2h, 7d, a date or a time
        #[arg(long, value_name = "TIME", value_parser = moment, default_value = "30d")]
        since: Moment,

        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the marks as labels for `tollgate backtest`
    Labels,
}

#[derive(Debug, Args)]
pub(crate) struct MarkArguments {
    /// The record: its id, the beginning or end of that, or its number
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Only what this hook said
    #[arg(long, value_name = "NAME")]
    pub(crate) hook: Option<String>,

    /// Only what this rule found
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: Option<String>,
}
