//! Arguments of `tollgate audit export`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tollgate_export::Format;

#[derive(Debug, Args)]
#[command(after_help = "\
Where records go (--to):
  file:PATH                appended, one record a line, 0600
  syslog+udp://HOST:514    RFC 5424; what the network loses is lost
  syslog+tcp://HOST:601    RFC 5424 with octet counting
  syslog+tls://HOST:6514   the same over TLS
  otlp+http://HOST:4318    OTLP logs as JSON; also otlp+https://

Each pair of format and destination has a cursor in the state folder, moved after the other side has the
records: a crash or a collector that is not there loses nothing and may send some twice. A token goes
into a file that only you can read, with one line such as `Authorization: Bearer ...`.

Exit codes:
  0  sent to the end of the ledger
  1  sent, but records were pruned before they could be
  2  the command line, a file or the ledger is wrong
  3  the destination cannot be reached or does not take it; run it again

Examples:
  tollgate audit export --format ocsf --to file:/var/log/tollgate.ocsf.jsonl
  tollgate audit export --format cef --to syslog+tls://siem.example.com --ca siem-ca.pem --follow
  tollgate audit export --format ecs --to otlp+https://collector.example.com --header-file token --follow")]
pub(crate) struct ExportArguments {
    /// How a record is written
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,

    /// Where records go; see below
    // Read by the command: an error here would show the whole of it, secrets that do not belong in it too.
    #[arg(long, value_name = "DESTINATION")]
    pub(crate) to: String,

    /// Go on with records as they are written, until it is stopped
    #[arg(long)]
    pub(crate) follow: bool,

    /// Trust the certificates in this file in place of the machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// Send the one header `Name: value` in this file (0600) to an OTLP collector
    #[arg(long, value_name = "FILE")]
    pub(crate) header_file: Option<PathBuf>,

    /// Begin again with the first record that the ledger still has
    #[arg(long)]
    pub(crate) restart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// OCSF 1.6, API Activity (6003)
    Ocsf,
    /// ArcSight Common Event Format
    Cef,
    /// Elastic Common Schema 8
    Ecs,
}

impl From<ExportFormat> for Format {
    fn from(format: ExportFormat) -> Format {
        match format {
            ExportFormat::Ocsf => Format::Ocsf,
            ExportFormat::Cef => Format::Cef,
            ExportFormat::Ecs => Format::Ecs,
        }
    }
}
