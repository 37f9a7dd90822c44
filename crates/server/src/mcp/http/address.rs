//! Where the relay listens, and where its server is.
//!
//! It listens on this machine only: a relay that strangers reach lends them its user's tools. A URL
//! holds no credentials, neither before its host nor in a query, for URLs are shown and logged; a token
//! travels over TLS, or to this machine itself.

use hyper::Uri;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Why an address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no address and port.
    #[error("`--listen` takes an address of this machine and a port, such as 127.0.0.1:8931")]
    NoAddress,
    /// Others could reach it.
    #[error("`--listen` takes an address of this machine only, such as 127.0.0.1:8931")]
    NotOfThisMachine,
    /// It is no URL of a server.
    #[error(
        "`--upstream` takes the http or https URL of a server, such as https://example.com/mcp"
    )]
    NoUrl,
    /// There are credentials in it, or could be.
    #[error(
        "a URL may hold no user, password, query or fragment: a credential is given by \
         `--upstream-token-file`"
    )]
    Credentials,
    /// A token would travel in the clear.
    #[error("a token goes over https or to this machine only")]
    Clear,
}

/// The address to listen at.
///
/// # Errors
/// [`AddressError`] for anything but an address of this machine.
pub fn listen_address(text: &str) -> Result<SocketAddr, AddressError> {
    let address = match text.strip_prefix("localhost:") {
        Some(port) => {
            let port = port.parse().map_err(|_| AddressError::NoAddress)?;
            SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
        }
        None => text.parse().map_err(|_| AddressError::NoAddress)?,
    };
    if address.ip().is_loopback() { Ok(address) } else { Err(AddressError::NotOfThisMachine) }
}

/// The URL of a server.
pub(super) fn url(text: &str, with_token: bool) -> Result<Uri, AddressError> {
    if text.contains(['?', '#', '@']) {
        return Err(AddressError::Credentials);
    }
    let uri: Uri = text.parse().map_err(|_| AddressError::NoUrl)?;
    let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
        return Err(AddressError::NoUrl);
    };
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if with_token && !is_this_machine(host) => Err(AddressError::Clear),
        Some("http") => Ok(uri),
        _ => Err(AddressError::NoUrl),
    }
}

/// Whether a host is this machine, by name or by address.
pub(super) fn is_this_machine(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{AddressError, listen_address, url};

    #[test]
    fn only_this_machine_is_listened_on() {
        for good in ["127.0.0.1:80", "localhost:0", "[::1]:9000", "127.1.2.3:1"] {
            assert!(listen_address(good).is_ok(), "{good}");
        }
        for bad in ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "[::ffff:10.0.0.1]:80"] {
            assert_eq!(listen_address(bad), Err(AddressError::NotOfThisMachine), "{bad}");
        }
        for bad in ["80", "example.com:80", "localhost", "localhost:x"] {
            assert_eq!(listen_address(bad), Err(AddressError::NoAddress), "{bad}");
        }
    }

    #[test]
    fn a_url_holds_no_credential_and_a_token_does_not_travel_in_the_clear() {
        for bad in ["https://u:p@x.org/", "https://x.org/?key=1", "https://x.org/#a"] {
            assert_eq!(url(bad, false), Err(AddressError::Credentials), "{bad}");
        }
        for bad in ["ftp://x.org", "x.org", "/mcp", "http://"] {
            assert_eq!(url(bad, false), Err(AddressError::NoUrl), "{bad}");
        }
        assert_eq!(url("http://x.org/mcp", true), Err(AddressError::Clear));
        assert_eq!(url("http://localhost.x.org/mcp", true), Err(AddressError::Clear));
        for good in ["https://x.org/mcp", "http://localhost:1/mcp", "http://[::1]:1/"] {
            assert!(url(good, true).is_ok(), "{good}");
        }
        assert!(url("http://x.org/mcp", false).is_ok());
    }
}
