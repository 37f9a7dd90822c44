//! `tollgate scan`: what is looked at, what is told, and with which exit code.

use crate::rig::{Ran, Rig, run};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

fn scan(rig: &Rig, arguments: &[&str], input: &str) -> Ran {
    let mut all = vec!["scan"];
    all.extend(arguments);
    run(&rig.path("project"), &all, input, &[])
}

fn paths(ran: &Ran) -> Vec<String> {
    ran.lines().iter().map(|line| line["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_finding_is_one_line_of_json_and_its_offsets_are_those_of_the_file() {
    let rig = Rig::new();
    let text = "first\r\n手机 １３８12345678, mail zhang@x.com\r\n";
    rig.write("project/a.txt", text);
    let ran = scan(&rig, &["--format", "json", "a.txt"], "").expect(1);
    let lines = ran.lines();
    let keys = ["path", "start", "end", "line", "rule", "type", "severity", "score", "masked"];
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let mut sorted = keys;
        sorted.sort_unstable();
        assert_eq!(line.as_object().unwrap().keys().collect::<Vec<_>>(), sorted);
    }
    // The order of the keys is part of what people see.
    let places: Vec<usize> =
        keys.iter().map(|key| ran.out.find(&format!("\"{key}\"")).unwrap()).collect();
    assert!(places.is_sorted(), "{}", ran.out);
    let cut = |line: &Value| {
        let place = |key: &str| line[key].as_u64().unwrap() as usize;
        text[place("start")..place("end")].to_owned()
    };
    assert_eq!(cut(&lines[0]), "１３８12345678");
    assert_eq!((cut(&lines[1]).as_str(), &lines[1]["line"]), ("zhang@x.com", &Value::from(2)));
    assert_eq!(lines[1]["type"], "email");
    assert!(!ran.out.contains("zhang@x.com"), "{}", ran.out);
}

#[test]
fn bytes_that_are_no_utf8_move_no_offset() {
    let rig = Rig::new();
    let bytes = b"caf\xe9 \xff\xfe zhang@x.com\n";
    fs::write(rig.path("project/latin.txt"), bytes).unwrap();
    let lines = scan(&rig, &["--format", "json", "."], "").expect(1).lines();
    let place = |key: &str| lines[0][key].as_u64().unwrap() as usize;
    assert_eq!(&bytes[place("start")..place("end")], b"zhang@x.com");
}

#[test]
fn folders_are_walked_in_order_without_what_git_ignores_and_with_hidden_files() {
    let rig = Rig::new();
    for path in ["b.txt", "a/z.txt", ".env", "target/x.txt", ".git/config", "a/.hidden/y.txt"] {
        rig.write(&format!("project/{path}"), "mail zhang@x.com\n");
    }
    rig.write("project/.gitignore", "target/\n");
    fs::write(rig.path("project/c.bin"), b"\0\0mail zhang@x.com").unwrap();
    std::os::unix::fs::symlink(rig.path("project/b.txt"), rig.path("project/link.txt")).unwrap();
    let expected = [".env", "a/.hidden/y.txt", "a/z.txt", "b.txt"];
    for threads in ["1", "4"] {
        let ran = scan(&rig, &["--format", "json", "--threads", threads, "."], "").expect(1);
        assert_eq!(paths(&ran), expected, "{threads} threads");
    }
    let ran = scan(&rig, &["."], "").expect(1);
    assert!(
        ran.out.ends_with("4 findings in 4 of 5 files, 76 B; 1 binary file left out\n"),
        "{}",
        ran.out
    );
    let all = scan(&rig, &["--format", "json", "--no-ignore", "."], "").expect(1);
    assert_eq!(paths(&all), [".env", "a/.hidden/y.txt", "a/z.txt", "b.txt", "target/x.txt"]);
    // What is named is looked at, also if it is ignored, binary or a link.
    let named = ["--format", "json", "target/x.txt", "c.bin", "link.txt"];
    assert_eq!(paths(&scan(&rig, &named, "").expect(1)), ["target/x.txt", "c.bin", "link.txt"]);
}

#[test]
fn nothing_found_is_zero_and_a_path_that_cannot_be_read_is_two() {
    let rig = Rig::new();
    rig.write("project/clean.txt", "nothing to see\n");
    rig.write("project/mail.txt", "zhang@x.com\n");
    scan(&rig, &["clean.txt"], "").expect(0);
    let ran = scan(&rig, &["missing.txt", "mail.txt"], "").expect(2);
    assert!(ran.err.starts_with("error: missing.txt: "), "{}", ran.err);
    assert!(ran.out.contains("mail.txt:1: ") && ran.out.contains("1 path not looked at"));
    for wrong in [&["--find", "all", "."][..], &["--threshold", "2", "."], &[]] {
        scan(&rig, wrong, "").expect(2);
    }
}

#[test]
fn what_is_looked_for_and_how_sure_it_must_be_can_be_said() {
    let rig = Rig::new();
    rig.write("project/a.txt", "password: hunter2!\nmail zhang@x.com, tel 13812345678\n");
    let rules = |arguments: &[&str]| -> Vec<String> {
        let ran = scan(&rig, &[arguments, &["--format", "json", "a.txt"]].concat(), "");
        ran.lines().iter().map(|line| line["rule"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(rules(&["--find", "secrets"]), ["password-assignment"]);
    assert_eq!(rules(&["--find", "email,phone"]), ["email", "phone-cn"]);
    assert_eq!(rules(&["--find", "email", "--find", "secrets"]).len(), 2);
    assert_eq!(rules(&["--threshold", "0.95"]), ["phone-cn"]);
}

#[test]
fn standard_input_is_a_file_named_dash() {
    let rig = Rig::new();
    let ran = scan(&rig, &["--format", "json", "-"], "x\n{\"phone\": 13812345678}\n").expect(1);
    assert_eq!((paths(&ran), &ran.lines()[0]["line"]), (vec!["-".to_owned()], &Value::from(2)));
    scan(&rig, &["-"], "nothing").expect(0);
}

#[test]
fn sarif_names_rule_level_place_and_line() {
    let rig = Rig::new();
    rig.write("project/a b/ü.txt", "\npassword: hunter2!\nzhang@x.com\n");
    let sarif = scan(&rig, &["--format", "sarif", "."], "").expect(1).json();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(sarif["$schema"].as_str().unwrap().contains("sarif"));
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "tollgate");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["level"], &results[1]["level"]), (&"error".into(), &"warning".into()));
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%BC.txt");
    assert_eq!(place["region"], serde_json::json!({ "startLine": 2 }));
    for result in results {
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
    }
    // Without findings it is a whole document, too.
    let empty = scan(&rig, &["--format", "sarif", "-"], "").expect(0).json();
    assert_eq!(empty["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn names_of_files_cannot_move_a_terminal() {
    let rig = Rig::new();
    rig.write("project/a\u{1b}[31m\n\u{202e}.txt", "zhang@x.com\n");
    let ran = scan(&rig, &["."], "").expect(1);
    assert!(ran.out.starts_with(r"a\u{1b}[31m\n\u{202e}.txt:1: "), "{}", ran.out);
}

#[test]
fn a_long_file_is_looked_at_as_a_stream_to_its_end() {
    let rig = Rig::new();
    let line = format!("{}\n", "all is well here, and so on ".repeat(36));
    let lines = 9 * 1024 * 1024 / line.len();
    let text = format!("a@bb.com\n{}zhang@x.com", line.repeat(lines));
    rig.write("project/long.txt", &text);
    let found = scan(&rig, &["--format", "json", "--find", "email", "."], "").expect(1).lines();
    let ends: Vec<u64> = found.iter().map(|line| line["end"].as_u64().unwrap()).collect();
    assert_eq!(ends, [8, text.len() as u64]);
    assert_eq!(found[1]["line"], lines as u64 + 2);
}

#[test]
fn a_reader_that_goes_away_ends_a_scan_that_has_no_end() {
    let rig = Rig::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["scan", "--format", "json", "-"])
        .current_dir(rig.path("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let endless = std::thread::spawn(move || {
        let piece = "zhang@x.com and some more words in between\n".repeat(1000);
        while input.write_all(piece.as_bytes()).is_ok() {}
    });
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert!(line.contains("email"), "{line}");
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    endless.join().unwrap();
}

#[test]
fn a_policy_that_is_named_says_what_is_found_whatever_the_length() {
    let rig = Rig::new();
    rig.write("masks.yaml", crate::redacting::POLICY);
    let short = crate::redacting::TEXT;
    rig.write("project/short.txt", short);
    rig.write("project/long.txt", &(short.to_owned() + &"nothing here\n".repeat(700_000)));
    let named = ["--policy", "../masks.yaml", "--format", "json", "short.txt", "long.txt"];
    let lines = scan(&rig, &named, "").expect(1).lines();
    let found = |path: &str| -> Vec<(String, u64)> {
        let of_path = lines.iter().filter(|line| line["path"] == path);
        let told = |line: &Value| {
            (line["rule"].as_str().unwrap().to_owned(), line["line"].as_u64().unwrap())
        };
        of_path.map(told).collect()
    };
    let expected = [("email", 1), ("ticket", 2), ("marked_line", 3), ("phone-cn", 4)];
    let expected = expected.map(|(rule, line)| (rule.to_owned(), line));
    assert_eq!(found("short.txt"), expected);
    assert_eq!(found("long.txt"), expected);
    let ran = scan(&rig, &["--policy", "../masks.yaml", "--find", "email", "."], "").expect(2);
    assert!(ran.err.contains("--find"), "{}", ran.err);
}

#[test]
fn texts_in_utf16_are_looked_at_and_places_are_those_of_the_file() {
    let rig = Rig::new();
    let text = "\u{feff}Größe 5\r\nmail zhang@x.com\r\n";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(rig.path("project/wide.txt"), &bytes).unwrap();
    let ran = scan(&rig, &["--format", "json", "."], "").expect(1);
    let found = &ran.lines()[0];
    let place = |key: &str| usize::try_from(found[key].as_u64().unwrap()).unwrap();
    let datum: Vec<u8> = "zhang@x.com".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(&bytes[place("start")..place("end")], datum, "{found}");
    assert_eq!(found["line"], 2);
}
