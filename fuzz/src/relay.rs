//! The targets of the relay: what cuts a stream into messages, and what reads them.
//!
//! This file is included by the tests of `crates/server`, which run every seed and changes of it; it
//! refuses a reading that depends on how the bytes arrive, and a text that another reader reads
//! otherwise.

use tollgate_server::mcp::Frame;
use tollgate_server::mcp::http::sse::{Events, Piece};
use tollgate_server::mcp::lines::{Line, Lines};

/// A target.
pub(crate) type Target = fn(&[u8]);

/// All of them, by name.
pub(crate) const TARGETS: &[(&str, Target)] =
    &[("mcp_lines", lines), ("mcp_frame", frame), ("mcp_events", events)];

/// Pieces of the sizes that the first byte says.
fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let size = data.first().map_or(1, |first| usize::from(*first) % 17 + 1);
    data.chunks(size)
}

fn lines(data: &[u8]) {
    let whole = |chunks: &mut dyn Iterator<Item = &[u8]>| -> Vec<Line> {
        let mut lines = Lines::default();
        let mut found: Vec<Line> = chunks.flat_map(|chunk| lines.take(chunk)).collect();
        found.extend(lines.end());
        found
    };
    let found = whole(&mut std::iter::once(data));
    assert_eq!(found, whole(&mut pieces(data)), "however it is cut");
    for line in found {
        let Line::Whole(text) = line else { continue };
        assert!(!text.contains(&b'\n'), "a line feed ends a line");
        frame(&text);
    }
}

fn frame(data: &[u8]) {
    let Ok(frame) = Frame::read(data) else { return };
    assert_eq!(frame.text().as_bytes(), data, "the text is kept");
    let other: serde_json::Value =
        serde_json::from_slice(data).unwrap_or_else(|error| panic!("another reader: {error}"));
    let ours = serde_json::to_value(frame.root()).unwrap_or_default();
    assert_eq!(ours["method"], other["method"], "both read one method");
    let named = |value: &serde_json::Value| value["params"]["name"].clone();
    assert_eq!(named(&ours), named(&other), "both read one tool");
    for key in ["id", "params", "result"] {
        let Some(value) = frame.get(key) else { continue };
        assert_eq!(frame.with(key, value.clone()).as_bytes(), data, "nothing changed");
    }
}

fn events(data: &[u8]) {
    let whole = |chunks: &mut dyn Iterator<Item = &[u8]>| -> (Vec<u8>, Vec<Vec<u8>>) {
        let (mut events, mut raw, mut said) = (Events::default(), Vec::new(), Vec::new());
        for chunk in chunks {
            for piece in events.take(chunk).unwrap_or_default() {
                match piece {
                    Piece::Quiet(bytes) => raw.extend(bytes),
                    Piece::Event(event) => {
                        said.push(event.data.clone());
                        raw.extend(event.raw());
                    }
                }
            }
        }
        (raw, said)
    };
    let found = whole(&mut std::iter::once(data));
    assert_eq!(found, whole(&mut pieces(data)), "however it is cut");
    assert!(data.starts_with(&found.0), "what passes is what came");
}
