//! TLS: whom it trusts, and nothing that could be switched off.
//!
//! Trusted is who a file of certificates says, the machine's or one that is named. No environment
//! variable changes it, and there is no way not to verify.

use crate::limits::CA_BYTES_MAX;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where machines keep the certificates that they trust.
const MACHINE: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Why nobody can be trusted.
#[derive(Debug, thiserror::Error)]
#[error("the certificates in `{}` cannot be used: {why}", .file.display())]
pub struct TlsError {
    /// The file.
    pub file: PathBuf,
    /// Why not.
    pub why: String,
}

/// The certificates that are trusted: those of this file, or the machine's.
pub(crate) fn trusted(file: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let machine = || MACHINE.iter().map(Path::new).find(|file| file.exists());
    let file = file.or_else(machine).unwrap_or(Path::new(MACHINE[0]));
    let refuse = |why: String| TlsError { file: file.to_owned(), why };
    let mut pem = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(CA_BYTES_MAX + 1).read_to_end(&mut pem))
        .map_err(|error| refuse(error.to_string()))?;
    if pem.len() as u64 > CA_BYTES_MAX {
        return Err(refuse(format!("it is larger than {CA_BYTES_MAX} bytes")));
    }
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match read {
        Ok(found) if found.is_empty() => Err(refuse("it holds none in PEM".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(refuse(error.to_string())),
    }
}

/// The one implementation of cryptography that is built in.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What a client needs to know.
pub(crate) fn config(file: Option<&Path>) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(trusted(file)?);
    let refuse = |why: String| {
        let file = file.map_or_else(PathBuf::new, Path::to_owned);
        TlsError { file, why }
    };
    if added == 0 {
        return Err(refuse("none of them is a certificate authority's".to_owned()));
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
