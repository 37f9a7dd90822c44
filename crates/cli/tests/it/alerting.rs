//! `alerts run`: what a policy names, delivered from a real ledger.

use crate::rig::{Rig, call, run};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Answers every request with 200 and gives its text.
pub(crate) fn webhook() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut text, mut part) = (stream.unwrap(), Vec::new(), [0; 4096]);
            while !text.ends_with(b"}") {
                let read = stream.read(&mut part).unwrap();
                text.extend_from_slice(&part[..read]);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            if sender.send(String::from_utf8(text).unwrap()).is_err() {
                return;
            }
        }
    });
    (port, received)
}

#[test]
fn a_grave_refusal_reaches_the_webhook_once_and_without_its_secrets() {
    let rig = Rig::new();
    let (port, received) = webhook();
    rig.write(
        "user.yaml",
        &format!(
            r#"
version: 1
alerts:
  - {{ name: ops, to: "http://127.0.0.1:{port}/in", severity: high }}
hooks:
  - {{ name: grave, on: pre_tool, match: {{ tool: rm }}, severity: high, deny: "no rm" }}
  - {{ name: mild, on: pre_tool, match: {{ tool: mv }}, severity: low, deny: "no mv" }}
"#
        ),
    );
    let (policy, ledger) = (rig.path("user.yaml"), rig.path("state/ledger"));
    let decide = |input: &str| {
        let arguments = [
            "decide",
            "--jsonl",
            "--policy",
            policy.to_str().unwrap(),
            "--ledger",
            ledger.to_str().unwrap(),
        ];
        run(&rig.path("project"), &arguments, input, &[])
    };
    decide(&call("rm"));
    let first = rig.run(&["alerts", "run"]).expect(0);
    assert!(first.out.starts_with("ops: begins behind record "), "{}", first.out);
    assert!(received.try_recv().is_err(), "what was before is not told");
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let with_secret = call("rm").replace("s1", secret);
    decide(&format!("{}{}{with_secret}", call("mv"), call("ls")));
    let second = rig.run(&["alerts", "run"]).expect(0);
    assert!(second.out.starts_with("ops: sent 1 alerts, looked at "), "{}", second.out);
    let request = received.try_recv().unwrap();
    assert!(request.starts_with("POST /in HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\"hook\":\"grave\"") && request.contains("no rm"), "{request}");
    assert!(!request.contains(secret), "{request}");
    assert!(rig.run(&["alerts", "run"]).expect(0).out.starts_with("ops: sent 0 alerts"));
}

#[test]
fn only_an_own_policy_names_alerts_and_no_secret_stands_in_a_url() {
    let rig = Rig::new();
    let none = rig.run(&["alerts", "run"]).expect(2);
    assert!(none.err.contains("names no alerts"), "{}", none.err);
    let alert = |to: &str| {
        format!("version: 1\nhooks: []\nalerts:\n  - {{ name: a, to: \"{to}\", severity: high }}\n")
    };
    rig.write("secret.yaml", &alert("https://h/x?token=hunter2"));
    let secret = rig.run(&["check", rig.path("secret.yaml").to_str().unwrap()]).expect(2);
    assert!(secret.out.contains("header_file") || secret.err.contains("header_file"));
    rig.write("project/tollgate.yaml", &alert("https://h/x"));
    let file = rig.path("project/tollgate.yaml");
    let project = rig.run(&["check", "--as", "project", file.to_str().unwrap()]).expect(2);
    let said = format!("{}{}", project.out, project.err);
    assert!(said.contains("may not set `alerts`"), "{said}");
    assert!(fs::metadata(rig.path("state/cursors")).is_err(), "nothing was begun");
}
