//! Trace files.

use crate::rig::json;
use std::os::unix::fs::PermissionsExt;
use tollgate_agent::{FileTrace, TraceSink};

#[test]
fn a_trace_file_holds_one_line_an_event_for_its_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.jsonl");
    for n in 0..2 {
        let trace = FileTrace::open(&path).unwrap();
        trace.write(&json(&format!(r#"{{"n": {n}, "text": "a\nb"}}"#))).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "{\"n\":0,\"text\":\"a\\nb\"}\n{\"n\":1,\"text\":\"a\\nb\"}\n");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_trace_is_not_written_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, dir.path().join("trace.jsonl")).unwrap();
    FileTrace::open(&dir.path().join("trace.jsonl")).unwrap_err();
}
