//! Masks from end to end: what is redacted, what comes back, and the key of hashes.

use std::future::Future;
use std::task::{Context, Poll, Waker};
use tollgate::gate::{Decision, Event, Timestamp, Verdict};
use tollgate::{OpenError, Places, Tollgate};

const POLICY: &str = "version: 1
hooks:
  - name: masked
    on: after_tool
    redact: { find: [secrets, pii], allow: { paths: [\"fixtures/**\"] } }
  - name: hashed
    on: memory_load
    redact: { find: pii, mask: hash }
  - name: masks-are-not-written-back
    on: pre_tool
    protect_masks: true
";

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        // The ledger on disk answers from a thread of its own.
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(value) = polled {
            return value;
        }
        std::thread::yield_now();
    }
}

pub(crate) fn try_open(policy: &str) -> Result<Tollgate, OpenError> {
    Tollgate::builder().policy_text("tollgate.yaml", policy).open()
}

fn open(policy: &str) -> Tollgate {
    try_open(policy).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn decide(tollgate: &Tollgate, session: &str, kind: &str, payload: &str) -> Decision {
    let text = format!(
        r#"{{"kind":"{kind}","session":{{"id":"{session}","cwd":"/repo","workspace":"/repo"}},"payload":{payload}}}"#
    );
    let event = Event::read(text.as_bytes(), Timestamp::from_millis(0));
    ready(tollgate.gate().judge(event.unwrap_or_else(|error| panic!("{error}: {text}"))))
}

/// What the model gets of a read of this file.
fn read(tollgate: &Tollgate, session: &str, path: &str) -> String {
    let payload = format!(
        r#"{{"tool":"Read","call":{{"kind":"read","path":"{path}"}},"result":{{"ok":true,"content":"mail zhangsan@x.com"}}}}"#
    );
    decide(tollgate, session, "post_tool", &payload).payload.part().unwrap().text()
}

fn verdict(tollgate: &Tollgate, session: &str, payload: &str) -> Verdict {
    decide(tollgate, session, "pre_tool", payload).verdict
}

fn shell(command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!(
        r#"{{"tool":"Bash","arguments":{{"command":{command}}},"call":{{"kind":"shell","command":{command}}}}}"#
    )
}

#[test]
fn a_mask_that_was_read_is_written_by_no_way_and_may_be_looked_for() {
    let tollgate = open(POLICY);
    let here_document = shell("cat > notes.txt <<'E'\nz***@x.com\nE");
    assert_eq!(verdict(&tollgate, "s1", &here_document), Verdict::Allow, "nothing was masked yet");
    assert_eq!(read(&tollgate, "s1", "customers.txt"), r#""mail z***@x.com""#);
    let content = r#""path":"a.txt","content":"mail z***@x.com""#;
    for writes in [
        here_document.as_str(),
        &shell("echo z***@x.com >> notes.txt"),
        &format!(
            r#"{{"tool":"Write","arguments":{{{content}}},"call":{{"kind":"write","path":"a.txt"}}}}"#
        ),
        // Of this tool nothing is known: it may write.
        &format!(r#"{{"tool":"store","server":"crm","arguments":{{{content}}}}}"#),
    ] {
        let decision = decide(&tollgate, "s1", "pre_tool", writes);
        assert_eq!(decision.verdict, Verdict::Deny, "{writes}");
        assert_eq!(decision.hook.as_deref(), Some("masks-are-not-written-back"));
        assert!(decision.reason.unwrap().contains("z***@x.com"), "{writes}");
    }
    for harmless in [
        shell("grep -rn 'z***@x.com' ."),
        r#"{"tool":"Task","arguments":{"prompt":"who is z***@x.com?"},"call":{"kind":"task"}}"#.to_owned(),
        r#"{"tool":"Write","arguments":{"path":"a.txt","content":"no mask"},"call":{"kind":"write","path":"a.txt"}}"#.to_owned(),
    ] {
        assert_eq!(verdict(&tollgate, "s1", &harmless), Verdict::Allow, "{harmless}");
    }
    assert_eq!(verdict(&tollgate, "s2", &here_document), Verdict::Allow, "another session");
}

#[test]
fn a_file_is_left_alone_only_when_nothing_else_is_read() {
    let tollgate = open(POLICY);
    let plain = r#""mail zhangsan@x.com""#;
    assert_eq!(read(&tollgate, "s", "fixtures/a.txt"), plain);
    assert_eq!(read(&tollgate, "s", "/repo/fixtures/a.txt"), plain);
    for other in ["fixtures/../customers.txt", "customers.txt", "/etc/fixtures/a.txt"] {
        assert_ne!(read(&tollgate, "s", other), plain, "{other}");
    }
    // An argument that looks like a path is no proof, nor is a command that reads the file.
    for payload in [
        r#"{"tool":"t","arguments":{"path":"fixtures/a.txt"},"result":{"ok":true,"content":"mail zhangsan@x.com"}}"#,
        r#"{"tool":"Bash","call":{"kind":"shell","command":"cat fixtures/a.txt; env"},"result":{"ok":true,"content":"mail zhangsan@x.com"}}"#,
    ] {
        let part = decide(&tollgate, "s", "post_tool", payload).payload.part().unwrap();
        assert_ne!(part.text(), plain, "{payload}");
    }
}

#[test]
fn hashes_are_made_with_the_key_of_the_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    let mask = |state: &str| {
        let places = Places::of_user(folder.path()).unwrap();
        let places =
            places.with_policies(vec![policy.clone()]).with_state(folder.path().join(state));
        let tollgate = Tollgate::builder().places(places).open().unwrap();
        let decision = decide(&tollgate, "s", "memory_load", r#"{"memory":"zhangsan@x.com"}"#);
        decision.payload.part().unwrap().text()
    };
    let first = mask("a");
    assert!(first.starts_with("\"[EMAIL:"), "{first}");
    assert_eq!(mask("a"), first, "in another process");
    assert_ne!(mask("b"), first, "of another installation");
}
