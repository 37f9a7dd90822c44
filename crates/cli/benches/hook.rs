//! `tollgate hook` as a whole process, beside an empty Rust program, `python3 -c pass` and `node -e 0`.
//!
//! What a host waits for is the process from start to end: loading, the snapshot of a policy of 100
//! rules, the effects of a command, the decision, the durable record. The empty program is compiled here
//! and linked the same way; the runs take turns, so that all see the same machine.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench whose ground is missing has no number")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs of each program.
const RUNS: usize = 300;
const EVENT: &str = r#"{"session_id":"bench","transcript_path":"/dev/null","cwd":"/tmp","hook_event_name":"PreToolUse","permission_mode":"default","tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"cargo test -p gate && git status --short | head -20"}}"#;

struct Program {
    name: &'static str,
    command: Vec<String>,
    input: &'static str,
    took: Vec<Duration>,
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("policy.yaml"), policy()).unwrap();
    let (policy, state) = (root.join("policy.yaml"), root.join("state"));
    let hook = [
        env!("CARGO_BIN_EXE_tollgate"),
        "hook",
        "claude-code",
        "--policy",
        policy.to_str().unwrap(),
        "--state",
        state.to_str().unwrap(),
    ];
    let mut programs = vec![
        program("an empty Rust program", &[&empty(root)], ""),
        program("tollgate hook, 100 rules, durable record", &hook, EVENT),
        program("python3 -c pass", &["python3", "-c", "pass"], ""),
        program("node -e 0", &["node", "-e", "0"], ""),
    ];
    // What is not installed has no row.
    programs.retain_mut(|program| run(program).is_some());
    for _ in 0..RUNS {
        for program in &mut programs {
            let took = run(program).unwrap();
            program.took.push(took);
        }
    }
    println!("{:<44} {:>9} {:>9} {:>9}", "whole process", "min us", "p50 us", "p99 us");
    let mut first = None;
    for program in &mut programs {
        program.took.sort();
        let at = |share: usize| program.took.get((RUNS - 1) * share / 100).copied().unwrap();
        let base = *first.get_or_insert(at(50));
        println!(
            "{:<44} {:>9} {:>9} {:>9}   p50 x {:.2}",
            program.name,
            at(0).as_micros(),
            at(50).as_micros(),
            at(99).as_micros(),
            at(50).as_secs_f64() / base.as_secs_f64()
        );
    }
}

fn program(name: &'static str, command: &[&str], input: &'static str) -> Program {
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    Program { name, command, input, took: Vec::new() }
}

/// From the start of the process until it is gone; `None` when it cannot be started.
fn run(program: &Program) -> Option<Duration> {
    let (name, arguments) = program.command.split_first()?;
    let began = Instant::now();
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(program.input.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    assert!(output.status.success(), "{} failed", program.name);
    Some(began.elapsed())
}

/// An empty program, linked as the binary is.
fn empty(folder: &Path) -> String {
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    fs::write(&source, "fn main() {}\n").unwrap();
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc.args(["--edition=2024", "-O", "-C", "link-arg=-no-pie", "-o"]).arg(&program).arg(&source);
    assert!(rustc.status().unwrap().success(), "the empty program does not compile");
    program.to_str().unwrap().to_owned()
}

/// A hundred rules of the usual kinds, of which some concern the event.
fn policy() -> String {
    let mut text = String::from("version: 1\nhooks:\n");
    for n in 0..100 {
        let (matching, action) = match n % 5 {
            0 => (format!("{{ writes: \"secret{n}/**\" }}"), "deny: \"kept out\"".to_owned()),
            1 => (format!("{{ tool: tool_{n} }}"), "deny: \"not this tool\"".to_owned()),
            2 => {
                (format!("{{ contacts: \"*.host{n}.example\" }}"), "deny: \"not there\"".to_owned())
            }
            3 => (format!("{{ runs: prog{n} }}"), "deny: \"not this program\"".to_owned()),
            _ => (
                "{ tool: Bash }".to_owned(),
                format!("deny: \"too long\"\n    when: \"size(args.command) > {}\"", 10_000 + n),
            ),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  - name: rule-{n}\n    on: pre_tool\n    match: {matching}\n    {action}"
        );
    }
    text
}
