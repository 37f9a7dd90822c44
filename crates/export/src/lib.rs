//! The ledger for others: records as a SIEM reads them, sent to a file, to syslog or to an OTLP
//! collector; and alerts to a webhook.
//!
//! Everything here reads the ledger's files and remembers in a cursor how far it came. A record counts
//! as sent when the other side has it, so a crash or a collector that cannot be reached loses nothing,
//! and may send some records twice. Nothing here is on the way of a decision: a gate appends to its
//! ledger and knows nothing of exports.
//!
//! It stands apart from the store so that the store stays with the disk, and is blocking: one thread
//! that reads, sends and waits needs no runtime.

pub mod alert;
pub mod cursor;
pub mod exporter;
pub mod format;
pub mod limits;
pub mod run;
pub mod sink;
pub mod target;

mod http;
mod private;
mod tls;

pub use alert::{AlertRule, Alerter};
pub use cursor::{Cursor, CursorError};
pub use exporter::Exporter;
pub use format::{Format, Severity, Told};
pub use http::{Endpoint, EndpointError};
pub use private::PrivateError;
pub use run::{Done, Notice, RunError, Until, Work, run};
pub use sink::{SendError, Sink, SinkError, SinkOptions};
pub use target::{Target, TargetError};
pub use tls::TlsError;
