//! What of a policy a stream is masked by, and that pieces make no difference.

use super::{OutputRedaction, StreamOrigin};
use crate::load::{LoadOptions, Loaded, load_text};
use tollgate_gate::Timestamp;

const POLICY: &str = "version: 1
hooks:
  - { name: marked, on: after_tool, match: { tool: Bash }, redact: { lines: MARKED } }
  - { name: secrets, on: after_tool, redact: { find: secrets } }
  - { name: mails, on: after_tool, match: { tool: look_up }, redact: { find: email } }
  - { name: labelled, on: after_tool, match: { all: [{ tool: Bash }, { labels: x }] }, redact: { find: iban } }
  - { name: dry, on: after_tool, dry_run: true, redact: { lines: ready } }
  - { name: off, on: after_tool, enabled: false, redact: { lines: ready } }
  - { name: switched, on: after_tool, redact: { lines: ready } }
  - { name: before, on: pre_model, redact: { lines: ready } }
";

fn loaded(text: &str) -> Loaded {
    load_text("test", text, &LoadOptions::new(Timestamp::from_nanos(0))).unwrap()
}

fn redaction(tool: &str) -> OutputRedaction {
    let origin = StreamOrigin { tool: Some(tool), ..StreamOrigin::default() };
    loaded(POLICY).output_redaction(&origin, &|name| name != "switched").unwrap().unwrap()
}

fn through(mut redaction: OutputRedaction, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(redaction.push(piece).unwrap());
    }
    out.extend(redaction.flush().unwrap());
    out
}

#[test]
fn a_stream_is_masked_by_the_hooks_that_concern_its_tool_or_may() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let iban = "DE89370400440532013000";
    let text = format!("ready\nx MARKED y\nuse {token}\nto a.b@example.org\npay {iban}\n");
    let shown = |tool| String::from_utf8(through(redaction(tool), &[text.as_bytes()])).unwrap();
    let bash = shown("Bash");
    assert!(bash.starts_with("ready\n[SECRET]\n") && bash.contains("a.b@example.org"), "{bash}");
    assert!(!bash.contains(&token) && !bash.contains(iban), "a label may be there: {bash}");
    let other = shown("look_up");
    assert!(other.contains("x MARKED y") && other.contains(iban), "{other}");
    assert!(!other.contains(&token) && !other.contains("a.b@example.org"), "{other}");
}

#[test]
fn where_a_text_is_cut_makes_no_difference() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text =
        format!("é plain\nMARKED\npassword = {token}\nplain \u{1F600} text\nno end: {token}");
    let mut bytes = text.into_bytes();
    bytes.splice(3..3, [0xff, 0x00, 0xfe]);
    let whole = through(redaction("Bash"), &[&bytes]);
    assert!(whole.windows(3).any(|window| window == [0xff, 0x00, 0xfe]));
    assert!(!whole.windows(token.len()).any(|window| window == token.as_bytes()));
    for cut in 0..bytes.len() {
        let (one, other) = bytes.split_at(cut);
        assert_eq!(through(redaction("Bash"), &[one, other]), whole, "cut at {cut}");
    }
}

#[test]
fn a_question_goes_out_while_part_of_a_word_is_held() {
    let mut redaction = redaction("Bash");
    let mut out = redaction.push(b"Your name: ").unwrap();
    assert!(redaction.holds_question());
    out.extend(redaction.question().unwrap());
    assert_eq!(out, b"Your name: ");
    let mut out = redaction.push(b"ghp_a1B2c3D4e5F6a1B2").unwrap();
    assert!(!redaction.holds_question());
    out.extend(redaction.question().unwrap());
    assert_eq!(out, b"", "it may go on");
}

#[test]
fn a_policy_that_masks_nothing_of_a_tool_has_no_redaction() {
    let policy = "version: 1\nhooks: [{ name: a, on: after_tool, match: { tool: x }, redact: { lines: y } }]\n";
    let origin = StreamOrigin { tool: Some("Bash"), ..StreamOrigin::default() };
    let none = loaded(policy).output_redaction(&origin, &|_| true).unwrap();
    assert!(none.is_none());
}
