//! Arguments of the commands about the ledger: audit and keys.

use super::export::ExportArguments;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tollgate::gate::{RecordKind, Timestamp, VoteKind};

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Look at the ledger in this folder (default: the one of the policy in force)
    #[arg(long, value_name = "DIR", global = true, help_heading = "Places")]
    pub(crate) ledger: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the newest records, and with --follow what comes
    Tail(TailArguments),
    /// List records, the newest first
    List(ListArguments),
    /// Show one record with its outcome, or a session as a timeline
    Show(ShowArguments),
    /// Count records, and what each hook did
    Stats(StatsArguments),
    /// Verify the files: chain, tree, checkpoints, erasures
    Verify(VerifyArguments),
    /// Send records to a SIEM, from where the last export ended
    Export(ExportArguments),
    /// Put the newest checkpoint where whoever can change the ledger cannot reach it
    Anchor(AnchorArguments),
    /// Prove a record to somebody who has a checkpoint and not the ledger
    Proof(ProofArguments),
    /// Take away the oldest records, with a signed tombstone in their place
    Prune(PruneArguments),
    /// Erase the records of a person, a session or a call; everything still verifies
    Erase(EraseArguments),
}

/// Which records are meant.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// From then on: 2h, 7d, 2026-01-15 or 2026-01-15T08:30:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) since: Option<Moment>,

    /// Until then, as --since
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) until: Option<Moment>,

    /// Of this session and those that it started
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Of this user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// Of this tool or model
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,

    /// With this verdict: allow, respond, ask, deny or abort
    #[arg(long, value_name = "WORD", value_parser = verdicts())]
    pub(crate) verdict: Option<String>,

    /// With this code
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,

    /// In which this hook decided, said something or failed
    #[arg(long, value_name = "NAME")]
    pub(crate) hook: Option<String>,

    /// Of this kind: decision, outcome, policy_load, switch ...
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub(crate) kind: Option<String>,
}

fn verdicts() -> PossibleValuesParser {
    PossibleValuesParser::new(VoteKind::ALL.map(VoteKind::name))
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(RecordKind::ALL.map(RecordKind::name))
}

/// A number of things, of which there is at least one.
fn some(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number from 1 on".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// A moment as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// So many milliseconds ago.
    Ago(u64),
    At(Timestamp),
}

/// A time ago, a date or a time of RFC 3339.
pub(crate) fn moment(text: &str) -> Result<Moment, String> {
    if let Some(at) = Timestamp::parse(text) {
        return Ok(Moment::At(at));
    }
    super::switch::duration(text)
        .map(|ago| Moment::Ago(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
        .map_err(|_| "write 2h, 7d, a date or a time of RFC 3339".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct TailArguments {
    #[command(flatten)]
    pub(crate) which: Which,

    /// How many
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    pub(crate) count: usize,

    /// Go on with what comes, until it is interrupted
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Print each record as one line of JSON, as it stands in the ledger
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Answers come from an index beside the ledger, which is brought up to date first; --no-index reads the
ledger itself, which takes longer and gives the same.

Examples:
  tollgate audit list --since 2h --verdict deny
  tollgate audit list --hook no-delete --user alice --json")]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) which: Which,

    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = some)]
    pub(crate) limit: usize,

    /// Print each record as one line of JSON, as it stands in the ledger
    #[arg(long)]
    pub(crate) json: bool,

    /// Read the ledger itself instead of its index
    #[arg(long)]
    pub(crate) no_index: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The record: its id as refusals name it, the beginning or end of that, or its number
    #[arg(
        value_name = "ID",
        required_unless_present_any = ["session", "last"],
        conflicts_with_all = ["session", "last"]
    )]
    pub(crate) id: Option<String>,

    /// The last decision
    #[arg(long, conflicts_with = "session")]
    pub(crate) last: bool,

    /// This session and those that it started, from their start on
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Print each record as one line of JSON, as it stands in the ledger
    #[arg(long)]
    pub(crate) json: bool,

    /// Read the ledger itself instead of its index
    #[arg(long)]
    pub(crate) no_index: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
ASKED   records in which the hook was asked
HITS    those in which it voted or rewrote
WOULD   those in which it would have, but was dry
FAULTS  those in which it failed
OPEN    those of them in which the event went on without it")]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Read the ledger itself instead of its index
    #[arg(long)]
    pub(crate) no_index: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Works on the files alone. Without --key the key of this machine counts, and those that it took over
from. What can be changed by whoever holds the key shows against a checkpoint that was kept out of
their reach: `tollgate audit anchor`.

Exit codes: 0 it holds together, 1 it does not, 2 it cannot be looked at.

Example:
  tollgate audit verify --ledger copy/ --key 3f1c...9a --checkpoint kept.jsonl")]
pub(crate) struct VerifyArguments {
    /// A public key that counts: 64 digits, or a file of them; may be repeated
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Vec<String>,

    /// Checkpoints that were kept elsewhere, one a line (a log of syslog will do); may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Vec<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The checkpoint covers everything that was written before. `tollgate audit verify --checkpoint` holds
the ledger against it. Run it from a timer; what comes between two anchors is only as safe as the key.")]
pub(crate) struct AnchorArguments {
    /// Append it to this file
    #[arg(long, value_name = "FILE", required_unless_present = "syslog")]
    pub(crate) to: Option<PathBuf>,

    /// Send it to the system's log, facility `audit` (or to another socket)
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true, default_missing_value = "/dev/log")]
    pub(crate) syslog: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ProofArguments {
    #[command(subcommand)]
    pub(crate) command: ProofCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProofCommand {
    /// Print a proof as one JSON object: the record, its way to the root, the checkpoint
    Export {
        /// The record: its id, the beginning or end of that, or its number
        #[arg(value_name = "ID", required_unless_present = "from", conflicts_with = "from")]
        id: Option<String>,

        /// Prove instead that the ledger only adds to this checkpoint
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Check a proof without the ledger
    Verify {
        /// The proof, or - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// A public key that counts: 64 digits, or a file of them; may be repeated
        #[arg(long, value_name = "KEY", required = true)]
        key: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Whole segment files are taken away, those all of whose records are older. What is left verifies; what
is gone can no longer be proved. That it was done is a record.")]
pub(crate) struct PruneArguments {
    /// Older than this: 90d, a date or a time of RFC 3339
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) before: Moment,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The records are overwritten in place: what is left says when something happened, of what kind, and
what was decided. It cannot be undone. Chain, tree and checkpoints still verify, and what was done is
a record that does not say whose they were. Copies elsewhere (exports, backups) are not reached.")]
pub(crate) struct EraseArguments {
    /// All of this user
    #[arg(long, value_name = "NAME", required_unless_present_any = ["session", "id"])]
    pub(crate) user: Option<String>,

    /// All of this session and those that it started
    #[arg(long, value_name = "ID", conflicts_with = "user")]
    pub(crate) session: Option<String>,

    /// The call with this record: its decision and what came of it
    #[arg(long, value_name = "ID", conflicts_with_all = ["user", "session"])]
    pub(crate) id: Option<String>,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArguments {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Print the public key that checkpoints are signed with, and those that it took over from
    Show {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Sign with a new key from now on; the old one vouches for it
    #[command(after_help = "\
Programs that run go on with the old key until they open the ledger again. Whoever trusts the old key
can trust the new one by the hand-over, which the old one has signed.")]
    Rotate {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// The key that somebody signs their answers to approvals with
    Approver {
        #[command(subcommand)]
        command: ApproverKeyCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApproverKeyCommand {
    /// Make one, sealed by a passphrase that is asked for
    New {
        /// The file (default: approver.key in the folder of keys)
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::{Moment, moment};
    use tollgate::gate::Timestamp;

    #[test]
    fn a_moment_is_a_time_ago_a_date_or_a_time() {
        assert_eq!(moment("2h"), Ok(Moment::Ago(7_200_000)));
        let at = Timestamp::parse("2026-01-15").unwrap();
        assert_eq!(moment("2026-01-15"), Ok(Moment::At(at)));
        for wrong in ["", "yesterday", "2", "-2h"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
