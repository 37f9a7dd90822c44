//! Where records go: a destination as it is written on a command line or in a policy.
//!
//! A URL names a place and nothing else: one with a user, a password or a query is refused, so that no
//! secret ends up in a process list, a policy or a log.

use std::fmt;
use std::path::PathBuf;

/// How a syslog message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// One datagram a message. What the network loses is lost.
    Udp,
    /// RFC 6587, octet counting.
    Tcp,
    /// RFC 5425.
    Tls,
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Its name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// A destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file that is appended to.
    File(PathBuf),
    /// Syslog, RFC 5424.
    Syslog(Transport, Address),
    /// An OTLP collector, by the whole URL.
    Otlp(String),
}

/// Why a destination is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{shown}` is no destination: {why}")]
pub struct TargetError {
    /// What was written, without what could be a secret.
    pub shown: String,
    /// Why not.
    pub why: &'static str,
}

const KINDS: &str = "it starts with none of file:, syslog+udp://, syslog+tcp://, syslog+tls://, \
     otlp+http:// and otlp+https://";

impl Target {
    /// Reads a destination.
    ///
    /// # Errors
    /// [`TargetError`] when it is none.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        // Of what is refused only the scheme is shown: the rest may hold what should not be there.
        let shown = || text.split_once(':').map_or_else(String::new, |(kind, _)| kind.to_owned());
        let refuse = |why| TargetError { shown: format!("{}:...", shown()), why };
        if let Some(path) = text.strip_prefix("file:") {
            return match path {
                "" => Err(refuse("it names no file")),
                path => Ok(Target::File(path.into())),
            };
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(|| refuse(KINDS))?;
        let transport = match scheme {
            "syslog+udp" => Some(Transport::Udp),
            "syslog+tcp" => Some(Transport::Tcp),
            "syslog+tls" => Some(Transport::Tls),
            "otlp+http" | "otlp+https" => None,
            _ => return Err(refuse(KINDS)),
        };
        let (address, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        check_url_text(rest).map_err(&refuse)?;
        let Some(transport) = transport else {
            let address = parse_address(address, 4318).map_err(&refuse)?;
            let path = if matches!(path, "" | "/") { "/v1/logs" } else { path };
            let scheme = scheme.trim_start_matches("otlp+");
            return Ok(Target::Otlp(format!("{scheme}://{address}{path}")));
        };
        if !matches!(path, "" | "/") {
            return Err(refuse("syslog has no path"));
        }
        let port = match transport {
            Transport::Udp => 514,
            Transport::Tcp => 601,
            Transport::Tls => 6514,
        };
        let address = parse_address(address, port).map_err(&refuse)?;
        Ok(Target::Syslog(transport, address))
    }
}

/// Why what follows `//` may not be in a URL here.
pub(crate) fn check_url_text(rest: &str) -> Result<(), &'static str> {
    if rest.contains('@') {
        return Err("no user or password belongs in it; a token comes from a file");
    }
    if rest.contains(['?', '#']) {
        return Err("no query belongs in it; a token comes from a file");
    }
    match rest.chars().all(|c| c.is_ascii_graphic()) {
        true => Ok(()),
        false => Err("it has characters that no URL has"),
    }
}

fn parse_address(text: &str, port: u16) -> Result<Address, &'static str> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("the bracket is not closed")?,
        None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().map_err(|_| "the port is no number of 1 to 65535")?,
        None if rest.is_empty() => port,
        None => return Err("the port is no number of 1 to 65535"),
    };
    if host.is_empty() || port == 0 {
        return Err("it names no host");
    }
    Ok(Address { host: host.to_owned(), port })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::File(path) => write!(f, "file:{}", path.display()),
            Target::Syslog(Transport::Udp, address) => write!(f, "syslog+udp://{address}"),
            Target::Syslog(Transport::Tcp, address) => write!(f, "syslog+tcp://{address}"),
            Target::Syslog(Transport::Tls, address) => write!(f, "syslog+tls://{address}"),
            Target::Otlp(url) => write!(f, "otlp+{url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, Transport};

    #[test]
    fn destinations_are_read_with_their_usual_ports_and_written_back() {
        for (text, written) in [
            ("file:/var/log/x", "file:/var/log/x"),
            ("syslog+udp://h", "syslog+udp://h:514"),
            ("syslog+tcp://h:5000/", "syslog+tcp://h:5000"),
            ("syslog+tls://[::1]", "syslog+tls://[::1]:6514"),
            ("otlp+http://h", "otlp+http://h:4318/v1/logs"),
            ("otlp+https://h:1/a/b", "otlp+https://h:1/a/b"),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.to_string(), written);
            assert_eq!(Target::parse(written).unwrap(), target);
        }
        let Ok(Target::Syslog(Transport::Tls, address)) = Target::parse("syslog+tls://[::1]")
        else {
            panic!("a syslog destination");
        };
        assert_eq!(address.host, "::1");
    }

    #[test]
    fn no_secret_belongs_in_a_url_and_none_is_shown() {
        for text in [
            "otlp+https://user:hunter2@h",
            "otlp+https://h/v1?token=hunter2",
            "otlp+https://h/#hunter2",
            "syslog+tcp://h/hunter2",
            "syslog+tcp://h:hunter2",
            "https://hunter2",
            "syslog+tcp://:1",
            "syslog+tcp://h:0",
            "file:",
            "hunter2",
        ] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
