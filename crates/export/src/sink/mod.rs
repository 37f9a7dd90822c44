//! Sinks: where formatted records are handed over.
//!
//! A sink that says it is done vouches that the other side has all records of the batch, as far as its
//! protocol lets anybody know: a file is on disk, an OTLP collector has answered, a syslog server has
//! read to the end of the connection. UDP knows nothing of that kind.

mod file;
mod otlp;
mod syslog;

use crate::format::{Format, Told};
use crate::http::EndpointError;
use crate::target::{Target, Transport};
use crate::tls::{self, TlsError};
use std::path::PathBuf;

/// Why a batch was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Nobody was there, or went away: later it may work.
    #[error("{0}")]
    Unreachable(String),
    /// The other side does not take it; somebody has to look at it.
    #[error("{0}")]
    Refused(String),
    /// The other side has it and threw a part of it away. Sending it again is no help, and the protocol
    /// forbids it.
    #[error("{0}")]
    Partly(String),
}

/// Where records are handed over.
pub trait Sink {
    /// Hands over a batch, whole. On an error some of it may have arrived.
    ///
    /// # Errors
    /// [`SendError`] when it is not known that all of it arrived and was taken.
    fn send(&mut self, format: Format, batch: &[Told<'_>]) -> Result<(), SendError>;
}

/// Files that a destination may need.
#[derive(Debug, Clone, Default)]
pub struct SinkOptions {
    /// A file with the certificates to trust in place of the machine's.
    pub ca_file: Option<PathBuf>,
    /// A file with one header `Name: value` for OTLP, readable by its owner only.
    pub header_file: Option<PathBuf>,
}

/// Why a destination cannot be used as it is described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The endpoint cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The host is no name that a certificate could be for.
    #[error("`{0}` is no name of a host that TLS can check")]
    HostName(String),
    /// An option that this destination has no use for.
    #[error("{option} is of no use for `{target}`")]
    Unused {
        /// The option.
        option: &'static str,
        /// The destination.
        target: String,
    },
}

/// The sink of a destination. Nothing is connected yet.
///
/// # Errors
/// [`SinkError`] when it cannot be used as it is described.
pub fn open(target: &Target, options: &SinkOptions) -> Result<Box<dyn Sink>, SinkError> {
    let unused = |option| SinkError::Unused { option, target: target.to_string() };
    let is_otlp = matches!(target, Target::Otlp(_));
    if options.header_file.is_some() && !is_otlp {
        return Err(unused("a file with a header"));
    }
    let has_tls = matches!(target, Target::Syslog(Transport::Tls, _))
        || matches!(target, Target::Otlp(url) if url.starts_with("https://"));
    if options.ca_file.is_some() && !has_tls {
        return Err(unused("a file of certificates"));
    }
    Ok(match target {
        Target::File(path) => Box::new(file::FileSink::new(path)),
        Target::Otlp(url) => Box::new(otlp::OtlpSink::new(url, options)?),
        Target::Syslog(Transport::Udp, address) => Box::new(syslog::UdpSink::new(address)),
        Target::Syslog(Transport::Tcp, address) => Box::new(syslog::StreamSink::tcp(address)),
        Target::Syslog(Transport::Tls, address) => {
            let config = tls::config(options.ca_file.as_deref())?;
            Box::new(syslog::StreamSink::tls(address, config)?)
        }
    })
}
