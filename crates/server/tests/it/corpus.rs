//! Traffic of official clients and servers, as it was recorded between them, passes byte for byte.
//!
//! `everything` is `@modelcontextprotocol/sdk` 1.32.2 against server-everything 2026.8.31 (2025-11-25);
//! `python` is a client and a server of PyPI `mcp` 2.3.0 (2026-07-28). Each side's lines are in a file;
//! a line is said as soon as what it answers was.

use crate::rig::{Rig, rig, run};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::Path;
use tollgate_server::mcp::{Fate, Frame, Shape};

/// Hooks that look at everything and find nothing to change.
const HOOKS: &str = "  - { name: mask, on: after_tool, redact: { find: [secrets] } }\n  - { name: no, on: pre_tool, match: { tool: \"*delete*\" }, deny: \"no\" }";

fn lines(name: &str) -> VecDeque<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let text = fs::read_to_string(path).unwrap();
    text.split('\n').filter(|line| !line.trim().is_empty()).map(ToOwned::to_owned).collect()
}

/// Whether a line can be said now; notes the id of a request.
fn may_be_said(line: &str, asked: &HashSet<String>, asks: &mut HashSet<String>) -> bool {
    match Frame::read(line).unwrap().shape() {
        Shape::Answer { id: Some(id), .. } => asked.contains(id.as_json()),
        Shape::Request { id, .. } => {
            asks.insert(id.as_json().to_owned());
            true
        }
        Shape::Answer { id: None, .. } | Shape::Notification { .. } => true,
    }
}

async fn passes(rig: &Rig, name: &str) -> usize {
    let (mut client, mut server) =
        (lines(&format!("{name}.client")), lines(&format!("{name}.server")));
    let (mut of_client, mut of_server) = (HashSet::new(), HashSet::new());
    let mut count = 0;
    loop {
        let before = count;
        // What was cancelled is not answered; nothing else is left out.
        while client.front().is_some_and(|line| may_be_said(line, &of_server, &mut of_client)) {
            let line = client.pop_front().unwrap();
            assert_eq!(rig.client_says(&line).await, Fate::Pass(line));
            count += 1;
        }
        while server.front().is_some_and(|line| may_be_said(line, &of_client, &mut of_server)) {
            let line = server.pop_front().unwrap();
            assert_eq!(rig.server_says(&line).await, Fate::Pass(line));
            count += 1;
        }
        if count == before {
            assert!(client.is_empty() && server.is_empty(), "{client:?} {server:?}");
            return count;
        }
    }
}

#[test]
fn recorded_traffic_of_both_revisions_passes_byte_for_byte() {
    run(async {
        for (name, expected) in [("everything", 145), ("python", 76)] {
            assert_eq!(passes(&rig(HOOKS), name).await, expected, "{name}");
        }
    });
}
