//! `tollgate redact`: a filter that masks, holds back no more than it must, and ends as a filter ends.

use crate::rig::{Ran, Rig, run};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn redact(arguments: &[&str], input: &str) -> Ran {
    let rig = Rig::new();
    let mut all = vec!["redact"];
    all.extend(arguments);
    run(&rig.path("project"), &all, input, &[])
}

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .arg("redact")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn data_are_masked_and_all_else_goes_through_byte_for_byte() {
    let text = "no\r\ttrailing line end \u{1b}[1m; mail zhang@x.com";
    let ran = redact(&[], text).expect(0);
    assert_eq!(ran.out, text.replace("zhang@x.com", "z***@x.com"));
    assert_eq!(redact(&[], "").expect(0).out, "");
}

#[test]
fn the_mask_and_what_is_looked_for_can_be_said() {
    let text = "password: hunter2!\nzhang@x.com\n";
    let out = |arguments: &[&str]| redact(arguments, text).expect(0).out;
    assert_eq!(out(&["--mask", "label"]), "password: [PASSWORD]\n[EMAIL]\n");
    assert_eq!(out(&["--find", "email", "--mask", "shape"]), "password: hunter2!\n*****@*.***\n");
    assert_eq!(out(&["--mask", "stars", "--find", "pii"]), "password: hunter2!\nzh*******om\n");
    redact(&["--mask", "none"], "").expect(2);
}

#[test]
fn words_under_the_key_of_a_password_are_masked_in_json() {
    let text = r#"{"password": "correct-horse-battery", "style": {"password": "form-control"}}"#;
    let out = redact(&["--format", "jsonl"], text).expect(0).out;
    assert_eq!(out, text.replace("correct-horse-battery", "[PASSWORD]"));
    assert_eq!(redact(&[], "PASSWORD=hunter2\n").expect(0).out, "PASSWORD=[PASSWORD]\n");
}

#[test]
fn lines_of_json_stay_json() {
    let lines = "{\"phone\": 13812345678, \"n\": 1}\n{\"password\":\"a\\\"b,hunter2!\"}\nno json zhang@x.com\n";
    let ran = redact(&["--format", "jsonl"], lines).expect(0);
    let mut out = ran.out.lines();
    for _ in 0..2 {
        serde_json::from_str::<serde_json::Value>(out.next().unwrap()).unwrap();
    }
    assert_eq!(out.next(), Some("no json z***@x.com"));
    assert!(!ran.out.contains("13812345678") && !ran.out.contains("hunter2"), "{}", ran.out);
}

#[test]
fn a_line_too_long_to_be_opened_is_withheld_and_said() {
    let long = format!("{{\"a\":\"{}\"}}\n{{\"b\":1}}\n", "x ".repeat(4 * 1024 * 1024 + 1));
    let ran = redact(&["--format", "jsonl"], &long).expect(1);
    assert_eq!(ran.out, "\"[UNSCANNED]\"\n{\"b\":1}\n");
    assert!(ran.err.contains("1 line withheld"), "{}", ran.err);
}

#[test]
fn the_report_counts_by_rule_and_shows_no_datum() {
    let ran = redact(&["--report"], "zhang@x.com li@y.org\n13812345678\n").expect(0);
    assert_eq!(ran.err, "3 masked\n       2  email\n       1  phone-cn\n");
}

#[test]
fn a_line_goes_out_when_it_is_complete_while_the_input_stays_open() {
    for format in ["text", "jsonl"] {
        let mut child = start(&["--format", format]);
        let mut input = child.stdin.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut waited = Duration::ZERO;
        for _ in 0..5 {
            let asked = Instant::now();
            input.write_all(b"{\"mail\": \"zhang@x.com\"}\n").unwrap();
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            assert_eq!(line, "{\"mail\": \"z***@x.com\"}\n");
            waited = waited.max(asked.elapsed());
        }
        assert!(waited < Duration::from_secs(5), "{format}: {waited:?}");
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_filter_quietly() {
    let mut child = start(&[]);
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let piece = "zhang@x.com\n".repeat(1000);
    while input.write_all(piece.as_bytes()).is_ok() {}
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]));
}

/// A policy whose hooks mask mails, tickets, and lines with a mark.
pub(crate) const POLICY: &str = r#"version: 1
hooks:
  - name: data
    on: prompt_build
    redact:
      find: email
      mask: label
      lines: INTERNAL
      patterns: [{ name: ticket, pattern: "TKT-([0-9]{2})[0-9]+", mask: "TKT-$1**" }]
      allow: { values: [info@x.com] }
  - { name: phones, on: after_tool, match: { tool: x }, redact: { find: mobile } }
  - { name: dry, on: after, dry_run: true, redact: { find: iban } }
"#;

/// A text with data that it masks and others.
pub(crate) const TEXT: &str = "to zhang@x.com or info@x.com\nsee TKT-12345\nall INTERNAL here\n\
                               13812345678\nDE89370400440532013000\n";

#[test]
fn a_policy_that_is_named_says_what_is_masked_and_how() {
    let rig = Rig::new();
    rig.write("masks.yaml", POLICY);
    let redact = |more: &[&str]| {
        let all = [&["redact", "--policy", "../masks.yaml"], more].concat();
        run(&rig.path("project"), &all, TEXT, &[])
    };
    let ran = redact(&[]).expect(0);
    assert_eq!(
        ran.out,
        "to [EMAIL] or info@x.com\nsee TKT-12**\n[SECRET]\n138*********\nDE89370400440532013000\n"
    );
    let beside: [&[&str]; 5] = [
        &["--mask", "label"],
        &["--find", "email"],
        &["--threshold", "0.9"],
        &["--report"],
        &["--format", "jsonl"],
    ];
    for more in beside {
        let ran = redact(more).expect(2);
        assert!(ran.out.is_empty() && ran.err.contains(more[0]), "{}", ran.err);
    }
}

#[test]
fn a_policy_that_masks_nothing_or_does_not_load_ends_it_before_anything_is_read() {
    let rig = Rig::new();
    rig.write("none.yaml", "version: 1\nhooks: [{ name: a, on: pre_tool, deny: no }]\n");
    rig.write("ner.yaml", "version: 1\nhooks: [{ name: a, on: after, redact: { find: person, ner: { model: /no/model } } }]\n");
    for (policy, said) in [("none", "no `redact` hook"), ("ner", "ner"), ("gone", "gone.yaml")] {
        let policy = format!("../{policy}.yaml");
        for command in [["redact"].as_slice(), &["scan", "-"]] {
            let all = [command, &["--policy", &policy]].concat();
            let ran = run(&rig.path("project"), &all, TEXT, &[]).expect(2);
            assert!(ran.out.is_empty() && ran.err.contains(said), "{}", ran.err);
        }
    }
}

#[test]
fn a_text_in_utf16_is_refused_and_not_passed_as_it_is() {
    for policy in [false, true] {
        let rig = Rig::new();
        rig.write(
            "p.yaml",
            "version: 1\nhooks: [{ name: m, on: post_tool, redact: { find: pii } }]\n",
        );
        let file = rig.path("p.yaml").display().to_string();
        let arguments = if policy { vec!["--policy", &file] } else { vec![] };
        let mut child = start(&arguments);
        let wide = "\u{feff}mail zhang@x.com\n".encode_utf16().flat_map(u16::to_le_bytes);
        // It may have ended before it was given all.
        let _ = child.stdin.take().unwrap().write_all(&wide.collect::<Vec<u8>>());
        let ran = child.wait_with_output().unwrap();
        assert_eq!((ran.status.code(), ran.stdout.len()), (Some(2), 0), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("UTF-16"), "{ran:?}");
    }
}
