//! The server behind a URL.
//!
//! Nothing is sent anywhere but there: no redirect is followed, no proxy is taken from the
//! environment, and only headers of the protocol go along. Of the server's headers, too, only those
//! of the protocol come back.

use super::address::{self, AddressError};
use super::rules::{LAST_EVENT, SESSION, VERSION};
use super::secret::Token;
use crate::mcp::limits::{CONNECT_MS, MESSAGE_BYTES_MAX, PAUSE_MS};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where machines keep the certificates that they trust.
const TRUSTED: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Most connections that are kept for later.
const IDLE_MAX: usize = 64;

/// Headers of a client that go to the server.
const TO_SERVER: [HeaderName; 6] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::USER_AGENT,
    LAST_EVENT,
    HeaderName::from_static("traceparent"),
];
/// Headers of a server that go to the client.
const TO_CLIENT: [HeaderName; 6] = [
    header::CACHE_CONTROL,
    header::CONTENT_TYPE,
    header::RETRY_AFTER,
    header::ALLOW,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("x-accel-buffering"),
];

/// Why a server behind a URL cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// Its URL cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Nobody can be trusted.
    #[error("the certificates in `{}` cannot be used: {why}", .file.display())]
    Certificates {
        /// The file.
        file: PathBuf,
        /// Why not.
        why: String,
    },
}

/// Why a server did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    /// Nobody is there; the request was not sent.
    #[error("the server cannot be reached")]
    Unreachable,
    /// The connection ended before there was an answer.
    #[error("the connection to the server broke before it answered")]
    Broken,
    /// It sends its clients elsewhere.
    #[error(
        "the server sends its clients elsewhere, which is not followed: `--upstream` takes the URL where it is"
    )]
    Elsewhere,
    /// The answer is too long.
    #[error("the server's answer is longer than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
}

/// The server behind a URL.
#[derive(Clone)]
pub struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    uri: Uri,
    token: Option<Token>,
}

impl Upstream {
    /// The server behind this URL, which is given this token.
    ///
    /// # Errors
    /// [`UpstreamError`] for a URL that cannot be used, and when there is nobody to trust.
    pub fn new(url: &str, token: Option<Token>) -> Result<Upstream, UpstreamError> {
        let uri = address::url(url, token.is_some())?;
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        plain.set_nodelay(true);
        plain.set_connect_timeout(Some(Duration::from_millis(CONNECT_MS)));
        let roots =
            if uri.scheme_str() == Some("https") { trusted()? } else { RootCertStore::empty() };
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls(roots)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(plain);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Ok(Upstream { client, uri, token })
    }

    /// Sends a request; what comes back is the head of the answer.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Unanswered> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        if let Some(value) = self.credential() {
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let answer = self.client.request(request).await.map_err(|error| {
            if error.is_connect() { Unanswered::Unreachable } else { Unanswered::Broken }
        })?;
        match answer.status() {
            StatusCode::UNAUTHORIZED => {
                if let Some(token) = &self.token {
                    token.renew();
                }
                Ok(answer)
            }
            status if status.is_redirection() => Err(Unanswered::Elsewhere),
            _ => Ok(answer),
        }
    }

    fn credential(&self) -> Option<HeaderValue> {
        let token = self.token.as_ref()?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.text())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// The whole of an answer that is no stream.
pub(super) async fn whole(body: Incoming) -> Result<Bytes, Unanswered> {
    let limited = http_body_util::Limited::new(body, MESSAGE_BYTES_MAX);
    let mut limited = std::pin::pin!(limited);
    let pause = Duration::from_millis(PAUSE_MS);
    let mut text = Vec::new();
    loop {
        match tokio::time::timeout(pause, limited.frame()).await {
            Err(_) => return Err(Unanswered::Broken),
            Ok(None) => return Ok(text.into()),
            Ok(Some(Err(error))) if error.is::<http_body_util::LengthLimitError>() => {
                return Err(Unanswered::TooLong);
            }
            Ok(Some(Err(_))) => return Err(Unanswered::Broken),
            Ok(Some(Ok(frame))) => {
                text.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            }
        }
    }
}

/// The headers of a client's request that go to the server.
pub(super) fn to_server(all: &HeaderMap) -> HeaderMap {
    chosen(all, &TO_SERVER)
}

/// The headers of a server's answer that go to the client.
pub(super) fn to_client(all: &HeaderMap) -> HeaderMap {
    chosen(all, &TO_CLIENT)
}

fn chosen(all: &HeaderMap, chosen: &[HeaderName]) -> HeaderMap {
    let of_protocol = |name: &HeaderName| name.as_str().starts_with("mcp-");
    let wanted = all.iter().filter(|(name, _)| chosen.contains(name) || of_protocol(name));
    wanted.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The headers of a message that did not come over HTTP.
pub(super) fn of_own() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        header::USER_AGENT,
        HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION"))),
    );
    headers
}

/// Adds what names a session.
pub(super) fn of_session(
    mut headers: HeaderMap,
    session: Option<&HeaderValue>,
    version: Option<&HeaderValue>,
) -> HeaderMap {
    for (name, value) in [(SESSION, session), (VERSION, version)] {
        if let Some(value) = value {
            headers.insert(name, value.clone());
        }
    }
    debug_assert!(!headers.contains_key(header::AUTHORIZATION), "only the client's own");
    headers
}

/// The session that an answer or a request names.
pub(super) fn session_of(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(SESSION)
}

fn trusted() -> Result<RootCertStore, UpstreamError> {
    let file = TRUSTED.iter().map(Path::new).find(|file| file.exists());
    let file = file.unwrap_or(Path::new(TRUSTED[0]));
    let refuse = |why: String| UpstreamError::Certificates { file: file.to_owned(), why };
    let pem = std::fs::read(file).map_err(|error| refuse(error.to_string()))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let mut roots = RootCertStore::empty();
    let (added, _) =
        roots.add_parsable_certificates(read.map_err(|error| refuse(error.to_string()))?);
    if added == 0 {
        return Err(refuse("none of them is a certificate authority's".to_owned()));
    }
    Ok(roots)
}

fn tls(roots: RootCertStore) -> Result<ClientConfig, UpstreamError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| UpstreamError::Certificates {
            file: PathBuf::new(),
            why: error.to_string(),
        })?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
