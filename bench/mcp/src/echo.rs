//! The echo server: one tool, over either transport. It does as little as a server can.

use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// Serves over standard input and output, or at a port.
pub(super) fn serve(place: &str) -> io::Result<()> {
    if place == "stdio" {
        return over_stdio();
    }
    over_http(place.parse().map_err(io::Error::other)?)
}

/// The answer to a message; `None` where none is due.
fn answer(text: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(text).ok()?;
    let id = message.get("id")?;
    let result = match message.get("method").and_then(Value::as_str)? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "echo", "description": "Says it again.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        }]}),
        "tools/call" => {
            let text = message.pointer("/params/arguments/text").cloned().unwrap_or_default();
            json!({"content": [{"type": "text", "text": text}]})
        }
        _ => json!({}),
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

fn over_stdio() -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(text) = answer(&line) {
            output.write_all(text.as_bytes())?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

fn over_http(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    for stream in listener.incoming() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        std::thread::spawn(move || connection(&stream));
    }
    Ok(())
}

fn connection(stream: &TcpStream) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, stream);
    let mut output = stream;
    loop {
        let (mut length, mut line, mut lines, mut is_get) = (0, String::new(), 0, false);
        while input.read_line(&mut line)? > 0 && line != "\r\n" {
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            is_get |= lines == 0 && line.starts_with("GET ");
            lines += 1;
            line.clear();
        }
        if lines == 0 {
            return Ok(());
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        let head = |status: &str, length: usize| {
            format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nmcp-session-id: echo\r\ncontent-length: {length}\r\n\r\n"
            )
        };
        let text = match answer(&body) {
            Some(text) => head("200 OK", text.len()) + &text,
            // It says nothing unasked, and says so.
            None if is_get => head("405 Method Not Allowed", 0),
            None => head("202 Accepted", 0),
        };
        output.write_all(text.as_bytes())?;
    }
}
