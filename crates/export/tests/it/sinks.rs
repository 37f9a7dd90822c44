//! Sinks against real servers: what arrives is what was written, and what did not arrive is not counted.

use crate::rig::{Rig, all_kinds, exporter, record, refused};
use crate::servers::{self, Server};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use tollgate_export::{
    Done, Format, Notice, RunError, SendError, SinkOptions, Target, Until, run, sink,
};
use tollgate_gate::{Json, RecordKind};

/// Exports to the end of the ledger; gives what was done and what was noticed.
fn export(
    rig: &Rig,
    format: Format,
    to: &str,
    options: &SinkOptions,
) -> (Result<Done, RunError>, Vec<Notice>) {
    let mut notices = Vec::new();
    let mut cursor = rig.cursor(to);
    let mut work = exporter(format, to, options);
    let done = run(&rig.ledger(), &mut cursor, &mut work, Until::End, &|| false, &mut |notice| {
        notices.push(notice);
    });
    (done, notices)
}

/// Takes octet-counted messages apart.
fn frames(mut bytes: &[u8]) -> Vec<String> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ').unwrap();
        let length: usize = std::str::from_utf8(&bytes[..space]).unwrap().parse().unwrap();
        let end = space + 1 + length;
        frames.push(String::from_utf8(bytes[space + 1..end].to_vec()).unwrap());
        bytes = &bytes[end..];
    }
    frames
}

#[test]
fn a_file_gets_one_line_a_record_and_is_the_owners_alone() {
    let rig = Rig::new();
    rig.append(all_kinds());
    let file = rig.path("out.jsonl");
    fs::write(&file, "torn").unwrap();
    let to = format!("file:{}", file.display());
    let (done, _) = export(&rig, Format::Ocsf, &to, &SinkOptions::default());
    assert_eq!(done.unwrap().records, all_kinds().len() as u64);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), all_kinds().len() + 1, "a torn line stays one of its own");
    let fresh = rig.path("fresh.jsonl");
    let to = format!("file:{}", fresh.display());
    export(&rig, Format::Ecs, &to, &SinkOptions::default()).0.unwrap();
    assert_eq!(fs::metadata(&fresh).unwrap().mode() & 0o777, 0o600);
    for line in fs::read_to_string(&fresh).unwrap().lines() {
        Json::read(line.as_bytes()).unwrap();
    }
}

#[test]
fn syslog_over_tcp_counts_octets_and_writes_rfc_5424() {
    let rig = Rig::new();
    rig.append(all_kinds());
    let server = servers::tcp(0);
    let to = format!("syslog+tcp://127.0.0.1:{}", server.port);
    export(&rig, Format::Cef, &to, &SinkOptions::default()).0.unwrap();
    let frames = frames(&server.next());
    assert_eq!(frames.len(), all_kinds().len());
    for (at, frame) in frames.iter().enumerate() {
        let parts: Vec<&str> = frame.splitn(8, ' ').collect();
        let [priority, at_text, host, app, process, kind, data, message] = parts[..] else {
            unreachable!("{frame}");
        };
        let number: u8 =
            priority.strip_prefix('<').unwrap().strip_suffix(">1").unwrap().parse().unwrap();
        assert_eq!(number / 8, 13, "log audit");
        assert!(at_text.ends_with('Z') && tollgate_gate::Timestamp::parse(at_text).is_some());
        assert!(!host.is_empty() && (app, process) == ("tollgate", "-"));
        assert!(kind.len() <= 32);
        // The structured data holds a space.
        assert_eq!(data, "[meta");
        assert!(message.starts_with(&format!("sequenceId=\"{}\"] CEF:0|", at + 1)), "{message}");
    }
    // High by the policy: an error.
    assert!(frames[1].starts_with("<107>1 "), "{}", frames[1]);
}

#[test]
fn a_connection_that_is_cut_before_its_end_was_read_is_sent_again() {
    let rig = Rig::new();
    rig.append((1..200).map(refused));
    let server = servers::tcp(2);
    let to = format!("syslog+tcp://127.0.0.1:{}", server.port);
    let (done, notices) = export(&rig, Format::Ocsf, &to, &SinkOptions::default());
    assert_eq!(done.unwrap().records, 199);
    assert_eq!(frames(&server.next()).len(), 199);
    let retries = notices.iter().filter(|notice| matches!(notice, Notice::Retry { .. })).count();
    assert_eq!(retries, 2, "{notices:?}");
    assert_eq!(notices.last(), Some(&Notice::Recovered));
}

fn tls_options(rig: &Rig, authority: &str) -> SinkOptions {
    let file = rig.path("ca.pem");
    fs::write(&file, authority).unwrap();
    SinkOptions { ca_file: Some(file), header_file: None }
}

#[test]
fn syslog_over_tls_trusts_whom_the_file_names_and_waits_for_the_goodbye() {
    let rig = Rig::new();
    rig.append(all_kinds());
    let (authority, server) = servers::tls("localhost", true);
    let options = tls_options(&rig, &authority);
    let to = format!("syslog+tls://localhost:{}", server.port);
    export(&rig, Format::Ecs, &to, &options).0.unwrap();
    assert_eq!(frames(&server.next()).len(), all_kinds().len());
}

/// Tries once.
fn send_once(rig: &Rig, to: &str, options: &SinkOptions) -> SendError {
    let mut sink = sink::open(&Target::parse(to).unwrap(), options).unwrap();
    let (entries, severities) = (rig.entries(), crate::rig::severities());
    let batch: Vec<_> =
        entries.iter().map(|entry| tollgate_export::Told::new(entry, &severities)).collect();
    sink.send(Format::Ecs, &batch).unwrap_err()
}

#[test]
fn a_server_with_another_name_another_authority_or_no_goodbye_has_nothing() {
    let rig = Rig::new();
    rig.append([record(RecordKind::Decision, 1)]);
    let (authority, server) = servers::tls("other.example", true);
    let options = tls_options(&rig, &authority);
    let to = format!("syslog+tls://localhost:{}", server.port);
    assert!(matches!(send_once(&rig, &to, &options), SendError::Unreachable(_)));
    assert!(server.received.try_recv().is_err());
    let (_, server) = servers::tls("localhost", true);
    let to = format!("syslog+tls://localhost:{}", server.port);
    assert!(matches!(send_once(&rig, &to, &options), SendError::Unreachable(_)));
    assert!(server.received.try_recv().is_err());
    let (authority, server) = servers::tls("localhost", false);
    let to = format!("syslog+tls://localhost:{}", server.port);
    let options = tls_options(&rig, &authority);
    assert!(matches!(send_once(&rig, &to, &options), SendError::Unreachable(_)));
    server.next();
}

#[test]
fn syslog_over_udp_is_a_datagram_a_record() {
    let rig = Rig::new();
    rig.append(all_kinds());
    let server = servers::udp();
    let to = format!("syslog+udp://127.0.0.1:{}", server.port);
    export(&rig, Format::Ocsf, &to, &SinkOptions::default()).0.unwrap();
    for at in 1..=all_kinds().len() {
        let datagram = server.next();
        let (head, json) = datagram.split_once("] ").unwrap();
        assert!(head.ends_with(&format!("[meta sequenceId=\"{at}\"")), "{head}");
        Json::read(json.as_bytes()).unwrap();
    }
}

fn log_records(body: &str) -> Vec<Json> {
    let body = Json::read(body.as_bytes()).unwrap();
    let first = |json: &Json, key: &str| json.get(key).unwrap().as_array().unwrap()[0].clone();
    let scope = first(&first(&body, "resourceLogs"), "scopeLogs");
    scope.get("logRecords").unwrap().as_array().unwrap().to_vec()
}

#[test]
fn otlp_posts_log_records_and_tries_again_when_the_collector_says_so() {
    let rig = Rig::new();
    rig.append(all_kinds());
    let server = servers::http(&[("503 Busy", ""), ("429 Slow", ""), ("200 OK", "{}")]);
    let to = format!("otlp+http://127.0.0.1:{}", server.port);
    let (done, notices) = export(&rig, Format::Ocsf, &to, &SinkOptions::default());
    assert_eq!(done.unwrap().records, all_kinds().len() as u64);
    assert_eq!(notices.len(), 3);
    for _ in 0..3 {
        let request = server.next();
        assert!(request.head.starts_with("POST /v1/logs HTTP/1.1\r\n"), "{}", request.head);
        assert!(request.head.to_lowercase().contains("content-type: application/json"));
        let records = log_records(&request.body);
        assert_eq!(records.len(), all_kinds().len());
        let refused = &records[1];
        assert_eq!(refused.get("timeUnixNano").unwrap().as_str(), Some("1800000002000000000"));
        assert_eq!(refused.get("severityNumber").unwrap().as_u64(), Some(17));
        assert!(refused.get("body").unwrap().get("kvlistValue").is_some());
        assert!(
            request.body.contains(r#"{"key":"gen_ai.tool.name","value":{"stringValue":"bash"}}"#)
        );
    }
}

#[test]
fn a_collector_that_refuses_keeps_the_cursor_where_it_is_and_one_that_takes_a_part_does_not() {
    let rig = Rig::new();
    rig.append(all_kinds());
    for status in ["401 No", "302 Elsewhere"] {
        let answers: &'static [_] = Box::leak(Box::new([(status, "who are you \u{1b}[2J")]));
        let server = servers::http(answers);
        let to = format!("otlp+http://127.0.0.1:{}", server.port);
        let (done, notices) = export(&rig, Format::Cef, &to, &SinkOptions::default());
        let error = done.unwrap_err();
        assert!(matches!(error, RunError::Send(SendError::Refused(_))), "{error}");
        assert!(!error.to_string().contains('\u{1b}') && notices.is_empty());
        assert_eq!(rig.cursor(&to).mark(), None);
    }
    let server = servers::http(&[("200 OK", r#"{"partialSuccess":{"rejectedLogRecords":"2"}}"#)]);
    let to = format!("otlp+http://127.0.0.1:{}", server.port);
    let (done, notices) = export(&rig, Format::Cef, &to, &SinkOptions::default());
    assert_eq!(done.unwrap().records, all_kinds().len() as u64);
    assert!(matches!(&notices[..], [Notice::Partly(what)] if what.contains("rejected 2")));
}

fn private(rig: &Rig, text: &str, mode: u32) -> SinkOptions {
    let file = rig.path("header");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    SinkOptions { ca_file: None, header_file: Some(file) }
}

#[test]
fn a_token_comes_from_a_private_file_and_goes_to_https_or_this_machine() {
    let rig = Rig::new();
    rig.append([record(RecordKind::Decision, 1)]);
    let open = |to: &str, options: &SinkOptions| {
        sink::open(&Target::parse(to).unwrap(), options).err().map(|error| error.to_string())
    };
    let token = "Authorization: Bearer hunter2\n";
    for mode in [0o644, 0o640, 0o602] {
        let error = open("otlp+https://h", &private(&rig, token, mode)).unwrap();
        assert!(error.contains("chmod 600") && !error.contains("hunter2"), "{error}");
    }
    for wrong in ["hunter2", "A: hunter2\nB: hunter2", ": hunter2", "A B: hunter2"] {
        let error = open("otlp+http://localhost", &private(&rig, wrong, 0o600)).unwrap();
        assert!(error.contains("Name: value") && !error.contains("hunter2"), "{error}");
    }
    let options = private(&rig, token, 0o600);
    assert!(open("otlp+http://collector.example.com", &options).unwrap().contains("https"));
    assert!(open("syslog+tcp://h", &options).unwrap().contains("of no use"));
    let (authority, server): (String, Server<_>) = servers::https("localhost");
    let options = SinkOptions { header_file: options.header_file, ..tls_options(&rig, &authority) };
    let to = format!("otlp+https://localhost:{}", server.port);
    export(&rig, Format::Ecs, &to, &options).0.unwrap();
    let request = server.next();
    assert!(request.head.to_lowercase().contains("authorization: bearer hunter2"));
    assert!(!format!("{}{:?}", request.body, rig.cursor(&to)).contains("hunter2"));
}
