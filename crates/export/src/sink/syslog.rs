//! Syslog: RFC 5424 messages, over UDP, over TCP with octet counting (RFC 6587), and over TLS (RFC 5425).
//!
//! Syslog acknowledges nothing: bytes that the system took may lie in a buffer when the server dies. So
//! each batch has a connection of its own; behind the batch our side is closed, and the batch counts as
//! handed over only when the server has read to that end and closed its side too, with TLS by the
//! closing alert that nobody on the way can forge. UDP has nothing of that kind: a datagram that is
//! lost is lost.

use super::{SendError, Sink, SinkError};
use crate::format::{Format, Severity, Told};
use crate::limits::{DATAGRAM_BYTES_MAX, SEND_WAIT};
use crate::target::Address;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::sync::Arc;
use std::time::Instant;
use tollgate_gate::text::cut;

/// `log audit` of RFC 5424.
const FACILITY: u8 = 13;
/// What RFC 5424 allows for `sequenceId`.
const SEQUENCE_MAX: u64 = 2_147_483_647;
/// What RFC 5424 allows for names, in characters.
const HOSTNAME_CHARS_MAX: usize = 255;

/// A message without a frame.
fn message(host: &str, format: Format, told: &Told<'_>) -> String {
    let priority = FACILITY * 8 + severity(told.severity());
    let at = told.at();
    let kind = told.word("kind");
    let id = if kind.is_empty() || kind.len() > 32 { "-" } else { kind };
    let data = match told.seq {
        0 | SEQUENCE_MAX.. => "-".to_owned(),
        seq => format!("[meta sequenceId=\"{seq}\"]"),
    };
    format!("<{priority}>1 {at} {host} tollgate - {id} {data} {}", format.write(told))
}

const fn severity(severity: Severity) -> u8 {
    match severity {
        Severity::Informational => 6,
        Severity::Low => 5,
        Severity::Medium => 4,
        Severity::High => 3,
        Severity::Critical => 2,
    }
}

/// The name of this machine as a message may have it.
fn hostname() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    let name: String =
        name.chars().filter(char::is_ascii_graphic).take(HOSTNAME_CHARS_MAX).collect();
    if name.is_empty() { "-".to_owned() } else { name }
}

fn unreachable(address: &Address, error: &dyn std::fmt::Display) -> SendError {
    SendError::Unreachable(format!("the syslog server {address}: {error}"))
}

/// One datagram a message.
pub(super) struct UdpSink {
    address: Address,
    host: String,
}

impl UdpSink {
    pub(super) fn new(address: &Address) -> UdpSink {
        UdpSink { address: address.clone(), host: hostname() }
    }

    fn connect(&self) -> io::Result<UdpSocket> {
        let mut last = io::Error::other("the name has no address");
        for address in (self.address.host.as_str(), self.address.port).to_socket_addrs()? {
            let here = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            match UdpSocket::bind(here).and_then(|socket| {
                socket.connect(address)?;
                Ok(socket)
            }) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Sink for UdpSink {
    fn send(&mut self, format: Format, batch: &[Told<'_>]) -> Result<(), SendError> {
        let send = || {
            let socket = self.connect()?;
            for told in batch {
                let message = message(&self.host, format, told);
                // A message is no longer than its datagram; the count of a cut needs some room.
                socket.send(cut(&message, DATAGRAM_BYTES_MAX - 64).as_bytes())?;
            }
            // A host that is there but does not listen says so, sometimes in time.
            socket.take_error()?.map_or(Ok(()), Err)
        };
        send().map_err(|error| unreachable(&self.address, &error))
    }
}

/// A connection for each batch.
pub(super) struct StreamSink {
    address: Address,
    host: String,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl StreamSink {
    pub(super) fn tcp(address: &Address) -> StreamSink {
        StreamSink { address: address.clone(), host: hostname(), tls: None }
    }

    pub(super) fn tls(
        address: &Address,
        config: Arc<ClientConfig>,
    ) -> Result<StreamSink, SinkError> {
        let name = ServerName::try_from(address.host.clone())
            .map_err(|_| SinkError::HostName(address.host.clone()))?;
        Ok(StreamSink { tls: Some((config, name)), ..StreamSink::tcp(address) })
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::other("the name has no address");
        for address in (self.address.host.as_str(), self.address.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, SEND_WAIT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(SEND_WAIT))?;
                    stream.set_write_timeout(Some(SEND_WAIT))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn deliver(&self, text: &[u8]) -> io::Result<()> {
        let mut stream = self.connect()?;
        let Some((config, name)) = &self.tls else {
            stream.write_all(text)?;
            stream.shutdown(Shutdown::Write)?;
            return read_to_end(&mut stream);
        };
        let connection = ClientConnection::new(Arc::clone(config), name.clone());
        let mut stream = StreamOwned::new(connection.map_err(io::Error::other)?, stream);
        stream.write_all(text)?;
        stream.flush()?;
        stream.conn.send_close_notify();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut stream.sock)?;
        }
        stream.sock.shutdown(Shutdown::Write)?;
        read_to_end(&mut stream)
    }
}

/// Waits until the server has closed its side.
fn read_to_end(stream: &mut impl Read) -> io::Result<()> {
    let until = Instant::now() + SEND_WAIT;
    let mut ignored = [0; 512];
    while Instant::now() < until {
        match stream.read(&mut ignored) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "it has not said that it read to the end"))
}

impl Sink for StreamSink {
    fn send(&mut self, format: Format, batch: &[Told<'_>]) -> Result<(), SendError> {
        let mut text = String::new();
        for told in batch {
            let message = message(&self.host, format, told);
            text.push_str(&message.len().to_string());
            text.push(' ');
            text.push_str(&message);
        }
        self.deliver(text.as_bytes()).map_err(|error| unreachable(&self.address, &error))
    }
}
