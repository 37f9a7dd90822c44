//! Arguments of the commands that look at what is in force and switch it: hooks, pause, status.

use clap::{Args, Subcommand, ValueEnum};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// How an answer is written, as it is typed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Form {
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Form {
    /// What is wanted.
    pub(crate) const fn format(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct HooksArguments {
    #[command(subcommand)]
    pub(crate) command: HooksCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// List the hooks in force, in the order of the policies
    List {
        /// How the answer is written
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Disable a hook; a gate that runs follows within about a second
    #[command(after_help = "\
The switch is recorded in the ledger. A locked hook cannot be disabled. With --for the hook only watches
until then: the ledger says what it would have done.

Example:
  tollgate hooks disable large-transfers --reason \"month end, agreed with finance\" --for 2h")]
    Disable {
        /// The hook
        name: String,
        /// Why, for the ledger
        #[arg(long)]
        reason: String,
        /// For how long, as in 30m, 2h or 1d; without it, until it is enabled again
        #[arg(long = "for", value_name = "TIME", value_parser = duration)]
        time: Option<Duration>,
    },
    /// Take back that a hook is disabled
    Enable {
        /// The hook
        name: String,
        /// Why, for the ledger
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
While the pause holds, hooks only watch, and the ledger says what they would have decided. Locked hooks
stay in force, and so does what the policy says of calls that no hook judges (`default`). A gate that
runs follows within about a second. The pause is recorded and ends by itself after at most 8 hours.

Examples:
  tollgate pause --for 15m --reason \"the vendor's test run\"
  tollgate pause --end --reason \"done\"")]
pub(crate) struct PauseArguments {
    /// For how long, as in 15m or 2h
    #[arg(
        long = "for",
        value_name = "TIME",
        value_parser = duration,
        required_unless_present = "end",
        conflicts_with = "end"
    )]
    pub(crate) time: Option<Duration>,

    /// End the pause that holds
    #[arg(long)]
    pub(crate) end: bool,

    /// Why, for the ledger
    #[arg(long)]
    pub(crate) reason: String,
}

/// A time as people write it: a whole number and s, m, h or d.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a whole number and s, m, h or d, as in 15m".to_owned();
    let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(at);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    match number.checked_mul(seconds) {
        Some(0) => Err("a time of nothing switches nothing".to_owned()),
        Some(seconds) if seconds <= YEAR_SECONDS => Ok(Duration::from_secs(seconds)),
        Some(_) | None => Err("at most a year".to_owned()),
    }
}

/// Longest time that can be named.
const YEAR_SECONDS: u64 = 366 * 86_400;

#[cfg(test)]
mod tests {
    use super::duration;
    use std::time::Duration;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        assert_eq!(duration("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(duration("1d"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "15", "m", "-5m", "1.5h", "15 m", "0s", "9999999999999999999d", "400d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
