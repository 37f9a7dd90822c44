//! One POST: the whole of HTTP that is needed here.
//!
//! No redirect is followed, for it would take a token to where nobody named; no proxy is taken from the
//! environment. A token goes over TLS, or to this machine itself.

use crate::limits::{ANSWER_BYTES_MAX, SEND_WAIT};
use crate::private::{self, PrivateError};
use crate::tls::{self, TlsError};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// Where and how something is posted.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The URL: `https`, or `http`.
    pub url: String,
    /// A file with one header `Name: value`, readable by its owner only.
    pub header_file: Option<PathBuf>,
    /// A file with the certificates to trust in place of the machine's.
    pub ca_file: Option<PathBuf>,
}

/// Why an endpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The header's file cannot be used.
    #[error(transparent)]
    Header(#[from] PrivateError),
    /// A token would travel in the clear.
    #[error("a header from a file goes over https or to this machine only")]
    Clear,
}

/// What came of a POST that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// A client for one endpoint.
pub(crate) struct Client {
    agent: Agent,
    url: String,
    header_file: Option<PathBuf>,
}

impl Client {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Client, EndpointError> {
        let is_tls = endpoint.url.starts_with("https://");
        if let Some(file) = &endpoint.header_file {
            if !is_tls && !is_of_this_machine(&endpoint.url) {
                return Err(EndpointError::Clear);
            }
            // Said now, and not at the first record.
            private::header(file)?;
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(SEND_WAIT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("tollgate/", env!("CARGO_PKG_VERSION")));
        if is_tls {
            config = config.tls_config(tls_config(endpoint.ca_file.as_deref())?);
        }
        Ok(Client {
            agent: config.build().new_agent(),
            url: endpoint.url.clone(),
            header_file: endpoint.header_file.clone(),
        })
    }

    /// Posts JSON.
    pub(crate) fn post(&self, body: &str) -> Result<Answer, String> {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        if let Some(file) = &self.header_file {
            let header = private::header(file).map_err(|error| error.to_string())?;
            request = request.header(header.name, header.value);
        }
        let mut answer = request.send(body).map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        // The status is the answer; a body that cannot be read takes nothing away from it.
        Ok(Answer { status, body: body.unwrap_or_default() })
    }
}

fn tls_config(ca_file: Option<&Path>) -> Result<TlsConfig, TlsError> {
    let trusted = tls::trusted(ca_file)?;
    let roots: Vec<Certificate<'static>> =
        trusted.iter().map(|found| Certificate::from_der(found).to_owned()).collect();
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(tls::provider())
        .build())
}

fn is_of_this_machine(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let address = rest.split('/').next().unwrap_or_default();
    let host = match address.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => address.split(':').next(),
    };
    let host = host.unwrap_or_default();
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_of_this_machine;

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        for url in ["http://localhost/x", "http://127.0.0.1:80", "http://[::1]:4318/v1/logs"] {
            assert!(is_of_this_machine(url), "{url}");
        }
        for url in ["http://localhost.example.com", "http://10.0.0.1", "http://127.0.0.1.x.org"] {
            assert!(!is_of_this_machine(url), "{url}");
        }
    }
}
