//! A stream of `decide --jsonl` that lasts: it follows what is changed beside it.

use crate::rig::{PROJECT, Rig, call, run};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

struct Stream {
    child: Child,
    input: ChildStdin,
    out: Receiver<String>,
    err: Receiver<String>,
}

/// The lines of a pipe as they come.
fn lines(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    told
}

impl Stream {
    fn new(rig: &Rig, arguments: &[&str]) -> Stream {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["decide", "--jsonl"])
            .args(arguments)
            .current_dir(rig.path("project"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, err) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Stream { input: child.stdin.take().unwrap(), child, out, err }
    }

    /// The verdict on a call, as soon as its line is out.
    fn verdict(&mut self, tool: &str) -> String {
        self.input.write_all(call(tool).as_bytes()).unwrap();
        let line = self.out.recv_timeout(Duration::from_secs(20)).unwrap();
        let decision: Value = serde_json::from_str(&line).unwrap();
        decision["verdict"].as_str().unwrap().to_owned()
    }

    /// Waits until standard error says this.
    fn hear(&self, text: &str) {
        while !self.err.recv_timeout(Duration::from_secs(20)).unwrap().contains(text) {}
    }

    fn end(self) -> i32 {
        let Stream { mut child, input, .. } = self;
        drop(input);
        child.wait().unwrap().code().unwrap()
    }
}

#[test]
fn a_stream_follows_its_policy_and_keeps_the_last_good_one() {
    let rig = Rig::new();
    let policy = rig.path("user.yaml");
    let mut stream = Stream::new(&rig, &["--policy", policy.to_str().unwrap()]);
    assert_eq!(stream.verdict("rm"), "deny");
    assert_eq!(stream.verdict("send_mail"), "allow");
    rig.write("user.yaml", "version: 1\nhooks: 7\n");
    stream.hear("what was in force stays in force");
    assert_eq!(stream.verdict("rm"), "deny");
    rig.write("user.yaml", PROJECT);
    stream.hear("the policy was loaded again");
    assert_eq!(stream.verdict("rm"), "allow");
    assert_eq!(stream.verdict("send_mail"), "deny");
    assert_eq!(stream.end(), 0);
}

#[test]
fn a_stream_ends_when_nobody_reads_its_answers() {
    let rig = Rig::new();
    let policy = rig.path("user.yaml");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["decide", "--jsonl", "--policy", policy.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    // It ends although more could come.
    let mut input = child.stdin.take().unwrap();
    while child.try_wait().unwrap().is_none() {
        // A pipe that is closed by then is what is waited for.
        let _ = input.write_all(call("rm").as_bytes());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_stream_follows_the_switches_of_its_state_folder() {
    let rig = Rig::new();
    rig.write("project/tollgate.yaml", PROJECT);
    rig.run(&["trust", "--yes"]).expect(0);
    let state = rig.path("state");
    let state = state.to_str().unwrap();
    let mut stream = Stream::new(&rig, &["--state", state]);
    assert_eq!(stream.verdict("send_mail"), "deny");
    let switch = |arguments: &[&str]| {
        let all = [arguments, &["--state", state, "--reason", "trial"]].concat();
        run(&rig.path("project"), &all, "", &[]).expect(0);
    };
    switch(&["hooks", "disable", "no-mail"]);
    stream.hear("the switches changed");
    assert_eq!(stream.verdict("send_mail"), "allow");
    switch(&["hooks", "enable", "no-mail"]);
    stream.hear("the switches changed");
    assert_eq!(stream.verdict("send_mail"), "deny");
    switch(&["pause", "--for", "1m"]);
    stream.hear("the switches changed");
    assert_eq!(stream.verdict("send_mail"), "allow");
    assert_eq!(stream.end(), 0);
}
