//! Real servers on this machine: TCP, TLS, UDP and a little HTTP. Each runs in a thread and tells over a
//! channel what it has received.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// What a test waits for a server at most.
pub(crate) const WAIT: Duration = Duration::from_secs(10);

/// A server's port, and what it receives, a connection or message at a time.
pub(crate) struct Server<T> {
    pub(crate) port: u16,
    pub(crate) received: Receiver<T>,
}

impl<T> Server<T> {
    pub(crate) fn next(&self) -> T {
        self.received.recv_timeout(WAIT).unwrap()
    }
}

/// Serves each connection in turn with this; ends with the test process.
fn serve<T: Send + 'static>(
    mut each: impl FnMut(TcpStream) -> Option<T> + Send + 'static,
) -> Server<T> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            if let Some(got) = each(stream.unwrap())
                && sender.send(got).is_err()
            {
                return;
            }
        }
    });
    Server { port, received }
}

/// Reads each connection to its end. The first `drops` connections are cut after a few bytes.
pub(crate) fn tcp(drops: usize) -> Server<Vec<u8>> {
    let mut left = drops;
    serve(move |mut stream| {
        if left > 0 {
            left -= 1;
            let mut few = [0; 10];
            stream.read_exact(&mut few).unwrap();
            // Unread bytes make the system answer with a reset.
            return None;
        }
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        Some(all)
    })
}

/// A certificate authority (in PEM), and a server with a certificate of it for this name.
pub(crate) fn tls(name: &str, says_goodbye: bool) -> (String, Server<Vec<u8>>) {
    let (authority, config) = certified(name);
    let server = serve(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let mut all = Vec::new();
        stream.read_to_end(&mut all).ok()?;
        if says_goodbye {
            stream.conn.send_close_notify();
            while stream.conn.wants_write() {
                stream.conn.write_tls(&mut stream.sock).ok()?;
            }
        }
        Some(all)
    });
    (authority, server)
}

fn certified(name: &str) -> (String, Arc<ServerConfig>) {
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(params, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    (authority.pem(), Arc::new(config))
}

pub(crate) fn udp() -> Server<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let (sender, received) = channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 70_000];
        while let Ok(length) = socket.recv(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    Server { port, received }
}

/// A request as a server reads it.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Answers each request with the next of these answers (status line and body), then with the last one.
pub(crate) fn http(answers: &'static [(&'static str, &'static str)]) -> Server<Request> {
    let mut at = 0;
    serve(move |stream| {
        let (status, body) = answers[at.min(answers.len() - 1)];
        at += 1;
        answer(stream, status, body)
    })
}

/// The same over TLS.
pub(crate) fn https(name: &str) -> (String, Server<Request>) {
    let (authority, config) = certified(name);
    let server = serve(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        answer(StreamOwned::new(connection, stream), "200 OK", "{}")
    });
    (authority, server)
}

fn answer(
    stream: impl std::io::Read + std::io::Write,
    status: &str,
    body: &str,
) -> Option<Request> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map(|(_, length)| length.parse().unwrap())?;
    let mut text = vec![0; length];
    stream.read_exact(&mut text).ok()?;
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.get_mut().write_all(answer.as_bytes()).ok()?;
    stream.get_mut().flush().ok()?;
    Some(Request { head, body: String::from_utf8(text).unwrap() })
}
